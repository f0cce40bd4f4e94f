"""Probe of the authorization server that an MCP server is itself, as the revision 2025-03-26 wants it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import parse_qs, urlencode, urlsplit

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.authorization import UNDECIDED, Access, known
from conformance.checks.probes.metadata import endpoints, of, server_metadata, wrong_type
from conformance.checks.probes.visits import told
from conformance.model import Json, elements, members
from conformance.session.messages import Unavailable
from conformance.target.urls import is_loopback
from conformance.transports.web import Page, Web

ABSENT = (404, 410)
STRANGE = "http://mcp-conform.invalid/callback"
"""A redirect URI that is neither HTTPS nor on this machine."""
CALLBACK, OTHER = "http://localhost:9/callback", "http://localhost:9/other"
"""Redirect URIs that are allowed; only the first one is registered."""
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"
"""The example of RFC 7636."""


def own_server(bench: Bench) -> Iterator[Observation]:
    """The metadata of the server's own authorization server, and where there is none, the endpoints by default."""
    seen, web = known(bench), bench.web()
    places = server_metadata(web, bench.session.revision.date)
    place = of(places)
    document = place.document if place is not None else {}
    insecure = [url for url in endpoints(document) if urlsplit(url).scheme != "https"]
    strange = [url for url in insecure if not is_loopback(urlsplit(url).hostname or "")]
    facts: dict[str, Json] = {
        "about": "metadata",
        "another": _names_another(seen, web),
        "resource-metadata": of(list(seen.places)) is not None,
        "place": place.name if place is not None else "",
        "undecided": place is None and any(each.page.status in UNDECIDED for each in places),
        "complete": all(isinstance(document.get(name), str) for name in ("issuer", "token_endpoint")),
        "wrong-type": wrong_type(document),
        "registers": isinstance(document.get("registration_endpoint"), str),
        "insecure": strange[0] if strange else "",
        "loopback": bool(insecure),
    }
    shown = "; ".join(each.told for each in places)
    yield Observation(facts, None, seen.visit.proof, f"{shown}: {json.dumps(document)[:300]}" if document else shown)
    if place is not None:
        return
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    pages = {
        "authorize": web.ask("GET", web.at("/authorize")),
        "token": web.ask("POST", web.at("/token"), form),
        "register": web.ask("GET", web.at("/register")),
    }
    there = {name: page.status not in ABSENT for name, page in pages.items()}
    facts = {
        **facts,
        "about": "endpoints",
        **there,
        "any": any(there.values()),
        "undecided": any(page.status in UNDECIDED for page in pages.values()),
    }
    actual = "; ".join(f"{page.method} {page.url}: {told(page)}" for page in pages.values())
    yield Observation(facts, None, seen.visit.proof, actual)


def _names_another(seen: Access, web: Web) -> bool:
    """Whether the metadata of the resource name authorization servers, of which the server itself is none."""
    place = of(list(seen.places))
    servers = elements(place.document.get("authorization_servers")) if place is not None else []
    return bool(servers) and not any(web.is_ours(str(url)) for url in servers)


def registration(bench: Bench) -> Iterator[Observation]:
    """Clients registered with the authorization server that the server is itself, and what it lets these do."""
    seen, web = known(bench), bench.web()
    if seen.because:
        return
    if _names_another(seen, web):
        yield Observation({"about": "another server"})
        return
    if not bench.target.registers:
        raise Unavailable("clients are registered only if that is allowed: --register-client")
    place = of(server_metadata(web, bench.session.revision.date))
    document = place.document if place is not None else {}
    where = str(document.get("registration_endpoint", web.at("/register")))
    page, name = _registered(web, where, STRANGE)
    if page.status in UNDECIDED or page.status in ABSENT:
        raise Unavailable(f"clients cannot register: {told(page)}")
    yield _asked("registration", page, bool(name))
    page, name = _registered(web, where, CALLBACK)
    if not name:
        raise Unavailable(f"a client with a redirect URI on this machine cannot register: {told(page)}")
    login = str(document.get("authorization_endpoint", web.at("/authorize")))
    good = {"response_type": "code", "client_id": name, "redirect_uri": CALLBACK, "state": "mcp-conform"}
    challenge = {"code_challenge": CHALLENGE, "code_challenge_method": "S256"}
    for about, asked in (("redirection", {**good, **challenge, "redirect_uri": OTHER}), ("no challenge", good)):
        page = web.ask("GET", f"{login}{'&' if '?' in login else '?'}{urlencode(asked)}")
        back = page.headers.get("location", "") if 300 <= page.status < 400 else ""
        if about == "redirection":
            accepted, refused = back.startswith(OTHER), 400 <= page.status < 500
        else:
            answer = parse_qs(urlsplit(back).query) if back.startswith(CALLBACK) else {}
            accepted, refused = "code" in answer, "error" in answer or 400 <= page.status < 500
        yield _asked(about, page, accepted, refused)


def _registered(web: Web, where: str, callback: str) -> tuple[Page, str]:
    """What came of the registration of a client with that redirect URI, and the name that it got."""
    client = {
        "client_name": "mcp-conform",
        "redirect_uris": [callback],
        "grant_types": ["authorization_code"],
        "response_types": ["code"],
        "token_endpoint_auth_method": "none",
    }
    page = web.ask("POST", where, {"Content-Type": "application/json"}, json.dumps(client).encode())
    name = members(page.json).get("client_id")
    return page, name if page.status in (200, 201) and isinstance(name, str) else ""


def _asked(about: str, page: Page, accepted: bool, refused: bool = True) -> Observation:
    location = page.headers.get("location", "")
    actual = f"{page.method} {page.url}: {told(page)}{f', Location: {location}' if location else ''}"
    facts: dict[str, Json] = {"about": about, "accepted": accepted, "refused": refused and not accepted}
    return Observation(facts, actual=actual)
