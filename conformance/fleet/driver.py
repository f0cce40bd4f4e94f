"""Hands servers to the workers, a few at a time, and keeps each result as soon as it is there."""

from __future__ import annotations

import contextlib
import os
import queue
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from distributed import Client, Future
from distributed.scheduler import KilledWorker

from conformance.fleet.cluster import attempt
from conformance.fleet.entries import Entry
from conformance.fleet.outcome import compact, not_tested, result_of
from conformance.fleet.store import Store
from conformance.fleet.trial import Job, Tried
from conformance.model import Json

DEADLY = 3
"""Workers that may die of a server."""
AHEAD = 2
"""Servers that each thread of a worker has: one that it tests, and one that it takes next without asking us."""
UNHEARD = 3
"""Times in a row that a scheduler may leave us without an answer: on a busy machine one may come late."""
GLANCE = 2.0
"""Seconds after which it is looked again whether workers have come or gone, and whether the scheduler is there."""


class SchedulerLost(Exception):
    """The scheduler does not answer any more."""


@dataclass(frozen=True, slots=True)
class Task:
    """A server, and how it is tested."""

    entry: Entry
    digest: str
    job: Job

    @property
    def id(self) -> str:
        """Stands for the server, too: several may be listed that are started in the same way."""
        return f"{self.digest}-{self.entry.key}"


@dataclass(frozen=True, slots=True)
class Landed:
    """What became of an attempt: what was learned, or what kept it from being made."""

    task: Task
    tried: Tried | None = None
    error: BaseException | None = None


class Listener(Protocol):
    """Who is told how a run goes on."""

    def ended(self, result: Json) -> None:
        """A server has its result."""

    def died(self, name: str, deaths: int) -> None:
        """A worker died while it tested the server, for the `deaths`th time."""


class Driver:
    """Tests servers on the workers of `client`. What it holds does not grow with the number of servers."""

    def __init__(self, client: Client, store: Store, listener: Listener, compacted: bool = False) -> None:
        self._client = client
        self._store = store
        self._listener = listener
        self._compact = compacted
        self._landed: queue.SimpleQueue[Landed | None] = queue.SimpleQueue()
        self._flying: dict[str, Future[Any]] = {}
        self._deaths = store.deaths()
        self._attempts: dict[str, int] = {}
        self._number = 0
        self._known = 0
        self._unheard = 0
        self._stopped = False

    def stop(self) -> None:
        """Begin nothing more, and let go of what the workers do. May be called in a signal handler."""
        self._stopped = True
        self._landed.put(None)

    def run(self, tasks: Iterable[Task], work: Callable[[Job], Tried | None] = attempt) -> bool:
        """Test them all; whether it came to the end. Raises SchedulerLost, and OSError if a result cannot be kept."""
        waiting, suspects = iter(tasks), deque[Task]()
        exhausted = False
        threads = self._threads()
        try:
            while not self._stopped:
                # Which of its servers a worker died of is not known. So those in question are tested last, and each
                # thread has only one of them.
                while not exhausted and len(self._flying) < max(1, threads * AHEAD):
                    task = next(waiting, None)
                    exhausted = task is None
                    if task is not None:
                        self._begin(task, work)
                while exhausted and suspects and len(self._flying) < max(1, threads):
                    self._begin(suspects.popleft(), work)
                if not self._flying:
                    return True
                try:
                    landed = self._landed.get(timeout=GLANCE)
                except queue.Empty:
                    threads = self._threads()
                    continue
                if landed is not None and (again := self._end(landed)) is not None:
                    suspects.append(again)
            return False
        finally:
            if self._flying and self._client.status == "running":
                with contextlib.suppress(OSError, TimeoutError):
                    self._client.cancel(list(self._flying.values()), force=True)
            self._flying.clear()

    # -- inside

    def _threads(self) -> int:
        """How many servers can be tested at once. Raises SchedulerLost."""
        self._check()
        try:
            self._known = sum(self._client.nthreads().values())
            self._unheard = 0
        except (OSError, TimeoutError):
            self._unheard += 1
            if self._unheard >= UNHEARD:
                raise SchedulerLost from None
        return self._known

    def _check(self) -> None:
        """Raises SchedulerLost. To connect again would not help: a scheduler keeps nothing on disk."""
        if self._client.status != "running":
            raise SchedulerLost

    def _begin(self, task: Task, work: Callable[[Job], Tried | None]) -> None:
        self._number += 1
        name = f"mcp-conform-{os.getpid()}-{os.urandom(4).hex()}-{self._number}"
        try:
            future = self._client.submit(work, task.job, key=name, pure=False)
        except (OSError, TimeoutError):  # or it would pass for a result that cannot be written
            raise SchedulerLost from None
        self._flying[task.id] = future
        future.add_done_callback(lambda done: self._landed.put(_landed(task, done)))

    def _end(self, landed: Landed) -> Task | None:
        """Keep what was learned; the task if it is to be tried again."""
        task, error = landed.task, landed.error
        self._flying.pop(task.id, None)
        if landed.tried is not None:
            attempts = 1 + self._deaths.get(task.id, 0)
            tried = landed.tried
            self._keep(result_of(task.entry, task.digest, tried, attempts, task.job), tried.page, tried.badge)
            return None
        if isinstance(error, KilledWorker):
            deaths = self._deaths.get(task.id, 0) + error.allowed_failures + 1
            self._deaths[task.id] = deaths
            self._store.put_deaths(self._deaths)
            self._listener.died(task.entry.name, deaths)
            if deaths < DEADLY:
                return task
            why = f"its worker died {deaths} times while it was tested"
            self._keep(not_tested(task.entry, task.digest, why, deaths, task.job))
            return None
        self._check()
        # Taken away from us, for example by somebody who restarted the workers.
        self._attempts[task.id] = self._attempts.get(task.id, 0) + 1
        if self._attempts[task.id] < DEADLY:
            return task
        why = f"{type(error).__name__}: {error}".splitlines()[0] if error is not None else "it was cancelled"
        self._keep(not_tested(task.entry, task.digest, f"no worker could test it: {why}", job=task.job))
        return None

    def _keep(self, result: Json, page: bytes | None = None, badge: bytes | None = None) -> None:
        self._store.put(compact(result) if self._compact else result, page, badge)
        self._listener.ended(result)


def _landed(task: Task, done: Future[Any]) -> Landed:
    try:
        return Landed(task, done.result())
    except BaseException as error:
        return Landed(task, error=error)
