"""The configurations of MCP clients as targets, through the command line."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from conformance.cli.main import app
from conformance.files.places import SCHEMAS
from conformance.model import Limits, Target
from conformance.target.listening import RunningServer

CONFIGS = Path(__file__).with_name("configs")
CURSOR = CONFIGS / "cursor" / ".cursor" / "mcp.json"
CLAUDE_DESKTOP = CONFIGS / "claude-desktop" / "claude_desktop_config.json"
CLAUDE_CODE = CONFIGS / "claude-code" / ".mcp.json"
WINDSURF = CONFIGS / "windsurf" / "mcp_config.json"
VSCODE = CONFIGS / "vscode" / ".vscode" / "mcp.json"

COMMAND = [sys.executable, "-m", "conformance"]
QUICK = ["--revision", "2025-11-25", "--only", "jsonrpc/unknown-method-refused"]
TOKEN = "tk-abcdefgh-12345678"


def environment(**more: str) -> dict[str, str]:
    """With this Python as `python`, and without what the configurations ask for unless it is given."""
    plain = {name: value for name, value in os.environ.items() if not name.lower().startswith("reference")}
    return {**plain, "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]), **more}


def conform(*arguments: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    """Run `mcp-conform`."""
    command = [*COMMAND, *map(str, arguments)]
    return subprocess.run(command, env=environment(**more), capture_output=True, text=True, timeout=300)


def reported(folder: Path, *arguments: str | Path, **more: str) -> tuple[dict[str, Any], str]:
    """The JSON report of a run, proven to be one, and what was printed."""
    file = folder / "report.json"
    done = conform(*arguments, "--json", file, **more)
    report = json.loads(file.read_text())
    Draft202012Validator(json.loads((SCHEMAS / "report.json").read_text())).validate(report)
    assert done.returncode == report["exit"], done.stdout + done.stderr
    return report, done.stdout


def names(report: dict[str, Any]) -> list[str]:
    """The servers that were tested."""
    return [run["name"] for run in report["runs"]]


def config(folder: Path, text: str | dict[str, Any]) -> Path:
    """A configuration in `folder`, with `text` or of these servers."""
    path = folder / "some_config.json"
    path.write_text(text if isinstance(text, str) else json.dumps({"mcpServers": text}, indent=2))
    return path


@pytest.fixture(scope="module")
def port() -> Iterator[str]:
    """Where the reference server listens."""
    command = (sys.executable, "-m", "conformance.reference", "--transport", "http", "--port", "{port}")
    server = RunningServer(Target(command, "http://127.0.0.1:{port}/mcp"), Limits())
    server.start()
    yield server.url.rpartition(":")[2].partition("/")[0]
    server.end()


# -- the files of the clients


def test_cursor_all_servers_are_tested_and_told_apart_in_every_report(tmp_path: Path) -> None:
    junit, trace = tmp_path / "junit.xml", tmp_path / "trace"
    report, out = reported(tmp_path, "--config", CURSOR, *QUICK, "--junit", junit, "--trace", trace)
    assert report["exit"] == 1
    assert report["complete"] is True
    assert report["target"] == {"config": str(CURSOR)}
    assert names(report) == ["reference", "faulty"]
    failed = [(run["name"], v) for run in report["runs"] for v in run["verdicts"] if v["verdict"] == "failed"]
    assert [(name, verdict["requirement"]) for name, verdict in failed] == [
        ("faulty", "jsonrpc/unknown-method-refused")
    ]
    assert f"mcp-conform --config {CURSOR} --name=faulty --revision 2025-11-25" in failed[0][1]["reproduce"]

    assert "violation  jsonrpc/unknown-method-refused  MUST, jsonrpc  in faulty 2025-11-25 stdio" in out
    assert "\nreference: 1 passed\nfaulty: 1 violation\n" in out

    suites = ET.parse(junit).getroot().findall("testsuite")
    assert [suite.attrib["name"] for suite in suites] == ["reference 2025-11-25 stdio", "faulty 2025-11-25 stdio"]
    cases = [case.attrib for suite in suites for case in suite.findall("testcase")]
    assert {case["classname"].partition(".")[0] for case in cases} == {"reference", "faulty"}
    assert len({(case["classname"], case["name"]) for case in cases}) == len(cases) == 2
    assert {json.loads(line)["server"] for line in trace.read_text().splitlines()} == {"reference", "faulty"}


def test_the_command_of_a_finding_shows_it_again(tmp_path: Path) -> None:
    report, _ = reported(tmp_path, "--config", CURSOR, *QUICK)
    again = next(v["reproduce"] for run in report["runs"] for v in run["verdicts"] if v["reproduce"])
    done = subprocess.run(
        again.replace("mcp-conform", f"{sys.executable} -m conformance", 1),
        shell=True,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 1
    assert "violation  jsonrpc/unknown-method-refused" in done.stdout


def test_like_findings_of_two_servers_are_two_findings(tmp_path: Path) -> None:
    server = {"command": "python", "args": ["-m", "conformance.reference", "--fault", "unknown-method-succeeds"]}
    file = config(tmp_path, {"first": server, "second": server})
    report, out = reported(tmp_path, "--config", file, *QUICK)
    assert report["counts"]["violation"] == 2
    assert out.count("violation  jsonrpc/unknown-method-refused") == 2
    assert "MUST, jsonrpc  in first 2025-11-25 stdio" in out
    assert "MUST, jsonrpc  in second 2025-11-25 stdio" in out


def test_claude_desktop_a_command_that_is_missing_is_told_and_the_rest_is_tested(tmp_path: Path) -> None:
    junit = tmp_path / "junit.xml"
    report, out = reported(tmp_path, "--config", CLAUDE_DESKTOP, *QUICK, "--junit", junit)
    assert report["exit"] == 3
    assert names(report) == ["reference"]
    assert report["runs"][0]["verdicts"][0]["verdict"] == "passed"
    why = "the command 'no-such-command-anywhere' was not found; check the name and PATH"
    assert report["problems"] == {"not-installed": why}
    assert f"Not tested: not-installed: {why}" in out
    assert "Exit status 3: not every server could be tested." in out
    root = ET.parse(junit).getroot()
    errors = {suite.attrib["name"]: suite.find("testcase/error") for suite in root.findall("testsuite")}
    assert list(errors) == ["reference 2025-11-25 stdio", "not-installed.mcp-conform"]
    error = errors["not-installed.mcp-conform"]
    assert error is not None and error.attrib["message"] == why


def test_claude_code_defaults_urls_and_headers_are_understood_and_so_is_the_old_transport(
    tmp_path: Path, port: str
) -> None:
    more = {"REFERENCE_PORT": port, "REFERENCE_TOKEN": TOKEN}
    trace = tmp_path / "trace"
    report, _ = reported(tmp_path, "--config", CLAUDE_CODE, *QUICK, "--trace", trace, **more)
    assert report["exit"] == 3
    assert [(run["name"], run["transport"]) for run in report["runs"]] == [("local", "stdio"), ("remote", "http")]
    assert [v["verdict"] for run in report["runs"] for v in run["verdicts"]] == ["passed", "passed"]
    assert list(report["problems"]) == ["old"]
    assert "connection refused" in report["problems"]["old"]


@pytest.mark.parametrize("kind", [{}, {"type": "websocket"}, {"type": "ws"}], ids=json.dumps)
def test_a_server_at_a_websocket_is_understood_with_its_type_or_without(kind: dict[str, str], tmp_path: Path) -> None:
    script = str(Path(__file__).resolve().parent / "servers" / "over_websocket.py")
    server = RunningServer(Target((sys.executable, script, "{port}"), "ws://127.0.0.1:{port}"), Limits())
    server.start()
    try:
        file = config(tmp_path, json.dumps({"mcpServers": {"there": {"url": server.url, **kind}}}))
        report, _ = reported(tmp_path, "--config", file, *QUICK)
    finally:
        server.end()
    assert [(run["name"], run["transport"]) for run in report["runs"]] == [("there", "websocket")]
    assert report["exit"] == 0


def test_windsurf_server_urls_are_understood_and_disabled_servers_are_left_alone(tmp_path: Path, port: str) -> None:
    report, out = reported(tmp_path, "--config", WINDSURF, *QUICK, REFERENCE_PORT=port)
    assert report["exit"] == 0
    assert names(report) == ["reference", "remote"]
    note = "switched-off is disabled and was not tested; --name switched-off tests it"
    assert note in report["notes"]
    assert note in out
    assert "disabledTools" not in out


def test_vscode_comments_inputs_and_unknown_keys_are_understood(tmp_path: Path) -> None:
    report, out = reported(tmp_path, "--config", VSCODE, *QUICK, reference_key="version-member-number")
    assert names(report) == ["reference", "plain"], out
    assert "reference: ignored what is not known here: sandboxEnabled" in report["notes"]
    assert "reference: ignored what is not known here: sandboxEnabled" in out
    assert "--fault ***reference_key***" in out


def test_what_a_client_would_ask_for_must_be_in_the_environment_and_the_rest_is_tested(tmp_path: Path) -> None:
    report, _ = reported(tmp_path, "--config", VSCODE, *QUICK)
    assert report["exit"] == 3
    assert names(report) == ["plain"]
    assert report["problems"] == {
        "reference": "${input:reference-key} is asked for by the client; give it in the environment variable "
        "reference_key"
    }


# -- which servers


def test_only_the_named_servers_are_tested_also_disabled_ones(tmp_path: Path) -> None:
    report, _ = reported(tmp_path, "--config", CURSOR, "--name", "reference", *QUICK)
    assert (report["exit"], names(report)) == (0, ["reference"])
    report, _ = reported(tmp_path, "--config", WINDSURF, "--name", "switched-off", "--name", "reference", *QUICK)
    assert names(report) == ["reference"]
    assert list(report["problems"]) == ["switched-off"]


def test_a_server_that_is_not_named_may_be_wrong(tmp_path: Path) -> None:
    server = {"command": "python", "args": ["-m", "conformance.reference"]}
    file = config(tmp_path, {"good": server, "bad": {"args": 5}})
    report, _ = reported(tmp_path, "--config", file, "--name", "good", *QUICK)
    assert (report["exit"], names(report)) == (0, ["good"])


def test_where_all_servers_are_disabled_nothing_is_tested(tmp_path: Path) -> None:
    file = config(tmp_path, {"a": {"command": "python", "disabled": True}})
    report, out = reported(tmp_path, "--config", file, *QUICK)
    assert (report["exit"], report["runs"]) == (3, [])
    assert "Not tested: there is no server to test: all of them are disabled" in out


def test_a_server_that_does_not_start_is_told_with_its_name_and_the_rest_is_tested(tmp_path: Path) -> None:
    servers = {
        "dying": {"command": "python", "args": ["-c", "raise SystemExit('no licence')"]},
        "good": {"command": "python", "args": ["-m", "conformance.reference"]},
    }
    report, _ = reported(tmp_path, "--config", config(tmp_path, servers), *QUICK)
    assert (report["exit"], names(report)[-1]) == (3, "good")
    assert "no licence" in report["problems"]["dying"]


def test_servers_of_a_project_are_started_in_the_project(tmp_path: Path) -> None:
    (tmp_path / ".cursor").mkdir()
    (tmp_path / "server.py").write_text("from conformance.reference.__main__ import main\nmain([])\n")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "server.py").symlink_to(tmp_path / "server.py")
    servers = {
        "here": {"command": "python", "args": ["server.py"]},
        "below": {"command": "python", "args": ["server.py"], "cwd": "sub"},
        "filled": {"command": "python", "args": ["server.py"], "cwd": "${workspaceFolder}/sub"},
        "nowhere": {"command": "python", "args": ["server.py"], "cwd": "no-such-folder"},
    }
    file = config(tmp_path / ".cursor", servers)
    report, _ = reported(tmp_path, "--config", file, *QUICK)
    assert names(report) == ["here", "below", "filled"]
    missing = tmp_path / "no-such-folder"
    assert report["problems"] == {"nowhere": f"the working directory {str(missing)!r} does not exist"}


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"command": "npx", "args": ["-y", "some-server"]}, "npx comes with Node.js"),
        ({"command": "uvx", "args": ["some-server"]}, "uvx comes with uv"),
        ({"command": "docker", "args": ["run", "some-server"]}, "docker is at https"),
        ({"command": "python -m some_server"}, "its arguments belong into args"),
        ({"command": "{folder}/plain.txt"}, "is not executable; make it so (chmod +x)"),
        ({"command": "{folder}/."}, "is a folder; name a program in it"),
        ({"command": "{folder}/absent"}, "was not found; check the name"),
        ({"command": "python", "env": {"PATH": "/nonexistent"}}, "the command 'python' was not found"),
        ({"command": "python", "args": ["${REFERENCE_UNSET}"]}, "environment variable REFERENCE_UNSET is not set"),
        ({"command": "python", "env": {"A": "${command:pick}"}}, "the variable ${command:pick} is not known here"),
        ({"url": "ftp://127.0.0.1/mcp"}, "'ftp://127.0.0.1/mcp' is not an http or https URL"),
        ({"url": "http://[::1/mcp"}, "'http://[::1/mcp' has no valid host"),
        ({"url": "http://127.0.0.1:99999/mcp"}, "'http://127.0.0.1:99999/mcp' has no valid port"),
        ({"type": "ws", "url": "http://127.0.0.1/mcp"}, "'http://127.0.0.1/mcp' is not a ws or wss URL"),
        ({"type": "sse", "url": "ws://127.0.0.1:1/sse"}, "'ws://127.0.0.1:1/sse' is not an http or https URL"),
    ],
    ids=lambda value: json.dumps(value) if isinstance(value, dict) else "",
)
def test_what_cannot_be_run_is_told_before_anything_is_started(
    tmp_path: Path, entry: dict[str, Any], words: str
) -> None:
    (tmp_path / "plain.txt").write_text("no program")
    text = json.dumps({"mcpServers": {"some": entry}}).replace("{folder}", str(tmp_path))
    empty = {} if entry.get("command", "").startswith("python") else {"PATH": str(tmp_path)}
    report, out = reported(tmp_path, "--config", config(tmp_path, text), *QUICK, **empty)
    assert report["exit"] == 3
    assert report["runs"] == []
    assert words in report["problems"]["some"]
    assert "speaks" not in out


def test_a_tool_that_one_server_lacks_another_may_have_and_one_that_none_has_is_noted(tmp_path: Path) -> None:
    servers = {
        "with-tools": {"command": "python", "args": ["-m", "conformance.reference"]},
        "without": {"command": "python", "args": ["-m", "conformance.reference", "--without", "tools,tasks"]},
    }
    file, tools = config(tmp_path, servers), ["--call-tool", "settings", "--call-tool", "setings"]
    report, out = reported(tmp_path, "--config", file, *QUICK, *tools)
    assert (report["exit"], names(report)) == (0, ["with-tools", "without"])
    assert "--call-tool: no server that was tested has a tool 'setings'" in report["notes"]
    assert "--call-tool: no server that was tested has a tool 'setings'" in out
    assert "'settings'" not in out
    done = conform("--config", file, "--name", "without", *QUICK, *tools)
    assert (done.returncode, done.stdout.count("1 passed")) == (2, 0)
    assert "the server has no tool 'settings'" in done.stderr


# -- bad input


SOME = '"command": "x"'


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ('{"mcpServers": {\n"a": {"command": "x"\n"args": []}}}', 3, "is not valid JSON: column 1: a comma or }"),
        ("[]", 1, "is not a client configuration: an object with mcpServers or servers is needed"),
        ('{"mcpserver": {}, "x": 1}', 1, "has neither mcpServers nor servers; its keys are mcpserver, x"),
        ("{}", 1, "has neither mcpServers nor servers; it is empty"),
        ('{\n"mcpServers": {}}', 2, "mcpServers is empty: there is no server to test"),
        ('{\n"servers": []}', 2, "servers must be an object"),
        ('{"servers": {\n"a": 5}}', 2, "a: the settings of a server must be an object with command or url"),
        ('{"servers": {\n"a": {"cmd": "x"}}}', 2, "a: has neither command nor url; its keys are cmd"),
        ('{"servers": {\n"a": {"command": "x", "url": "http://x"}}}', 2, "a: has both command and url"),
        ('{"servers": {"a": {\n"command": ""}}}', 2, "a: command must be a string that is not empty, not an empty one"),
        ('{"servers": {"a": {\n"command": ["x"]}}}', 2, "a: command must be a string that is not empty, not a list"),
        ('{"servers": {"a": {' + SOME + ',\n"args": "-y"}}}', 2, "a: args must be a list of strings, not a string"),
        (
            '{"servers": {"a": {' + SOME + ',\n"args": ["y",\n1]}}}',
            3,
            "a: args must be a list of strings; element 2 is 1",
        ),
        ('{"servers": {"a": {' + SOME + ',\n"env": []}}}', 2, "a: env must be an object of strings, not a list"),
        (
            '{"servers": {"a": {' + SOME + ',"env": {\n"N": 1}}}}',
            2,
            "a: env: the value of N must be a string (in quotes)",
        ),
        ('{"servers": {"a": {' + SOME + ',\n"cwd": 1}}}', 2, "a: cwd must be a string"),
        ('{"servers": {"a": {\n"url": 1}}}', 2, "a: url must be a string"),
        ('{"servers": {"a": {"url": "http://x",\n"headers": {"A": true}}}}', 2, "the value of A must be a string"),
        (
            '{"servers": {"a": {' + SOME + ',\n"type": "carrier-pigeon"}}}',
            2,
            "allowed are stdio, http, streamable-http, sse, websocket",
        ),
        ('{"servers": {"a": {' + SOME + ',\n"type": 1}}}', 2, "a: type 1 is not known"),
        ('{"servers": {"a": {' + SOME + ',\n"type": "http"}}}', 2, "a: a server of type http needs url"),
        ('{"servers": {"a": {"url": "http://x",\n"type": "stdio"}}}', 2, "a: a server of type stdio needs command"),
        ('{"servers": {"a": {' + SOME + '}},\n"mcpServers": {\n"a": {}}}', 1, "the server 'a' stands in both"),
        ('{"servers": {\n"": {' + SOME + "}}}", 2, "a server needs a name"),
    ],
)
def test_bad_configurations_are_wrong_use_with_line_and_cause(tmp_path: Path, text: str, line: int, words: str) -> None:
    file = config(tmp_path, text)
    done = CliRunner().invoke(app, ["--config", str(file)], catch_exceptions=False)
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith(f"mcp-conform: --config: {file}:{line}: ")
    assert words in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--config", "/nonexistent/mcp.json"], "/nonexistent/mcp.json:1: cannot be read: No such file or directory"),
        (["--config", "/"], "it is a directory; name the file in it"),
        (["--config", CURSOR, "--name", "fualty"], "there is no server 'fualty'; there are faulty, reference"),
        (["--config", CURSOR, "--server", "x"], "with it"),
        (["--config", CURSOR, "--url", "http://x"], "with it"),
        (["--config", CURSOR, "--env", "A=b"], "with it"),
        (["--config", CURSOR, "--target", "mcp-conform.yaml"], "and --target cannot be used with it"),
        (["--config", CURSOR, "--only", "toolz"], "'toolz'"),
        (["--config", CLAUDE_CODE, "--name", "old", "--only", "toolz"], "'toolz'"),
        (["--server", "x", "--name", "y"], "--name: only the servers of a --config have names"),
        (["--config", CURSOR, "list"], "--config cannot be used with list"),
    ],
    ids=lambda value: " ".join(map(str, value[-2:])) if isinstance(value, list) else "",
)
def test_wrong_use_names_the_cause(arguments: list[str | Path], words: str) -> None:
    done = conform(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


# -- secrets


def test_no_report_shows_a_secret(tmp_path: Path) -> None:
    """One server logs its environment, and breaks a rule with it; one dies with its token on stderr."""
    told = "import os, sys; sys.exit('cannot log in with ' + os.environ['LOGIN_TOKEN'])"
    servers = {
        "telling": {
            "command": "python",
            "args": ["-m", "conformance.reference", "--fault", "logs-environment", "--fault", "version-member-number"],
            "env": {"SOME_API_KEY": "sk-in-the-file-01234", "OTHER": "${REFERENCE_OTHER}", "PLAIN": "plain-value"},
        },
        "dying": {"command": "python", "args": ["-c", told], "env": {"LOGIN_TOKEN": "${env:REFERENCE_TOKEN}"}},
        "arguments": {"command": "no-such-command", "args": ["--key=${REFERENCE_TOKEN}"]},
    }
    files = {kind: tmp_path / kind for kind in ("json", "junit", "html", "trace")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    options += ["--revision", "2025-11-25", "--only", "logging", "--only", "jsonrpc/version-member", "--verbose"]
    more = {"REFERENCE_TOKEN": TOKEN, "REFERENCE_OTHER": 'oth\'er "value"'}
    done = conform("--config", config(tmp_path, servers), *options, "--call-tools", "all", **more)
    everything = done.stdout + done.stderr + "".join(path.read_text() for path in files.values())
    assert done.returncode == 1, done.stdout
    for secret in (TOKEN, "in-the-file", "oth'er"):
        assert secret not in everything
    trace = files["trace"].read_text()
    for shown in ("***SOME_API_KEY***", "***REFERENCE_OTHER***", "plain-value"):
        assert shown in trace
    assert "cannot log in with ***REFERENCE_TOKEN***" in done.stdout
    assert "cannot log in with ***REFERENCE_TOKEN***" in json.loads(files["json"].read_text())["problems"]["dying"]


# -- interrupts


def test_an_interrupt_reports_what_was_learned_of_the_earlier_servers(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    silent = {"command": "python", "args": ["-c", "import sys; sys.stdin.read()"]}
    good = {"command": "python", "args": ["-m", "conformance.reference"]}
    file = config(tmp_path, {"first": good, "silent": silent, "last": good})
    running = subprocess.Popen(
        [*COMMAND, "--config", str(file), *QUICK, "--json", str(path)],
        env=environment(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert running.stdout is not None
    for line in running.stdout:
        if line.startswith("mcp-conform tests silent"):
            break
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    assert running.wait(60) == 3
    assert "Interrupted: this is what was learned until then." in rest
    report = json.loads(path.read_text())
    assert report["complete"] is False
    assert names(report) == ["first"]
    assert report["runs"][0]["verdicts"][0]["verdict"] == "passed"
    assert report["problems"]["last"] == "the run was interrupted"
