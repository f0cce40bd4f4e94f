"""Probes of the area input-required: tools that answer by asking for input, and what becomes of the retry."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import call_each
from conformance.checks.probes.outcome import answered, shown
from conformance.model import Json, Severity
from conformance.session.session import Call, Session
from conformance.survey.survey import Unavailable

RETRY = "input-required/retry-self-contained"
IGNORED = "input-required/unexpected-responses-ignored"
ASKED_AGAIN = "input-required/missing-responses-asked-again"
NOT_ASSUMED = "input-required/retry-not-assumed"
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


@probe("input-required.retry", RETRY, IGNORED, ASKED_AGAIN, NOT_ASSUMED)
def retry(bench: Bench) -> None:
    """Each tool that may be called, by a client with every capability; those that ask get answers of several kinds."""
    asking = [call for _, call in call_each(bench, talkative=True) if asks(call)]
    if not asking:
        raise Unavailable("no tool that was called asks for input")
    for call in asking[:FEW]:
        if not isinstance(call.result.get("requestState", ""), str):
            bench.ledger.block(RETRY, "input-required/request-state-is-string")
            continue
        done = _full_retry(bench, call)
        if done is None:
            continue
        _judge_kind(bench, IGNORED, call, {**responses_to(bench.session, call), **EXTRA}, done)
        if "inputRequests" in call.result:
            _judge_missing(bench, call)
        _judge_anew(bench, call)


def _full_retry(bench: Bench, first: Call) -> Call | None:
    """The outcome of answering all that is asked, None if there is none to compare with."""
    call = first
    for _ in range(MAX_ROUNDS):
        call = bench.session.request("tools/call", retried(call, responses_to(bench.session, call)))
        if not answered(bench, call, RETRY):
            return None
        if not asks(call):
            break
    if call.error is None:
        bench.ledger.held(RETRY)
        return call
    bench.ledger.broke(
        RETRY,
        "a retry with the original params, the responses and the state is refused",
        expected="a result",
        actual=shown(call),
        frames=(*first.proof, *call.proof),
    )
    return None


def _judge_kind(bench: Bench, requirement: str, first: Call, responses: Json, done: Call) -> None:
    call = bench.session.request("tools/call", retried(first, responses))
    if not answered(bench, call, requirement):
        return
    if call.error is None or done.error is not None:
        bench.ledger.held(requirement)
        return
    bench.ledger.broke(
        requirement,
        "a retry with a response that was not asked for is refused",
        expected="the same as without it",
        actual=shown(call),
        frames=call.proof,
        ceiling=Severity.WARNING,
    )


def _judge_missing(bench: Bench, first: Call) -> None:
    call = bench.session.request("tools/call", retried(first, {}))
    if not answered(bench, call, ASKED_AGAIN):
        return
    if call.error is None:
        bench.ledger.held(ASKED_AGAIN)  # asking again, or doing without: whether it is needed is the server's to say
        return
    bench.ledger.broke(
        ASKED_AGAIN,
        "a retry without the responses is refused instead of asked for again",
        expected="an input_required result",
        actual=shown(call),
        frames=call.proof,
        ceiling=Severity.WARNING,
    )


def _judge_anew(bench: Bench, first: Call) -> None:
    params = {name: value for name, value in first.params.items() if name != "_meta"}
    call = bench.session.request("tools/call", params)
    if not answered(bench, call, NOT_ASSUMED):
        return
    if call.error is None:
        bench.ledger.held(NOT_ASSUMED)
        return
    bench.ledger.broke(
        NOT_ASSUMED,
        "after input was asked for and not given, the same call is refused",
        expected="the same kind of answer as the first time",
        actual=shown(call),
        frames=(*first.proof, *call.proof),
        ceiling=Severity.WARNING,
    )
