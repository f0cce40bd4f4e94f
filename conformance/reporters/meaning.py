"""What the exit status of a run means."""

from __future__ import annotations

from conformance.engine.verdicts import NOT_ALL
from conformance.model import Basis, Judged, Report, Severity, Verdict


def meaning(report: Report) -> str:
    """What the exit status means, as the end of a sentence."""
    if report.exit == 0:
        accepted = any(judged.known for run in report.runs for judged in run.verdicts)
        return f"no requirement that fails a server is broken{', but for what is known' if accepted else ''}"
    if report.exit == 1:
        return _broken(report)
    if report.problem:
        return NOT_ALL if report.problem.startswith(NOT_ALL) else "nothing could be tested, or not what was asked for"
    if not report.complete:
        return "the run was interrupted, so nothing is proven"
    if report.problems:
        return "not every server could be tested"
    if any(judged.verdict is Verdict.BROKEN for run in report.runs for judged in run.verdicts):
        return "mcp-conform itself failed"
    return "no requirement was decided: inconclusive, blocked or not applicable is all that came out"


def _broken(report: Report) -> str:
    who = "a" if report.target.config else "the"
    failed: list[Judged] = [
        judged
        for run in report.runs
        for judged in run.verdicts
        if judged.verdict is Verdict.FAILED and not judged.known
    ]
    worst = max((judged.severity for judged in failed if judged.severity), key=lambda s: s.rank, default=None)
    stale = report.known is not None and report.known.stale
    if stale and (worst is None or worst.rank < Severity(report.fail_on).rank):
        return "the baseline is out of date"
    if worst is Severity.WARNING:
        return "there is no violation, but warnings fail"
    if worst is Severity.ADVICE:
        return "there is neither violation nor warning, but advice fails"
    own = bool(failed) and all(judged.basis is Basis.OWN for judged in failed)
    return f"{who} server breaks {'a rule of its own' if own else 'the specification'}"
