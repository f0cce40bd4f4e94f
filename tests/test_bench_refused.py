"""`mcp-conform bench` where a server refuses what is too much for it, or answers as fast with many in flight."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.bench.answers import errors, refused
from conformance.bench.bounds import parsed
from conformance.bench.program import expected_with
from conformance.engine.options import Detail
from conformance.model import UsageError
from conformance.reporters.bench.page import as_html
from conformance.reporters.bench.table import print_report

SERVER = Path(__file__).parent / "servers" / "limited.py"


@pytest.mark.parametrize("status", [429, 503])
def test_requests_that_are_refused_under_load_are_told_with_the_status(status: int, tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVER} {{port}} {status} 4"
    words = ["--url", "http://127.0.0.1:{port}/mcp", "--only", "tools/call:echo", "--in-flight", "1,16"]
    file = tmp_path / "report.json"
    for duration in (4, 12, 30):  # the longer ones where others keep the machine busy
        done = conform("bench", "--server", server, *words, "--duration", duration, "--json", file)
        assert done.returncode == 0, done.stdout + done.stderr
        report = json.loads(file.read_text())
        (measured,) = report["servers"]
        (operation,) = measured["operations"]
        many = [each for each in operation["loads"] if (each["in_flight"], each["sessions"]) == (16, 1)]
        if many and many[0]["errors"]:
            break
    (cell,) = many
    assert set(cell["wrong"]) == {f"HTTP status {status}"} and cell["errors"] > 0
    told = {each["kind"]: each["text"] for each in measured["symptoms"]}
    assert f"HTTP status {status} (it" in told["refused"]
    assert "ended" not in told and "unreadable" not in told
    operation["left_out"], cell["changed"] = {"64": "it may take long"}, 3
    shown, full = printed(report, "usual"), printed(report, "full")
    assert "1 figure was not measured; --verbose says why" in shown
    assert "64 in flight were not measured: it may take long" in full and "not measured; --verbose" not in full
    assert "16 in flight: 3 x other than alone" in full and "<td>3</td>" in as_html(report)


def printed(report: Any, detail: Detail) -> str:
    """What a terminal shows of a report."""
    stream = io.StringIO()
    print_report(report, detail, stream)
    return stream.getvalue()


def test_an_error_status_with_a_response_is_judged_by_the_response_unless_it_is_too_much() -> None:
    assert refused(400, answered=True) == refused(200, answered=False) == refused(0, answered=False) == ""
    assert refused(400, answered=False) == "HTTP status 400"
    assert refused(429, answered=True) == "HTTP status 429"
    assert errors({"HTTP status 429": 2, "error": 1, "time ran out": 5}) == 3


def test_more_in_flight_are_expected_to_take_longer_only_as_they_did_in_the_last_step() -> None:
    assert expected_with(64, [(16, 0.2)]) == pytest.approx(0.8)
    assert expected_with(64, [(1, 0.2), (16, 0.2)]) == pytest.approx(0.2)
    assert expected_with(64, [(1, 0.1), (16, 1.6)]) == pytest.approx(6.4)
    assert expected_with(64, [(1, 0.3), (16, 0.2)]) == pytest.approx(0.2)


def test_a_bound_that_no_figure_can_break_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="can never be broken"):
        parsed("rate@16=0")
    assert parsed("errors=0").value == 0
