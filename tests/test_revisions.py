"""Which revisions are tested: the newest of each era, unless the user says otherwise."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REFERENCE = [sys.executable, "-m", "conformance.reference"]
OTHERS = [sys.executable, str(Path(__file__).resolve().parent / "servers" / "wrongly_blamed.py")]
FEW = ["--only", "lifecycle/ping*", "--only", "discovery", "--fuzz", "0"]
HANDSHAKE = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"]


def conform(folder: Path, server: list[str], *options: str) -> tuple[dict[str, Any], str]:
    """The report and what is printed."""
    file = folder / "report.json"
    command = [sys.executable, "-m", "conformance", "--server", shlex.join(server), "--json", str(file)]
    done = subprocess.run([*command, *FEW, *options], capture_output=True, text=True, timeout=120)
    return json.loads(file.read_text()), done.stdout


def dates_of(report: dict[str, Any]) -> list[str]:
    """The revisions."""
    return [run["revision"] for run in report["runs"]]


def test_the_newest_of_each_era_is_tested_and_the_report_names_what_was_not_tested(tmp_path: Path) -> None:
    report, printed = conform(tmp_path, REFERENCE)
    assert dates_of(report) == ["2025-11-25", "2026-07-28"]
    assert report["untried"] == HANDSHAKE[:3]
    assert "Not tested in 2024-11-05, 2025-03-26, 2025-06-18: --revision all does" in printed


def test_all_that_the_server_speaks_is_tested_if_the_user_says_all(tmp_path: Path) -> None:
    report, printed = conform(tmp_path, REFERENCE, "--revision", "all")
    assert dates_of(report) == [*HANDSHAKE, "2026-07-28"]
    assert "untried" not in report
    assert "Not tested" not in printed


def test_a_server_that_offers_an_older_revision_is_tested_in_that(tmp_path: Path) -> None:
    report, _ = conform(tmp_path, [*REFERENCE, "--revisions", "2024-11-05,2025-06-18"])
    assert dates_of(report) == ["2025-06-18"]
    assert report["untried"] == ["2024-11-05", "2025-03-26"]


@pytest.mark.parametrize(("options", "dates"), [((), ["2025-03-26"]), (("--revision", "all"), HANDSHAKE[:2])])
def test_of_a_server_that_offers_none_the_newest_is_found(
    options: tuple[str, ...], dates: list[str], tmp_path: Path
) -> None:
    report, _ = conform(tmp_path, [*OTHERS, "old-and-strict", str(tmp_path)], *options)
    assert dates_of(report) == dates
    assert report.get("untried", []) == [date for date in HANDSHAKE[:2] if date not in dates]


@pytest.mark.parametrize(
    ("options", "dates"),
    [
        (("newest", "2024-11-05"), ["2024-11-05", "2026-07-28"]),
        (("newest", "newest"), ["2026-07-28"]),
        (("newest", "2026-07-28"), ["2026-07-28"]),
        (("all", "2025-11-25"), [*HANDSHAKE, "2026-07-28"]),
    ],
)
def test_revisions_that_are_asked_for_are_added_up(options: tuple[str, ...], dates: list[str], tmp_path: Path) -> None:
    words = [word for option in options for word in ("--revision", option)]
    report, _ = conform(tmp_path, REFERENCE, *words)
    assert dates_of(report) == dates
