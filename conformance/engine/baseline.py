"""Known failures: they do not fail the run, but one that is gone, or whose time is over, does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date

from conformance.engine.verdicts import EXIT_VIOLATIONS, counts, exit_status, worst
from conformance.model import Judged, KnownFailures, Report, Run, Verdict

DECIDED = (Verdict.PASSED, Verdict.NOT_APPLICABLE)


@dataclass(frozen=True, slots=True)
class Known:
    """One entry: a rule that is known to be broken, and why that is accepted.

    It holds in all revisions unless one is named, and for all servers of a client configuration unless one is named
    as `target`; after the day `until` it does not hold any more. `line` is where it stands in the file.
    """

    rule: str
    reason: str
    revision: str = ""
    target: str = ""
    until: date | None = None
    line: int = 0

    def over(self, today: date) -> bool:
        """Whether its last day has passed."""
        return self.until is not None and today > self.until

    def concerns(self, revision: str, target: str) -> bool:
        """Whether it is about the server of that name in that revision."""
        return self.revision in ("", revision) and self.target in ("", target)

    def __str__(self) -> str:
        revision = f" in {self.revision}" if self.revision else ""
        return f"{self.rule}{revision}{f' of {self.target}' if self.target else ''}"


@dataclass(frozen=True, slots=True)
class Baseline:
    """The known failures of a file."""

    path: str
    entries: tuple[Known, ...]

    def known(self, rule: str, revision: str, target: str, today: date | None = None) -> Known | None:
        """The entry that accepts that `rule` is broken, the most special one; `target` is the name of the server."""
        today = today or date.today()
        about = [each for each in self.entries if each.rule == rule and each.concerns(revision, target)]
        found = [each for each in about if not each.over(today)]
        return max(found, key=lambda each: (each.target != "", each.revision != ""), default=None)

    def applied(self, report: Report, fail_on: str, today: date | None = None) -> Report:
        """The report with what is known marked, what is wrong with the baseline told, and the status that follows."""
        today = today or date.today()
        runs = tuple(replace(run, verdicts=tuple(self._marked(run, today))) for run in report.runs)
        stale, untested = [], []
        for entry in self.entries:
            where = f"{self.path}:{entry.line}: {entry}"
            if entry.over(today):
                stale.append(f"{where}: its last day was {entry.until}")
                continue
            fate = _fate(entry, runs)
            if fate is Verdict.PASSED and report.complete:
                stale.append(f"{where}: is not broken any more; remove it")
            elif fate is not Verdict.FAILED:
                untested.append(f"{where}: was not tested")
        known = KnownFailures(self.path, tuple(stale), tuple(untested))
        marked = replace(report, runs=runs, known=known, counts=counts(runs))
        # What fails for other reasons than findings, such as a server that could not be started, still does.
        statuses = [exit_status(marked, fail_on), *([EXIT_VIOLATIONS] if stale else [])]
        return replace(marked, exit=worst(statuses))

    def _marked(self, run: Run, today: date) -> Iterator[Judged]:
        for judged in run.verdicts:
            failed = judged.verdict is Verdict.FAILED
            entry = self.known(judged.requirement.id, run.revision, run.name, today) if failed else None
            yield replace(judged, known=entry.reason) if entry else judged


def _fate(entry: Known, runs: tuple[Run, ...]) -> Verdict:
    """FAILED if the failure is still there, PASSED if it is gone in all runs that it is about, else INCONCLUSIVE."""
    verdicts = [
        judged.verdict
        for run in runs
        if entry.concerns(run.revision, run.name)
        for judged in run.verdicts
        if judged.requirement.id == entry.rule
    ]
    if Verdict.FAILED in verdicts:
        return Verdict.FAILED
    gone = bool(verdicts) and all(verdict in DECIDED for verdict in verdicts)
    return Verdict.PASSED if gone else Verdict.INCONCLUSIVE
