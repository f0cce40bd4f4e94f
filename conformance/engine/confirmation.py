"""Confirm: what failed is put to the test again on fresh servers, alone, and if need be with all that came before."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from conformance.catalogue.cases import Case
from conformance.catalogue.selection import Selection
from conformance.checks.ledger import Ledger, is_silence
from conformance.engine.detection import judge_refusal
from conformance.engine.plan import client_of, turn
from conformance.engine.stage import CLOSING, OPENING, SESSION_CASES, SURVEY, Stage
from conformance.engine.units import State, Workshop
from conformance.model import Finding, FindingKind, Limits, Severity
from conformance.session.session import NotSpoken
from conformance.transports import StartError

TRIES = 5
"""Times that what did not come back alone is played with all that came before it."""
ENOUGH = 2
"""Times of these that it has to show itself."""
LONGER = 3
"""So many times as long as it took a server that does not open to show what was found, that is waited for again."""
SECONDS, LIGHT_SECONDS = 30.0, 10.0
"""After that no further try is begun; what has not shown itself by then fails nobody. The second is for mere advice."""


@dataclass(slots=True)
class _Waiting:
    """A finding that did not come back alone, the cases that led to it, and how often these have shown it again."""

    finding: Finding
    history: tuple[str, ...]
    shown: int = 0

    def settle(self, ledger: Ledger, tries: int) -> None:
        """Write down what came of that many tries."""
        case = self.finding.case
        after = tuple(each for each in self.history if each != case)
        # The run has shown it. That the case alone has not is one of the tries, unless it is said to take more.
        before = 2 if not after or self.finding.silence == "request" else 1
        ledger.settle(self.finding, after, (1 + self.shown, before + tries), shown=self.shown >= ENOUGH)


class _Part(NamedTuple):
    """What one process has to show again: cases, and what is outside of them. `light` means that all is advice."""

    cases: tuple[Case, ...] = ()
    outside: Sequence[str] = ()
    light: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return (*(case.id for case in self.cases), *self.outside)


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Makes the jobs that put findings to the test again: each case alone, or all `together` on one server.

    What shows no violation shares one in any case, warnings one and advice another, as far as the client is the same.

    With `surveys` whatever is found outside of the cases takes a survey to show. Of the cases that show findings of one
    kind the first is played, whose finding is reported, and the next one only if it does not show it again: so `jobs`
    is to be asked until there are none. Then `replays` is asked, once.
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
        for part in self._parts(state):
            self.played.update((state.revision.date, case) for case in part.names)
            yield self._job(state, part)

    def replays(self, state: State) -> Iterator[Callable[[], object]]:
        """Each plays a session again, as far as something in it did not come back alone, and settles what that was."""
        confirmed = {finding.kind for ledger in state.ledgers for finding in ledger.findings if finding.confirmed}
        seen: set[FindingKind] = set()
        for number, ledger in enumerate(state.ledgers):
            waiting: list[_Waiting] = []
            for finding in [finding for finding in ledger.findings if finding.confirmed is False]:
                if finding.kind in confirmed or finding.kind in seen or finding.silence == "feature":
                    # Another one tells it, or it has returned: what took long once does not hang.
                    ledger.findings.remove(finding)
                    continue
                seen.add(finding.kind)
                history = ledger.history(finding.case)
                if finding.silence == "request":  # where a race strikes is a matter of chance
                    history = tuple(case for played in ledger.sessions for case in played)
                elif finding.case in (OPENING, SURVEY) and number == 0:
                    history = ()
                waiting.append(_Waiting(finding, history))
            while waiting:
                longest = max((each.history for each in waiting), key=len)
                within = [each for each in waiting if longest[: len(each.history)] == each.history]
                waiting = [each for each in waiting if each not in within]
                yield self._replay(state, ledger, longest, within)

    def _parts(self, state: State) -> list[_Part]:
        first = self._first(state)
        failed = {finding.case for finding in first}
        cases = tuple(case for case in self.selection.cases if case.id in failed)
        outside = sorted(failed - {case.id for case in cases})
        if self.together:
            return [_Part(cases, outside)] if failed else []
        rank: dict[str, int] = {}
        for finding in first:
            rank[finding.case] = max(rank.get(finding.case, 0), self.workshop.severity(finding, state).rank)
        violation, warning, advice = (severity.rank for severity in Severity)
        beside = max((rank[case] for case in outside), default=advice)
        in_turn = sorted(cases, key=lambda case: (client_of(case), *turn(case)))
        parts = [
            _Part(
                tuple(case for case in in_turn if rank[case.id] == least),
                outside if beside == least else (),
                light=least == advice,
            )
            for least in (warning, advice)
        ]
        if beside == violation:
            parts.append(_Part(outside=outside))
        # A survey and the end of a session take longest.
        parts.sort(key=lambda part: not part.outside)
        parts += [_Part((case,)) for case in cases if rank[case.id] == violation]
        return [part for part in parts if part.names]

    def _weighs(self, state: State, finding: Finding) -> bool:
        return self.workshop.severity(finding, state) is not Severity.ADVICE

    def _first(self, state: State) -> list[Finding]:
        """Findings that wait for their confirmation, one of a kind."""
        first: dict[FindingKind, Finding] = {}
        for finding in (finding for ledger in state.ledgers for finding in ledger.findings):
            # A campaign has put its own to the test again.
            waits = finding.confirmed is None and finding.requirement in self.selection.requirements
            if waits and (state.revision.date, finding.case) not in self.played:
                first.setdefault(finding.kind, finding)
        return list(first.values())

    def _job(self, state: State, part: _Part) -> Callable[[], object]:
        """Plays cases, and what is outside of them: the opening, the survey, the end."""

        def job() -> None:
            stage = self._opened(state, part.outside) if part.outside or self.together else None
            workshop = replace(self.workshop, sparing=part.light)
            if stage is not None and part.light:
                stage.session.slow_tools |= state.slow_tools
            ledger = workshop.play(state, part.cases, _tell_nobody, stage, keep=False)
            for case in part.names:
                found = [finding for finding in ledger.findings if finding.case in (case, *SESSION_CASES)]
                silent = {each.kind: each.actual for each in found if is_silence(each)}
                with state.lock:
                    kinds = {f.kind for mine in state.ledgers for f in mine.findings if f.case == case}
                    for mine in state.ledgers:
                        mine.confirm(case, _shown_by(found), kinds, silent)

        return job

    def _replay(
        self, state: State, ledger: Ledger, history: tuple[str, ...], waiting: list[_Waiting]
    ) -> Callable[[], object]:
        """Plays the cases of `history` on fresh servers until all that waits has shown itself often enough, or not."""
        known = {case.id: case for case in self.selection.cases}
        cases = tuple(known[case] for case in history if case in known)
        surveyed = ledger is state.ledgers[0]  # the survey was taken in that session before any case

        def job() -> None:
            began = time.monotonic()
            most = SECONDS if any(self._weighs(state, each.finding) for each in waiting) else LIGHT_SECONDS
            tries = 0
            while self._worth_trying() and tries < TRIES and min(each.shown for each in waiting) < ENOUGH:
                if tries and time.monotonic() - began > most:
                    break
                stage = self._opened(state, (SURVEY, CLOSING) if surveyed else ()) if surveyed or not cases else None
                again = self.workshop.play(state, cases, _tell_nobody, stage, keep=False)
                showing = [each for each in waiting if any(_alike(each.finding, other) for other in again.findings)]
                for each in showing:
                    each.shown += 1
                if not showing and not self._worth_trying():
                    break  # given up on the way, so that what waits may never have been sent
                tries += 1
            with state.lock:
                for each in waiting:
                    each.settle(ledger, tries)

        return job

    def _worth_trying(self) -> bool:
        """Whether silence is still waited for: else a session that is played again would only be given up."""
        connections = self.workshop.connections
        full = connections.limits.answer
        return not connections.patience.over and connections.patience.hurried(full, stuck=False) == full

    def _opened(self, state: State, outside: Sequence[str]) -> Stage | None:
        try:
            stage = self.workshop.stage(state.revision, {}, Ledger(), own_process=True)
        except StartError:
            return None
        stage.hurried = self.together and CLOSING not in outside
        if state.blocked_by:
            stage.session.limits = _no_longer(stage.session.limits, state)
        try:
            stage.open()
            if SURVEY in outside or self.surveys:
                self.workshop.survey(state, stage)
        except NotSpoken as refusal:
            judged = judge_refusal(stage, refusal)
            stage.close()
            if judged is not None:
                stage.ledger.keep(judged)
        return stage


def _alike(finding: Finding, other: Finding) -> bool:
    """Whether both tell the same. Which request a server leaves unanswered when it dies is a matter of chance."""
    lost = finding.silence == other.silence == "request"
    return finding.requirement == other.requirement and (lost or finding.message == other.message)


def _no_longer(limits: Limits, state: State) -> Limits:
    """A server that did not open is waited for so long that it can show again what it has shown, and no longer."""
    # What came when that time was over was shown by the end, which comes sooner if less is waited.
    times = [f.frames[-1].at for ledger in state.ledgers for f in ledger.findings if f.frames]
    shown = max((at for at in times if at < limits.start), default=0.0)
    return replace(limits, start=min(limits.start, limits.answer + LONGER * shown))


def _shown_by(found: Sequence[Finding]) -> Callable[[Finding], bool]:
    """Which findings have come back in what was `found`. Each feature that does not return stands for itself."""
    requirements = {finding.requirement for finding in found if finding.silence != "feature"}
    kinds = {finding.kind for finding in found}
    hung = "feature"
    return lambda finding: finding.kind in kinds if finding.silence == hung else finding.requirement in requirements


def _tell_nobody(case: str, outcome: str, seconds: float) -> None:
    """Confirmation is not news."""
