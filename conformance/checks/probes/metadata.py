"""Where a server tells of its authorization: metadata of the protected resource, and of authorization servers."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from conformance.model import Json, elements, members
from conformance.target.urls import PORTS, is_loopback
from conformance.transports.web import Page, Web

RESOURCE = "/.well-known/oauth-protected-resource"
SERVER = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"

LISTS = (
    "scopes_supported",
    "bearer_methods_supported",
    "resource_signing_alg_values_supported",
    "dpop_signing_alg_values_supported",
    "response_types_supported",
    "response_modes_supported",
    "grant_types_supported",
    "token_endpoint_auth_methods_supported",
    "code_challenge_methods_supported",
)
TEXTS = ("resource_name", "resource_documentation", "resource_policy_uri", "resource_tos_uri", "jwks_uri")
FLAGS = ("tls_client_certificate_bound_access_tokens", "dpop_bound_access_tokens_required")
"""Members of metadata by type, as RFC 9728, section 2, and RFC 8414, section 2, have them."""


@dataclass(frozen=True, slots=True)
class Place:
    """A place where a document was asked for: how it is called, and what came."""

    name: str
    page: Page

    @property
    def document(self) -> Json:
        """The document, None if there is none: it is a JSON object."""
        found = self.page.json if self.page.status == 200 else None
        return found if isinstance(found, dict) else None

    @property
    def told(self) -> str:
        """What came, for people."""
        page = self.page
        came = f"HTTP {page.status} ({page.type or 'no content'})" if page.status else page.lost
        return f"GET {page.url}: {came}"


def resource_metadata(web: Web, named: str) -> list[Place]:
    """The places of the metadata of the protected resource, up to the first that has it.

    `named` is the URL that the server names, if it does; it is not asked for if it is of another origin. The last place
    is none of the specification's.
    """
    places = [("named", named)] if named else []
    well_known = [("path", web.at(RESOURCE + web.path))] if web.path else []
    places += [*well_known, ("root", web.at(RESOURCE)), ("beside", web.at(web.path + RESOURCE))]
    return _first(web, places if web.path else places[:-1])


def server_metadata(web: Web, version: str) -> list[Place]:
    """The places of the metadata of the server's own authorization server: at the origin, then below the path.

    `version` is the revision in which a client asks.
    """
    path = web.path
    places = [("origin", web.at(SERVER))]
    if path:
        places += [("inserted", web.at(SERVER + path)), ("appended", web.at(path + SERVER))]
    return _first(web, places, {"MCP-Protocol-Version": version})


def _first(web: Web, places: list[tuple[str, str]], headers: dict[str, str] | None = None) -> list[Place]:
    found: list[Place] = []
    for name, url in places:
        found.append(Place(name, web.ask("GET", url, {"Accept": "application/json", **(headers or {})})))
        if found[-1].document is not None:
            break
    return found


def of(places: list[Place]) -> Place | None:
    """The place that has the document."""
    return next((place for place in places if place.document is not None), None)


def scopes(text: Json) -> list[str]:
    """The scopes in a parameter or a list, sorted."""
    return sorted(set(text.split())) if isinstance(text, str) else sorted({str(each) for each in elements(text)})


def wrong_type(document: Json) -> str:
    """The first member whose value has not the type that RFC 9728 or RFC 8414 gives it, "" if there is none."""
    return next((name for name, value in members(document).items() if not _fits(name, value)), "")


def _fits(name: str, value: Json) -> bool:
    if name in LISTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if name in TEXTS:
        return isinstance(value, str)
    return isinstance(value, bool) if name in FLAGS else True


def is_url(value: Json) -> bool:
    """Whether it is an http or https URL."""
    return isinstance(value, str) and value.startswith(("http://", "https://"))


def leads_elsewhere(resource: str, url: str) -> bool:
    """Whether the URI of a resource is none of the server at `url`: RFC 9728, section 3.3, has clients compare them.

    A server on this machine may be given the name under which it is to be reached one day.
    """
    try:
        told, asked = urlsplit(resource), urlsplit(url)
        ports = [each.port or PORTS.get(each.scheme) for each in (told, asked)]
    except ValueError:
        return True
    hosts = [each.hostname or "" for each in (told, asked)]
    if is_loopback(hosts[1]) and not is_loopback(hosts[0]):
        return False
    here = hosts[0] == hosts[1] or is_loopback(hosts[0])
    within = f"{asked.path}/".startswith(f"{told.path.rstrip('/')}/")
    return not (here and told.scheme == asked.scheme and ports[0] == ports[1] and within)


def endpoints(document: Json) -> list[str]:
    """The URLs of the endpoints that metadata of an authorization server name."""
    return [value for name, value in members(document).items() if name.endswith("_endpoint") and is_url(value)]
