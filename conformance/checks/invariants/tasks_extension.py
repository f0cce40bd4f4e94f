"""Tasks of 2026-07-28, an extension: which answers are tasks, and what every sight of a task must be."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from conformance.budget import brief
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.tasks import ENOUGH, FINAL, GUESS, KNOWN, guessable
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity, members
from conformance.session.client_tasks import TERMINAL
from conformance.session.eras.stateless import META
from conformance.session.messages import Call, id_key
from conformance.session.session import Session
from conformance.validation.wire_schemas import for_revision

UNASKED = "tasks/no-task-for-undeclaring-client"
MARKED = "tasks/result-type-task"
ONLY_CALLS = "tasks/only-tools-call-becomes-task"
COMPLETE = "tasks/method-results-are-complete"
PAYLOAD = "tasks/get-carries-status-payload"
FAILED_ONLY = "tasks/failed-only-for-jsonrpc-errors"
CARRIES_ERROR = "tasks/failed-carries-error"
KEYS = "tasks/input-keys-not-reused"
QUIET = "tasks/no-progress-or-log-for-tasks"
EMPTY = {"tasks/update": "tasks/update-acknowledged-empty", "tasks/cancel": "tasks/cancel-acknowledged-empty"}

EXTENSION = "io.modelcontextprotocol/tasks"
ABOUT = ("tasks/get", *EMPTY)
OF_A_TASK = ("taskId", "status", "createdAt", "lastUpdatedAt", "ttlMs", "result", "error", "inputRequests")


def takes_tasks(call: Call) -> bool:
    """Whether the client declared the extension on this request."""
    meta = members(members(call.params).get("_meta"))
    return EXTENSION in members(members(meta.get(META + "clientCapabilities")).get("extensions"))


def is_task(result: Json) -> bool:
    """Whether a result looks like a task, whatever it says that it is."""
    result = members(result)
    return isinstance(result.get("taskId"), str) and result.get("status") in KNOWN and "content" not in result


@dataclass(slots=True)
class Life:
    """What is known of a task: its creation, what it asked under which key, which of that we have answered.

    `ended` is the terminal status in which tasks/get has shown it first, and that sight.
    """

    created: Frame
    asked: dict[str, tuple[Json, Frame]] = field(default_factory=dict)
    answered: set[str] = field(default_factory=set)
    gone: set[str] = field(default_factory=set)
    talkative: bool = False
    over: bool = False
    ended: tuple[str, Frame] | None = None
    late: bool = False


class TasksExtension(Watcher):
    """See the module. The shapes of tasks are judged in `wire.py`."""

    name = "tasks-extension"
    requirements: ClassVar[tuple[str, ...]] = (
        UNASKED,
        MARKED,
        ONLY_CALLS,
        COMPLETE,
        PAYLOAD,
        FAILED_ONLY,
        CARRIES_ERROR,
        KEYS,
        QUIET,
        GUESS,
        FINAL,
        *EMPTY.values(),
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._concerned = session.revision.era == "stateless"
        self._lives: dict[str, Life] = {}
        self._of_token: dict[str, Life] = {}
        self._logging: dict[str, Life | None] = {}
        """Requests that asked for logs, by id → the task that came of each; None of one that is under way."""

    def sent(self, frame: Frame) -> None:
        """Note which requests ask for logs, and which questions we answer."""
        super().sent(frame)
        message = frame.message
        if not self._concerned or not isinstance(message, dict) or "id" not in message:
            return
        params = members(message.get("params"))
        if META + "logLevel" in members(params.get("_meta")):
            self._logging[id_key(message["id"])] = None
        if message.get("method") == "tasks/update":
            life = self._lives.get(str(params.get("taskId")))
            if life is not None:
                life.answered.update(life.asked.keys() & members(params.get("inputResponses")).keys())

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge what is about tasks."""
        message = frame.message
        if not self._concerned or not isinstance(message, dict):
            return
        if "method" in message:
            self._told(frame, message["method"], members(message.get("params")))
            return
        if call is None:
            return
        result = message.get("result")
        task = call.method == "tools/call" and is_task(result)
        if not task:
            self._logging.pop(id_key(call.id), None)
        if not isinstance(result, dict) or call.sent.illegal:
            return
        proof = (call.sent, frame)
        if call.method == "tools/call":
            self._called(result, call, proof)
        elif call.method in ABOUT:
            self._about(result, call, proof)
        elif result.get("resultType") == "task":
            rule = ONLY_CALLS if is_task(result) else MARKED
            what = (
                f"{call.method} is answered by a task" if is_task(result) else "a result that is no task says it is one"
            )
            self.breach(rule, what, "tasks for tools/call only", result, proof, None)
        elif takes_tasks(call):
            self.ledger.held(ONLY_CALLS)

    def finish(self) -> None:
        """Judge what only the end shows: the ids together, silence while tasks ran."""
        if len(self._lives) >= ENOUGH:
            if guessable(list(self._lives)):
                frames = tuple(life.created for life in list(self._lives.values())[:ENOUGH])
                what = "the ids of tasks are easy to guess"
                ids = list(self._lives)[:5]
                self.breach(GUESS, what, "random ids of at least 64 bits", ids, frames, Severity.WARNING)
            else:
                self.ledger.held(GUESS)
        if any(life.talkative and life.over and not life.late for life in self._lives.values()):
            self.ledger.held(QUIET)

    # -- answers

    def _called(self, result: dict[str, Json], call: Call, proof: tuple[Frame, Frame]) -> None:
        marked, task = result.get("resultType") == "task", is_task(result)
        if marked and not task and "content" in result:
            what = "the result of a tool that is no task says that it is one"
            self.breach(MARKED, what, '"complete"', "task", proof, None)
            return
        if not (marked or task):
            return
        if not takes_tasks(call):
            what = "a call is answered by a task, although it did not declare the extension"
            self.breach(UNASKED, what, "the result of the tool, or error -32021", result, proof, None)
        if marked:
            self.ledger.held(MARKED)
        else:
            what = "a call is answered by a task that does not say it is one"
            self.breach(MARKED, what, 'resultType "task"', result.get("resultType"), proof, None)
        if isinstance(result.get("taskId"), str):
            self._created(result["taskId"], call, proof)

    def _created(self, identifier: str, call: Call, proof: tuple[Frame, Frame]) -> None:
        life = self._lives.setdefault(identifier, Life(brief(proof[1])))
        meta = members(members(call.params).get("_meta"))
        if "progressToken" in meta:
            self._of_token[id_key(meta["progressToken"])] = life
            life.talkative = True
        if META + "logLevel" in meta:
            self._logging[id_key(call.id)] = life

    def _about(self, result: dict[str, Json], call: Call, proof: tuple[Frame, Frame]) -> None:
        kind = result.get("resultType")
        if kind == "complete":
            self.ledger.held(COMPLETE)
        elif isinstance(kind, str):
            # Two examples of the page have "task" here, against its text.
            soft = Severity.WARNING if kind == "task" and call.method == "tasks/get" else None
            what = f"the result of {call.method} has the resultType {kind!r}"
            self.breach(COMPLETE, what, '"complete"', kind, proof, soft)
        if call.method in EMPTY:
            more = [name for name in OF_A_TASK if name in result]
            if more:
                what = f"{call.method} is acknowledged by more than an empty result"
                self.breach(EMPTY[call.method], what, "no member of a task", result, proof, None)
            elif call.method == "tasks/update":
                self.ledger.held(EMPTY[call.method])
        else:
            self._seen(result, proof)
            self._stays(result, proof)

    def _seen(self, task: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        """A task as tasks/get or a notification shows it."""
        status = task.get("status")
        life = self._lives.get(str(task.get("taskId")))
        if life is not None:
            life.over |= status in TERMINAL
            asked = members(task.get("inputRequests")) if status == "input_required" else {}
            self._questions(life, asked, proof)
        if status == "completed" and isinstance(task.get("result"), dict):
            self._result(task["result"], proof)
        elif status == "failed":
            self._failure(task, proof)

    def _stays(self, task: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        """A task as tasks/get shows it, beside how that has shown it at its end."""
        status = task.get("status")
        life = self._lives.get(str(task.get("taskId")))
        if life is None or status not in KNOWN:
            return
        if life.ended is None:
            if status in TERMINAL:
                life.ended = str(status), brief(proof[-1])
            return
        before, sight = life.ended
        if status == before:
            self.ledger.held(FINAL)
            return
        what = "a task has another status after its end"
        self.breach(FINAL, what, f"{before} for ever", status, (life.created, sight, *proof), None)

    def _result(self, result: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        if result.get("isError") is True:
            self.ledger.held(FAILED_ONLY)
        schemas = for_revision(self.session.revision.date)
        problems = schemas.problems("tools#CallToolResult", {"resultType": "complete", **result})
        if problems:
            what = "the result in a completed task is none of tools/call"
            # The type of this member is an object and no more; what the tool itself gets wrong is judged elsewhere.
            self.breach(PAYLOAD, what, "a CallToolResult", problems[0].message, proof, Severity.WARNING)

    def _failure(self, task: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        if members(task.get("result")).get("isError") is True:
            what = "a task is failed because its tool said isError"
            self.breach(FAILED_ONLY, what, '"completed", with that result', task, proof, None)
        if isinstance(task.get("error"), dict) and not task.get("statusMessage"):
            what = "a failed task does not say why in statusMessage"
            self.breach(CARRIES_ERROR, what, "a statusMessage", task, proof, Severity.WARNING)

    def _questions(self, life: Life, asked: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        for key, request in asked.items():
            known, first = life.asked.get(key, (None, None))
            if first is None:
                life.asked[key] = request, brief(proof[-1])
                if life.answered:
                    self.ledger.held(KEYS)
                continue
            frames = (life.created, first, *proof)
            if request != known:
                what = "a task asks for something else under a key that it has used before"
                # Before the answer it may be the same question in other words.
                soft = None if key in life.answered else Severity.WARNING
                self.breach(KEYS, what, "a new key", {key: request}, frames, soft)
                life.asked[key] = request, first
            elif key in life.gone:
                what = "a task asks again under a key that was answered"
                # Of several machines one may not know of the answer yet.
                self.breach(KEYS, what, "a new key", {key: request}, frames, Severity.WARNING)
        life.gone |= life.answered - asked.keys()

    # -- notifications

    def _told(self, frame: Frame, method: Json, params: dict[str, Json]) -> None:
        if method == "notifications/tasks":
            self._seen(params, (frame,))
        elif method == "notifications/progress" and "progressToken" in params:
            life = self._of_token.get(id_key(params["progressToken"]))
            if life is not None:
                self._talks(life, "progress", frame, None)
        elif method == "notifications/message" and self._logging and all(self._logging.values()):
            # Only tasks can have said that, or a call that says more after its result.
            life = list(self._logging.values())[-1]
            if life is not None:
                self._talks(life, "a log message", frame, Severity.WARNING)

    def _talks(self, life: Life, what: str, frame: Frame, soft: Severity | None) -> None:
        life.late = True
        proof = (life.created, frame)
        self.breach(QUIET, f"{what} is sent for a task", "neither progress nor logs", frame.message, proof, soft)
