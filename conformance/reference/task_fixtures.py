"""The tools that the official conformance suite asks for by name to test the tasks extension.

The names, and what each is for, are the suite's; the server offers them only when it is told to.
"""

from __future__ import annotations

from conformance.reference.asking import gracefully
from conformance.reference.shape import form
from conformance.reference.tool import Tool, answer, arguments, failure
from conformance.reference.wire import INTERNAL_ERROR, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.wire import Message

    Arguments = dict[str, Any]

SOON = 0.2
"""Seconds after which a job fails."""
_NAME = form("What is your name?", ("name",), name={"type": "string"})
_SURE = form("Delete the file?", ("confirm",), confirm={"type": "boolean"})


class Computing(Tool):
    """A tool that becomes a task only if it has something to wait for."""

    __slots__ = ()

    def goes_on(self, given: Arguments) -> bool:
        return bool(given.get("seconds"))


class Introduced(Tool):
    """A tool that asks before it becomes a task."""

    __slots__ = ()

    def prepare(self, call: Call) -> None:
        call.ask("user_name", **_NAME)


def _greet(call: Call, given: Arguments) -> Message:
    return answer(f"Hello, {given.get('name', 'World')}!")


def _compute(call: Call, given: Arguments) -> Message:
    call.pause(given["seconds"])
    return answer(f"Computed {given.get('label', 'it')} for {given['seconds']} s.")


def _fail(call: Call, given: Arguments) -> Message:
    call.pause(SOON)
    return failure("This job always fails.")


def _break(call: Call, given: Arguments) -> Message:
    call.pause(SOON)
    raise RpcError(INTERNAL_ERROR, "Internal error: this job always breaks")


def _delete(call: Call, given: Arguments) -> Message:
    reply = call.ask("confirm", **_SURE)
    sure = reply["action"] == "accept" and reply.get("content", {}).get("confirm") is True
    return answer(f"{'Deleted' if sure else 'Kept'} {given.get('filename', 'the file')}.")


def _two_inputs(call: Call, given: Arguments) -> Message:
    replies = call.ask_all({"name": _NAME, "confirm": _SURE})
    return answer(*(f"{key}: {reply['action']}" for key, reply in replies.items()))


def _introduce(call: Call, given: Arguments) -> Message:
    reply = call.params.get("inputResponses", {}).get("user_name", {})
    return answer(f"Hello, {reply.get('content', {}).get('name', 'you')}!")


_STRING: Message = {"type": "string"}
_COMPUTING: Message = {
    "type": "object",
    "properties": {"seconds": {"type": "number", "minimum": 0, "maximum": 120}, "label": _STRING},
    "required": ["seconds"],
    "additionalProperties": False,
}

TOOLS = (
    Tool("greet", "Greet somebody", _greet, input=arguments(name=_STRING)),
    Computing("slow_compute", "Compute for some seconds", _compute, input=_COMPUTING, waits=True).as_task("optional"),
    Tool("failing_job", "Fail soon", _fail, waits=True).as_task("required"),
    Tool("protocol_error_job", "Break soon", _break, waits=True).as_task("optional"),
    Tool(
        "confirm_delete", "Ask before a file goes", gracefully(_delete), input=arguments(filename=_STRING), waits=True
    ).in_background(),
    Tool("multi_input", "Ask two things at once", gracefully(_two_inputs), waits=True).in_background(),
    Introduced("test_tool_with_task", "Ask, and go on as a task", _introduce, waits=True).as_task("required"),
)
