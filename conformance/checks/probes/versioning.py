"""Probes of the area versioning: negotiation in the handshake era, versions and independence of requests after it."""

from __future__ import annotations

import re

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.lists import declared
from conformance.checks.probes.outcome import NO_SUCH_METHOD, answered, code_of, shown
from conformance.model import Json, Severity
from conformance.revisions import BY_DATE, HANDSHAKE, named_version, standing
from conformance.session.eras.handshake import Handshake, client_info
from conformance.session.eras.stateless import META
from conformance.session.session import Call, Session
from conformance.survey.survey import LISTS, Unavailable

UNSUPPORTED = -32022
ANCIENT = "1999-01-01"

ECHOED = "versioning/supported-version-echoed"
COUNTEROFFERED = "versioning/unsupported-version-counteroffered"
LATEST = "versioning/counteroffer-is-latest"


def _initialize(session: Session, version: str) -> Call:
    params = {"protocolVersion": version, "capabilities": session.client, "clientInfo": client_info()}
    call = session.send("initialize", params)
    session.wait(call, timeout=session.limits.start)
    return call


@probe("versioning.negotiation", ECHOED, COUNTEROFFERED, LATEST)
def negotiation(bench: Bench) -> None:
    """initialize with a version that no server has; then, on another process, with the version named in the answer."""
    ledger = bench.ledger
    call = _initialize(bench.session, ANCIENT)
    if not answered(bench, call, COUNTEROFFERED, LATEST):
        return
    offered = call.result.get("protocolVersion") if isinstance(call.result, dict) else None
    if call.error is not None or offered == ANCIENT:
        ledger.broke(
            COUNTEROFFERED,
            "an unsupported version is refused instead of answered by another one"
            if call.error is not None
            else "an unsupported version is agreed to",
            expected="a result with another protocolVersion, which the server supports",
            actual=shown(call),
            frames=call.proof,
            # The page's own example of an error is this very case.
            ceiling=Severity.WARNING if call.error is not None else None,
        )
        ledger.block(LATEST, COUNTEROFFERED)
        return
    if not isinstance(offered, str):
        ledger.block(COUNTEROFFERED, "lifecycle/initialize-result-complete")
        ledger.block(LATEST, "lifecycle/initialize-result-complete")
        return
    if standing(offered) in ("impossible", "unpublished"):
        ledger.broke(
            COUNTEROFFERED,
            f"the server answers with {named_version(offered[:100])}",
            expected="another protocolVersion, which is that of a revision",
            actual=shown(call),
            frames=call.proof,
            ceiling=Severity.WARNING if standing(offered) == "unpublished" else None,
        )
        ledger.block(LATEST, COUNTEROFFERED)
        return
    spoken = [date for date in bench.spoken if BY_DATE[date].era == "handshake"]
    if offered in spoken or _echoed(bench, call, offered):
        ledger.held(ECHOED)
        ledger.held(COUNTEROFFERED)
    if offered == bench.session.revision.date and isinstance(bench.session.era, Handshake):
        bench.session.era.accept(bench.session, call)  # what follows may share the session
        bench.session.notify("notifications/initialized")
    latest = max(spoken, default=offered)
    if offered >= latest:
        ledger.held(LATEST)
        return
    ledger.broke(
        LATEST,
        "the version offered instead is not the latest that the server supports",
        expected=latest,
        actual=offered,
        frames=call.proof,
    )


def _echoed(bench: Bench, first: Call, offered: str) -> bool:
    """Whether the server agrees to the version that it has just named itself."""
    again = _initialize(bench.connect(open=False), offered)
    if not answered(bench, again, ECHOED, COUNTEROFFERED):
        return False
    if isinstance(again.result, dict) and again.result.get("protocolVersion") == offered:
        return True
    bench.ledger.broke(
        ECHOED,
        "the server does not agree to the version that it offered itself",
        expected=f"protocolVersion {offered}",
        actual=shown(again),
        frames=(*first.proof, *again.proof),
    )
    bench.ledger.block(COUNTEROFFERED, ECHOED)
    return False


# -- 2026-07-28

REFUSED = "versioning/unsupported-version-refused"
DATA = "versioning/unsupported-version-error-data"
LISTS_SUPPORTED = "versioning/unsupported-version-error-lists-supported"
PER_REQUEST = "versioning/version-rejection-is-per-request"
HTTP_400 = "versioning/unsupported-version-http-400"
ADVERTISED = "versioning/advertised-versions-served"
FIRST = "versioning/first-request-served"
DUAL_HANDSHAKE = "versioning/dual-era-serves-handshake"
AFFINITY = "versioning/no-connection-affinity"
INTERLEAVED = "versioning/interleaved-requests-handled"
CONTEXT = "versioning/no-context-from-prior-requests"
MODERN_ONLY = "versioning/modern-only-refuses-initialize"
NAMES_VERSIONS = "versioning/initialize-refusal-names-versions"
REMOVED = "versioning/removed-methods-unknown"


def _in_version(session: Session, method: str, version: str) -> Call:
    params = {"_meta": {META + "protocolVersion": version}}
    return session.request(method, params, headers={"MCP-Protocol-Version": version}, illegal=True)


@probe("versioning.unsupported", REFUSED, DATA, LISTS_SUPPORTED, PER_REQUEST, HTTP_400)
def unsupported(bench: Bench) -> None:
    """Requests of versions that no server has, after a good one; with `opener` as the first of the connection."""
    session = bench.session
    for version in ("1900-01-01", "2099-01-01"):
        for method in ("server/discover", *(LISTS[name][0] for name in declared(bench)[:1])):
            call = _in_version(session, method, version)
            if not answered(bench, call, REFUSED, DATA, LISTS_SUPPORTED, HTTP_400):
                continue
            if code_of(call) != UNSUPPORTED:
                when = " as the first of the connection" if bench.settings.get("opener") else ""
                bench.ledger.broke(
                    REFUSED,
                    f"{method} in version {version}{when} is not refused as an unsupported version",
                    expected=f"error {UNSUPPORTED}",
                    actual=shown(call),
                    frames=call.proof,
                )
                for requirement in (DATA, LISTS_SUPPORTED, HTTP_400):
                    bench.ledger.block(requirement, REFUSED)
                continue
            bench.ledger.held(REFUSED)
            _judge_unsupported_error(bench, call, version)
    after = session.request("server/discover")
    if not answered(bench, after, PER_REQUEST):
        return
    if after.error is None:
        bench.ledger.held(PER_REQUEST)
        return
    bench.ledger.broke(
        PER_REQUEST,
        "after a request in an unsupported version a good one is refused",
        expected="a result",
        actual=shown(after),
        frames=after.proof,
    )


def _judge_unsupported_error(bench: Bench, call: Call, version: str) -> None:
    ledger = bench.ledger
    data = call.error.get("data")
    data = data if isinstance(data, dict) else {}
    supported = data.get("supported")
    strings = isinstance(supported, list) and all(isinstance(each, str) for each in supported)
    if strings and data.get("requested") == version:
        ledger.held(DATA)
    else:
        ledger.broke(
            DATA,
            "the error for an unsupported version lacks its data",
            expected=f"data.supported, an array of strings, and data.requested {version!r}",
            actual=shown(call),
            frames=call.proof,
        )
    if isinstance(supported, list) and bench.session.revision.date in supported:
        ledger.held(LISTS_SUPPORTED)
    elif strings:
        ledger.broke(
            LISTS_SUPPORTED,
            "the error for an unsupported version does not list a version that the server answers to",
            expected=f"{bench.session.revision} in data.supported",
            actual=shown(call),
            frames=call.proof,
        )
    else:
        ledger.block(LISTS_SUPPORTED, DATA)
    if call.head is None:
        return
    if call.head.status == 400:
        ledger.held(HTTP_400)
    else:
        ledger.broke(
            HTTP_400,
            "an unsupported version is refused with another HTTP status",
            expected="status 400",
            actual=f"status {call.head.status}",
            frames=(call.sent, call.head, *call.answers),
        )


@probe("versioning.advertised", ADVERTISED)
def advertised(bench: Bench) -> None:
    """Each modern version in supportedVersions."""
    supported = bench.session.opening.get("supportedVersions") if isinstance(bench.session.opening, dict) else None
    versions = [str(each) for each in supported] if isinstance(supported, list) else []
    for version in sorted(each for each in versions if each >= "2026-07-28"):
        call = _in_version(bench.session, "server/discover", version)
        if not answered(bench, call, ADVERTISED):
            continue
        if call.error is None:
            bench.ledger.held(ADVERTISED)
            continue
        bench.ledger.broke(
            ADVERTISED,
            f"a request in the advertised version {version} is refused",
            expected="a result",
            actual=shown(call),
            frames=call.proof,
        )
    bench.ledger.inconclusive(ADVERTISED, "supportedVersions names no modern version")


@probe("versioning.first-request", FIRST)
def first_request(bench: Bench) -> None:
    """A list, or without lists an unknown method, as the very first request of a process."""
    lists = [LISTS[name][0] for name in declared(bench) if name != "templates"]
    if not lists:
        raise Unavailable("the server declares no list that could be asked for first")
    session = bench.session
    call = session.send(lists[0])
    session.wait(call, timeout=session.limits.start)
    if not answered(bench, call, FIRST):
        return
    if isinstance(call.result, dict):
        bench.ledger.held(FIRST)
        return
    bench.ledger.broke(
        FIRST,
        f"{lists[0]} is refused as the first request",
        expected="a result, without server/discover or initialize before it",
        actual=shown(call),
        frames=call.proof,
    )


@probe("versioning.interleaved", INTERLEAVED)
def interleaved(bench: Bench) -> None:
    """Five requests without waiting, one of them of an unknown method."""
    lists = [LISTS[name][0] for name in declared(bench) if name != "templates"] or ["server/discover"]
    methods = ["server/discover", lists[0], lists[0], "mcp-conform/unknown-method", lists[-1]]
    calls = [bench.session.send(method) for method in methods]
    bench.session.wait(*calls)
    for method, call in zip(methods, calls, strict=True):
        if not answered(bench, call, INTERLEAVED):
            return
        if call.error is not None and method != "mcp-conform/unknown-method":
            alone = bench.session.request(method)
            if alone.error is not None:
                bench.ledger.inconclusive(INTERLEAVED, f"{method} is refused by itself as well")
                return
            bench.ledger.broke(
                INTERLEAVED,
                f"{method} is refused while other requests are under way",
                expected="a result, as without the others",
                actual=shown(call),
                frames=(*call.proof, *alone.proof),
            )
            return
    bench.ledger.held(INTERLEAVED)


@probe("versioning.context", CONTEXT)
def context(bench: Bench) -> None:
    """After good requests, one that leaves out the client's capabilities."""
    session = bench.session
    meta: Json = {META + "protocolVersion": session.revision.date, META + "clientInfo": client_info()}
    for method in ("server/discover", *(LISTS[name][0] for name in declared(bench)[:1])):
        call = session.request(method, {"_meta": meta}, bare=True, illegal=True)
        if not answered(bench, call, CONTEXT):
            continue
        if call.error is not None:
            bench.ledger.held(CONTEXT)
            continue
        bench.ledger.broke(
            CONTEXT,
            f"{method} without client capabilities is served after requests that had them",
            expected="error -32602",
            actual=shown(call),
            frames=call.proof,
        )


@probe("versioning.affinity", AFFINITY)
def affinity(bench: Bench) -> None:
    """A cursor of one connection on another."""
    for name in declared(bench):
        method, _ = LISTS[name]
        first = bench.session.request(method)
        cursor = first.result.get("nextCursor") if isinstance(first.result, dict) else None
        if not isinstance(cursor, str):
            continue
        other = bench.connect(open=False, shared=bench.session.transport.name == "http")
        call = other.request(method, {"cursor": cursor})
        if not answered(bench, call, AFFINITY):
            return
        if call.error is None:
            bench.ledger.held(AFFINITY)
            return
        bench.ledger.broke(
            AFFINITY,
            "a cursor is refused on another connection",
            expected="the next page",
            actual=shown(call),
            frames=(*first.proof, *call.proof),
        )
        return
    bench.ledger.inconclusive(AFFINITY, "no list is longer than a page")


@probe("versioning.initialize", MODERN_ONLY, NAMES_VERSIONS, DUAL_HANDSHAKE)
def initialize(bench: Bench) -> None:
    """A handshake-era initialize on a fresh process: a server of both eras answers it, a modern-only one refuses."""
    ledger, session = bench.ledger, bench.session
    params = {"protocolVersion": HANDSHAKE[-1].date, "capabilities": {}, "clientInfo": client_info()}
    headers = {"MCP-Protocol-Version": HANDSHAKE[-1].date}
    call = session.send("initialize", params, bare=True, illegal=True, headers=headers)
    session.wait(call)
    if isinstance(call.result, dict):
        for requirement in (MODERN_ONLY, NAMES_VERSIONS):
            ledger.not_applicable(requirement, "the server answers initialize")
        _judge_agreed_version(bench, call)
        return
    ledger.not_applicable(DUAL_HANDSHAKE, "the server does not answer initialize")
    status = call.head.status if call.head is not None else None
    refused = call.error is not None if status is None else status == 400
    if refused:
        ledger.held(MODERN_ONLY)
    else:
        ledger.broke(
            MODERN_ONLY,
            "initialize is not refused as it should be",
            expected="an error" if status is None else "HTTP status 400",
            actual=shown(call) if status is None else f"HTTP status {status}",
            frames=call.proof,
        )
    said = " ".join(f.data.decode("utf-8", "replace") for f in session.since(0) if f.origin == "target")
    if re.search(r"2026-07-28", said):
        ledger.held(NAMES_VERSIONS)
    elif said:
        ledger.broke(
            NAMES_VERSIONS,
            "the refusal of initialize names no version that the server supports",
            expected="2026-07-28 in the error's message or data",
            actual=shown(call),
            frames=call.proof,
        )
    else:
        ledger.block(NAMES_VERSIONS, MODERN_ONLY)


def _judge_agreed_version(bench: Bench, call: Call) -> None:
    """Whether the server then keeps to the revision is what the runs of that era show."""
    if str(call.result.get("protocolVersion")) < "2026-07-28":
        bench.ledger.held(DUAL_HANDSHAKE)
        return
    bench.ledger.broke(
        DUAL_HANDSHAKE,
        "initialize is answered by a version that has no initialize",
        expected="a version of the handshake era",
        actual=shown(call),
        frames=call.proof,
    )


@probe("versioning.removed-methods", REMOVED, illegal=True)
def removed_methods(bench: Bench) -> None:
    """Methods of the handshake era, with params that were valid there."""
    listed = [item["uri"] for item in bench.survey.resources if isinstance(item.get("uri"), str)]
    uri = listed[0] if listed else "mcp-conform://no-such-resource"
    removed: tuple[tuple[str, Json], ...] = (
        ("ping", None),
        ("logging/setLevel", {"level": "info"}),
        ("resources/subscribe", {"uri": uri}),
        ("resources/unsubscribe", {"uri": uri}),
    )
    for method, params in removed:
        call = bench.session.request(method, params, illegal=True)
        if not call.answers and bench.session.alive:
            bench.ledger.block(REMOVED, "jsonrpc/unknown-method-refused")
        elif not answered(bench, call, REMOVED):
            return
        elif call.error is not None:
            bench.ledger.held(REMOVED)
        else:
            bench.ledger.broke(
                REMOVED,
                f"{method}, which this revision does not have, is served",
                expected=f"error {NO_SUCH_METHOD}",
                actual=shown(call),
                frames=call.proof,
            )
