"""What the official conformance suite (npm @modelcontextprotocol/conformance) asks a server for by name.

The names, and what each is for, are the suite's; the server offers them only when it is told to.
"""

from __future__ import annotations

import json

from conformance.reference.asking import gracefully
from conformance.reference.call import NoAnswer
from conformance.reference.prompts import PNG, WAV, Prompt, argument, user
from conformance.reference.resources import Resource, Template
from conformance.reference.schema import problem
from conformance.reference.shape import text
from conformance.reference.tool import Tool, answer, arguments, failure
from conformance.reference.wire import INVALID_PARAMS, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.server import Server
    from conformance.reference.wire import Message

    Arguments = dict[str, Any]
    Run = Callable[[Call, Arguments], Message]

STEP = 0.05
"""Seconds between the notifications of a tool that sends several."""

IMAGE: Message = {"type": "image", "data": PNG, "mimeType": "image/png"}
STRING: Message = {"type": "string"}


def _embedded(uri: str, mime_type: str, words: str) -> Message:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime_type, "text": words}}


# Tools that ask nobody.

_CONTENT: dict[str, list[Message]] = {
    "test_simple_text": [text("This is a simple text response for testing.")],
    "test_image_content": [IMAGE],
    "test_audio_content": [{"type": "audio", "data": WAV, "mimeType": "audio/wav"}],
    "test_embedded_resource": [
        _embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")
    ],
    "test_multiple_content_types": [
        text("Multiple content types test:"),
        IMAGE,
        _embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
    ],
}


def _shows(content: list[Message]) -> Run:
    return lambda call, given: {"content": content}


def _log(call: Call, given: Arguments) -> Message:
    call.log("info", "Tool execution started")
    call.pause(STEP)
    call.log("info", "Tool processing data")
    call.pause(STEP)
    call.log("info", "Tool execution completed")
    return answer("Logged three messages, if the level let them through.")


def _progress(call: Call, given: Arguments) -> Message:
    call.progress(0, 100, "started")
    call.pause(STEP)
    call.progress(50, 100, "half done")
    call.pause(STEP)
    call.progress(100, 100, "done")
    return answer("Reported progress, if there was a token.")


def _reconnection(call: Call, given: Arguments) -> Message:
    from conformance.reference.streams import Exchange

    if isinstance(call.channel, Exchange):
        call.channel.part(retry=100)
    call.pause(2 * STEP)
    return answer("Whoever reads this after a reconnection has resumed the stream.")


def _announces(kind: str) -> Run:
    def run(call: Call, given: Arguments) -> Message:
        call.server.announce(kind)
        return answer(f"Announced a change of the list of {kind}.")

    return run


_ADDRESS: Message = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": STRING, "city": STRING},
}
_CONTACT: Message = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": _ADDRESS},
    "properties": {
        "name": STRING,
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": STRING,
        "email": STRING,
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _contact(call: Call, given: Arguments) -> Message:
    # What `problem` does not know of JSON Schema: $ref, and if with then and else, which here imply the anyOf.
    needed = "phone" if given.get("contactMethod") == "phone" else "email"
    wrong = problem(given, {"required": [needed]}) or problem(given.get("address", {}), _ADDRESS, "arguments.address")
    return failure(f"Invalid arguments: {wrong}") if wrong else answer(f"To be reached at {given[needed]}.")


# Tools that ask the client.


def _form(message: str, required: tuple[str, ...] = (), **properties: Message) -> Message:
    schema: Message = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def _sampling(words: str) -> Message:
    params = {"messages": [{"role": "user", "content": text(words)}], "maxTokens": 100}
    return {"method": "sampling/createMessage", "params": params}


def _titled(count: int) -> list[Message]:
    return [{"const": f"value{number}", "title": f"Option {number}"} for number in range(1, count + 1)]


_OPTIONS = ["option1", "option2", "option3"]
_LEGACY: Message = {
    "type": "string",
    "enum": ["opt1", "opt2", "opt3"],
    "enumNames": ["Option 1", "Option 2", "Option 3"],
}
_DEFAULTS = _form(
    "Please review these values.",
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
_ENUMS = _form(
    "Please choose.",
    untitledSingle={"type": "string", "enum": _OPTIONS},
    titledSingle={"type": "string", "oneOf": _titled(3)},
    legacyEnum=_LEGACY,
    untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": _titled(3)}},
)
_NAME = _form("What is your name?", ("name",), name=STRING)
_COLOUR = _form("What is your favourite colour?", ("color",), color=STRING)
_CONFIRM = _form("Please confirm", ("ok",), ok={"type": "boolean"})
_CAPITAL = _sampling("What is the capital of France?")
_ROOTS: Message = {"method": "roots/list", "params": {}}


def _told(request: Message, reply: Message) -> str:
    """What the client answered, in words."""
    if request["method"] == "sampling/createMessage":
        return f"LLM response: {json.dumps(reply['content'])}"
    if request["method"] == "roots/list":
        return f"Roots: {json.dumps(reply['roots'])}"
    return f"User response: action={reply['action']}, content={json.dumps(reply.get('content'))}"


def _asks(requests: dict[str, Message], with_state: bool = True, since: str = "") -> Run:
    def run(call: Call, given: Arguments) -> Message:
        if call.revision < since:
            return failure(f"What this tool asks for exists since {since}.")
        replies = call.ask_all(requests, with_state)
        return answer(*(_told(requests[key], reply) for key, reply in replies.items()))

    return gracefully_given(run)


def gracefully_given(run: Run) -> Run:
    """`run`, but with an error result where the client does not give what it is asked for."""
    return lambda call, given: gracefully(lambda same: run(same, given))(call, given)


def _two_rounds(call: Call, given: Arguments) -> Message:
    first = call.ask("step1", **_NAME)
    second = call.ask("step2", **_COLOUR)
    return answer(_told(_NAME, first), _told(_COLOUR, second))
