"""The tasks that the suite runs as a client, for a server that augments its requests with them (2025-11-25)."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from conformance.codes import INVALID_PARAMS
from conformance.model import Json, members

RELATED = "io.modelcontextprotocol/related-task"
TERMINAL = ("completed", "failed", "cancelled")
PAGE = 1
"""Tasks on one page of tasks/list: as few as can be, so that a server has to follow cursors."""


@dataclass(slots=True)
class ClientTask:
    """One task: the request that it wraps, and what the server did about it.

    `created` and `asked` are when it was created and each tasks/get came, by the clock of `time.monotonic`.
    """

    identifier: str
    method: str
    params: Json
    created_at: str
    status: str = "working"
    created: float = field(default_factory=time.monotonic)
    asked: list[float] = field(default_factory=list)
    shown: str = "working"
    """The last status that the server was shown."""
    asked_since_input: int = 0
    """How often the server asked for the status after it was shown input_required."""
    fetched: bool = False
    fetched_for_input: bool = False
    """Whether the result was asked for when the server had been shown input_required last."""
    cancelled: bool = False


class ClientTasks:
    """Replies to requests about tasks, and to those that are to become one, of a client with `capabilities`.

    `course` are the statuses that one tasks/get after the other shows; the last one stays. A task whose course
    reaches an end is complete as soon as its result is asked for; else the result is not answered.
    `interval` is the pollInterval of new tasks, in milliseconds.
    """

    def __init__(self, capabilities: Json) -> None:
        declared = capabilities.get("tasks")
        self._declared: Json = declared if isinstance(declared, dict) else None
        self.course: tuple[str, ...] = ("working", "completed")
        self.interval = 20
        self.tasks: list[ClientTask] = []

    def handles(self, method: str, params: Json) -> bool:
        """Whether the request is one about tasks, or is to become a task that the client declared."""
        if self._declared is None:
            return False
        if method in ("tasks/list", "tasks/cancel"):
            return method.removeprefix("tasks/") in self._declared
        return method in ("tasks/get", "tasks/result") or self._augmented(method, params)

    def reply(self, method: str, params: Json, answer: Callable[[str, Json], Json]) -> dict[str, Json] | None:
        """The reply to a request that this handles, None if none is due.

        `answer` makes the result of the request that a task wraps.
        """
        given = members(params)
        if method == "tasks/list":
            return self._list(given.get("cursor"))
        task = next((each for each in self.tasks if each.identifier == given.get("taskId")), None)
        if not method.startswith("tasks/"):
            return self._create(method, params)
        if task is None:
            return _refused("Unknown task")
        if method == "tasks/result":
            return self._result(task, answer)
        return self._get(task) if method == "tasks/get" else self._cancel(task)

    def shown(self, task: ClientTask) -> dict[str, Json]:
        """The Task object as it is now."""
        return {
            "taskId": task.identifier,
            "status": task.status,
            "createdAt": task.created_at,
            "lastUpdatedAt": datetime.now(UTC).isoformat(),
            "ttl": None,
            "pollInterval": self.interval,
        }

    def _augmented(self, method: str, params: Json) -> bool:
        place: Json = self._declared.get("requests")
        for step in method.split("/"):
            place = place.get(step) if isinstance(place, dict) else None
        return place is not None and isinstance(params, dict) and isinstance(params.get("task"), dict)

    def _create(self, method: str, params: Json) -> dict[str, Json]:
        number = len(self.tasks) + 1
        task = ClientTask(f"mcp-conform-client-task-{number}", method, params, datetime.now(UTC).isoformat())
        self.tasks.append(task)
        return {"result": {"task": self.shown(task)}}

    def _get(self, task: ClientTask) -> dict[str, Json]:
        if task.shown == "input_required":
            task.asked_since_input += 1
        task.asked.append(time.monotonic())
        if task.status not in TERMINAL:
            task.status = self.course[min(len(task.asked), len(self.course)) - 1]
        task.shown = task.status
        return {"result": self.shown(task)}

    def _cancel(self, task: ClientTask) -> dict[str, Json]:
        if task.status in TERMINAL:
            return _refused("The task is over")
        task.status, task.cancelled = "cancelled", True
        return {"result": self.shown(task)}

    def _result(self, task: ClientTask, answer: Callable[[str, Json], Json]) -> dict[str, Json] | None:
        task.fetched = True
        task.fetched_for_input = task.fetched_for_input or task.shown == "input_required"
        if task.status == "cancelled":
            return _refused("The task was cancelled")
        if task.status not in TERMINAL and self.course[-1] == "working":
            return None
        task.status = "completed"
        result = answer(task.method, task.params)
        return {"result": {**result, "_meta": {RELATED: {"taskId": task.identifier}}}}

    def _list(self, cursor: Json) -> dict[str, Json]:
        cursors = {f"mcp-conform/page after {task.identifier}": n + 1 for n, task in enumerate(self.tasks)}
        if cursor is not None and (not isinstance(cursor, str) or cursor not in cursors):
            return _refused("Unknown cursor")
        start = cursors.get(cursor or "", 0)
        listed = self.tasks[start : start + PAGE]
        result: dict[str, Json] = {"tasks": [self.shown(task) for task in listed]}
        if start + PAGE < len(self.tasks):
            result["nextCursor"] = f"mcp-conform/page after {listed[-1].identifier}"
        return {"result": result}


def _refused(why: str) -> dict[str, Json]:
    return {"error": {"code": INVALID_PARAMS, "message": why}}


def related_task(holder: Json) -> Json:
    """What the `_meta` of a result or of params says of the task to which it belongs, None if it says nothing."""
    meta = holder.get("_meta") if isinstance(holder, dict) else None
    return meta.get(RELATED) if isinstance(meta, dict) else None
