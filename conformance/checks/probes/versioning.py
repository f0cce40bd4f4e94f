"""Probes of the area versioning: negotiation, and initialize where there is none any more."""

from __future__ import annotations

import re

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.outcome import answered, shown
from conformance.model import Severity
from conformance.revisions import BY_DATE, HANDSHAKE, named_version, standing
from conformance.session.eras.handshake import Handshake, client_info
from conformance.session.session import Call, Session

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
    """initialize with a version that no server has; then, on another process, with the version named in the answer.

    It computes where that version stands: among the published ones, and among those that the server speaks.
    """
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

DUAL_HANDSHAKE = "versioning/dual-era-serves-handshake"
MODERN_ONLY = "versioning/modern-only-refuses-initialize"
NAMES_VERSIONS = "versioning/initialize-refusal-names-versions"


@probe("versioning.initialize", MODERN_ONLY, NAMES_VERSIONS, DUAL_HANDSHAKE)
def initialize(bench: Bench) -> None:
    """A handshake-era initialize on a fresh process: a server of both eras answers it, a modern-only one refuses.

    It reads all bytes that come, since over HTTP the refusal may be plain text, and compares versions.
    """
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
