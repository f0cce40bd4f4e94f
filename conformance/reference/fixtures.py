"""What the official conformance suite (npm @modelcontextprotocol/conformance) asks a server for by name.

The names, and what each is for, are the suite's; the server offers them only when it is told to.
"""

from __future__ import annotations

import json

from conformance.reference.asking import gracefully
from conformance.reference.prompts import PNG, WAV, Prompt, argument, user
from conformance.reference.resources import Resource, Template
from conformance.reference.schema import problem
from conformance.reference.shape import form, text
from conformance.reference.tool import Tool, answer, arguments, failure

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
_DEFAULTS = form(
    "Please review these values.",
    name={"type": "string", "default": "John Doe"},
    age={"type": "integer", "default": 30},
    score={"type": "number", "default": 95.5},
    status={"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    verified={"type": "boolean", "default": True},
)
_ENUMS = form(
    "Please choose.",
    untitledSingle={"type": "string", "enum": _OPTIONS},
    titledSingle={"type": "string", "oneOf": _titled(3)},
    legacyEnum=_LEGACY,
    untitledMulti={"type": "array", "items": {"type": "string", "enum": _OPTIONS}},
    titledMulti={"type": "array", "items": {"anyOf": _titled(3)}},
)
_NAME = form("What is your name?", ("name",), name=STRING)
_COLOUR = form("What is your favourite colour?", ("color",), color=STRING)
_CONFIRM = form("Please confirm", ("ok",), ok={"type": "boolean"})
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

    return gracefully(run)


def _two_rounds(call: Call, given: Arguments) -> Message:
    first = call.ask("step1", **_NAME)
    second = call.ask("step2", **_COLOUR)
    return answer(_told(_NAME, first), _told(_COLOUR, second))


def _what_it_can(call: Call, given: Arguments) -> Message:
    """Ask for what the client declared of these, and refuse only if it declared neither."""
    requests = {"confirm": _CONFIRM, "capital_question": _CAPITAL}
    able = {key: each for key, each in requests.items() if not call.server.missing_capability(call, each)}
    return _asks(able or requests)(call, given)


def _needs_sampling(call: Call, given: Arguments) -> Message:
    missing = call.server.missing_capability(call, _CAPITAL)
    if missing:
        raise call.peer.refusal(missing)
    return answer("The client declared the capability sampling.")


def _sample(call: Call, given: Arguments) -> Message:
    return _asks({"prompt": _sampling(given["prompt"])})(call, given)


def _elicit(call: Call, given: Arguments) -> Message:
    described = {name: {"type": "string", "description": f"Your {name}"} for name in ("username", "email")}
    return _asks({"user": form(given["message"], ("username", "email"), **described)})(call, given)


_QUIET: dict[str, Run] = {
    **{name: _shows(content) for name, content in _CONTENT.items()},
    "test_error_handling": lambda call, given: failure("This tool intentionally returns an error for testing"),
    "test_logging_tool": _log,
    "test_trigger_tool_change": _announces("tools"),
    "test_trigger_prompt_change": _announces("prompts"),
}
_WAITING: dict[str, Run] = {
    "test_tool_with_logging": _log,
    "test_tool_with_progress": _progress,
    "test_reconnection": _reconnection,
    "test_elicitation_sep1034_defaults": _asks({"values": _DEFAULTS}, since="2025-11-25"),
    "test_elicitation_sep1330_enums": _asks({"choices": _ENUMS}, since="2025-11-25"),
    "test_missing_capability": gracefully(_needs_sampling),
    "test_streaming_elicitation": _asks({"confirm": _CONFIRM}),
    "test_input_required_result_elicitation": _asks({"user_name": _NAME}, with_state=False),
    "test_input_required_result_sampling": _asks({"capital_question": _CAPITAL}),
    "test_input_required_result_list_roots": _asks({"client_roots": _ROOTS}),
    "test_input_required_result_request_state": _asks({"confirm": _CONFIRM}),
    "test_input_required_result_multiple_inputs": _asks(
        {"user_name": _NAME, "greeting": _sampling("Greet somebody."), "client_roots": _ROOTS}
    ),
    "test_input_required_result_multi_round": gracefully(_two_rounds),
    "test_input_required_result_tampered_state": _asks({"confirm": _CONFIRM}),
    "test_input_required_result_capabilities": _what_it_can,
}


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


TOOLS = (
    *(Tool(name, _title(name), run) for name, run in _QUIET.items()),
    *(Tool(name, _title(name), run, waits=True) for name, run in _WAITING.items()),
    Tool("test_sampling", "Ask the client's model", _sample, input=arguments(prompt=STRING), waits=True),
    Tool("test_elicitation", "Ask the user", _elicit, input=arguments(message=STRING), waits=True),
    Tool("json_schema_2020_12_tool", "Take arguments of a schema with many keywords", _contact, input=_CONTACT),
)


# Resources and prompts.

RESOURCES = (
    Resource(
        "test://static-text",
        "A text that stays",
        "text/plain",
        lambda server: [{"text": "This is the content of the static text resource."}],
    ),
    Resource("test://static-binary", "An image that stays", "image/png", lambda server: [{"blob": PNG}]),
    Resource("test://watched-resource", "To be subscribed to", "text/plain", lambda server: [{"text": "Unchanged."}]),
)
TEMPLATE = Template(
    "test://template/{id}/data",
    "Data by id",
    "test://template/([^/]+)/data",
    lambda id: json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"}),
)


class AskingPrompt(Prompt):
    """A prompt that asks the user for its context, where a prompt may ask: from 2026-07-28."""

    __slots__ = ()

    def messages(self, call: Call, given: dict[str, str]) -> list[Message]:
        if call.revision < "2026-07-28":
            return self.fill(given)
        request = form("What context should the prompt have?", ("context",), context=STRING)
        return [user(text(_told(request, call.ask("user_context", **request))))]


def _embedding(values: dict[str, str]) -> list[Message]:
    block = _embedded(values["resourceUri"], "text/plain", "Embedded resource content for testing.")
    return [user(block), user(text("Please process the embedded resource above."))]


PROMPTS = (
    Prompt("test_simple_prompt", "A text", lambda values: [user(text("This is a simple prompt for testing."))]),
    Prompt(
        "test_prompt_with_arguments",
        "A text with two arguments",
        lambda values: [user(text(f"Prompt with arguments: arg1='{values['arg1']}', arg2='{values['arg2']}'"))],
        [argument("arg1", "The first", True), argument("arg2", "The second", True)],
    ),
    Prompt(
        "test_prompt_with_embedded_resource",
        "An embedded resource",
        _embedding,
        [argument("resourceUri", "The URI that the resource shall have", True)],
    ),
    Prompt(
        "test_prompt_with_image",
        "An image",
        lambda values: [user(IMAGE), user(text("Please analyze the image above."))],
    ),
    AskingPrompt(
        "test_input_required_result_prompt", "Ask for a context", lambda values: [user(text("Without any context."))]
    ),
)


def install(server: Server) -> None:
    """Add the fixtures to what `server` offers, and give every list on one page, because the suite reads only one."""
    from conformance.reference import task_fixtures

    server.tools |= {tool.name: tool for tool in (*TOOLS, *task_fixtures.TOOLS)}
    server.resources |= {resource.uri: resource for resource in RESOURCES}
    server.templates[TEMPLATE.uri_template] = TEMPLATE
    server.prompts |= {prompt.name: prompt for prompt in PROMPTS}
    server.page_size = 100
