"""The probe of requests that come while a tool runs. Part of the area tools."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.observed import slow_call
from conformance.survey.survey import LISTS

ONCE = "jsonrpc/every-request-answered-once"


@probe("tools.in-flight", ONCE)
def in_flight(bench: Bench) -> None:
    """Every list and the sentinel, sent while a slow tool runs.

    A server may finish the tool first. Missing, surplus and mistaken answers are the invariants' to judge.
    """
    next(callable_tools(bench))
    session = bench.session
    calls = [session.send("tools/call", slow_call(bench).params)]
    calls += [session.send(LISTS[name][0]) for name in bench.survey.declared_lists]
    calls.append(session.send(*session.era.sentinel(session)))
    session.wait(*calls)
    session.hear_out()
    if all(len(call.answers) == 1 for call in calls):
        bench.ledger.held(ONCE)
