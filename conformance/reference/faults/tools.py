"""Faults in tools."""

from __future__ import annotations

import os
from collections import Counter

from conformance.reference.call import Call
from conformance.reference.fault import (
    UNKNOWN_TOOL,
    Fault,
    around,
    code,
    drop,
    dropped,
    failing,
    forgiving,
    instead,
    on_item,
    on_result,
    on_tool,
    setting,
    several,
    undeclared,
    without,
)
from conformance.reference.server import offset
from conformance.reference.shape import text
from conformance.reference.tool import Tool, answer
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

CALL = "tools/call-result-shape"
SHAPE = "tools/list-shape"
CONFORMS = "tools/structured-content-conforms"
COPY = "tools/structured-content-text-copy"
INPUTS = "tools/inputs-validated tools/input-errors-as-result"


def _miscounted(result: Message, call: Call) -> None:
    if "progressToken" in call.meta and call.params.get("name") == "count":
        result["structuredContent"] = {"steps": "as many as you wanted"}


def _member(tool: str, name: str, value: Any) -> Apply:
    return on_item("tools/list", tool, lambda item: item.update({name: value}))


def _hint(name: str, value: Any) -> Apply:
    return on_item("tools/list", "no_content", lambda item: item["annotations"].update({name: value}))


def _extra(name: str) -> Apply:
    def apply(server: Server) -> None:
        server.tools[name] = Tool(name, "Say hello", lambda call, given: answer("Hello."))

    return apply


def _first_twice(result: Message, call: Call) -> None:
    result["tools"].append(result["tools"][0])


def _any_case(call: Call, proceed: Proceed) -> Message | None:
    names = {name.lower(): name for name in call.server.tools}
    name = call.params.get("name")
    if isinstance(name, str):
        call.params["name"] = names.get(name.lower(), name)
    return proceed(call)


def _other_order(call: Call, proceed: Proceed) -> Message | None:
    if "cursor" not in call.params:
        call.server.tools = dict(reversed(call.server.tools.items()))
    return proceed(call)


def _last_called_first(call: Call, proceed: Proceed) -> Message | None:
    tools, name = call.server.tools, call.params.get("name")
    if call.method == "tools/call" and name in tools and call.revision >= "2026-07-28":
        call.server.tools = {name: tools[name], **tools}
    return proceed(call)


def _unchecked(call: Call, proceed: Proceed) -> Message | None:
    try:
        return proceed(call)
    except (KeyError, TypeError, AttributeError, ValueError):
        return call.server.shape(call.method, answer("Done."), call.revision)


def _arguments_demanded(call: Call, proceed: Proceed) -> Message | None:
    if "arguments" not in call.params:
        raise RpcError(INVALID_PARAMS, "Invalid params: params.arguments is required")
    return proceed(call)


def _arguments_demanded_by_one(call: Call, proceed: Proceed) -> Message | None:
    return _arguments_demanded(call, proceed) if call.params.get("name") == "no_content" else proceed(call)


def _malformed(call: Call) -> bool:
    arguments = call.params.get("arguments", {})
    return call.method == "tools/call" and ("name" not in call.params or not isinstance(arguments, dict))


def _unknown(call: Call) -> bool:
    return call.method == "tools/call" and call.params.get("name") not in call.server.tools


def _second_list_bare() -> Apply:
    walks: Counter[str] = Counter()

    def change(result: Message, call: Call) -> None:
        walks["begun"] += "cursor" not in call.params
        if walks["begun"] > 1:
            for tool in result["tools"]:
                del tool["inputSchema"]

    return on_result(("tools/list",), change)


def _second_call_bare() -> Apply:
    calls: Counter[str] = Counter()

    def change(result: Message, call: Call) -> None:
        calls[call.params["name"]] += 1
        if calls[call.params["name"]] > 1:
            result.pop("content", None)

    return on_result(("tools/call",), change)


def _one_unknown(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("name") == "version":
        raise RpcError(INVALID_PARAMS, "Unknown tool: version")
    return proceed(call)


FAULTS = (
    Fault(
        "one-tool-unknown",
        "tools/methods-available",
        "one of the listed tools is unknown when it is called",
        instead("tools/call", _one_unknown),
    ),
    Fault(
        "tools-call-unknown",
        "tools/methods-available tools/input-errors-as-result tools/unknown-tool-refused",
        "tools/call is an unknown method",
        failing("tools/call", METHOD_NOT_FOUND),
    ),
    Fault(
        "tools-undeclared",
        "tools/capability-declared jsonrpc/undeclared-feature-refused discovery/only-declared-notifications",
        "there are tools, but the capability is not declared",
        undeclared("tools"),
    ),
    Fault(
        "tools-list-unknown",
        "tools/methods-available",
        "tools/list is an unknown method",
        failing("tools/list", -32601),
    ),
    Fault("description-null", SHAPE, "a tool has description: null", _member("version", "description", None)),
    Fault("tool-name-number", SHAPE, "a tool's name is a number", _member("no_content", "name", 7)),
    Fault(
        "input-schema-null",
        f"tools/input-schema-object {SHAPE} json-schema/published-schemas-valid",
        "a tool has inputSchema: null",
        _member("no_content", "inputSchema", None),
        until="2025-11-25",
    ),
    Fault(
        "input-schema-missing",
        f"tools/input-schema-object {SHAPE} json-schema/published-schemas-valid",
        "a tool has no inputSchema",
        on_item("tools/list", "no_content", lambda item: item.pop("inputSchema")),
        until="2025-11-25",
    ),
    Fault(
        "input-schema-untyped",
        f"tools/input-schema-object-any-vocabulary {SHAPE}",
        "a tool's inputSchema is {}",
        _member("no_content", "inputSchema", {}),
        since="2026-07-28",
    ),
    Fault(
        "no-parameter-schema-open",
        "tools/no-parameter-schema-recommended",
        "a tool without parameters does not say that it allows none",
        _member("version", "inputSchema", {"type": "object"}),
        since="2025-11-25",
    ),
    Fault(
        "output-schema-array",
        f"tools/output-schema-object {SHAPE} {CONFORMS}",
        "a tool's outputSchema is of type array",
        _member("list_primes", "outputSchema", {"type": "array"}),
        since="2025-06-18",
        until="2025-11-25",
    ),
    Fault(
        "output-schema-true",
        f"tools/output-schema-any-root {SHAPE} json-schema/published-schemas-valid",
        "a tool's outputSchema is true",
        _member("list_primes", "outputSchema", True),
        since="2026-07-28",
    ),
    Fault(
        "hint-text",
        f"tools/annotations-shape {SHAPE}",
        "a hint of a tool is text",
        _hint("openWorldHint", "no"),
        since="2025-03-26",
    ),
    Fault(
        "task-support-unknown",
        f"tools/execution-shape {SHAPE}",
        "a tool's taskSupport is sometimes",
        _member("no_content", "execution", {"taskSupport": "sometimes"}),
        only="2025-11-25",
    ),
    Fault(
        "tool-listed-twice",
        "tools/name-unique",
        "the first tool of each page is listed twice",
        on_result(("tools/list",), _first_twice),
    ),
    Fault(
        "tool-name-long",
        "tools/name-length",
        "a tool's name has 129 characters",
        _extra("x" * 129),
        since="2025-11-25",
    ),
    Fault(
        "tool-name-characters",
        "tools/name-characters",
        "a tool's name has a blank and an exclamation mark",
        _extra("say hello!"),
        since="2025-11-25",
    ),
    Fault(
        "tool-case-ignored",
        "tools/name-case-sensitive",
        "tools are found whatever their case",
        instead("tools/call", _any_case),
        since="2025-11-25",
    ),
    Fault(
        "tools-change-unannounced",
        "tools/list-change-announced",
        "changes of the tool list are not announced",
        dropped("notifications/tools/list_changed"),
        until="2025-11-25",
    ),
    Fault(
        "tools-change-untold",
        "tools/list-change-announced-to-subscribers",
        "changes of the tool list are not announced",
        dropped("notifications/tools/list_changed"),
        since="2026-07-28",
    ),
    Fault(
        "tools-by-process",
        "tools/list-independent-of-connection versioning/no-connection-affinity",
        "every process lists a tool of its own",
        _extra(f"process_{os.getpid()}"),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "tools-in-any-order",
        "tools/list-order-deterministic pagination/stable-cursors tools/name-unique pagination/cursor-accepted"
        " tools/list-independent-of-connection meta/behaviour-independent-of-client-info",
        "tools come in another order each time",
        instead("tools/list", _other_order),
        since="2026-07-28",
    ),
    Fault(
        "tools-last-called-first",
        "tools/list-order-deterministic pagination/stable-cursors pagination/cursor-accepted"
        " tools/list-independent-of-connection meta/behaviour-independent-of-client-info tools/name-unique",
        "the tool that was called last comes first in the list",
        around(_last_called_first),
        since="2026-07-28",
    ),
    Fault(
        "result-without-content",
        f"{CALL} tools/arguments-optional",
        "the result of the tool no_content has no content",
        on_tool("no_content", lambda result: drop(result, "content")),
    ),
    Fault(
        "is-error-text",
        f"{CALL} tools/execution-error-as-result",
        "isError is text",
        on_tool("fail", lambda result: result.update(isError="true")),
    ),
    Fault(
        "arguments-demanded",
        "tools/arguments-optional tools/unknown-tool-refused",
        "tools/call without arguments is refused",
        instead("tools/call", _arguments_demanded),
    ),
    Fault(
        "arguments-demanded-by-one",
        "tools/arguments-optional",
        "one tool, not the first, is refused without arguments",
        instead("tools/call", _arguments_demanded_by_one),
    ),
    Fault(
        "unknown-tool-succeeds",
        "tools/unknown-tool-refused tools/name-case-sensitive tools/malformed-call-refused",
        "calling a tool that does not exist succeeds",
        forgiving(_unknown, lambda call: answer("Done.")),
    ),
    Fault(
        "unknown-tool-code",
        "tools/unknown-tool-refused",
        "calling a tool that does not exist gives -32603",
        code(UNKNOWN_TOOL, INTERNAL_ERROR),
    ),
    Fault(
        "malformed-call-succeeds",
        "tools/malformed-call-refused jsonrpc/invalid-params-refused",
        "tools/call without name, or with arguments that are not an object, succeeds",
        forgiving(_malformed, lambda call: answer("Done.")),
    ),
    Fault(
        "arguments-unchecked",
        f"{INPUTS} json-schema/dialect-2020-12-supported json-schema/validated-by-declared-dialect",
        "whatever arguments a tool is given, it succeeds",
        several(setting("problem", lambda value, schema: None), around(_unchecked)),
    ),
    Fault(
        "structured-content-wrong",
        f"{CONFORMS} {COPY}",
        "the structured content of a tool breaks its outputSchema",
        on_tool("settings", lambda result: result.update(structuredContent={"colour": 5})),
        since="2025-06-18",
    ),
    Fault(
        "structured-content-missing",
        CONFORMS,
        "a tool with outputSchema returns no structured content",
        on_tool("settings", lambda result: drop(result, "structuredContent")),
        since="2025-06-18",
    ),
    Fault(
        "structured-content-wrong-with-progress",
        CONFORMS,
        "structured content breaks the outputSchema where the client asked for progress",
        on_result(("tools/call",), _miscounted),
        since="2025-06-18",
    ),
    Fault(
        "structured-content-array",
        f"tools/structured-content-is-object {CONFORMS} {CALL} {COPY}",
        "the structured content of a tool is an array",
        on_tool("settings", lambda result: result.update(structuredContent=[])),
        since="2025-06-18",
        until="2025-11-25",
    ),
    Fault(
        "structured-content-without-text",
        COPY,
        "a tool with structured content returns no text copy of it",
        on_tool("settings", lambda result: result.update(content=[text("See the structured content.")])),
        since="2025-06-18",
    ),
    Fault(
        "structured-content-alone",
        COPY,
        "a tool with structured content returns no text at all",
        on_tool("settings", lambda result: result.update(content=[])),
        since="2025-06-18",
    ),
    Fault(
        "embeds-without-resources",
        "tools/embedded-resource-needs-capability",
        "a tool embeds a resource although there is no resources capability",
        without("resources"),
        since="2025-06-18",
    ),
    Fault(
        "page-overlaps",
        "tools/name-unique resources/uri-unique prompts/name-unique",
        "each page after the first begins with the last item of the one before",
        setting("offset", lambda kind, given: offset(kind, given) - 1),
    ),
    Fault(
        "second-list-without-schemas",
        "tools/input-schema-object tools/list-shape",
        "when the tools are listed for the second time they have no inputSchema",
        _second_list_bare(),
        until="2025-11-25",
    ),
    Fault(
        "second-call-without-content",
        "tools/call-result-shape tasks/result-is-final",
        "the second call of a tool has no content in its result",
        _second_call_bare(),
    ),
)
