"""Faults in completion."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    code,
    failing,
    forgiving,
    instead,
    on_error,
    on_result,
    several,
    undeclared,
    without,
)
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed

MANY = [f"value {number}" for number in range(101)]


def _completion(values: list[Any]) -> Apply:
    return on_result(("completion/complete",), lambda result, call: result["completion"].update(values=values))


def _no_context(call: Call, proceed: Proceed) -> Message | None:
    if "context" in call.params:
        raise RpcError(INVALID_PARAMS, "Invalid params: context is not known")
    return proceed(call)


def _known_context_refused(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("context", {}).get("arguments"):
        raise RpcError(INVALID_PARAMS, "Invalid params: context.arguments is not known")
    return proceed(call)


def _context_arguments_demanded(call: Call, proceed: Proceed) -> Message | None:
    if "arguments" not in call.params.get("context", {"arguments": {}}):
        raise RpcError(INVALID_PARAMS, "Invalid params: context.arguments is required")
    return proceed(call)


def _value_demanded(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("argument", {}).get("value") == "":
        raise RpcError(INVALID_PARAMS, "Invalid params: argument.value is empty")
    return proceed(call)


def _unknown_prompt_reference(call: Call) -> bool:
    return call.method == "completion/complete" and "name" in call.params.get("ref", {}) and "argument" in call.params


def _of_no_type(call: Call) -> bool:
    reference = call.params.get("ref") if isinstance(call.params, dict) else None
    return isinstance(reference, dict) and reference.get("type") not in ("ref/prompt", "ref/resource")


def _uncut(result: Message, call: Call) -> None:
    completion = result["completion"]
    if completion["hasMore"]:
        more = [f"value {number}" for number in range(completion["total"] - 100)]
        completion["values"] = [*completion["values"], *more]


def _more_though_all(result: Message, call: Call) -> None:
    completion = result["completion"]
    completion.update(total=len(completion["values"]), hasMore=True)


def _unknown_template(call: Call, proceed: Proceed) -> Message | None:
    uri = call.params.get("ref", {}).get("uri", "")
    return _anything() if "no-such-template" in str(uri) else proceed(call)


def _unknown_argument(call: Call, proceed: Proceed) -> Message | None:
    name = call.params.get("argument", {}).get("name", "")
    return _anything() if "no-such-argument" in str(name) else proceed(call)


def _anything() -> Message:
    return {"completion": {"values": ["anything"]}}


FAULTS = (
    Fault(
        "completion-of-unknown-template",
        "completion/inputs-validated",
        "a template that does not exist is completed",
        instead("completion/complete", _unknown_template),
        since="2025-03-26",
    ),
    Fault(
        "completion-of-unknown-argument",
        "completion/inputs-validated",
        "an argument that a prompt or template does not have is completed",
        instead("completion/complete", _unknown_argument),
        since="2025-03-26",
    ),
    Fault(
        "complete-unknown",
        "completion/method-available",
        "completion/complete is an unknown method although completions is declared",
        failing("completion/complete", METHOD_NOT_FOUND),
        since="2025-03-26",
    ),
    Fault(
        "complete-unknown-of-nothing",
        "completion/method-available tools/embedded-resource-needs-capability",
        "completions is declared, completion/complete an unknown method, and there is nothing to complete",
        several(without("prompts", "resources"), failing("completion/complete", METHOD_NOT_FOUND)),
        since="2025-03-26",
    ),
    Fault(
        "completion-undeclared",
        "completion/capability-declared completion/unsupported-refused jsonrpc/undeclared-feature-refused",
        "completion works although it is not declared",
        undeclared("completions"),
        since="2025-03-26",
    ),
    Fault(
        "completion-values-numbers",
        "completion/result-shape",
        "the values of a completion are numbers",
        _completion([1, 2]),
        since="2025-03-26",
    ),
    Fault(
        "completion-total-too-small",
        "completion/result-shape",
        "the total of a completion is less than the number of its values",
        on_result(("completion/complete",), lambda result, call: result["completion"].update(total=0)),
    ),
    Fault(
        "completion-more-though-all",
        "completion/result-shape",
        "a completion says that there is more, and that what came is all",
        on_result(("completion/complete",), _more_though_all),
    ),
    Fault(
        "completion-too-many",
        "completion/at-most-100-values completion/result-shape",
        "a completion has 101 values",
        _completion(MANY),
    ),
    Fault(
        "completion-unknown-prompt",
        "completion/unknown-prompt-refused completion/inputs-validated",
        "arguments of a prompt that does not exist are completed",
        forgiving(_unknown_prompt_reference, lambda call: {"completion": {"values": []}}),
        since="2025-03-26",
    ),
    Fault(
        "completion-context-refused",
        "completion/context-accepted",
        "a completion with context is refused",
        instead("completion/complete", _no_context),
        since="2025-06-18",
    ),
    Fault(
        "completion-context-demands-arguments",
        "completion/context-accepted",
        "a completion whose context has no arguments is refused",
        instead("completion/complete", _context_arguments_demanded),
        since="2025-06-18",
    ),
    Fault(
        "completion-error-code",
        "completion/internal-error-32603",
        "a completion that fails gives code 500",
        code("Internal error: this completion", 500),
        since="2025-03-26",
    ),
    Fault(
        "completion-missing-code",
        "completion/missing-arguments-refused jsonrpc/invalid-params-refused",
        "a completion without its argument gives -32603",
        code("Invalid params: params.argument is required", INTERNAL_ERROR),
        since="2025-03-26",
    ),
    Fault(
        "completion-unsupported-code",
        "completion/unsupported-refused jsonrpc/undeclared-feature-refused",
        "without completion, completion/complete gives -32603",
        several(
            without("completions"),
            code("Method not found: completion/complete", INTERNAL_ERROR),
        ),
        since="2025-03-26",
    ),
    Fault(
        "completion-demands-value",
        "completion/method-available completion/internal-error-32603 completion/at-most-100-values",
        "a completion is refused while nothing is typed",
        instead("completion/complete", _value_demanded),
        since="2025-03-26",
    ),
    Fault(
        "completion-uncut",
        "completion/at-most-100-values completion/result-shape",
        "where there are more than 100 values, all of them come",
        on_result(("completion/complete",), _uncut),
    ),
    Fault(
        "completion-of-nonsense",
        "completion/inputs-validated",
        "a reference of a type that does not exist is completed",
        forgiving(_of_no_type, lambda call: {"completion": {"values": ["anything"]}}),
    ),
    Fault(
        "completion-failure-text",
        "completion/internal-error-32603",
        "a completion that fails gives -32000",
        on_error("Internal error: this completion", lambda message, call: message["error"].update(code=-32000)),
        since="2025-03-26",
        until="2025-11-25",
    ),
    Fault(
        "completion-with-context-refused",
        "completion/context-accepted",
        "a completion is refused when the context holds the value of another argument",
        instead("completion/complete", _known_context_refused),
        since="2025-06-18",
    ),
)
