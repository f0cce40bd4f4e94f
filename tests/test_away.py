"""Servers over HTTP that are away for a while, as they may: not ready yet, or without the stream that GET opened."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from fronts import conform
from test_authorization import serving

from conformance.reference.http import Handler
from conformance.transports.pace import IN_VAIN, LONGEST, MOST, TRIES, Pace

REVISION = ("--revision", "2025-11-25", "--fuzz", "0")


@pytest.mark.parametrize(("after", "status"), [("0", 0), ("3600", 3), ("tomorrow", 3)])
def test_a_server_that_says_that_it_will_be_ready_soon_is_asked_again_then(after: str, status: int) -> None:
    refused: list[bytes] = []

    def post(handler: Any, body: bytes) -> None:
        if len(refused) < 3 or status:
            refused.append(body)
            handler.answer(503, b"", {"Retry-After": after})
        else:
            Handler._post(handler, body)

    with serving({"_post": post}, protected=False) as url:
        said = conform("--url", url, *REVISION, "--only", "lifecycle")
    assert said.returncode == status, said.stdout


def test_what_a_server_tells_after_it_has_closed_the_stream_of_a_get_is_heard_by_who_comes_back(tmp_path: Path) -> None:
    file = tmp_path / "report.json"

    def get(handler: Any, body: bytes) -> None:
        if "Last-Event-ID" in handler.headers:
            Handler._get(handler, body)
            return
        session = handler._check_standing()
        handler.begin_events({})
        handler.wfile.write(session.standing.add(b""))
        handler.close_connection = True

    with serving({"_get": get}, protected=False) as url:
        words = ("--only", "tools/effects", "--call-tools", "all", "--json", file)
        said = conform("--url", url, *REVISION, *words)
    (run,) = json.loads(file.read_text())["runs"]
    verdicts = {each["requirement"]: each["verdict"] for each in run["verdicts"]}
    assert (said.returncode, verdicts["resources/update-announced"]) == (0, "passed"), said.stdout
    assert "failed" not in verdicts.values(), said.stdout


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_is_asked_too_often_is_asked_again_when_it_says(
    status: int, revision: str, tmp_path: Path
) -> None:
    file = tmp_path / "report.json"
    asked = itertools.count(1)

    def post(handler: Any, body: bytes) -> None:
        if next(asked) % 5:
            Handler._post(handler, body)
        else:
            handler.answer(status, b'{"error":"slow down"}', {"Retry-After": "0", "Content-Type": "application/json"})

    with serving({"_post": post}, protected=False) as url:
        areas = ("--only", "tools", "--only", "resources", "--only", "asking", "--only", "lifecycle")
        said = conform("--url", url, "--revision", revision, *areas, "--fuzz", "0", "--json", file)
    (run,) = json.loads(file.read_text())["runs"]
    verdicts = [each["verdict"] for each in run["verdicts"]]
    assert (said.returncode, verdicts.count("failed"), verdicts.count("blocked")) == (0, 0, 0), said.stdout
    assert "messages were refused by HTTP status 429 or 503 with Retry-After, and sent again then" in said.stdout


def test_a_server_that_wants_to_be_asked_again_tomorrow_is_taken_at_its_word(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    asked = itertools.count(1)

    def post(handler: Any, body: bytes) -> None:
        if next(asked) < 40:
            Handler._post(handler, body)
        else:
            handler.answer(429, b"", {"Retry-After": "86400"})

    with serving({"_post": post}, protected=False) as url:
        said = conform("--url", url, *REVISION, "--only", "tools", "--json", file)
    assert (said.returncode, "HTTP status 429 Too Many Requests" in said.stdout) == (3, True), said.stdout


def test_a_server_is_given_the_time_that_it_asks_for_within_limits() -> None:
    pace = Pace()
    assert not pace.refused(429, {}, 0)
    assert not pace.refused(200, {"retry-after": "1"}, 0)
    assert not pace.refused(429, {"retry-after": str(LONGEST + 1)}, 0)
    assert not pace.refused(429, {"retry-after": "1"}, TRIES)
    assert (pace.times, pace.left) == (0, 0.0)
    assert pace.refused(503, {"retry-after": "5"}, 0)
    assert 0.0 < pace.left <= 5.0
    assert 0.0 <= pace.away < 5.0
    pace.end()
    assert not pace.refused(503, {"retry-after": "1"}, 0)


def times_away(*, served_between: bool) -> int:
    """How often we stay away for LONGEST from a server that asks for it again and again."""
    now = itertools.count(1000.0, LONGEST)
    pace = Pace(lambda: next(now))
    while pace.refused(429, {"retry-after": f"{LONGEST:.0f}"}, 0):
        assert not (served_between and pace.refused(200, {}, 0))
    return pace.times


def test_a_server_that_always_asks_for_time_gets_no_more_than_there_is_for_all_of_it() -> None:
    assert times_away(served_between=True) == MOST // LONGEST


def test_a_server_that_refuses_whatever_comes_is_soon_believed() -> None:
    assert times_away(served_between=False) == IN_VAIN // LONGEST
