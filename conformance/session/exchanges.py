"""HTTP requests as they are, beside the messages of a session: GET, DELETE, and a POST with other headers."""

from __future__ import annotations

from collections.abc import Mapping

from conformance.model import Frame
from conformance.session.messages import How, parse
from conformance.session.polling import RESUME
from conformance.session.session import Call, Session
from conformance.transports import event_stream
from conformance.transports.event_stream import STREAM as STREAM
from conformance.transports.written_requests import APART, WHOLE, completed


def exchange(session: Session, verb: str, headers: Mapping[str, str], channel: str = "") -> Frame:
    """Begin an exchange without a body, with these headers beside those of the target. `verb` is in lower case."""
    number = session.transport.send(b"", headers, verb.upper())
    return session.record_sent(b"", None, How(verb=channel or verb, headers=headers), number, False)


def listen_by_get(session: Session, last: str = "") -> Frame:
    """Ask for a stream of events; with `last` for the rest of the one that had the event with this id."""
    headers = {**session.http_headers, "Accept": STREAM}
    if last:
        sent = exchange(session, "get", {**headers, "Last-Event-ID": last}, RESUME)
        session.watching.replayed.add(sent.exchange or 0)
        return sent
    return exchange(session, "get", headers)


def heard(session: Session, sent: Frame, *channels: str) -> list[Frame]:
    """What came on the exchange, on some channels or all; of an array its whole and its parts."""
    since = session.since(sent.number)
    own = (frame for frame in since if frame.origin == "target" and frame.exchange == sent.exchange)
    return [frame for frame in own if not channels or frame.channel in channels]


def head_of(session: Session, sent: Frame, seconds: float) -> Frame | None:
    """The head of the answer, that of a redirect left out; waits for it at most so many seconds."""

    def heads() -> list[Frame]:
        return [head for head in heard(session, sent, "head") if not 300 <= (head.status or 0) < 400]

    message = sent.message
    if isinstance(message, dict) and "method" in message and "id" not in message:
        seconds = session.patience.post_limit(seconds)
    session.listen(seconds, until=lambda: bool(heads()) or over(session, sent))
    return heads()[-1] if heads() else None


def head_alone(session: Session, sent: Frame, seconds: float) -> Frame | None:
    """The head of the answer as by `head_of`; then the connection is closed, whatever else would come."""
    head = head_of(session, sent, seconds)
    session.transport.break_off(sent.exchange or 0)
    return head


def over(session: Session, sent: Frame) -> bool:
    """Whether the whole answer has come."""
    return not session.alive or bool(heard(session, sent, "end"))


def is_stream(head: Frame) -> bool:
    """Whether an answer is a stream of events."""
    return event_stream.is_stream(head.headers)


def media_type(head: Frame) -> str:
    """The media type of an answer, in lower case and without parameters."""
    return event_stream.media_type(head.headers)


def written_out(session: Session, request: bytes, inner: bytes, *, illegal: bool) -> tuple[Frame, Call | None]:
    """Send an HTTP request as it is written, with the headers of the session that it does not name.

    `inner` is the JSON-RPC request in its body, however that is framed, and the call is that. Where the HTTP request is
    illegal, what answers it is taken for no message, and nothing is expected.
    """
    message, _ = parse(inner)
    data = completed(request, session.era.headers(session, message))
    number = session.transport.send(data, {}, APART if illegal else WHOLE)
    how = How(illegal=illegal, verb="other" if illegal else "post")
    if illegal:
        return session.record_sent(data, None, how, number, readable=False), None
    frame = session.record_sent(data, message, how, number, readable=True)
    return frame, session.expect(message, frame)
