"""The probe of a server of both eras that may ask for a token in one of them only."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.authorization import known
from conformance.checks.probes.visits import VERSION, told
from conformance.model import Json
from conformance.revisions import HANDSHAKE, STATELESS
from conformance.session.challenges import of_tokens
from conformance.session.eras.handshake import Handshake, client_info
from conformance.session.eras.stateless import META
from conformance.session.messages import encode

USUAL = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def other_era(bench: Bench) -> Iterator[Observation]:
    """The opening of the other era without a token, where this one needs none; whether a token is asked for there."""
    seen = known(bench)
    method, message, headers = _discover() if isinstance(bench.session.era, Handshake) else _initialize()
    page = bench.web().ask("POST", headers={**USUAL, **headers}, body=encode(message))
    guarded = page.status == 401 and of_tokens(page.headers.get("www-authenticate", "")) is not None
    facts: dict[str, Json] = {"guarded": guarded, "method": method}
    shown = f"{seen.visit.method}: {seen.visit.told}; {method}: {told(page)}"
    yield Observation(facts, None, seen.visit.proof, shown)


def _discover() -> tuple[str, Json, dict[str, str]]:
    version = STATELESS[-1].date
    meta = {META + "protocolVersion": version, META + "clientCapabilities": {}, META + "clientInfo": client_info()}
    message = {"jsonrpc": "2.0", "id": "mcp-conform-era", "method": "server/discover", "params": {"_meta": meta}}
    return "server/discover", message, {VERSION: version, "Mcp-Method": "server/discover"}


def _initialize() -> tuple[str, Json, dict[str, str]]:
    params = {"protocolVersion": HANDSHAKE[-1].date, "capabilities": {}, "clientInfo": client_info()}
    message = {"jsonrpc": "2.0", "id": "mcp-conform-era", "method": "initialize", "params": params}
    return "initialize", message, {}
