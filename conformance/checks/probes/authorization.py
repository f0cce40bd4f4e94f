"""Probes of the area authorization: what a server says without a token, and with one that it must not accept."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.metadata import (
    Place,
    is_url,
    leads_elsewhere,
    of,
    resource_metadata,
    scopes,
    server_metadata,
    wrong_type,
)
from conformance.checks.probes.transport_http import one_of_each
from conformance.checks.probes.visits import Visit, Visitor, bearer, purpose
from conformance.model import AUTHORIZATION, OTHER_TOKENS, Json, elements, members
from conformance.session.challenges import challenges
from conformance.session.eras.handshake import Handshake
from conformance.session.messages import Unavailable
from conformance.session.session import Session
from conformance.transports import SESSION

UNKNOWN_CANCELLED = ("notifications/cancelled", {"requestId": "mcp-conform-unknown"})
"""A notification that does nothing."""
INSUFFICIENT = "insufficient_scope"
_OF_SCOPE = re.compile(r"\bscopes?\b|permission|forbidden|not authori[sz]ed|access denied", re.IGNORECASE)
OPENING = ("initialize", "server/discover")
UNDECIDED = (0, 429, 502, 503, 504)
"""HTTP statuses that say nothing of the request; 0 is that of no answer."""
AWAITED = "--token-env NAME gives the suite a token"


@dataclass(frozen=True, slots=True)
class Access:
    """What a request without a token brings; `because` says why no OAuth is asked for, "" if it is."""

    because: str
    visit: Visit
    places: tuple[Place, ...] = ()
    told: bool = False
    """Whether there are metadata, of the resource or of an authorization server."""

    @property
    def named(self) -> str:
        """The URL of the metadata in the challenge, "" if there is none."""
        return self.visit.asks.get("resource_metadata", "")

    @property
    def plain(self) -> bool:
        """Whether nothing but the word Bearer speaks of OAuth: RFC 6750 has it for fixed tokens, too."""
        return not self.told and not {"resource_metadata", "scope"} & self.visit.asks.keys()


_KNOWN: WeakKeyDictionary[Session, Access] = WeakKeyDictionary()


def known(bench: Bench) -> Access:
    """What a request without a token brings, asked once a session. Raises Unavailable."""
    if bench.session not in _KNOWN:
        _KNOWN[bench.session] = _asked(bench)
    return _KNOWN[bench.session]


def _asked(bench: Bench) -> Access:
    web = bench.web()
    visitor = Visitor(bench, web)
    visit = visitor.walk(None)
    if visit.served:
        return Access("the server asks for no bearer token", visit)
    if visit.status in UNDECIDED:
        raise Unavailable(f"a request without a token is not decided: {visit.told}")
    challenge = visit.challenge
    named = visit.asks.get("resource_metadata", "")
    places = tuple(resource_metadata(web, named))
    told = of(list(places)) is not None or of(server_metadata(web, bench.session.revision.date)) is not None
    if visit.status == 401:
        if challenge is not None or told:
            return Access("", visit, places, told)
        asks = ", ".join(each.scheme for each in challenges(visit.page.headers.get("www-authenticate", "")))
        return Access(f"the server asks for another scheme of authorization: {asks or 'it names none'}", visit, places)
    if told and (own := own_header(bench)) is not None and visitor.walk(own).served:
        return Access("", visit, places, told)
    why = f"a request without a token is answered by HTTP status {visit.status}, and nothing says that this is OAuth"
    return Access(why, visit, places)


def guards_all(seen: Access) -> bool:
    """Whether a session cannot even be opened without a token."""
    return seen.visit.method in OPENING


def own_header(bench: Bench) -> str | None:
    """The value of the header Authorization that the user gave."""
    return next((value for name, value in bench.target.headers.items() if name.lower() == AUTHORIZATION), None)


def needed(bench: Bench) -> str:
    """The same. Raises Unavailable without one."""
    own = own_header(bench)
    if own is None:
        raise Unavailable(f"no token was given: {AWAITED}")
    return own


def other(bench: Bench, kind: str) -> str:
    """The header for another token of the user. Raises Unavailable without one."""
    if kind not in bench.target.tokens:
        raise Unavailable(f"this needs {OTHER_TOKENS[kind]}: --other-token {kind}=NAME")
    return bearer(bench.target.tokens[kind])


def access(bench: Bench) -> Iterator[Observation]:
    """A request without a token; it tells OAuth from other schemes, and from no authorization at all."""
    seen = known(bench)
    facts: dict[str, Json] = {"because": seen.because, "open": seen.visit.served}
    yield Observation(facts, None, seen.visit.proof, seen.visit.told)


def challenge(bench: Bench) -> Iterator[Observation]:
    """The same request and what its refusal says, and once more whether it says the same."""
    seen = known(bench)
    visit, found = seen.visit, seen.visit.challenge
    again = Visitor(bench, bench.web()).walk(None, calls=visit.method == "tools/call")
    scope = scopes(found.parameters.get("scope") if found is not None else None)
    second = scopes(again.asks.get("scope"))
    place = of(list(seen.places))
    supported = scopes(place.document.get("scopes_supported")) if place is not None else []
    facts: dict[str, Json] = {
        "method": visit.method,
        "status": visit.status,
        "bearer": found is not None,
        "names-metadata": is_url(seen.named),
        "plain": seen.plain,
        "scope": scope,
        "scope-again": second if again.status == visit.status and again.method == visit.method else scope,
        "scopes-supported": supported,
        "offline": "offline_access" in (*scope, *second),
        "offline-supported": "offline_access" in supported,
    }
    yield Observation(facts, None, visit.proof, visit.told)


def metadata(bench: Bench) -> Iterator[Observation]:
    """The metadata of the protected resource, looked for where a client does, and beside the endpoint."""
    seen = known(bench)
    place = of(list(seen.places))
    document = place.document if place is not None else {}
    servers = document.get("authorization_servers")
    resource = document.get("resource")
    first = seen.places[0] if seen.places else None
    web = bench.web()
    facts: dict[str, Json] = {
        "place": place.name if place is not None else "",
        "plain": seen.plain,
        "elsewhere": bool(seen.named) and not web.is_ours(seen.named),
        "dead": bool(seen.named) and web.is_ours(seen.named) and first is not place,
        "named": seen.named,
        "undecided": place is None and any(each.page.status in UNDECIDED for each in seen.places),
        "resource": resource if isinstance(resource, str) else "",
        "wrong-type": wrong_type(document),
        "servers": isinstance(servers, list) and bool(servers) and all(map(is_url, elements(servers))),
        "another": isinstance(resource, str) and leads_elsewhere(resource, web.url),
        "fragment": isinstance(resource, str) and "#" in resource,
        "slash": isinstance(resource, str) and resource.endswith("/") and not web.url.endswith("/"),
    }
    told = place.told if place is not None else "; ".join(each.told for each in seen.places)
    shown = f"{told}: {json.dumps(document)[:300]}" if place is not None else told
    yield Observation(facts, None, seen.visit.proof, shown)


def requests(bench: Bench) -> Iterator[Observation]:
    """A session that was opened with a token, and requests in it that have none; on the same connection each."""
    own, seen = needed(bench), known(bench)
    visitor = Visitor(bench, bench.web())
    visitor.open(own)
    named = SESSION in visitor.headers
    handshake = isinstance(bench.session.era, Handshake)
    further = dict(visitor.further())
    method = seen.visit.method if seen.visit.method in further else "ping" if handshake else "server/discover"
    params = further.get(method)
    if not visitor.ask(method, params, own).served:
        raise Unavailable(f"{method} is not served with the token that was given")
    way = "with the id of a session" if named else "on a connection that had one with a token"
    visit = visitor.ask(method, params)
    yield _tokenless(way, named, visit, visit.served, seen)
    served = visit.served
    for later, asked in further.items() if guards_all(seen) else ():
        if visitor.ask(later, asked, own).served:
            visit = visitor.ask(later, asked)
            served |= visit.served
            yield _tokenless(f"{purpose(later)}, {way}", named, visit, visit.served, seen)
    if guards_all(seen) and not served:
        for visit, accepted in _others(bench, visitor, {method, *further}):
            yield _tokenless(f"for {visit.method}, {way}", named, visit, accepted, seen)
    if handshake and guards_all(seen):
        visit = visitor.bare("GET")
        yield _tokenless("for the stream of a session, by GET", named, visit, visit.listens, seen)
    if handshake and named and guards_all(seen):
        visit = visitor.bare("DELETE")
        yield _tokenless("that ends a session, by DELETE", named, visit, visit.accepted, seen)
    visitor.leave(own)
    if guards_all(seen) and not served:
        yield from _at_other_paths(bench, seen)


def _at_other_paths(bench: Bench, seen: Access) -> Iterator[Observation]:
    """The opening without a token at paths that may lead to the same place, up to the first that serves it."""
    web = bench.web()
    for how, path in (("with a slash at the end", f"{web.path}/"), ("with two slashes", f"/{web.path}")):
        visitor = Visitor(bench, web, url=web.at(path))
        visit = visitor.open(None)
        if visit.served:
            visitor.leave()
            yield _tokenless(f"at the same path {how}", False, visit, True, seen)
            return


def _others(bench: Bench, visitor: Visitor, known_ones: set[str]) -> Iterator[tuple[Visit, bool]]:
    """Other messages without a token, up to the first that is accepted: a notification, and the other methods."""
    visit = visitor.tell(*UNKNOWN_CANCELLED)
    yield visit, visit.accepted
    if visit.accepted:
        return
    if not isinstance(bench.session.era, Handshake):
        visit = visitor.listen()
        yield visit, visit.listens
        if visit.listens:
            return
    with suppress(Unavailable):
        for method, params in one_of_each(bench).items():
            if method in known_ones or not visitor.ask(method, params, needed(bench)).served:
                continue
            visit = visitor.ask(method, params)
            yield visit, visit.served
            if visit.served:
                return


def _tokenless(way: str, session: bool, visit: Visit, served: bool, seen: Access) -> Observation:
    """A request without a token, after those with one; `usual` are what the first one in the run brought."""
    given = visit.asks
    usual = seen.visit.asks
    facts: dict[str, Json] = {"way": way, "session": session, "status": visit.status, "served": served}
    facts["usual-status"] = seen.visit.status
    facts["lacks-challenge"] = seen.visit.challenge is not None and "www-authenticate" not in visit.page.headers
    facts["lacks-metadata"] = is_url(seen.named) and not is_url(given.get("resource_metadata", ""))
    facts["lacks-scope"] = bool(usual.get("scope")) and visit.challenge is not None and not given.get("scope")
    return Observation(facts, None, visit.proof, visit.told)


def scope(bench: Bench) -> Iterator[Observation]:
    """Requests with a token that does not suffice for all, up to the first that is refused for that, and that again.

    It is refused for that by 401 or 403, or by what says so where the token of the user is served.
    """
    token, seen = other(bench, "fewer-scopes"), known(bench)
    visitor, owner = Visitor(bench, bench.web()), Visitor(bench, bench.web())
    visit = visitor.open(token)
    accepted = visit.served and seen.visit.method == visit.method
    own = own_header(bench) if visit.served else None
    if own is not None:
        owner.open(own)
    refused, again = not visit.served and visit.status in (401, 403), False
    for method, params in visitor.every_request() if visit.served else ():
        visit = visitor.ask(method, params, token)
        accepted |= visit.served and seen.visit.method == method
        if not visit.served and visit.status not in UNDECIDED:
            refused = visit.status in (401, 403)
            refused |= _for_want_of_scope(visit) and own is not None and owner.ask(method, params, own).served
        if refused:
            again = visitor.ask(method, params, token).served
            break
    visitor.leave(token)
    owner.leave(own)
    given = visit.asks
    facts: dict[str, Json] = {
        "method": visit.method,
        "refused": refused,
        "served-again": again,
        "accepted": accepted,
        "status": visit.status,
        "error": given.get("error", ""),
        "scope": scopes(given.get("scope")),
        "names-metadata": is_url(given.get("resource_metadata")),
    }
    yield Observation(facts, None, visit.proof, visit.told)


def _for_want_of_scope(visit: Visit) -> bool:
    """Whether a refusal says so; for another user a thing may well be one that does not exist."""
    error = members(members(visit.response).get("error")).get("message")
    return visit.asks.get("error") == INSUFFICIENT or _OF_SCOPE.search(str(error)) is not None


def step_up(bench: Bench) -> Iterator[Observation]:
    """An operation that needs more scope, and the same with a token that has what its refusal asked for."""
    seen = known(bench)
    token = bearer(bench.target.tokens["fewer-scopes"]) if "fewer-scopes" in bench.target.tokens else needed(bench)
    first = Visitor(bench, bench.web())
    visit = first.open(token)
    params: Json = None
    for method, params in first.further():
        if not visit.served:
            break
        visit = first.ask(method, params, token)
    first.leave(token)
    asked = visit.asks
    if asked.get("error") != INSUFFICIENT or not asked.get("scope") or visit.method in OPENING:
        raise Unavailable("no request was refused for want of a scope that the refusal names")
    before = seen.visit.asks.get("scope", "")
    granted = {*scopes(before), *scopes(asked["scope"])}
    wider = bearer(bench.grant(" ".join(sorted(granted))))
    again = Visitor(bench, bench.web())
    if not again.open(wider).served:
        raise Unavailable("the token with more scope is not accepted")
    second = again.ask(visit.method, params, wider)
    again.leave(wider)
    more = second.asks.get("scope")
    facts: dict[str, Json] = {"served": second.served, "more": sorted({*scopes(more)} - granted)}
    yield Observation(facts, None, (*visit.proof, *second.proof), f"{visit.told}; then {second.told}")


def users(bench: Bench) -> Iterator[Observation]:
    """A session of one user, and a request in it with the token of another one."""
    own, token = needed(bench), other(bench, "other-user")
    if not guards_all(known(bench)):
        raise Unavailable("sessions are open to those without a token")
    stranger = Visitor(bench, bench.web())
    if not stranger.open(token).served:
        raise Unavailable("the token of the other user is not accepted")
    stranger.leave(token)
    visitor = Visitor(bench, bench.web())
    visitor.open(own)
    if SESSION in visitor.headers:
        visit = visitor.ask("ping", None, token)
        yield Observation({"served": visit.served, "status": visit.status}, None, visit.proof, visit.told)
    visitor.leave(own)
