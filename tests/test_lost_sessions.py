"""Servers that end sessions, or die, in the middle: the session is replaced, and nothing follows from its loss."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.model import Limits, Target
from conformance.target.listening import RunningServer

SERVER = Path(__file__).resolve().parent / "servers" / "forgetful_http.py"
AREAS = ("lifecycle", "jsonrpc", "cancellation", "tools", "completion")
ONLY = [word for area in AREAS for word in ("--only", area)]
ONCE = "jsonrpc/every-request-answered-once"


def run(folder: Path, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and report."""
    file = folder / "report.json"
    options = ["--fuzz", "0", "--revision", "newest", "--timeout", "10", "--json", str(file)]
    done = conform(*words, *options, *([] if "--only" in words else ONLY))
    return done.returncode, json.loads(file.read_text())


def own(folder: Path, mode: str, *words: str) -> tuple[int, dict[str, Any]]:
    """A run that starts the server itself."""
    server = f"{sys.executable} {SERVER} {{port}} {mode}"
    return run(folder, "--server", server, "--url", "http://127.0.0.1:{port}/mcp", *words)


@contextmanager
def remote(mode: str) -> Iterator[str]:
    """The URL of a server that somebody else has started."""
    command = (sys.executable, str(SERVER), "{port}", *mode.split())
    server = RunningServer(Target(command, "http://127.0.0.1:{port}/mcp"), Limits())
    server.start()
    try:
        yield server.url
    finally:
        server.end()


def verdicts(report: dict[str, Any], verdict: str) -> dict[str, str]:
    """Requirement → message of the first finding, or the reason."""
    found = [each for one in report["runs"] for each in one["verdicts"] if each["verdict"] == verdict]
    return {each["requirement"]: (each["findings"] or [{"message": each["reason"]}])[0]["message"] for each in found}


def blamed(report: dict[str, Any]) -> set[str]:
    """What the server gets violations or warnings for."""
    return {
        each["requirement"]
        for one in report["runs"]
        for each in one["verdicts"]
        if each["severity"] in ("violation", "warning")
    }


def test_a_session_that_the_server_ended_once_costs_no_verdict(tmp_path: Path) -> None:
    _, sound = own(tmp_path, "none")
    status, report = own(tmp_path, "404-once 9")
    assert status == 0
    assert report["counts"] == sound["counts"]
    assert any("the server has ended the session (HTTP status 404" in note for note in report["notes"])


@pytest.mark.parametrize(
    "mode",
    ["404 9", "404-own-id 9", "400 9", "html-404 9", "401 9", "503 9", "after-error", "after-notification"],
)
def test_a_server_that_ends_sessions_is_blamed_for_nothing(mode: str, tmp_path: Path) -> None:
    status, report = own(tmp_path, mode)
    assert blamed(report) == set()
    assert status == 0 if mode.startswith("after") else status in (0, 3)
    assert verdicts(report, "passed")
    blocked = verdicts(report, "blocked")
    assert blocked
    assert all("HTTP status" in why for why in blocked.values())


def test_a_server_that_replaces_the_session_with_each_answer_is_blamed_for_no_message(tmp_path: Path) -> None:
    names = ("cancellation", "lifecycle/ping-answered-promptly", "fuzz/malformed", "fuzz/http-requests")
    words = [word for name in names for word in ("--only", name)]
    status, report = own(tmp_path, "new-each", *words, "--timeout", "2", "--fuzz", "3", "--fuzz-time", "1")
    assert status == 0
    assert blamed(report) == set()
    assert all("HTTP status 404" in why for why in verdicts(report, "blocked").values())


@pytest.mark.parametrize("mode", ["404 9", "401 9", "503 9"])
def test_a_server_that_ends_every_session_is_no_success(mode: str, tmp_path: Path) -> None:
    with remote(mode) as url:
        status, report = run(tmp_path, "--url", url)
    assert blamed(report) == set()
    assert status == 3
    assert "HTTP status" in report["problem"]


def test_what_malformed_frames_do_to_a_session_is_no_death_of_the_server(tmp_path: Path) -> None:
    malformed = ("--only", "fuzz", "--only", "jsonrpc/invalid-request-code", "--fuzz", "15")
    status, report = own(tmp_path, "after-malformed", *malformed)
    assert status == 0
    assert blamed(report) == set()
    assert report["counts"]["broken"] == 0


@pytest.mark.parametrize("mode", ["exit 20", "refuse 20", "exit-quietly-first 20"])
def test_a_server_that_is_gone_for_good_blocks_the_rest_for_one_cause(mode: str, tmp_path: Path) -> None:
    with remote(mode) as url:
        status, report = run(tmp_path, "--url", url)
    assert status in (1, 3)
    assert "connection refused" in report["problem"]
    blocked = verdicts(report, "blocked")
    assert len(blocked) > 10
    refused = [why for why in verdicts(report, "failed").values() if "refused at" in why]
    assert refused == []
    assert len(blamed(report)) <= 2, "what was under way, and no more"


@pytest.mark.parametrize("mode", ["exit 20", "refuse 20"])
def test_a_server_of_ours_that_is_gone_is_started_again(mode: str, tmp_path: Path) -> None:
    status, report = own(tmp_path, mode)
    assert ONCE in verdicts(report, "failed")
    assert status == 1
    _, sound = own(tmp_path, "none")
    assert report["counts"]["passed"] > 0.8 * sound["counts"]["passed"]


def test_connections_that_a_server_closes_unasked_are_nobodys_fault(tmp_path: Path) -> None:
    status, report = own(tmp_path, "close-idle 0")
    assert (status, blamed(report)) == (0, set())
