"""Authorization over HTTP: the server asks for bearer tokens, and is its own small authorization server.

A token is a JSON Web Token with the claims `sub`, `scope`, `aud` and `exp`. The broad scope `mcp` implies the others.
"""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64decode, urlsafe_b64encode
from secrets import token_hex
from urllib.parse import parse_qs, urlencode, urlsplit

from conformance.reference.wire import INVALID_REQUEST, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

KEY = b"the key of the reference server"
NAME = "urn:mcp-conform:reference"
"""The audience of tokens that are made before anybody knows at which port the server listens."""
ALL, READ, CALL, TOOLS = "mcp", "mcp:read", "mcp:call", "mcp:tools"
SCOPES = (ALL, READ, CALL, TOOLS)
FAR, PAST = 4_102_444_800, 1
CLIENT, SECRET = "reference-client", "reference-client-secret"
LOOPBACK = ("localhost", "127.0.0.1", "::1")
RESOURCE_METADATA = "/.well-known/oauth-protected-resource"
SERVER_METADATA = "/.well-known/oauth-authorization-server"


class Refusal(Exception):
    """An HTTP error status, with a JSON-RPC error without id as its body."""

    def __init__(self, status: int, why: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(why)
        self.status = status
        self.headers = headers or {}
        self.error = RpcError(INVALID_REQUEST, why)


class Invalid(Exception):
    """A token that is not accepted; the text says why."""


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _signature(text: str) -> str:
    import hmac

    return _encoded(hmac.digest(KEY, text.encode(), "sha256"))


def issue(user: str, scope: str, audience: str = NAME, expires: int = FAR) -> str:
    """A token."""
    claims = {"sub": user, "scope": scope, "aud": audience, "exp": expires, "jti": token_hex(8)}
    text = ".".join(_encoded(json.dumps(part).encode()) for part in ({"alg": "HS256", "typ": "JWT"}, claims))
    return f"{text}.{_signature(text)}"


def tokens() -> dict[str, str]:
    """A token of each kind that a test needs."""
    return {
        "own": issue("alice", ALL),
        "fewer-scopes": issue("alice", READ),
        "other-user": issue("bob", ALL),
        "other-audience": issue("alice", ALL, "https://elsewhere.invalid/mcp"),
        "expired": issue("alice", ALL, expires=PAST),
    }


class Guarded:
    """What the HTTP handler does where authorization is required. A fault overrides one of the methods."""

    endpoint: Any
    headers: Any
    path: str
    command: str
    answer: Callable[[int, bytes, dict[str, str]], None]
    user = ""

    # -- the protected resource

    def authorize(self, body: bytes) -> None:
        """Raise Refusal unless the request has a token for what it asks."""
        text = self.find_token()
        if not text:
            raise Refusal(401, "A token is required", self.challenge(self.first_scope()))
        try:
            claims = self.read_token(text)
        except Invalid as why:
            raise Refusal(401, str(why), self.challenge(self.first_scope(), "invalid_token")) from None
        self.user = claims["sub"]
        needed = self.needed(body)
        granted = claims["scope"].split()
        if self.missing(needed, granted):
            raise self.too_little(needed, granted)

    def find_token(self) -> str:
        """The bearer token of the request, "" if it has none."""
        scheme, _, token = self.headers.get("Authorization", "").partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    def read_token(self, text: str) -> Message:
        """The claims of a token. Raises Invalid."""
        head, _, rest = text.partition(".")
        payload, _, signature = rest.partition(".")
        self.check_signature(f"{head}.{payload}", signature)
        try:
            claims: Message = json.loads(_decoded(payload))
        except ValueError:
            raise Invalid("The token cannot be read") from None
        self.check_claims(claims)
        return claims

    def check_signature(self, text: str, signature: str) -> None:
        """Raise Invalid unless the token is ours."""
        import hmac

        if not hmac.compare_digest(_signature(text), signature):
            raise Invalid("The token has a wrong signature")

    def check_claims(self, claims: Message) -> None:
        """Raise Invalid for a token that has expired, or is for another server."""
        self.check_expiry(claims)
        self.check_audience(claims)

    def check_expiry(self, claims: Message) -> None:
        from time import time

        if claims["exp"] < time():
            raise Invalid("The token has expired")

    def check_audience(self, claims: Message) -> None:
        if claims["aud"] not in (NAME, self.resource()):
            raise Invalid("The token is for another server")

    def first_scope(self) -> str:
        """What the challenge of a 401 asks for."""
        return READ

    def needed(self, body: bytes) -> tuple[str, ...]:
        """The scopes that a request needs."""
        return (READ, CALL, TOOLS) if b'"tools/call"' in body else (READ,)

    def missing(self, needed: tuple[str, ...], granted: list[str]) -> list[str]:
        """Those that are needed and neither granted nor implied."""
        return [] if ALL in granted else [scope for scope in needed if scope not in granted]

    def too_little(self, needed: tuple[str, ...], granted: list[str]) -> Refusal:
        """How a token with too little scope is refused."""
        return Refusal(403, "The token has too little scope", self.challenge(" ".join(needed), "insufficient_scope"))

    def challenge(self, scope: str, error: str = "") -> dict[str, str]:
        """The header WWW-Authenticate."""
        given = {"error": error, "scope": scope, "resource_metadata": self.metadata_url()}
        parameters = ", ".join(f'{name}="{value}"' for name, value in given.items() if value)
        return {"WWW-Authenticate": f"Bearer {parameters}"}

    def check_owner(self, session: Any) -> None:
        """Raise Refusal for the session of another user."""
        if session.user != self.user:
            raise Refusal(404, "There is no such session")

    # -- metadata

    def origin(self) -> str:
        return f"http://{self.headers.get('Host', 'localhost')}"

    def resource(self) -> str:
        """The URI of the server."""
        return f"{self.origin()}{self.endpoint.path}"

    def metadata_url(self) -> str:
        return f"{self.origin()}{RESOURCE_METADATA}{self.endpoint.path}"

    def resource_metadata(self) -> Message:
        return {
            "resource": self.resource(),
            "authorization_servers": [self.origin()],
            "scopes_supported": [READ, CALL, TOOLS],
            "bearer_methods_supported": ["header"],
        }

    def server_metadata(self) -> Message:
        origin = self.origin()
        return {
            "issuer": origin,
            "authorization_endpoint": f"{origin}/authorize",
            "token_endpoint": f"{origin}/token",
            "registration_endpoint": f"{origin}/register",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "client_credentials"],
            "code_challenge_methods_supported": ["S256"],
            "scopes_supported": list(SCOPES),
        }

    def documents(self) -> dict[str, Callable[[], Message]]:
        """Path → what is served there without a token."""
        path = self.endpoint.path
        return {
            RESOURCE_METADATA + path: self.resource_metadata,
            RESOURCE_METADATA: self.resource_metadata,
            SERVER_METADATA: self.server_metadata,
        }

    def endpoints(self) -> dict[str, Callable[[bytes], None]]:
        """`METHOD path` → what serves it."""
        return {"GET /authorize": self.approve, "POST /token": self.grant, "POST /register": self.register}

    def serve_web(self, body: bytes) -> bool:
        """Serve what needs no token; whether that is what was asked for."""
        path = urlsplit(self.path).path
        documents, serve = self.documents(), self.endpoints().get(f"{self.command} {path}")
        if serve is not None:
            serve(body)
        elif self.command == "GET" and path in documents:
            self.answer(200, json.dumps(documents[path]()).encode(), {})
        else:
            return False
        return True

    # -- the authorization server

    def refuse(self, status: int, error: str) -> None:
        self.answer(status, json.dumps({"error": error}).encode(), {"Cache-Control": "no-store"})

    def approve(self, body: bytes) -> None:
        """Send the browser back with a code: whoever asks is alice, and agrees."""
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        back = asked.get("redirect_uri", "")
        if back not in self.endpoint.clients.get(asked.get("client_id", ""), ()):
            self.refuse(400, "invalid_request")
            return
        said = {} if self.accepts(asked) else {"error": "invalid_request"}
        said = {**(said or {"code": issue("code", "")}), "state": asked.get("state", "")}
        self.answer(302, b"", {"Location": f"{back}?{urlencode(said)}"})

    def accepts(self, asked: dict[str, str]) -> bool:
        """Whether a request for authorization is one: with PKCE."""
        with_challenge = bool(asked.get("code_challenge")) and asked.get("code_challenge_method") == "S256"
        return asked.get("response_type") == "code" and with_challenge

    def grant(self, body: bytes) -> None:
        """Client credentials → a token for the resource and the scope that were asked for."""
        asked = {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}
        given = (asked.get("client_id", ""), asked.get("client_secret", ""))
        scheme, _, pair = self.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "basic":
            given = tuple(b64decode(pair).decode().partition(":")[::2])  # type: ignore[assignment]
        if given != (CLIENT, SECRET):
            self.refuse(401, "invalid_client")
        elif asked.get("grant_type") != "client_credentials":
            self.refuse(400, "unsupported_grant_type")
        elif not asked.get("resource"):
            self.refuse(400, "invalid_target")
        else:
            scope = asked.get("scope") or READ
            token = issue(CLIENT, scope, asked["resource"])
            data = {"access_token": token, "token_type": "Bearer", "expires_in": 3600, "scope": scope}
            self.answer(200, json.dumps(data).encode(), {"Cache-Control": "no-store"})

    def register(self, body: bytes) -> None:
        """Register a client whose redirect URIs are HTTPS or on this machine."""
        try:
            asked = json.loads(body)
            uris = asked["redirect_uris"]
            good = bool(uris) and all(map(self.may_be_sent_to, uris))
        except (ValueError, TypeError, KeyError, AttributeError):
            self.refuse(400, "invalid_client_metadata")
            return
        if not good:
            self.refuse(400, "invalid_redirect_uri")
            return
        name = f"client-{len(self.endpoint.clients) + 1}"
        self.endpoint.clients[name] = tuple(uris)
        self.answer(201, json.dumps({**asked, "client_id": name}).encode(), {"Cache-Control": "no-store"})

    def may_be_sent_to(self, uri: str) -> bool:
        """Whether a redirect URI is one to which a code may go."""
        parts = urlsplit(uri)
        return parts.scheme == "https" or parts.hostname in LOOPBACK
