"""Faults of authorization in what belongs to another user: tasks, and the state of a request."""

from __future__ import annotations

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, setting, several
from conformance.reference.faults.authorization import PROTECTED
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.fault import Apply, Proceed

BOUND = "tasks/bound-to-authorization"
STATE = "input-required/request-state-bound-to-principal"
TASKS, NEW = "2025-11-25", "2026-07-28"


def _tasks_of_all(*methods: str) -> Apply:
    """In these methods a client has the tasks of all others as well."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method not in methods:
            return proceed(call)
        own = call.peer.tasks
        others = [peer.tasks for peer in list(call.server.peers)]
        call.peer.tasks = {name: task for tasks in (*others, own) for name, task in tasks.items()}
        try:
            return proceed(call)
        finally:
            call.peer.tasks = own

    return several(PROTECTED, around(serve))


FAULTS = (
    Fault(
        "task-of-another-user",
        BOUND,
        "a user is told of the task of another one",
        several(PROTECTED, setting("same_user", lambda owner, user: True)),
        since=NEW,
        transports="http",
    ),
    Fault(
        "task-of-another-session",
        BOUND,
        "tasks/get finds the tasks of all users",
        _tasks_of_all("tasks/get"),
        only=TASKS,
        transports="http",
    ),
    Fault(
        "tasks-of-all-users-listed",
        BOUND,
        "tasks/list lists the tasks of all users",
        _tasks_of_all("tasks/list"),
        only=TASKS,
        transports="http",
    ),
    Fault(
        "state-of-another-user",
        STATE,
        "the requestState that one user was given is good for another one",
        several(PROTECTED, setting("state_user", lambda call: "")),
        since=NEW,
        transports="http",
    ),
)
