"""Faults in tasks, of the extension of revision 2026-07-28: answers, cancellation, capabilities, what was before."""

from __future__ import annotations

from conformance.reference import task_extension
from conformance.reference.fault import drop, forgiving, instead, on_notification, setting, several
from conformance.reference.faults.headers_by_method import OF_TASKS, any_task
from conformance.reference.faults.subscriptions import ACK
from conformance.reference.faults.task_extension import changed, fault, is_plain, lives, refused, work_of
from conformance.reference.shape import text
from conformance.reference.task_extension import CHANGED, EXTENSION
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.reference.call import Call, Tool
    from conformance.reference.call import Work as AnyWork
    from conformance.reference.fault import Apply, Proceed


# Answers and cancellation.


def _with_task(result: Message, call: Call) -> Message:
    work = work_of(call)
    return {**result, **(work.described() if work else {})}


def _still_lived(call: Call) -> bool:
    """Whether the task was at work until this request has cancelled it."""
    work = work_of(call)
    return work is None or work.status == "cancelled"


def _asks(call: Call) -> bool:
    work = work_of(call)
    return work is not None and work.status == "input_required"


def _no_stray_answers(call: Call, proceed: Proceed) -> Message | None:
    work = work_of(call)
    if work is not None and set(call.params.get("inputResponses", {})) - set(work.asked):
        raise RpcError(INVALID_PARAMS, "Invalid params: nobody asked for that")
    return proceed(call)


def _cancelled_at_any_time(call: Call, proceed: Proceed) -> Message | None:
    """Cancel a task that is over as well."""
    result, work = proceed(call), work_of(call)
    if isinstance(work, task_extension.Work) and work.status == "completed":
        work.status, work.payload = "cancelled", {}
    return result


def _unknown(method: str) -> Apply:
    """Acknowledge what a method says about tasks that nobody knows."""
    return forgiving(lambda call: call.method == method and work_of(call) is None, lambda call: {})


# Capabilities.


def _listen_for_anybody(call: Call, proceed: Proceed) -> Message | None:
    call.client = {**call.client, "extensions": {EXTENSION: {}}}
    return proceed(call)


def _other_code(call: Call) -> None:
    if not task_extension.declared(call):
        raise RpcError(INVALID_PARAMS, "Invalid params: this client has no tasks")


def _ignored_ids(call: Call, proceed: Proceed) -> Message | None:
    if not task_extension.declared(call):
        call.params["notifications"].pop("taskIds", None)
    return proceed(call)


# What is said beside.


def _other_result(params: Message) -> None:
    if "result" in params:
        params["result"] = {"content": [text("This is what was told.")]}


def _talking(*methods: str) -> Apply:
    """Send what tools say although they run as tasks, as if their calls had not been answered."""

    def create(call: Call, tool: Tool) -> Message:
        result = task_extension.create(call, tool)
        work = call.server.works[result["taskId"]]
        work.call.channel = call.channel
        return result

    def tell(call: Call, message: Message) -> None:
        if message["method"] in methods:
            call.server.send(call.channel, message, call)

    return several(setting("create_work", create), setting("tell_of_work", tell))


def _end_well(work: AnyWork, outcome: Message) -> None:
    if "error" in outcome:
        outcome = {"result": {"content": [text(outcome["error"]["message"])], "isError": True}}
    task_extension.end(work, outcome)


# What there was before.


def _old_result(call: Call, proceed: Proceed) -> Message | None:
    if call.revision < "2026-07-28":
        return proceed(call)
    raise RpcError(INVALID_PARAMS, f"Unknown task: {call.params.get('taskId')}")


def _old_member(then: Callable[[Call, Proceed], Message | None]) -> Apply:
    """Heed the member task of a call."""
    return instead(
        "tools/call",
        lambda call, proceed: then(call, proceed) if is_plain(call) and "task" in call.params else proceed(call),
    )


def _refuse_member(call: Call, proceed: Proceed) -> Message | None:
    raise RpcError(INVALID_PARAMS, "Invalid params: there is no member task")


def _old_form(call: Call, proceed: Proceed) -> Message | None:
    tool = call.server.tools[call.params["name"]]
    described = task_extension.Work(call, tool).described()
    return {"task": {**described, "ttl": described["ttlMs"]}}


def _by_member(call: Call, proceed: Proceed) -> Message | None:
    return call.server.create_work(call, call.server.tools[call.params["name"]])


def _advertise(call: Call, proceed: Proceed) -> Message | None:
    result = proceed(call) or {}
    result["capabilities"]["tasks"] = {"cancel": {}, "requests": {"tools": {"call": {}}}}
    return result


def _without_structure(result: Message, call: Call) -> Message:
    given = {key: value for key, value in result.get("result", {}).items() if key != "structuredContent"}
    return {**result, "result": given} if "result" in result else result


def _told_unasked(result: Message, call: Call) -> None:
    """Tell of a task on the way to its CreateTaskResult, though nobody subscribed to it."""
    if result.get("resultType") == "task":
        told = {name: value for name, value in result.items() if name != "resultType"}
        call.send(notification(CHANGED, told))


def _no_changes(result: Message, call: Call) -> None:
    """Declare no list and no resource of which changes are told."""
    for capability in result["capabilities"].values():
        drop(capability, "listChanged", "subscribe")


FAULTS = (
    fault(
        "task-told-unasked",
        "subscriptions/requested-types-only subscriptions/subscription-id-present",
        "notifications/tasks comes for each new task, though nobody subscribed",
        changed("tools/call", _told_unasked),
    ),
    fault(
        "tasks-told-before-acknowledgment",
        "subscriptions/acknowledged-first",
        "only tasks can be subscribed to, and such subscriptions are not acknowledged",
        several(changed("server/discover", _no_changes), on_notification(ACK, lambda message, call: [])),
    ),
    fault(
        "structured-content-missing-in-task",
        "tools/structured-content-conforms notification-carries-whole-task",
        "a task of a tool with outputSchema ends without structured content",
        changed("tasks/get", _without_structure),
    ),
    fault(
        "cancel-marked-as-task",
        "method-results-are-complete",
        "the result of tasks/cancel says that it is a task",
        changed("tasks/cancel", lambda result, call: {**result, "resultType": "task"}),
    ),
    fault(
        "update-answered-by-task",
        "update-acknowledged-empty",
        "tasks/update is answered by the task",
        changed("tasks/update", _with_task),
    ),
    fault(
        "update-unknown-method",
        "update-acknowledged-empty update-unknown-keys-ignored jsonrpc/unknown-method-refused"
        " update-and-cancel-unknown-id-refused methods-need-capability",
        "there is no tasks/update",
        refused("tasks/update", METHOD_NOT_FOUND, lambda call: True),
    ),
    fault(
        "stray-answers-refused",
        "update-unknown-keys-ignored",
        "tasks/update refuses answers that nobody asked for",
        instead("tasks/update", _no_stray_answers),
    ),
    fault(
        "cancel-answered-by-task",
        "cancel-acknowledged-empty",
        "tasks/cancel is answered by the task",
        changed("tasks/cancel", _with_task),
    ),
    fault(
        "cancel-refused",
        "cancel-acknowledged-empty",
        "a task at work cannot be cancelled",
        refused("tasks/cancel", INTERNAL_ERROR, lambda call: lives(call) and task_extension.declared(call)),
    ),
    fault(
        "ended-task-cancelled",
        "terminal-is-final",
        "a task that is completed becomes cancelled by tasks/cancel",
        instead("tasks/cancel", _cancelled_at_any_time),
    ),
    fault(
        "ended-task-cancelled-with-task",
        "cancel-acknowledged-empty",
        "tasks/cancel of a task that is over is answered by the task",
        changed("tasks/cancel", lambda result, call: None if _still_lived(call) else _with_task(result, call)),
    ),
    fault(
        "asking-task-not-cancelled",
        "cancel-acknowledged-empty",
        "a task that waits for input cannot be cancelled",
        refused("tasks/cancel", INVALID_PARAMS, lambda call: _asks(call) and task_extension.declared(call)),
    ),
    fault(
        "unknown-task-updated",
        "update-and-cancel-unknown-id-refused",
        "tasks/update of an unknown task succeeds",
        _unknown("tasks/update"),
    ),
    fault(
        "unknown-task-cancelled",
        "update-and-cancel-unknown-id-refused",
        "tasks/cancel of an unknown task succeeds",
        _unknown("tasks/cancel"),
    ),
    fault(
        "unknown-task-other-code",
        "unknown-id-refused",
        "tasks/get of an unknown task gives -32603",
        refused("tasks/get", INTERNAL_ERROR, lambda call: work_of(call) is None),
    ),
    fault(
        "tasks-for-anybody",
        "methods-need-capability task-subscription-needs-capability",
        "tasks are shown to clients that did not declare the extension",
        setting("check_task_client", lambda call: None),
    ),
    fault(
        "tasks-other-code",
        "methods-need-capability task-subscription-needs-capability",
        "clients that did not declare the extension are refused with -32602",
        setting("check_task_client", _other_code),
    ),
    fault(
        "task-subscription-for-anybody",
        "task-subscription-needs-capability",
        "clients that did not declare the extension subscribe to tasks",
        instead("subscriptions/listen", _listen_for_anybody),
    ),
    fault(
        "task-subscription-ignored",
        "task-subscription-needs-capability",
        "clients that did not declare the extension are not refused when they want to hear of tasks",
        instead("subscriptions/listen", _ignored_ids),
    ),
    fault(
        "task-told-in-part",
        "notification-carries-whole-task",
        "notifications/tasks have no ttlMs",
        on_notification(CHANGED, lambda message, call: drop(message["params"], "ttlMs")),
    ),
    fault(
        "task-told-without-result",
        "notification-carries-whole-task",
        "notifications/tasks have no result",
        on_notification(CHANGED, lambda message, call: drop(message["params"], "result")),
    ),
    fault(
        "task-told-otherwise",
        "notification-carries-whole-task",
        "notifications/tasks have another result than tasks/get",
        on_notification(CHANGED, lambda message, call: _other_result(message["params"])),
    ),
    fault(
        "task-reports-progress",
        "no-progress-or-log-for-tasks progress/stops-after-completion",
        "progress is sent for tasks",
        _talking("notifications/progress"),
        transports="stdio",
    ),
    fault(
        "task-logs",
        "no-progress-or-log-for-tasks",
        "log messages are sent for tasks",
        _talking("notifications/message"),
        transports="stdio",
    ),
    fault(
        "task-error-told-as-result",
        "failed-carries-error",
        "a task whose tool is refused by an error is completed, with the error as a result",
        setting("end_work", _end_well),
    ),
    fault(
        "task-told-without-requests",
        "notification-carries-whole-task",
        "notifications/tasks do not say what a task asks",
        on_notification(CHANGED, lambda message, call: drop(message["params"], "inputRequests")),
    ),
    fault(
        "task-parameter-for-anybody",
        "no-task-for-undeclaring-client discovery/extension-fallback",
        "a call with the member task becomes a task, whatever the client declared",
        _old_member(
            lambda call, proceed: proceed(call) if task_extension.declared(call) else _by_member(call, proceed)
        ),
    ),
    fault(
        "task-name-header-ignored",
        "name-header-validated",
        "requests about tasks are served whatever Mcp-Name says",
        any_task(*OF_TASKS),
        transports="http",
    ),
    fault(
        "tasks-result-kept",
        "legacy-result-method-removed",
        "tasks/result is still a method",
        instead("tasks/result", _old_result),
    ),
    fault(
        "task-parameter-refused",
        "legacy-task-param-ignored",
        "a call with the member task is refused",
        _old_member(_refuse_member),
    ),
    fault(
        "task-parameter-in-old-form",
        "legacy-task-param-ignored",
        "a call with the member task is answered by a task of 2025-11-25",
        _old_member(_old_form),
    ),
    fault(
        "task-parameter-decides",
        "legacy-task-param-ignored",
        "a call with the member task becomes a task",
        _old_member(_by_member),
    ),
    fault(
        "tasks-advertised-as-before",
        "legacy-capability-not-advertised",
        "the capability tasks of 2025-11-25 is advertised",
        instead("server/discover", _advertise),
    ),
)
