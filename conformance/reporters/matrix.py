"""Areas × runs: where something is not as it should be, in a few characters a cell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from conformance.model import Judged, Report, Run, Severity, Verdict
from conformance.reporters.grouping import areas
from conformance.reporters.words import visible

LETTERS: Mapping[Severity | Verdict, str] = {
    Severity.VIOLATION: "V",
    Severity.WARNING: "W",
    Severity.ADVICE: "A",
    Verdict.BROKEN: "X",
    Verdict.BLOCKED: "B",
    Verdict.INCONCLUSIVE: "?",
}
"""What a cell counts, worst first; the rest is as it should be."""
MEANING = {
    "V": "violations",
    "W": "warnings",
    "A": "advice",
    "X": "mcp-conform failed",
    "K": "known",
    "B": "blocked",
    "?": "inconclusive",
}
KNOWN = "K"
GOOD, NOTHING = "ok", "-"
"""A cell of an area in which all is as it should be, or nothing was tested."""


@dataclass(frozen=True, slots=True)
class Row:
    """An area with a cell for each run: letter → how many; None if the run has no rule of the area."""

    area: str
    cells: tuple[Counter[str] | None, ...]


def rows(report: Report) -> list[Row]:
    """The areas in which a rule failed, was blocked, or could not be decided because mcp-conform failed."""
    found = []
    for area in areas(report):
        cells = tuple(
            _cell([judged for judged in run.verdicts if judged.requirement.area == area]) for run in report.runs
        )
        if any(cell and cell.keys() - {"?"} for cell in cells):
            found.append(Row(area, cells))
    return found


def columns(runs: tuple[Run, ...]) -> list[str]:
    """The heads of the columns: the revision, and what else tells a run from the others."""
    transports = len({run.transport for run in runs}) > 1
    names = len({run.name for run in runs}) > 1
    return [
        " ".join(
            part
            for part in (visible(run.name) if names else "", run.revision, run.transport if transports else "")
            if part
        )
        for run in runs
    ]


def cell(counts: Counter[str] | None) -> str:
    """`2V 1W`, "ok" or "-"."""
    if counts is None:
        return NOTHING
    return " ".join(f"{counts[letter]}{letter}" for letter in MEANING if counts[letter]) or GOOD


def legend(found: list[Row]) -> str:
    """What the letters mean that occur."""
    used = {letter for row in found for counts in row.cells for letter in counts or ()}
    return ", ".join(f"{letter} {meaning}" for letter, meaning in MEANING.items() if letter in used)


def _cell(verdicts: list[Judged]) -> Counter[str] | None:
    if not verdicts:
        return None
    letters = (KNOWN if judged.known else LETTERS.get(judged.severity or judged.verdict) for judged in verdicts)
    return Counter(letter for letter in letters if letter)
