"""Faults in the Streamable HTTP transport."""

from __future__ import annotations

import time
from itertools import count

from conformance.reference.fault import STATELESS, modern_only, several
from conformance.reference.http_fault import handling, over_http, status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

NEW = "2026-07-28"
STAYS = 3.0


def _nothing(handler: Any, proceed: Any, *arguments: Any) -> None:
    """Check nothing."""


def _body_on_202(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    proceed(status, b"null" if status == 202 else body, headers)


def _plain_text(handler: Any, proceed: Any, name: str, value: str) -> None:
    proceed(name, "text/plain" if value == "application/json" else value)


def _without_header(name: str) -> Apply:
    return handling(send_header=lambda handler, proceed, given, value: given == name or proceed(given, value))


def _minted(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    modern = handler.headers.get("MCP-Protocol-Version") in STATELESS
    proceed(status, body, {**headers, "Mcp-Session-Id": "minted"} if modern else headers)


def _refusing_header(name: str, status: int) -> Apply:
    """Refuse stateless requests with a header that is to be ignored."""

    def check(handler: Any, proceed: Any) -> None:
        from conformance.reference.http import Refusal

        proceed()
        if name in handler.headers and handler.headers.get("MCP-Protocol-Version") in STATELESS:
            raise Refusal(status, f"{name} refused")

    return handling(check_origin=check)


def _other_status(method: str, was: int, now: int) -> Apply:
    """Let a check refuse with another status."""

    def check(handler: Any, proceed: Any, *arguments: Any) -> Any:
        from conformance.reference.http import Refusal

        try:
            return proceed(*arguments)
        except Refusal as refusal:
            raise Refusal(now, str(refusal)) if refusal.status == was else refusal from None

    return handling(**{method: check})


def _sessions_live_on(handler: Any, proceed: Any) -> None:
    handler.session()
    handler.answer(200, b"", {})


def _get_answers_json(handler: Any, proceed: Any) -> None:
    handler.answer(200, b"{}", {})


def _version_demanded(handler: Any, proceed: Any) -> None:
    from conformance.reference.http import Refusal

    proceed()
    if "Mcp-Session-Id" in handler.headers and "MCP-Protocol-Version" not in handler.headers:
        raise Refusal(400, "MCP-Protocol-Version is missing")


def _stays_open(handler: Any, proceed: Any) -> None:
    proceed()
    if handler.close_connection:
        time.sleep(STAYS)


def _session_names(form: str) -> Apply:
    def apply(server: Server) -> None:
        before = server.http_handler
        numbers = count(1)

        def faulty(correct: Any) -> Any:
            from conformance.reference import http

            http.new_session_id = lambda: form.format(next(numbers))
            return before(correct)

        server.http_handler = faulty

    return apply


def _event_ids_repeated(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event
    streams.event = lambda data, identity="": correct(data, identity and "event")


_ROWS: tuple[Row, ...] = (
    (
        "foreign-origin-served",
        "transport-http/origin-validated transport-http/origin-refused-403",
        "requests from any origin are served",
        handling(check_origin=_nothing),
        {},
    ),
    (
        "foreign-origin-400",
        "transport-http/origin-refused-403",
        "a foreign origin is refused with 400",
        _other_status("check_origin", 403, 400),
        {"since": "2025-11-25"},
    ),
    (
        "notification-200",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        "notifications are answered by 200",
        status(202, 200),
        {},
    ),
    (
        "notification-body",
        "transport-http/notification-accepted-202 transport-http/response-accepted-202",
        "the 202 for a notification has a body",
        handling(answer=_body_on_202),
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
        "dead-session-400",
        "transport-http/terminated-session-404",
        "the id of a terminated session gives 400",
        _other_status("session", 404, 400),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-served",
        "transport-http/terminated-session-404",
        "a terminated session goes on",
        handling(do_DELETE=_sessions_live_on),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-401",
        "transport-http/missing-session-id-400",
        "a request without session id gives 401",
        _other_status("session", 400, 401),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-blank",
        "transport-http/session-id-visible-ascii",
        "session ids contain a blank",
        _session_names("session {:032}"),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-counted",
        "transport-http/session-id-unique-and-secure",
        "session ids are counted from 1",
        _session_names("{}"),
        {"until": "2025-11-25"},
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
        "session-id-minted",
        "transport-http/session-id-not-minted",
        "stateless requests are given a session id",
        handling(answer=_minted),
        {"since": NEW},
    ),
    (
        "session-id-heeded",
        "transport-http/session-id-ignored",
        "a stateless request with a session id is refused",
        _refusing_header("Mcp-Session-Id", 404),
        {"since": NEW},
    ),
    (
        "last-event-id-heeded",
        "transport-http/last-event-id-ignored",
        "a stateless request with Last-Event-ID is refused",
        _refusing_header("Last-Event-ID", 400),
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
