"""How the messages of a script are sent, how many responses came, and which of them belong to none."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from conformance.model import Frame
from conformance.session.messages import is_reply, parse
from conformance.session.session import Call, Session


def say(session: Session, lines: Sequence[bytes], together: bool) -> list[Call]:
    """The calls of all lines that are requests; `together` in one write, as far as notifications let them."""
    together &= session.transport.frame == "line"  # elsewhere each message is framed for itself
    calls: list[Call] = []
    waiting: list[bytes] = []

    def flush() -> None:
        if waiting:
            session.write(b"\n".join([*waiting, b""]))
            calls.extend(session.record(parse(line)[0], line) for line in waiting)
            waiting.clear()

    for line in lines:
        if together and b'"notifications/' not in line:
            waiting.append(line)
            continue
        flush()
        calls += session.raw(line, illegal=False)
    flush()
    return calls


def responses(session: Session, start: int, after: float = 0.0) -> int:
    """How many responses, to whatever, came since the position `start`, later than `after` seconds in the session."""
    heard = (frame.message for frame in session.since(start) if frame.origin == "target" and frame.at > after)
    return sum(map(is_reply, heard))


def answered_later(session: Session, sentinel: Call, seconds: float) -> bool:
    """Whether `sentinel` is answered in as many seconds again, if it is other answers that have taken the first."""
    going_on = responses(session, sentinel.sent.number, sentinel.sent.at + seconds / 2) > 0
    return going_on and session.wait(sentinel, timeout=seconds) and bool(sentinel.answers)


def strays(session: Session, heard: Iterable[Frame], calls: Sequence[Call]) -> list[Frame]:
    """The responses among what was `heard` that answer none of `calls`, nor any request before them in the session.

    A response to that may come late, or when it is cancelled; that a call is answered once more is judged elsewhere.
    """
    own = {frame.number for call in calls for frame in call.answers}
    found = []
    for frame in heard:
        stray = frame.exchange is None and frame.origin == "target" and frame.number not in own
        if stray and is_reply(frame.message) and not session.requests.has_made(frame.message.get("id")):
            found.append(frame)
    return found
