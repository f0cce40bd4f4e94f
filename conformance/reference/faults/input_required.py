"""Faults in the results of 2026-07-28 that ask for input."""

from __future__ import annotations

from conformance.reference import server as correct
from conformance.reference import state
from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    drop,
    instead,
    on_result,
)
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed

NEW = "2026-07-28"


def _asking(change: Callable[[Message, Call], Any]) -> Apply:
    """Change the results that ask for input."""
    return on_result(("tools/call",), lambda result, call: change(result, call) if "inputRequests" in result else None)


def _empty_handed(result: Message, call: Call) -> None:
    drop(result, "inputRequests", "requestState")


def _state_number(result: Message, call: Call) -> None:
    result["requestState"] = 7


def _ping_asked(result: Message, call: Call) -> None:
    result["inputRequests"] = {"ping": {"method": "ping", "params": {}}}


def _forgetting(call: Call, proceed: Proceed) -> Message | None:
    if "requestState" in call.params:
        raise RpcError(INVALID_PARAMS, "Invalid params: unknown request")
    return proceed(call)


def _trusting(server: correct.Server) -> None:
    state.verified = lambda given, call: True
    state.answers = lambda given: {}


def _only_expected(call: Call, proceed: Proceed) -> Message | None:
    given = call.params.get("inputResponses")
    if isinstance(given, dict) and len(given) > 1:
        raise RpcError(INVALID_PARAMS, "Invalid params: unexpected inputResponses")
    return proceed(call)


def _none_asked_again(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("inputResponses") == {}:
        raise RpcError(INVALID_PARAMS, "Invalid params: inputResponses lacks an answer")
    return proceed(call)


FAULTS = (
    Fault(
        "hints-on-input-required",
        "caching/no-hints-on-input-required",
        "input_required results have caching hints",
        _asking(lambda result, call: result.update(ttlMs=0, cacheScope="private")),
        since=NEW,
    ),
    Fault(
        "list-asks-for-input",
        "input-required/supported-methods-only resources/templates-list-available"
        " resources/templates-list-shape discovery/server-info-in-results"
        " pagination/cursor-accepted caching/hints-present",
        "resources/templates/list is answered by input_required",
        on_result(
            ("resources/templates/list",),
            lambda result, call: {"resultType": "input_required", "requestState": "later"},
        ),
        since=NEW,
    ),
    Fault(
        "input-required-unmarked",
        "input-required/result-type-marked tools/call-result-shape",
        "a result that asks for input is of type complete",
        _asking(lambda result, call: result.update(resultType="complete", content=[])),
        since=NEW,
    ),
    Fault(
        "input-required-empty",
        "input-required/requests-or-state-present tools/call-result-shape",
        "a result that asks for input says neither what for nor a state",
        _asking(_empty_handed),
        since=NEW,
    ),
    Fault(
        "input-request-unknown",
        "input-required/known-request-types discovery/only-declared-client-capabilities",
        "a result asks the client for a ping",
        _asking(_ping_asked),
        since=NEW,
    ),
    Fault(
        "request-state-number",
        "input-required/request-state-is-string tools/call-result-shape input-required/retry-self-contained"
        " elicitation/all-actions-handled",
        "requestState is a number",
        _asking(_state_number),
        since=NEW,
    ),
    Fault(
        "retry-refused",
        "input-required/retry-self-contained elicitation/all-actions-handled"
        " input-required/missing-responses-asked-again input-required/unexpected-responses-ignored"
        " elicitation/success-not-assumed",
        "the repeated request with the answers is refused",
        instead("tools/call", _forgetting),
        since=NEW,
    ),
    Fault(
        "request-state-unchecked",
        "input-required/request-state-integrity input-required/request-state-bound-to-request",
        "any requestState is accepted",
        _trusting,
        since=NEW,
    ),
    Fault(
        "unexpected-answers-refused",
        "input-required/unexpected-responses-ignored",
        "answers that were not asked for are refused",
        instead("tools/call", _only_expected),
        since=NEW,
    ),
    Fault(
        "missing-answers-refused",
        "input-required/missing-responses-asked-again",
        "missing answers give an error instead of another question",
        instead("tools/call", _none_asked_again),
        since=NEW,
    ),
)
