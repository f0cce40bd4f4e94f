"""Faults in how HTTP takes what is no request, and in answers that hold nothing that can be read."""

from __future__ import annotations

import json

from conformance.reference.http_fault import handling, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server


def _body_on_202(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    proceed(status, b"null" if status == 202 else body, headers)


def _ended_whichever(handler: Any, proceed: Any, body: bytes) -> None:
    if "Mcp-Session-Id" in handler.headers:
        proceed(body)
    else:
        handler.answer(200, b"", {})


def _ok_instead(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    if status == 202:
        proceed(200, b'{"status":"ok"}', {**headers, "Content-Type": "application/json"})
    else:
        proceed(status, body, headers)


def _change_of_roots_is_ok(handler: Any, proceed: Any, body: bytes) -> None:
    if b'"notifications/roots/list_changed"' in body:
        handler.answer(200, b"{}", {"Content-Type": "application/json"})
    else:
        proceed(body)


def _unfit_is_well(handler: Any, proceed: Any, body: bytes) -> None:
    """Answer a response to nothing by an error and status 200."""
    message = json.loads(body) if b'"result"' in body and b'"method"' not in body else None
    identity = message.get("id") if isinstance(message, dict) else None
    if (
        identity is None
        or handler.headers.get("Mcp-Session-Id") not in handler.endpoint.sessions
        or identity in handler.session().questions
    ):
        proceed(body)
    else:
        handler.answer(200, b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"Nothing was asked"}}', {})


def _version_wanted(handler: Any, proceed: Any, body: bytes) -> None:
    from conformance.reference.http import Refusal

    if b'"notifications/cancelled"' in body and "MCP-Protocol-Version" not in handler.headers:
        raise Refusal(400, "MCP-Protocol-Version is missing")
    proceed(body)


def _as_events(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    if b'"messages"' not in body:
        proceed(status, body, headers)
        return
    handler.begin_events(headers)
    handler.wfile.write(body)
    handler.close_connection = True


def _plain_refusals(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    plain = status >= 400 and b'"error"' in body
    proceed(status, body, {**headers, "Content-Type": "text/plain"} if plain else headers)


def _empty_refusals(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    refused = status == 200 and b'"error"' in body
    proceed(status, b"" if refused else body, {**headers, "Content-Type": "application/json"} if refused else headers)


def _named_otherwise(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event
    streams.event = lambda data, identity="": b"event: response\n" * bool(data) + correct(data, identity)


def _over_lines(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event

    def event(data: bytes, identity: str = "") -> bytes:
        written = correct(data, identity)
        return written.replace(b",", b",\n") if b'"content":' in data else written

    streams.event = event


def _after_a_string(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event

    def event(data: bytes, identity: str = "") -> bytes:
        return b'data: "done"\n\n' * (b'"content":' in data) + correct(data, identity)

    streams.event = event


_ROWS: tuple[Row, ...] = (
    (
        "notification-body",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        "the 202 for a notification has a body",
        handling(answer=_body_on_202),
        {},
    ),
    (
        "notification-ok",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        'notifications are answered by 200 with {"status": "ok"}',
        handling(answer=_ok_instead),
        {},
    ),
    (
        "unfit-response-200",
        "transport-http/refused-with-http-error",
        "a response to nothing is refused by an error in the body, with status 200",
        handling(_post=_unfit_is_well),
        {"until": "2025-11-25"},
    ),
    (
        "version-header-demanded-of-notifications",
        "http-headers/absent-version-header-means-2025-03-26",
        "a notification without MCP-Protocol-Version is refused",
        handling(_post=_version_wanted),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "prompts-labelled-as-events",
        "transport-http/request-answered-as-json-or-sse",
        "a prompt comes as JSON, and its Content-Type says that it is a stream of events",
        handling(answer=_as_events),
        {},
    ),
    (
        "errors-labelled-as-text",
        "transport-http/request-answered-as-json-or-sse",
        "errors with an HTTP status of 400 or more are labelled text/plain",
        handling(answer=_plain_refusals),
        {"since": "2026-07-28"},
    ),
    (
        "events-named-otherwise",
        "transport-http/sse-data-is-message",
        "messages are events of the type response",
        _named_otherwise,
        {},
    ),
    (
        "string-before-results",
        "transport-http/sse-data-is-message",
        "an event with a string comes before the results of tools in a stream of events",
        _after_a_string,
        {},
    ),
    (
        "results-over-lines",
        "jsonrpc/every-request-answered-once transport-http/sse-data-is-message",
        "results of tools have several lines in a stream of events, of which the first one alone begins with data:",
        _over_lines,
        {},
    ),
    (
        "change-of-roots-ok",
        "transport-http/notification-accepted-202",
        "notifications/roots/list_changed gets 200 and an empty object",
        handling(_post=_change_of_roots_is_ok),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-deleted",
        "transport-http/missing-session-id-400",
        "a DELETE without session id succeeds",
        handling(_delete=_ended_whichever),
        {"until": "2025-11-25"},
    ),
    (
        "refusals-without-body",
        "transport-http/json-answer-is-one-object",
        "JSON that refuses a request is empty",
        handling(answer=_empty_refusals),
        {"until": "2025-11-25"},
    ),
)

FAULTS = over_http(_ROWS)
