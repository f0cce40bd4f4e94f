"""What servers with bad manners get: one clear message or finding, an exit status, no hang, nothing left behind."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest

from conformance.target.listening import free_port

BAD = Path(__file__).resolve().parent / "bad_servers.py"
STDOUT = "transport-stdio/stdout-only-messages"
EXIT = "transport-stdio/exits-on-stdin-close-implied"


def run(*options: str, folder: Path) -> tuple[int, str, dict[str, Any]]:
    """Exit status, what was printed, and the JSON report."""
    file = folder / "report.json"
    command = [sys.executable, "-m", "conformance", *options, "--json", str(file), "--revision", "newest"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout + done.stderr, json.loads(file.read_text()) if file.exists() else {}


def against(mode: str, folder: Path, *options: str) -> tuple[int, str, dict[str, Any]]:
    """A run against a bad server, with short limits and a few cases; afterwards none of its processes is left."""
    server = f"{sys.executable} {BAD} {mode} {folder}"  # the folder tells it from those of other tests
    limits = ("--start-timeout", "8", "--timeout", "3")
    result = run("--server", server, "--only", "transport-stdio", *limits, *options, folder=folder)
    assert [
        process for process in psutil.process_iter(["cmdline"]) if str(folder) in (process.info["cmdline"] or ())
    ] == []
    return result


def failed(report: dict[str, Any]) -> dict[str, str]:
    """Requirement → message of its first finding."""
    return {
        verdict["requirement"]: verdict["findings"][0]["message"]
        for each in report["runs"]
        for verdict in each["verdicts"]
        if verdict["verdict"] == "failed"
    }


@pytest.mark.parametrize("mode", ["banner", "garbage", "long-line"])
def test_what_is_no_message_on_stdout_is_a_violation_and_the_rest_is_tested(mode: str, tmp_path: Path) -> None:
    status, _, report = against(mode, tmp_path)
    assert status == 1
    assert set(failed(report)) == {STDOUT}
    assert report["counts"]["passed"] > 0


@pytest.mark.parametrize("mode", ["slow", "stderr-flood"])
def test_a_server_that_is_slow_to_start_or_noisy_on_stderr_has_no_finding(mode: str, tmp_path: Path) -> None:
    status, _, report = against(mode, tmp_path)
    assert (status, failed(report)) == (0, {})


def test_a_server_may_take_longer_to_start_than_to_answer(tmp_path: Path) -> None:
    server = f"sh -c 'sleep 1.5; exec {sys.executable} -m conformance.reference'"
    file = tmp_path / "report.json"
    words = ["--server", server, "--revision", "2026-07-28", "--only", "versioning/unsupported-first"]
    command = [sys.executable, "-m", "conformance", *words, "--timeout", "1", "--jobs", "1", "--json", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout
    assert "passed" in done.stdout
    assert failed(json.loads(file.read_text())) == {}


@pytest.mark.parametrize(
    ("mode", "said"),
    [
        ("silent", "answers neither initialize nor server/discover: no answer within 2 s"),
        ("content-length", "Content-Length"),
        ("traceback", "RuntimeError: no configuration found"),
    ],
)
def test_a_server_that_cannot_be_tested_is_not_blamed_and_the_cause_is_named(
    mode: str, said: str, tmp_path: Path
) -> None:
    status, printed, report = against(mode, tmp_path, "--start-timeout", "2")
    assert status == 3
    assert said in report["problem"]
    assert said in printed
    assert report["counts"]["failed"] == 0


def test_half_a_line_is_shown_and_is_a_violation_once_the_server_has_left_it_so(tmp_path: Path) -> None:
    status, _, report = against("half-line", tmp_path, "--start-timeout", "2")
    assert status == 1
    assert "began a line and did not end it" in report["problem"]
    assert set(failed(report)) == {STDOUT}


@pytest.mark.parametrize("mode", ["python-repr", "twice-on-a-line"])
def test_a_line_that_is_nearly_a_message_is_shown_and_is_the_violation(mode: str, tmp_path: Path) -> None:
    status, printed, report = against(mode, tmp_path, "--start-timeout", "2")
    assert status == 1
    assert "what came is no JSON: {" in printed
    assert set(failed(report)) == {STDOUT}


def test_messages_in_utf_16_are_named_as_that(tmp_path: Path) -> None:
    status, printed, report = against("utf-16", tmp_path, "--start-timeout", "2", "--only", "jsonrpc")
    assert status == 1
    assert "looks like UTF-16" in printed
    assert set(failed(report)) == {"jsonrpc/messages-utf8"}


def test_a_flood_on_stdout_is_a_violation_and_ends(tmp_path: Path) -> None:
    status, _, report = against("stdout-flood", tmp_path, "--start-timeout", "2")
    assert status == 1
    assert set(failed(report)) == {STDOUT}


def test_a_server_that_ignores_the_end_of_its_input_is_killed_and_warned_of(tmp_path: Path) -> None:
    status, _, report = against("stubborn", tmp_path)
    assert status == 0
    assert set(failed(report)) == {EXIT}


def test_a_server_that_was_slow_to_end_once_is_blamed_for_nothing(tmp_path: Path) -> None:
    status, _, report = against("lingers", tmp_path, "--cwd", str(tmp_path), "--jobs", "1")
    assert status == 0
    assert failed(report) == {}
    assert (tmp_path / "lingered").exists()


def test_a_server_that_leaves_a_process_behind_is_warned_of(tmp_path: Path) -> None:
    _, _, report = against("forks", tmp_path)
    assert "leaves processes behind" in failed(report)[EXIT]


def test_a_server_that_dies_in_the_middle_breaks_one_rule_and_blocks_the_rest(tmp_path: Path) -> None:
    server = f"{sys.executable} {BAD} dies"
    status, _, report = run("--server", server, "--only", "jsonrpc", "--timeout", "3", folder=tmp_path)
    assert status == 1
    assert "jsonrpc/every-request-answered-once" in failed(report)


def test_a_command_that_does_not_exist_is_named(tmp_path: Path) -> None:
    status, printed, _ = run("--server", "no-such-command --flag", folder=tmp_path)
    assert status == 3
    assert "'no-such-command' was not found" in printed


def test_a_url_that_refuses_is_named(tmp_path: Path) -> None:
    status, printed, _ = run("--url", f"http://127.0.0.1:{free_port()}/mcp", folder=tmp_path)
    assert status == 3
    assert "connection refused" in printed


def test_a_web_page_is_told_from_a_server(tmp_path: Path) -> None:
    server = f"{sys.executable} {BAD} html {{port}}"
    status, printed, _ = run("--server", server, "--url", "http://127.0.0.1:{port}/mcp", folder=tmp_path)
    assert status == 3
    assert "text/html" in printed


def test_what_a_server_asks_by_itself_is_not_taken_for_a_question_of_a_slow_tool(tmp_path: Path) -> None:
    server = f"{sys.executable} {BAD} asks-meanwhile {tmp_path}"
    _, _, report = run("--server", server, "--only", "lifecycle/timed-out-request-cancelled", folder=tmp_path)
    judged = report["runs"][0]["verdicts"][0]
    assert judged["verdict"] == "inconclusive", judged["findings"]


class _Visited(BaseHTTPRequestHandler):
    """Refuses everything and remembers it."""

    paths: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        """The same for every path."""
        self.paths.append(self.path)
        self.send_error(404)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def test_nothing_that_the_schemas_of_a_server_refer_to_is_fetched(tmp_path: Path) -> None:
    web = HTTPServer(("127.0.0.1", 0), _Visited)
    threading.Thread(target=web.serve_forever, daemon=True).start()
    server = f"{sys.executable} {BAD} elsewhere {tmp_path} http://127.0.0.1:{web.server_port}/schema.json"
    chosen = [word for area in ("tools", "json-schema", "fuzz/tool-arguments") for word in ("--only", area)]
    _, printed, report = run("--server", server, *chosen, "--fuzz", "20", folder=tmp_path)
    web.shutdown()
    judged = {each["requirement"]: each["verdict"] for each in report["runs"][0]["verdicts"]}
    assert judged["tools/structured-content-conforms"] == "passed", printed
    assert _Visited.paths == []


def test_a_pattern_that_matches_nothing_is_wrong_use(tmp_path: Path) -> None:
    status, printed, report = run("--server", "true", "--only", "nosuch*", folder=tmp_path)
    assert status == 2
    assert "nosuch*" in printed
    assert report == {}


def test_an_unwritable_report_is_found_before_the_run(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "conformance",
        "--server",
        "no-such-command",
        "--junit",
        str(tmp_path / "no" / "x"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


HTTP = ("--transport http --port {port}", ("--url", "http://127.0.0.1:{port}/mcp"))


@pytest.mark.parametrize(("words", "options"), [("", ()), HTTP], ids=["stdio", "http"])
def test_an_interrupted_run_reports_what_was_learned_and_blames_nobody(
    words: str, options: tuple[str, ...], tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    server = f"{sys.executable} -m conformance.reference {words}"
    command = [sys.executable, "-m", "conformance", "--server", server, *options]
    process = subprocess.Popen([*command, "--json", str(file), "--verbose"], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert any("jsonrpc/ids" in line for line in process.stdout)
    process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + 60
    process.stdout.read()
    assert process.wait(max(1, deadline - time.monotonic())) == 3
    report = json.loads(file.read_text())
    assert (report["complete"], report["counts"]["failed"]) == (False, 0)
    assert report["counts"]["passed"] > 0
