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


def _signed(length: int) -> Apply:
    """Look only at the beginning of the signature of a token."""

    def check(handler: Any, proceed: Any, text: str, signature: str) -> None:
        from conformance.reference.authorization import Invalid, _signature

        if signature[:length] != _signature(text)[:length]:
            raise Invalid("The token has a wrong signature")

    return guarding(check_signature=check)


def _read_leniently(handler: Any, proceed: Any) -> str:
    """Take what stands before the first part of a token for a part of its name."""
    _, mark, rest = proceed().partition("eyJ")
    return f"{mark}{rest}"


def _challenged_barely(handler: Any, proceed: Any, *arguments: Any) -> Any:
    """Give a GET that is refused no challenge."""
    return {} if handler.command == "GET" else proceed(*arguments)


def _any_token_for_streams(handler: Any, proceed: Any, text: str, signature: str) -> None:
    if handler.command != "GET":
        proceed(text, signature)


def _scope_at_first(server: Any) -> None:
    """Refuse what a token has no scope for once, and serve it from then on."""
    refused: set[str] = set()

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        from conformance.reference.http import Refusal

        try:
            proceed(body)
        except Refusal as refusal:
            token = handler.find_token() if refusal.status == 403 else ""
            if refusal.status != 403 or token not in refused:
                refused.add(token)
                raise

    guarding(authorize=authorize)(server)


def _scope_as_json(handler: Any, proceed: Any, needed: Any, granted: Any) -> Any:
    """Refuse a token with too little scope by an error and status 200."""
    refusal = proceed(needed, granted)
    refusal.status = 200
    return refusal


def _free_in(stateless: bool) -> Apply:
    """Ask for no token in one era; what has no body is of the handshake era."""

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        if (b"io.modelcontextprotocol/protocolVersion" in body) == stateless:
            handler.user = "alice"
        else:
            proceed(body)

    return guarding(authorize=authorize)


def _free_at(suffix: str, prefix: str = "") -> Apply:
    """Serve messages without a token at a path that has something more at its end or its beginning."""
    elsewhere: set[Any] = set()

    def check_address(handler: Any, proceed: Any) -> None:
        # The library leaves out what a path has too many slashes at its beginning.
        if handler.requestline.split()[1] == f"{prefix}{handler.endpoint.path}{suffix}":
            handler.path = handler.endpoint.path
            elsewhere.add(handler)
        proceed()

    def authorize(handler: Any, proceed: Any, body: bytes) -> None:
        if handler in elsewhere:
            elsewhere.remove(handler)
            handler.user = "alice"
        else:
            proceed(body)

    return guarding(check_address=check_address, authorize=authorize)


_ROWS: tuple[Row, ...] = (
    (
        "handshake-era-without-token",
        EACH,
        "a token is needed in the stateless era alone",
        _free_in(stateless=False),
        {"until": "2025-11-25"},
    ),
    (
        "stateless-era-without-token",
        EACH,
        "a token is needed in the handshake era alone",
        _free_in(stateless=True),
        {"since": "2026-07-28"},
    ),
    (
        "end-of-signature-unchecked",
        VALIDATED,
        "the signature of a token may go on after its end",
        _signed(43),
        {},
    ),
    (
        "beginning-of-signature-suffices",
        VALIDATED,
        "the first eight characters of the signature of a token are looked at",
        _signed(8),
        {},
    ),
    (
        "anything-before-a-token",
        VALIDATED,
        "a token is found behind other characters",
        guarding(find_token=_read_leniently),
        {},
    ),
    (
        "signature-unchecked-in-reads",
        VALIDATED,
        "the signature of a token is not checked where a resource is read",
        _unchecked("check_signature", "resources/read"),
        {},
    ),
    (
        "signature-unchecked-in-notifications",
        VALIDATED,
        "the signature of a token is not checked where a notification comes",
        _unchecked("check_signature", "notifications/cancelled"),
        {"until": "2025-11-25"},
    ),
    (
        "expiry-unchecked-in-prompts",
        VALIDATED,
        "an expired token is accepted where a prompt is filled",
        _unchecked("check_expiry", "prompts/get"),
        {},
    ),
    (
        "any-token-for-streams",
        VALIDATED,
        "the signature of a token is not checked in a GET",
        guarding(check_signature=_any_token_for_streams),
        {"until": "2025-11-25"},
    ),
    (
        "subscription-without-token",
        EACH,
        "subscriptions/listen needs no token",
        _free(b'"subscriptions/listen"'),
        {"since": "2026-07-28"},
    ),
    (
        "slash-without-token",
        EACH,
        "no token is asked for where the path has a slash at its end",
        _free_at("/"),
        {},
    ),
    (
        "two-slashes-without-token",
        EACH,
        "no token is asked for where the path begins with two slashes",
        _free_at("", "/"),
        {},
    ),
    (
        "stream-refused-without-challenge",
        "authorization/missing-token-401 authorization/invalid-token-401 authorization/www-authenticate-names-metadata",
        "a GET without a token gets 401 without WWW-Authenticate",
        guarding(challenge=_challenged_barely),
        {"until": "2025-11-25"},
    ),
    (
        "scope-looked-at-once",
        "authorization/insufficient-scope-403",
        "what a token has no scope for is refused once",
        _scope_at_first,
        {"since": "2025-11-25"},
    ),
    (
        "scope-refused-with-200",
        "authorization/error-status-codes authorization/insufficient-scope-403",
        "a token with too little scope gets HTTP status 200",
        guarding(too_little=_scope_as_json),
        {},
    ),
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
