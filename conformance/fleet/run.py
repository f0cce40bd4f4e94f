"""From a list of servers to a folder of results and what is made of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol

from conformance.engine.verdicts import EXIT_CLEAN, EXIT_UNTESTED, EXIT_VIOLATIONS, worst
from conformance.fleet.conditions import others
from conformance.fleet.entries import Entry
from conformance.fleet.limits import Limits
from conformance.fleet.outcome import FAILED, INCOMPLETE, NOT_TESTED, PASSED
from conformance.fleet.sandbox import Sandbox
from conformance.fleet.store import Store
from conformance.fleet.trial import Job
from conformance.model import Json, UsageError

EXITS = {PASSED: EXIT_CLEAN, FAILED: EXIT_VIOLATIONS, INCOMPLETE: EXIT_UNTESTED, NOT_TESTED: EXIT_UNTESTED}
LOST = "the scheduler does not answer any more; the same command goes on where this run was"


@dataclass(frozen=True, slots=True)
class Manner:
    """How all servers are tested. `words` go to each command line; `keep` names variables that the servers get.

    `workers` is how many processes a cluster of this machine has; `scheduler` is the address of another one.
    `compact` results are for a folder that is published.
    """

    words: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    sandbox: Sandbox = field(default_factory=Sandbox)
    workers: int = 1
    scheduler: str = ""
    compact: bool = False


@dataclass(slots=True)
class Plan:
    """What is to be done: of `entries`, `todo` are to be tested, `finished` have their result.

    Of `todo`, `changed` were tested when they were listed otherwise, and `unsettled` have a result that may be another
    one now.
    """

    entries: list[Entry]
    manner: Manner
    todo: list[Entry] = field(default_factory=list)
    finished: int = 0
    changed: int = 0
    unsettled: int = 0

    @property
    def impossible(self) -> list[Entry]:
        """Those that cannot be tested here."""
        return [entry for entry in self.entries if entry.problem]


class Listener(Protocol):
    """Who is told how a run goes on."""

    def ended(self, result: Json) -> None:
        """A server has its result."""

    def died(self, name: str, deaths: int) -> None:
        """A worker died while it tested the server, for the `deaths`th time."""

    def failed(self, why: str) -> None:
        """The run cannot go on."""


def planned(entries: list[Entry], store: Store, manner: Manner, chosen: Collection[str] | None = None) -> Plan:
    """What is left to do: what has a result of the same test is finished, unless that was cut by a limit that is higher
    now, or was not tested where it may be now. `chosen` are the names of those that alone are tested."""
    plan = Plan(entries, manner)
    for entry in entries:
        if entry.problem or (chosen is not None and entry.name not in chosen):
            continue
        digest = store.digest(entry.key)
        if digest == entry.digest(manner.words):
            if others(store.conditions(entry.key), manner.limits, manner.sandbox, manner.keep):
                plan.unsettled += 1
                plan.todo.append(entry)
            else:
                plan.finished += 1
        else:
            plan.changed += bool(digest)
            plan.todo.append(entry)
    return plan


def carry_out(plan: Plan, store: Store, listener: Listener, stopping: Callable[[Callable[[], None]], None]) -> bool:
    """Test what is to be tested; whether it came to the end.

    `stopping` is given a function that ends the run early and may be called in a signal handler. Raises UsageError.
    """
    if not plan.todo:
        return True
    from conformance.fleet.cluster import local, on_all, remote
    from conformance.fleet.driver import DEADLY, Driver, SchedulerLost, Task

    manner = plan.manner
    tasks = (Task(entry, entry.digest(manner.words), _job(entry, manner)) for entry in plan.todo)
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(
            remote(manner.scheduler) if manner.scheduler else local(min(manner.workers, len(plan.todo)))
        )
        if manner.scheduler:
            for problem in filter(None, on_all(client, manner.sandbox.why_not_usable)):
                raise UsageError(f"on a worker, {problem}")
        if plan.unsettled:
            # Else those that killed their workers under other conditions would have only one more.
            store.forget_deaths({entry.key for entry in plan.todo}, DEADLY)
        driver = Driver(client, store, listener, manner.compact)
        stopping(driver.stop)
        try:
            return driver.run(tasks)
        except SchedulerLost:
            listener.failed(LOST)
            return False
        except OSError as error:
            listener.failed(f"a result could not be written: {error.strerror or error}")
            return False


def _job(entry: Entry, manner: Manner) -> Job:
    return Job(
        entry.key,
        entry.settings,
        manner.words,
        entry.environment,
        entry.secrets,
        manner.keep,
        manner.limits,
        manner.sandbox,
        pages=not manner.compact,
        bundle=entry.bundle,
    )


def exit_status(total: Json) -> int:
    """Of a whole run: 1 if a server failed, 3 if not all could be tested, else 0."""
    statuses = [EXITS[row["outcome"]] for row in total["servers"]]
    return worst([*statuses, *([] if total["complete"] else [EXIT_UNTESTED])])
