"""Faults in prompts."""

from __future__ import annotations

import os

from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    code,
    drop,
    dropped,
    failing,
    forgiving,
    instead,
    on_item,
    on_result,
    undeclared,
)
from conformance.reference.prompts import Prompt, argument
from conformance.reference.shape import text
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

SHAPE = "prompts/list-shape"
GET = "prompts/get-shape"


def _member(name: str, value: Any) -> Apply:
    return on_item("prompts/list", "hello", lambda item: item.update({name: value}))


def _first_twice(result: Message, call: Call) -> None:
    result["prompts"].append(result["prompts"][0])


def _content_array(result: Message, call: Call) -> None:
    for message in result["messages"]:
        message["content"] = [message["content"]]


def _system_role(result: Message, call: Call) -> None:
    for message in result["messages"]:
        message["role"] = "system"


def _unknown(call: Call) -> bool:
    return call.method == "prompts/get" and call.params.get("name") not in call.server.prompts


def _incomplete(call: Call) -> bool:
    return call.method == "prompts/get" and call.params.get("name") in ("greet", "summarize")


def _something(call: Call) -> Message:
    return {"messages": [{"role": "user", "content": text("Say hello.")}]}


def _of_this_process(server: Server) -> None:
    name = f"process_{os.getpid()}"
    server.prompts[name] = Prompt(name, "Say hello", lambda values: [])


def _one_of_the_prompts(call: Call) -> bool:
    return call.method == "prompts/get" and call.params.get("name") == "summarize"


def _forgetful(result: Message, call: Call) -> None:
    if _one_of_the_prompts(call):
        result["messages"] = [{"role": "user", "content": text("Summarize.")}]


def _one_unknown(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("name") == "summarize":
        raise RpcError(INVALID_PARAMS, "Unknown prompt: summarize")
    return proceed(call)


def _arguments_needed(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("name") in call.server.prompts and "arguments" not in call.params:
        raise RpcError(INVALID_PARAMS, "Invalid params: arguments are missing")
    return proceed(call)


def _translate(values: dict[str, str]) -> list[Message]:
    return [{"role": "user", "content": text(f"Translate into {values['language']}: {values['text']}")}]


def _second_unchecked(server: Server) -> None:
    """Have a prompt with two required arguments, and miss only the first of them."""
    needs = [argument("text", "What to translate", True), argument("language", "Into which language", True)]
    server.prompts["translate"] = Prompt("translate", "Translate a text", _translate, needs)
    forgiving(_half_given, _something)(server)


def _half_given(call: Call) -> bool:
    given = call.params.get("arguments")
    return call.method == "prompts/get" and call.params.get("name") == "translate" and "text" in (given or {})


def _bare_if_empty(result: Message, call: Call) -> None:
    if "" in (call.params.get("arguments") or {}).values():
        drop(result, "messages")


FAULTS = (
    Fault(
        "empty-argument-without-messages",
        "prompts/get-shape",
        "a prompt with an empty argument has no messages",
        on_result(("prompts/get",), _bare_if_empty),
    ),
    Fault(
        "prompt-arguments-needed",
        "prompts/methods-available",
        "a prompt without required arguments is refused where the member arguments is left out",
        instead("prompts/get", _arguments_needed),
    ),
    Fault(
        "second-prompt-argument-unchecked",
        "prompts/missing-argument-refused prompts/arguments-validated",
        "a prompt with two required arguments is filled without the second",
        _second_unchecked,
    ),
    Fault(
        "one-prompt-unknown",
        "prompts/methods-available",
        "one of the listed prompts is unknown when it is fetched",
        instead("prompts/get", _one_unknown),
    ),
    Fault(
        "prompts-undeclared",
        "prompts/capability-declared jsonrpc/undeclared-feature-refused discovery/only-declared-notifications",
        "there are prompts, but the capability is not declared",
        undeclared("prompts"),
    ),
    Fault(
        "prompts-get-unknown",
        "prompts/methods-available prompts/missing-argument-refused",
        "prompts/get is an unknown method",
        failing("prompts/get", METHOD_NOT_FOUND),
    ),
    Fault(
        "prompts-list-unknown",
        "prompts/methods-available",
        "prompts/list is an unknown method",
        failing("prompts/list", METHOD_NOT_FOUND),
    ),
    Fault("prompt-arguments-null", SHAPE, "a prompt has arguments: null", _member("arguments", None)),
    Fault("prompt-title-number", SHAPE, "a prompt's description is a number", _member("description", 5)),
    Fault(
        "prompt-listed-twice",
        "prompts/name-unique",
        "the first prompt of each page is listed twice",
        on_result(("prompts/list",), _first_twice),
    ),
    Fault(
        "prompt-content-array",
        f"{GET} content/known-types",
        "the content of prompt messages is an array",
        on_result(("prompts/get",), _content_array),
    ),
    Fault(
        "prompt-role-system",
        GET,
        "the role of prompt messages is system",
        on_result(("prompts/get",), _system_role),
    ),
    Fault(
        "prompt-without-messages",
        GET,
        "the result of prompts/get has no messages",
        on_result(("prompts/get",), lambda result, call: drop(result, "messages")),
    ),
    Fault(
        "unknown-prompt-succeeds",
        "prompts/unknown-name-refused jsonrpc/invalid-params-refused",
        "a prompt that does not exist has messages",
        forgiving(_unknown, _something),
    ),
    Fault(
        "unknown-prompt-code",
        "prompts/unknown-name-refused",
        "a prompt that does not exist gives -32603",
        code("Unknown prompt", INTERNAL_ERROR),
    ),
    Fault(
        "missing-argument-accepted",
        "prompts/missing-argument-refused prompts/arguments-validated jsonrpc/invalid-params-refused",
        "a prompt is filled without its required argument",
        forgiving(_incomplete, _something),
    ),
    Fault(
        "missing-argument-code",
        "prompts/missing-argument-refused prompts/arguments-validated",
        "a prompt without its required argument gives -32603",
        code("Missing argument", INTERNAL_ERROR),
    ),
    Fault(
        "prompt-arguments-unchecked",
        "prompts/arguments-validated prompts/missing-argument-refused jsonrpc/invalid-params-refused",
        "whatever arguments a prompt is given, it is filled",
        forgiving(_incomplete, _something),
    ),
    Fault(
        "prompt-error-code",
        "prompts/internal-error-32603",
        "a prompt that fails gives code 500",
        code("Internal error: this prompt", 500),
    ),
    Fault(
        "prompts-change-unannounced",
        "prompts/list-change-announced",
        "changes of the prompt list are not announced",
        dropped("notifications/prompts/list_changed"),
        until="2025-11-25",
    ),
    Fault(
        "prompts-change-untold",
        "prompts/list-change-announced-to-subscribers",
        "changes of the prompt list are not announced",
        dropped("notifications/prompts/list_changed"),
        since="2026-07-28",
    ),
    Fault(
        "prompts-by-process",
        "prompts/list-independent-of-connection",
        "every process lists a prompt of its own",
        _of_this_process,
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "one-prompt-unchecked",
        "prompts/missing-argument-refused prompts/arguments-validated",
        "one of the prompts is filled without its required argument",
        forgiving(_one_of_the_prompts, lambda call: {"messages": [{"role": "user", "content": text("Summarize.")}]}),
    ),
    Fault(
        "prompt-without-its-arguments",
        "prompts/arguments-used",
        "one of the prompts says the same for all arguments",
        on_result(("prompts/get",), _forgetful),
    ),
)
