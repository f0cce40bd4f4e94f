"""Probes of the area transport-http: HTTP requests that are no messages, and what becomes of sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import avoided_tool, call_each
from conformance.model import Frame, Json
from conformance.session.exchanges import STREAM, exchange, head_alone, head_of, is_stream, media_type, over
from conformance.session.messages import Call, NotSpoken, Unavailable
from conformance.session.session import Session
from conformance.survey.picks import PICKS
from conformance.transports import SESSION

VERSION = "MCP-Protocol-Version"
NO_VERSION = "not-a-version"
UNKNOWN_METHOD = "mcp-conform/unknown-method"
OLDER = "2025-11-25"
ENDED = "ended session"
FAILURE = 500
"""From this status on HTTP blames the server."""


def methods(bench: Bench) -> Iterator[Observation]:
    """GET, and in the stateless era DELETE, at the URL of the server; a second GET while the stream of one is open.

    It speaks HTTP other than POST, looks at the head alone, and finds out whether the server has older revisions.
    """
    session = bench.session
    stateless = session.revision.era == "stateless"
    for verb in ("get", "delete") if stateless else ("get",):
        headers = {**session.http_headers, "Accept": STREAM}
        if stateless:
            headers[VERSION] = session.revision.date
        sent = exchange(session, verb, headers)
        head = head_of(session, sent, session.limits.answer)
        if head is not None and is_stream(head) and not stateless:
            yield from _second(session, headers)
        session.transport.break_off(sent.exchange or 0)
        facts: dict[str, Json] = {"method": verb.upper(), "answered": head is not None}
        if head is not None:
            facts |= {"status": head.status, "stream": is_stream(head)}
        if stateless:
            facts["older-revisions"] = head is not None and head.status != 405 and _has_older(bench)
        yield Observation(facts, frames=_proof(sent, head), actual=told(head))


def _second(session: Session, headers: Mapping[str, str]) -> Iterator[Observation]:
    """A GET beside another one, if the server fails because of it: it may serve one only."""
    sent = exchange(session, "get", headers)
    head = head_alone(session, sent, session.limits.quiet)
    if head is not None and (head.status or 0) >= FAILURE:
        facts: dict[str, Json] = {"method": "GET", "answered": True, "status": head.status, "beside": True}
        yield Observation(facts, frames=_proof(sent, head), actual=told(head))


def old_headers(bench: Bench) -> Iterator[Observation]:
    """A request with a header that only older revisions have, twice.

    It finds out whether a server that refuses one has older revisions.
    """
    session = bench.session
    for header, value in ((SESSION, "mcp-conform-unknown"), ("Last-Event-ID", "1")):
        method, params = session.sentinel()
        call = session.send(method, params, illegal=True, headers={header: value})
        asked = _asked(session, call, {"header": header})
        older = not asked.values["served"] and _has_older(bench)
        yield replace(asked, values={**asked.values, "older-revisions": older})


def _has_older(bench: Bench) -> bool:
    if any(date < bench.session.revision.date for date in bench.spoken):
        return True
    try:
        bench.connect(revision=OLDER, shared=True)
    except NotSpoken as reason:
        return bool(reason.offered)
    return True


def _proof(sent: Frame, head: Frame | None) -> tuple[Frame, ...]:
    return (sent,) if head is None else (sent, head)


def told(head: Frame | None) -> str:
    """The head of an answer, for people."""
    return f"HTTP {head.status} ({media_type(head) or 'no content'})" if head is not None else "no answer"


def sessions(bench: Bench) -> Iterator[Observation]:
    """A request without the session id, and one with the id of a session that we have ended; then other messages.

    It takes away a header that each message has, and ends a session of its own by DELETE, at last twice.
    """
    session = bench.session
    if SESSION not in session.http_headers:
        return
    own = session.http_headers.pop(SESSION)
    call = session.send("ping", illegal=True)
    session.http_headers[SESSION] = own
    yield _asked(session, call, {"about": "missing id"})
    if call.head is not None and call.head.status == 400:
        yield from _otherwise(bench, {SESSION: None}, "missing id")
        nameless = {name: value for name, value in session.http_headers.items() if name != SESSION}
        yield from _deleted(session, nameless, "missing id")
    other = bench.connect(shared=True)
    identifier = other.http_headers.get(SESSION)
    if identifier is None:
        return
    sent = exchange(other, "delete", other.http_headers)
    head = head_of(other, sent, other.limits.answer)
    other.http_headers.pop(SESSION)
    facts: dict[str, Json] = {"about": ENDED, "delete": head.status if head is not None else 0}
    # In the other session a 404 would be the end of it.
    call = session.send("ping", illegal=True, headers={SESSION: identifier})
    yield _asked(session, call, facts)
    if head is not None and head.status in (200, 204) and call.head is not None and call.head.status == 404:
        yield from _otherwise(bench, {SESSION: identifier}, ENDED)
        yield from _deleted(other, {**other.era.headers(other, None), SESSION: identifier}, ENDED)


def _deleted(session: Session, headers: Mapping[str, str], about: str) -> Iterator[Observation]:
    """A DELETE with these headers alone, which is to be refused."""
    sent = exchange(session, "delete", headers, "other")
    head = head_of(session, sent, session.limits.answer)
    if head is not None:
        yield _seen(sent, head, about, "DELETE")


def versions(bench: Bench) -> Iterator[Observation]:
    """A notification, a GET, other requests and a DELETE with a version that is none, if a ping with it is refused.

    It speaks HTTP other than POST, and looks at the head alone.
    """
    session = bench.connect(shared=True)  # a GET of its own, since some servers have one stream for each session
    call = session.send("ping", illegal=True, headers={VERSION: NO_VERSION})
    session.wait(call)
    session.give_up(call)
    if call.head is not None and call.head.status == 400:
        yield from _otherwise(replace(bench, session=session), {VERSION: NO_VERSION}, "version")
        if SESSION not in session.http_headers:
            return
        sent = exchange(session, "delete", {**session.http_headers, VERSION: NO_VERSION})
        head = head_of(session, sent, session.limits.answer)
        if head is not None and (head.status or 0) < 300:
            session.http_headers.pop(SESSION)
        if head is not None and head.status not in (405, 501):
            yield _seen(sent, head, "version", "DELETE")


def _otherwise(bench: Bench, headers: Mapping[str, str | None], about: str) -> Iterator[Observation]:
    """What is to be refused in a request, in a notification, in a GET, and in a request of each other method.

    Some servers look at a header in some of their routes alone.
    """
    session = bench.session
    unknown = {"requestId": "mcp-conform-unknown", "reason": "nothing is under way"}
    sent = session.notify("notifications/cancelled", unknown, illegal=True, headers=headers)
    head = head_of(session, sent, session.limits.answer)
    if head is not None:
        yield _seen(sent, head, about, "notification")
    yield from _got(session, headers, about)
    with suppress(Unavailable):
        for method, params in one_of_each(bench).items():
            if method == "ping":
                continue  # it was the first
            call = session.send(method, params, illegal=True, headers=headers)
            yield _asked(session, call, {"about": f"{about}, otherwise", "way": "method", "method": method})


def one_of_each(bench: Bench) -> dict[str, Json]:
    """Method → params of the first request of that method that may be sent. Raises Unavailable if there is none."""
    return {asked["method"]: asked["params"] for asked in reversed(PICKS["any-request"](bench.survey))}


def _seen(sent: Frame, head: Frame, about: str, way: str) -> Observation:
    """What came of something else than a request."""
    taken = 200 <= (head.status or 0) < 300
    facts: dict[str, Json] = {"about": f"{about}, otherwise", "way": way, "status": head.status, "taken": taken}
    return Observation(facts, None, (sent, head), told(head))


def _got(session: Session, headers: Mapping[str, str | None], about: str) -> Iterator[Observation]:
    """A GET with other headers, those without a value left out.

    If the GET of an ended session is refused otherwise than it should be: whether one that is right opens a stream.
    """
    sent, head = _get(session, headers)
    if head is None:
        return
    facts: dict[str, Json] = {"about": f"{about}, otherwise", "way": "GET", "status": head.status}
    facts["taken"] = is_stream(head) and 200 <= (head.status or 0) < 300
    if about == ENDED and head.status not in (200, 404):
        _, usual = _get(session, {})
        facts["offered"] = usual is not None and is_stream(usual) and usual.status == 200
    yield Observation(facts, None, (sent, head), told(head))


def _get(session: Session, headers: Mapping[str, str | None]) -> tuple[Frame, Frame | None]:
    """A GET that is broken off once its head is there, and that head."""
    whole = {**session.http_headers, **headers, "Accept": STREAM}
    sent = exchange(session, "get", {name: value for name, value in whole.items() if value}, "other")
    return sent, head_alone(session, sent, session.limits.answer)


def _asked(session: Session, call: Call, facts: dict[str, Json]) -> Observation:
    """What came of a request whose answer is HTTP's."""
    session.wait(call)
    session.give_up(call)
    status = call.head.status if call.head is not None else 0
    facts = {**facts, "status": status, "served": call.result is not None}
    return Observation(facts, frames=_proof(call.sent, call.head), actual=told(call.head))


def stream_end(bench: Bench) -> Iterator[Observation]:
    """A request that was answered by a stream of events, and whether that ends before a later request is answered.

    It finds such a request, or calls tools that may tell of their progress; and one that is refused.
    """
    session = bench.session
    yield from _ended(session, session.request(UNKNOWN_METHOD))
    call = _again(bench)
    if call is None:
        call = next((call for _, call in call_each(bench, talkative=True) if _streamed(call)), None)
    if call is not None:
        yield from _ended(session, call)


def _ended(session: Session, call: Call) -> Iterator[Observation]:
    """Whether the stream that has answered the call ends, if it was one."""
    if not _streamed(call):
        return
    sentinel = session.hear_out()
    session.listen(session.limits.answer, until=lambda: over(session, call.sent))
    lost = sentinel is None or not sentinel.answers
    yield Observation({"ended": over(session, call.sent), "lost": lost}, call, actual="the stream stays open")


def _again(bench: Bench) -> Call | None:
    """A call of a tool that was answered by a stream before, made again: what comes of it belongs to this case."""
    session = bench.session
    before = next((c for c in reversed(session.calls.values()) if c.method == "tools/call" and _streamed(c)), None)
    if before is None or avoided_tool(session, before.params):
        return None
    meta = {"progressToken": f"mcp-conform-stream-{session.position}"}
    params = {name: value for name, value in before.params.items() if name in ("name", "arguments")}
    call = session.request("tools/call", {**params, "_meta": meta})
    return call if _streamed(call) else None


def _streamed(call: Call) -> bool:
    return bool(call.answers) and call.head is not None and is_stream(call.head) and not call.sent.illegal
