"""Starts the target while the suite itself is still being loaded: half of a quick run is waiting for a start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.model import Target
from conformance.options import Plan
from conformance.revisions import CHOICES
from conformance.transports import StartError
from conformance.transports.stdio import StdioTransport


@contextmanager
def head_start(plan: Plan) -> Iterator[StdioTransport | None]:
    """The target of `plan`, started; it is ended with the context.

    None if it is not one process over stdio, if it cannot be started, which the run will tell, or if what the user
    chose may turn out to be wrong use: then nothing is to be started.
    """
    started = _started(plan)
    try:
        yield started
    finally:
        if started is not None:
            started.close(hurry=True)


def _started(plan: Plan) -> StdioTransport | None:
    target, options = plan.target, plan.options
    unknown = set(options.revisions) - set(CHOICES)
    if unknown or options.only or options.skip or options.profiles or plan.files:
        return None
    if not isinstance(target, Target) or target.url:
        return None
    transport = StdioTransport(target, options.limits)
    try:
        transport.start()
    except StartError:
        return None
    return transport
