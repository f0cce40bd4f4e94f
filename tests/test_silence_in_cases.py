"""Cases as they are played: who survives what, which response belongs to which frame, what counts as silence."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import fronts
import pytest

HERE = Path(__file__).parent


@cache
def verdicts() -> dict[str, Any]:
    """The name of a case of `played_cases` → what the server touchy.py got for it."""
    with TemporaryDirectory() as folder:
        command = ("--server", f"{sys.executable} {HERE / 'servers' / 'touchy.py'}", "--revision", "2025-11-25")
        chosen = ("--cases", str(HERE / "played_cases"), "--only", "own", "--timeout", "1")
        fronts.conform(*command, *chosen, "--json", "r.json", cwd=Path(folder))
        report = json.loads((Path(folder) / "r.json").read_text())
    return {each["requirement"].removeprefix("own/touchy/"): each for each in report["runs"][0]["verdicts"]}


@pytest.mark.parametrize(
    ("case", "verdict", "said"),
    [
        ("dies", "failed", "the server does not survive x/die"),
        ("silent", "inconclusive", "the server is silent and lives on"),
        ("nameless", "passed", ""),
        ("quiet", "passed", ""),
    ],
)
def test_silence_death_and_an_answer_without_an_id_are_told_apart(case: str, verdict: str, said: str) -> None:
    judged = verdicts()[case]
    told = judged["reason"] or "".join(finding["message"] for finding in judged["findings"])
    assert (judged["verdict"], told) == (verdict, said)
