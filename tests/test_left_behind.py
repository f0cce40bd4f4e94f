"""No process and no file is left behind, whatever the target does and however we end."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from conformance.model import Limits, Target
from conformance.system import process_table
from conformance.system.processes import MARKER, adopting, end_everything
from conformance.target.process import ServerProcess, left_behind
from conformance.transports import Ended
from conformance.transports.stdio import StdioTransport

DAEMONS = Path(__file__).resolve().parent / "servers" / "daemons.py"
PATIENCE = 120.0
"""Seconds; reached only if something is wrong."""
EXIT = "transport-stdio/exits-on-stdin-close-implied"
LINUX_ONLY = pytest.mark.skipif(sys.platform != "linux", reason="only Linux gives orphans to an ancestor of theirs")


def alive(tag: Path) -> list[str]:
    """The command lines of the processes that have `tag` in theirs."""
    found = psutil.process_iter(["cmdline", "status"])
    lines = [" ".join(p.info["cmdline"] or ()) for p in found if p.info["status"] != psutil.STATUS_ZOMBIE]
    return [line for line in lines if str(tag) in line]


def await_that(what: Callable[[], bool]) -> None:
    """Wait until `what` is true."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def server(how: str, tag: Path, *more: str) -> tuple[str, ...]:
    """The command of a server that leaves processes behind; see tests/servers/daemons.py."""
    return (sys.executable, str(DAEMONS), how, str(tag), *more)


URLS = {
    "http": "http://127.0.0.1:{port}/mcp",
    "sse": "http://127.0.0.1:{port}/sse",
    "websocket": "ws://127.0.0.1:{port}/",
}


def options(how: str, tag: Path, over: str = "stdio") -> list[str]:
    """What tests that server with few cases."""
    revision = "2024-11-05" if over == "sse" else "2025-11-25"
    words = ["--fuzz", "0", "--revision", revision, "--timeout", "5", "--json", str(tag / "report.json")]
    if over == "stdio":
        return [*words, "--server", " ".join(server(how, tag)), "--only", EXIT]
    at = ["--url", URLS[over], "--transport", over, "--only", "lifecycle/ping"]
    return [*words, "--server", " ".join(server(how, tag, "{port}", over)), *at]


def begun(words: list[str], tag: Path, module: str = "conformance") -> subprocess.Popen[str]:
    """The command line in a process of its own, where TMPDIR, HOME and the working directory are new folders."""
    places = {name: tag / name for name in ("TMPDIR", "HOME", "CWD")}
    for place in places.values():
        place.mkdir()
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "HYPOTHESIS_"))}
    env |= {name: str(place) for name, place in places.items()}
    command = [sys.executable, "-m", module, *words]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=tag / "CWD", env=env, stdout=pipe, stderr=subprocess.STDOUT, text=True)


def ran(words: list[str], tag: Path, module: str = "conformance") -> tuple[int, str]:
    """Exit status and what was printed."""
    process = begun(words, tag, module)
    printed, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, printed


def files_left(tag: Path) -> set[str]:
    """The files in the new folders."""
    return {str(p.relative_to(tag)) for name in ("TMPDIR", "HOME", "CWD") for p in (tag / name).rglob("*")}


def test_processes_left_behind_are_named_once_each_with_their_number() -> None:
    many = ("a", *["hop"] * 9, "b")
    assert left_behind(many) == "11 processes: hop (9 times), a, b"
    assert left_behind(("a", "b", "c", "d", "e", "f", "f")) == "7 processes: f (2 times), a, b, c, d and 1 more"
    assert left_behind(()) == ""


# -- after a run


@pytest.mark.parametrize(
    "how",
    [
        "child",
        "daemon+pipes+deaf+chdir",
        "request+daemon",
        "end+session+stdout",
        "daemon+busy",
        pytest.param("request+daemon+clear", marks=LINUX_ONLY),
    ],
)
def test_what_a_server_leaves_behind_is_ended_and_told_as_advice(how: str, tmp_path: Path) -> None:
    status, printed = ran(options(how, tmp_path), tmp_path)
    assert alive(tmp_path) == []
    assert status == 0, printed
    report = json.loads((tmp_path / "report.json").read_text())
    (failed,) = [verdict for verdict in report["runs"][0]["verdicts"] if verdict["verdict"] == "failed"]
    assert (failed["requirement"], failed["severity"]) == (EXIT, "advice")
    (finding,) = failed["findings"]
    assert finding["message"] == "the server leaves processes behind"
    assert str(tmp_path) in finding["actual"]


@pytest.mark.parametrize("over", URLS)
@pytest.mark.parametrize("how", ["daemon+pipes+deaf", "daemon+busy", "end+session"])
def test_what_a_server_at_a_url_leaves_behind_is_ended_and_told(how: str, over: str, tmp_path: Path) -> None:
    status, printed = ran(options(how, tmp_path, over), tmp_path)
    assert status == 0, printed
    assert alive(tmp_path) == []
    report = json.loads((tmp_path / "report.json").read_text())
    (told,) = [note for note in report["notes"] if note.startswith("the server leaves processes behind")]
    assert str(tmp_path) in told


@pytest.mark.parametrize("over", URLS)
@pytest.mark.parametrize("how", ["child", "stubborn+session"])
def test_what_a_server_at_a_url_could_not_take_along_is_ended_with_it(how: str, over: str, tmp_path: Path) -> None:
    status, printed = ran(options(how, tmp_path, over), tmp_path)
    assert status == 0, printed
    assert alive(tmp_path) == []


@pytest.mark.parametrize("over", ["stdio", *URLS])
@pytest.mark.parametrize("how", ["stubborn+child", "stubborn+daemon+deaf+pipes", "stubborn+session", "child"])
def test_nothing_is_left_when_we_are_killed_outright(how: str, over: str, tmp_path: Path) -> None:
    process = begun(options(how, tmp_path, over), tmp_path)
    await_that(lambda: f"{tmp_path} 600" in alive(tmp_path))
    assert process.poll() is None
    process.kill()
    process.communicate(timeout=PATIENCE)
    await_that(lambda: alive(tmp_path) == [])


@pytest.mark.parametrize("second", [signal.SIGINT, signal.SIGTERM])
def test_nothing_is_left_when_we_are_interrupted_twice(second: int, tmp_path: Path) -> None:
    process = begun([*options("stubborn+daemon+deaf", tmp_path), "--verbose"], tmp_path)
    assert process.stdout is not None
    next(line for line in process.stdout if "speaks" in line)
    process.send_signal(signal.SIGINT)
    next(line for line in process.stdout if "interrupt" in line)
    process.send_signal(second)
    process.communicate(timeout=PATIENCE)
    await_that(lambda: alive(tmp_path) == [])


# -- files

FOUND = ["--only", "fuzz/malformed", "--fuzz", "40", "--revision", "newest", "--strict"]


def test_a_run_that_makes_a_generated_frame_small_leaves_no_file(tmp_path: Path) -> None:
    faulty = f"{sys.executable} -m conformance.reference --fault trailing-bytes-code"
    status, printed = ran(["--server", faulty, *FOUND, "--save-cases", str(tmp_path / "found")], tmp_path)
    assert status == 1, printed
    assert (tmp_path / "found" / "found.yaml").exists()
    assert files_left(tmp_path) == set()


def test_a_run_of_pytest_that_makes_a_generated_frame_small_leaves_no_file(tmp_path: Path) -> None:
    faulty = f"{sys.executable} -m conformance.reference --fault trailing-bytes-code"
    words = ["--mcp-server", faulty, *(word.replace("--", "--mcp-") for word in FOUND), "-p", "no:cacheprovider"]
    status, printed = ran(words, tmp_path, "pytest")
    assert status == 1, printed
    assert files_left(tmp_path) == set()


# -- one server, in this process

LIMITS = Limits(quiet=0.1, shutdown=10.0)


@pytest.fixture
def adopted() -> Iterator[None]:
    """What a server leaves behind is ours."""
    with adopting():
        yield


@pytest.mark.usefixtures("adopted")
@LINUX_ONLY
@pytest.mark.parametrize("held", ["nothing", "stdin", "stdout", "stderr", "pipes"])
@pytest.mark.parametrize("away", ["child", "group", "session", "daemon"])
@pytest.mark.parametrize("manners", ["child", "deaf+clear+chdir"])
def test_each_kind_of_process_is_found_ended_and_named(away: str, held: str, manners: str, tmp_path: Path) -> None:
    transport = StdioTransport(Target(server(f"{away}+{held}+{manners}", tmp_path)), LIMITS)
    transport.start()
    transport.send(b'{"jsonrpc": "2.0", "id": 1, "method": "ping"}')
    transport.receive(PATIENCE)
    transport.end_input()
    assert isinstance(transport.receive(PATIENCE), Ended)
    ending = transport.close()
    assert alive(tmp_path) == []
    assert (ending.how, ending.orphans) == ("closed", (f"{tmp_path} 600",))


def test_without_adoption_the_marker_finds_them(tmp_path: Path) -> None:
    process = ServerProcess(Target(server("end+daemon+deaf", tmp_path)), LIMITS)
    assert process.popen.stdin is not None
    process.popen.stdin.close()
    assert process.end(PATIENCE) == ("closed", (f"{tmp_path} 600",))
    assert alive(tmp_path) == []


def test_the_children_of_one_server_are_told_from_those_of_another(tmp_path: Path) -> None:
    folders = (tmp_path / "one", tmp_path / "two")
    processes = [ServerProcess(Target(server("daemon", folder)), LIMITS) for folder in folders]
    for folder in folders:
        await_that(lambda folder=folder: f"{folder} 600" in alive(folder))  # type: ignore[misc]
    processes[0].end(0.0)
    assert alive(folders[0]) == []
    assert f"{folders[1]} 600" in alive(folders[1])
    processes[1].end(0.0)
    assert alive(tmp_path) == []


def test_everything_is_ended_at_once_without_a_lock(tmp_path: Path) -> None:
    processes = [ServerProcess(Target(server(how, tmp_path)), LIMITS) for how in ("stubborn+daemon", "child")]
    await_that(lambda: len(alive(tmp_path)) == 4)
    end_everything()
    await_that(lambda: alive(tmp_path) == [])
    assert all(process.wait(PATIENCE) for process in processes)
    for process in processes:
        process.end(0.0)


def test_what_we_started_ourselves_is_never_taken_for_an_orphan(tmp_path: Path) -> None:
    ours = [subprocess.Popen(["sleep", "600"]), subprocess.Popen(["sleep", "600"], process_group=0)]
    with adopting():
        process = ServerProcess(Target(server("daemon+clear", tmp_path)), LIMITS)
        await_that(lambda: f"{tmp_path} 600" in alive(tmp_path))
        process.end(0.0)
        assert [each.poll() for each in ours] == [None, None]
    for each in ours:
        each.kill()
        assert each.wait(PATIENCE) == -signal.SIGKILL


def test_the_status_of_a_server_that_ends_at_once_is_not_lost_by_adopting() -> None:
    with adopting():
        processes = [ServerProcess(Target(("sh", "-c", "exit 7")), LIMITS) for _ in range(20)]
        assert all(process.wait(PATIENCE) for process in processes)
    assert [process.popen.returncode for process in processes] == [7] * 20
    for process in processes:
        process.end(0.0)


def test_what_psutil_tells_of_processes_is_what_proc_tells(monkeypatch: pytest.MonkeyPatch) -> None:
    process = ServerProcess(Target((sys.executable, "-c", "import sys; sys.stdin.read()")), LIMITS)
    await_that(lambda: process_table.value_of(MARKER, process.popen.pid) != "")

    def told() -> tuple[object, ...]:
        (found,) = [each for each in process_table.everybody() if each.pid == process.popen.pid]
        children = {each.pid for each in process_table.children_of(os.getpid())}
        return (found._replace(began=0.0), found.pid in children, process_table.value_of(MARKER, found.pid))

    by_proc = told()
    monkeypatch.setattr(process_table, "LINUX", False)
    assert told() == by_proc
    assert by_proc[1:] == (True, process._family.marker)
    process.end(0.0)
