"""What the units of a run have written down → the run as it is reported."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from conformance.catalogue import mistakes, sdks
from conformance.catalogue.requirements import applies
from conformance.catalogue.selection import JOINT, Selection
from conformance.checks.ledger import Ledger
from conformance.checks.registry import checks, extent
from conformance.engine.options import Options
from conformance.engine.reproduction import command
from conformance.engine.stage import CLOSING, OPENING, SURVEY
from conformance.engine.units import State
from conformance.engine.verdicts import Facts, in_order, judge, without_followers
from conformance.model import Judged, Played, Requirement, Run, Severity, Target, Verdict


@dataclass(frozen=True, slots=True)
class Conclusion:
    """For all runs against `target`. `advice` and `own` are requirements of profiles, and of cases of the user."""

    target: Target
    selection: Selection
    requirements: Mapping[str, Requirement]
    advice: Collection[str]
    own: Collection[str]

    def run(self, state: State, options: Options, cut: str, out_of_time: str) -> Run:
        """What was learned; `cut` is why the run was ended early, "" if it was not, or only for want of time."""
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
            self._shared(state.seconds),
            state.blocked_by or cut,
            out_of_time,
            {**dict.fromkeys(self.requirements, Severity.WARNING), **options.softened}
            if state.locked
            else options.softened,
        )
        built_with = sdks.built_with(ledger.signs)
        judged = (judge(requirement, facts) for requirement in self.reportable(state.revision.date, state.transport))
        verdicts = [self._completed(each, state, options, built_with) for each in without_followers(judged, facts)]
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
            {
                case: Played(state.seconds.get(case, 0.0), tuple(ledger.excerpts.get(case, ())))
                for case in (OPENING, SURVEY, *state.planned, CLOSING)
                if case in state.seconds or case in ledger.excerpts
            },
        )

    def _judging(self) -> dict[str, tuple[str, ...]]:
        judging: dict[str, tuple[str, ...]] = {}
        for case in self.selection.cases:
            for requirement in case.requirements:
                judging[requirement] = (*judging.get(requirement, ()), case.id)
        return judging

    def _shared(self, seconds: Mapping[str, float]) -> dict[str, float]:
        """Each case's time, divided by the number of requirements that it judges."""
        judged = {case.id: len(case.requirements) for case in self.selection.cases}
        return {case: took / (judged.get(case) or 1) for case, took in seconds.items()}

    def reportable(self, revision: str, transport: str) -> Iterator[Requirement]:
        """The requirements on which there is a verdict in `revision` over `transport`, in catalogue order."""
        known = {*checks(), *self.advice, *self.own}
        for identifier, requirement in self.requirements.items():
            if (
                identifier in known
                and identifier in self.selection.requirements
                and not requirement.unobservable
                and applies(requirement, revision, transport)
            ):
                yield requirement

    def _completed(self, judged: Judged, state: State, options: Options, built_with: Collection[sdks.Sdk]) -> Judged:
        """With the command that shows the failure again, and what probably is behind it."""
        if judged.verdict is not Verdict.FAILED:
            return judged
        first = judged.findings[0]
        advice = judged.requirement.id in self.advice
        rule = judged.requirement.id
        shown_by = (rule,) if advice else [f"{case}{JOINT}{rule}" for case in (*first.after, first.case)]
        # What is known of the SDK says more than what is known of servers in general.
        findings = tuple(sdks.explained(mistakes.explained(finding), built_with) for finding in judged.findings)
        reproduce = command(self.target, options, state.revision.date, *shown_by)
        return replace(judged, findings=findings, reproduce=reproduce)
