"""Tasks of 2026-07-28, an extension: the server decides which tool calls go on after they were answered."""

from __future__ import annotations

from datetime import UTC, datetime
from threading import Condition, Event, RLock, Thread
from time import monotonic

from conformance.reference.call import Call, Cancelled
from conformance.reference.schema import problem
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Tool
    from conformance.reference.call import Work as AnyWork

EXTENSION = "io.modelcontextprotocol/tasks"
CHANGED = "notifications/tasks"
TERMINAL = ("completed", "failed", "cancelled")
POLL_INTERVAL = 10
TTL = 600_000


def declared(call: Call) -> bool:
    """Whether the client said on this very request that it takes tasks."""
    extensions = call.client.get("extensions")
    return isinstance(extensions, dict) and EXTENSION in extensions


def lacking(call: Call) -> Exception:
    """What to raise where the client should have declared the extension."""
    return call.peer.refusal({"extensions": {EXTENSION: {}}})


class Nowhere:
    """The channel of a task: what its tool says goes to nobody, and nobody can close it."""

    def send(self, message: Any) -> None:
        """Progress and logs are not sent for tasks."""

    def run(self, work: Callable[[], None]) -> None:
        work()

    def hold(self, call: Call) -> None:
        """Nothing to do: there is nothing to close."""

    def closed(self) -> bool:
        return False


class Work:
    """A task: a tool call that goes on after its CreateTaskResult.

    `asked` are the requests to the client that are open, by key, and `given` the answers that have come.
    """

    def __init__(self, created_by: Call, tool: Tool) -> None:
        self.server = created_by.server
        self.owner = created_by.peer.user
        self.identity = self.server.task_id()
        self.tool = tool
        self.status = "working"
        self.words = "The tool is at work."
        self.created = self.updated = datetime.now(UTC)
        self.expires = monotonic() + TTL / 1000
        self.payload: Message = {}
        self.asked: dict[str, Message] = {}
        self.given: dict[str, Message] = {}
        self.questions = 0
        self.lock = RLock()
        self.answered = Condition(self.lock)
        self.over = Event()
        self.call = WorkCall(self, created_by)

    def described(self) -> Message:
        """The Task, as it is when it is created."""
        with self.lock:
            return {
                "taskId": self.identity,
                "status": self.status,
                "statusMessage": self.words,
                "createdAt": self.created.isoformat(),
                "lastUpdatedAt": self.updated.isoformat(),
                "ttlMs": TTL,
                "pollIntervalMs": POLL_INTERVAL,
            }

    def detailed(self) -> Message:
        """The Task with what belongs to its status: the open requests, the result or the error."""
        with self.lock:
            asked = {"inputRequests": dict(self.asked)} if self.status == "input_required" else {}
            return {**self.described(), **self.payload, **asked}

    def move(self, status: str, words: str, payload: Message | None = None) -> None:
        """Change the status, unless it is final, and tell those who subscribed to it."""
        with self.lock:
            if self.over.is_set():
                return
            self.status, self.words, self.updated = status, words, datetime.now(UTC)
            self.payload = payload or {}
            if status in TERMINAL:
                self.over.set()
                self.answered.notify_all()
            for peer in list(self.server.peers):
                peer.task_changed(self)

    def start(self) -> None:
        """Let the tool work, in a thread of its own."""
        Thread(target=self._work, daemon=True).start()

    def _work(self) -> None:
        try:
            self.server.end_work(self, {"result": self.server.handle(self.call) or {}})
        except Cancelled:
            pass
        except RpcError as error:
            self.server.end_work(self, {"error": error.response({})["error"]})
        except Exception as error:
            # A defect of ours must not leave the client waiting.
            failure = RpcError(INTERNAL_ERROR, f"Internal error: {type(error).__name__}: {error}")
            self.server.end_work(self, {"error": failure.response({})["error"]})

    def ask(self, requests: dict[str, Message]) -> dict[str, Message]:
        """The client's answers to `requests`, once all have come. Raises Cancelled."""
        with self.lock:
            keys = {name: self._key(name) for name in requests}
            self.asked = {keys[name]: request for name, request in requests.items()}
            self.move("input_required", "The tool needs answers of the client.")
            while self.asked and not self.over.is_set():
                self.answered.wait()
            if self.over.is_set():
                raise Cancelled
            return {name: self.given[key] for name, key in keys.items()}

    def _key(self, name: str) -> str:
        """A key that no other request of this task has."""
        self.questions += 1
        return self.server.question_key(name, self.questions)

    def take(self, responses: Message) -> None:
        """Take the answers to what is open; others are ignored. Raises RpcError for one that cannot be read."""
        from conformance.reference.asking import EXPECTED

        with self.lock:
            wanted = {key: value for key, value in responses.items() if key in self.asked}
            for key, value in wanted.items():
                wrong = problem(value, {"type": "object", **EXPECTED[self.asked[key]["method"]]}, key)
                if wrong:
                    raise RpcError(INVALID_PARAMS, f"Invalid params: inputResponses.{wrong}")
            for key, value in wanted.items():
                self.given[key] = value
                del self.asked[key]
            if wanted and not self.asked:
                self.move("working", "The tool is at work again.")
            self.answered.notify_all()

    def cancel(self) -> None:
        """Stop the tool, if it still works."""
        with self.lock:
            self.call.cancelled.set()
            self.move("cancelled", "The client cancelled the task.")


class WorkCall(Call):
    """The tool call of a task: it says nothing, and asks by way of the task."""

    __slots__ = ("work",)

    def __init__(self, work: Work, created_by: Call) -> None:
        super().__init__(created_by.peer, created_by.message, Nowhere(), created_by.client)
        self.work = work

    def send(self, message: Message) -> None:
        self.server.tell_of_work(self, message)

    def ask_all(self, requests: dict[str, Message], with_state: bool = True) -> dict[str, Message]:
        missing: Message = {}
        for request in requests.values():
            missing |= self.server.missing_capability(self, request) or {}
        if missing:
            raise self.peer.refusal(missing)
        return self.work.ask(requests)


def create(call: Call, tool: Tool) -> Message:
    """Create a task and give its CreateTaskResult; the tool starts once that is sent."""
    work = Work(call, tool)
    _purge(call)
    call.server.works[work.identity] = work
    call.afterwards = work.start
    return {"resultType": "task", **work.described()}


def end(work: AnyWork, outcome: Message) -> None:
    """The tool has ended, by a result or an error."""
    if "error" in outcome:
        work.move("failed", f"The tool was refused: {outcome['error']['message']}", outcome)
    else:
        work.move("completed", "The tool is done.", outcome)


def question_key(name: str, number: int) -> str:
    return f"{name}-{number}"


def tell(call: Call, message: Message) -> None:
    """Nothing: progress and logs are not sent for tasks."""


def _purge(call: Call) -> None:
    now = monotonic()
    server = call.server
    with server.lock:
        for name in [name for name, work in server.works.items() if work.expires <= now]:
            del server.works[name]


def known(call: Call) -> AnyWork:
    """The task that the request is about. Raises RpcError if there is none, or the client declared none."""
    call.server.check_task_client(call)
    _purge(call)
    work = call.server.works.get(call.params["taskId"])
    if work is None or not call.server.same_user(work.owner, call.peer.user):
        raise RpcError(INVALID_PARAMS, f"Unknown task: {call.params['taskId']}")
    return work


def check_client(call: Call) -> None:
    """Raise RpcError unless the client declared the extension on this request."""
    if not declared(call):
        raise lacking(call)


def get(call: Call) -> Message:
    return known(call).detailed()


def update(call: Call) -> Message:
    known(call).take(call.params["inputResponses"])
    return {}


def cancel(call: Call) -> Message:
    known(call).cancel()
    return {}
