"""Faults in what is said about tasks, in lists of them, in cancelling, and in the client's tasks, of 2025-11-25."""

from __future__ import annotations

from threading import Event
from time import monotonic

from conformance.reference.call import Call, NoAnswer
from conformance.reference.fault import (
    around,
    code,
    drop,
    forgiving,
    instead,
    on_notification,
    on_result,
    sending,
    setting,
)
from conformance.reference.faults.tasks import STATUS, changed, fault, task_of
from conformance.reference.tasks import RELATED
from conformance.reference.wire import INTERNAL_ERROR, Message, RpcError, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Channel, Peer
    from conformance.reference.client_tasks import Session
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

PROGRESS = "notifications/progress"
ASKING = ("elicitation/create", "sampling/createMessage")
LATE = 0.8


# Status.


def _related(result: Message, call: Call | None = None) -> None:
    result["_meta"] = {RELATED: {"taskId": result["taskId"]}}


def _meta_first(call: Call, proceed: Proceed) -> Message | None:
    named = call.meta.get(RELATED)
    if isinstance(named, dict):
        call.params["taskId"] = named["taskId"]
    return proceed(call)


def _uncancelling(call: Call, proceed: Proceed) -> Message | None:
    task = task_of(call)
    return proceed(call) if task is None or task.over.is_set() else task.described()


def _ended(call: Call) -> bool:
    task = task_of(call)
    return call.method == "tasks/cancel" and task is not None and task.over.is_set()


def _described(call: Call) -> Message:
    task = task_of(call)
    assert task is not None
    return task.described()


def _uncancelled(result: Message, call: Call) -> None:
    if result["status"] == "cancelled":
        result["status"] = "completed"


def _failing_late() -> Apply:
    cancelled: dict[str, float] = {}

    def change(result: Message, call: Call) -> None:
        if result["status"] == "cancelled" and monotonic() - cancelled.setdefault(result["taskId"], monotonic()) > LATE:
            result["status"] = "failed"

    return changed("tasks/get", change)


def _silently_failed(result: Message, call: Call) -> None:
    if result["status"] == "failed":
        drop(result, "statusMessage")


# Messages.


def _own_token(message: Message, call: Call | None) -> None:
    named = message["params"].get("_meta", {}).get(RELATED)
    if named:
        message["params"]["progressToken"] = named["taskId"]


def _progress_again(message: Message, call: Call | None) -> Any:
    token = call.meta.get("progressToken") if call else None
    if token is None or message["params"]["status"] != "completed":
        return None
    return [message, notification(PROGRESS, {"progressToken": token, "progress": 1000, "_meta": _named(message)})]


def _named(message: Message) -> Message:
    return {RELATED: {"taskId": message["params"]["taskId"]}}


def _asking(change: Callable[[Message], Any], *methods: str) -> Apply:
    """Change the params of requests to the client."""

    def change_request(message: Message, call: Call | None) -> None:
        if message.get("method") in methods and "id" in message:
            change(message.setdefault("params", {}))

    return sending(change_request)


# Lists.


def _every_other(call: Call, proceed: Proceed) -> Message | None:
    known = call.peer.tasks
    call.peer.tasks = {name: task for number, (name, task) in enumerate(known.items()) if number % 2}
    try:
        return proceed(call)
    finally:
        call.peer.tasks = known


def _under_way(call: Call, proceed: Proceed) -> Message | None:
    known = call.peer.tasks
    call.peer.tasks = {name: task for name, task in known.items() if not task.over.is_set()}
    try:
        return proceed(call)
    finally:
        call.peer.tasks = known


def _any_cursor(call: Call, proceed: Proceed) -> Message | None:
    try:
        return proceed(call)
    except RpcError:
        call.params.pop("cursor")
        return proceed(call)


def _keyed(result: Message, call: Call) -> None:
    result["tasks"] = {task["taskId"]: task for task in result["tasks"]}
    drop(result, "nextCursor")


def _by_events(call: Call, proceed: Proceed) -> Message | None:
    call.log("info", "Somebody asks for a task.")
    return proceed(call)


# The client's tasks.


def _hasty(session: Session, call: Call, task: Message) -> Message:
    named = {"taskId": task["taskId"]}
    while task["status"] == "working":
        task = session.exchange(call, {"method": "tasks/get", "params": named})
    return session.exchange(call, {"method": "tasks/result", "params": named})


def _stubborn(session: Session, call: Call, task: Message) -> Message:
    named = {"taskId": task["taskId"]}
    while task["status"] in ("working", "input_required"):
        call.pause(task["pollInterval"] / 1000)
        task = session.exchange(call, {"method": "tasks/get", "params": named})
    return session.exchange(call, {"method": "tasks/result", "params": named})


def _forgetful(session: Session, call: Call, task: Message) -> Message:
    raise NoAnswer("The client has not answered at once.")


def _when_told(server: Server) -> None:
    told = Event()

    def hear(peer: Peer, method: str, channel: Channel) -> None:
        if method == STATUS:
            told.set()

    def follow(session: Session, call: Call, task: Message) -> Message:
        if not told.wait(0.3):
            raise NoAnswer("The client has not told the end of its task.")
        told.clear()
        return session.exchange(call, {"method": "tasks/result", "params": {"taskId": task["taskId"]}})

    server.notified.append(hear)
    server.follow_client_task = follow


def _cancel_request(server: Server) -> None:
    """Cancel the client's tasks by the id of the requests that created them."""
    asked: list[Any] = []

    def change(message: Message, call: Call | None) -> Any:
        if message.get("method") in ASKING:
            asked.append(message["id"])
        elif message.get("method") == "tasks/cancel" and "id" in message:
            return notification("notifications/cancelled", {"requestId": asked[-1]})
        return None

    sending(change)(server)


def _undeclare_list(result: Message, call: Call) -> None:
    drop(result["capabilities"]["tasks"], "list")


def _everybodys(server: Server) -> None:
    """List the tasks of all clients to each of them."""
    peers: list[Peer] = []

    def run(call: Call, proceed: Proceed) -> Message | None:
        if "task" in call.params and call.peer not in peers:
            peers.append(call.peer)
        if call.method != "tasks/list":
            return proceed(call)
        own = call.peer.tasks
        call.peer.tasks = {name: task for peer in peers for name, task in peer.tasks.items()} | own
        try:
            return proceed(call)
        finally:
            call.peer.tasks = own

    around(run)(server)


FAULTS = (
    fault(
        "task-list-of-everybody",
        "tasks/no-list-without-identity tasks/list-complete tasks/list-next-cursor",
        "tasks/list has the tasks of all clients, who say nothing of themselves",
        _everybodys,
        transports="http",
    ),
    fault(
        "task-progress-nameless",
        "tasks/related-messages-name-task",
        "progress of a task does not name it",
        on_notification(PROGRESS, lambda message, call: drop(message["params"], "_meta")),
    ),
    fault(
        "task-logs-nameless",
        "tasks/related-messages-name-task",
        "log messages of a task do not name it",
        on_notification("notifications/message", lambda message, call: drop(message["params"], "_meta")),
    ),
    fault(
        "task-status-related",
        "tasks/status-results-without-related-meta",
        "tasks/get names its task in _meta as well",
        changed("tasks/get", _related),
    ),
    fault(
        "task-meta-wins",
        "tasks/request-parameter-wins",
        "tasks/get goes by _meta",
        instead("tasks/get", _meta_first),
    ),
    fault(
        "task-input-unmarked",
        "tasks/input-required-status-used",
        "a task that asks the client is working",
        setting("need_input", lambda task: None),
    ),
    fault(
        "task-question-nameless",
        "tasks/input-requests-name-task",
        "what a task asks of the client does not name it",
        _asking(lambda params: drop(params, "_meta"), *ASKING),
    ),
    fault(
        "task-notification-related",
        "tasks/status-notification-shape",
        "status notifications name their task in _meta as well",
        on_notification(STATUS, lambda message, call: _related(message["params"])),
    ),
    fault(
        "task-status-by-sse",
        "tasks/status-not-by-sse",
        "tasks/get is answered by an event stream",
        instead("tasks/get", _by_events),
        transports="http",
    ),
    fault(
        "unknown-task-code",
        "tasks/unknown-id-refused",
        "a task that does not exist gives -32603",
        code("Unknown task", INTERNAL_ERROR),
    ),
    fault(
        "tasks-list-undeclared",
        "tasks/undeclared-list-and-cancel-refused",
        "tasks are listed, but tasks.list is not declared",
        on_result(("initialize",), _undeclare_list),
    ),
    fault("tasks-list-keyed", "tasks/list-shape", "tasks/list gives an object", changed("tasks/list", _keyed)),
    fault(
        "tasks-list-gappy",
        "tasks/list-complete",
        "every other task is not listed",
        instead("tasks/list", _every_other),
    ),
    fault(
        "tasks-list-of-unfinished",
        "tasks/list-complete tasks/list-next-cursor",
        "tasks that are over are not listed",
        instead("tasks/list", _under_way),
    ),
    fault(
        "tasks-list-cut",
        "tasks/list-next-cursor",
        "only the first page of tasks can be had",
        changed("tasks/list", lambda result, call: drop(result, "nextCursor")),
    ),
    fault(
        "tasks-cursor-unchecked",
        "tasks/list-invalid-cursor-refused",
        "tasks/list takes any cursor",
        instead("tasks/list", _any_cursor),
    ),
    fault(
        "task-cancel-ignored",
        "tasks/cancel-moves-to-cancelled",
        "tasks/cancel changes nothing",
        instead("tasks/cancel", _uncancelling),
    ),
    fault(
        "task-uncancelled",
        "tasks/cancelled-stays-cancelled",
        "a task that was cancelled is completed later",
        changed("tasks/get", _uncancelled),
    ),
    fault(
        "task-fails-after-cancellation",
        "tasks/cancelled-stays-cancelled",
        f"a task that was cancelled has failed {LATE:g} s later",
        _failing_late(),
    ),
    fault(
        "task-cancelled-at-end",
        "tasks/cancel-of-terminal-refused",
        "a task that has ended can be cancelled, which changes nothing",
        forgiving(_ended, _described),
    ),
    fault(
        "task-fails-silently",
        "tasks/failed-has-status-message",
        "a failed task has no statusMessage",
        changed("tasks/get", _silently_failed),
    ),
    fault(
        "task-never-fails",
        "tasks/iserror-means-failed",
        "a task whose tool failed is completed",
        setting("task_outcome", lambda result: "completed"),
    ),
    fault(
        "task-token-own",
        "progress/task-keeps-token progress/known-token-only",
        "progress of a task has its id as token",
        on_notification(PROGRESS, _own_token),
    ),
    fault(
        "task-progress-after-end",
        "progress/task-progress-stops-at-terminal",
        "progress comes after the end of a task",
        on_notification(STATUS, _progress_again),
        transports="stdio",
    ),
    fault(
        "asks-for-task-undeclared",
        "tasks/requestor-augments-declared-only",
        "requests to the client ask for a task without knowing that it has any",
        _asking(lambda params: params.setdefault("task", {"ttl": 1000}), *ASKING),
    ),
    fault(
        "client-task-polled-hastily",
        "tasks/requestor-polls",
        "the client's tasks are polled without a pause",
        setting("follow_client_task", _hasty),
    ),
    fault(
        "client-task-forgotten",
        "tasks/requestor-polls",
        "the client's tasks are not followed",
        setting("follow_client_task", _forgetful),
    ),
    fault(
        "client-task-needs-notification",
        "tasks/requestor-independent-of-notifications",
        "the client's tasks are fetched only when it tells of their end",
        _when_told,
    ),
    fault(
        "client-task-input-ignored",
        "tasks/requestor-fetches-on-input-required",
        "a client's task that needs input is polled further",
        setting("follow_client_task", _stubborn),
    ),
    fault(
        "client-task-related",
        "tasks/requestor-without-related-meta",
        "tasks/get to the client names the task in _meta as well",
        _asking(lambda params: _related(params), "tasks/get"),
    ),
    fault(
        "client-task-cursor-changed",
        "tasks/requestor-cursors-opaque",
        "the cursor of the client's list of tasks is changed",
        _asking(
            lambda params: params.update(cursor=params["cursor"] + "!") if "cursor" in params else None, "tasks/list"
        ),
    ),
    fault(
        "client-task-cancelled-by-notification",
        "cancellation/tasks-cancelled-by-tasks-cancel",
        "the client's tasks are cancelled by notifications/cancelled",
        _cancel_request,
    ),
)
