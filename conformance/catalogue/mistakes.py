"""Common mistakes: what probably is behind a finding, and how to mend it.

The table is `mistakes.yaml` beside this module. A diagnosis stands beside a finding; it changes neither verdict nor
severity. Where nothing fits, nothing is said: a wrong diagnosis would be worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, line_of, load
from conformance.model import Finding

TABLE = Path(__file__).resolve().parent / "mistakes.yaml"
SEARCHED = 64 * 1024
"""Bytes of a frame, and characters of a text, in which a pattern is searched for."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One widespread mistake: a row of the table.

    `requirements` are those whose findings it may explain; without any it explains why no session could be opened,
    and `concerns` are those that such a server breaks.
    `looks` are the patterns of `when`, of which each must be found; `case` is the only case if it is not empty.
    """

    id: str
    requirements: tuple[str, ...]
    case: str
    looks: Mapping[str, re.Pattern[str]]
    diagnosis: str
    hint: str
    concerns: tuple[str, ...] = ()

    def fits(self, finding: Finding) -> bool:
        """Whether it explains `finding`."""
        if finding.requirement not in self.requirements or self.case not in ("", finding.case):
            return False
        return shows(finding, self.looks)


def shows(finding: Finding, looks: Mapping[str, re.Pattern[str]]) -> bool:
    """Whether each of the patterns is found in its place in `finding`: message, actual, sent, heard or headers."""
    return all(any(map(pattern.search, _texts(finding, place))) for place, pattern in looks.items())


def pattern_of(text: str, path: Path, line: int, name: str) -> re.Pattern[str]:
    """A pattern of a table in `path`. Raises FileError."""
    try:
        return re.compile(text)
    except re.error as error:
        raise FileError(path, line, f"{name} is not a regular expression: {error}") from None


@cache
def table(path: Path = TABLE) -> tuple[Mistake, ...]:
    """The rows, in the order in which they are tried. Raises FileError."""
    data, lines = load(path, SCHEMAS / "mistakes.json")
    rows: list[Mistake] = []
    for number, row in enumerate(data["mistakes"]):
        place = ("mistakes", number)
        looks = {
            name: pattern_of(text, path, line_of(lines, (*place, "when", name)), name)
            for name, text in row["when"].items()
        }
        case = looks.pop("case").pattern if "case" in looks else ""
        if any(row["id"] == known.id for known in rows):
            raise FileError(path, line_of(lines, (*place, "id")), f"the id {row['id']!r} stands twice")
        diagnosis, hint = (" ".join(row[name].split()) for name in ("diagnosis", "hint"))
        requirements, concerns = (tuple(row.get(name, ())) for name in ("requirements", "concerns"))
        rows.append(Mistake(row["id"], requirements, case, looks, diagnosis, hint, concerns))
    return tuple(rows)


def explained(finding: Finding) -> Finding:
    """`finding` with the diagnosis and the hint of the first row that fits, if one does."""
    for row in table():
        if row.fits(finding):
            return replace(finding, diagnosis=row.diagnosis, hint=row.hint)
    return finding


def of_problem(problem: str) -> tuple[str, str]:
    """Diagnosis and hint for the reason why no session could be opened; empty if nothing fits."""
    for row in table():
        if not row.requirements and row.looks["problem"].search(problem[:SEARCHED]):
            return row.diagnosis, row.hint
    return "", ""


def about(requirement: str) -> tuple[Mistake, ...]:
    """The rows that may explain findings of a requirement, or why nothing could be found out about it."""
    return tuple(row for row in table() if requirement in (*row.requirements, *row.concerns))


def _texts(finding: Finding, place: str) -> list[str]:
    """The texts of a finding in which a look of that name searches."""
    if place in ("message", "actual"):
        return [getattr(finding, place)[:SEARCHED]]
    if place == "headers":
        return [f"{name}: {value}" for f in finding.frames for name, value in f.headers.items() if f.origin != "us"]
    origin = "us" if place == "sent" else "target"
    # A finding that did not come back alone has all that led to it as its frames; most of that proves nothing.
    frames = finding.frames[-2:] if finding.confirmed is False else finding.frames
    return [f.data[:SEARCHED].decode("utf-8", "backslashreplace") for f in frames if f.origin == origin]
