"""What the driver of a fleet does where the cluster is slow or gone, and what it does with what others left."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from distributed import Client, Future
from distributed.scheduler import KilledWorker

from conformance.fleet import cluster, driver
from conformance.fleet.driver import UNHEARD, Driver, SchedulerLost, Task
from conformance.fleet.entries import Entry
from conformance.fleet.store import Store
from conformance.fleet.trial import Job, Tried, sweep
from conformance.model import Json


class Listener:
    """Remembers whose test has ended."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def ended(self, result: Json) -> None:
        """Remember it."""
        self.names.append(result["name"])

    def died(self, name: str, deaths: int) -> None:
        """Nobody dies here."""
        raise AssertionError(name)


class Busy:
    """Stands for a client whose scheduler leaves it without an answer `times` times, and then has one thread.

    What it is given is done once the scheduler has answered, or at once if it always does.
    """

    status = "running"

    def __init__(self, times: int, refuses: bool = False) -> None:
        self._times = times
        self._refuses = refuses
        self._waiting: list[Any] = []

    def nthreads(self) -> dict[str, int]:
        """How many threads there are. Raises TimeoutError."""
        if self._times:
            self._times -= 1
            raise TimeoutError
        for told in self._waiting:
            told()
        self._waiting.clear()
        return {"a worker": 1}

    def submit(self, work: Any, job: Job, **_how: Any) -> Future[Any]:
        """What will come of it. Raises OSError."""
        if self._refuses:
            raise OSError("the connection is closed")
        client = self

        class Done:
            def add_done_callback(self, told: Any) -> None:
                client._waiting.append(lambda: told(self))

            def result(self) -> Tried | None:
                return cast("Tried | None", work(job))

        return cast("Future[Any]", Done())

    def cancel(self, *_what: Any, **_how: Any) -> None:
        """Nothing is done meanwhile."""


def tried(job: Job) -> Tried:
    """What comes of a test that nobody makes."""
    return Tried(job.key, None, "nobody tests it", "", 0.0, {})


def tasks() -> Iterator[Task]:
    """One server."""
    entry = Entry("one", {"server": "true"})
    yield Task(entry, "d", Job(entry.key, entry.settings))


def driven(client: Busy, folder: Path) -> list[str]:
    """The servers whose test has ended. Raises SchedulerLost."""
    listener = Listener()
    store = Store(folder)
    try:
        Driver(cast("Client", client), store, listener).run(tasks(), tried)
    finally:
        store.close()
    return listener.names


def test_a_scheduler_that_answers_late_is_not_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver, "GLANCE", 0.01)
    assert driven(Busy(UNHEARD - 1), tmp_path) == ["one"]
    with pytest.raises(SchedulerLost):
        driven(Busy(UNHEARD), tmp_path)


class Mourner(Listener):
    """Remembers who died how often, too."""

    def __init__(self) -> None:
        super().__init__()
        self.deaths: dict[str, list[int]] = {}

    def died(self, name: str, deaths: int) -> None:
        """Remember it."""
        self.deaths.setdefault(name, []).append(deaths)


def test_of_two_servers_that_are_started_in_the_same_way_each_has_its_own_three_workers(tmp_path: Path) -> None:
    def dies(job: Job) -> Tried | None:
        raise KilledWorker(job.key, cast("Any", None), 0)

    twins = [Entry(name, {"server": "true"}) for name in ("one", "two")]
    listener, store = Mourner(), Store(tmp_path)
    try:
        jobs = (Task(each, each.digest(()), Job(each.key, each.settings)) for each in twins)
        Driver(cast("Client", Busy(0)), store, listener).run(jobs, dies)
    finally:
        store.close()
    assert listener.deaths == {"one": [1, 2, 3], "two": [1, 2, 3]}
    assert sorted(listener.names) == ["one", "two"]


def test_a_connection_that_breaks_is_not_taken_for_a_disk_that_is_full(tmp_path: Path) -> None:
    with pytest.raises(SchedulerLost):
        driven(Busy(0, refuses=True), tmp_path)


def test_that_a_cluster_cannot_be_closed_does_not_end_a_run() -> None:
    class Stuck:
        def close(self) -> None:
            raise TimeoutError

    cluster._close(cast("Client", Stuck()))


def test_folders_of_drivers_that_were_killed_are_removed_and_those_of_others_are_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as living:
        with subprocess.Popen([sys.executable, "-c", ""]) as dead:
            pass
        for name in (f"{cluster.PREFIX}-{dead.pid}-x", f"{cluster.PREFIX}-{living.pid}-x", f"{cluster.PREFIX}-other"):
            (tmp_path / name / "inside").mkdir(parents=True)
        sweep(cluster.PREFIX)
        assert {each.name for each in tmp_path.iterdir()} == {
            f"{cluster.PREFIX}-{living.pid}-x",
            f"{cluster.PREFIX}-other",
        }
        living.terminate()
