"""What the units of a run have written down → the run as it is reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.catalogue.mistakes import explained
from conformance.catalogue.requirements import applies
from conformance.catalogue.selection import Selection
from conformance.checks.ledger import Ledger
from conformance.checks.registry import checks, extent
from conformance.engine.options import Options
from conformance.engine.reproduction import command
from conformance.engine.stage import CLOSING, OPENING, SURVEY
from conformance.engine.units import State
from conformance.engine.verdicts import Facts, in_order, judge
from conformance.model import Judged, Requirement, Run, Severity, Target, Verdict


@dataclass(frozen=True, slots=True)
class Conclusion:
    """For all runs against `target`. `advice` and `own` are requirements of profiles, and of cases of the user."""

    target: Target
    selection: Selection
    requirements: Mapping[str, Requirement]
    advice: Collection[str]
    own: Collection[str]

    def run(self, state: State, options: Options, cut: str) -> Run:
        """What was learned; `cut` is why the run was ended early, "" if it was not."""
        ledger = Ledger()
        for part in state.ledgers:
            ledger.merge(part)
        ledger.arrange((OPENING, SURVEY, *state.planned, CLOSING))
        facts = Facts(
            state.revision.date,
            state.transport,
            state.survey,
            ledger,
            self._judging(),
            state.seconds,
            state.blocked_by or cut,
            {**dict.fromkeys(self.requirements, Severity.WARNING), **options.softened}
            if state.locked
            else options.softened,
        )
        verdicts = [
            self._completed(judge(requirement, facts), state, options) for requirement in self._reportable(state)
        ]
        return Run(
            state.revision.date,
            state.revision.era,
            state.transport,
            state.server,
            state.survey.capabilities if state.survey else {},
            in_order(verdicts, [finding.requirement for finding in ledger.findings]),
            sum(state.seconds.values()),
            self.target.name,
            tuple(ledger.tallies),
            state.survey.left_out if state.survey else {},
            extent(state.revision.date, state.transport),
        )

    def _judging(self) -> dict[str, tuple[str, ...]]:
        judging: dict[str, tuple[str, ...]] = {}
        for case in self.selection.cases:
            for requirement in case.requirements:
                judging[requirement] = (*judging.get(requirement, ()), case.id)
        return judging

    def _reportable(self, state: State) -> Iterator[Requirement]:
        known = {*checks(), *self.advice, *self.own}
        for identifier, requirement in self.requirements.items():
            if (
                identifier in known
                and identifier in self.selection.requirements
                and not requirement.unobservable
                and applies(requirement, state.revision.date, state.transport)
            ):
                yield requirement

    def _completed(self, judged: Judged, state: State, options: Options) -> Judged:
        """With the command that shows the failure again, and what probably is behind it."""
        if judged.verdict is not Verdict.FAILED:
            return judged
        first = judged.findings[0]
        advice = judged.requirement.id in self.advice
        shown_by = (judged.requirement.id,) if advice else (*first.after, first.case)
        findings = tuple(map(explained, judged.findings))
        reproduce = command(self.target, options, state.revision.date, *shown_by)
        return replace(judged, findings=findings, reproduce=reproduce)
