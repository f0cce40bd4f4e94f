"""The tools that ask nobody."""

from __future__ import annotations

import json
import math

from conformance.reference import agents, asking, prompts, resources
from conformance.reference.prompts import PNG, WAV
from conformance.reference.shape import LEVELS, text
from conformance.reference.tool import ChangingTool, Tool, answer, arguments, failure
from conformance.reference.wire import INVALID_PARAMS, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.wire import Message

    Arguments = dict[str, Any]


def _structured(value: Any) -> Message:
    return {"content": [text(json.dumps(value))], "structuredContent": value}


def _add(call: Call, given: Arguments) -> Message:
    try:
        total = given["a"] + given["b"]
        within = math.isfinite(total)
    except OverflowError:
        within = False
    return _structured({"sum": total}) if within else failure("The sum is too large for a number of JSON.")


def _settings(call: Call, given: Arguments) -> Message:
    return _structured({"colour": "grey", "size": None})


def _search(call: Call, given: Arguments) -> Message:
    words, limit = given["query"], int(given.get("limit", 3))
    return answer(*(f"{number}. {words} in {given.get('area', 'all')}" for number in range(1, limit + 1)))


def _primes(call: Call, given: Arguments) -> Message:
    below = int(given.get("below", 20))
    return _structured([n for n in range(2, below) if all(n % d for d in range(2, n))])


def _show_content(call: Call, given: Arguments) -> Message:
    note = {"audience": ["user"], "priority": 0.8, "lastModified": "2026-07-28T12:00:00Z"}
    readme = {"uri": "reference://text/readme", "mimeType": "text/plain", "text": "Read me first."}
    pixel = {"uri": "reference://binary/pixel.png", "mimeType": "image/png", "blob": PNG}
    return {
        "content": [
            {**text("A text."), "annotations": note},
            {"type": "image", "data": PNG, "mimeType": "image/png", "annotations": note},
            {"type": "audio", "data": WAV, "mimeType": "audio/wav"},
            {"type": "resource_link", "uri": "reference://text/readme", "name": "readme", "mimeType": "text/plain"},
            {"type": "resource", "resource": readme, "annotations": note},
            {"type": "resource", "resource": pixel},
        ]
    }


def _count(call: Call, given: Arguments) -> Message:
    steps = int(given.get("steps", 3))
    for step in range(1, steps + 1):
        call.progress(step, steps, f"step {step} of {steps}")
        call.pause(0.005)
    counted = {"steps": steps}
    return {"content": [text(f"Counted to {steps}."), text(json.dumps(counted))], "structuredContent": counted}


def _count_later(call: Call, given: Arguments) -> Message:
    return _count(call, {})


def _wait(call: Call, given: Arguments) -> Message:
    seconds = given.get("seconds", 0.2)
    ticks = max(1, int(seconds / 0.05))
    for tick in range(ticks):
        call.progress(tick / ticks, 1, "waiting")
        call.pause(seconds / ticks)
    return answer(f"Waited for {seconds} s.")


def _log(call: Call, given: Arguments) -> Message:
    for level in LEVELS:
        call.log(level, {"message": f"this is of level {level}"})
    return answer("Logged at every level that was asked for.")


def _measure(call: Call, given: Arguments) -> Message:
    x, y = given.get("point", [3, 4])
    return answer(f"{(x * x + y * y) ** 0.5:g} {given.get('unit', 'steps')}")


def _refuse(call: Call, given: Arguments) -> Message:
    raise RpcError(INVALID_PARAMS, "Invalid params: this tool refuses whatever it is given")


def _list_client_tasks(call: Call, given: Arguments) -> Message:
    tasks = call.client.get("tasks")
    if call.revision != "2025-11-25" or not isinstance(tasks, dict) or "list" not in tasks:
        return answer("This client lists no tasks.")
    found: list[str] = []
    params: Message | None = None
    while True:
        page = call.ask("tasks", "tasks/list", params)
        found += [str(task.get("taskId")) for task in page["tasks"] if isinstance(task, dict)]
        if "nextCursor" not in page:
            return answer(f"This client lists {len(found)} tasks.")
        params = {"cursor": page["nextCursor"]}


def _toggle_tool(call: Call, given: Arguments) -> Message:
    return _toggle(call, "tools", call.server.tools, (EXTRA.name, EXTRA))


def _toggle_resource(call: Call, given: Arguments) -> Message:
    return _toggle(call, "resources", call.server.resources, (resources.EXTRA.uri, resources.EXTRA))


def _toggle_prompt(call: Call, given: Arguments) -> Message:
    return _toggle(call, "prompts", call.server.prompts, (prompts.EXTRA.name, prompts.EXTRA))


def _toggle(call: Call, kind: str, listed: dict[str, Any], item: tuple[str, Any]) -> Message:
    key, value = item
    with call.server.lock:
        if key in listed:
            del listed[key]
        else:
            listed[key] = value
        present = key in listed
    call.server.announce(kind)
    return answer(f"{key} is {'now' if present else 'no longer'} in the list of {kind}.")


def _touch(call: Call, given: Arguments) -> Message:
    with call.server.lock:
        call.server.touched += 1
    call.server.update(resources.COUNTER)
    return answer(f"{resources.COUNTER} is now {call.server.touched}.")


LATEST = "https://json-schema.org/draft/2020-12/schema"
_NUMBER: Message = {"type": "number", "description": "A summand"}
_SEARCH = arguments(
    query={"type": "string", "minLength": 1, "maxLength": 100, "description": "What to look for"},
    limit={"type": "integer", "minimum": 0, "maximum": 20, "default": 3, "description": "How many results"},
    area={"type": "string", "enum": ["all", "titles", "texts"], "default": "all", "description": "Where to look"},
    tags={"type": "array", "items": {"type": "string"}, "maxItems": 5, "default": [], "description": "All needed"},
    exact={"type": "boolean", "default": False, "description": "Whether case counts"},
)
_ROOM = arguments(
    locked={"type": "boolean", "x-mcp-header": "Locked"},
    wing={"type": "string", "default": "east", "x-mcp-header": "Wing"},
)
_REGION = arguments(
    region={"type": "string", "x-mcp-header": "Region", "description": "Where to look it up"},
    level={"type": "integer", "minimum": 0, "maximum": 9, "default": 0, "x-mcp-header": "Level"},
    room={**_ROOM, "default": {"locked": False}},
)
_POINT: Message = {
    "type": "array",
    "prefixItems": [{"type": "number"}, {"type": "number"}],
    "items": False,
    "minItems": 2,
    "default": [3, 4],
}
_MEASURE = arguments(
    point=_POINT,
    unit={"type": "string", "default": "steps"},
    scale={"type": "number", "minimum": 1, "default": 1},
)
_SUM: Message = {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]}
_STEPS: Message = {"type": "object", "properties": {"steps": {"type": "integer"}}, "required": ["steps"]}
_SETTINGS: Message = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}

TOOLS = (
    Tool("version", "Tell the version of this server", lambda call, given: answer("1.0.0")),
    Tool(
        "echo",
        "Give back a text",
        lambda call, given: answer(given["text"]),
        input=arguments(text={"type": "string", "description": "What to give back"}),
    ),
    Tool(
        "add",
        "Add two numbers",
        _add,
        input=arguments(a=_NUMBER, b=_NUMBER),
        output=_SUM,
    ),
    Tool("search", "Pretend to search", _search, input=_SEARCH),
    Tool(
        "poem",
        "Recite a poem of several lines and scripts",
        lambda call, given: answer('Über allen Gipfeln\nist Ruh,\r\n\t"世界" 😀\u2028'),
    ),
    Tool("show_content", "Show every type of content", _show_content),
    Tool(
        "list_primes",
        "List the prime numbers below a limit",
        _primes,
        input=arguments(below={"type": "integer", "minimum": 0, "maximum": 1000, "default": 20}),
        output={"type": "array", "items": {"type": "integer"}},
    ),
    Tool("settings", "Show the settings", _settings, output=_SETTINGS),
    Tool("no_content", "Return nothing", lambda call, given: {"content": []}),
    Tool("fail", "Always fail", lambda call, given: failure("This tool always fails.")).as_task("optional"),
    Tool("refuse", "Always be refused", _refuse).as_task("optional"),
    Tool(
        "count",
        "Count, reporting progress",
        _count,
        input=arguments(steps={"type": "integer", "minimum": 1, "maximum": 50, "default": 3}),
        output=_STEPS,
        waits=True,
    ).as_task("optional"),
    Tool(
        "wait",
        "Wait, unless cancelled",
        _wait,
        input=arguments(seconds={"type": "number", "minimum": 0, "maximum": 600, "default": 0.2}),
        waits=True,
    ).as_task("optional"),
    Tool("log_levels", "Log a message at every level", _log).as_task("optional"),
    Tool("count_later", "Count as a task", _count_later, output=_STEPS, waits=True).as_task("required"),
    Tool(
        "lookup_region",
        "Look something up in a region that HTTP headers repeat",
        lambda call, given: answer(f"Nothing to report from {given['region']}."),
        input=_REGION,
    ),
    Tool(
        "measure",
        "Measure how far away a point is, in a schema of the default dialect",
        _measure,
        input={**_MEASURE, "dependentRequired": {"unit": ["scale"]}},
    ),
    Tool(
        "measure_again",
        "Measure how far away a point is, in a schema that names its dialect",
        _measure,
        input={"$schema": LATEST, **_MEASURE, "dependentRequired": {"unit": ["scale"]}},
    ),
    *asking.TOOLS,
    *agents.TOOLS,
    Tool(
        "list_client_tasks",
        "List the tasks that the client runs for this server",
        asking.gracefully(_list_client_tasks),
        waits=True,
    ),
    ChangingTool("toggle_tool", "Add or remove the tool extra_tool", _toggle_tool),
    ChangingTool("toggle_resource", "Add or remove a resource", _toggle_resource),
    ChangingTool("toggle_prompt", "Add or remove the prompt extra_prompt", _toggle_prompt),
    ChangingTool("touch_resource", f"Change the resource {resources.COUNTER}", _touch),
)

EXTRA = Tool("extra_tool", "Come and go", lambda call, given: answer("I may be gone soon."))
