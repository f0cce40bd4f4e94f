"""The probes of what protects a server from web pages: whom it answers, and where it listens."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from urllib.parse import urlsplit

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.transport_http import told
from conformance.model import Frame, Json, members
from conformance.session.eras.handshake import Handshake
from conformance.session.exchanges import STREAM, exchange, head_alone, head_of, is_stream
from conformance.session.messages import Call, Unavailable
from conformance.session.session import Session
from conformance.survey.picks import PICKS
from conformance.target.urls import is_loopback
from conformance.transports import SESSION

FOREIGN_HOST = "mcp-conform.invalid"
FOREIGN = f"http://{FOREIGN_HOST}"
TRICKS = {
    "as-subdomain": "http://localhost.mcp-conform.invalid",
    "as-address": "http://127.0.0.1.mcp-conform.invalid",
    "within": "http://mcp-conform-localhost.invalid",
    "at-the-end": "http://mcp-conform-localhost",
    "in-secret": "https://mcp-conform.invalid",
    "null": "null",
}
"""Origins that are as foreign, and that a careless comparison takes for those of this machine."""
HOST_REFUSED = (400, 403, 421)
WILDCARDS = ("0.0.0.0", "::", "*")


def origins(bench: Bench) -> Iterator[Observation]:
    """Requests with the Origin of a page elsewhere, and with one that only looks like one of this machine.

    It sends the same request in ways of which each is judged by what came of the others.
    """
    session = bench.session
    local = is_loopback(session.transport.host)
    facts: dict[str, Json] = {"local": local, "origin": FOREIGN, "way": "POST"}
    plain = _asked(session, facts)
    yield plain
    if not (plain.values["refused"] and local):
        return
    for name, origin in TRICKS.items():
        yield _asked(session, {**facts, "origin": origin, "way": name})
    # As a page comes whose name was made to lead to this machine; ports are what browsers tell both with.
    port = urlsplit(session.transport.url).port
    origin = f"{FOREIGN}:{port}" if port else FOREIGN
    call = _ask(session, {"Origin": origin, "Host": origin.removeprefix("http://")})
    yield _observed({**facts, "origin": origin, "way": "rebound", "refused": _refused(call)}, call)
    yield from _methods(bench, facts)
    if session.revision.era == "handshake":
        yield from _stream(session, facts)
        yield from _opening(bench, facts)
        yield from _ending(bench, facts)


def origins_apart(bench: Bench) -> Iterator[Observation]:
    """The same over HTTP+SSE, where the stream comes first: who cannot open it does not know where to post.

    It sends the same requests in ways of which each is judged by what came of the others.
    """
    session = bench.session
    local = is_loopback(session.transport.host)
    facts: dict[str, Json] = {"local": local, "origin": FOREIGN}
    streams = list(_stream(session, facts))
    stream_refused = bool(streams) and streams[0].values["refused"]
    yield from streams
    call = _ask(session, {"Origin": FOREIGN})
    yield _observed({**facts, "way": "POST", "refused": _refused(call), "stream-refused": stream_refused}, call)
    for name, origin in TRICKS.items() if stream_refused and local else ():
        yield from _stream(session, {**facts, "origin": origin}, name)


def _methods(bench: Bench, facts: Mapping[str, Json]) -> Iterator[Observation]:
    """Whether other methods are served for a page elsewhere: some servers check the origin in some of their routes."""
    with suppress(Unavailable):
        for asked in PICKS["any-request"](bench.survey):
            method, params = asked["method"], asked["params"]
            yield _asked(bench.session, {**facts, "way": "method", "method": method}, method, params)


def _asked(session: Session, facts: Mapping[str, Json], method: str = "", params: Json = None) -> Observation:
    """Whether such a request of a page elsewhere is served; if so, whether it is if its Host is foreign, too.

    Where that is refused, DNS rebinding is stopped.
    """
    origin = {"Origin": str(facts["origin"])}
    call = _ask(session, origin, method, params)
    refused = _refused(call)
    if refused is None and _turned_away(session, call) and _refused(_ask(session, {}, method, params)) is False:
        refused = True  # since the same is served without the Origin
    served = refused is False and bool(facts["local"])
    host = served and _refused(_ask(session, {**origin, "Host": FOREIGN_HOST}, method, params)) is True
    return _observed({**facts, "refused": refused, "host-checked": host}, call)


def _stream(session: Session, facts: Mapping[str, Json], way: str = "GET") -> Iterator[Observation]:
    """Whether a stream is opened for a page of that origin, if that can be told."""
    headers = {**session.http_headers, "Accept": STREAM, "Origin": str(facts["origin"])}
    sent, head = _get(session, headers)
    if head is not None:
        refused = not (is_stream(head) and (head.status or 0) < 300)
        values = {**facts, "way": way, "status": head.status, "refused": refused, "host-checked": False}
        if not refused:
            _, other = _get(session, {**headers, "Host": FOREIGN_HOST})
            values["host-checked"] = other is not None and other.status in HOST_REFUSED
        yield Observation(values, None, (sent, head), told(head))


def _get(session: Session, headers: Mapping[str, str]) -> tuple[Frame, Frame | None]:
    """A GET that is broken off as soon as its answer begins: what was sent, and the head of the answer."""
    sent = exchange(session, "get", headers, "other")
    head = head_alone(session, sent, session.limits.answer)
    return sent, head


def _opening(bench: Bench, facts: Mapping[str, Json]) -> Iterator[Observation]:
    """Whether a page of that origin can open a session; it is ended at once."""
    session = bench.connect(open=False, shared=True)
    if not isinstance(session.era, Handshake):
        return
    call = _ask(session, {"Origin": str(facts["origin"])}, "initialize", session.era.greeting(session))
    yield _observed({**facts, "way": "method", "method": "initialize", "refused": _refused(call)}, call)
    if call.opens:
        exchange(session, "delete", {**session.era.headers(session, None), SESSION: call.opens})


def _ending(bench: Bench, facts: Mapping[str, Json]) -> Iterator[Observation]:
    """Whether a page of that origin can end a session, one of its own."""
    session = bench.connect(shared=True)
    if SESSION not in session.http_headers:
        return
    sent = exchange(session, "delete", {**session.http_headers, "Origin": str(facts["origin"])})
    head = head_of(session, sent, session.limits.answer)
    status = head.status or 0 if head is not None else 0
    if head is None or status in (401, 429) or status >= 500:
        return
    # Asked in another session: in the own one a 404 would be the end of it.
    own = {SESSION: session.http_headers[SESSION]}
    goes_on = status >= 300 or _refused(_ask(bench.session, own)) is False
    if not goes_on:
        session.http_headers.pop(SESSION, None)
    yield Observation({**facts, "way": "DELETE", "status": status, "refused": goes_on}, None, (sent, head), told(head))


def _ask(session: Session, headers: Mapping[str, str], method: str = "", params: Json = None) -> Call:
    """A request with further headers: the sentinel, if no method is given."""
    call = session.send(*((method, params) if method else session.sentinel()), illegal=True, headers=headers)
    session.wait(call)
    if call.head is None:  # where answers come on a stream of their own, one may overtake the head of its POST
        head_of(session, call.sent, session.limits.answer)
    session.give_up(call)
    return call


def _refused(call: Call) -> bool | None:
    """Whether it was refused, None if that cannot be told."""
    status = call.head.status if call.head is not None else None
    if status is None or status in (401, 429) or status >= 500:
        return None
    if status >= 400 or isinstance(call.error, dict):
        return True
    return False if call.answers else None


def _turned_away(session: Session, call: Call) -> bool:
    """Whether HTTP says 401 or 500, or that all is well where the body is an error without an id."""
    status = call.head.status if call.head is not None else None
    told = (members(f.message) for f in session.since(call.sent.number) if f.exchange == call.sent.exchange)
    return status in (401, 500) or (status == 200 and any("error" in each for each in told))


def _observed(facts: dict[str, Json], call: Call) -> Observation:
    proof: tuple[Frame, ...] = (call.sent,) if call.head is None else (call.sent, call.head)
    status = call.head.status if call.head is not None else 0
    return Observation({**facts, "status": status}, None, proof, told(call.head))


def listening_addresses(bench: Bench) -> Iterator[Observation]:
    """The addresses at which a server listens that we have started, as the system tells them."""
    transport = bench.session.transport
    at = transport.listens_at()
    if not (at and is_loopback(transport.host)):
        return
    open_ones = [each for each in at if each in WILDCARDS or not is_loopback(each.removeprefix("::ffff:"))]
    yield Observation({"elsewhere": ", ".join(open_ones)}, actual=f"it listens at {', '.join(at)}")
