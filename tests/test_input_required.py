"""What servers that ask for input may do: the command line against ones that use their freedom."""

from __future__ import annotations

import sys
from pathlib import Path

from test_wrongly_blamed import against

SINGLE_USE = Path(__file__).resolve().parent / "servers" / "single_use.py"


def test_a_server_whose_states_are_good_for_one_retry_breaks_no_rule(tmp_path: Path) -> None:
    words = ("--fuzz", "0", "--revision", "2026-07-28", "--call-tools", "all", "--only", "input-required")
    said = against(tmp_path, f"{sys.executable} {SINGLE_USE}", *words)
    assert said.severities == {}, said.printed
    for rule in ("retry-self-contained", "unexpected-responses-ignored", "missing-responses-asked-again"):
        assert said.verdict(f"input-required/{rule}") == "passed"
