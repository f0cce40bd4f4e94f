"""Requests to a client that runs them as tasks: created, polled, fetched, cancelled."""

from __future__ import annotations

from conformance.reference.call import Cancelled, NoAnswer
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Protocol

    from conformance.reference.call import Call

    class Session(Protocol):
        """The session whose client runs the tasks; `handshake.py` says what each method does."""

        @property
        def server(self) -> Server: ...

        def exchange(self, call: Call, request: Message) -> Message: ...

        def demand(self, call: Call, request: Message) -> object: ...

    class Server(Protocol):
        """The seams of the server that are about such tasks."""

        follow_client_task: Callable[[Session, Call, Message], Message]
        cancel_client_task: Callable[[Session, Call, Message], None]


TTL = 60_000
PATIENCE = 5.0
TERMINAL = ("completed", "failed", "cancelled")


def offered(call: Call, method: str) -> bool:
    """Whether the client runs requests of this method as tasks."""
    if call.revision != "2025-11-25":
        return False
    place: object = call.client.get("tasks")
    for step in ("requests", *method.split("/")):
        place = place.get(step) if isinstance(place, dict) else None
    return isinstance(place, dict)


def ask(session: Session, call: Call, request: Message) -> Message:
    """The client's result of `request`, run as a task. Raises NoAnswer, Cancelled."""
    params = {**request.get("params", {}), "task": {"ttl": TTL}}
    created = session.exchange(call, {**request, "params": params})
    task = created.get("task")
    if not isinstance(task, dict) or not isinstance(task.get("taskId"), str):
        raise NoAnswer("The client did not create the task that it was asked for.")
    return session.server.follow_client_task(session, call, task)


def follow(session: Session, call: Call, task: Message) -> Message:
    """Poll the task until there is something to fetch, and fetch it."""
    named = {"taskId": task["taskId"]}
    waited = 0.0
    while task.get("status") not in (*TERMINAL, "input_required"):
        interval = max(0.01, float(task.get("pollInterval", 50)) / 1000)
        try:
            call.pause(interval)
        except Cancelled:
            session.server.cancel_client_task(session, call, task)
            raise
        waited += interval
        if waited >= PATIENCE:
            session.server.cancel_client_task(session, call, task)
            raise NoAnswer("The client's task takes too long.")
        task = session.exchange(call, {"method": "tasks/get", "params": named})
    return session.exchange(call, {"method": "tasks/result", "params": named})


def cancel(session: Session, call: Call, task: Message) -> None:
    """Tell the client that the task is not wanted any more, if it can cancel tasks; the answer changes nothing."""
    if "cancel" in call.client.get("tasks", {}):
        session.demand(call, {"method": "tasks/cancel", "params": {"taskId": task["taskId"]}})
