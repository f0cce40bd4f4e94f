"""Faults of what a server tells of its authorization: metadata of the resource, and of its authorization server."""

from __future__ import annotations

from urllib.parse import parse_qs, urlsplit

from conformance.reference.fault import several
from conformance.reference.faults.authorization import CHALLENGED, NEW, OFFLINE, OLD, UNDERSTOOD, guarding
from conformance.reference.http_fault import over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row

SERVED = "authorization/protected-resource-metadata-served"
FOUND = "authorization/metadata-discoverable"
SERVERS = "authorization/metadata-names-authorization-server"
OWN_SERVED = "authorization/own-as-metadata-served"
ELSEWHERE = "http://accounts.mcp-conform.invalid"


def _documents(change: Any) -> Apply:
    """Change the table of documents."""

    def documents(handler: Any, proceed: Any) -> Any:
        served = dict(proceed())
        change(handler, served)
        return served

    return guarding(documents=documents)


def _drop(handler: Any, served: dict[str, Any], which: str = "oauth-protected-resource") -> None:
    for path in [path for path in served if which in path]:
        del served[path]


def _beside(handler: Any, served: dict[str, Any]) -> None:
    _drop(handler, served)
    served[f"{handler.endpoint.path}/.well-known/oauth-protected-resource"] = handler.resource_metadata


def _resource(**change: Any) -> Apply:
    """Change the metadata of the resource; a function of the handler gives a value, None leaves one out."""

    def metadata(handler: Any, proceed: Any) -> Any:
        values = {name: value(handler) if callable(value) else value for name, value in change.items()}
        return {name: value for name, value in {**proceed(), **values}.items() if value is not None}

    return guarding(resource_metadata=metadata)


def _as_page(handler: Any, proceed: Any, name: str, value: str) -> None:
    web = "oauth-protected-resource" in handler.path and value == "application/json"
    proceed(name, "text/html" if web else value)


def _page(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
    page = "oauth-protected-resource" in handler.path
    proceed(status, b"<!doctype html><title>Welcome</title>" if page else body, headers)


def _metadata_need_a_token(handler: Any, proceed: Any, body: bytes) -> bool:
    return "oauth-protected-resource" not in handler.path and bool(proceed(body))


def _guard_first(handler: Any, proceed: Any) -> None:
    if "oauth-protected-resource" in handler.path:
        handler.authorize(b"")
    proceed()


def _alone(handler: Any, served: dict[str, Any]) -> None:
    """Leave all metadata out."""
    served.clear()


def _below(handler: Any, served: dict[str, Any]) -> None:
    served.clear()
    served[f"/.well-known/oauth-authorization-server{handler.endpoint.path}"] = handler.server_metadata


def _below_appended(handler: Any, served: dict[str, Any]) -> None:
    served.clear()
    served[f"{handler.endpoint.path}/.well-known/oauth-authorization-server"] = handler.server_metadata


def _server(**change: Any) -> Apply:
    """Change the metadata of the authorization server; None leaves one out."""
    return guarding(
        server_metadata=lambda handler, proceed: {
            name: value for name, value in {**proceed(), **change}.items() if value is not None
        }
    )


def _lacking(*which: str) -> Apply:
    """Do not serve some of the endpoints."""
    return guarding(
        endpoints=lambda handler, proceed: {
            name: serve for name, serve in proceed().items() if name.partition(" ")[2] not in which
        }
    )


def _approve_anywhere(handler: Any, proceed: Any, body: bytes) -> None:
    back = parse_qs(urlsplit(handler.path).query).get("redirect_uri", [""])[0]
    for client, uris in handler.endpoint.clients.items():
        handler.endpoint.clients[client] = (*uris, back)
    proceed(body)


REDIRECTS = "authorization/own-as-redirect-uris-validated"
ONLY_OLD = {"until": OLD}

_ROWS: tuple[Row, ...] = (
    (
        "offline-access-supported",
        OFFLINE,
        "scopes_supported of the resource lists offline_access",
        _resource(scopes_supported=["mcp:read", "offline_access"]),
        {"since": NEW},
    ),
    (
        "resource-metadata-missing",
        SERVED,
        "there are no metadata of the resource",
        _documents(_drop),
        {"since": UNDERSTOOD},
    ),
    (
        "plain-bearer",
        SERVED,
        "a 401 says no more than Bearer, and there are no metadata at all",
        several(_documents(_alone), guarding(challenge=lambda handler, proceed, *said: {"WWW-Authenticate": "Bearer"})),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-metadata-a-page",
        SERVED,
        "where the metadata of the resource should be is a web page",
        guarding(answer=_page, send_header=_as_page),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-metadata-guarded",
        SERVED,
        "the metadata of the resource need a token",
        guarding(serve_web=_metadata_need_a_token, check_address=_guard_first),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-metadata-without-resource",
        SERVED,
        "the metadata of the resource do not name it",
        _resource(resource=None),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-metadata-beside",
        FOUND,
        "the metadata of the resource are below the path of the server",
        _documents(_beside),
        {"since": CHALLENGED},
    ),
    (
        "challenge-leads-nowhere",
        FOUND,
        "a 401 names a URL at which there are no metadata",
        guarding(metadata_url=lambda handler, proceed: f"{handler.origin()}/metadata"),
        {"since": CHALLENGED},
    ),
    (
        "authorization-servers-missing",
        SERVERS,
        "the metadata of the resource have no authorization_servers",
        _resource(authorization_servers=None),
        {"since": UNDERSTOOD},
    ),
    (
        "authorization-servers-empty",
        SERVERS,
        "the metadata of the resource name no authorization server",
        _resource(authorization_servers=[]),
        {"since": UNDERSTOOD},
    ),
    (
        "authorization-servers-a-text",
        SERVERS,
        "authorization_servers of the resource is no array",
        _resource(authorization_servers=lambda handler: handler.origin()),
        {"since": UNDERSTOOD},
    ),
    (
        "authorization-servers-hosts",
        SERVERS,
        "authorization_servers of the resource are names of hosts",
        _resource(authorization_servers=["localhost"]),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-ends-with-slash",
        "authorization/canonical-uri-form",
        "the URI of the resource ends with a slash",
        _resource(resource=lambda handler: handler.resource() + "/"),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-is-another",
        SERVED,
        "the metadata are of a resource at another path",
        _resource(resource=lambda handler: handler.origin() + "/another"),
        {"since": UNDERSTOOD},
    ),
    (
        "scopes-supported-a-text",
        SERVED,
        "scopes_supported of the resource is a text",
        _resource(scopes_supported="mcp:read mcp:write"),
        {"since": UNDERSTOOD},
    ),
    (
        "scopes-supported-of-objects",
        SERVED,
        "scopes_supported of the resource are objects",
        _resource(scopes_supported=lambda handler: [{"name": "mcp:read"}, {"name": "mcp:write"}]),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-name-an-object",
        SERVED,
        "resource_name of the resource is an object of languages",
        _resource(resource_name={"en": "reference"}),
        {"since": UNDERSTOOD},
    ),
    (
        "resource-has-fragment",
        "authorization/canonical-uri-form",
        "the URI of the resource has a fragment",
        _resource(resource=lambda handler: handler.resource() + "#mcp"),
        {"since": UNDERSTOOD},
    ),
    (
        "own-metadata-missing",
        OWN_SERVED,
        "the server has no metadata of its authorization server",
        _documents(_alone),
        ONLY_OLD,
    ),
    (
        "own-metadata-incomplete",
        OWN_SERVED,
        "the metadata of the authorization server lack the issuer",
        _server(issuer=None),
        ONLY_OLD,
    ),
    (
        "own-metadata-methods-a-text",
        OWN_SERVED,
        "code_challenge_methods_supported of the authorization server is a text",
        _server(code_challenge_methods_supported="S256"),
        ONLY_OLD,
    ),
    (
        "own-metadata-below-the-path",
        "authorization/own-as-metadata-at-origin",
        "the metadata of the authorization server are not at the origin",
        _documents(_below),
        ONLY_OLD,
    ),
    (
        "own-metadata-beside",
        "authorization/own-as-metadata-at-origin",
        "the metadata of the authorization server are below the path of the server",
        _documents(_below_appended),
        ONLY_OLD,
    ),
    (
        "own-endpoint-for-tokens-missing",
        f"authorization/own-as-default-endpoints {OWN_SERVED}",
        "there are no metadata, and there is no /token",
        several(_documents(_alone), _lacking("/token")),
        ONLY_OLD,
    ),
    (
        "own-endpoint-for-users-missing",
        f"authorization/own-as-default-endpoints {OWN_SERVED}",
        "there are no metadata, and there is no /authorize",
        several(_documents(_alone), _lacking("/authorize")),
        ONLY_OLD,
    ),
    (
        "own-endpoints-missing",
        f"authorization/own-as-default-endpoints {OWN_SERVED}",
        "there are neither metadata nor endpoints",
        several(_documents(_alone), _lacking("/authorize", "/token", "/register")),
        ONLY_OLD,
    ),
    (
        "own-registration-missing",
        "authorization/own-as-dynamic-registration",
        "clients cannot register",
        _server(registration_endpoint=None),
        ONLY_OLD,
    ),
    (
        "own-endpoint-by-http",
        "authorization/own-as-https",
        "tokens are handed out over plain HTTP, on another machine",
        _server(token_endpoint=f"{ELSEWHERE}/token"),
        ONLY_OLD,
    ),
    (
        "own-login-by-http",
        "authorization/own-as-https",
        "users log in over plain HTTP, on another machine",
        _server(authorization_endpoint=f"{ELSEWHERE}/authorize"),
        ONLY_OLD,
    ),
    (
        "any-redirect-uri-registered",
        REDIRECTS,
        "clients may be registered with any redirect URI",
        guarding(may_be_sent_to=lambda handler, proceed, uri: True),
        ONLY_OLD,
    ),
    (
        "code-sent-anywhere",
        REDIRECTS,
        "a code is sent to a redirect URI that was not registered",
        guarding(approve=_approve_anywhere),
        ONLY_OLD,
    ),
    (
        "pkce-not-needed",
        "authorization/own-as-requires-pkce",
        "a code is given without a code_challenge",
        guarding(accepts=lambda handler, proceed, asked: asked.get("response_type") == "code"),
        ONLY_OLD,
    ),
)

FAULTS = over_http(_ROWS)
