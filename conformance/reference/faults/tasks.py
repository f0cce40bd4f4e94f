"""Faults in tasks, of revision 2025-11-25."""

from __future__ import annotations

from datetime import UTC, datetime

from conformance.reference import tasks
from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    drop,
    instead,
    on_notification,
    setting,
    several,
    undeclared,
    without,
)
from conformance.reference.shape import text
from conformance.reference.tasks import RELATED
from conformance.reference.tool import call_tool
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Task, Tool
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

STATUS = "notifications/tasks/status"


def fault(name: str, requirements: str, summary: str, apply: Apply, **where: str) -> Fault:
    """A fault of the revision that has these tasks."""
    return Fault(name, requirements, summary, apply, only=tasks.REVISION, **where)


def changed(method: str, change: Callable[[Message, Call], Any]) -> Apply:
    """Change the results of a method on tasks, in place or by returning another one."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        result = proceed(call) or {}
        instead = change(result, call)
        return result if instead is None else instead

    return instead(method, run)


def _created(change: Callable[[Message], Any]) -> Apply:
    """Change the task in a CreateTaskResult."""

    def change_created(result: Message, call: Call) -> None:
        if "task" in result:
            change(result["task"])

    return changed("tools/call", change_created)


def _every(change: Callable[[Message], Any]) -> Apply:
    """Change each task, wherever it is shown."""

    def change_listed(result: Message, call: Call) -> None:
        for task in result["tasks"]:
            change(task)

    return several(
        _created(change),
        changed("tasks/get", lambda result, call: change(result)),
        changed("tasks/cancel", lambda result, call: change(result)),
        changed("tasks/list", change_listed),
        on_notification(STATUS, lambda message, call: change(message["params"])),
    )


def task_of(call: Call) -> Task | None:
    """The task that a request is about, if there is one."""
    return call.peer.tasks.get(call.params.get("taskId", ""))


# Creation.


def _as_if_absent(call: Call, proceed: Proceed) -> Message | None:
    """Forget that a task is wanted of a tool that allows one."""
    tool = call.server.tools.get(call.params.get("name", ""))
    if tool and tool.task == "optional":
        call.params.pop("task", None)
    return proceed(call)


def _forbidden_plainly(call: Call, proceed: Proceed) -> Message | None:
    tool = call.server.tools.get(call.params.get("name", ""))
    if tool and tool.task == "forbidden":
        call.params.pop("task", None)
    return proceed(call)


def _one_forbidden_plainly(call: Call, proceed: Proceed) -> Message | None:
    forbidden = [name for name, tool in call.server.tools.items() if tool.task == "forbidden"]
    if call.params.get("name") == forbidden[1]:
        call.params.pop("task", None)
    return proceed(call)


def _required_plainly(call: Call, proceed: Proceed) -> Message | None:
    tool = call.server.tools.get(call.params.get("name", ""))
    plain = tool and tool.task == "required" and "task" not in call.params
    return call.server.shape(call.method, call_tool(call), call.revision) if plain else proceed(call)


def _refuse_member(call: Call, proceed: Proceed) -> Message | None:
    if "task" in call.params:
        raise RpcError(INVALID_PARAMS, "Invalid params: this server has no tasks")
    return proceed(call)


def _when_done(call: Call, tool: Tool) -> Message:
    result = tasks.create(call, tool)
    task = call.peer.tasks[result["task"]["taskId"]]
    call.afterwards = None
    task.start()
    task.over.wait(0.5)
    return result


def _numbered(server: Server) -> None:
    numbers = iter(range(1, 1 << 62))
    server.task_id = lambda: f"task-{next(numbers)}"


# Status.


def _after_the_end(status: str, only: tuple[str, ...]) -> Apply:
    """From the second look at a task that has ended on, show another status."""
    seen: set[str] = set()

    def change(result: Message, call: Call) -> None:
        if result["status"] not in only:
            return
        if result["taskId"] in seen:
            result["status"] = status
        seen.add(result["taskId"])

    return changed("tasks/get", change)


# Results.


def _early(call: Call, proceed: Proceed) -> Message | None:
    task = task_of(call)
    if task is None or task.over.is_set():
        return proceed(call)
    return {"content": [text("Not yet.")], "_meta": {RELATED: {"taskId": task.identity}}}


def _early_while_asking(call: Call, proceed: Proceed) -> Message | None:
    task = task_of(call)
    if task is not None and task.status == "input_required":
        raise RpcError(INVALID_PARAMS, "Invalid params: the task needs input")
    return proceed(call)


def _one_fetcher(call: Call, proceed: Proceed) -> Message | None:
    task = task_of(call)
    if task is not None and task.fetching.is_set():
        raise RpcError(INTERNAL_ERROR, "Internal error: another client waits for the result")
    return proceed(call)


def _first_fetcher(call: Call, proceed: Proceed) -> Message | None:
    task = task_of(call)
    if task is not None and task.fetching.is_set():
        call.cancelled.wait()
    return proceed(call)


def _as_task(result: Message, call: Call) -> Message:
    task = task_of(call)
    assert task is not None
    return {"task": task.described(), "_meta": result["_meta"]}


def _more(result: Message, call: Call) -> Message:
    return {**result, "content": [*result["content"], text("This was a task.")]}


def _other_error(call: Call, proceed: Proceed) -> Message | None:
    try:
        return proceed(call)
    except RpcError as error:
        if task_of(call) is None:
            raise
        raise RpcError(INTERNAL_ERROR, f"The task failed: {error.message}") from None


def _forgotten_once_fetched(call: Call, proceed: Proceed) -> Message | None:
    result = proceed(call)
    call.peer.tasks.pop(call.params["taskId"], None)
    return result


def _counted_down(task: Message) -> None:
    if task.get("ttl"):
        passed = datetime.now(UTC) - datetime.fromisoformat(task["createdAt"])
        task["ttl"] -= int(passed.total_seconds() * 1_000_000) / 1000


FAULTS = (
    fault(
        "structured-content-wrong-in-task",
        "tools/structured-content-conforms tasks/result-as-without-task",
        "structured content breaks the outputSchema where the call was made a task",
        changed(
            "tasks/result", lambda result, call: {**result, "structuredContent": {"steps": "as many as you wanted"}}
        ),
    ),
    fault(
        "tasks-undeclared",
        "tasks/capability-declared jsonrpc/undeclared-feature-refused",
        "tools run as tasks, but the capability is not declared",
        undeclared("tasks"),
    ),
    fault(
        "task-member-refused",
        "tasks/undeclared-augmentation-ignored",
        "a server without tasks refuses calls with the member task",
        several(without("tasks"), instead("tools/call", _refuse_member)),
    ),
    fault(
        "forbidden-task-runs",
        "tasks/augmentation-of-unsupporting-tool-refused",
        "a tool without task support ignores that it is called as a task",
        instead("tools/call", _forbidden_plainly),
    ),
    fault(
        "one-forbidden-task-runs",
        "tasks/augmentation-of-unsupporting-tool-refused",
        "one of the tools without task support ignores that it is called as a task",
        instead("tools/call", _one_forbidden_plainly),
    ),
    fault(
        "required-task-runs-plainly",
        "tasks/required-augmentation-demanded",
        "a tool that runs as a task only runs without one",
        instead("tools/call", _required_plainly),
    ),
    fault(
        "task-not-created",
        "tasks/create-result-returned",
        "calls as tasks are answered by the tool's result",
        instead("tools/call", _as_if_absent),
    ),
    fault(
        "task-created-late",
        "tasks/create-result-prompt",
        "a task is created when the tool is done",
        setting("create_task", _when_done),
    ),
    fault(
        "task-without-update-time",
        "tasks/task-shape",
        "a new task has no lastUpdatedAt",
        _created(lambda task: drop(task, "lastUpdatedAt")),
    ),
    fault(
        "task-notification-partial",
        "tasks/task-shape",
        "status notifications have no ttl",
        on_notification(STATUS, lambda message, call: drop(message["params"], "ttl")),
    ),
    fault(
        "task-id-number",
        "tasks/id-is-string",
        "the id of a new task is a number",
        _created(lambda task: task.update(taskId=7)),
    ),
    fault("task-ids-same", "tasks/id-unique", "all tasks have the same id", setting("task_id", lambda: "a-task" * 5)),
    fault("task-ids-counted", "tasks/id-hard-to-guess", "the ids of tasks are counted", _numbered),
    fault(
        "task-starts-completed",
        "tasks/starts-working",
        "a new task is completed",
        _created(lambda task: task.update(status="completed")),
    ),
    fault(
        "task-reopens",
        "tasks/defined-transitions-only",
        "a task that has ended is at work again",
        _after_the_end("working", ("completed", "failed")),
    ),
    fault(
        "task-ends-twice",
        "tasks/terminal-is-final",
        "a task that was completed has failed later",
        _after_the_end("failed", ("completed",)),
    ),
    fault(
        "task-times-in-seconds",
        "tasks/timestamps-iso-8601",
        "createdAt is a number of seconds, as a string",
        _every(lambda task: task.update(createdAt="1763721000")),
    ),
    fault(
        "task-forgotten-once-fetched",
        "tasks/ttl-reported",
        "a task is forgotten once its result was fetched",
        instead("tasks/result", _forgotten_once_fetched),
    ),
    fault(
        "task-ttl-counted-down",
        "tasks/ttl-reported",
        "the ttl of a task is what is left of it",
        _every(_counted_down),
    ),
    fault(
        "task-update-frozen",
        "tasks/timestamps-iso-8601",
        "lastUpdatedAt of a task is createdAt",
        _every(lambda task: task.update(lastUpdatedAt=task["createdAt"])),
    ),
    fault(
        "task-ttl-unreported",
        "tasks/ttl-reported",
        "tasks/get has no ttl",
        changed("tasks/get", lambda result, call: drop(result, "ttl")),
    ),
    fault(
        "task-result-is-task",
        "tasks/result-is-final",
        "tasks/result gives the task",
        changed("tasks/result", _as_task),
    ),
    fault(
        "task-result-early",
        "tasks/result-blocks-until-terminal",
        "tasks/result does not wait",
        instead("tasks/result", _early),
    ),
    fault(
        "task-result-refused-while-asking",
        "tasks/result-blocks-until-terminal",
        "tasks/result is refused while the task waits for an answer of the client",
        instead("tasks/result", _early_while_asking),
    ),
    fault(
        "second-fetch-refused",
        "tasks/result-is-final",
        "of several tasks/result that wait only the first is answered by the result",
        instead("tasks/result", _one_fetcher),
    ),
    fault(
        "second-fetch-unanswered",
        "tasks/result-blocks-until-terminal",
        "of several tasks/result that wait only the first is answered",
        instead("tasks/result", _first_fetcher),
    ),
    fault(
        "task-result-differs",
        "tasks/result-as-without-task",
        "tasks/result says more than a plain call",
        changed("tasks/result", _more),
    ),
    fault(
        "task-error-differs",
        "tasks/result-returns-same-error",
        "tasks/result gives -32603 for every error of a tool",
        instead("tasks/result", _other_error),
    ),
    fault(
        "task-result-nameless",
        "tasks/result-names-task",
        "tasks/result does not name its task",
        changed("tasks/result", lambda result, call: drop(result, "_meta")),
    ),
)
