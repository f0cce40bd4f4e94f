"""Faults in streams of events over HTTP: what comes on which of them, and how they begin and end."""

from __future__ import annotations

import socket
from functools import partial

from conformance.reference.fault import several
from conformance.reference.http_fault import handling, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server


def _sending(send: Callable[[Any, Callable[[Any], None], Any], None]) -> Apply:
    """Send messages of a POST otherwise: `send` gets the exchange, the correct way, and the message."""

    def apply(server: Server) -> None:
        from conformance.reference.streams import Exchange

        correct = Exchange.send

        def faulty(exchange: Exchange, message: Any) -> None:
            send(exchange, lambda what: correct(exchange, what), message)

        Exchange.send = faulty  # type: ignore[assignment,method-assign]

    return apply


def _is_response(message: Any) -> bool:
    return isinstance(message, list) or "method" not in message


def _is_question(message: Any) -> bool:
    return "id" in message and "method" in message


def _standing(exchange: Any) -> Any:
    """The stream of a GET that listens in the session, None if there is none."""
    if not _named(exchange):
        return None
    session = exchange.handler.session()
    return session.standing if session.listening.locked() else None


def _elsewhere(which: Callable[[Any], bool], here: bool = False, later: bool = False) -> Apply:
    """Send some messages on the stream of a GET, `here` as well; `later`: if the other stream has begun."""

    def send(exchange: Any, proceed: Callable[[Any], None], message: Any) -> None:
        standing = _standing(exchange) if which(message) else None
        if standing is None or (later and not exchange.begun):
            proceed(message)
            return
        standing.add(exchange.server.encode(message))
        if here:
            proceed(message)
            return
        with exchange.lock:
            exchange._begin_events()
        exchange.answered |= _is_response(message)

    return _sending(send)


def _to_all_sessions(exchange: Any, proceed: Callable[[Any], None], message: Any) -> None:
    proceed(message)
    if _is_progress(message) and _named(exchange):
        own = exchange.handler.session()
        for session in list(exchange.handler.endpoint.sessions.values()):
            if session is not own and session.listening.locked():
                session.standing.add(exchange.server.encode(message))


def _named(exchange: Any) -> bool:
    """Whether it is in a session, which has its own stream of a GET."""
    return exchange.stream is not None and "Mcp-Session-Id" in exchange.handler.headers


def _dropped(exchange: Any, proceed: Callable[[Any], None], message: Any) -> None:
    if exchange.begun and exchange.stream is not None and _is_response(message):
        exchange.answered = True
    else:
        proceed(message)


def _parting(exchange: Any, proceed: Callable[[Any], None], message: Any) -> None:
    proceed(message)
    if exchange.begun and exchange.priming and message.get("method") == "notifications/progress":
        exchange.parted = True
        exchange.handler.connection.shutdown(socket.SHUT_WR)


def _without_priming(server: Server) -> None:
    from conformance.reference.streams import Exchange

    correct = Exchange._begin_events

    def begin(exchange: Exchange) -> None:
        exchange.priming = False
        correct(exchange)

    Exchange._begin_events = begin  # type: ignore[assignment,method-assign]


def _without_ids(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event
    streams.event = lambda data, identity="": correct(data)


def _replaying_all(handler: Any, proceed: Any, stream: Any, start: int) -> None:
    session = handler.session()
    handler.begin_events({})
    for each in session.streams.values():
        handler.wfile.write(b"".join(each.events[start if each is stream else 0 :]))
    for _, data in stream.follow(len(stream.events), lambda: False):
        handler.wfile.write(data)
    handler.wfile.flush()
    handler.close_connection = True


def _replaying_newest(handler: Any, proceed: Any, stream: Any, start: int) -> None:
    streams = list(handler.session().streams.values())
    proceed(stream, start)
    for each in streams[-1:]:
        handler.wfile.write(b"".join(each.events if each is not stream else ()))
    handler.wfile.flush()


def _resuming_at(place: Callable[[int], int]) -> Callable[..., None]:
    """A stream that is resumed goes on at another place than that after the last event."""

    def resume(handler: Any, proceed: Any, stream: Any, start: int) -> None:
        proceed(stream, place(start))

    return resume


def _failing_at_unknown_events(handler: Any, proceed: Any, body: bytes) -> None:
    last = handler.headers.get("Last-Event-ID", "0-0")
    if last.replace("-", "").isdecimal():
        proceed(body)
    else:
        handler.answer(500, b"no such event", {"Content-Type": "text/plain"})


def _cancelling(server: Server) -> None:
    from conformance.reference.streams import Exchange, hung_up

    Exchange.closed = lambda exchange: hung_up(exchange.handler)  # type: ignore[assignment,method-assign]


def _straying(server: Server) -> None:
    """What is said of a request whose stream was closed comes on the stream that was opened last."""
    from conformance.reference.streams import Exchange, event, hung_up

    correct, newest = Exchange.send, list[Exchange]()

    def send(exchange: Exchange, message: Any) -> None:
        if exchange.begun and hung_up(exchange.handler) and newest and newest[-1] is not exchange:
            with newest[-1].lock:
                newest[-1]._write(event(exchange.server.encode(message)))
            return
        correct(exchange, message)
        if exchange.begun and exchange not in newest:
            newest.append(exchange)

    Exchange.send = send  # type: ignore[assignment,method-assign]
    Exchange.closed = lambda exchange: False  # type: ignore[assignment,method-assign]


def _many_listeners(copies: bool) -> Apply:
    """Serve each GET a stream of its own, `copies` for all, or the newest alone; each counts its events from 0."""

    def get(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.streams import Stream

        session = handler._check_standing()
        if "Last-Event-ID" in handler.headers or not handler._accepts("text/event-stream"):
            proceed(body)
            return
        own = Stream(0)
        listeners = getattr(session, "listeners", [])
        session.listeners = [*listeners, own]
        session.standing.add = partial(_to_listeners, session, copies)
        handler.begin_events({})
        for _, data in own.follow(0, partial(_hung_up, handler)):
            handler.wfile.write(data)
            handler.wfile.flush()
        session.listeners.remove(own)
        handler.close_connection = True

    return handling(_get=get)


def _hung_up(handler: Any) -> bool:
    from conformance.reference.streams import hung_up

    return hung_up(handler)


def _to_listeners(session: Any, copies: bool, data: bytes) -> bytes:
    written = [each.add(data) for each in session.listeners[0 if copies else -1 :]]
    return written[-1] if written else b""


def _is_progress(message: Any) -> bool:
    return isinstance(message, dict) and message.get("method") == "notifications/progress"


def _only_first() -> Apply:
    """Tell nothing on a stream that is opened by GET once there was another one in that session."""
    known: set[str] = set()

    def get(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.streams import Stream, hung_up

        session = handler.session()
        if session.name not in known or "Last-Event-ID" in handler.headers:
            known.add(session.name)
            proceed(body)
            return
        handler.begin_events({})
        for _ in Stream(0).follow(0, partial(hung_up, handler)):
            pass
        handler.close_connection = True

    return handling(_get=get)


_ROWS: tuple[Row, ...] = (
    (
        "only-first-get-told",
        "resources/update-announced",
        "what changes is told on the first stream of a session that is opened by GET, and on no later one",
        _only_first(),
        {"until": "2025-11-25"},
    ),
    (
        "progress-to-all-sessions",
        "progress/known-token-only",
        "progress comes on the streams of other sessions as well",
        _sending(_to_all_sessions),
        {"until": "2025-11-25"},
    ),
    (
        "response-on-get",
        "transport-http/get-stream-without-responses transport-http/sse-delivers-response "
        "transport-http/sse-not-closed-before-response transport-http/sse-retry-before-close",
        "while a GET listens, responses come on its stream",
        _elsewhere(_is_response),
        {"until": "2025-11-25"},
    ),
    (
        "response-on-get-without-ids",
        "transport-http/sse-delivers-response transport-http/get-stream-without-responses "
        "transport-http/sse-not-closed-before-response transport-http/sse-priming-event",
        "while a GET listens, responses come on its stream, and events have no ids",
        several(_without_ids, _elsewhere(_is_response)),
        {"until": "2025-11-25"},
    ),
    (
        "response-copied-to-get",
        "transport-http/get-stream-without-responses transport-http/no-broadcast",
        "while a GET listens, responses come on its stream as well",
        _elsewhere(_is_response, here=True),
        {"until": "2025-11-25"},
    ),
    (
        "progress-on-get",
        "transport-http/get-stream-messages-unrelated transport-http/sse-messages-related",
        "while a GET listens, progress comes on its stream, but for the first",
        _elsewhere(_is_progress, later=True),
        {"until": "2025-11-25"},
    ),
    (
        "questions-on-get",
        "transport-http/get-stream-messages-unrelated",
        "while a GET listens, what tools ask the client comes on its stream",
        _elsewhere(_is_question),
        {"until": "2025-11-25"},
    ),
    (
        "broadcasts",
        "transport-http/no-broadcast transport-http/get-stream-messages-unrelated transport-http/sse-messages-related",
        "while a GET listens, progress comes on its stream as well",
        _elsewhere(_is_progress, here=True),
        {"until": "2025-11-25"},
    ),
    (
        "copies-to-all-gets",
        "transport-http/no-broadcast transport-http/event-ids-unique",
        "what is said unasked comes on each stream that was opened by GET",
        _many_listeners(copies=True),
        {"until": "2025-11-25"},
    ),
    (
        "copies-to-all-gets-without-ids",
        "transport-http/no-broadcast transport-http/sse-priming-event",
        "what is said unasked comes on each stream that was opened by GET, and events have no ids",
        several(_without_ids, _many_listeners(copies=True)),
        {"until": "2025-11-25"},
    ),
    (
        "event-ids-anew-with-each-get",
        "transport-http/event-ids-unique",
        "the ids of events begin anew with each stream that is opened by GET",
        _many_listeners(copies=False),
        {"until": "2025-11-25"},
    ),
    (
        "response-dropped",
        "transport-http/sse-not-closed-before-response transport-http/sse-delivers-response "
        "jsonrpc/every-request-answered-once",
        "the stream of a request ends before the response",
        several(_without_ids, _sending(_dropped)),
        {"until": "2025-06-18"},
    ),
    (
        "parts-without-retry",
        "transport-http/sse-retry-before-close",
        "the stream of a request ends after the first progress, and nothing says when to come back",
        _sending(_parting),
        {"since": "2025-11-25", "until": "2025-11-25"},
    ),
    (
        "replays-all-streams",
        "transport-http/no-cross-stream-replay",
        "who resumes a stream gets those of all requests",
        handling(_resume=_replaying_all),
        {"until": "2025-11-25"},
    ),
    (
        "replays-newest-stream",
        "transport-http/no-cross-stream-replay",
        "who resumes a stream gets that of the last request as well",
        handling(_resume=_replaying_newest),
        {"until": "2025-11-25"},
    ),
    (
        "replays-from-the-start",
        "transport-http/replay-after-last-event",
        "who resumes a stream gets all of it",
        handling(_resume=_resuming_at(lambda start: 0)),
        {"until": "2025-11-25"},
    ),
    (
        "replays-the-last-event",
        "transport-http/replay-after-last-event",
        "who resumes a stream gets the last event again",
        handling(_resume=_resuming_at(lambda start: start - 1)),
        {"until": "2025-11-25"},
    ),
    (
        "replays-all-but-one",
        "transport-http/replay-after-last-event",
        "who resumes a stream does not get the event after the last one",
        handling(_resume=_resuming_at(lambda start: start + 1)),
        {"until": "2025-11-25"},
    ),
    (
        "fails-at-unknown-events",
        "transport-http/replay-after-last-event",
        "a GET with the id of no event gets HTTP 500",
        handling(_get=_failing_at_unknown_events),
        {"until": "2025-11-25"},
    ),
    (
        "disconnect-taken-for-cancellation",
        "transport-http/disconnect-is-not-cancel",
        "a request is cancelled when its connection breaks",
        _cancelling,
        {"until": "2025-11-25"},
    ),
    (
        "works-on-for-another-stream",
        "transport-http/disconnect-silences transport-http/sse-notifications-related",
        "what is said of a request whose stream was closed comes on another stream",
        _straying,
        {"since": "2026-07-28"},
    ),
    (
        "not-primed",
        "transport-http/sse-priming-event",
        "streams of events do not begin with an event without data",
        _without_priming,
        {"since": "2025-11-25", "until": "2025-11-25"},
    ),
    (
        "events-without-ids",
        "transport-http/sse-priming-event",
        "events have no ids",
        _without_ids,
        {"since": "2025-11-25", "until": "2025-11-25"},
    ),
)

FAULTS = over_http(_ROWS)
