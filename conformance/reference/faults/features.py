"""Faults in completion, logging, progress, cancellation, content and what the client is asked for."""

from __future__ import annotations

from conformance.reference.call import Call, missing_capability
from conformance.reference.faults.base import (
    Fault,
    code,
    drop,
    failing,
    forgiving,
    instead,
    on_item,
    on_notification,
    on_question,
    on_result,
    on_tool,
    sending,
    setting,
    undeclared,
)
from conformance.reference.tasks import TaskCall
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.faults.base import Apply, Proceed

PROGRESS = "notifications/progress"
LOG = "notifications/message"
DRAFT_07 = "http://json-schema.org/draft-07/schema#"
MANY = [f"value {number}" for number in range(101)]


def _completion(values: list[Any]) -> Apply:
    return on_result(("completion/complete",), lambda result, call: result["completion"].update(values=values))


def _no_context(call: Call, proceed: Proceed) -> Message | None:
    if "context" in call.params:
        raise RpcError(INVALID_PARAMS, "Invalid params: context is not known")
    return proceed(call)


def _bad_level(call: Call) -> bool:
    return call.method == "logging/setLevel"


def _unknown_prompt_reference(call: Call) -> bool:
    return call.method == "completion/complete" and "name" in call.params.get("ref", {}) and "argument" in call.params


def _level_forgotten(call: Call, proceed: Proceed) -> Message | None:
    level = call.peer.level
    result = proceed(call)
    call.peer.level = level
    return result


def _block(kind: str, change: Callable[[Message], Any]) -> Apply:
    """Change the blocks of one type in the results of show_content."""

    def change_blocks(result: Message) -> None:
        for block in result["content"]:
            if block["type"] == kind:
                change(block)

    return on_tool("show_content", change_blocks)


def _late_progress(message: Message, call: Call | None) -> Any:
    token = call.meta.get("progressToken") if call and "method" not in message else None
    if token is None or isinstance(call, TaskCall) or "task" in message.get("result", {}):
        return message
    return [message, notification(PROGRESS, {"progressToken": token, "progress": 1000})]


def _own_token(message: Message, call: Call | None) -> None:
    message["params"]["progressToken"] = "own-token"


def _falling(message: Message, call: Call | None) -> None:
    message["params"]["progress"] = -message["params"]["progress"]


def _same_again(message: Message, call: Call | None) -> list[Message]:
    if message.get("method") == "elicitation/create" and "elicitationId" in message["params"]:
        return [message, {**message, "id": f"{message['id']}-again"}]
    return [message]


def _roots_token(message: Message, call: Call | None) -> None:
    if message.get("method") == "roots/list":
        message["params"] = {"_meta": {"progressToken": None}}


def _consent_of_anybody(call: Call, request: Message) -> Message | None:
    consent = request.get("params", {}).get("url", "").endswith("/consent")
    return None if consent and call.client else missing_capability(call, request)


def _complete_unknown(message: Message, call: Call | None) -> list[Message]:
    consent = call is not None and call.method == "tools/call" and call.params.get("name") == "ask_consent"
    if consent and "result" in message and "method" not in message:
        return [notification("notifications/elicitation/complete", {"elicitationId": "never"}), message]
    return [message]


def _nested(params: Message) -> None:
    if "requestedSchema" in params:
        params["requestedSchema"]["properties"]["home"] = {
            "type": "object",
            "properties": {"street": {"type": "string"}},
        }


FAULTS = (
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
        "set-level-unknown",
        "logging/set-level-answered logging/invalid-level-refused logging/level-filter",
        "logging/setLevel is an unknown method although logging is declared",
        failing("logging/setLevel", METHOD_NOT_FOUND),
        until="2025-11-25",
    ),
    Fault(
        "bad-level-accepted",
        "logging/invalid-level-refused",
        "an unknown log level is accepted",
        forgiving(_bad_level, lambda call: {}),
        until="2025-11-25",
    ),
    Fault(
        "level-forgotten",
        "logging/level-filter",
        "the log level that was set has no effect",
        instead("logging/setLevel", _level_forgotten),
        until="2025-11-25",
    ),
    Fault(
        "log-level-unknown",
        "logging/message-shape",
        "log messages have the level verbose",
        on_notification(LOG, lambda message, call: message["params"].update(level="verbose")),
    ),
    Fault(
        "log-without-data",
        "logging/message-shape",
        "log messages have no data",
        on_notification(LOG, lambda message, call: drop(message["params"], "data")),
    ),
    Fault(
        "progress-token-own",
        "progress/known-token-only",
        "progress carries a token that the client never gave",
        on_notification(PROGRESS, _own_token),
    ),
    Fault("progress-falls", "progress/value-increases", "progress decreases", on_notification(PROGRESS, _falling)),
    Fault(
        "progress-after-result",
        "progress/stops-after-completion",
        "progress comes after the result",
        sending(_late_progress),
        transports="stdio",
    ),
    Fault(
        "progress-total-null",
        "progress/shape",
        "progress has total: null",
        on_notification(PROGRESS, lambda message, call: message["params"].update(total=None)),
    ),
    Fault(
        "cancels-requests-of-client",
        "cancellation/own-requests-only",
        "notifications/cancelled names requests of the client",
        on_result(("tools/call",), lambda result, call: call.notify("notifications/cancelled", {"requestId": call.id})),
        until="2025-11-25",
    ),
    Fault(
        "cancels-calls",
        "cancellation/server-cancels-listen-only",
        "notifications/cancelled is sent for tool calls",
        on_result(("tools/call",), lambda result, call: call.notify("notifications/cancelled", {"requestId": call.id})),
        since="2026-07-28",
    ),
    Fault(
        "cancelled-without-id",
        "cancellation/shape cancellation/own-requests-only lifecycle/timed-out-request-cancelled",
        "notifications/cancelled has a requestId that is an object",
        on_notification("notifications/cancelled", lambda message, call: message["params"].update(requestId={})),
        since="2025-03-26",
        until="2025-11-25",
    ),
    Fault(
        "content-type-unknown",
        "content/known-types tools/call-result-shape",
        "a tool returns a block of type html",
        _block("text", lambda block: block.update(type="html")),
    ),
    Fault(
        "text-null",
        "content/text-shape tools/call-result-shape",
        "a text block has text: null",
        _block("text", lambda block: block.update(text=None)),
    ),
    Fault(
        "image-as-data-uri",
        "content/image-data-base64 tools/call-result-shape",
        "the data of an image is a data: URI",
        _block("image", lambda block: block.update(data=f"data:image/png;base64,{block['data']}")),
    ),
    Fault(
        "audio-as-data-uri",
        "content/audio-data-base64 tools/call-result-shape",
        "the data of a sound is a data: URI",
        _block("audio", lambda block: block.update(data=f"data:audio/wav;base64,{block['data']}")),
        since="2025-03-26",
    ),
    Fault(
        "embedded-without-uri",
        "content/embedded-resource-shape tools/call-result-shape",
        "an embedded resource has no uri",
        _block("resource", lambda block: drop(block["resource"], "uri")),
    ),
    Fault(
        "link-without-name",
        "content/resource-link-shape tools/call-result-shape",
        "a resource link has no name",
        _block("resource_link", lambda block: drop(block, "name")),
        since="2025-06-18",
    ),
    Fault(
        "priority-high",
        "content/annotations-shape tools/call-result-shape",
        "the annotation priority is high",
        _block("image", lambda block: block["annotations"].update(priority="high")),
    ),
    Fault(
        "icon-without-src",
        "content/icon-shape prompts/list-shape",
        "an icon has no src",
        on_item("prompts/list", "hello", lambda item: item.update(icons=[{"mimeType": "image/png"}])),
        since="2025-11-25",
    ),
    Fault(
        "icon-script",
        "content/icon-scheme-safe",
        "an icon has a javascript: URI",
        on_item("prompts/list", "hello", lambda item: item.update(icons=[{"src": "javascript:alert(1)"}])),
        since="2025-11-25",
    ),
    Fault(
        "sampling-without-limit",
        "sampling/request-shape",
        "sampling requests have no maxTokens",
        on_question("sampling/createMessage", lambda params: drop(params, "maxTokens")),
    ),
    Fault(
        "form-nested",
        "elicitation/form-schema-flat elicitation/form-shape",
        "an elicitation form has a nested object",
        on_question("elicitation/create", _nested),
        since="2025-06-18",
    ),
    Fault(
        "form-without-message",
        "elicitation/form-shape elicitation/url-shape",
        "elicitation requests have no message",
        on_question("elicitation/create", lambda params: drop(params, "message")),
        since="2025-06-18",
    ),
    Fault(
        "schema-invalid",
        "json-schema/published-schemas-valid tools/list-shape",
        "a tool's inputSchema has a type that JSON Schema does not know",
        on_item("tools/list", "echo", lambda item: item["inputSchema"]["properties"]["text"].update(type="text")),
        since="2025-11-25",
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
        "url-relative",
        "elicitation/url-valid elicitation/url-https elicitation/url-shape",
        "URL elicitation names a path instead of a URL",
        on_question("elicitation/create", lambda params: params.update(url="/consent") if "url" in params else None),
        since="2025-11-25",
    ),
    Fault(
        "url-plain-http",
        "elicitation/url-https",
        "URL elicitation uses http",
        on_question(
            "elicitation/create",
            lambda params: params.update(url="http://example.com/consent") if "url" in params else None,
        ),
        since="2025-11-25",
    ),
    Fault(
        "elicitation-id-reused",
        "elicitation/id-unique",
        "a URL elicitation is sent twice, with the same elicitationId",
        sending(_same_again),
        since="2025-11-25",
        until="2025-11-25",
    ),
    Fault(
        "samples-with-tools-undeclared",
        "sampling/tools-need-capability",
        "sampling requests offer tools, although the client did not declare sampling.tools",
        on_question("sampling/createMessage", lambda params: params.update(tools=[], toolChoice={"mode": "auto"})),
        since="2025-11-25",
    ),
    Fault(
        "progress-token-null",
        "progress/server-token-valid sampling/request-shape",
        "sampling requests carry a progressToken that is null",
        on_question("sampling/createMessage", lambda params: params.update(_meta={"progressToken": None})),
        until="2025-11-25",
    ),
    Fault(
        "roots-token-null",
        "roots/request-shape progress/server-token-valid",
        "roots/list carries a progressToken that is null",
        sending(_roots_token),
        until="2025-11-25",
    ),
    Fault(
        "completes-unknown-elicitation",
        "elicitation/complete-names-known-id",
        "the end of an elicitation is told for one that never was",
        sending(_complete_unknown),
        since="2025-11-25",
        until="2025-11-25",
    ),
    Fault(
        "schema-draft-07",
        "json-schema/dialect-2020-12-preferred",
        "a tool's inputSchema names draft-07",
        on_item("tools/list", "echo", lambda item: item["inputSchema"].update({"$schema": DRAFT_07})),
        since="2025-11-25",
    ),
    Fault(
        "meta-prefix-forwards",
        "meta/prefix-in-reverse-dns",
        "a _meta key has a domain name in its usual order",
        on_item("tools/list", "echo", lambda item: item.update(_meta={"example.com/key": True})),
        since="2025-11-25",
    ),
    Fault(
        "elicits-by-url-undeclared",
        "elicitation/mode-declared discovery/only-declared-client-capabilities",
        "URL mode is used with clients that declared only forms",
        setting("missing_capability", _consent_of_anybody),
        since="2025-11-25",
    ),
)
