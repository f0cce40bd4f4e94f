"""Starts the target while the suite itself is still being loaded: half of a quick run is waiting for a start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from conformance.engine.options import Invocation
from conformance.model import Limits, Target
from conformance.revisions import CHOICES
from conformance.system import interrupts
from conformance.transports import StartError
from conformance.transports.stdio import StdioTransport

HURRY = Limits(quiet=0.2, shutdown=0.5)
"""For the end of a target that the run did not come to, seconds."""


@contextmanager
def head_start(plan: Invocation) -> Iterator[StdioTransport | None]:
    """The target of `plan`, started; it is ended with the context.

    None if it is not one process over stdio, if it cannot be started, which the run will tell, or if what the user
    chose may turn out to be wrong use: then nothing is to be started. Raises KeyboardInterrupt on a signal.
    """
    signals: list[object] = []
    # While the target is being started or ended a signal waits: it would be left behind.
    with interrupts.taken_by(lambda: signals.append(None)):
        started = _started(plan)
        try:
            with interrupts.taken_by(interrupts.interrupt):
                if signals:
                    raise KeyboardInterrupt
                yield started
        finally:
            if started is not None:
                started.hold_to(HURRY)
                started.close(hurry=True)


def _started(plan: Invocation) -> StdioTransport | None:
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
