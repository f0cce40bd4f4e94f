"""Faults of authorization over HTTP: of refusals, metadata, and of what is accepted as a token."""

from __future__ import annotations

import json
from itertools import count

from conformance.reference.fault import setting, several
from conformance.reference.http_fault import handling, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row

PROTECTED = setting("protected", True)
NO_TOKEN = "A token is required"
TOO_LITTLE = "The token has too little scope"
OLD, NEW = "2025-03-26", "2026-07-28"
UNDERSTOOD = "2025-06-18"
CHALLENGED = "2025-11-25"


def guarding(**overrides: Any) -> Apply:
    """The server asks for a token, and handles it otherwise."""
    return several(PROTECTED, handling(**overrides))


def _nothing(handler: Any, proceed: Any, *ignored: Any) -> None:
    """Let everything through."""


def _status(now: int, only: str = "", but: str = "") -> Apply:
    """Refuse with another status: all, or what `only` says, but not what begins with `but`."""

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.authorization import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            if only in str(refusal) and not (but and str(refusal).startswith(but)):
                raise Refusal(now, str(refusal), {} if now < 400 else refusal.headers) from None
            raise

    return guarding(authorize=authorize)


def _without_header(only: str = "", but: str = "") -> Apply:
    """Refuse without WWW-Authenticate."""

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.authorization import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            if only in str(refusal) and not (but and str(refusal).startswith(but)):
                refusal.headers = {}
            raise

    return guarding(authorize=authorize)


def _error_in_200(handler: Any, proceed: Any, body: bytes) -> None:
    """Answer by a JSON-RPC error instead of an HTTP status."""
    from conformance.reference.authorization import Refusal

    if handler.find_token():
        proceed(body)
        return
    message = json.loads(body or b"{}")
    if handler.command != "POST" or "id" not in message:
        proceed(body)
        return
    error = {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32001, "message": NO_TOKEN}}
    handler.answer(200, json.dumps(error).encode(), {})
    raise Refusal(0, NO_TOKEN)


def _no_second_answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    if status:
        proceed(status, body, headers)


def _to_login(handler: Any, proceed: Any, body: bytes) -> None:
    """Send those without a token to a page on which users log in."""
    from conformance.reference.authorization import Refusal

    if not handler.find_token():
        raise Refusal(302, NO_TOKEN, {"Location": "/authorize"})
    proceed(body)


def _any_token(handler: Any, proceed: Any, text: str) -> Any:
    from conformance.reference.authorization import ALL

    return {"sub": "alice", "scope": ALL}


def _any_signature_where_none(handler: Any, proceed: Any, text: str, signature: str) -> None:
    """Believe a token that says that it is not signed."""
    if signature:
        proceed(text, signature)


def _session_is_enough(handler: Any, proceed: Any, body: bytes) -> None:
    session = handler.endpoint.sessions.get(handler.headers.get("Mcp-Session-Id"))
    if session is None or "Authorization" in handler.headers:
        proceed(body)
    else:
        handler.user = session.user


def _connection_is_enough(handler: Any, proceed: Any, body: bytes) -> None:
    if "Authorization" in handler.headers or not handler.user:
        handler.user = ""
        proceed(body)


def _open_by(verb: str) -> Callable[[Any, Any, bytes], None]:
    """Ask for no token in requests of a session by this method of HTTP."""

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        session = handler.endpoint.sessions.get(handler.headers.get("Mcp-Session-Id"))
        if handler.command == verb and session is not None:
            handler.user = session.user
        else:
            proceed(body)

    return authorize


def _challenge(**change: str | None) -> Apply:
    """Change the parameters of challenges; None leaves one out, `error` says in which."""
    only = change.pop("error", None)

    def challenge(handler: Any, proceed: Any, scope: str, error: str = "") -> Any:
        if only is not None and error != only:
            return proceed(scope, error)
        given = {"error": error, "scope": scope, "resource_metadata": handler.metadata_url(), **change}
        parameters = ", ".join(f'{name}="{value}"' for name, value in given.items() if value)
        return {"WWW-Authenticate": f"Bearer {parameters}".strip()}

    return guarding(challenge=challenge)


def _changing_scope() -> Apply:
    numbers = count()
    return guarding(first_scope=lambda handler, proceed: ("mcp:read", "mcp:call")[next(numbers) % 2])


MISSING = "authorization/missing-token-401"
INVALID = "authorization/invalid-token-401"
VALIDATED = "authorization/token-validated"
STATUS = "authorization/error-status-codes"
EACH = "authorization/every-request-authorized"
NO_AUTHENTICATION = "authorization/sessions-not-authentication"
NAMES = "authorization/www-authenticate-names-metadata"
FIRST_SCOPE = "authorization/challenge-names-scope"
TOO_LITTLE_403 = "authorization/insufficient-scope-403"
NEEDED = "authorization/challenge-names-needed-scopes"
OFFLINE = "authorization/no-offline-access"

_ROWS: tuple[Row, ...] = (
    ("missing-token-403", f"{MISSING} {STATUS}", "a request without a token gives 403", _status(403, NO_TOKEN), {}),
    ("missing-token-400", MISSING, "a request without a token gives 400", _status(400, NO_TOKEN), {}),
    ("missing-token-500", f"{MISSING} {STATUS}", "a request without a token gives 500", _status(500, NO_TOKEN), {}),
    (
        "missing-token-error-in-200",
        f"{MISSING} {STATUS}",
        "a request without a token is answered by a JSON-RPC error and 200",
        guarding(authorize=_error_in_200, answer=_no_second_answer),
        {},
    ),
    (
        "missing-token-redirected",
        f"{MISSING} {STATUS}",
        "a request without a token is sent to a page to log in",
        guarding(authorize=_to_login),
        {},
    ),
    ("invalid-token-403", INVALID, "a token that is not accepted gives 403", _status(403, "The token", TOO_LITTLE), {}),
    ("invalid-token-400", INVALID, "a token that is not accepted gives 400", _status(400, "The token", TOO_LITTLE), {}),
    ("invalid-token-500", INVALID, "a token that is not accepted gives 500", _status(500, "The token", TOO_LITTLE), {}),
    (
        "invalid-token-not-challenged",
        INVALID,
        "a token that is not accepted gives 401 without WWW-Authenticate",
        _without_header("The token", TOO_LITTLE),
        {},
    ),
    (
        "any-token-served",
        f"{VALIDATED} authorization/audience-validated {TOO_LITTLE_403} {NEEDED} {STATUS} "
        "authorization/session-bound-to-user",
        "whatever stands after Bearer is a token of alice",
        guarding(read_token=_any_token),
        {},
    ),
    (
        "signature-unchecked",
        VALIDATED,
        "the signature of a token is not checked",
        guarding(check_signature=_nothing),
        {},
    ),
    (
        "unsigned-token-served",
        VALIDATED,
        "a token without a signature is accepted",
        guarding(check_signature=_any_signature_where_none),
        {},
    ),
    ("expired-token-served", VALIDATED, "an expired token is accepted", guarding(check_expiry=_nothing), {}),
    (
        "audience-unchecked",
        "authorization/audience-validated",
        "a token for another server is accepted",
        guarding(check_audience=_nothing),
        {"since": UNDERSTOOD},
    ),
    (
        "malformed-authorization-500",
        f"{STATUS} {MISSING}",
        "the word Bearer without a token gives 500",
        guarding(find_token=lambda handler, proceed: _found(handler, proceed, 500)),
        {},
    ),
    (
        "malformed-authorization-403",
        STATUS,
        "the word Bearer without a token gives 403",
        guarding(find_token=lambda handler, proceed: _found(handler, proceed, 403)),
        {},
    ),
    (
        "session-id-instead-of-token",
        f"{EACH} {NO_AUTHENTICATION}",
        "who has the id of a session needs no token",
        guarding(authorize=_session_is_enough),
        {"until": CHALLENGED},
    ),
    (
        "connection-instead-of-token",
        EACH,
        "a connection on which a token came needs no other",
        guarding(authorize=_connection_is_enough),
        {"since": NEW},
    ),
    (
        "stream-without-token",
        f"{EACH} {NO_AUTHENTICATION}",
        "the stream of a session is open to whoever has its id",
        guarding(authorize=_open_by("GET")),
        {"until": CHALLENGED},
    ),
    (
        "session-ended-without-token",
        f"{EACH} {NO_AUTHENTICATION}",
        "a session is ended by whoever has its id",
        guarding(authorize=_open_by("DELETE")),
        {"until": CHALLENGED},
    ),
    (
        "session-of-another-user",
        "authorization/session-bound-to-user",
        "a user is served in the session of another one",
        guarding(check_owner=_nothing),
        {"since": UNDERSTOOD, "until": CHALLENGED},
    ),
    (
        "challenge-missing",
        f"{NAMES} {INVALID} {FIRST_SCOPE}",
        "a 401 has no WWW-Authenticate",
        _without_header("", TOO_LITTLE),
        {"since": UNDERSTOOD, "until": UNDERSTOOD},
    ),
    (
        "challenge-without-metadata",
        NAMES,
        "a 401 does not name the metadata of the resource",
        _challenge(resource_metadata=None, error=""),
        {"since": UNDERSTOOD, "until": UNDERSTOOD},
    ),
    (
        "challenge-with-path",
        NAMES,
        "a 401 names the metadata of the resource by a path, not by a URL",
        _challenge(resource_metadata="/.well-known/oauth-protected-resource/mcp", error=""),
        {"since": UNDERSTOOD, "until": UNDERSTOOD},
    ),
    (
        "challenge-without-scope",
        FIRST_SCOPE,
        "a 401 names no scope",
        _challenge(scope=None, error=""),
        {"since": CHALLENGED},
    ),
    (
        "challenge-with-another-scope-each-time",
        "authorization/scopes-consistent",
        "a 401 names one scope or another",
        _changing_scope(),
        {"since": CHALLENGED},
    ),
    (
        "challenge-for-offline-access",
        OFFLINE,
        "a 401 asks for the scope offline_access",
        guarding(first_scope=lambda handler, proceed: f"{proceed()} offline_access"),
        {"since": NEW},
    ),
    (
        "too-little-scope-401",
        f"{STATUS} {TOO_LITTLE_403}",
        "a token with too little scope gives 401",
        _status(401, TOO_LITTLE),
        {},
    ),
    (
        "too-little-scope-not-challenged",
        TOO_LITTLE_403,
        "a token with too little scope gives 403 without WWW-Authenticate",
        _without_header(TOO_LITTLE),
        {"since": CHALLENGED},
    ),
    (
        "too-little-scope-without-metadata",
        TOO_LITTLE_403,
        "the refusal of a token with too little scope does not name the metadata",
        _challenge(resource_metadata=None, error="insufficient_scope"),
        {"since": CHALLENGED},
    ),
    (
        "scopes-named-one-by-one",
        "authorization/challenge-complete",
        "the refusal of a token with too little scope names one scope of those that are missing",
        guarding(
            too_little=lambda handler, proceed, needed, granted: proceed(
                (handler.missing(needed, granted)[0],), granted
            )
        ),
        {"since": NEW},
    ),
    (
        "too-little-scope-without-scope",
        f"{NEEDED} {TOO_LITTLE_403}",
        "the refusal of a token with too little scope names no scope",
        _challenge(scope=None, error="insufficient_scope"),
        {"since": NEW},
    ),
)


def _found(handler: Any, proceed: Any, status: int) -> Any:
    """The token; a header without one is refused with that status."""
    from conformance.reference.authorization import Refusal

    if "Authorization" in handler.headers and not proceed():
        raise Refusal(status, "The header Authorization has no token")
    return proceed()


FAULTS = over_http(_ROWS)
