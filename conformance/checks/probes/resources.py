"""Probes of the area resources."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.outcome import INVALID_PARAMS, answered, asked_again, code_of, shown
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

MAX_READS = 10
NOT_FOUND = -32002

READABLE = "resources/listed-readable"


@probe("resources.readable", READABLE)
def readable(bench: Bench) -> None:
    """Listed resources, at most MAX_READS, until one can be read: cases judge each of many, and not all at once."""
    listed = bench.survey.readable
    if not listed:
        raise Unavailable("the server lists no resource")
    missing: list[Call] = []
    failed = False
    for params in ({"uri": uri} for uri in listed[:MAX_READS]):
        if not asked_again(bench, "resources/read", params, READABLE):
            continue
        call = bench.session.request("resources/read", params)
        if not answered(bench, call, READABLE):
            continue
        if call.error is None:
            bench.ledger.held(READABLE)
            return
        failed |= code_of(call) not in (NOT_FOUND, INVALID_PARAMS)
        missing.append(call)
    if missing and not failed:
        bench.ledger.broke(
            READABLE,
            "none of the listed resources is found",
            expected="the contents of a listed resource",
            actual=shown(missing[0]),
            frames=missing[0].proof,
        )
    else:
        bench.ledger.inconclusive(READABLE, "no listed resource could be read, for reasons of their own")
