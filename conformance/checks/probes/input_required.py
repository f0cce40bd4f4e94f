"""Probes of the area input-required: tools that answer by asking for input, and what becomes of the retry."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_each
from conformance.model import Json
from conformance.session.session import Call, Session
from conformance.survey.survey import Unavailable

MAX_ROUNDS = 5
FEW = 5
EXTRA: Json = {"mcp-conform-extra": {"action": "accept", "content": {}}}


def asks(call: Call) -> bool:
    """Whether the answer asks for input."""
    return isinstance(call.result, dict) and call.result.get("resultType") == "input_required"


def retried(call: Call, responses: Json) -> Json:
    """The params of `call` again, with `responses` and the state that the server gave."""
    params = {name: value for name, value in call.params.items() if name not in ("_meta", "requestState")}
    params["inputResponses"] = responses
    if "requestState" in call.result:
        params["requestState"] = call.result["requestState"]
    return params


def responses_to(session: Session, call: Call) -> dict[str, Json]:
    """A plausible answer to each request for input."""
    requests = call.result.get("inputRequests")
    return {
        key: session.answers.plausible(str(request.get("method")), request.get("params"))
        for key, request in (requests.items() if isinstance(requests, dict) else ())
        if isinstance(request, dict)
    }


def retry(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called, by a client with every capability; those that ask get answers of several kinds.

    It finds out which tools ask, and makes up the answers to what they ask for.
    """
    asking = [call for _, call in call_each(bench, talkative=True) if asks(call)]
    if not asking:
        raise Unavailable("no tool that was called asks for input")
    session = bench.session
    for first in asking[:FEW]:
        if not isinstance(first.result.get("requestState", ""), str):
            yield Observation({"responses": "impossible"}, first)
            continue
        done = _full_retry(session, first)
        yield Observation({"responses": "all"}, done, (*first.proof, *done.proof))
        if not done.answers or done.error is not None:
            continue  # there is nothing to compare with
        extra = {**responses_to(session, first), **EXTRA}
        yield Observation({"responses": "more"}, session.request("tools/call", retried(first, extra)))
        if "inputRequests" in first.result:
            yield Observation({"responses": "none"}, session.request("tools/call", retried(first, {})))
        params = {name: value for name, value in first.params.items() if name != "_meta"}
        anew = session.request("tools/call", params)
        yield Observation({"responses": "not a retry"}, anew, (*first.proof, *anew.proof))


def _full_retry(session: Session, first: Call) -> Call:
    """The last call when all that is asked is answered, again and again."""
    call = first
    for _ in range(MAX_ROUNDS):
        call = session.request("tools/call", retried(call, responses_to(session, call)))
        if not asks(call):
            break
    return call
