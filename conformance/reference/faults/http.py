"""Faults in the Streamable HTTP transport."""

from __future__ import annotations

import time
from functools import partial
from itertools import count

from conformance.reference.faults.base import STATELESS, Fault, code, several
from conformance.reference.wire import HEADER_MISMATCH, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.faults.base import Apply
    from conformance.reference.server import Server

NEW = "2026-07-28"
REJECTED = "http-headers/header-rejection-400-32020"
STAYS = 3.0


def handling(**overrides: Callable[..., Any]) -> Apply:
    """Override methods of the HTTP handler: each override gets the handler, the method it overrides, the arguments."""

    def apply(server: Server) -> None:
        correct = server.http_handler

        def faulty() -> Any:
            base = correct()

            def method(name: str, override: Callable[..., Any]) -> Callable[..., Any]:
                def run(handler: Any, *arguments: Any) -> Any:
                    return override(handler, partial(getattr(base, name), handler), *arguments)

                return run

            return type("FaultyHandler", (base,), {name: method(name, o) for name, o in overrides.items()})

        server.http_handler = faulty

    return apply


def _nothing(handler: Any, proceed: Any, *arguments: Any) -> None:
    """Check nothing."""


def _status(was: int, now: int, having: bytes = b"") -> Apply:
    """Answer with the status `now` instead of `was` where the body contains `having`."""

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        proceed(now if status == was and having in body else status, body, headers)

    return handling(answer=answer)


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
        correct = server.http_handler
        numbers = count(1)

        def faulty() -> Any:
            from conformance.reference import http

            http.new_session_id = lambda: form.format(next(numbers))
            return correct()

        server.http_handler = faulty

    return apply


def _event_ids_repeated(server: Server) -> None:
    from conformance.reference import streams

    correct = streams.event
    streams.event = lambda data, identity="": correct(data, identity and "event")


def _lenient(*words: str) -> Apply:
    """Do not reject requests for header faults whose message contains all of the words."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        try:
            proceed(message)
        except RpcError as error:
            if not all(word in error.message for word in words):
                raise

    return handling(check_headers=check)


def _any_case(handler: Any, proceed: Any, message: Any) -> None:
    given = handler.headers.get("Mcp-Method")
    if given and given.lower() == message["method"].lower():
        handler.headers.replace_header("Mcp-Method", message["method"])
    proceed(message)


def _exact_names(handler: Any, proceed: Any, message: Any) -> None:
    if "Mcp-Method" not in list(handler.headers.keys()):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Method is missing")
    proceed(message)


def _name_demanded(handler: Any, proceed: Any, message: Any) -> None:
    if "Mcp-Name" not in handler.headers:
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Name is missing")
    proceed(message)


def _known_params_only(handler: Any, proceed: Any, message: Any) -> None:
    if message["method"] != "tools/call" and any(n.lower().startswith("mcp-param-") for n in handler.headers):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: unknown Mcp-Param header")
    proceed(message)


def _not_decoded(server: Server) -> None:
    from conformance.reference import headers

    headers.decoded = lambda given, header: given


def _modern_only(server: Server) -> None:
    server.revisions = STATELESS


_ROWS: tuple[tuple[str, str, str, Apply, dict[str, str]], ...] = (
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
        _status(202, 200),
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
        _status(404, 200, b"-32601"),
        {"since": NEW},
    ),
    (
        "unsupported-version-200",
        "versioning/unsupported-version-http-400",
        "an unsupported version has status 200",
        _status(400, 200, b"-32022"),
        {"since": NEW},
    ),
    (
        "missing-meta-200",
        "meta/missing-field-http-400",
        "a request that lacks _meta has status 200",
        _status(400, 200, b"_meta"),
        {"since": NEW},
    ),
    (
        "missing-capability-200",
        "meta/missing-capability-http-400",
        "a missing client capability has status 200",
        _status(400, 200, b"-32021"),
        {"since": NEW},
    ),
    (
        "header-mismatch-200",
        f"{REJECTED} http-headers/method-header-mismatch-refused http-headers/missing-method-header-refused"
        " http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused"
        " http-headers/values-case-sensitive http-headers/version-header-mismatch-refused",
        "a header mismatch has status 200",
        _status(400, 200, b"-32020"),
        {"since": NEW},
    ),
    (
        "header-mismatch-code",
        f"{REJECTED} http-headers/method-header-mismatch-refused http-headers/missing-method-header-refused"
        " http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused"
        " http-headers/values-case-sensitive http-headers/version-header-mismatch-refused",
        "a header mismatch gives -32600",
        code("Header mismatch", -32600),
        {"since": NEW},
    ),
    (
        "version-header-unchecked",
        "http-headers/version-header-mismatch-refused",
        "MCP-Protocol-Version is not compared with the body",
        _lenient("MCP-Protocol-Version", "differs"),
        {"since": NEW},
    ),
    (
        "version-header-not-needed",
        "http-headers/missing-version-header-refused",
        "the server is modern only, and needs no MCP-Protocol-Version",
        several(_modern_only, _lenient("MCP-Protocol-Version", "missing")),
        {"since": NEW},
    ),
    (
        "method-header-not-needed",
        f"http-headers/missing-method-header-refused {REJECTED}",
        "Mcp-Method may be missing",
        _lenient("Mcp-Method", "missing"),
        {"since": NEW},
    ),
    (
        "method-header-unchecked",
        f"http-headers/method-header-mismatch-refused http-headers/values-case-sensitive {REJECTED}",
        "Mcp-Method is not compared with the body",
        _lenient("Mcp-Method", "differs"),
        {"since": NEW},
    ),
    (
        "method-header-any-case",
        "http-headers/values-case-sensitive",
        "Mcp-Method is compared whatever its case",
        handling(check_headers=_any_case),
        {"since": NEW},
    ),
    (
        "header-names-exact",
        "http-headers/names-case-insensitive",
        "header names are matched case-sensitively",
        handling(check_headers=_exact_names),
        {"since": NEW},
    ),
    (
        "name-header-not-needed",
        "http-headers/missing-name-header-refused",
        "Mcp-Name may be missing",
        _lenient("Mcp-Name", "missing"),
        {"since": NEW},
    ),
    (
        "name-header-unchecked",
        "http-headers/name-header-mismatch-refused http-headers/name-header-base64-decoded",
        "Mcp-Name is not compared with the body",
        _lenient("Mcp-Name", "differs"),
        {"since": NEW},
    ),
    (
        "name-header-demanded",
        "http-headers/name-header-not-demanded-elsewhere",
        "every request needs Mcp-Name",
        handling(check_headers=_name_demanded),
        {"since": NEW},
    ),
    (
        "name-header-not-decoded",
        "http-headers/name-header-base64-decoded http-headers/param-header-base64-decoded",
        "header values in base64 are not decoded",
        _not_decoded,
        {"since": NEW},
    ),
    (
        "param-header-unchecked",
        "http-headers/param-header-mismatch-refused",
        "Mcp-Param headers are not compared with the arguments",
        _lenient("Mcp-Param", "differs"),
        {"since": NEW},
    ),
    (
        "param-header-not-needed",
        "http-headers/missing-param-header-refused",
        "Mcp-Param headers may be missing",
        _lenient("Mcp-Param", "missing"),
        {"since": NEW},
    ),
    (
        "unknown-param-header-refused",
        "http-headers/unknown-param-header-ignored",
        "an Mcp-Param header that nothing needs is refused",
        handling(check_headers=_known_params_only),
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
        several(_modern_only, handling(do_GET=lambda handler, proceed: handler.answer(400, b"", {}))),
        {"since": NEW},
    ),
    (
        "delete-400",
        "transport-http/delete-405",
        "the server is modern only, and answers DELETE with 400",
        several(_modern_only, handling(do_DELETE=lambda handler, proceed: handler.answer(400, b"", {}))),
        {"since": NEW},
    ),
)

FAULTS = tuple(
    Fault(name, requirements, summary, apply, **{"since": "2025-03-26", "transports": "http", **where})
    for name, requirements, summary, apply, where in _ROWS
)
