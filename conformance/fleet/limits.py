"""What the test of one server may use: time, memory, disk and processes."""

from __future__ import annotations

import contextlib
import os
import stat
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from conformance.system.process_table import below

MEGABYTE = 1024 * 1024
SELDOM = 10
"""Looks at the processes for each look at the disk, which takes longer."""

TIMES = 3
"""Memory is read again as often while processes come and go."""


TIME, MEMORY, DISK, PROCESSES = "time", "memory", "disk", "processes"
"""What is limited, as results name it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """In seconds, bytes, and a number. Memory and processes are those of the whole process tree, mcp-conform's too."""

    seconds: float = 900.0
    memory: int = 2048 * MEGABYTE
    disk: int = 2048 * MEGABYTE
    processes: int = 200


@dataclass(slots=True)
class Used:
    """The most that was seen; in bytes, and a number."""

    memory: int = 0
    disk: int = 0
    processes: int = 0


@dataclass(slots=True)
class Watch:
    """Looks at what a process and all that came of it use, and at what lies in its folder."""

    limits: Limits
    pid: int
    folder: Path
    used: Used = field(default_factory=Used)
    limit: str = ""
    """Which one was exceeded: TIME, MEMORY, DISK or PROCESSES."""
    _looks: int = 0
    _began: float = field(default_factory=time.monotonic)

    def exceeded(self) -> str:
        """Which limit is exceeded now, as what was done; "" if none is."""
        processes = self._processes()
        self.used.processes = max(self.used.processes, len(processes))
        memory = sum(map(_resident, processes))
        if memory > self.limits.memory:
            memory = self._in_common_once(processes)
        self.used.memory = max(self.used.memory, memory)
        if self._looks % SELDOM == 0:
            self.used.disk = max(self.used.disk, size_of(self.folder))
        self._looks += 1
        if time.monotonic() - self._began > self.limits.seconds:
            self.limit = TIME
            return f"it took more than {self.limits.seconds:g} s"
        if self.used.memory > self.limits.memory:
            self.limit = MEMORY
            return f"its processes used more than {megabytes(self.limits.memory)} of memory"
        if self.used.processes > self.limits.processes:
            self.limit = PROCESSES
            return f"it had more than {self.limits.processes} processes"
        if self.used.disk > self.limits.disk:
            self.limit = DISK
            return f"it wrote more than {megabytes(self.limits.disk)} to disk"
        return ""

    def _processes(self) -> list[int]:
        return [self.pid, *(process.pid for process in below(self.pid) if not process.ended)]

    def _in_common_once(self, processes: list[int]) -> int:
        """Bytes of all processes; what they have in common counts once.

        A share is smaller after each fork, so shares that were read while processes came or went do not add up.
        """
        least = sum(map(_own, processes))
        for _ in range(TIMES):
            before, processes = processes, self._processes()
            if processes == before or least <= self.limits.memory:
                break
            least = min(least, sum(map(_own, processes)))
        return least


def megabytes(size: int) -> str:
    """A size in bytes, for people."""
    return f"{size / MEGABYTE:.4g} MB"


def _resident(pid: int) -> int:
    with contextlib.suppress(psutil.Error):
        return int(psutil.Process(pid).memory_info().rss)
    return 0


def _own(pid: int) -> int:
    """Its share of what it has in common with other processes, which each of them counts in whole. Takes longer."""
    with contextlib.suppress(psutil.Error):
        found = psutil.Process(pid).memory_full_info()
        return int(getattr(found, "pss", found.uss))
    return _resident(pid)


def size_of(folder: Path) -> int:
    """Bytes that the files in a folder take on disk. What disappears meanwhile does not count; links are not followed.

    A file that has several names counts once.
    """
    seen: set[tuple[int, int]] = set()
    total = 0
    for found in _files(folder):
        if (found.st_dev, found.st_ino) not in seen:
            seen.add((found.st_dev, found.st_ino))
            total += found.st_blocks * 512
    return total


def _files(folder: Path) -> Iterator[os.stat_result]:
    todo = [str(folder)]
    while todo:
        with contextlib.suppress(OSError), os.scandir(todo.pop()) as entries:
            for entry in entries:
                with contextlib.suppress(OSError):
                    found = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(found.st_mode):
                        todo.append(entry.path)
                    else:
                        yield found
