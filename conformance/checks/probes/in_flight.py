"""The probe of requests that come while a tool runs. Part of the area tools."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.observed import slow_call
from conformance.survey.survey import LISTS


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
