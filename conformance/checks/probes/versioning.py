"""Probes of the area versioning: negotiation, and initialize where there is none any more."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.model import Frame, Json, elements, members
from conformance.revisions import BY_DATE, HANDSHAKE, STATELESS, standing
from conformance.session.eras.handshake import Handshake, client_info
from conformance.session.eras.stateless import META
from conformance.session.session import Call, Session, encode
from conformance.transports import SESSION

ANCIENT = "1999-01-01"
NO_STATELESS_HEADERS: dict[str, str | None] = {"MCP-Protocol-Version": None, "Mcp-Method": None, "Mcp-Name": None}
"""Leaves out of a message what only the stateless era has in its headers, and the handshake era not before a version
was agreed on."""


def _initialize(session: Session, version: str) -> Call:
    params = {"protocolVersion": version, "capabilities": session.client, "clientInfo": client_info()}
    call = session.send("initialize", params)
    session.wait(call, timeout=session.limits.start)
    return call


def negotiation(bench: Bench) -> Iterator[Observation]:
    """initialize with a version that no server has; then, on another process, with the version named in the answer.

    It computes where that version stands: among the published ones, and among those that the server speaks.
    """
    call = _initialize(bench.session, ANCIENT)
    offered = call.result.get("protocolVersion") if isinstance(call.result, dict) else None
    values: dict[str, Json] = {"requested": ANCIENT, "again": False}
    if not isinstance(offered, str) or offered == ANCIENT:
        yield Observation(values, call)
        return
    spoken = [date for date in bench.spoken if BY_DATE[date].era == "handshake"]
    latest = max(spoken, default=offered)
    yield Observation(
        {
            **values,
            "offered": offered,
            "standing": standing(offered),
            "spoken": offered in spoken,
            "latest-spoken": latest,
            "is-latest": offered >= latest,
        },
        call,
    )
    if standing(offered) in ("impossible", "unpublished"):
        return
    if offered not in spoken:
        again = _initialize(bench.connect(open=False), offered)
        yield Observation({"requested": offered, "again": True}, again, frames=(*call.proof, *again.proof))
    if offered == bench.session.revision.date and isinstance(bench.session.era, Handshake):
        bench.session.era.accept(bench.session, call)  # what follows may share the session
        bench.session.notify("notifications/initialized")


def _text(frame: Frame) -> str:
    """What stands in a frame, be it with escapes."""
    return (encode(frame.message) if frame.message is not None else frame.data).decode("utf-8", "replace")


def _advertised(bench: Bench, refused: bool) -> dict[str, Json]:
    """The versions with initialize that the server names, and where: in the error for a version that is none as well.

    That is asked for only where initialize was refused, since it may change the era of the connection.
    """
    named = {"supportedVersions": bench.survey.versions}
    if refused and bench.session.alive:
        params = {"_meta": {META + "protocolVersion": ANCIENT}}
        call = bench.session.send("server/discover", params, illegal=True, headers={"MCP-Protocol-Version": ANCIENT})
        bench.session.wait(call)
        data = members(members(call.error).get("data"))
        named["data.supported of error -32022"] = tuple(map(str, elements(data.get("supported"))))
    for where, versions in named.items():
        if handshakes := [each for each in versions if each in BY_DATE and BY_DATE[each] in HANDSHAKE]:
            return {"advertised": ", ".join(handshakes), "where": where}
    return {"advertised": "", "where": ""}


def initialize(bench: Bench) -> Iterator[Observation]:
    """A handshake-era initialize on a fresh process: a server of both eras answers it, a modern-only one refuses.

    It gathers all text that comes, since over HTTP the refusal may be none of JSON-RPC, and compares versions. Where
    the version has a handshake, it goes on as that era does: with `ping`, which this revision does not have. What is
    sent has the headers of that era alone: servers of both eras may tell clients apart by them.
    """
    session = bench.session
    params = {"protocolVersion": HANDSHAKE[-1].date, "capabilities": {}, "clientInfo": client_info()}
    call = session.send("initialize", params, bare=True, illegal=True, headers=NO_STATELESS_HEADERS)
    session.wait(call)
    said = " ".join(_text(frame) for frame in session.since(0) if frame.origin == "target")
    version = call.result.get("protocolVersion") if isinstance(call.result, dict) else None
    has_initialize = str(version) < STATELESS[0].date
    values: dict[str, Json] = {"text": said, "version-has-initialize": has_initialize, "ping": "unasked"}
    values |= _advertised(bench, refused=call.error is not None)
    proof, actual = call.proof, ""
    if isinstance(version, str) and has_initialize:
        headers: dict[str, str | None] = {**NO_STATELESS_HEADERS}
        if version not in BY_DATE or BY_DATE[version].names_version_in_header:
            headers["MCP-Protocol-Version"] = version
        if call.opens:
            headers[SESSION] = call.opens
        session.notify("notifications/initialized", illegal=True, headers=headers)
        ping = session.send("ping", bare=True, illegal=True, headers=headers)
        session.wait(ping)
        values["ping"] = "silence" if ping.response is None else "result" if ping.error is None else "error"
        proof = (*proof, *ping.proof)
        actual = ping.answers[0].data.decode("utf-8", "replace") if ping.error is not None else ""
    yield Observation(values, call, proof, actual)
