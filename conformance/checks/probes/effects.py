"""The probe of what tools do beside returning a result: they ask the client, and change lists and resources."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import hear_unasked
from conformance.checks.probes.calls import call_each, late
from conformance.checks.probes.lists import hears_announcements, judge_announcements, look
from conformance.model import Frame

DECLARED = "discovery/only-declared-client-capabilities"
ASKING = ("jsonrpc/server-request-id-valid", "jsonrpc/server-request-id-not-reused")


def _is_request(frame: Frame) -> bool:
    message = frame.message
    return frame.origin == "target" and isinstance(message, dict) and "method" in message and "id" in message


@probe(
    "tools.effects",
    *ASKING,
    "tools/list-change-announced",
    "resources/list-change-announced",
    "prompts/list-change-announced",
    "resources/update-announced",
)
def effects(bench: Bench) -> None:
    """Each tool that may be called, by a client with every capability, between two looks at lists and resources.

    What the server asks of the client meanwhile is the invariants' to judge.
    """
    session = bench.session
    hear_unasked(session)
    start = session.position
    uris = _subscribe(bench)
    before = look(bench, uris)
    listening = hears_announcements(session)
    session.slow_tools.clear()  # what they tell on the way counts here
    proof = [frame for _, call in call_each(bench, talkative=True, seconds=late(session)) for frame in call.proof]
    session.hear_out()
    after = look(bench, uris)
    if after != before:
        session.listen(session.limits.quiet)
    for uri in uris:
        session.request("resources/unsubscribe", {"uri": uri})
    if listening:
        judge_announcements(bench, before, after, start, proof)
    asked = "asks only once" if any(map(_is_request, session.trace)) else "asks the client for nothing"
    for requirement in ASKING:
        bench.ledger.inconclusive(requirement, f"the server {asked}, also while tools are called")
    bench.ledger.inconclusive("resources/update-announced", "no tool that was called changed a listed resource")


def _subscribe(bench: Bench) -> list[str]:
    if not bench.survey.declares("resources.subscribe") or bench.session.revision.era != "handshake":
        return []
    uris = [item["uri"] for item in bench.survey.resources if isinstance(item.get("uri"), str)][:10]
    calls = [bench.session.request("resources/subscribe", {"uri": uri}) for uri in uris]
    return [uri for uri, call in zip(uris, calls, strict=True) if isinstance(call.result, dict)]


@probe("tools.partial-client", DECLARED)
def partial_client(bench: Bench) -> None:
    """Each tool that may be called, by a client that declared less than it could. Invariants judge what is asked."""
    for _ in call_each(bench, talkative=True):
        pass
    bench.ledger.inconclusive(DECLARED, "the tools that were called ask the client for nothing")
