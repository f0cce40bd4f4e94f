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


def _own_only(*methods: str) -> Apply:
    """Look whose task it is in these methods only."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        work = call.server.works.get(str(call.params.get("taskId"))) if isinstance(call.params, dict) else None
        if work is None or not call.method.startswith("tasks/") or call.method in methods:
            return proceed(call)
        owner, work.owner = work.owner, call.peer.user
        try:
            return proceed(call)
        finally:
            work.owner = owner

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
        "task-of-another-user-cancelled",
        BOUND,
        "a user cancels the task of another one",
        _own_only("tasks/get", "tasks/update"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "task-of-another-user-answered",
        BOUND,
        "a user answers what the task of another one asks",
        _own_only("tasks/get", "tasks/cancel"),
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
