"""Faults in tasks, of the extension of revision 2026-07-28."""

from __future__ import annotations

from time import monotonic

from conformance.reference import task_extension
from conformance.reference.fault import Fault, drop, instead, setting
from conformance.reference.server import Server
from conformance.reference.task_extension import EXTENSION, WorkCall
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call, Tool, Work
    from conformance.reference.fault import Apply, Proceed

LATER = 0.2
"""Seconds after which a task is known that should have been known at once."""


def fault(name: str, requirements: str, summary: str, apply: Apply, **where: str) -> Fault:
    """A fault of the revision that has this extension."""
    ids = " ".join(f"tasks/{each}" if "/" not in each else each for each in requirements.split())
    return Fault(name, ids, summary, apply, since="2026-07-28", **where)


def changed(method: str, change: Callable[[Message, Call], Any]) -> Apply:
    """Change the results of a method, in place or by returning another one; not what tools give to their tasks."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        result = proceed(call)
        if result is None or isinstance(call, WorkCall):
            return result
        instead = change(result, call)
        return result if instead is None else instead

    return instead(method, run)


def _created(change: Callable[[Message], Any]) -> Apply:
    """Change CreateTaskResults."""
    return changed("tools/call", lambda result, call: change(result) if result.get("resultType") == "task" else None)


def refused(method: str, number: int, when: Callable[[Call], bool]) -> Apply:
    """Refuse a method about some tasks."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        if when(call):
            raise RpcError(number, "This server does not")
        return proceed(call)

    return instead(method, run)


def work_of(call: Call) -> Work | None:
    """The task that a request is about, if there is one."""
    return call.server.works.get(str(call.params.get("taskId")))


def lives(call: Call) -> bool:
    work = work_of(call)
    return work is not None and not work.over.is_set()


# Creation.


def _for_anybody(server: Server) -> None:
    """Answer by tasks whatever the client declared."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        tool = server.tools.get(call.params.get("name", ""))
        return server.create_work(call, tool) if tool and tool.background and is_plain(call) else proceed(call)

    instead("tools/call", run)(server)


def is_plain(call: Call) -> bool:
    return not isinstance(call, WorkCall) and call.revision >= "2026-07-28"


def _as_before(server: Server) -> None:
    """Remember that some client takes tasks, and give them to all."""
    known: list[bool] = []

    def run(call: Call, proceed: Proceed) -> Message | None:
        if task_extension.declared(call):
            known.append(True)
        elif known and is_plain(call):
            call.client = {**call.client, "extensions": {EXTENSION: {}}}
        return proceed(call)

    instead("tools/call", run)(server)


def _otherwise_refused(error: Callable[[RpcError], RpcError]) -> Apply:
    """Refuse tools that run as tasks only by another error."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        try:
            return proceed(call)
        except RpcError as reason:
            if is_plain(call) and not task_extension.declared(call) and EXTENSION in str(reason.data):
                raise error(reason) from None
            raise

    return instead("tools/call", run)


def _prompt_as_task(call: Call, proceed: Proceed) -> Message | None:
    if isinstance(call, WorkCall) or not task_extension.declared(call):
        return proceed(call)
    return call.server.create_work(call, next(iter(call.server.tools.values())))


def _one_read_as_task(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("uri") != list(call.server.resources)[-1]:
        return proceed(call)
    return _prompt_as_task(call, proceed)


def _says_task(result: Message, call: Call) -> None:
    if "content" in result:
        result["resultType"] = "task"


def _embedded(result: Message) -> Message:
    return {"resultType": "task", "task": {name: result[name] for name in result if name != "resultType"}}


def _known_later(server: Server) -> None:
    born: dict[str, float] = {}

    def create(call: Call, tool: Tool) -> Message:
        result = task_extension.create(call, tool)
        born[result["taskId"]] = monotonic()
        return result

    def unknown(call: Call) -> bool:
        return monotonic() - born.get(str(call.params.get("taskId")), 0.0) < LATER

    server.create_work = create
    refused("tasks/get", INVALID_PARAMS, unknown)(server)


def _numbered(server: Server) -> None:
    numbers = iter(range(1, 1 << 62))
    server.task_id = lambda: f"task-{next(numbers)}"


# What tasks/get shows.


def _shown(status: str, change: Callable[[Message], Any]) -> Apply:
    """Change tasks of a status, where tasks/get shows them."""
    return changed("tasks/get", lambda result, call: change(result) if result["status"] == status else None)


def _told_once(server: Server) -> None:
    """Show each question once, and again when it has been asked for a third time."""
    shown: dict[str, int] = {}

    def change(result: Message) -> None:
        for key in list(result["inputRequests"]):
            name = f"{result['taskId']} {key}"
            shown[name] = shown.get(name, 0) + 1
            if shown[name] % 2 == 0:
                del result["inputRequests"][key]

    _shown("input_required", change)(server)


def _result_told_once(server: Server) -> None:
    told: set[str] = set()

    def change(result: Message) -> None:
        if result["taskId"] in told:
            del result["result"]
        told.add(result["taskId"])

    _shown("completed", change)(server)


def _failing(with_result: bool) -> Apply:
    """A task fails whose tool failed by isError."""

    def end(work: Work, outcome: Message) -> None:
        result = outcome.get("result", {})
        if result.get("isError") is not True:
            task_extension.end(work, outcome)
            return
        error = {"code": INTERNAL_ERROR, "message": result["content"][0]["text"]}
        work.move("failed", "The tool has failed.", outcome if with_result else {"error": error})

    return setting("end_work", end)


FAULTS = (
    fault(
        "task-for-anybody",
        "no-task-for-undeclaring-client discovery/extension-fallback",
        "a call becomes a task whatever the client declared",
        _for_anybody,
    ),
    fault(
        "task-by-earlier-request",
        "no-task-for-undeclaring-client versioning/no-context-from-prior-requests",
        "a call becomes a task because an earlier request declared the extension",
        _as_before,
    ),
    fault(
        "task-only-tool-refused-plainly",
        "task-only-tool-refused-without-capability",
        "a tool that runs as a task only is refused to other clients with -32602",
        _otherwise_refused(lambda reason: RpcError(INVALID_PARAMS, "This tool runs as a task only")),
    ),
    fault(
        "task-only-tool-names-nothing",
        "task-only-tool-refused-without-capability meta/missing-capability-named",
        "the error that refuses a tool to clients without tasks does not name the extension",
        _otherwise_refused(lambda reason: RpcError(reason.code, reason.message, {"requiredCapabilities": {}})),
    ),
    fault(
        "task-unmarked",
        "result-type-task",
        "a CreateTaskResult is said to be complete",
        _created(lambda result: result.update(resultType="complete")),
    ),
    fault(
        "result-marked-as-task",
        "result-type-task flat-task-shape no-task-for-undeclaring-client discovery/extension-fallback",
        "the results of tools say that they are tasks",
        changed("tools/call", _says_task),
    ),
    fault(
        "prompt-becomes-task",
        "only-tools-call-becomes-task",
        "prompts/get is answered by a task",
        instead("prompts/get", _prompt_as_task),
    ),
    fault(
        "one-read-becomes-task",
        "only-tools-call-becomes-task",
        "reading one resource of many is answered by a task",
        instead("resources/read", _one_read_as_task),
    ),
    fault(
        "task-embedded",
        "flat-task-shape",
        "a CreateTaskResult has the task in a member of its own",
        _created(_embedded),
    ),
    fault(
        "task-without-ttl",
        "flat-task-shape",
        "a CreateTaskResult has no ttlMs",
        _created(lambda result: drop(result, "ttlMs")),
    ),
    fault(
        "task-created-in-seconds",
        "flat-task-shape",
        "createdAt of a CreateTaskResult is a number",
        _created(lambda result: result.update(createdAt=1785240000)),
    ),
    fault(
        "task-known-later",
        "durable-before-response",
        "tasks/get does not know a task in the first moments after its creation",
        _known_later,
    ),
    fault(
        "extension-task-ids-counted",
        "id-hard-to-guess",
        "the ids of tasks are counted",
        _numbered,
    ),
    fault(
        "task-without-result",
        "get-carries-status-payload",
        "a completed task has no result",
        _shown("completed", lambda task: drop(task, "result")),
    ),
    fault(
        "task-result-told-once",
        "get-carries-status-payload",
        "the result of a completed task is shown by the first tasks/get only",
        _result_told_once,
    ),
    fault(
        "task-result-as-text",
        "get-carries-status-payload",
        "the result of a completed task is a text",
        _shown("completed", lambda task: task.update(result="done")),
    ),
    fault(
        "task-result-is-content",
        "get-carries-status-payload",
        "the result of a completed task has no content but what that holds",
        _shown("completed", lambda task: task.update(result={"text": "done"})),
    ),
    fault(
        "task-without-requests",
        "get-carries-status-payload",
        "a task that needs input does not say which",
        _shown("input_required", lambda task: drop(task, "inputRequests")),
    ),
    fault(
        "task-status-unknown",
        "get-carries-status-payload",
        "a task at work has the status running",
        _shown("working", lambda task: task.update(status="running")),
    ),
    fault(
        "get-marked-as-task",
        "method-results-are-complete",
        "the result of tasks/get says that it is a task",
        changed("tasks/get", lambda result, call: {**result, "resultType": "task"}),
    ),
    fault(
        "questions-told-once",
        "outstanding-requests-all-listed get-carries-status-payload",
        "tasks/get shows a question every other time",
        _told_once,
    ),
    fault(
        "question-keys-reused",
        "input-keys-not-reused",
        "a task asks under a key that it has used before",
        setting("question_key", lambda name, number: f"question-{number % 2}"),
    ),
    fault(
        "tool-error-fails-task",
        "failed-only-for-jsonrpc-errors",
        "a task fails by an error if its tool says isError",
        _failing(with_result=False),
    ),
    fault(
        "tool-error-fails-task-with-result",
        "failed-only-for-jsonrpc-errors failed-carries-error get-carries-status-payload",
        "a task fails with a result if its tool says isError",
        _failing(with_result=True),
    ),
    fault(
        "failed-task-without-error",
        "failed-carries-error",
        "a failed task has no error",
        _shown("failed", lambda task: drop(task, "error")),
    ),
    fault(
        "failed-task-with-text",
        "failed-carries-error",
        "the error of a failed task is a text",
        _shown("failed", lambda task: task.update(error="refused")),
    ),
    fault(
        "failed-task-says-nothing",
        "failed-carries-error",
        "a failed task has no statusMessage",
        _shown("failed", lambda task: drop(task, "statusMessage")),
    ),
)
