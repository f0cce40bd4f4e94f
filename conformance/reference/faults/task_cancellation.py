"""Faults in what comes of tasks that are cancelled, and in how a task is told, of 2025-11-25."""

from __future__ import annotations

from conformance.reference import tasks
from conformance.reference.call import Call
from conformance.reference.fault import code, forgiving, instead
from conformance.reference.faults.tasks import changed, fault, task_of
from conformance.reference.tasks import RELATED
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

WAS_CANCELLED = "Cannot cancel: the task is cancelled"


def _cancelled(call: Call) -> bool:
    task = task_of(call)
    return task is not None and task.status == "cancelled"


def _of_cancelled(change: Callable[[Call], Message]) -> Apply:
    """Answer `tasks/result` of a cancelled task by a result."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        try:
            return proceed(call)
        except RpcError:
            if not _cancelled(call):
                raise
            return change(call)

    return instead("tasks/result", run)


def _named(call: Call) -> Message:
    return {"_meta": {RELATED: {"taskId": call.params["taskId"]}}}


def _described(call: Call) -> Message:
    task = task_of(call)
    assert task is not None
    return task.described()


def _silent_if_cancelled(call: Call, proceed: Proceed) -> Message | None:
    if _cancelled(call):
        call.cancelled.wait()
    return proceed(call)


def _waiting_forgotten(call: Call, proceed: Proceed) -> Message | None:
    waits = (task := task_of(call)) is not None and not task.over.is_set()
    try:
        return proceed(call)
    except RpcError:
        if waits and _cancelled(call):
            call.cancelled.wait()
        raise


def _completing(call: Call, proceed: Proceed) -> Message | None:
    task = task_of(call)
    if not isinstance(task, tasks.Task) or task.over.is_set():
        return proceed(call)
    task.end({"result": {"content": []}}, "completed")
    task.call.cancelled.set()
    return task.described()


def _all(call: Call, proceed: Proceed) -> Message | None:
    result = proceed(call)
    for task in call.peer.tasks.values():
        if not task.over.is_set():
            task.cancel()
    return result


def _the_last(call: Call, proceed: Proceed) -> Message | None:
    return list(call.peer.tasks.values())[-1].described() if task_of(call) is not None else proceed(call)


def _fetched_once() -> Apply:
    fetched: set[str] = set()

    def fetch(call: Call, proceed: Proceed) -> Message | None:
        if call.params["taskId"] in fetched:
            raise RpcError(INVALID_PARAMS, "The result was fetched already")
        result = proceed(call)
        fetched.add(call.params["taskId"])
        return result

    return instead("tasks/result", fetch)


def _third_as_first(server: Server) -> None:
    made: list[str] = []
    new = server.task_id

    def identify() -> str:
        made.append(made[0] if len(made) == 2 else new())
        return made[-1]

    server.task_id = identify


def _listed_but(status: str) -> Apply:
    """Leave out of the list the tasks with that status."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        known = call.peer.tasks
        call.peer.tasks = {name: task for name, task in known.items() if task.status != status}
        try:
            return proceed(call)
        finally:
            call.peer.tasks = known

    return instead("tasks/list", run)


def _done(result: Message, call: Call) -> None:
    if result["status"] == "completed":
        result["status"] = "done"


FAULTS = (
    fault(
        "task-within-a-member",
        "tasks/task-shape tasks/id-is-string tasks/ttl-reported",
        "tasks/get gives the task as a member of its result",
        changed("tasks/get", lambda result, call: {"task": result}),
    ),
    fault(
        "task-result-once",
        "tasks/result-is-final",
        "a result can be fetched once",
        _fetched_once(),
    ),
    fault("third-task-id-reused", "tasks/id-unique", "the third task has the id of the first", _third_as_first),
    fault(
        "tasks-list-without-cancelled",
        "tasks/list-complete tasks/list-next-cursor",
        "tasks that were cancelled are not listed",
        _listed_but("cancelled"),
    ),
    fault(
        "unknown-task-has-result",
        "tasks/unknown-id-refused",
        "a task that does not exist has a result",
        forgiving(lambda call: call.method == "tasks/result" and task_of(call) is None, lambda call: {"content": []}),
    ),
    fault(
        "unknown-task-no-method",
        "tasks/unknown-id-refused",
        "a task that does not exist gives -32601",
        code("Unknown task", METHOD_NOT_FOUND),
    ),
    fault(
        "task-done",
        "tasks/task-shape",
        "tasks/get says done of a task that is completed",
        changed("tasks/get", _done),
    ),
    fault(
        "task-cancelled-twice",
        "tasks/cancel-of-terminal-refused",
        "a task that was cancelled can be cancelled again",
        forgiving(lambda call: call.method == "tasks/cancel" and _cancelled(call), _described),
    ),
    fault(
        "task-cancelled-twice-code",
        "tasks/cancel-of-terminal-refused",
        "a task that is cancelled again gives -32603",
        code(WAS_CANCELLED, INTERNAL_ERROR),
    ),
    fault(
        "cancelled-task-result-bare",
        "tasks/result-is-final",
        "the result of a task that was cancelled has no content",
        _of_cancelled(_named),
    ),
    fault(
        "cancelled-task-result-is-task",
        "tasks/result-is-final",
        "the result of a task that was cancelled is the task",
        _of_cancelled(lambda call: {**_described(call), **_named(call)}),
    ),
    fault(
        "cancelled-task-result-unanswered",
        "tasks/result-is-final",
        "tasks/result of a task that was cancelled is not answered",
        instead("tasks/result", _silent_if_cancelled),
    ),
    fault(
        "cancelled-task-result-nameless",
        "tasks/result-names-task",
        "the result of a task that was cancelled does not name it",
        _of_cancelled(lambda call: {"content": [], "isError": True}),
    ),
    fault(
        "task-fetcher-forgotten",
        "tasks/result-blocks-until-terminal",
        "a tasks/result that waits for a task is not answered when that is cancelled",
        instead("tasks/result", _waiting_forgotten),
    ),
    fault(
        "task-cancelled-completed",
        "tasks/cancel-moves-to-cancelled",
        "a task that is cancelled is completed",
        instead("tasks/cancel", _completing),
    ),
    fault(
        "tasks-cancelled-together",
        "tasks/request-parameter-wins",
        "the cancellation of one task cancels all",
        instead("tasks/cancel", _all),
    ),
    fault(
        "task-of-the-last",
        "tasks/request-parameter-wins",
        "tasks/get tells of the task that was created last",
        instead("tasks/get", _the_last),
    ),
)
