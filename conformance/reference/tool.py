"""What a tool is, and how a call of one goes."""

from __future__ import annotations

from conformance.reference.shape import text
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call

NOTHING: Message = {"type": "object", "additionalProperties": False}


class Tool:
    """A tool; `run` gives the CallToolResult of a call with valid arguments.

    `waits` says that a call may take long or ask the client, so that others must not wait for it. `task` says whether
    a call may or must be made as a task: forbidden, optional or required. `background` says that a call becomes a
    task where that is the server's to decide.
    """

    __slots__ = ("background", "description", "hints", "input", "name", "output", "run", "task", "title", "waits")

    def __init__(
        self,
        name: str,
        title: str,
        run: Callable[[Call, dict[str, Any]], Message],
        *,
        input: Message = NOTHING,
        output: Message | None = None,
        waits: bool = False,
    ) -> None:
        self.name = name
        self.title = title
        self.description = f"{title}."
        self.run = run
        self.input = input
        self.output = output
        self.hints = {"title": title, "readOnlyHint": True, "openWorldHint": False}
        self.waits = waits
        self.task = "forbidden"
        self.background = False

    def as_task(self, support: str) -> Tool:
        """This tool, whose calls may (optional) or must (required) be made as tasks."""
        self.task = support
        return self.in_background()

    def goes_on(self, given: dict[str, Any]) -> bool:
        """Whether a call with these arguments becomes a task where that is the server's to decide."""
        return self.background

    def prepare(self, call: Call) -> None:
        """What is done before a call becomes such a task: nothing."""

    def in_background(self) -> Tool:
        """This tool, whose calls become tasks where that is the server's to decide."""
        self.background = True
        return self

    def described(self) -> Message:
        """The Tool object of `tools/list`, with all that any revision has."""
        value: Message = {
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": self.input,
            "annotations": self.hints,
            "execution": {"taskSupport": self.task},
        }
        if self.output is not None:
            value["outputSchema"] = self.output
        return value


class ChangingTool(Tool):
    """A tool that changes what this process lists or holds; a second call undoes or repeats the first."""

    __slots__ = ()

    def __init__(self, name: str, title: str, run: Callable[[Call, dict[str, Any]], Message]) -> None:
        super().__init__(name, title, run)
        self.hints |= {"readOnlyHint": False, "destructiveHint": False, "idempotentHint": False}


def arguments(**properties: Message) -> Message:
    """An inputSchema that allows nothing but `properties`; those without a default are required."""
    required = [name for name, schema in properties.items() if "default" not in schema]
    value: Message = {"type": "object", "properties": properties, "additionalProperties": False}
    return {**value, "required": required} if required else value


def answer(*words: str) -> Message:
    """A result of text blocks."""
    return {"content": [text(each) for each in words]}


def failure(words: str) -> Message:
    """A result that says that the tool failed, and why."""
    return {"content": [text(words)], "isError": True}


def call_tool(call: Call) -> Message:
    """The result of `tools/call`. Raises RpcError for a tool that does not exist.

    Arguments that break the inputSchema are a tool error from 2025-11-25 and invalid params before.
    """
    tool = call.server.tools.get(call.params["name"])
    if tool is None:
        raise RpcError(INVALID_PARAMS, f"Unknown tool: {call.params['name']}")
    given = call.params.get("arguments", {})
    wrong = call.server.problem(given, tool.input)
    if not wrong:
        return tool.run(call, given)
    if call.revision < "2025-11-25":
        raise RpcError(INVALID_PARAMS, f"Invalid arguments: {wrong}")
    return failure(f"Invalid arguments: {wrong}")
