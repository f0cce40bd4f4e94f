"""Probes of the area resources."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.outcome import code_of
from conformance.codes import INVALID_PARAMS, RESOURCE_NOT_FOUND
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

MAX_READS = 10


def readable(bench: Bench) -> Iterator[Observation]:
    """Listed resources, at most MAX_READS, until one can be read; if none can, what is said of all of them.

    It goes on past those that cannot be read: cases judge each of many, and not all at once.
    """
    listed = bench.survey.readable
    if not listed:
        raise Unavailable("the server lists no resource")
    refused: list[Call] = []
    for params in ({"uri": uri} for uri in listed[:MAX_READS]):
        if why := bench.session.patience.features.avoids("resources/read", params):
            yield Observation({"not-asked-for": why})
            continue
        call = bench.session.request("resources/read", params)
        if call.error is not None:
            refused.append(call)
            continue
        yield Observation({"refused": False}, call)
        if call.answers:
            return
    if refused:
        unknown = all(code_of(call) in (RESOURCE_NOT_FOUND, INVALID_PARAMS) for call in refused)
        yield Observation({"refused": True, "all-unknown": unknown}, refused[0])
