"""How fast a fleet is, and what it costs. See README.md beside this file."""

from __future__ import annotations

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from conformance.fleet.cluster import local
from conformance.fleet.driver import Driver, Task
from conformance.fleet.entries import Entry
from conformance.fleet.store import Store
from conformance.fleet.trial import Job, Tried
from conformance.model import Json

WORTH = 0.9
"""Of N times the rate of one worker, what N workers reach at least."""
SCHEDULING = 5.0
"""Milliseconds of CPU time of the driver, with its scheduler, for each simulated server: to hand it out, to get its
result, and to write that to disk."""
GROWTH = 20.0
"""Megabytes by which the driver may grow from the first tenth of the servers to the last."""

LOOK = 50
"""Servers between two looks at how large the driver is."""

STARTS = (0.1, 0.3, 0.5, 0.8, 1.0, 1.5)
"""Seconds that servers take to start, beside what Python takes."""
KINDS = ("", "description-null", "structured-content-wrong", "next-cursor-null")
"""Faults of the bundled server; "" is none."""
LATE = "import runpy, sys, time; time.sleep({}); sys.argv = ['reference', *{!r}]; "
LATE += "runpy.run_module('conformance.reference', run_name='__main__')"


class Silent:
    """Hears how a run goes on, and notes how large this process is."""

    def __init__(self) -> None:
        self.sizes: list[float] = []
        self._ended = 0

    def ended(self, _result: Json) -> None:
        """A server has its result."""
        self._ended += 1
        if self._ended % LOOK == 0:
            self.sizes.append(psutil.Process().memory_info().rss / 2**20)

    def died(self, name: str, deaths: int) -> None:
        """Should not happen."""
        raise AssertionError(f"a worker died of {name}, {deaths}")


def servers(number: int) -> list[Json]:
    """A list of bundled servers of several kinds that start more or less quickly."""
    listed = []
    for n in range(number):
        fault = KINDS[n % len(KINDS)]
        code = LATE.format(STARTS[n % len(STARTS)], ["--fault", fault] if fault else [])
        listed.append({"name": f"server-{n}", "server": [sys.executable, "-c", code]})
    return listed


def rate(workers: int, number: int, words: list[str]) -> float:
    """Servers a second that a cluster of this machine tests, the time until it is there not counted."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        (place / "list.json").write_text(json.dumps(servers(number)))
        command = [sys.executable, "-m", "conformance", "fleet", str(place / "list.json"), "--out", str(place / "out")]
        command += ["--workers", str(workers), *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as run:
            assert run.stdout is not None
            # From the first result on: until then, workers are started, and modules are read from disk.
            ended = [time.monotonic() for line in run.stdout if line.partition("/")[0].isdigit()]
        assert len(ended) == number, f"{len(ended)} of {number} were tested"
        return (number - workers) / (ended[-1] - ended[workers - 1])


def simulated(job: Job) -> Tried:
    """Takes no time, and returns what is as large as the result of a small server."""
    verdict: Json = {
        "requirement": "tools/list-shape", "level": "MUST", "basis": "schema", "verdict": "passed", "severity": None,
        "reason": "", "url": "https://example.com/", "findings": [], "reproduce": "",
    }  # fmt: skip
    run = {"revision": "2025-11-25", "transport": "stdio", "server": {"version": "1"}, "verdicts": [verdict] * 100}
    report = {"report": 1, "runs": [run], "exit": 0, "notes": []}
    return Tried(job.key, report, "", "", 0.0, {}, b"x" * 20_000, b"x" * 500)


def tasks(number: int) -> Iterator[Task]:
    """Simulated servers, made when they are asked for."""
    for n in range(number):
        entry = Entry(f"server-{n}", {"server": "true"})
        yield Task(entry, f"{n:x}", Job(entry.key, entry.settings))


def scheduling(workers: int, number: int) -> tuple[float, float, float]:
    """Milliseconds of CPU time, and of time, for each simulated server, and megabytes by which the driver grew."""
    listener = Silent()
    with tempfile.TemporaryDirectory() as folder, local(workers) as client:
        store = Store(Path(folder))
        driver = Driver(client, store, listener)
        assert driver.run(tasks(100), simulated)
        listener.sizes.clear()
        began, worked = time.monotonic(), time.process_time()
        assert driver.run(tasks(number), simulated)
        spent, worked = time.monotonic() - began, time.process_time() - worked
        assert len(list((Path(folder) / "results").iterdir())) == number
        store.close()
    tenth = max(1, number // LOOK // 10)
    return 1000 * worked / number, 1000 * spent / number, max(listener.sizes[-tenth:]) - max(listener.sizes[:tenth])


def main() -> int:
    """Print the figures; 1 if one misses its bound."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, default=psutil.cpu_count() or 2, help="N (default: the cores)")
    parser.add_argument("--targets", type=int, default=200, help="servers that are really tested")
    parser.add_argument("--simulated", type=int, default=10_000, help="servers that are not")
    parser.add_argument("--options", default="--quick --jobs 1", help="what each server is tested with")
    given = parser.parse_args()
    missed = []
    if given.simulated:
        worked, spent, growth = scheduling(given.workers, given.simulated)
        print(f"{given.simulated} simulated servers: {worked:.2f} ms of CPU time each; bound {SCHEDULING:g} ms")
        print(f"  one every {spent:.2f} ms; the driver grew by {growth:.1f} MB; bound {GROWTH:g} MB", flush=True)
        missed += [worked > SCHEDULING, growth > GROWTH]
    if given.targets:
        words = shlex.split(given.options)
        one = rate(1, given.targets, words)
        many = rate(given.workers, given.targets, words)
        worth = many / (given.workers * one)
        print(
            f"1 worker: {one:.3f} servers a second; {given.workers} workers: {many:.3f}, {worth:.2f} times as many each"
        )
        missed.append(worth < WORTH)
    return int(any(missed))


if __name__ == "__main__":
    sys.exit(main())
