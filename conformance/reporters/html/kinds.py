"""What can have come out for a requirement in a run, as the page has it: a word, a sign, and a name for filters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from conformance.model import Judged, Report, Run, Severity, Verdict
from conformance.reporters.grouping import named


class Kind(NamedTuple):
    """`key` is the name in the page's classes and filters; the sign stands beside or for the word, never colour alone.

    `title` is the heading of those of this kind, `about` explains it.
    """

    key: str
    word: str
    sign: str
    title: str
    about: str = ""

    def words(self, number: int) -> str:
        """`2 violations`, `3 not applicable`."""
        many = self.title if self.key in ("violation", "warning") and number != 1 else self.word
        return f"{number} {many.lower()}"


VIOLATION = Kind(
    "violation",
    "violation",
    "✕",
    "Violations",
    "A MUST of the specification, of its schema or of JSON-RPC 2.0 is broken. The first ones may cause the others.",
)
WARNING = Kind(
    "warning", "warning", "▲", "Warnings", "A SHOULD, a rule without a keyword, or a MUST in a case that weighs less."
)
ADVICE = Kind("advice", "advice", "●", "Advice", "Worth knowing; fails nobody.")
FLAKY = Kind("flaky", "flaky", "≈", "Flaky", "It happened, but could not be reproduced reliably; it fails nobody.")
KNOWN = Kind("known", "known", "≡", "Known", "Accepted by the baseline; it fails nobody.")
BROKEN = Kind("broken", "broken", "‼", "Broken", "mcp-conform itself failed here; please report it.")
BLOCKED = Kind("blocked", "blocked", "⊘", "Blocked", "Not tested, because something else made it pointless.")
INCONCLUSIVE = Kind(
    "inconclusive", "inconclusive", "?", "Inconclusive", "Not decided; each reason says what was missing."
)
NOT_APPLICABLE = Kind(
    "not-applicable", "not applicable", "–", "Not applicable", "Never claimed, or not of this revision or transport."
)
PASSED = Kind("passed", "passed", "✓", "Passed")
KINDS = (VIOLATION, WARNING, ADVICE, FLAKY, KNOWN, BROKEN, BLOCKED, INCONCLUSIVE, NOT_APPLICABLE, PASSED)
"""The worst first."""

_SEVERITIES = {Severity.VIOLATION: VIOLATION, Severity.WARNING: WARNING, Severity.ADVICE: ADVICE}
_VERDICTS = {
    Verdict.BROKEN: BROKEN,
    Verdict.BLOCKED: BLOCKED,
    Verdict.INCONCLUSIVE: INCONCLUSIVE,
    Verdict.NOT_APPLICABLE: NOT_APPLICABLE,
    Verdict.PASSED: PASSED,
    Verdict.FAILED: VIOLATION,
}


def kind_of(judged: Judged) -> Kind:
    """What came out: the severity of what failed, else the verdict."""
    if judged.known:
        return KNOWN
    if judged.severity is not None:
        return _SEVERITIES[judged.severity]
    return FLAKY if judged.flaky else _VERDICTS[judged.verdict]


class Count(NamedTuple):
    """How many of one kind."""

    kind: Kind
    number: int


def counts(verdicts: Iterable[Judged]) -> list[Count]:
    """How many of each kind that is there, the worst first."""
    found = Counter(map(kind_of, verdicts))
    return [Count(kind, found[kind]) for kind in KINDS if found[kind]]


def label(run: Run) -> str:
    """How a run is called among those of one server."""
    return f"{run.revision} {run.transport}"


class Labels:
    """The runs of a report by what they are called; filters know them by their number."""

    def __init__(self, report: Report) -> None:
        self.all = list(dict.fromkeys(map(label, report.runs)))
        self._numbers: Mapping[str, int] = {text: number for number, text in enumerate(self.all)}
        self._of = {named(run): number for run in report.runs for number in (self._numbers[label(run)],)}

    def on(self, kind: Kind, runs: Iterable[str]) -> str:
        """Where a thing of this kind was seen, for filters; `runs` are called as `grouping.named` does."""
        return " ".join(f"{kind.key}@{self._of[run]}" for run in runs)

    def short(self, runs: Iterable[str]) -> list[str]:
        """What the runs are called within the section of their server."""
        return [self.all[self._of[run]] for run in runs]

    def number(self, run: Run) -> int:
        """The number of a run; those of several servers in one revision over one transport share it."""
        return self._numbers[label(run)]
