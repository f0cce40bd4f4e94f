"""The probes of streams whose connection breaks: what becomes of the request, and whether the rest can be had."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.observed import SeenCall, slow_call
from conformance.model import Frame, Json, members
from conformance.session.exchanges import head_alone, head_of, heard, is_stream, listen_by_get, over
from conformance.session.messages import Call
from conformance.session.session import Session
from conformance.survey.survey import Unavailable

UNKNOWN = "mcp-conform-unknown-event"
TRIES = 3
"""How often a call is broken off before it is given up that the connection breaks early enough."""


def resumption(bench: Bench) -> Iterator[Observation]:
    """What follows an event of a stream that is resumed, or an unknown one; then a slow call whose connection breaks,
    and the rest of its stream after another such call was answered.

    That the server has a rest to give is found out first with a call that was answered.
    """
    session = bench.session
    known = slow_call(bench)
    slow = known.params
    control = _answered(session, known)
    if len(_ids(session, control)) < 2:
        raise Unavailable("the events of a stream have no ids")
    session.transport.break_off(control.sent.exchange or 0)  # a stream is resumed once its connection is gone
    yield _after_unknown(session)
    replayed = _replayed(session, control)
    yield replayed
    if not replayed.values["answered"]:
        raise Unavailable("the server has no rest of a stream to give")
    broken = _broken_off(session, slow)
    last = _ids(session, broken)[-1]
    other = _answered(session, known)  # which was begun later, and takes as long
    frames = _rest(session, last, broken)
    strays = [frame for frame in frames if _about(frame, other)]
    facts: dict[str, Json] = {"after": "a break", "answered": _has(frames, broken), "others": bool(strays)}
    shown = strays[:1] or [frame for frame in frames if frame.channel in ("sse", "head")][-2:]
    yield Observation(
        facts, frames=(broken.sent, other.sent, *shown), actual="a message of another stream" * bool(strays)
    )


def _after_unknown(session: Session) -> Observation:
    """What comes for the id of an event that there was not."""
    sent = listen_by_get(session, UNKNOWN)
    head = head_alone(session, sent, session.limits.quiet)
    facts: dict[str, Json] = {"after": "an unknown event", "status": head.status if head is not None else None}
    return Observation(facts, frames=(sent, head) if head is not None else (sent,))


def _replayed(session: Session, call: Call) -> Observation:
    """What comes after an early event of a stream that had come whole, beside what had come then."""
    events = heard(session, call.sent, "sse", "event")
    named = [place for place, frame in enumerate(events) if frame.fields.get("id")]
    # The first one may be without a message, so the second tells more, unless the answer is all that would be left.
    place = named[1] if len(named) > 2 else named[0]
    before, after = _messages(events[: place + 1]), _messages(events[place + 1 :])
    frames = _rest(session, events[place].fields["id"], call)
    again = [frame for frame in frames if frame.message in before and frame.message not in after]
    missed = [message for message in after if message not in _messages(frames)]
    facts: dict[str, Json] = {"after": "an event", "answered": _has(frames, call)}
    facts |= {"repeated": bool(again), "missed": bool(missed)}
    actual = f"{len(again)} of {len(before)} messages from before it" if again else f"{len(missed)} are missing"
    return Observation(facts, frames=(events[place], *again[:2]), actual=actual)


def _messages(events: list[Frame]) -> list[Json]:
    return [frame.message for frame in events if frame.readable]


def silence(bench: Bench) -> Iterator[Observation]:
    """A slow call whose connection breaks, and what comes of it on the stream of another one.

    It breaks a connection in the middle of a stream.
    """
    session = bench.session
    slow = slow_call(bench)
    broken = _broken_off(session, slow.params, identified=False)
    start = session.position
    other = _answered(session, slow)
    session.hear_out()
    frames = [frame for frame in session.since(start) if frame.exchange != broken.sent.exchange]
    strays = [frame for frame in frames if frame.origin == "target" and _about(frame, broken)]
    streamed = other.head is not None and is_stream(other.head)
    facts: dict[str, Json] = {"streamed": streamed, "strays": bool(strays)}
    yield Observation(facts, frames=(broken.sent, other.sent, *strays[:2]), actual="a message of the first request")


def _answered(session: Session, slow: SeenCall) -> Call:
    """A call that was answered, as it was before, in about the same time. Raises Unavailable."""
    call = _request(session, slow.params)
    if not session.wait(call, timeout=4 * slow.seconds + session.limits.quiet) or not call.answers:
        raise Unavailable("a call was not answered")
    return call


def _request(session: Session, params: Json) -> Call:
    """A call that asks for progress."""
    meta = {"progressToken": f"mcp-conform-stream-{session.position}"}
    return session.send("tools/call", {**params, "_meta": meta})


def _broken_off(session: Session, params: Json, identified: bool = True) -> Call:
    """A call whose connection was closed after its first event, and before its answer. Raises Unavailable."""
    for _ in range(TRIES):
        call = _request(session, params)
        _listen(session, call, identified)
        if not call.answers and _began(session, call, identified):
            break_off(session, call)
            return call
        session.wait(call)
    raise Unavailable("no call tells of its progress before it is answered")


def break_off(session: Session, call: Call) -> None:
    """Close the connection of a call, and wait until that has come to pass."""
    session.give_up(call)
    session.transport.break_off(call.sent.exchange or 0)
    session.listen(session.limits.quiet, until=lambda: bool(call.lost))


def _listen(session: Session, call: Call, identified: bool) -> None:
    session.listen(
        session.limits.answer, until=lambda: bool(call.answers or call.lost) or _began(session, call, identified)
    )


def _began(session: Session, call: Call, identified: bool) -> bool:
    """Whether an event has come, or one that has an id."""
    return bool(_ids(session, call) if identified else heard(session, call.sent, "sse"))


def _ids(session: Session, call: Call) -> list[str]:
    return [frame.fields["id"] for frame in heard(session, call.sent, "sse", "event") if frame.fields.get("id")]


def _rest(session: Session, last: str, call: Call) -> list[Frame]:
    """What comes of a stream after the event with this id, up to the answer of its call. Raises Unavailable."""
    sent = listen_by_get(session, last)
    head = head_of(session, sent, session.limits.answer)
    if head is None or head.status != 200 or not is_stream(head):
        raise Unavailable("the rest of a stream is not to be had by GET with Last-Event-ID")
    session.listen(session.limits.answer, until=lambda: over(session, sent) or _has(heard(session, sent), call))
    session.hear_out()
    session.transport.break_off(sent.exchange or 0)
    return heard(session, sent)


def _has(frames: list[Frame], call: Call) -> bool:
    """Whether the answer of the call is among them."""
    messages = [members(frame.message) for frame in frames]
    return any("method" not in message and message.get("id") == call.id for message in messages)


def _about(frame: Frame, call: Call) -> bool:
    """Whether it is the answer to the call, or tells of its progress."""
    token = members(members(frame.message).get("params")).get("progressToken")
    return _has([frame], call) or token == call.params["_meta"]["progressToken"]
