"""Probes of the area resources."""

from __future__ import annotations

import re

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.lists import judge_listing, judge_uniqueness
from conformance.checks.probes.outcome import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    NO_SUCH_METHOD,
    answered,
    asked_again,
    code_of,
    expect_refusal,
    shown,
)
from conformance.model import Json, Severity
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

MAX_READS = 10
NOT_FOUND = -32002
NO_SUCH_URI = "mcp-conform://no-such-resource/7f3a"

AVAILABLE = "resources/methods-available"
TEMPLATES = "resources/templates-list-available"
READABLE = "resources/listed-readable"
INTERNAL = "resources/internal-error-32603"
HANDSHAKE_NOT_FOUND = "resources/not-found-32002"
STATELESS_NOT_FOUND = "resources/not-found-32602"
NEVER_EMPTY = "resources/not-found-never-empty-contents"
VALIDATED = "resources/uri-inputs-validated"
ANSWERED = "resources/subscribe-answered"
WEB = "resources/https-only-if-fetchable"
REFUSED = "resources/subscribe-refused-when-undeclared"


@probe("resources.list", AVAILABLE, TEMPLATES)
def listing(bench: Bench) -> None:
    """The two lists of the declared feature."""
    judge_listing(bench, bench.session.request("resources/list"), AVAILABLE)
    # Only resources/list has a keyword: a server without templates may know nothing of the other.
    judge_listing(bench, bench.session.request("resources/templates/list"), TEMPLATES, Severity.ADVICE)


@probe("resources.uris", "resources/uri-unique")
def uris(bench: Bench) -> None:
    """URIs over all pages."""
    judge_uniqueness(bench, "resources", "resources/uri-unique")


@probe("resources.read-each", AVAILABLE, READABLE, INTERNAL, WEB)
def read_each(bench: Bench) -> None:
    """Each listed resource, at most MAX_READS. The shape of what comes is the wire invariant's."""
    listed = bench.survey.readable
    if not listed:
        raise Unavailable("the server lists no resource")
    wanted = [{"uri": uri} for uri in listed[:MAX_READS]]
    wanted = [params for params in wanted if asked_again(bench, "resources/read", params, READABLE, INTERNAL)]
    calls = [bench.session.request("resources/read", params) for params in wanted]
    calls = [call for call in calls if answered(bench, call, READABLE, INTERNAL)]
    for call in calls:
        _judge_failure(bench, call)
        _judge_web(bench, call)
    bench.ledger.inconclusive(WEB, "the server lists no https: resource, or none of the first was answered")
    bench.ledger.inconclusive(INTERNAL, "no listed resource fails when it is read")
    missing = [call for call in calls if code_of(call) in (NOT_FOUND, INVALID_PARAMS)]
    if any(call.error is None for call in calls):
        bench.ledger.held(READABLE)
    elif missing and len(missing) == len(calls):
        bench.ledger.broke(
            READABLE,
            "none of the listed resources is found",
            expected="the contents of a listed resource",
            actual=shown(missing[0]),
            frames=missing[0].proof,
        )
    else:
        bench.ledger.inconclusive(READABLE, "no listed resource could be read, for reasons of their own")


def _judge_failure(bench: Bench, call: Call) -> None:
    code = code_of(call)
    if code == NO_SUCH_METHOD:
        bench.ledger.broke(
            AVAILABLE,
            "resources/read of a listed resource is refused as an unknown method",
            expected="the resource",
            actual=shown(call),
            frames=call.proof,
            ceiling=Severity.WARNING,
        )
    elif code == INTERNAL_ERROR:
        bench.ledger.held(INTERNAL)
    elif call.error is not None and code not in (NOT_FOUND, INVALID_PARAMS) and not _of_the_web(call):
        bench.ledger.broke(
            INTERNAL,
            "a listed resource that fails gives another code",
            expected=f"error {INTERNAL_ERROR}",
            actual=shown(call),
            frames=call.proof,
        )


def _judge_web(bench: Bench, call: Call) -> None:
    """That the server hands out an https: resource itself hints that clients cannot fetch it; it proves nothing."""
    if not _of_the_web(call):
        return
    if call.error is not None:
        bench.ledger.held(WEB)
        return
    bench.ledger.broke(
        WEB,
        "an https: resource is read from the server; can clients fetch it from the web themselves?",
        expected="another scheme, unless they can",
        actual=str(call.params["uri"])[:200],
        frames=call.proof,
        ceiling=Severity.ADVICE,
    )


def _of_the_web(call: Call) -> bool:
    """https: resources are for the client to fetch; that the server refuses them is no failure."""
    return str(call.params.get("uri")).startswith(("https:", "http:"))


def catch_all(bench: Bench) -> str:
    """The template that may match any URI at all, "" if there is none."""
    for template in bench.survey.templates:
        pattern = str(template.get("uriTemplate"))
        if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", pattern) or pattern.startswith("mcp-conform:"):
            return pattern
    return ""


@probe("resources.unknown", HANDSHAKE_NOT_FOUND, STATELESS_NOT_FOUND, NEVER_EMPTY)
def unknown(bench: Bench) -> None:
    """A resource that does not exist."""
    handshake = bench.session.revision.era == "handshake"
    requirement = HANDSHAKE_NOT_FOUND if handshake else STATELESS_NOT_FOUND
    if template := catch_all(bench):
        raise Unavailable(f"the template {template!r} may match any URI")
    call = bench.session.request("resources/read", {"uri": NO_SUCH_URI})
    if not answered(bench, call, requirement, NEVER_EMPTY):
        return
    if not handshake:
        _judge_emptiness(bench, call)
        expect_refusal(bench, requirement, call, codes=(INVALID_PARAMS,), soft=Severity.VIOLATION)
        return
    # Later revisions move to -32602, and a server may say that in all of them.
    soft = Severity.ADVICE if code_of(call) == INVALID_PARAMS else Severity.WARNING
    expect_refusal(bench, requirement, call, codes=(NOT_FOUND,), soft=soft)


def _judge_emptiness(bench: Bench, call: Call) -> None:
    if not (isinstance(call.result, dict) and call.result.get("contents") == []):
        bench.ledger.held(NEVER_EMPTY)
        return
    bench.ledger.broke(
        NEVER_EMPTY,
        "a resource that does not exist is answered by empty contents",
        expected=f"error {INVALID_PARAMS}",
        actual=shown(call),
        frames=call.proof,
    )


@probe("resources.nonsense", VALIDATED, illegal=True)
def nonsense(bench: Bench) -> None:
    """What is no URI, and one that is very long. Contents must not come back; "not found" is a good answer."""
    if template := catch_all(bench):
        raise Unavailable(f"the template {template!r} may match anything")
    for uri in ("", "not a uri", "mcp-conform://" + "x" * 4096):
        call = bench.session.request("resources/read", {"uri": uri}, illegal=not uri.startswith("mcp-conform"))
        if not call.answers and call.sent.illegal and bench.session.alive:
            bench.ledger.inconclusive(VALIDATED, f"the server does not answer resources/read of {uri!r}")
            continue
        if not call.answers and call.sent.illegal:
            _broke_validation(bench, call, "does not survive")
            return
        if not answered(bench, call, VALIDATED):
            return
        contents = call.result.get("contents") if isinstance(call.result, dict) else None
        if not contents:
            bench.ledger.held(VALIDATED)
            continue
        _broke_validation(bench, call, "reads")


def _broke_validation(bench: Bench, call: Call, does: str) -> None:
    # A server may take URIs for opaque strings, and the client was not to send what is none: a warning at most.
    bench.ledger.broke(
        VALIDATED,
        f"the server {does} {call.params['uri'][:40]!r}, which it cannot have listed",
        expected="an error",
        actual=shown(call),
        frames=call.proof,
        ceiling=Severity.WARNING,
    )


@probe("resources.subscribe", ANSWERED, REFUSED, illegal=True)
def subscribe(bench: Bench) -> None:
    """Subscribe to a listed resource and unsubscribe; without the capability both are refused."""
    declared = bench.survey.declares("resources.subscribe")
    listed = [item["uri"] for item in bench.survey.resources if isinstance(item.get("uri"), str)]
    params: Json = {"uri": listed[0] if listed else NO_SUCH_URI}
    if not declared:
        call = bench.session.request("resources/subscribe", params, illegal=True)
        if call.error is None and isinstance(call.result, dict):
            bench.session.request("resources/unsubscribe", params, illegal=True)
        expect_refusal(bench, REFUSED, call, codes=(NO_SUCH_METHOD,), soft=Severity.ADVICE)
        return
    bench.ledger.not_applicable(REFUSED, "the server declares resources.subscribe")
    if not listed:
        bench.ledger.inconclusive(ANSWERED, "the server lists no resource")
        return
    for method in ("resources/subscribe", "resources/unsubscribe"):
        call = bench.session.request(method, params)
        if not answered(bench, call, ANSWERED):
            return
        if call.error is None:
            bench.ledger.held(ANSWERED)
            continue
        bench.ledger.broke(
            ANSWERED,
            f"{method} is refused although resources.subscribe is declared",
            expected="an empty result",
            actual=shown(call),
            frames=call.proof,
        )
        return
