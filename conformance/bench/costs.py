"""What the server costs: CPU, memory, threads and open files of its whole process tree."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from conformance.system.process_table import below
from conformance.transports import Transport
from conformance.transports.at_url import AtUrl
from conformance.transports.stdio import StdioTransport

INTERVAL = 0.2
"""Seconds between two looks at the processes while load is made: one takes about 0.2 ms of our time."""
SETTLING = 10
"""Looks, 50 ms apart, while threads and files are still given back."""
REFRESH = 5
"""Looks after which it is looked for new processes."""


@dataclass(frozen=True, slots=True)
class Cost:
    """All processes together at one moment: bytes, numbers, CPU seconds since they began.

    `files` are open descriptors. `at` is a `time.monotonic()`.
    """

    at: float
    rss: int
    threads: int
    files: int
    processes: int
    cpu: float


class Costs:
    """Watches a process and what it started. `samples` are those taken so far, `peak` the most memory, in bytes.

    CPU seconds of processes that have ended are not lost: what they had used when last seen is kept.
    """

    def __init__(self, pids: Iterable[int]) -> None:
        self._roots = tuple(pids)
        self._processes: dict[int, psutil.Process] = {}
        self._used: dict[int, float] = {}
        self._looks = 0
        self._lock = threading.Lock()
        self.samples: list[Cost] = []
        self.peak = 0
        self.look()

    @property
    def known(self) -> bool:
        """Whether there is a process whose cost can be told: not of a server that somebody else runs."""
        return bool(self.samples) and self.samples[-1].processes > 0

    def look(self) -> Cost:
        """A sample, which is kept."""
        with self._lock:
            if self._looks % REFRESH == 0:
                self._find()
            self._looks += 1
            cost = self._now()
            if cost.processes:
                self.samples.append(cost)
                self.peak = max(self.peak, cost.rss, self._high() if cost.processes == 1 else 0)
            return cost

    def settled(self) -> Cost:
        """A sample once threads and open files are no longer given back, which may take a moment; it is kept."""
        cost = self.look()
        for _ in range(SETTLING):
            time.sleep(0.05)
            again = self.look()
            if (again.threads, again.files) >= (cost.threads, cost.files):
                return again
            cost = again
        return cost

    def cpu(self) -> float:
        """CPU seconds used so far, without keeping a sample."""
        with self._lock:
            return self._now().cpu

    def find(self) -> None:
        """Look for new processes the next time."""
        self._looks = 0

    def _find(self) -> None:
        for root in self._roots:
            for pid in (root, *(process.pid for process in below(root))):
                if pid not in self._processes:
                    with contextlib.suppress(psutil.Error):
                        self._processes[pid] = psutil.Process(pid)

    def _now(self) -> Cost:
        rss = threads = files = living = 0
        for pid, process in tuple(self._processes.items()):
            try:
                with process.oneshot():
                    used = process.cpu_times()
                    self._used[pid] = used.user + used.system
                    rss += process.memory_info().rss
                    threads += process.num_threads()
                with contextlib.suppress(psutil.Error, AttributeError):
                    files += process.num_fds()
                living += 1
            except psutil.Error:
                del self._processes[pid]
        return Cost(time.monotonic(), rss, threads, files, living, sum(self._used.values()))

    def _high(self) -> int:
        """The most memory that the only process ever had, where the system remembers it."""
        for pid in self._processes:
            with contextlib.suppress(OSError, ValueError, IndexError), Path(f"/proc/{pid}/status").open() as file:
                # One that has just ended has no such line any more.
                return next((int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM")), 0)
        return 0


def pids_of(transport: Transport) -> list[int]:
    """The process of a target that we started; none of one that somebody else runs."""
    if isinstance(transport, StdioTransport) and transport.process is not None:
        return [transport.process.popen.pid]
    if isinstance(transport, AtUrl) and transport.server is not None and transport.server.pid:
        return [transport.server.pid]
    return []


class Watcher:
    """Has `look` called now and then, in a thread, for as long as it is entered."""

    def __init__(self, look: Callable[[], object]) -> None:
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self._thread.join(1.0)

    def _watch(self) -> None:
        while not self._over.wait(INTERVAL):
            self._look()
