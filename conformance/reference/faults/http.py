"""Faults in the Streamable HTTP transport."""

from __future__ import annotations

import time

from conformance.reference.fault import drop, modern_only, on_error, several
from conformance.reference.http_fault import handling, listening_everywhere, over_http, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

NEW = "2026-07-28"
STAYS = 30.0


def _nothing(handler: Any, proceed: Any, *arguments: Any) -> None:
    """Check nothing."""


def _never_202(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    if status == 202:
        _linger(handler)
    else:
        proceed(status, body, headers)


def _plain_text(handler: Any, proceed: Any, name: str, value: str) -> None:
    proceed(name, "text/plain" if value == "application/json" else value)


def _without_header(name: str) -> Apply:
    return handling(send_header=lambda handler, proceed, given, value: given == name or proceed(given, value))


def _error_on_202(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    error = b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"not wanted"}}'
    proceed(*((200, error) if status == 202 else (status, body)), headers)


def _no_prompts(handler: Any, proceed: Any, body: bytes) -> None:
    if b'"prompts/list"' in body:
        handler.answer(405, b"", {"Allow": "GET"})
    else:
        proceed(body)


def _two_objects(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    proceed(status, body + b"\n{}" if b'"tools":[' in body else body, headers)


def _empty_404(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    proceed(status, b"" if status == 404 else body, headers)


def _is_response(message: Any) -> bool:
    return isinstance(message, dict) and "method" not in message


def _answering(which: Callable[[Any], bool], status: int) -> Apply:
    """Accept some messages with another status."""

    def post(handler: Any, proceed: Any, message: Any) -> None:
        handler.accepted = status if which(message) else 202
        proceed(message)
        handler.accepted = 202

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        proceed(getattr(handler, "accepted", 202) if status == 202 else status, body, headers)

    return several(handling(_post_handshake=post), handling(answer=answer))


def _get_answers_json(handler: Any, proceed: Any) -> None:
    handler.answer(200, b"{}", {})


def _version_demanded(handler: Any, proceed: Any) -> None:
    from conformance.reference.http import Refusal

    proceed()
    if "Mcp-Session-Id" in handler.headers and "MCP-Protocol-Version" not in handler.headers:
        raise Refusal(400, "MCP-Protocol-Version is missing")


def _locks_out(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    handler.locked_out = getattr(handler, "locked_out", False) or b"-32022" in body
    proceed(status, body, headers)


def _locked_out(handler: Any, proceed: Any) -> None:
    if not getattr(handler, "locked_out", False):
        proceed()
        return
    handler.rfile.read(int(handler.headers.get("Content-Length", 0)))
    handler.answer(400, b"", {})


def _refusals_streamed(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    """Send what is refused as a stream of events, and leave that open."""
    if status != 200 or b'"error"' not in body:
        proceed(status, body, headers)
        return
    from conformance.reference.streams import event

    handler.begin_events(headers)
    handler.wfile.write(event(body))
    handler.wfile.flush()
    _linger(handler)
    handler.close_connection = True


def _uncounted(more: bytes) -> Apply:
    """Send more after each JSON body than its Content-Length counts."""

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        proceed(status, body, headers)
        handler.wfile.write(more if body else b"")

    return handling(answer=answer)


def _miscounted(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    """Count characters of a list of tools, as if two of them took two bytes each."""
    counted = body[:-2] if b'"inputSchema"' in body else body
    proceed(status, counted, headers)
    handler.wfile.write(body[len(counted) :])


def _stays_open(handler: Any, proceed: Any) -> None:
    proceed()
    if handler.close_connection:
        _linger(handler)


def _one_stream() -> Apply:
    """GET fails while another one is answered."""
    open_ones: list[Any] = []

    def get(handler: Any, proceed: Any) -> None:
        if open_ones:
            handler.answer(500, b"", {})
            return
        open_ones.append(handler)
        try:
            proceed()
        finally:
            open_ones.remove(handler)

    return handling(do_GET=get)


def _linger(handler: Any) -> None:
    from conformance.reference.streams import POLL, hung_up

    for _ in range(round(STAYS / POLL)):
        if hung_up(handler):
            break
        time.sleep(POLL)


def _event_ids_repeated(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event
    streams.event = lambda data, identity="": correct(data, identity and "event")


_ROWS: tuple[Row, ...] = (
    (
        "listens-everywhere",
        "transport-http/binds-loopback-only",
        "the server listens on all network interfaces",
        listening_everywhere,
        {},
    ),
    (
        "notification-200",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        "notifications are answered by 200",
        status(202, 200),
        {},
    ),
    (
        "notifications-unanswered",
        "transport-http/notification-accepted-202",
        "POSTs of notifications and responses are never answered",
        handling(answer=_never_202),
        {},
    ),
    (
        "json-as-text",
        "transport-http/request-answered-as-json-or-sse",
        "JSON answers are labelled text/plain",
        handling(send_header=_plain_text),
        {},
    ),
    (
        "get-answers-json",
        "transport-http/get-answers-sse-or-405",
        "GET is answered by JSON",
        handling(do_GET=_get_answers_json),
        {"until": "2025-11-25"},
    ),
    (
        "events-stay-open",
        "transport-http/sse-ends-after-response",
        f"the event stream of a request stays open for {STAYS:.0f} s after the response",
        handling(do_POST=_stays_open),
        {},
    ),
    (
        "refusals-stay-open",
        "transport-http/sse-ends-after-response",
        f"refusals are events of a stream that stays open for {STAYS:.0f} s",
        handling(answer=_refusals_streamed),
        {"until": "2025-06-18"},
    ),
    (
        "second-get-500",
        "transport-http/get-answers-sse-or-405",
        "a second GET fails while the stream of another one is open",
        _one_stream(),
        {"until": "2025-11-25"},
    ),
    (
        "get-404",
        "transport-http/one-url-for-post-and-get",
        "there is nothing for GET",
        handling(do_GET=lambda handler, proceed: handler.answer(404, b"", {})),
        {"until": "2025-11-25"},
    ),
    (
        "get-refused",
        "transport-http/get-answers-sse-or-405",
        "GET is refused with 400",
        handling(do_GET=lambda handler, proceed: handler.answer(400, b"", {})),
        {"until": "2025-11-25"},
    ),
    (
        "prompts-not-posted",
        "transport-http/post-endpoint",
        "a POST of prompts/list is answered with 405",
        handling(_post=_no_prompts),
        {"since": NEW},
    ),
    (
        "unknown-method-without-id",
        "jsonrpc/response-id-echoed jsonrpc/unknown-method-refused jsonrpc/unknown-method-code"
        " transport-http/method-not-found-404 versioning/removed-methods-unknown",
        "the error for an unknown method has no id",
        on_error("Method not found", lambda message, call: drop(message, "id")),
        {"since": NEW},
    ),
    (
        "notification-error-200",
        "transport-http/refused-with-http-error jsonrpc/notification-never-answered",
        "notifications are refused by an error in the body, with status 200",
        handling(answer=_error_on_202),
        {},
    ),
    (
        "response-200",
        "transport-http/response-accepted-202",
        "responses of the client are answered by 200",
        _answering(_is_response, 200),
        {"until": "2025-11-25"},
    ),
    (
        "response-batch-200",
        "transport-http/response-batch-accepted-202",
        "an array of responses is answered by 200",
        _answering(lambda message: isinstance(message, list) and all(map(_is_response, message)), 200),
        {"until": "2025-03-26"},
    ),
    (
        "json-lines",
        "transport-http/json-answer-is-one-object",
        "the body with the list of tools has a second object",
        handling(answer=_two_objects),
        {},
    ),
    (
        "newline-not-counted",
        "transport-http/json-answer-is-one-object",
        "a newline that Content-Length does not count follows each body",
        _uncounted(b"\n"),
        {},
    ),
    (
        "http-answer-twice",
        "transport-http/json-answer-is-one-object",
        "another HTTP answer follows each body",
        _uncounted(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"),
        {},
    ),
    (
        "content-length-in-characters",
        "transport-http/json-answer-is-one-object",
        "the Content-Length of the list of tools counts characters",
        handling(answer=_miscounted),
        {},
    ),
    (
        "unknown-method-empty",
        "transport-http/method-not-found-404",
        "an unknown method is answered by 404 without a body",
        handling(answer=_empty_404),
        {"since": NEW},
    ),
    (
        "event-ids-repeated",
        "transport-http/event-ids-unique",
        "all events have the same id",
        _event_ids_repeated,
        {"until": "2025-11-25"},
    ),
    (
        "bad-version-header-served",
        "http-headers/invalid-version-header-400",
        "any MCP-Protocol-Version is served",
        handling(check_version=_nothing),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "version-header-demanded",
        "http-headers/absent-version-header-means-2025-03-26",
        "requests of a session without MCP-Protocol-Version are refused",
        handling(check_version=_version_demanded),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "buffering-allowed",
        "transport-http/sse-no-buffering-header",
        "event streams lack X-Accel-Buffering",
        _without_header("X-Accel-Buffering"),
        {"since": NEW},
    ),
    (
        "prompts-listed-with-500",
        "transport-http/request-answered-as-json-or-sse",
        "the list of prompts has status 500",
        status(200, 500, b'"prompts":['),
        {},
    ),
    (
        "tools-succeed-with-400",
        "transport-http/request-answered-as-json-or-sse",
        "the results of tools have status 400",
        status(200, 400, b'"content":['),
        {},
    ),
    (
        "unknown-method-200",
        "transport-http/method-not-found-404",
        "an unknown method has status 200",
        status(404, 200, b"-32601"),
        {"since": NEW},
    ),
    (
        "unsupported-version-200",
        "versioning/unsupported-version-http-400",
        "an unsupported version has status 200",
        status(400, 200, b"-32022"),
        {"since": NEW},
    ),
    (
        "missing-meta-200",
        "meta/missing-field-http-400",
        "a request without _meta has status 200",
        status(400, 200, b"_meta"),
        {"since": NEW},
    ),
    (
        "missing-capability-200",
        "meta/missing-capability-http-400",
        "a missing client capability has status 200",
        status(400, 200, b"-32021"),
        {"since": NEW},
    ),
    (
        "locked-out-of-connection",
        "versioning/version-rejection-is-per-request",
        "after an unsupported version all that comes over the same connection is refused with 400",
        handling(answer=_locks_out, do_POST=_locked_out),
        {"since": NEW},
    ),
    (
        "get-400",
        "transport-http/get-405",
        "the server is modern only, and answers GET with 400",
        several(modern_only, handling(do_GET=lambda handler, proceed: handler.answer(400, b"", {}))),
        {"since": NEW},
    ),
    (
        "delete-400",
        "transport-http/delete-405",
        "the server is modern only, and answers DELETE with 400",
        several(modern_only, handling(do_DELETE=lambda handler, proceed: handler.answer(400, b"", {}))),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
