"""Fuzz campaigns: frames are generated, a property judges what the target makes of them, Hypothesis makes them smaller.

A campaign is played like a probe. Only modules of this package import Hypothesis, and only when there is something to
make smaller.
"""

from __future__ import annotations

from conformance.checks.fuzz.imports import importing
from conformance.checks.probes import Bench, Probe
from conformance.tables import registered

REFUSED = "jsonrpc/unknown-method-refused jsonrpc/unknown-method-code jsonrpc/every-request-answered-once"
PARAMS = "jsonrpc/invalid-params-refused jsonrpc/every-request-answered-once"
ARGUMENTS = "tools/inputs-validated tools/execution-error-as-result tools/structured-content-conforms"
HTTP = (
    "jsonrpc/every-request-answered-once transport-http/request-answered-as-json-or-sse "
    "http-headers/invalid-version-header-400 http-headers/method-header-mismatch-refused"
)

TABLE = (
    ("malformed", "malformed.Malformed", "jsonrpc/parse-error-code"),
    ("invalid-requests", "requests.InvalidRequests", "jsonrpc/invalid-request-code jsonrpc/response-id-echoed"),
    ("unknown-methods", "requests.UnknownMethods", REFUSED),
    ("invalid-params", "params.InvalidParams", PARAMS),
    ("tool-arguments", "arguments.ToolArguments", f"{ARGUMENTS} jsonrpc/every-request-answered-once"),
    ("http-requests", "http_requests.HttpRequests", HTTP),
    ("conversation", "conversation.Conversation", "jsonrpc/every-request-answered-once jsonrpc/response-id-echoed"),
)
"""Name, module and class in this package, the requirements that it may judge besides the invariants'."""


def _campaign(name: str, place: str, requirements: str) -> Probe:
    def run(bench: Bench) -> None:
        with importing:
            from conformance.checks.fuzz.campaign import play

            campaign = registered(__name__, place)
        play(bench, campaign)

    return Probe(f"fuzz.{name}", tuple(requirements.split()), run, illegal=True)


CAMPAIGNS: dict[str, Probe] = {f"fuzz.{row[0]}": _campaign(*row) for row in TABLE}
