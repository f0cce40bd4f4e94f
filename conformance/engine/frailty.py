"""Does the server end, or fall silent, whatever it is sent? Then no message is to blame: one finding stands for all."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from conformance.catalogue.cases import Case
from conformance.checks.ledger import Ledger
from conformance.checks.probes.outcome import UNANSWERED
from conformance.engine.plan import concerns
from conformance.engine.units import State, Workshop
from conformance.model import Finding
from conformance.session.patience import NEXT_UNANSWERED, NO_ANSWER

SILENCE = (NO_ANSWER, NEXT_UNANSWERED)


def controls(
    workshop: Workshop, cases: Collection[Case], states: Iterable[State], reported: Collection[str]
) -> Iterator[Callable[[], object]]:
    """For each run in which something tells that the server ended or fell silent: plays the `cases` that say whether
    it always does.

    `reported` are the requirements on which there is a verdict.
    """
    for state in states:
        chosen = tuple(case for case in cases if concerns(case, state))
        # Where no session opens, there is none to go on.
        if chosen and state.survey is not None and not state.gone and _worth_asking(state):
            yield _job(workshop, chosen, state, reported)


def _worth_asking(state: State) -> bool:
    """Whether something ended the server, or another rule than that of answers is broken by silence, which is slow."""
    ends = _ends(state)
    found = [each for ledger in state.ledgers for each in (*ledger.findings, *ledger.flaky)]
    return any(_tells(each, ends) or (each.requirement != UNANSWERED and _tells(each, SILENCE)) for each in found)


def _job(workshop: Workshop, cases: tuple[Case, ...], state: State, reported: Collection[str]) -> Callable[[], object]:
    def job() -> None:
        ledger = _played(workshop, cases, state)
        if not (ledger.findings and _played(workshop, cases, state).findings):
            return  # a race, or nothing
        with state.lock:
            state.ledgers.append(ledger)
            state.planned = (*state.planned, *(case.id for case in cases))
            first = ledger.findings[0]
            why = UNANSWERED if UNANSWERED in reported else f"{first.message}: {first.actual}"
            silent = NO_ANSWER in first.actual
            words = SILENCE if silent else _ends(state)
            for other in state.ledgers[:-1]:
                # That a tool does not return is no matter of the tool, either, if nothing does.
                other.give_way(lambda each: _tells(each, words) or (silent and each.silence == "feature"), why)

    return job


def _played(workshop: Workshop, cases: tuple[Case, ...], state: State) -> Ledger:
    """What the cases themselves have found; what else is wrong was found before."""
    ledger = workshop.play(state, cases, lambda *_: None, keep=False)
    ledger.keep((UNANSWERED,))
    names = {case.id for case in cases}
    own = [finding for finding in ledger.findings if finding.case in names and not finding.silence]
    ledger.findings = [replace(finding, confirmed=True) for finding in own]
    return ledger


def _ends(state: State) -> tuple[str, ...]:
    return tuple({reason for ledger in state.ledgers for reason in ledger.ends})


def _tells(finding: Finding, words: Iterable[str]) -> bool:
    """Whether the server ended or fell silent is all that the finding tells, by these words."""
    return finding.silence != "feature" and any(each in finding.actual for each in words)
