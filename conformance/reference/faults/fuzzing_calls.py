"""Faults that show only with odd methods, params and arguments: for the campaigns."""

from __future__ import annotations

import time
import traceback

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, die, keep_silent, on_tool, sending
from conformance.reference.wire import INTERNAL_ERROR, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

ONCE = "jsonrpc/every-request-answered-once"
REFUSED = "jsonrpc/invalid-params-refused"
UNKNOWN = "jsonrpc/unknown-method-refused"
VALIDATED = "tools/inputs-validated"
EXECUTION = "tools/execution-error-as-result"
BOTH = "2025-11-25 2026-07-28"


def _when(test: Callable[[Call], Any], act: Callable[[Call], Any]) -> Apply:
    """Serve the requests for which `test` is true by `act`."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        hit = isinstance(call.params, dict) and test(call)
        result: Message | None = act(call) if hit else proceed(call)
        return result

    return around(serve)


def _param(method: str, name: str, kinds: type | tuple[type, ...]) -> Callable[[Call], bool]:
    return lambda call: call.method == method and name in call.params and isinstance(call.params[name], kinds)


def _argument(tool: str, test: Callable[[Any], Any]) -> Callable[[Call], Any]:
    def check(call: Call) -> Any:
        given = call.params.get("arguments")
        return (
            call.method == "tools/call" and call.params.get("name") == tool and isinstance(given, dict) and test(given)
        )

    return check


def _empty(call: Call) -> Message:
    return {}


def _hang(call: Call) -> Message:
    while True:
        time.sleep(3600)


def _internal(call: Call) -> Message:
    try:
        return dict(call.params[""])
    except KeyError:
        raise RpcError(INTERNAL_ERROR, traceback.format_exc()) from None


def _as_real(server: Server) -> None:
    """A method that begins like a real one is taken for it."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        for name in ("tools/list", "prompts/list", "resources/list", "ping", "server/discover"):
            if call.method.startswith(name):
                call.method = name
        return proceed(call)

    around(serve)(server)


def _lenient(keyword: str) -> Apply:
    """One keyword of JSON Schema is not enforced."""

    def apply(server: Server) -> None:
        check = server.problem

        def without(schema: Any) -> Any:
            if isinstance(schema, dict):
                return {name: without(value) for name, value in schema.items() if name != keyword}
            return [without(each) for each in schema] if isinstance(schema, list) else schema

        server.problem = lambda value, schema: check(value, without(schema))

    return apply


def _astral(result: Message) -> None:
    texts = [block.get("text", "") for block in result.get("content", ())]
    if any(ord(character) > 0xFFFF for words in texts for character in words):
        result["content"] = texts[0]


def _infinite(result: Message) -> None:
    value = result.get("structuredContent", {}).get("sum", 0)
    if isinstance(value, float) and abs(value) > 1e100:
        result["structuredContent"] = {"sum": str(value)}


def _coded(message: Message, call: Call | None) -> None:
    if call is not None and "error" in message and not call.method.isprintable():
        message["error"]["code"] = INTERNAL_ERROR


def _row(name: str, requirements: str, summary: str, apply: Apply) -> Fault:
    return Fault(name, requirements, summary, apply, only=BOTH)


FAULTS = (
    _row(
        "long-method-kills",
        ONCE,
        "a method of 5000 characters ends the process",
        _when(lambda c: len(c.method) >= 5000, die),
    ),
    _row("format-kills", ONCE, "a % in a method ends the process", _when(lambda c: "%" in c.method, die)),
    _row(
        "prototype-succeeds",
        UNKNOWN,
        "methods named like members of every object have a result",
        _when(lambda c: c.method in ("constructor", "__proto__", "toString", "hasOwnProperty"), _empty),
    ),
    _row("prefix-succeeds", UNKNOWN, "a method that begins like a real one is taken for it", _as_real),
    _row(
        "empty-method-ignored",
        UNKNOWN,
        "a request with an empty method is not answered",
        _when(lambda c: not c.method, keep_silent),
    ),
    _row(
        "unprintable-method-code",
        "jsonrpc/unknown-method-code",
        "a method with a control character gives -32603",
        sending(_coded),
    ),
    _row(
        "cursor-object-kills",
        ONCE,
        "an object as cursor ends the process",
        _when(_param("tools/list", "cursor", dict), die),
    ),
    _row(
        "uri-null-traceback",
        REFUSED,
        "null as uri gives -32603 with a stack trace",
        _when(_param("resources/read", "uri", type(None)), _internal),
    ),
    _row(
        "prompt-arguments-array",
        REFUSED,
        "prompts/get takes an array for no arguments",
        _when(_param("prompts/get", "arguments", list), lambda call: {"messages": []}),
    ),
    _row(
        "odd-reference-accepted",
        REFUSED,
        "completion for a reference of an unknown type has an empty result",
        _when(
            lambda c: (
                c.method == "completion/complete"
                and isinstance(c.params.get("ref"), dict)
                and c.params["ref"].get("type") not in ("ref/prompt", "ref/resource")
            ),
            lambda call: {"completion": {"values": []}},
        ),
    ),
    _row(
        "name-array-hangs",
        ONCE,
        "an array as the name of a prompt hangs the server",
        _when(_param("prompts/get", "name", list), _hang),
    ),
    _row(
        "tool-arguments-text",
        REFUSED,
        "a tool takes text for no arguments",
        _when(_param("tools/call", "arguments", str), lambda call: {"content": []}),
    ),
    _row(
        "overflow-internal",
        EXECUTION,
        "a number beyond 64 bits gives -32603",
        _when(_argument("add", lambda a: any(isinstance(n, int) and abs(n) >= 2**63 for n in a.values())), _internal),
    ),
    _row(
        "overflow-kills",
        ONCE,
        "a number beyond 53 bits ends the process",
        _when(_argument("add", lambda a: any(isinstance(n, int) and abs(n) > 2**53 for n in a.values())), die),
    ),
    _row("enum-not-enforced", VALIDATED, "the keyword enum of an inputSchema is not enforced", _lenient("enum")),
    _row("max-items-not-enforced", VALIDATED, "the keyword maxItems is not enforced", _lenient("maxItems")),
    _row("min-length-not-enforced", VALIDATED, "the keyword minLength is not enforced", _lenient("minLength")),
    _row("maximum-not-enforced", VALIDATED, "the keyword maximum is not enforced", _lenient("maximum")),
    _row(
        "empty-text-kills",
        ONCE,
        "an empty text ends the process",
        _when(_argument("echo", lambda a: a.get("text") == ""), die),
    ),
    _row(
        "long-text-kills",
        ONCE,
        "a text of 65536 characters ends the process",
        _when(_argument("echo", lambda a: isinstance(a.get("text"), str) and len(a["text"]) > 65535), die),
    ),
    _row(
        "control-text-internal",
        EXECUTION,
        "a NUL in a text gives -32603",
        _when(_argument("echo", lambda a: isinstance(a.get("text"), str) and "\u0000" in a["text"]), _internal),
    ),
    _row(
        "astral-text-unwrapped",
        "content/known-types",
        "a text beyond the Basic Multilingual Plane is returned as it is, in no block",
        on_tool("echo", _astral),
    ),
    _row(
        "huge-sum-as-text",
        "tools/structured-content-conforms tools/structured-content-text-copy",
        "a sum beyond 1e100 is text in the structured content",
        on_tool("add", _infinite),
    ),
)
