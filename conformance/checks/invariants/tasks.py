"""Tasks of 2025-11-25: what every sight of a task must be, and what every message about one must say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar

from conformance.budget import brief
from conformance.checks.invariants.base import Watcher, is_number
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity, elements, members
from conformance.session.client_tasks import RELATED, TERMINAL, related_task
from conformance.session.messages import Call, id_key
from conformance.session.session import Session

REVISION = "2025-11-25"
KNOWN = ("working", "input_required", *TERMINAL)
ENOUGH = 3
"""Ids that it takes to say something about how they are made."""
TIMES_LESS = 3
"""Different ttls of a task, each less than the one before, that count as what is left of it."""
ONE_TICK, ONE_SECOND = 0.05, 1.1
"""Seconds that are more than the clock of a server counts in, if it writes fractions and if it does not."""

UNIQUE = "tasks/id-unique"
GUESS = "tasks/id-hard-to-guess"
STARTS = "tasks/starts-working"
TRANSITIONS = "tasks/defined-transitions-only"
FINAL = "tasks/terminal-is-final"
TIMES = "tasks/timestamps-iso-8601"
NAMES = "tasks/result-names-task"
MESSAGES = "tasks/related-messages-name-task"
WITHOUT = "tasks/status-results-without-related-meta"
NOTIFICATION = "tasks/status-notification-shape"
STAYS = "tasks/cancelled-stays-cancelled"
BY_SSE = "tasks/status-not-by-sse"
ASKED_FOR = "tasks/request-parameter-wins"
PROGRESS_STOPS = "progress/task-progress-stops-at-terminal"
TTL = "tasks/ttl-reported"

_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?Z|[+-]\d\d(:?\d\d)?)?\Z", re.IGNORECASE)
_OFFSET = re.compile(r"(Z|[+-]\d\d(:?\d\d)?)\Z", re.IGNORECASE)


@dataclass(slots=True)
class Updated:
    """The lastUpdatedAt that a task was shown with last, its status then, and the frames that showed both."""

    when: Json
    status: Json
    first: Frame
    last: Frame


@dataclass(slots=True)
class Life:
    """What is known of a task: its CreateTaskResult, when it was first seen at its end, its times, its progress.

    `shared`: another one has the same id, so that nobody knows which of them is told of. `ttls` are all
    that were told, one after another.
    """

    created: Frame
    born: Json
    ended: Frame | None = None
    status: str = ""
    last_progress: Frame | None = None
    late: bool = False
    shared: bool = False
    updated: Updated | None = None
    ttls: list[float] = field(default_factory=list)


class Tasks(Watcher):
    """See the module. The shape of a task is judged in `wire.py`, the client's own tasks in `requestor.py`."""

    name = "tasks"
    requirements: ClassVar[tuple[str, ...]] = (
        UNIQUE,
        GUESS,
        STARTS,
        TRANSITIONS,
        FINAL,
        TIMES,
        NAMES,
        MESSAGES,
        WITHOUT,
        NOTIFICATION,
        STAYS,
        BY_SSE,
        ASKED_FOR,
        PROGRESS_STOPS,
        TTL,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._concerned = session.revision.date == REVISION
        self._lives: dict[str, Life] = {}
        self._of_token: dict[str, str] = {}
        self._named: list[tuple[str, Frame]] = []

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge what is about tasks."""
        message = frame.message
        if not self._concerned or not isinstance(message, dict):
            return
        if "method" in message:
            self._told(frame, message)
        elif call is not None and isinstance(message.get("result"), dict):
            self._answered(frame, message["result"], call)

    def finish(self) -> None:
        """Judge what only the end shows: the ids together, names of tasks that never were, silence after the end."""
        if len(self._lives) >= ENOUGH:
            self._guessable(list(self._lives))
        for identifier, frame in self._named:
            if identifier in self._lives:
                self.ledger.held(MESSAGES)
            elif self.session.opened and self._lives and not any(self.session.pending):
                known = ", ".join(self._lives)
                what = "a message names a task that was never created"
                self.breach(MESSAGES, what, f"one of {known[:200]}", identifier, (frame,), Severity.WARNING)
        for life in self._lives.values():
            if life.last_progress is not None and life.ended is not None and not life.late:
                self.ledger.held(PROGRESS_STOPS)

    # -- answers

    def _answered(self, frame: Frame, result: dict[str, Json], call: Call) -> None:
        proof = (call.sent, frame)
        params = members(call.params)
        if call.method == "tools/call" and "task" in params and isinstance(result.get("task"), dict):
            self._created(result["task"], params, proof)
        elif call.method in ("tasks/get", "tasks/cancel"):
            self._plain(WITHOUT, result, f"the result of {call.method}", proof)
            self._asked_for(result, call, proof)
            self._seen(result, proof)
            if call.method == "tasks/get":
                self._way(proof)
        elif call.method == "tasks/list":
            self._plain(WITHOUT, result, "the result of tasks/list", proof)
            listed = result.get("tasks")
            for task in elements(listed):
                self._seen(task, proof)
        elif call.method == "tasks/result" and params.get("taskId") in self._lives:
            named = related(result)
            if named == params.get("taskId"):
                self.ledger.held(NAMES)
            else:
                what = "the result of tasks/result does not name its task"
                expected = f"_meta {RELATED} with taskId {params.get('taskId')!r}"
                self.breach(NAMES, what, expected, result.get("_meta"), proof, None)

    def _created(self, task: Json, params: dict[str, Json], proof: tuple[Frame, Frame]) -> None:
        identifier = task.get("taskId")
        if not isinstance(identifier, str):
            return
        known = self._lives.get(identifier)
        if known is not None and known.created.data == brief(proof[1]).data:
            return  # the same response, which came twice
        if known is not None:
            what = "two tasks have the same id"
            self.breach(UNIQUE, what, "an id that no other task has", identifier, (known.created, *proof), None)
        elif self._lives:
            self.ledger.held(UNIQUE)
        if task.get("status") == "working":
            self.ledger.held(STARTS)
        elif task.get("status") in KNOWN:
            self.breach(STARTS, "a new task is not working", '"working"', task["status"], proof, None)
        self._lives[identifier] = Life(brief(proof[1]), task.get("createdAt"), shared=known is not None)
        meta = params.get("_meta")
        if isinstance(meta, dict) and "progressToken" in meta:
            self._of_token[id_key(meta["progressToken"])] = identifier
        self._times(task, proof)

    def _seen(self, task: Json, proof: tuple[Frame, ...]) -> None:
        """A task as a response or a notification shows it; a response comes with its request."""
        if not isinstance(task, dict):
            return
        self._times(task, proof)
        life = self._lives.get(str(task.get("taskId")))
        status = task.get("status")
        if life is None or life.shared or status not in KNOWN:
            return
        born, told = self._time(life.born), self._time(task.get("createdAt"))
        if born is not None and told is not None and born != told:
            what = "createdAt of a task changes"
            expected = f"{life.born!r} as at first"
            self.breach(TIMES, what, expected, task.get("createdAt"), (life.created, *proof), Severity.WARNING)
        if len(proof) > 1:
            self._updated(life, task, proof)
            self._counted_down(life, task.get("ttl"), proof)
        if life.ended is None:
            self.ledger.held(TRANSITIONS)
            if status in TERMINAL:
                life.ended, life.status = proof[-1], status
            return
        # What was under way while the task ended may still tell how it was before.
        if len(proof) < 2 or proof[0].number < life.ended.number:
            return
        cancelled = life.status == "cancelled"
        if status == life.status:
            self.ledger.held(STAYS if cancelled else FINAL)
            return
        rule = STAYS if cancelled else FINAL if status in TERMINAL else TRANSITIONS
        what = f"a task that was {life.status} is {status} later"
        self.breach(rule, what, f"{life.status} for ever", status, (life.created, life.ended, *proof), None)

    def _updated(self, life: Life, task: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        """A task that changes some time after it was said to be updated is updated then."""
        when, status, sight = task.get("lastUpdatedAt"), task.get("status"), brief(proof[-1])
        known = life.updated
        if known is not None and (known.when, known.status) == (when, status):
            known.last = sight
            return
        life.updated = Updated(when, status, sight, sight)
        tick = ONE_TICK if "." in str(when) else ONE_SECOND
        if known is not None and known.when == when and known.last.at - known.first.at > tick:
            what = "lastUpdatedAt of a task stays the same while its status changes"
            frames = (known.first, known.last, *proof)
            self.breach(TIMES, what, f"the time at which it became {status}", when, frames, Severity.WARNING)

    def _counted_down(self, life: Life, ttl: Json, proof: tuple[Frame, ...]) -> None:
        if not is_number(ttl):
            return
        if not life.ttls or life.ttls[-1] != ttl:
            life.ttls.append(ttl)
        if len(life.ttls) == TIMES_LESS and life.ttls == sorted(life.ttls, reverse=True):
            what = "the ttl of a task gets less with each answer"
            self.breach(
                TTL, what, f"{life.ttls[0]}, counted from createdAt", ttl, (life.created, *proof), Severity.WARNING
            )

    def _asked_for(self, result: dict[str, Json], call: Call, proof: tuple[Frame, ...]) -> None:
        """A result is about the task that its request names; what else a request may name is for a case."""
        wanted, got = members(call.params).get("taskId"), result.get("taskId")
        if isinstance(wanted, str) and isinstance(got, str) and related(call.params) is None and wanted != got:
            self.breach(ASKED_FOR, f"the result of {call.method} is about another task", wanted, got, proof, None)

    def _plain(self, requirement: str, holder: dict[str, Json], what: str, proof: tuple[Frame, ...]) -> None:
        meta = holder.get("_meta")
        if isinstance(meta, dict) and RELATED in meta:
            self.breach(requirement, f"{what} names a related task", f"no {RELATED} in _meta", meta, proof, None)
        else:
            self.ledger.held(requirement)

    def _way(self, proof: tuple[Frame, Frame]) -> None:
        if proof[1].channel == "body":
            self.ledger.held(BY_SSE)
        elif proof[1].channel == "sse":
            what = "tasks/get is answered by server-sent events"
            self.breach(BY_SSE, what, "application/json", "text/event-stream", proof, Severity.ADVICE)

    # -- messages of the server's own

    def _told(self, frame: Frame, message: dict[str, Json]) -> None:
        params = message.get("params")
        params = members(params)
        method = message["method"]
        if method == "notifications/tasks/status":
            self._plain(NOTIFICATION, params, method, (frame,))
            self._seen(params, (frame,))
            return
        named = related(params)
        if isinstance(named, str):
            self._named.append((named, brief(frame)))
        if method == "notifications/progress" and "progressToken" in params and self._of_token:
            owner = self._of_token.get(id_key(params["progressToken"]))
            if owner is not None:
                self._progress(frame, owner, named)

    def _progress(self, frame: Frame, owner: str, named: Json) -> None:
        life = self._lives[owner]
        if named != owner:
            what = "progress of a task does not name it" if named is None else "progress of a task names another one"
            # The token ties progress to its task already.
            ceiling = Severity.WARNING if named is None else None
            expected = f"_meta {RELATED} with taskId {owner!r}"
            self.breach(MESSAGES, what, expected, frame.message.get("params"), (life.created, frame), ceiling)
        if life.ended is not None and frame.exchange is None:
            life.late = True
            self.breach(
                PROGRESS_STOPS,
                f"progress is sent for a task that is {life.status}",
                "no progress after the end of the task",
                f"{(frame.at - life.ended.at) * 1000:.1f} ms after the task was seen {life.status}",
                (life.created, life.ended, frame),
                # Execution may go on after a cancellation, and what it says is hard to hold back.
                Severity.WARNING if life.status == "cancelled" else None,
            )
        life.last_progress = brief(frame)

    # -- times and ids

    def _times(self, task: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        times = [task.get(name) for name in ("createdAt", "lastUpdatedAt")]
        for value in times:
            if not isinstance(value, str):
                continue  # judged with the shape of the task
            if self._time(value) is None:
                self.breach(TIMES, "a time of a task is not in ISO 8601", "2025-11-25T10:30:00Z", value, proof, None)
            elif not _OFFSET.search(value):
                what = "a time of a task has no offset, which RFC 3339 demands"
                self.breach(TIMES, what, "2025-11-25T10:30:00Z", value, proof, Severity.WARNING)
            else:
                self.ledger.held(TIMES)
        created, updated = map(self._time, times)
        if created and updated and (created.tzinfo is None) == (updated.tzinfo is None) and updated < created:
            what = "a task was updated before it was created"
            self.breach(TIMES, what, f"not before {times[0]}", times[1], proof, Severity.WARNING)

    def _time(self, value: Json) -> datetime | None:
        if not isinstance(value, str) or not _TIME.match(value):
            return None
        try:
            return datetime.fromisoformat(value.upper().replace(" Z", "Z").replace(",", "."))
        except ValueError:
            return None

    def _guessable(self, ids: list[str]) -> None:
        if guessable(ids):
            what = "the ids of tasks are easy to guess"
            frames = tuple(self._lives[each].created for each in ids[:ENOUGH])
            self.breach(GUESS, what, "random ids of at least 64 bits", ids[:5], frames, Severity.WARNING)
        else:
            self.ledger.held(GUESS)


def guessable(ids: list[str]) -> bool:
    """Whether the ids differ by so little that anybody can go through them: a count, or a few characters."""
    if len({len(each) for each in ids}) == 1:
        return sum(len(set(column)) > 1 for column in zip(*ids, strict=True)) < 8
    return max(len(own) for own in _own_parts(ids)) < 8


def _own_parts(ids: list[str]) -> Iterator[str]:
    """Each id without what all begin with."""
    common = 0
    while all(len(each) > common for each in ids) and len({each[common] for each in ids}) == 1:
        common += 1
    return (each[common:] for each in ids)


def related(holder: Json) -> Json:
    """The id of the task that a result or params name in `_meta`, None if there is none."""
    named = related_task(holder)
    return named.get("taskId") if isinstance(named, dict) else None
