"""Faults in errors: when they come, and their codes."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import (
    UNKNOWN_METHOD,
    UNKNOWN_TOOL,
    Fault,
    around,
    code,
    die,
    drop,
    failing,
    forgiving,
    instead,
    keep_silent,
    on_error,
    on_response,
    several,
    without,
)
from conformance.reference.methods import METHODS
from conformance.reference.wire import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    Message,
    RpcError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed

UNKNOWN = "jsonrpc/unknown-method-refused jsonrpc/unknown-method-code jsonrpc/method-names-case-sensitive"
UNKNOWN += " jsonrpc/undeclared-feature-refused versioning/removed-methods-unknown transport-http/method-not-found-404"


def _unknown_method(outcome: Any) -> Any:
    def serve(call: Call, proceed: Proceed) -> Message | None:
        return proceed(call) if call.method in METHODS else outcome()

    return around(serve)


def _unknown_tools_dropped(call: Call, proceed: Proceed) -> Message | None:
    try:
        return proceed(call)
    except RpcError as error:
        if str(error).startswith(UNKNOWN_TOOL):
            keep_silent()
        raise


def _any_case(call: Call, proceed: Proceed) -> Message | None:
    names = {name.lower(): name for name in METHODS}
    call.method = names.get(call.method.lower(), call.method)
    return proceed(call)


def _lists_failing(call: Call, proceed: Proceed) -> Message | None:
    if call.method in ("tools/list", "prompts/list", "resources/list", "resources/templates/list"):
        raise RpcError(INTERNAL_ERROR, "fetch failed")
    return proceed(call)


def _nothing_of_resources_and_prompts(call: Call, proceed: Proceed) -> Message | None:
    if call.method.startswith(("resources/", "prompts/")):
        raise RpcError(METHOD_NOT_FOUND, "Method not found")
    return proceed(call)


def _empty_result(call: Call) -> Message:
    empty: dict[str, Message] = {
        "resources/read": {"contents": []},
        "prompts/get": {"messages": []},
        "tools/call": {"content": []},
        "completion/complete": {"completion": {"values": []}},
    }
    return empty[call.method]


def _lacks_params(call: Call) -> bool:
    needed = {"resources/read": "uri", "prompts/get": "name", "tools/call": "name", "completion/complete": "ref"}
    return call.method in needed and needed[call.method] not in call.params


def _params_demanded(call: Call, proceed: Proceed) -> Message | None:
    if call.method == "resources/templates/list" and "params" not in call.message:
        raise RpcError(INVALID_PARAMS, "Invalid params: params is required")
    return proceed(call)


def _consent_by_error(message: Message, call: Call) -> None:
    if call.params.get("name") == "ask_consent":
        message.pop("result", None)
        message["error"] = {"code": -32042, "message": "Consent is needed", "data": {"elicitations": []}}


def _refusing(bad: Callable[[Any], bool]) -> Apply:
    """Refuse requests whose id is of that kind."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if bad(call.id):
            raise RpcError(INVALID_REQUEST, "The id must be another one")
        return proceed(call)

    return around(serve)


def _protocol_error(start: str, number: int) -> Apply:
    """Turn the tool errors whose text starts with `start` into error responses."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        result = proceed(call)
        if result and result.get("isError") and result["content"][0]["text"].startswith(start):
            raise RpcError(number, result["content"][0]["text"])
        return result

    return instead("tools/call", run)


def _without_backend(call: Call, proceed: Proceed) -> Message | None:
    if call.method == "tools/call" and call.params.get("name") == "echo":
        raise RpcError(INTERNAL_ERROR, "getaddrinfo ENOTFOUND api.example.com")
    return proceed(call)


FAULTS = (
    Fault(
        "negative-ids-refused",
        "jsonrpc/response-id-echoed",
        "a negative id is refused",
        _refusing(lambda given: type(given) is int and given < 0),
    ),
    Fault(
        "empty-id-refused", "jsonrpc/response-id-echoed", "an empty id is refused", _refusing(lambda given: given == "")
    ),
    Fault(
        "result-and-error",
        f"jsonrpc/result-xor-error {UNKNOWN}",
        "the error for an unknown method comes with a result as well",
        on_error(UNKNOWN_METHOD, lambda message, call: message.update(result={})),
    ),
    Fault(
        "error-null",
        "jsonrpc/result-xor-error",
        "the result of prompts/list comes with error: null",
        on_response(("prompts/list",), lambda message, call: {"error": None, **message}),
    ),
    Fault(
        "error-without-message",
        "jsonrpc/error-has-code-and-message",
        "errors have no message",
        on_error("", lambda message, call: drop(message["error"], "message")),
    ),
    Fault(
        "error-is-text",
        "jsonrpc/error-has-code-and-message",
        "an error is a text instead of an object",
        on_error("", lambda message, call: message.update(error=message["error"]["message"])),
        transports="stdio",
    ),
    Fault(
        "error-without-code",
        f"jsonrpc/error-has-code-and-message jsonrpc/error-code-integer {UNKNOWN}",
        "the error for an unknown method has no code",
        on_error(UNKNOWN_METHOD, lambda message, call: drop(message["error"], "code")),
    ),
    Fault(
        "error-code-text",
        f"jsonrpc/error-code-integer {UNKNOWN}",
        "the code of the error for an unknown method is text",
        code(UNKNOWN_METHOD, "-32601"),
    ),
    Fault(
        "invented-code",
        "jsonrpc/no-invented-reserved-codes tools/unknown-tool-refused",
        "an unknown tool gives -32300",
        code(UNKNOWN_TOOL, -32300),
        until="2025-11-25",
    ),
    Fault("unknown-method-succeeds", UNKNOWN, "an unknown method has an empty result", _unknown_method(dict)),
    Fault(
        "unknown-method-ignored",
        f"{UNKNOWN} jsonrpc/every-request-answered-once",
        "a request of an unknown method is not answered",
        _unknown_method(keep_silent),
        transports="stdio",
    ),
    Fault(
        "unknown-tool-unanswered",
        "jsonrpc/every-request-answered-once",
        "a call of a tool that does not exist is not answered",
        around(_unknown_tools_dropped),
        transports="stdio",
    ),
    Fault(
        "unknown-method-code",
        "jsonrpc/unknown-method-code jsonrpc/method-names-case-sensitive jsonrpc/undeclared-feature-refused"
        " versioning/removed-methods-unknown transport-http/method-not-found-404",
        "an unknown method gives -32603",
        code(UNKNOWN_METHOD, -32603),
    ),
    Fault(
        "undeclared-feature-internal-error",
        "jsonrpc/undeclared-feature-refused",
        "without prompts, prompts/list gives -32603",
        several(without("prompts"), failing("prompts/list", -32603)),
    ),
    Fault(
        "missing-params-accepted",
        "jsonrpc/invalid-params-refused tools/malformed-call-refused completion/missing-arguments-refused",
        "requests without their required params have empty results",
        forgiving(_lacks_params, _empty_result),
    ),
    Fault(
        "missing-params-code",
        "jsonrpc/invalid-params-refused tools/malformed-call-refused"
        " completion/missing-arguments-refused meta/missing-meta-refused logging/invalid-level-refused",
        "requests without their required params give -32603",
        code("Invalid params: params.", -32603),
    ),
    Fault(
        "input-error-as-protocol-error",
        "tools/input-errors-as-result",
        "invalid arguments give -32602",
        _protocol_error("Invalid arguments", INVALID_PARAMS),
        since="2025-11-25",
    ),
    Fault(
        "input-error-as-internal-error",
        "tools/input-errors-as-result",
        "invalid arguments give -32603",
        _protocol_error("Invalid arguments", INTERNAL_ERROR),
        since="2025-11-25",
    ),
    Fault(
        "tool-without-backend",
        "tools/execution-error-as-result tools/methods-available tools/arguments-kept-apart",
        "what a tool asks cannot be reached: it gives -32603, whatever its arguments are",
        around(_without_backend),
    ),
    Fault(
        "tool-error-as-protocol-error",
        "tools/execution-error-as-result tools/arguments-optional",
        "a tool that fails gives -32603",
        _protocol_error("This tool always fails", INTERNAL_ERROR),
    ),
    Fault(
        "parse-error-code",
        "jsonrpc/parse-error-code",
        "what is not JSON gives -32603",
        code("Parse error", -32603),
    ),
    Fault(
        "parse-error-kills",
        "jsonrpc/parse-error-code jsonrpc/every-request-answered-once",
        "what is not JSON ends the process",
        on_error("Parse error", die),
        transports="stdio",
    ),
    Fault(
        "invalid-request-code",
        "jsonrpc/invalid-request-code jsonrpc/empty-batch-refused",
        "JSON that is no message gives -32603",
        code("Invalid request", -32603),
    ),
    Fault(
        "params-demanded",
        "jsonrpc/optional-params-may-be-absent resources/templates-list-available",
        "resources/templates/list is refused without params",
        around(_params_demanded),
        until="2025-11-25",
    ),
    Fault(
        "method-case-ignored",
        "jsonrpc/method-names-case-sensitive",
        "methods are found whatever their case",
        around(_any_case),
    ),
    Fault(
        "legacy-code",
        "jsonrpc/legacy-code-band-unused tools/unknown-tool-refused",
        "an unknown tool gives -32001",
        code(UNKNOWN_TOOL, -32001),
        since="2026-07-28",
    ),
    Fault(
        "spec-code-invented",
        "jsonrpc/spec-code-band-only-defined tools/unknown-tool-refused",
        "an unknown tool gives -32050",
        code(UNKNOWN_TOOL, -32050),
        since="2026-07-28",
    ),
    Fault(
        "spec-code-misused",
        "jsonrpc/spec-codes-as-specified tools/unknown-tool-refused",
        "an unknown tool gives -32020, without a header in sight",
        code(UNKNOWN_TOOL, -32020),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "retired-code-32002",
        "jsonrpc/retired-code-32002-unused resources/not-found-32602 jsonrpc/legacy-code-band-unused"
        " resources/uri-inputs-validated",
        "a resource that does not exist gives -32002",
        code("Resource not found", -32002),
        since="2026-07-28",
    ),
    Fault(
        "retired-code-32042",
        "jsonrpc/retired-code-32042-unused jsonrpc/spec-code-band-only-defined",
        "the tool ask_consent gives -32042",
        on_response(("tools/call",), _consent_by_error),
        since="2026-07-28",
    ),
    Fault(
        "application-code-reserved",
        "jsonrpc/application-codes-outside-reserved tools/unknown-tool-refused",
        "an unknown tool gives -32300",
        code(UNKNOWN_TOOL, -32300),
        since="2026-07-28",
    ),
    Fault(
        "lists-fail-inside",
        "tools/methods-available prompts/methods-available resources/methods-available"
        " resources/templates-list-available",
        "each list is refused by an internal error",
        around(_lists_failing),
    ),
    Fault(
        "resources-and-prompts-not-there",
        "resources/methods-available prompts/methods-available resources/templates-list-available",
        "resources and prompts are declared, and all their methods are unknown",
        around(_nothing_of_resources_and_prompts),
    ),
)
