"""Servers over HTTP that are away for a while, as they may: not ready yet, or without the stream that GET opened."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fronts import conform
from test_authorization import serving

from conformance.reference.http import Handler

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
