"""Gets an access token as the specification says: metadata of the resource, of its authorization server, a grant.

Beside the origin of the target only that of the authorization server is asked, which the metadata of the target name,
and that of its token endpoint.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote, urlencode, urlsplit

from conformance.checks.invariants.base import is_number
from conformance.checks.probes.metadata import OPENID, SERVER, is_url, of, resource_metadata, scopes
from conformance.model import OTHER_TOKENS, Client, Json, Limits, elements, members
from conformance.session.challenges import of_tokens
from conformance.target.urls import is_loopback
from conformance.transports import StartError
from conformance.transports.redirects import MAX_SHOWN
from conformance.transports.web import Page, Web

FOREIGN = "https://mcp-conform.invalid/mcp"
"""A resource that is none of the target's, for a token that it must refuse."""
AUDIENCE = "other-audience"
assert AUDIENCE in OTHER_TOKENS
ASKING = b'{"jsonrpc":"2.0","id":"mcp-conform","method":"ping"}'
ACCEPT = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True)
class Grant:
    """Tokens for one server: its own, perhaps one for another audience, and a sentence on where they come from.

    `seconds` is how long its own one is good for, as far as that was said.
    """

    token: str
    foreign: str
    note: str
    seconds: float = math.inf


def granted(url: str, headers: Mapping[str, str], client: Client, limits: Limits) -> Grant:
    """A token for the server at `url` by the grant of client credentials. Raises StartError."""
    web = Web(url, headers, limits)
    try:
        resource, wanted, issuer = _resource(web)
    finally:
        web.close()
    document = _server(issuer, limits)
    endpoint = document.get("token_endpoint")
    if not is_url(endpoint):
        raise StartError(f"--oauth: the metadata of {issuer} name no token_endpoint")
    endpoint = str(endpoint)
    scope = client.scope or " ".join(wanted)
    asked = {"grant_type": "client_credentials", "resource": resource, **({"scope": scope} if scope else {})}
    token, why, seconds = _grant(endpoint, document, client, asked, limits)
    if not token:
        raise StartError(f"--oauth: {endpoint} gives no token: {why}")
    other, _, _ = _grant(endpoint, document, client, {**asked, "resource": FOREIGN}, limits)
    note = f"the token is from {issuer}, for {resource}" + (f", with scope {scope}" if scope else "")
    return Grant(token, other if _is_foreign(other, resource) else "", note, seconds)


def _resource(web: Web) -> tuple[str, list[str], str]:
    """The URI of the resource, the scopes to ask for, and the authorization server."""
    page = web.ask("POST", headers=ACCEPT, body=ASKING)
    challenge = of_tokens(page.headers.get("www-authenticate", ""))
    given = challenge.parameters if challenge is not None else {}
    places = resource_metadata(web, given.get("resource_metadata", ""))
    place = of([each for each in places if each.name != "beside"])
    if place is None:
        raise StartError("--oauth: the server has no metadata of a protected resource: " + places[-1].told)
    servers = [each for each in elements(place.document.get("authorization_servers")) if is_url(each)]
    if not servers:
        raise StartError("--oauth: the metadata of the server name no authorization server")
    resource = place.document.get("resource")
    if is_url(resource) and not web.is_ours(str(resource)):
        # RFC 9728, 3.3: else a server could have us fetch it a token for somebody else's.
        raise StartError(f"--oauth: the metadata of the server are those of another one, {str(resource)[:MAX_SHOWN]!a}")
    wanted = scopes(given.get("scope")) or scopes(place.document.get("scopes_supported"))
    return (resource if is_url(resource) else web.url), wanted, str(servers[0])


def places_of(issuer: str) -> list[str]:
    """Where the metadata of an authorization server may be, in the order in which a client has to try."""
    parts = urlsplit(issuer)
    origin, path = f"{parts.scheme}://{parts.netloc}", parts.path.rstrip("/")
    if not path:
        return [origin + SERVER, origin + OPENID]
    return [origin + SERVER + path, origin + OPENID + path, origin + path + OPENID]


def _server(issuer: str, limits: Limits) -> dict[str, Json]:
    """The metadata of an authorization server."""
    _check(issuer)
    web = Web(issuer, {}, limits)
    said: list[str] = []
    try:
        for place in places_of(issuer):
            page = web.ask("GET", place, {"Accept": "application/json"})
            document = members(page.json) if page.status == 200 else {}
            if document:
                if document.get("issuer") != issuer and str(document.get("issuer")).rstrip("/") != issuer.rstrip("/"):
                    raise StartError(f"--oauth: the metadata at {place} are those of another issuer")
                return document
            said.append(f"{place}: HTTP {page.status}" if page.status else f"{place}: {page.lost}")
    finally:
        web.close()
    raise StartError(f"--oauth: the authorization server {issuer} has no metadata: {'; '.join(said)}")


def _check(url: str) -> None:
    """Raise StartError where a secret would be sent in the clear."""
    parts = urlsplit(url)
    if parts.scheme != "https" and not is_loopback(parts.hostname or ""):
        raise StartError(f"--oauth: {url[:MAX_SHOWN]} is not HTTPS, so that nothing secret is sent there")


def _grant(
    endpoint: str, document: Mapping[str, Json], client: Client, asked: Mapping[str, str], limits: Limits
) -> tuple[str, str, float]:
    """A token, or why there is none, and how many seconds it is good for."""
    _check(endpoint)
    methods = elements(document.get("token_endpoint_auth_methods_supported")) or ["client_secret_basic"]
    headers = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}
    form = dict(asked)
    if "client_secret_basic" in methods:
        pair = f"{quote(client.id, safe='')}:{quote(client.secret, safe='')}"
        headers["Authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    else:
        form |= {"client_id": client.id, "client_secret": client.secret}
    web = Web(endpoint, {}, limits)
    try:
        page = web.ask("POST", headers=headers, body=urlencode(form).encode())
    finally:
        web.close()
    given = members(page.json)
    token, seconds = given.get("access_token"), given.get("expires_in")
    if page.status == 200 and isinstance(token, str) and token:
        return token, "", max(0.0, float(str(seconds))) if is_number(seconds) else math.inf
    return "", _why(page), 0.0


def _why(page: Page) -> str:
    error = members(page.json).get("error")
    return (
        f"HTTP {page.status}{f' ({error[:MAX_SHOWN]})' if isinstance(error, str) else ''}" if page.status else page.lost
    )


def _is_foreign(token: str, resource: str) -> bool:
    """Whether a JSON Web Token says of itself that it is for the other resource alone."""
    parts = token.split(".")
    if len(parts) != 3:
        return False
    try:
        claims = json.loads(base64.urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except ValueError:
        return False
    audience = members(claims).get("aud")
    return (audience if isinstance(audience, list) else [audience]) == [FOREIGN] and resource != FOREIGN
