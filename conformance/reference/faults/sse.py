"""Faults in the HTTP+SSE transport."""

from __future__ import annotations

from conformance.reference.fault import Fault, instead
from conformance.reference.http_fault import handling, listening_everywhere
from conformance.reference.wire import INVALID_REQUEST, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.wire import Message

ENDPOINT = "transport-sse/endpoint-event-sent"
TWO = "transport-sse/two-endpoints"
EVENTS = "transport-sse/messages-as-message-events"
PROCESSED = "transport-sse/posted-messages-processed"
ORIGIN = "transport-sse/origin-validated"
ONCE = "jsonrpc/every-request-answered-once"
VALID = "jsonrpc/valid-messages"
KNOWN = "progress/known-token-only"
CLIENTS = "transport-sse/clients-served-independently"


def _announcing(text: str) -> Apply:
    """Send this instead of the endpoint event, with the right URI in the place of `{}`."""
    return handling(
        announced=lambda handler, proceed, session: text.replace("{}", handler.address(session)).encode() + b"\n\n"
    )


def _elsewhere(handler: Any, proceed: Any, session: Any) -> str:
    return str(proceed(session)).replace("messages", "message")


def _no_post(handler: Any, proceed: Any, body: bytes) -> None:
    handler.answer(405, b"", {"Allow": "GET"})


def _in_event(kind: bytes) -> Apply:
    return handling(event=lambda handler, proceed, data: proceed(data).replace(b"event: message", b"event: " + kind))


def _quoted(handler: Any, proceed: Any, data: bytes) -> bytes:
    return bytes(proceed(data)).replace(b"{", b"%7B")


def _followed(more: bytes) -> Apply:
    """Send one more event after each list of tools."""

    def event(handler: Any, proceed: Any, data: bytes) -> bytes:
        told = bytes(proceed(data))
        return told + b"\n\nevent: message\ndata: " + more if b'"tools":' in data else told

    return handling(event=event)


class _Collected:
    """A channel that keeps responses."""

    def __init__(self, channel: Any) -> None:
        self.channel = channel
        self.responses: list[Any] = []

    def send(self, message: Any) -> None:
        if isinstance(message, dict) and "method" in message:
            self.channel.send(message)
        else:
            self.responses.append(message)

    def run(self, work: Any) -> None:
        work()

    def hold(self, call: Any) -> None:
        """Nothing to do."""

    def closed(self) -> bool:
        return bool(self.channel.closed())


def _in_posts(which: str = "") -> Apply:
    """Answer requests of that method, or all, by the body of the answer to the POST."""

    def accepted(handler: Any, proceed: Any, session: Any, message: Any) -> None:
        if not isinstance(message, dict) or message.get("method", "") != (which or message.get("method")):
            proceed(session, message)
            return
        collected = _Collected(session.channel)
        session.receive(message, collected)
        body = b"".join(map(session.server.encode, collected.responses))
        handler.answer(200 if body else 202, body, {})

    return handling(accepted=accepted)


def _refused_notifications(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    if isinstance(message, dict) and "id" not in message:
        handler.answer(400, b"", {})
    else:
        proceed(session, message)


def _refused(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    handler.answer(500, b"", {})


def _forgotten(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    handler.answer(202, b"", {})


def _nothing(handler: Any, proceed: Any) -> None:
    """Check nothing."""


def _checked_for(command: str) -> Apply:
    def check(handler: Any, proceed: Any) -> None:
        if handler.command == command:
            proceed()

    return handling(check_origin=check)


def _by_prefix(handler: Any, proceed: Any) -> None:
    if not handler.headers.get("Origin", "").startswith("http://localhost"):
        proceed()


def _by_id(keys: Callable[[Any], bool]) -> Apply:
    """Send each second response with an id to the client that used the id before, as long as that is there."""

    def accepted(handler: Any, proceed: Any, session: Any, message: Any) -> None:
        used, others = handler.endpoint.__dict__.setdefault("used", {}), handler.endpoint.sessions
        identifier = message.get("id") if isinstance(message, dict) and "method" in message else None
        if not keys(identifier):
            proceed(session, message)
            return
        first = others.get(used.pop(identifier, ""), session)
        if first is session:
            used[identifier] = session.name
        session.receive(message, first.channel)
        handler.answer(202, b"", {})

    return handling(accepted=accepted)


def _last_answered(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    """Answer ping on the stream that was opened last of those that are open."""
    last = list(handler.endpoint.sessions.values())[-1]
    if isinstance(message, dict) and message.get("method") == "ping" and isinstance(message.get("id"), str):
        session.receive(message, last.channel)
        handler.answer(202, b"", {})
    else:
        proceed(session, message)


def _broadcast(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    """Send everybody what is said to one."""
    proceed(session, message)
    for other in handler.endpoint.sessions.values():
        if other is not session and isinstance(message, dict) and "id" in message:
            other.stream.add(session.server.encode({"jsonrpc": "2.0", "id": message["id"], "result": {}}))


def _only_last(handler: Any, proceed: Any, session: Any) -> None:
    for other in handler.endpoint.sessions.values():
        if other is not session:
            other.stream.finish()
    proceed(session)


def _one_at_a_time() -> Apply:
    """Refuse a second stream while there is one."""
    there: list[Any] = []

    def get(handler: Any, proceed: Any, body: bytes) -> None:
        if there:
            handler.answer(409, b"", {})
            return
        there.append(handler)
        try:
            proceed(body)
        finally:
            there.remove(handler)

    return handling(_get=get)


def _initialized_once() -> Apply:
    """Refuse to initialize a second session of the process."""
    known: list[Call] = []

    def run(call: Call, proceed: Proceed) -> Message | None:
        known.append(call)
        if len(known) > 1:
            raise RpcError(INVALID_REQUEST, "Invalid request: already initialized")
        return proceed(call)

    return instead("initialize", run)


def _all_with_one(handler: Any, proceed: Any, session: Any) -> None:
    try:
        proceed(session)
    finally:
        for other in handler.endpoint.sessions.values():
            other.stream.finish()


def _cancelled_everywhere(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    """A cancellation ends what has that id in any session."""
    if isinstance(message, dict) and message.get("method") == "notifications/cancelled":
        for each in list(handler.endpoint.sessions.values()):
            each.cancel(message["params"].get("requestId"))
    proceed(session, message)


def _calls_end_with_one(handler: Any, proceed: Any, session: Any) -> None:
    """The end of a session ends the calls of all others."""
    try:
        proceed(session)
    finally:
        for each in list(handler.endpoint.sessions.values()):
            for identifier in list(each.running):
                each.cancel(identifier)


def _progress_for_all(handler: Any, proceed: Any, session: Any, message: Any) -> None:
    from conformance.reference.http_sse import Events

    clients = list(handler.endpoint.sessions.values())

    class Told(Events):
        def send(self, message: Any) -> None:
            told = isinstance(message, dict) and message.get("method") == "notifications/progress"
            for each in clients if told else [session]:
                each.channel.send(message)

    session.receive(message, Told(session.server, session.stream))
    handler.answer(202, b"", {})


ROWS: tuple[tuple[str, str, str, Apply], ...] = (
    ("sse-no-endpoint-event", ENDPOINT, "the stream begins without an endpoint event", _announcing(": hello")),
    (
        "sse-endpoint-event-misnamed",
        ENDPOINT,
        "the event with the endpoint is of another type",
        _announcing("event: url\ndata: {}"),
    ),
    (
        "sse-endpoint-as-json",
        ENDPOINT,
        "the endpoint event holds JSON, not a URI",
        _announcing('event: endpoint\ndata: {"uri": "{}"}'),
    ),
    ("sse-endpoint-not-there", TWO, "nothing is at the endpoint that the stream tells", handling(address=_elsewhere)),
    ("sse-endpoint-takes-no-posts", TWO, "the endpoint refuses POST with 405", handling(_post=_no_post)),
    ("sse-events-of-other-type", EVENTS, "messages are events of the type response", _in_event(b"response")),
    ("sse-answers-in-posts", EVENTS, "responses are the answers to POSTs", _in_posts()),
    (
        "sse-level-answered-in-posts",
        f"{EVENTS} {ONCE}",
        "responses to logging/setLevel are the answers to their POSTs",
        _in_posts("logging/setLevel"),
    ),
    ("sse-data-quoted", VALID, "the data of message events is URL-encoded", handling(event=_quoted)),
    ("sse-data-string", VALID, "an event with a string follows on a list of tools", _followed(b'"hello"')),
    ("sse-data-null", VALID, "an event with null follows on a list of tools", _followed(b"null")),
    ("sse-data-text", VALID, "an event with words follows on a list of tools", _followed(b"hello there")),
    (
        "sse-notifications-refused",
        PROCESSED,
        "notifications are refused with 400",
        handling(accepted=_refused_notifications),
    ),
    ("sse-messages-refused", PROCESSED, "messages are refused with 500", handling(accepted=_refused)),
    ("sse-messages-forgotten", PROCESSED, "messages are accepted and forgotten", handling(accepted=_forgotten)),
    ("sse-any-origin", ORIGIN, "the Origin header is ignored", handling(check_origin=_nothing)),
    ("sse-any-origin-streams", ORIGIN, "the Origin header of a GET is ignored", _checked_for("POST")),
    ("sse-any-origin-posts", ORIGIN, "the Origin header of a POST is ignored", _checked_for("GET")),
    (
        "sse-origin-by-prefix",
        ORIGIN,
        "an Origin that begins like localhost is served",
        handling(check_origin=_by_prefix),
    ),
    (
        "sse-listens-everywhere",
        "transport-sse/binds-loopback-only",
        "the server listens on all network interfaces",
        listening_everywhere,
    ),
    ("sse-broadcast", CLIENTS, "all clients get the responses to each", handling(accepted=_broadcast)),
    ("sse-one-at-a-time", CLIENTS, "a second stream is refused while there is one", _one_at_a_time()),
    ("sse-initialized-once", CLIENTS, "a second session cannot be initialized", _initialized_once()),
    ("sse-all-end-with-one", CLIENTS, "all streams end with one of them", handling(stream=_all_with_one)),
    ("sse-one-client", CLIENTS, "a new stream ends the others", handling(stream=_only_last)),
    (
        "sse-cancels-for-all",
        ONCE,
        "a cancellation ends the calls with that id of all clients",
        handling(accepted=_cancelled_everywhere),
    ),
    ("sse-calls-end-with-one", ONCE, "all calls end with the session of one", handling(stream=_calls_end_with_one)),
    ("sse-progress-to-all", KNOWN, "progress is told to all clients", handling(accepted=_progress_for_all)),
    (
        "sse-answers-by-id",
        f"{CLIENTS} {ONCE}",
        "what has the id of another client's request is answered there",
        _by_id(lambda identifier: isinstance(identifier, str)),
    ),
    (
        "sse-pings-of-last-client",
        f"{CLIENTS} {ONCE}",
        "pings are answered on the stream that was opened last",
        handling(accepted=_last_answered),
    ),
)

FAULTS = tuple(
    Fault(name, requirements, summary, apply, until="2024-11-05", transports="http+sse")
    for name, requirements, summary, apply in ROWS
)
