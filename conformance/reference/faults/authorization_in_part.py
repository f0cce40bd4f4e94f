"""Faults of authorization in some requests only, or with some tokens."""

from __future__ import annotations

from base64 import urlsafe_b64decode

from conformance.reference.faults.authorization import EACH, NO_AUTHENTICATION, VALIDATED, guarding
from conformance.reference.http_fault import over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row


def _unchecked(check: str, *methods: str) -> Apply:
    """Leave out a check of the token in requests of these methods."""
    named = tuple(f'"{method}"'.encode() for method in methods)
    bodies: dict[Any, bytes] = {}

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        bodies[handler] = body
        try:
            proceed(body)
        finally:
            del bodies[handler]

    def checked(handler: Any, proceed: Any, *arguments: Any) -> None:
        if not any(name in bodies[handler] for name in named):
            proceed(*arguments)

    return guarding(**{"authorize": authorize, check: checked})


def _free(method: bytes) -> Apply:
    """Ask for no token where that stands in the body."""

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        if method in body and "Authorization" not in handler.headers:
            handler.user = "alice"
        else:
            proceed(body)

    return guarding(authorize=authorize)


def _refused(method: bytes, status: int = 401, without: str = "") -> Apply:
    """Where that stands in the body, refuse what has no token otherwise: the challenge without a parameter."""

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.http import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            if method not in body or "Authorization" in handler.headers:
                raise
            told = refusal.headers["WWW-Authenticate"].removeprefix("Bearer ").split(", ")
            kept = ", ".join(each for each in told if not without or not each.startswith(without))
            raise Refusal(status, str(refusal), {"WWW-Authenticate": f"Bearer {kept}"}) from None

    return guarding(authorize=authorize)


def _signed_unless_in_capitals(handler: Any, proceed: Any, text: str, signature: str) -> None:
    """Know the algorithm none by that one name, and ask for no signature with another one."""
    head = text.partition(".")[0]
    if signature or b'"NONE"' not in urlsafe_b64decode(head + "=" * (-len(head) % 4)):
        proceed(text, signature)


_ROWS: tuple[Row, ...] = (
    (
        "unsigned-token-served-by-another-name",
        VALIDATED,
        "a token without a signature is accepted if it calls its algorithm NONE",
        guarding(check_signature=_signed_unless_in_capitals),
        {},
    ),
    (
        "expired-token-opens",
        VALIDATED,
        "an expired token is accepted for initialize and server/discover alone",
        _unchecked("check_expiry", "initialize", "server/discover"),
        {},
    ),
    (
        "expired-token-lists",
        VALIDATED,
        "an expired token is accepted for lists alone",
        _unchecked("check_expiry", "tools/list", "resources/list", "prompts/list"),
        {},
    ),
    (
        "signature-unchecked-in-calls",
        VALIDATED,
        "the signature of a token is not checked where a tool is called",
        _unchecked("check_signature", "tools/call"),
        {},
    ),
    (
        "audience-unchecked-in-calls",
        "authorization/audience-validated",
        "a token for another server is accepted where a tool is called",
        _unchecked("check_audience", "tools/call"),
        {"since": "2025-06-18"},
    ),
    (
        "call-without-token",
        f"{EACH} {NO_AUTHENTICATION}",
        "a tool is called without a token",
        _free(b'"tools/call"'),
        {},
    ),
    (
        "prompt-without-token",
        f"{EACH} {NO_AUTHENTICATION}",
        "a prompt is filled without a token",
        _free(b'"prompts/get"'),
        {},
    ),
    (
        "notification-without-token",
        f"{EACH} {NO_AUTHENTICATION}",
        "notifications are accepted without a token",
        _free(b'"notifications/'),
        {},
    ),
    (
        "call-without-token-403",
        "authorization/missing-token-401",
        "a tool that is called without a token gives 403",
        _refused(b'"tools/call"', status=403),
        {},
    ),
    (
        "notification-without-token-400",
        "authorization/missing-token-401",
        "a notification without a token gives 400",
        _refused(b'"notifications/', status=400),
        {},
    ),
    (
        "challenge-without-metadata-in-calls",
        "authorization/www-authenticate-names-metadata",
        "a 401 to the call of a tool does not name the metadata of the resource",
        _refused(b'"tools/call"', without="resource_metadata"),
        {"since": "2025-06-18", "until": "2025-06-18"},
    ),
    (
        "challenge-without-scope-in-calls",
        "authorization/challenge-names-scope",
        "a 401 to the call of a tool names no scope",
        _refused(b'"tools/call"', without="scope"),
        {"since": "2025-11-25"},
    ),
)

FAULTS = over_http(_ROWS)
