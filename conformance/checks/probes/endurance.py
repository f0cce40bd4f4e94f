"""The probe of a conversation in which nothing is special. Part of the area jsonrpc."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.session.patience import NO_ANSWER
from conformance.session.session import Call, Session

MOST = 500
"""Requests."""
SECONDS = 5.0


def endurance(bench: Bench) -> Iterator[Observation]:
    """A harmless request, again and again, until one is not answered or enough have been.

    How many there can be depends on how quick the server is.
    """
    session = bench.session
    end = time.monotonic() + SECONDS
    number, began = 1, time.monotonic()
    call = session.hear_out()
    while call is not None and call.answers and number < MOST and time.monotonic() < end:
        number, began = number + 1, time.monotonic()
        call = session.hear_out()
    what, actual = _end(session, call, began + session.limits.answer)
    if what == "answers" and number == 1:
        what = "nothing"  # it does not answer this request at all, which is told of it
    if call is not None and what != "nothing":
        call.excused = True  # the case tells of it
        actual += f"; it had answered {call.method} {number - 1} times"
    yield Observation({"end": what}, call, actual=actual)


def _end(session: Session, call: Call | None, until: float) -> tuple[str, str]:
    """What came to an end: the `server`, its `answers` or `nothing`, and why that is known.

    The answer is waited for `until` then, by the monotonic clock.
    """
    left = until - time.monotonic()
    if session.ended is None and call is not None and not call.answers and left > 0:
        session.wait(call, timeout=left)
    if session.ended is not None:
        return "server", session.ended.reason
    if call is None or call.answers or not call.late:
        return "nothing", ""
    again = session.hear_out(other=True)
    if again is not None and again.answers:
        return "nothing", ""  # that one request was lost is told of each
    if again is not None:
        again.excused = True
    return "answers", f"{NO_ANSWER} {session.limits.answer:g} s"
