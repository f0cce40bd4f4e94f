"""Tasks of revision 2025-11-25: tool calls that are answered at once and go on, until their result is fetched."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Event, RLock, Thread
from time import monotonic

from conformance.reference import task_extension
from conformance.reference import tool as tools
from conformance.reference.call import Call, Cancelled, NoAnswer
from conformance.reference.schema import problem
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, METHOD_NOT_FOUND, Message, RpcError, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Channel, Peer, Tool
    from conformance.reference.call import Task as AnyTask

REVISION = "2025-11-25"
RELATED = "io.modelcontextprotocol/related-task"
CAPABILITY: Message = {"list": {}, "cancel": {}, "requests": {"tools": {"call": {}}}}
TERMINAL = ("completed", "failed", "cancelled")
POLL_INTERVAL = 10
LONGEST = 3_600_000
SHORTEST = 1_000
_PARAMS: Message = {"type": "object", "properties": {"ttl": {"type": "number"}}}


class Task:
    """A tool call that goes on after its CreateTaskResult.

    `outlet` is the way for messages to the client while a `tasks/result` waits; `fetching` says that one does.
    """

    def __init__(self, created_by: Call, tool: Tool, ttl: float) -> None:
        self.peer: Peer = created_by.peer
        self.server = created_by.server
        self.identity = self.server.task_id()
        self.status = "working"
        self.words = "The tool is at work."
        self.created = self.updated = datetime.now(UTC)
        self.ttl = ttl
        self.expires = monotonic() + ttl / 1000
        self.response: Message = {}
        self.lock = RLock()
        self.over = Event()
        self.fetching = Event()
        self.outlet: Channel = created_by.peer.unsolicited
        self.call = TaskCall(self, created_by)
        self.tool = tool

    def described(self) -> Message:
        """The Task object."""
        with self.lock:
            return {
                "taskId": self.identity,
                "status": self.status,
                "statusMessage": self.words,
                "createdAt": self.created.isoformat(),
                "lastUpdatedAt": self.updated.isoformat(),
                "ttl": self.ttl,
                "pollInterval": POLL_INTERVAL,
            }

    def move(self, status: str, words: str) -> bool:
        """Change the status, unless it is final, and tell the client; whether it was changed."""
        with self.lock:
            if self.over.is_set() or self.status == status:
                return False
            self.status, self.words, self.updated = status, words, datetime.now(UTC)
            if status in TERMINAL:
                self.over.set()
            self.call.tell(notification("notifications/tasks/status", self.described()))
            return True

    def start(self) -> None:
        """Let the tool work, in a thread of its own."""
        Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            result = self.server.handle(self.call) or {}
            self.end({"result": result}, self.server.task_outcome(result))
        except Cancelled:
            pass
        except RpcError as error:
            self.end({"error": error.response({})["error"]}, "failed")
        except Exception as error:
            # A defect of ours must not leave the client waiting.
            failure = RpcError(INTERNAL_ERROR, f"Internal error: {type(error).__name__}: {error}")
            self.end({"error": failure.response({})["error"]}, "failed")

    def end(self, response: Message, status: str) -> None:
        """The tool has ended: its response, and what becomes of the task."""
        with self.lock:
            if not self.over.is_set():
                self.response = response
                self.move(status, "The tool has failed." if status == "failed" else "The tool is done.")

    def cancel(self) -> None:
        """Stop the tool. What it still brings about is not sent."""
        with self.lock:
            self.call.cancelled.set()
            why = RpcError(INTERNAL_ERROR, "The task was cancelled before the tool was done.")
            self.response = {"error": why.response({})["error"]}
            self.move("cancelled", "The client cancelled the task.")

    def fetch(self, channel: Channel) -> None:
        """A `tasks/result` waits: from now on messages to the client may go its way."""
        with self.lock:
            self.outlet = channel
            self.fetching.set()

    def unfetch(self) -> None:
        """The `tasks/result` is over."""
        with self.lock:
            self.fetching.clear()
            self.outlet = self.peer.unsolicited


class TaskCall(Call):
    """The tool call of a task: what it sends names the task, and what it asks for waits for a `tasks/result`."""

    __slots__ = ("task",)

    def __init__(self, task: Task, created_by: Call) -> None:
        params = {name: value for name, value in created_by.params.items() if name != "task"}
        message = {**created_by.message, "params": params}
        super().__init__(created_by.peer, message, created_by.channel, created_by.client)
        self.task = task

    def send(self, message: Message) -> None:
        if "method" in message and "id" in message and not message["method"].startswith("tasks/"):
            self.server.need_input(self.task)
        if not message.get("method", "").startswith("tasks/"):
            params = message.get("params", {})
            meta = {**params.get("_meta", {}), RELATED: {"taskId": self.task.identity}}
            message = {**message, "params": {**params, "_meta": meta}}
        self.tell(message)

    def tell(self, message: Message) -> None:
        """Send as it is, while no other thread ends the task."""
        with self.task.lock:
            # Not after the end, but the cancellation of what was asked before it.
            if self.cancelled.is_set() and message.get("method") == "notifications/progress":
                return
            self.server.send(self.task.outlet, message, self)

    def ask_all(self, requests: dict[str, Message], with_state: bool = True) -> dict[str, Message]:
        try:
            return super().ask_all(requests, with_state)
        finally:
            if self.task.status == "input_required":
                self.task.move("working", "The tool is at work again.")


def need_input(task: AnyTask) -> None:
    """Wait until a `tasks/result` is there, whose way the question can go. Raises NoAnswer if none comes."""
    task.move("input_required", "The tool needs an answer of the client: fetch the result.")
    waited = 0.0
    while not task.fetching.is_set():
        task.call.pause(0.01)
        waited += 0.01
        if waited >= task.server.fetch_timeout:
            raise NoAnswer("The client did not fetch the result, by which it would have been asked.")


def outcome(result: Message) -> str:
    """The status of a task whose tool gave `result`."""
    return "failed" if result.get("isError") is True else "completed"


def offered(call: Call) -> bool:
    """Whether the request may be one about tasks."""
    return call.revision == REVISION and call.server.declares("tasks")


def call_tool(call: Call) -> Message:
    """The result of `tools/call`, which is a CreateTaskResult if the client wants a task."""
    tool = call.server.tools.get(call.params["name"])
    if tool is None or not call.server.declares("tasks") or isinstance(call, (TaskCall, task_extension.WorkCall)):
        return tools.call_tool(call)
    if call.revision > REVISION and tool.background:
        return _decided(call, tool)
    if not offered(call):
        return tools.call_tool(call)
    if "task" not in call.params:
        if tool.task == "required":
            raise RpcError(METHOD_NOT_FOUND, f"The tool {tool.name} runs as a task only")
        return tools.call_tool(call)
    if tool.task == "forbidden":
        raise RpcError(METHOD_NOT_FOUND, f"The tool {tool.name} does not run as a task")
    wrong = problem(call.params["task"], _PARAMS, "params.task")
    if wrong:
        raise RpcError(INVALID_PARAMS, f"Invalid params: {wrong}")
    return call.server.create_task(call, tool)


def _decided(call: Call, tool: Tool) -> Message:
    """The result of a tool that becomes a task, if the client takes that."""
    if task_extension.declared(call) and tool.goes_on(call.params.get("arguments", {})):
        tool.prepare(call)
        return call.server.create_work(call, tool)
    if tool.task == "required":
        raise task_extension.lacking(call)
    return tools.call_tool(call)


def create(call: Call, tool: Tool) -> Message:
    """Create a task and give its CreateTaskResult; the tool starts once that is sent."""
    task = Task(call, tool, min(LONGEST, max(SHORTEST, call.params["task"].get("ttl", LONGEST))))
    _purge(call.peer)
    call.peer.tasks[task.identity] = task
    call.afterwards = task.start
    return {"task": task.described()}


def new_id() -> str:
    """Imports late: to import uuid takes as long as to import five modules of ours, and few sessions create tasks."""
    import uuid

    return str(uuid.uuid4())


def _purge(peer: Peer) -> None:
    now = monotonic()
    peer.tasks = {name: task for name, task in peer.tasks.items() if task.expires > now}


def known(call: Call) -> AnyTask:
    """The task that the request is about. Raises RpcError if the client has none of that id."""
    _purge(call.peer)
    task = call.peer.tasks.get(call.params["taskId"])
    if task is None:
        raise RpcError(INVALID_PARAMS, f"Unknown task: {call.params['taskId']}")
    return task


def get(call: Call) -> Message:
    return task_extension.get(call) if call.revision > REVISION else known(call).described()


def cancel(call: Call) -> Message:
    if call.revision > REVISION:
        return task_extension.cancel(call)
    task = known(call)
    with task.lock:
        if task.over.is_set():
            raise RpcError(INVALID_PARAMS, f"Cannot cancel: the task is {task.status}")
        task.cancel()
        return task.described()


def result(call: Call) -> Message:
    """What the tool call would have been answered by; waits until there is that."""
    task = known(call)
    call.stands_for = task.call
    task.fetch(call.channel)
    try:
        call.server.await_task(call, task)
    finally:
        task.unfetch()
    if "error" in task.response:
        error: dict[str, Any] = task.response["error"]
        raise RpcError(error["code"], error["message"], error.get("data"))
    value: Message = task.response["result"]
    return {**value, "_meta": {**value.get("_meta", {}), RELATED: {"taskId": task.identity}}}


def await_task(call: Call, task: AnyTask) -> None:
    """Wait until the task has ended. Raises Cancelled if the request does not live as long."""
    while not task.over.wait(0.02):
        if call.cancelled.is_set() or call.channel.closed():
            raise Cancelled
