"""The probe of two streams that a client listens on at once: each message comes on one of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.subscriptions import call_again, cause
from conformance.model import Frame, Json
from conformance.session.exchanges import head_of, heard, is_stream, listen_by_get, over
from conformance.session.session import Session


def two_streams(bench: Bench) -> Iterator[Observation]:
    """A tool of which the stream of a GET has told something, called again while one listens, and then two.

    It counts by method what came on each stream.
    """
    session = bench.session
    _, first = session.unasked or (False, None)
    if first is None or over(session, first):
        return
    gets = [frame for frame in session.since(0) if frame.origin == "us" and frame.channel == "get"]
    told = next((told for get in gets for told in _told(session, get, 0)), None)
    trigger = cause(session, told, gets[0].number) if told is not None else None
    if trigger is None:
        return
    alone = _told(session, first, call_again(session, trigger))
    if not alone:
        return
    second = listen_by_get(session)
    head = head_of(session, second, session.limits.quiet)
    if head is None or head.status != 200 or not is_stream(head):
        return
    start = call_again(session, trigger)
    here, there = _told(session, first, start), _told(session, second, start)
    session.transport.break_off(second.exchange or 0)
    usual, now = _methods(alone), _methods(here) + _methods(there)
    # Two equal messages can be two changes: more than usual shows that they are copies.
    copies = [
        (one, other)
        for one in here
        for other in there
        if one.data == other.data and now[one.message["method"]] >= 2 * usual[one.message["method"]] > 0
    ]
    frames = (second, head, *copies[0]) if copies else (second, head, *here[:2], *there[:2])
    facts: dict[str, Json] = {"streams": 2, "copies": bool(copies), "tool": trigger.get("name")}
    yield Observation(facts, None, frames, "the same message on both streams" if copies else "")


def _told(session: Session, sent: Frame, start: int) -> list[Frame]:
    """The notifications that came on the stream since then, progress left out: it has a stream of its own."""
    return [
        frame
        for frame in heard(session, sent, "sse", "event")
        if frame.number >= start
        and isinstance(frame.message, dict)
        and "id" not in frame.message
        and isinstance(method := frame.message.get("method"), str)
        and method != "notifications/progress"
    ]


def _methods(frames: list[Frame]) -> Counter[str]:
    return Counter(frame.message["method"] for frame in frames)
