"""The tools that ask the client for something: input of the user, a text of its model, its roots."""

from __future__ import annotations

from conformance.reference.call import NoAnswer
from conformance.reference.schema import problem
from conformance.reference.shape import text
from conformance.reference.tool import Tool, answer, failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.wire import Message

    Run = Callable[[Call, dict[str, Any]], Message]

FORM: Message = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "title": "Name", "minLength": 1, "maxLength": 80},
        "age": {"type": "integer", "title": "Age", "minimum": 0, "maximum": 150},
        "colour": {"type": "string", "title": "Colour", "enum": ["red", "green", "blue"]},
        "news": {"type": "boolean", "title": "Newsletter", "default": False},
    },
    "required": ["name"],
}


def gracefully(ask: Run) -> Run:
    """A tool's `run` that gives an error result where the client does not give what it is asked for."""

    def run(call: Call, given: dict[str, Any]) -> Message:
        try:
            return ask(call, given)
        except NoAnswer as reason:
            return failure(str(reason))

    return run


def _name(call: Call, given: dict[str, Any]) -> Message:
    params = {"message": "Who are you?", "requestedSchema": FORM}
    reply = call.ask("who", "elicitation/create", params)
    if reply["action"] != "accept":
        return answer(f"The user chose {reply['action']}.")
    content = reply.get("content", {})
    wrong = problem(content, FORM, "content")
    return failure(f"The answer does not fit the form: {wrong}") if wrong else answer(f"Hello {content['name']}!")


def _consent(call: Call, given: dict[str, Any]) -> Message:
    params = {"mode": "url", "message": "Please consent.", "url": "https://example.com/consent"}
    if call.revision < "2026-07-28":
        params["elicitationId"] = f"consent-{call.id}"
    reply = call.ask("consent", "elicitation/create", params)
    return answer(f"The user chose {reply['action']}.")


def _model(call: Call, given: dict[str, Any]) -> Message:
    params = {
        "messages": [{"role": "user", "content": text("Say hello in one word.")}],
        "systemPrompt": "Be brief.",
        "modelPreferences": {"hints": [{"name": "small"}], "speedPriority": 0.9, "costPriority": 1},
        "temperature": 0.1,
        "stopSequences": ["\n"],
        "maxTokens": 20,
    }
    reply = call.ask("hello", "sampling/createMessage", params)
    blocks = reply["content"] if isinstance(reply["content"], list) else [reply["content"]]
    words = [block["text"] for block in blocks if isinstance(block, dict) and isinstance(block.get("text"), str)]
    return answer(*words) if words else failure("The model said nothing in words.")


def _roots(call: Call, given: dict[str, Any]) -> Message:
    roots = call.ask("roots", "roots/list")["roots"]
    return answer(*(str(root.get("uri")) for root in roots if isinstance(root, dict)))


def _journey(call: Call, given: dict[str, Any]) -> Message:
    """Ask two things at once, and then a third."""
    if call.revision < "2026-07-28":
        return failure("Several questions at once exist since 2026-07-28.")
    replies = call.ask_all({key: _question(f"Where is the {key}?", "place") for key in ("start", "end")})
    replies["day"] = call.ask("day", **_question("On which day?", "day"))
    if any(reply["action"] != "accept" for reply in replies.values()):
        return answer("The user does not travel.")
    values = {key: next(iter(reply.get("content", {}).values()), "?") for key, reply in replies.items()}
    return answer(f"From {values['start']} to {values['end']} on {values['day']}.")


def _question(message: str, name: str) -> Message:
    schema = {"type": "object", "properties": {name: {"type": "string", "minLength": 1}}, "required": [name]}
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


TOOLS = (
    Tool("ask_name", "Ask the user for a name, by a form", gracefully(_name), waits=True).as_task("optional"),
    Tool("ask_consent", "Ask the user for consent, at a URL", gracefully(_consent), waits=True),
    Tool("ask_model", "Ask the client's model to say hello", gracefully(_model), waits=True),
    Tool("ask_roots", "Ask the client for its roots", gracefully(_roots), waits=True),
    Tool("plan_journey", "Ask the user where and when to go", gracefully(_journey), waits=True).in_background(),
)

EXPECTED: dict[str, Message] = {
    "elicitation/create": {
        "type": "object",
        "required": ["action"],
        "properties": {"action": {"enum": ["accept", "decline", "cancel"]}, "content": {"type": "object"}},
    },
    "sampling/createMessage": {
        "type": "object",
        "required": ["role", "content", "model"],
        "properties": {"content": {"type": ["object", "array"]}, "model": {"type": "string"}},
    },
    "roots/list": {"type": "object", "required": ["roots"], "properties": {"roots": {"type": "array"}}},
    "tasks/list": {"type": "object", "required": ["tasks"], "properties": {"tasks": {"type": "array"}}},
}
"""What an answer to each of our requests looks like at the least."""
