"""Which cases are played in a run, and which of them share a session."""

from __future__ import annotations

import json
from collections.abc import Iterable

from conformance.catalogue.cases import Case
from conformance.catalogue.selection import CAMPAIGNS
from conformance.engine.units import State
from conformance.model import AUTHORIZATION
from conformance.revisions import holds

LONGEST = 40.0
"""Seconds that the sessions which the cases of a lane open may take, one after another."""


def concerns(case: Case, state: State) -> bool:
    """Whether the case is about the run's revision, era and transport."""
    return (
        holds(state.revision.date, case.since, case.until)
        and (not case.eras or state.revision.era in case.eras)
        and (not case.transports or state.transport in case.transports)
    )


def claimed(case: Case, state: State) -> bool:
    """Whether the server declared all that the case requires."""
    survey = state.survey
    return survey is not None and all(
        any(survey.declares(capability) for capability in alternatives) for alternatives in case.requires
    )


def plan(cases: Iterable[Case], state: State) -> list[tuple[Case, ...]]:
    """Units of cases: first those that share the main session, then those of one lane and the same client, and lone
    ones; in the order of how long they take, since what takes longest must begin first.

    Cases that the server makes no claim for are left out, with the reason in the ledger.
    """
    groups: dict[tuple[str, str], list[Case]] = {("", "{}"): []}
    lone: list[tuple[Case, ...]] = []
    cases = list(cases)
    for case in cases:
        if not concerns(case, state) or (case.control and len(cases) > 1):
            continue
        if not claimed(case, state):
            lacking = " and ".join(" or ".join(alternatives) for alternatives in case.requires)
            for requirement in case.requirements:
                state.ledgers[0].not_applicable(requirement, f"the server does not declare {lacking}")
        elif case.shares or case.lane:
            groups.setdefault((case.lane, client_of(case)), []).append(case)
        else:
            lone.append((case,))
    main, *lanes = (tuple(sorted(each, key=turn)) for each in groups.values())
    if not main and (first := next((lane for lane in lanes if all(map(_plain, lane))), None)) is not None:
        lanes.remove(first)
        main = first  # there is a session for it already
    others = [part for lane in lanes for part in _parts(lane, state.startup)] + lone
    return [main, *sorted(others, key=lambda unit: -sum(_seconds(case, state.startup) for case in unit))]


def _plain(case: Case) -> bool:
    return case.shares and not case.client


def _parts(lane: tuple[Case, ...], startup: float) -> list[tuple[Case, ...]]:
    """The lane, or each of its cases alone where their sessions would take too long to open one after another."""
    opens = sum(case.opens for case in lane)
    return [(case,) for case in lane] if opens * startup > LONGEST else [lane]


def _seconds(case: Case, startup: float) -> float:
    return 1 + case.waits + case.opens * startup


def plan_locked(cases: Iterable[Case], state: State) -> list[tuple[Case, ...]]:
    """Units of cases that can be played though the server lets nobody in: those of authorization itself."""
    return [(case,) for case in cases if case.id.startswith(f"{AUTHORIZATION}/") and concerns(case, state)]


def client_of(case: Case) -> str:
    """The capabilities of its client, as a text: only cases with the same ones can share a session."""
    return json.dumps(case.client, sort_keys=True)


def turn(case: Case) -> tuple[bool, bool, bool, bool]:
    """In what order cases share a session.

    What opens it itself comes first, then what wants a process on which nothing has happened yet. What is said after
    something illegal is judged less strictly, so that comes last; and a campaign that has found something leaves no
    session that others could go on with.
    """
    campaign = case.area == CAMPAIGNS
    return case.open, case.harmful or case.isolation != "process", case.illegal, campaign
