"""No server is blamed for what it owes to earlier requests: correct ones that remember, and one that talks."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from servers.memories import MODES
from test_wrongly_blamed import against

TWICE = Path(__file__).resolve().parent / "servers" / "acknowledges_twice.py"
SERVER = Path(__file__).resolve().parent / "servers" / "memories.py"


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_remembers_what_came_before_breaks_no_rule(mode: str, tmp_path: Path) -> None:
    said = against(tmp_path, f"{sys.executable} {SERVER} {mode} {tmp_path}", "--fuzz", "0", "--timeout", "5")
    assert (said.status, said.grave) == (0, {}), said.printed


def test_a_list_that_is_refused_the_second_time_has_not_changed(tmp_path: Path) -> None:
    said = against(tmp_path, f"{sys.executable} {SERVER} quota {tmp_path}", "--fuzz", "0", "--only", "tools/effects")
    assert (said.status, said.severities) == (0, {}), said.printed


def test_a_second_acknowledgment_is_not_taken_for_that_of_the_next_subscription(tmp_path: Path) -> None:
    words = ("--fuzz", "0", "--revision", "2026-07-28", "--only", "subscriptions", "--only", "tasks", "--only", "meta")
    said = against(tmp_path, f"{sys.executable} {TWICE}", *words)
    assert (said.status, said.severities) == (0, {}), said.printed
