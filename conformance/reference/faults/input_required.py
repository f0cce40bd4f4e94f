"""Faults in the results of 2026-07-28 that ask for input."""

from __future__ import annotations

import time

from conformance.reference import server as correct
from conformance.reference import state
from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    die,
    drop,
    instead,
    on_result,
    setting,
)
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError, encode

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


def _later_asked_again(call: Call, proceed: Proceed) -> Message | None:
    given = call.params.get("requestState")
    if isinstance(given, str) and state.verified(given, call) and state.answers(given):
        return _none_asked_again(call, proceed)
    return proceed(call)


def _keys_twice(message: Any) -> bytes:
    data = encode(message)
    asked = message.get("result", {}).get("inputRequests") if isinstance(message, dict) else None
    if not asked:
        return data
    first = encode(dict([next(iter(asked.items()))]))[1:-1]
    return data.replace(b'"inputRequests":{', b'"inputRequests":{' + first + b",", 1)


def _on_foreign_state(act: Callable[[Call], object]) -> Apply:
    """Do something with a state that is not of the form of ours, before it is verified."""

    def apply(server: correct.Server) -> None:
        verified = state.verified

        def careless(given: str, call: Call) -> bool:
            if given.count(".") != 2:
                act(call)
            return verified(given, call)

        state.verified = careless

    return apply


def _fall_silent(call: Call) -> None:
    """Say nothing any more."""
    channel: Any = call.channel
    channel.lock.acquire()


def _signed_without_request(server: correct.Server) -> None:
    signed = state._signature

    def signature(call: Call, expiry: str, answered: str) -> str:
        nobody = Call(call.peer, {"id": 0, "method": "", "params": {}}, call.channel, {})
        return signed(nobody, expiry, answered)

    state._signature = signature


def _signed_without_answers(server: correct.Server) -> None:
    signed = state._signature
    state._signature = lambda call, expiry, answered: signed(call, expiry, "")


def _signature_unread(server: correct.Server) -> None:
    """Hand out a state that begins with its signature, and read only what comes after that."""
    token, answers = state.token, state.answers

    def signed_first(call: Call) -> str:
        expiry, answered, signature = token(call).split(".")
        return f"{signature}.{answered}.{expiry}"

    def read(given: str, call: Call) -> bool:
        try:
            return isinstance(answers(given), dict) and int(given.split(".")[2]) > time.time()
        except (ValueError, IndexError):
            return False

    state.token, state.verified = signed_first, read


def _unsigned(server: correct.Server) -> None:
    """Hand out a state that says what was answered, and go by what comes back as far as it can be read."""
    state.token = lambda call: f"step-{len(call.answers)}-of-this-conversation"
    state.verified = lambda given, call: "-" in given
    state.answers = lambda given: {}


def _taken_for(instead: Any) -> Callable[[Call, Proceed], Message | None]:
    """Take answers that are no objects for that one."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        given = call.params.get("inputResponses") if isinstance(call.params, dict) else None
        if isinstance(given, dict):
            call.params["inputResponses"] = {k: v if isinstance(v, dict) else instead for k, v in given.items()}
        return proceed(call)

    return serve


def _no_responses(call: Call, proceed: Proceed) -> Message | None:
    if isinstance(call.params, dict) and not isinstance(call.params.get("inputResponses", {}), dict):
        del call.params["inputResponses"]
    return proceed(call)


def _failing_responses(call: Call, proceed: Proceed) -> Message | None:
    if isinstance(call.params, dict) and not isinstance(call.params.get("inputResponses", {}), dict):
        return {"content": [{"type": "text", "text": "There were no answers."}]}
    return proceed(call)


UNTRUSTED = "input-required/request-state-untrusted"

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
        "input-required-untyped",
        "input-required/result-type-marked",
        "a result that asks for input has no type",
        _asking(lambda result, call: drop(result, "resultType")),
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
    Fault(
        "missing-later-answers-refused",
        "input-required/missing-responses-asked-again",
        "missing answers to a second question give an error instead of another question",
        instead("tools/call", _later_asked_again),
        since=NEW,
    ),
    Fault(
        "input-keys-twice",
        "input-required/keys-unique",
        "inputRequests has a key twice",
        setting("encode", _keys_twice),
        since=NEW,
    ),
    Fault(
        "foreign-state-kills",
        UNTRUSTED,
        "a requestState that is none of the server's ends the process",
        _on_foreign_state(die),
        since=NEW,
    ),
    Fault(
        "foreign-state-hangs",
        UNTRUSTED,
        "a requestState that is none of the server's makes the process hang",
        _on_foreign_state(_fall_silent),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "request-state-unsigned",
        "input-required/request-state-integrity input-required/request-state-bound-to-request",
        "requestState is a text that anybody can make",
        _unsigned,
        since=NEW,
    ),
    Fault(
        "request-state-signature-unread",
        "input-required/request-state-integrity input-required/request-state-bound-to-request",
        "requestState begins with a signature that is not looked at",
        _signature_unread,
        since=NEW,
    ),
    Fault(
        "request-state-signed-in-part",
        "input-required/request-state-integrity",
        "the signature of a requestState leaves out the answers that it carries",
        _signed_without_answers,
        since=NEW,
    ),
    Fault(
        "request-state-of-any-request",
        "input-required/request-state-bound-to-request",
        "requestState is good for every request",
        _signed_without_request,
        since=NEW,
    ),
    Fault(
        "wrong-answers-taken-for-no",
        "input-required/input-responses-validated",
        "an answer that is no object counts as declined",
        instead("tools/call", _taken_for({"action": "decline"})),
        since=NEW,
    ),
    Fault(
        "wrong-answers-taken-for-yes",
        "input-required/input-responses-validated",
        "an answer that is no object counts as accepted",
        instead("tools/call", _taken_for({"action": "accept", "content": {"name": "x"}, "roots": []})),
        since=NEW,
    ),
    Fault(
        "malformed-answers-ignored",
        "input-required/malformed-responses-refused",
        "inputResponses that are no object are ignored",
        instead("tools/call", _no_responses),
        since=NEW,
    ),
    Fault(
        "malformed-answers-succeed",
        "input-required/malformed-responses-refused",
        "a call succeeds although inputResponses are no object",
        instead("tools/call", _failing_responses),
        since=NEW,
    ),
)
