"""The probe of many requests that are under way at once. Part of the area jsonrpc."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator, Sequence
from functools import partial

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.outcome import succeeded
from conformance.model import Json
from conformance.session.patience import CONFUSED, NO_ANSWER, NotWaitedFor
from conformance.session.session import Call, Session
from conformance.survey.survey import LISTS, Unavailable

MANY = 20
"""Requests under way at once; servers and their libraries may have eight or sixteen workers."""
APART = 0.01
"""Seconds between two connections over HTTP: few may wait to be accepted, and others are tried again seconds later."""
QUICK = 0.1
"""Seconds that a tool may take of which so many calls are made: one after another they must fit into the patience."""
STEADY = 3
"""Answers that keep coming, one after another, are heard for that many times as long as one is waited for."""


def many(bench: Bench) -> Iterator[Observation]:
    """MANY requests at once: calls of a quick tool if there is one, else lists, and the sentinel among them.

    It finds out what is quick. A server that refuses what is too much for it has answered, and so has one that takes
    its time for one after another.
    """
    session = bench.session
    alone = session.hear_out()
    if alone is None or not alone.answers:
        raise Unavailable("the server does not answer a single request either")
    if session.patience.confused:
        raise Unavailable(CONFUSED)
    calls: list[Call] = []
    for method, params in itertools.islice(itertools.cycle(_quick(bench)), MANY):
        calls.append(session.send(method, params))
        if session.transport.has_headers:
            session.listen(APART)
    full = session.limits.answer
    patience = session.patience.hurried(full, session.requests.stuck)
    _hear(session, calls, patience)
    if not session.alive:
        session.wait(*calls)  # that it has ended is told by the invariants
        return
    # HTTP may say that these are too many; an answer that cannot be read is judged as that.
    lost = [call for call in calls if not (call.answers or call.turned_down or call.garbled)]
    for call in lost:
        session.give_up(call)
    if lost and patience < full:
        raise NotWaitedFor("too much had gone unanswered before, so that this was not waited for")
    facts: dict[str, Json] = {"method": calls[0].method, "lost": len(lost), "of": len(calls)}
    yield Observation(facts, (lost or calls)[0], actual=f"{NO_ANSWER} {full:g} s of the last one")


def _hear(session: Session, calls: Sequence[Call], patience: float) -> None:
    """Listen as long as one more answer comes in time. Raises Unavailable if that takes too long."""
    until = time.monotonic() + STEADY * session.limits.answer
    done = -1
    while done < _done(calls) < len(calls) and session.alive:
        done = _done(calls)
        if time.monotonic() > until:
            raise Unavailable(f"{len(calls) - done} of {len(calls)} requests at once were still to be answered")
        session.listen(patience, until=partial(_more, session, calls, done))


def _more(session: Session, calls: Sequence[Call], done: int) -> bool:
    return _done(calls) > done or not session.alive


def _done(calls: Sequence[Call]) -> int:
    return sum(call.done for call in calls)


def _quick(bench: Bench) -> list[tuple[str, Json]]:
    """Requests of which MANY, one after another, fit into the patience: a call, or else lists and the sentinel.

    Raises Unavailable if there is none.
    """
    session = bench.session
    if params := _quick_call(bench):
        return [("tools/call", params)]
    quick: list[tuple[str, Json]] = []
    for method, params in (*((LISTS[name][0], None) for name in bench.survey.declared_lists), session.sentinel()):
        began = time.monotonic()
        call = session.send(method, params)
        session.wait(call, timeout=session.limits.slow)
        if not call.answers:
            session.give_up(call)
        elif time.monotonic() - began < session.limits.answer / MANY:
            quick.append((method, params))
    if not quick:
        raise Unavailable(f"nothing that the server offers is so quick that {MANY} requests at once tell something")
    return quick


def _quick_call(bench: Bench) -> Json:
    """The params of a call that has just returned within QUICK seconds, None if no tool does."""
    session = bench.session
    try:
        for _, params in callable_tools(bench):
            began = time.monotonic()
            call = session.send("tools/call", params)
            session.wait(call, timeout=session.limits.slow)
            if call.answers and succeeded(call) and time.monotonic() - began < QUICK:
                return params
            if not call.answers:
                session.give_up(call)
                return None
    except Unavailable:
        return None
    return None
