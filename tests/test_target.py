"""Starting a target: what goes wrong is named, and a server with a URL is waited for."""

from __future__ import annotations

import os
import socket
import sys
from pathlib import Path

import pytest

from conformance.model import Limits, Target
from conformance.target.listening import PORTS, RunningServer, free_port, reach
from conformance.target.process import ServerProcess, StartError, command_line, ending, parse_command

PATIENCE = 120.0
LIMITS = Limits(start=PATIENCE, shutdown=5.0)
URL = "http://127.0.0.1:{port}/mcp"
HTTP = "import http.server, sys; http.server.HTTPServer(('127.0.0.1', int(sys.argv[1])), {}).serve_forever()"
ANSWERING = HTTP.format("http.server.BaseHTTPRequestHandler")
"""Answers every request with status 501."""


def refusal(*command: str, cwd: str | None = None) -> str:
    """Why the command cannot be started."""
    with pytest.raises(StartError) as caught:
        ServerProcess(Target(command, cwd=cwd), LIMITS)
    return str(caught.value)


def test_a_command_line_is_split_as_a_shell_would() -> None:
    assert parse_command("python 'my server.py' --name \"a b\"") == ("python", "my server.py", "--name", "a b")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("python", "s.py", "--port", "{port}"), "python s.py --port {port}"),
        (("http://127.0.0.1:{port}/mcp",), "http://127.0.0.1:{port}/mcp"),
        (("my server", "{a,b}", "$HOME", ""), "'my server' '{a,b}' '$HOME' ''"),
    ],
)
def test_words_are_quoted_only_where_a_shell_would_change_them(words: tuple[str, ...], line: str) -> None:
    assert command_line(words) == line
    assert parse_command(line) == words


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("python 'server.py", "cannot be split into words: No closing quotation"),
        ("  ", "the command line is empty"),
    ],
)
def test_a_command_line_that_cannot_be_split_is_refused(text: str, reason: str) -> None:
    with pytest.raises(StartError, match=reason):
        parse_command(text)


def test_a_command_that_does_not_exist_is_named() -> None:
    assert refusal("no-such-program-anywhere", "x") == (
        "the command 'no-such-program-anywhere' was not found; check the name and PATH"
    )


def test_a_misspelt_command_gets_a_suggestion(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "weather-server").touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "was not found (is it 'weather-server'?)" in refusal("wether-server")


def test_a_misspelt_path_gets_a_suggestion_from_its_own_folder(tmp_path: Path) -> None:
    (tmp_path / "server.sh").touch()
    assert refusal("./sever.sh", cwd=str(tmp_path)) == (
        "the command './sever.sh' was not found (is it 'server.sh'?); check the name"
    )


def test_a_whole_command_line_in_one_word_is_explained() -> None:
    assert "was not found (the command line is split into words as a shell would)" in refusal("python server.py")


def test_a_folder_is_told_from_a_program(tmp_path: Path) -> None:
    assert refusal(str(tmp_path)) == f"{str(tmp_path)!r} is a folder; name a program in it"


def test_an_empty_first_word_names_no_program() -> None:
    assert refusal("") == "the first word of the command line is empty: it names the program"


def test_a_program_without_permission_to_execute_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "server.py"
    script.write_text("print()")
    assert refusal(str(script)) == (
        f"{str(script)!r} is not executable; make it so (chmod +x) or name the program that runs it"
    )


def test_a_script_whose_interpreter_is_missing_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    assert refusal(str(script)) == f"the program that the first line (#!) of {str(script)!r} names was not found"


def test_a_file_that_is_no_program_is_told_so(tmp_path: Path) -> None:
    script = tmp_path / "server"
    script.write_text("print()")
    script.chmod(0o755)
    assert refusal(str(script)) == f"{str(script)!r} could not be started: Exec format error"


def test_a_missing_working_directory_is_told_from_a_missing_command() -> None:
    assert refusal(sys.executable, cwd="/no/such/folder") == "the working directory '/no/such/folder' does not exist"


def test_a_byte_that_no_argument_can_hold_is_refused() -> None:
    assert "could not be started: embedded null byte" in refusal(sys.executable, "\0")


def test_the_environment_and_the_working_directory_reach_the_server(tmp_path: Path) -> None:
    script = "import os, sys; print(os.environ['COLOUR'], os.environ['PATH'], os.getcwd(), file=sys.stderr)"
    process = ServerProcess(Target((sys.executable, "-c", script), env={"COLOUR": "blue"}, cwd=str(tmp_path)), LIMITS)
    assert process.wait(PATIENCE)
    assert process.stderr().split() == ["blue", os.environ["PATH"], str(tmp_path.resolve())]
    process.end(0.0)


def test_a_free_port_is_free_and_outside_of_the_range_for_outgoing_connections() -> None:
    port = free_port()
    assert port in PORTS
    with socket.create_server(("127.0.0.1", port)):
        pass


def test_a_server_is_started_on_a_free_port_and_waited_for() -> None:
    server = RunningServer(Target((sys.executable, "-c", ANSWERING, "{port}"), URL), LIMITS)
    assert "{port}" not in server.url
    assert not server.running
    server.start()
    try:
        assert server.running
        assert server.fate() == ""
        reach(server.url)
    finally:
        server.end()
    assert not server.running
    with pytest.raises(StartError, match="connection refused"):
        reach(server.url)


def test_a_server_that_dies_before_it_answers_is_reported_at_once_with_its_output() -> None:
    script = "import sys; print('listening soon'); sys.stdout.flush(); sys.exit('the port is taken')"
    server = RunningServer(Target((sys.executable, "-c", script), URL), LIMITS)
    with pytest.raises(StartError) as caught:
        server.start()
    assert str(caught.value) == (
        f"before anything answered at {server.url}, the server exited with code 1; "
        "its stderr ends with: listening soon | the port is taken"
    )
    assert not server.running


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        ("import sys; print('I serve stdio only', flush=True); sys.stdin.read()", "nothing listens at 127.0.0.1:"),
        (
            "import socket, sys\n"
            "listener = socket.create_server(('127.0.0.1', int(sys.argv[1])))\n"
            "while True: listener.accept()[0].close()",
            "accepts connections but does not answer HTTP",
        ),
    ],
    ids=["does not listen", "speaks no HTTP"],
)
def test_a_server_that_never_answers_is_given_up_and_ended(script: str, reason: str) -> None:
    server = RunningServer(Target((sys.executable, "-c", script, "{port}"), URL), Limits(start=1.0))
    with pytest.raises(StartError, match="1 s after the server was started, ") as caught:
        server.start()
    assert reason in str(caught.value)
    assert not server.running


def test_a_command_that_cannot_be_started_is_refused_with_a_url_too() -> None:
    server = RunningServer(Target(("no-such-program-anywhere",), URL), LIMITS)
    with pytest.raises(StartError, match="was not found"):
        server.start()


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("ftp://127.0.0.1/mcp", "is not an http or https URL"),
        ("127.0.0.1:8000", "is not an http or https URL"),
        ("http://127.0.0.1:port/mcp", "has no valid port"),
        ("http://no-such-host.invalid/mcp", "cannot connect to no-such-host.invalid:80: "),
    ],
)
def test_a_url_that_leads_nowhere_is_refused(url: str, reason: str) -> None:
    with pytest.raises(StartError, match=reason):
        reach(url)


def test_a_refused_connection_names_the_address() -> None:
    port = free_port()
    with pytest.raises(StartError) as caught:
        reach(f"http://127.0.0.1:{port}/mcp")
    assert str(caught.value) == f"connection refused at 127.0.0.1:{port}; is the server running?"


def test_the_line_that_names_an_error_is_shown_where_others_follow_it() -> None:
    node = "node:internal/loader:1210\n  throw err;\n\nError: Cannot find module 'x'\n    at y (z:1)\n{\n}\nNode.js v20"
    assert ending(node) == "Error: Cannot find module 'x' | … | } | Node.js v20"
    assert ending("2026 main ERROR first\nFatal error: second\na\nb\nc") == "Fatal error: second | … | b | c"
    assert ending("error: earlier\nTraceback\n  x\nKeyError: 'y'") == "Traceback |   x | KeyError: 'y'"
    assert ending("the mirror is up\nno errors so far\na\nb\nc") == "a | b | c"


def test_a_long_end_of_stderr_is_cut_between_words() -> None:
    assert ending("one\n\ntwo\nthree\nfour\n") == "two | three | four"
    assert ending("key=" + "x" * 500 + " " + "word " * 40) == "… " + "word " * 40
    assert "x" not in ending("x" * 1000).replace("[600 characters without a blank]", "")


WEB = (sys.executable, "-m", "http.server", "--bind", "127.0.0.1", "{port}")


def test_a_server_whose_port_somebody_else_took_gets_another(monkeypatch: pytest.MonkeyPatch) -> None:
    first = RunningServer(Target(WEB, "http://127.0.0.1:{port}/"), Limits())
    first.start()
    taken = int(first.url.rsplit(":", 1)[1].rstrip("/"))
    # What happens by chance when two are started at once.
    ports = iter([taken, free_port()])
    monkeypatch.setattr("conformance.target.listening.free_port", lambda: next(ports))
    second = RunningServer(Target(WEB, "http://127.0.0.1:{port}/"), Limits())
    try:
        second.start()
        assert second.running
        assert second.url != first.url
    finally:
        first.end()
        second.end()


def test_a_server_at_a_port_that_is_taken_is_not_mistaken_for_the_one_that_has_it() -> None:
    first = RunningServer(Target(WEB, "http://127.0.0.1:{port}/"), Limits())
    first.start()
    port = first.url.rsplit(":", 1)[1].rstrip("/")
    second = RunningServer(Target((*WEB[:-1], port), first.url), Limits())
    try:
        with pytest.raises(StartError, match=r"something else answers at .*, and the server exited with code 1"):
            second.start()
    finally:
        first.end()
        second.end()
