"""Targets whose tasks never end, hang, or are said to take for ever."""

from __future__ import annotations

from hostile import bounds
from hostile.base import HERE, TOOLS, Refused
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

TASK = {
    "taskId": "t1",
    "status": "working",
    "createdAt": "2025-11-25T10:00:00Z",
    "lastUpdatedAt": "2025-11-25T10:00:00Z",
    "ttl": 60_000,
    "pollInterval": 100,
}


def _tasks(server: Server, **how: Any) -> None:
    """Has tasks that work until they are cancelled, with members that say `how`; their result hangs the server."""
    server.capabilities = {
        **server.capabilities,
        "tasks": {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}},
    }
    server.tools = [{**tool, "execution": {"taskSupport": "optional"}} for tool in TOOLS]
    plain = server.methods["tools/call"]
    tasks: dict[str, Message] = {}

    def call(params: Message) -> Any:
        if "task" not in params:
            return plain(params)
        plain({name: value for name, value in params.items() if name != "_meta"})
        name = f"t{len(tasks)}"
        tasks[name] = {**TASK, **how, "taskId": name}
        return {"task": tasks[name]}

    def get(params: Message) -> Any:
        name = params.get("taskId")
        if not isinstance(name, str) or name not in tasks:
            raise Refused(-32602, "no such task")
        return tasks[name]

    def cancel(params: Message) -> Any:
        if get(params)["status"] != "working":
            raise Refused(-32602, "the task has ended")
        tasks[params["taskId"]]["status"] = "cancelled"
        return get(params)

    def result(params: Message) -> Any:
        if get(params)["status"] == "working":
            bounds.wait()
        raise Refused(-32603, "the task was cancelled")

    server.methods |= {
        "tools/call": call,
        "tasks/get": get,
        "tasks/cancel": cancel,
        "tasks/result": result,
        "tasks/list": lambda params: server.page(params, "tasks", list(tasks.values())),
    }


@target()
def tasks_that_hang(server: Server) -> None:
    """Has tasks that work for ever, and hangs when their result is asked for."""
    _tasks(server)


@target(statuses=(0, 1))
def tasks_that_never_end(server: Server) -> None:
    """Has tasks that work for ever, and never gives their result, but goes on."""
    _tasks(server)
    get = server.methods["tasks/get"]
    server.methods["tasks/result"] = get

    def edit(request: Message, reply: Message) -> Any:
        return None if request["method"] == "tasks/result" and "result" in reply else reply

    server.edit = edit


@target()
def tasks_without_end(server: Server) -> None:
    """Lists tasks on pages without end."""
    _tasks(server)
    pages = [0]

    def page(_params: Message) -> Message:
        pages[0] += 1
        return {"tasks": [{**TASK, "taskId": f"p{pages[0]}"}], "nextCursor": str(pages[0])}

    server.methods["tasks/list"] = page


def _with(name: str, text: str) -> Callable[[Server], None]:
    """Tasks with a value that Python's JSON cannot write."""

    def play(server: Server) -> None:
        server.here = text
        _tasks(server, **{name: HERE})

    return play


def _named(name: Any) -> Callable[[Server], None]:
    """Tasks that are given this id when they are made."""

    def play(server: Server) -> None:
        _tasks(server)

        def edit(_request: Message, reply: Message) -> Message:
            if "task" in reply.get("result", {}):
                reply["result"] = {"task": {**reply["result"]["task"], "taskId": name}}
            return reply

        server.edit = edit

    return play


add("tasks-to-poll-in-a-year", "Has tasks that are to be asked for once a year.", _with("pollInterval", "31536000000"))
add("tasks-to-poll-at-once", "Has tasks that are to be asked for every 0 ms.", _with("pollInterval", "0"))
add("poll-interval-of-infinity", "Has tasks that are to be asked for every 1e999 ms.", _with("pollInterval", "1e999"))
add("poll-interval-below-zero", "Has tasks that are to be asked for every -1 ms.", _with("pollInterval", "-1"))
add("ttl-of-5000-digits", "Has tasks that live for a number of 5000 digits.", _with("ttl", "9" * 5000))
add("ttl-of-nan", "Has tasks that live for NaN.", _with("ttl", "NaN"))
add("task-id-of-1-mb", "Has tasks with ids of 1 MB.", _named("i" * 1_000_000))
add("task-id-is-null", "Has tasks whose id is null.", _named(None))
add("task-status-unknown", "Has tasks of a status that does not exist.", _with("status", '"dreaming"'))
add("task-dates-of-wrong-types", "Has tasks made at a date that is none.", _with("createdAt", "[[5]]"))

vary(
    "tasks", "tasks-that-hang tasks-that-never-end tasks-to-poll-in-a-year poll-interval-of-infinity ttl-of-5000-digits"
)
