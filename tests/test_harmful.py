"""A server that somebody else runs is not hurt unless the user says so."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.checks.registry import cases
from conformance.model import Limits, Target
from conformance.target.listening import RunningServer

HARMFUL = {case.id for case in cases() if case.harmful}
AREAS = [word for area in ("jsonrpc", "fuzz") for word in ("--only", area)]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The URL of a reference server that is up already."""
    command = (sys.executable, "-m", "conformance.reference", "--transport", "http", "--port", "{port}")
    server = RunningServer(Target(command, "http://127.0.0.1:{port}/mcp"), Limits())
    server.start()
    try:
        yield server.url
    finally:
        server.end()


def run(folder: Path, *words: str) -> tuple[dict[str, Any], set[str], str]:
    """The report, the cases that were played, and what was printed."""
    report, trace = folder / "report.json", folder / "trace.jsonl"
    options = ["--revision", "2025-11-25", "--fuzz", "20", "--json", report, "--trace", trace, *AREAS]
    done = conform(*words, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    return json.loads(report.read_text()), {row["case"] for row in rows if "case" in row}, done.stdout


def test_a_server_that_was_up_before_is_sent_nothing_that_may_hurt_it(url: str, tmp_path: Path) -> None:
    report, played, printed = run(tmp_path, "--url", url)
    assert "jsonrpc/ids-of-each-method" in played
    assert not played & HARMFUL
    assert any("--harmful plays them" in note for note in report.get("notes", []))
    assert "--harmful plays them" in printed


def test_with_harmful_it_is(url: str, tmp_path: Path) -> None:
    report, played, _ = run(tmp_path, "--url", url, "--harmful")
    assert {"fuzz/malformed", "fuzz/tool-arguments"} <= played & HARMFUL
    assert not any("--harmful" in note for note in report.get("notes", []))


def test_what_may_hurt_a_server_and_is_all_that_was_asked_for_needs_the_option(url: str) -> None:
    done = conform("--url", url, "--only", "fuzz/malformed")
    assert done.returncode == 2
    assert "--harmful plays it" in done.stderr
