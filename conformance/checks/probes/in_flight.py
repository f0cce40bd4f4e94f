"""The probe of requests that come while a tool runs. Part of the area tools."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.observed import slow_call
from conformance.checks.probes.outcome import succeeded
from conformance.model import Json
from conformance.session.patience import NotWaitedFor
from conformance.session.session import Call
from conformance.survey.survey import LISTS, Unavailable

MANY = 20
"""Requests under way at once; servers and their libraries may have eight or sixteen workers."""
APART = 0.01
"""Seconds between two connections over HTTP: few may wait to be accepted, and others are tried again seconds later."""
QUICK = 0.1
"""Seconds that a tool may take of which so many calls are made: one after another they must fit into the patience."""


def many(bench: Bench) -> Iterator[Observation]:
    """MANY requests at once: calls of a quick tool if there is one, else lists, and the sentinel among them.

    It finds out which tool is quick. A server that refuses what is too much for it has answered.
    """
    session = bench.session
    alone = session.hear_out()
    if alone is None or not alone.answers:
        raise Unavailable("the server does not answer a single request either")
    params = _quick_call(bench)
    asked: list[tuple[str, Json]] = [("tools/call", params)] if params else []
    asked += [(LISTS[name][0], None) for name in bench.survey.declared_lists if not params]
    asked = asked or [session.era.sentinel(session)]
    calls: list[Call] = []
    for number in range(MANY):
        calls.append(session.send(*asked[number % len(asked)]))
        if session.transport.has_headers:
            session.listen(APART)
    full = session.limits.answer
    patience = session.patience.hurried(full, session.requests.stuck)
    session.listen(patience, until=lambda: all(call.done for call in calls) or not session.alive)
    if not session.alive:
        session.wait(*calls)  # that it has ended is told by the invariants
        return
    lost = [call for call in calls if not (call.answers or call.turned_down)]  # HTTP may say that these are too many
    for call in lost:
        session.give_up(call)
    if lost and patience < full:
        raise NotWaitedFor("too much had gone unanswered before, so that this was not waited for")
    facts: dict[str, Json] = {"method": calls[0].method, "lost": len(lost), "of": len(calls)}
    yield Observation(facts, (lost or calls)[0], actual=f"no answer within {full:g} s")


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


def in_flight(bench: Bench) -> Iterator[Observation]:
    """Every list and the sentinel, sent while a slow tool runs.

    It finds out which tool is slow; a server may finish it first. Missing, surplus and mistaken answers are the
    invariants' to judge.
    """
    next(callable_tools(bench))
    session = bench.session
    calls = [session.send("tools/call", slow_call(bench).params)]
    calls += [session.send(LISTS[name][0]) for name in bench.survey.declared_lists]
    calls.append(session.send(*session.era.sentinel(session)))
    session.wait(*calls)
    session.hear_out()
    yield Observation({"answers": [len(call.answers) for call in calls]})
