"""Faults in sessions over HTTP: their ids, how they end, and what is left of them in revisions without sessions."""

from __future__ import annotations

import hashlib
import secrets
import time
from itertools import count

from conformance.reference.fault import STATELESS, modern_only, several
from conformance.reference.http_fault import handling, other_status, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

NEW = "2026-07-28"


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


def _sessions_live_on(handler: Any, proceed: Any) -> None:
    handler.session()
    handler.answer(200, b"", {})


def _stream_of_the_dead(handler: Any, proceed: Any, body: bytes) -> None:
    if handler.headers.get("Mcp-Session-Id") in {None, *handler.endpoint.sessions}:
        proceed(body)
        return
    handler.begin_events({})
    handler.close_connection = True


def _notifications_past(status: int) -> Callable[[Any, Any, bytes], None]:
    """Accept notifications that are refused with that status."""

    def post(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.http import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            if refusal.status != status or b'"id"' in body:
                raise
            handler.answer(202, b"", {})

    return post


def _get_refused(status: int) -> Callable[[Any, Any, bytes], None]:
    """Refuse a GET of a session that does not exist with another status."""

    def get(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.http import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            raise Refusal(status, str(refusal)) if refusal.status == 404 else refusal from None

    return get


def _get_without_session(handler: Any, proceed: Any, body: bytes) -> None:
    if "Mcp-Session-Id" in handler.headers:
        proceed(body)
        return
    handler.begin_events({})
    handler.close_connection = True


def _unless(verb: str) -> Callable[[Any, Any], None]:
    """Check requests of other verbs alone."""

    def check(handler: Any, proceed: Any) -> None:
        if handler.command != verb:
            proceed()

    return check


def _forgiving(method: bytes, **overrides: Callable[..., Any]) -> Apply:
    """Let these overrides know, by `handler.forgives`, whether the request is one of that method."""

    def post(handler: Any, proceed: Any, body: bytes) -> None:
        handler.forgives = method in body
        proceed(body)
        handler.forgives = False

    return handling(_post=post, **overrides)


def _served_when_ended(method: bytes) -> Apply:
    """Serve requests of that method in sessions that were ended."""
    ended: dict[str, Any] = {}

    def delete(handler: Any, proceed: Any, body: bytes) -> None:
        ended.update(handler.endpoint.sessions)
        proceed(body)

    def session(handler: Any, proceed: Any) -> Any:
        name = handler.headers.get("Mcp-Session-Id")
        forgiven = getattr(handler, "forgives", False) and name not in handler.endpoint.sessions
        return ended[name] if forgiven and name in ended else proceed()

    return _forgiving(method, _delete=delete, session=session)


def _any_session(handler: Any, proceed: Any) -> Any:
    sessions = list(handler.endpoint.sessions.values())
    forgiven = getattr(handler, "forgives", False) and "Mcp-Session-Id" not in handler.headers
    return sessions[-1] if forgiven and sessions else proceed()


def _any_version(handler: Any, proceed: Any) -> None:
    if not getattr(handler, "forgives", False):
        proceed()


def _refused_otherwise(method: bytes, was: int, now: int) -> Callable[[Any, Any, bytes], None]:
    """Refuse what is of that method with the status `now` instead of `was`."""

    def post(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.http import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            raise Refusal(now, str(refusal)) if refusal.status == was and method in body else refusal from None

    return post


def _ended_again(handler: Any, proceed: Any, body: bytes) -> None:
    from conformance.reference.http import Refusal

    try:
        proceed(body)
    except Refusal as refusal:
        if refusal.status != 404:
            raise
        handler.answer(200, b"", {})


def _session_names(name: Callable[[int], str]) -> Apply:
    """Session ids as `name` makes them of the number of the session."""

    def apply(server: Server) -> None:
        before = server.http_handler
        numbers = count(1)

        def faulty(correct: Any) -> Any:
            from conformance.reference import http

            http.new_session_id = lambda: name(next(numbers))
            return before(correct)

        server.http_handler = faulty

    return apply


GUESSABLE = "transport-http/session-id-unique-and-secure authorization/session-ids-unpredictable"


def _version_cut(handler: Any, proceed: Any) -> None:
    """Look at the first ten characters of the version alone."""
    given = handler.headers.get("MCP-Protocol-Version")
    if given is not None:
        handler.headers.replace_header("MCP-Protocol-Version", given[:10])
    proceed()


_ROWS: tuple[Row, ...] = (
    (
        "dead-session-400",
        "transport-http/terminated-session-404",
        "the id of a terminated session gives 400",
        other_status("session", 404, 400),
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
        "dead-session-get-served",
        "transport-http/terminated-session-404",
        "a GET with the id of a terminated session opens a stream",
        handling(_get=_stream_of_the_dead),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-get-405",
        "transport-http/terminated-session-404",
        "a GET with the id of a terminated session gives 405",
        handling(_get=_get_refused(405)),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-get-served",
        "transport-http/missing-session-id-400",
        "a GET without a session id opens a stream",
        handling(_get=_get_without_session),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-notification-accepted",
        "transport-http/terminated-session-404",
        "a notification with the id of a terminated session is accepted",
        handling(_post=_notifications_past(404)),
        {"until": "2025-11-25"},
    ),
    (
        "bad-version-header-served-by-get",
        "http-headers/invalid-version-header-400",
        "the version header of a GET is not looked at",
        handling(check_version=_unless("GET")),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "bad-version-header-served-by-beginning",
        "http-headers/invalid-version-header-400",
        "any MCP-Protocol-Version that begins as one does is served",
        handling(check_version=_version_cut),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "bad-version-header-of-notifications",
        "http-headers/invalid-version-header-400",
        "the version header of a notification is not looked at",
        handling(_post=_notifications_past(400)),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "dead-session-list-served",
        "transport-http/terminated-session-404",
        "tools are listed in a session that was ended",
        _served_when_ended(b'"tools/list"'),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-call-served",
        "transport-http/terminated-session-404",
        "a tool is called in a session that was ended",
        _served_when_ended(b'"tools/call"'),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-list-400",
        "transport-http/terminated-session-404",
        "a list of prompts with the id of a terminated session gives 400",
        handling(_post=_refused_otherwise(b'"prompts/list"', 404, 400)),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-notification-500",
        "transport-http/terminated-session-404",
        "a notification with the id of a terminated session gives 500",
        handling(_post=_refused_otherwise(b'"notifications/', 404, 500)),
        {"until": "2025-11-25"},
    ),
    (
        "dead-session-deleted-again",
        "transport-http/terminated-session-404",
        "a session can be ended as often as one likes",
        handling(_delete=_ended_again),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-list-served",
        "transport-http/missing-session-id-400",
        "tools are listed without a session id",
        _forgiving(b'"tools/list"', session=_any_session),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-call-404",
        "transport-http/missing-session-id-400",
        "a tool that is called without session id gives 404",
        handling(_post=_refused_otherwise(b'"tools/call"', 400, 404)),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-notification-accepted",
        "transport-http/missing-session-id-400",
        "a notification without session id is accepted",
        _forgiving(b'"notifications/', session=_any_session),
        {"until": "2025-11-25"},
    ),
    (
        "bad-version-header-of-calls",
        "http-headers/invalid-version-header-400",
        "the version header of tools/call is not looked at",
        _forgiving(b'"tools/call"', check_version=_any_version),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "bad-version-header-deletes",
        "http-headers/invalid-version-header-400",
        "the version header of a DELETE is not looked at",
        handling(check_version=_unless("DELETE")),
        {"since": "2025-06-18", "until": "2025-11-25"},
    ),
    (
        "foreign-origin-deletes",
        "transport-http/origin-validated",
        "a web page from elsewhere can end sessions",
        handling(check_origin=_unless("DELETE")),
        {"until": "2025-11-25"},
    ),
    (
        "missing-session-401",
        "transport-http/missing-session-id-400",
        "a request without session id gives 401",
        other_status("session", 400, 401),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-blank",
        "transport-http/session-id-visible-ascii",
        "session ids contain a blank",
        _session_names(lambda number: f"session {secrets.token_hex(16)}"),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-counted",
        GUESSABLE,
        "session ids are counted from 1",
        _session_names(str),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-counted-long",
        GUESSABLE,
        "session ids are counted in 32 digits",
        _session_names("{:032}".format),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-of-the-time",
        GUESSABLE,
        "session ids are the time in nanoseconds",
        _session_names(lambda number: f"session-{time.time_ns():032x}"),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-short",
        GUESSABLE,
        "session ids have 32 random bits",
        _session_names(lambda number: f"session-of-the-reference-server-{secrets.token_hex(4)}"),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-hash-of-number",
        GUESSABLE,
        "session ids are hashes of 1, 2, 3 and so on",
        _session_names(lambda number: hashlib.sha256(str(number).encode()).hexdigest()),
        {"until": "2025-11-25"},
    ),
    (
        "session-id-umlaut",
        "transport-http/session-id-visible-ascii",
        "session ids contain a tabulator",
        _session_names(lambda number: f"session\t{secrets.token_hex(16)}"),
        {"until": "2025-11-25"},
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
        "the server is modern only, and refuses a request with a session id",
        several(modern_only, _refusing_header("Mcp-Session-Id", 404)),
        {"since": NEW},
    ),
    (
        "last-event-id-heeded",
        "transport-http/last-event-id-ignored",
        "the server is modern only, and refuses a request with Last-Event-ID",
        several(modern_only, _refusing_header("Last-Event-ID", 400)),
        {"since": NEW},
    ),
    (
        "last-event-id-heeded-in-both-eras",
        "transport-http/last-event-id-ignored",
        "a stateless request with Last-Event-ID is refused by a server that speaks older revisions, too",
        _refusing_header("Last-Event-ID", 400),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
