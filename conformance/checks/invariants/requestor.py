"""Requestor: what a server does that runs its own requests as tasks of the client, in 2025-11-25."""

from __future__ import annotations

from typing import ClassVar

from conformance.budget import brief
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.tasks import REVISION
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, members
from conformance.session.client_tasks import RELATED
from conformance.session.messages import Call, id_key, is_id
from conformance.session.session import Session

DECLARED = "tasks/requestor-augments-declared-only"
WITHOUT = "tasks/requestor-without-related-meta"
CURSORS = "tasks/requestor-cursors-opaque"
CANCELS = "cancellation/tasks-cancelled-by-tasks-cancel"
AUGMENTABLE = ("sampling/createMessage", "elicitation/create")


class Requestor(Watcher):
    """See the module."""

    name = "requestor"
    requirements: ClassVar[tuple[str, ...]] = (DECLARED, WITHOUT, CURSORS, CANCELS)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._concerned = session.revision.date == REVISION
        self._asked: dict[str, Frame] = {}
        self._tasks: dict[str, Frame] = {}
        """Task → where we told of it."""
        self._known: dict[str, Frame] = {}
        """Request → where we told of its task, if the server has heard: otherwise its cancellation may have crossed."""
        self._cursors: set[str] = set()

    def sent(self, frame: Frame) -> None:
        """Remember which requests we answered by a task, and the cursors that we gave."""
        message = frame.message
        if not self._concerned or not isinstance(message, dict) or not isinstance(message.get("result"), dict):
            return
        asked = self._asked.get(id_key(message.get("id")))
        if asked is None:
            return
        task = message["result"].get("task")
        if isinstance(task, dict):
            self._tasks[id_key(task.get("taskId"))] = frame
        cursor = message["result"].get("nextCursor")
        if isinstance(cursor, str):
            self._cursors.add(cursor)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge requests of the server and its cancellations."""
        message = frame.message
        if not self._concerned or not isinstance(message, dict) or not isinstance(message.get("method"), str):
            return
        params = message.get("params")
        params = members(params)
        if "id" in message:
            if not is_id(message["id"]):
                return  # judged by Envelope; no answer can be told from another
            self._asked[id_key(message["id"])] = brief(frame)
            self._request(frame, message["method"], params)
        elif message["method"] == "notifications/cancelled" and "requestId" in params:
            key = id_key(params["requestId"])
            if key in self._known:
                what = "the server cancels a task by notifications/cancelled"
                self.breach(CANCELS, what, "tasks/cancel", params, (self._asked[key], self._known[key], frame), None)

    def _request(self, frame: Frame, method: str, params: dict[str, Json]) -> None:
        if method in AUGMENTABLE:
            self._augmented(frame, method, params)
        elif method in ("tasks/get", "tasks/result", "tasks/cancel"):
            created = self._tasks.get(id_key(params.get("taskId")))
            if created is not None:
                self._known[id_key(created.message["id"])] = created
            meta = params.get("_meta")
            if isinstance(meta, dict) and RELATED in meta:
                what = f"the server's {method} names a related task"
                self.breach(WITHOUT, what, f"no {RELATED} in _meta", meta, (frame,), None)
            else:
                self.ledger.held(WITHOUT)
            if method == "tasks/cancel":
                self.ledger.held(CANCELS)
        elif method == "tasks/list" and "cursor" in params:
            if params["cursor"] in self._cursors:
                self.ledger.held(CURSORS)
            else:
                what = "the server makes up a cursor"
                expected = f"one that it was given: {', '.join(sorted(self._cursors)) or 'none yet'}"
                self.breach(CURSORS, what, expected, params["cursor"], (frame,), None)

    def _augmented(self, frame: Frame, method: str, params: dict[str, Json]) -> None:
        place: Json = self.session.client.get("tasks")
        for step in ("requests", *method.split("/")):
            place = place.get(step) if isinstance(place, dict) else None
        if place is not None:
            return
        if "task" in params:
            what = f"the server augments {method} with a task, which the client does not support"
            expected = f"the client capability tasks.requests.{method.replace('/', '.')}"
            self.breach(DECLARED, what, expected, self.session.client, (frame,), None)
        else:
            self.ledger.held(DECLARED)
