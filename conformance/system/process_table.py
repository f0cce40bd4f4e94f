"""The processes of this machine. /proc is read where there is one, in a tenth of the time that psutil takes."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from pathlib import Path
from typing import NamedTuple

import psutil

LINUX = sys.platform == "linux"

LISTED = LINUX and Path(f"/proc/self/task/{os.getpid()}/children").exists()
"""Whether the kernel lists the children of each thread."""

_TICKS = os.sysconf("SC_CLK_TCK") if LINUX else 1


class Process(NamedTuple):
    """A process as it was found. `began` is in seconds since some moment. `ended`: it is a zombie."""

    pid: int
    parent: int
    group: int
    session: int
    began: float
    ended: bool

    @property
    def key(self) -> tuple[int, float]:
        """The same as long as it lives; a later process may have the same number."""
        return self.pid, self.began


def everybody() -> list[Process]:
    """All processes."""
    return [found for pid in psutil.pids() if (found := _found(pid)) is not None]


def children_of(pid: int) -> list[Process]:
    """The children of a process, zombies too."""
    if not LISTED:
        return [process for process in everybody() if process.parent == pid]
    found: list[int] = []
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            found += map(int, _read(f"{thread.path}/children").split())
    return [process for process in map(_found, found) if process is not None]


def below(pid: int) -> list[Process]:
    """The children of a process, theirs, and so on; where Linux lists them, without looking at all processes."""
    found: list[Process] = []
    todo = [pid]
    while todo:
        children = children_of(todo.pop())
        found += children
        todo += [child.pid for child in children]
    return found


def beginning(pid: int) -> float:
    """When the process began; if it has gone, now."""
    found = _found(pid)
    if found is not None:
        return found.began
    return time.clock_gettime(time.CLOCK_BOOTTIME) if LINUX else time.time()


def held_up(pid: int) -> float:
    """Seconds that the threads of a process were ready to run and waited for a core, all in all; 0.0 if unknown."""
    return sum(_held_up(thread.path) for thread in _threads(pid))


def held_up_here() -> float:
    """The same of the thread that asks."""
    return _held_up("/proc/thread-self")


def _threads(pid: int) -> list[os.DirEntry[str]]:
    with contextlib.suppress(OSError):
        return list(os.scandir(f"/proc/{pid}/task"))
    return []


def _held_up(path: str) -> float:
    with contextlib.suppress(OSError, ValueError, IndexError):
        return int(_read(f"{path}/schedstat").split()[1]) / 1e9
    return 0.0


def value_of(variable: str, pid: int) -> str:
    """What the variable was when the process began; "" if there was none, or if nobody may see it."""
    if not LINUX:
        with contextlib.suppress(OSError, psutil.Error):
            return str(psutil.Process(pid).environ().get(variable, ""))
        return ""
    try:
        _, found, rest = (b"\0" + _read(f"/proc/{pid}/environ")).partition(b"\0%s=" % variable.encode())
    except OSError:
        return ""
    return rest.partition(b"\0")[0].decode("utf-8", "replace") if found else ""


def _found(pid: int) -> Process | None:
    return _of_proc(pid) if LINUX else _of_psutil(pid)


def _of_proc(pid: int) -> Process | None:
    try:
        line = _read(f"/proc/{pid}/stat")
    except OSError:
        return None
    words = line[line.rfind(b")") + 2 :].split()  # its name may have blanks and brackets in it
    return Process(pid, int(words[1]), int(words[2]), int(words[3]), int(words[19]) / _TICKS, words[0] in b"ZX")


def _of_psutil(pid: int) -> Process | None:
    try:
        process = psutil.Process(pid)
        ended = process.status() == psutil.STATUS_ZOMBIE
        return Process(pid, process.ppid(), os.getpgid(pid), os.getsid(pid), process.create_time(), ended)
    except (OSError, psutil.Error):
        return None


def _read(path: str) -> bytes:
    file = os.open(path, os.O_RDONLY)
    try:
        parts = []
        while part := os.read(file, 65536):
            parts.append(part)
        return b"".join(parts)
    finally:
        os.close(file)
