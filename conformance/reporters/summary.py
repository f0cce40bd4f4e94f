"""What a run comes to, in a few words: for a badge, a heading, the first line of a report."""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

from conformance.engine.verdicts import KNOWN, outcome
from conformance.model import Basis, Report, Run, Severity, Verdict
from conformance.reporters.grouping import blocks, by_server
from conformance.reporters.words import counted


class Bottom(StrEnum):
    """What a run comes to."""

    FAILS = "fails"
    CONFORMS = "conforms"
    PARTLY = "partly tested"
    UNTESTED = "not tested"


def bottom(report: Report) -> Bottom:
    """What the run comes to. It conforms only if all that was asked for was tested, to the end of the run."""
    verdicts = [judged for run in report.runs for judged in run.verdicts]
    stale = report.known is not None and report.known.stale
    if stale or any(outcome(judged, report.fail_on) == "failed" for judged in verdicts):
        return Bottom.FAILS
    if not any(judged.verdict in (Verdict.PASSED, Verdict.FAILED) for judged in verdicts):
        return Bottom.UNTESTED
    broken = any(judged.verdict is Verdict.BROKEN for judged in verdicts)
    whole = report.complete and not report.problem and not report.problems and not broken
    return Bottom.CONFORMS if whole else Bottom.PARTLY


def unfinished(report: Report) -> str:
    """Why not all that was asked for was tested, "" if it was; of several servers `problems` says more."""
    if report.problem or not report.complete:
        return report.problem or "the run was interrupted"
    return "nothing was tested" if bottom(report) is Bottom.UNTESTED and not report.problems else ""


def in_full(run: Run) -> bool:
    """Whether every rule that holds in the revision and can be checked was asked for, as without --only or --quick."""
    beside = (Basis.OWN, Basis.CLIENT)
    return sum(judged.basis not in beside for judged in run.verdicts) >= run.extent.checked


def broken_rules(report: Report) -> dict[Severity, int]:
    """How many requirements are broken, by severity, the worst first; of several servers the sum."""
    parts = by_server(report)
    found = {severity: sum(len(blocks(part, severity)) for part in parts) for severity in Severity}
    return {severity: number for severity, number in found.items() if number}


def headline(report: Report) -> str:
    """`2 violations, 1 warning`, `conforms, 3 warnings`, `conforms in what was asked for`, `not tested`, …."""
    what = bottom(report)
    numbers = [counted(number, severity) for severity, number in broken_rules(report).items()]
    part = what is Bottom.CONFORMS and not all(map(in_full, report.runs))
    words = f"{what} in what was asked for" if part else what.value
    stale = ["the baseline is out of date"] if report.known is not None and report.known.stale else []
    return ", ".join([*numbers, *stale] if what is Bottom.FAILS else [words, *numbers])


def tally(run: Run, area: str = "") -> str:
    """`1 violation, 20 passed, 2 inconclusive`: what came out in a run, or in an area of it."""
    verdicts = [judged for judged in run.verdicts if area in ("", judged.requirement.area)]
    severities = Counter(judged.severity for judged in verdicts if judged.severity and not judged.known)
    others: Counter[Verdict] = Counter(judged.verdict for judged in verdicts if judged.verdict is not Verdict.FAILED)
    told = [counted(severities[severity], severity) for severity in Severity if severities[severity]]
    known = sum(bool(judged.known) for judged in verdicts)
    told += [f"{known} {KNOWN}"] if known else []
    return ", ".join(told + [f"{others[verdict]} {verdict}" for verdict in Verdict if others[verdict]])
