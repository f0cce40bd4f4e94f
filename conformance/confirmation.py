"""Confirm: what failed is put to the test again on a fresh server."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from conformance.cases import Case
from conformance.ledger import Ledger
from conformance.model import Kind
from conformance.selection import Selection
from conformance.session import NotSpoken
from conformance.transports import StartError
from conformance.units import CLOSING, SESSION_CASES, SURVEY, Stage, State, Workshop
from conformance.verdicts import stands


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Makes the jobs that put findings to the test again: each case alone, or all `together` on one server.

    With `surveys` whatever is found outside of the cases takes a survey to show. Of the cases that show findings of one
    kind the first is played, whose finding is reported, and the next one only if it does not show it again: so `jobs`
    is to be asked until there are none.
    """

    workshop: Workshop
    selection: Selection
    together: bool
    surveys: bool
    played: set[tuple[str, str]] = field(default_factory=set)
    """Revision and case."""

    def needed(self, state: State) -> int:
        """How many processes `jobs` would need by now."""
        return len(self._parts(state))

    def jobs(self, state: State) -> Iterator[Callable[[], object]]:
        """Each needs a process of its own, and writes down in the ledgers of `state` what came back."""
        for cases, outside in self._parts(state):
            self.played.update((state.revision.date, case) for case in (*(case.id for case in cases), *outside))
            yield self._job(state, cases, outside)

    def _parts(self, state: State) -> list[tuple[tuple[Case, ...], Sequence[str]]]:
        """What each process has to show again: cases, and what is outside of them."""
        failed = set(self._first(state).values())
        cases = tuple(case for case in self.selection.cases if case.id in failed)
        outside = sorted(failed - {case.id for case in cases})
        if self.together:
            return [(cases, outside)] if failed else []
        alone: list[tuple[tuple[Case, ...], Sequence[str]]] = [((case,), ()) for case in cases]
        return [*alone, ((), outside)] if outside else alone

    def _first(self, state: State) -> dict[Kind, str]:
        """Findings that wait for their confirmation, by kind: the first case that showed one and was not played yet."""
        first: dict[Kind, str] = {}
        for finding in (finding for ledger in state.ledgers for finding in ledger.findings):
            # A campaign has put its own to the test again.
            waits = finding.confirmed is None and finding.requirement in self.selection.requirements
            if waits and (state.revision.date, finding.case) not in self.played:
                first.setdefault(finding.kind, finding.case)
        return first

    def _job(self, state: State, cases: tuple[Case, ...], outside: Sequence[str]) -> Callable[[], object]:
        """Plays cases, and what is `outside` of them: the opening, the survey, the end."""

        def job() -> None:
            stage = self._opened(state, outside) if outside or self.together else None
            ledger = self.workshop.play(state, cases, _tell_nobody, stage, keep=False)
            for case in (*(case.id for case in cases), *outside):
                back = {finding.requirement for finding in ledger.findings if finding.case in (case, *SESSION_CASES)}
                with state.lock:
                    kinds = {f.kind for mine in state.ledgers for f in mine.findings if f.case == case}
                    for mine in state.ledgers:
                        mine.confirm(case, back, kinds, stands)

        return job

    def _opened(self, state: State, outside: Sequence[str]) -> Stage | None:
        try:
            stage = self.workshop.stage(state.revision, {}, Ledger(), own_process=True)
        except StartError:
            return None
        stage.hurried = self.together and CLOSING not in outside
        try:
            stage.open()
            if SURVEY in outside or self.surveys:
                self.workshop.survey(state, stage)
        except NotSpoken:
            stage.close()
        return stage


def _tell_nobody(case: str, outcome: str, seconds: float) -> None:
    """Confirmation is not news."""
