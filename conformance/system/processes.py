"""Finds the processes that come of a server, however far they went away from it, and ends them.

Each server leads a session of its own and has a marker in its environment. What it starts is lost to us only if it has
changed its session, cleared its environment and lost its parent; while `adopting`, Linux makes even that a child of
ours. So nobody else here may start a process in a session of its own.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping

import psutil

from conformance.system.process_table import LINUX, LISTED, Process, beginning, below, children_of, everybody, value_of
from conformance.system.watchdog import Watchdog

MARKER = "MCP_CONFORM_SERVER"
"""The variable in the environment of a server by which all that comes of it is known."""

RUN = os.urandom(8).hex()
"""The first half of the markers of all servers that this process starts."""

ADOPTED = 0.5
"""Seconds between two looks for adopted processes that have ended and wait for somebody to notice."""

CLEAN = 2
"""Looks in a row at which nothing may be found: one who forks and leaves at once may be missed by a look."""

SWEEP = 2.0
"""Seconds that the last look for what came of our servers may take."""

_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of Linux."""


_numbers = itertools.count(1)
_running: dict[str, Family] = {}
"""Marker → the families whose server is not known to have ended."""
_started: set[int] = set()
"""Processes that we started and shall be told the status of."""
_strays_ended: dict[tuple[int, float], str] = {}
"""Command lines by `Process.key` of what was ended and came of a server that had gone, nobody knows which."""
_starting = threading.Lock()
"""Held while a server is started, so that nobody takes it for a stray before it is known."""
_first = 0.0
"""When the first server began."""
_adopting = False
_watchdog = Watchdog(f"{MARKER}={RUN}")


class Family:
    """The process of a server and all that comes of it.

    `start` is called with what is to be added to the environment; it starts the server in a session of its own.
    """

    def __init__(self, start: Callable[[Mapping[str, str]], subprocess.Popen[bytes]]) -> None:
        self.marker = f"{RUN}-{next(_numbers)}"
        self._known: set[tuple[int, float]] = set()
        global _first
        with _starting:
            self.popen = start({MARKER: self.marker})
            _started.add(self.popen.pid)
            self.began = beginning(self.popen.pid)
            _first = _first or self.began
            _running[self.marker] = self
        _watchdog.guard(self.popen.pid)

    def wait(self) -> None:
        """Wait for the end of the server itself."""
        self.popen.wait()
        _started.discard(self.popen.pid)
        self._let_go()

    def members(self) -> list[Process]:
        """All that lives of it, beside the server itself; they are known from now on, wherever they go."""
        return self._members(_in_question())

    def end(self, patience: float, limit: float) -> tuple[str, ...]:
        """End what is left when the server has gone, and strays with it; their command lines.

        They get `patience` seconds to go by themselves; it takes at most `limit` seconds more.
        """
        _running.pop(self.marker, None)
        left = self._await(patience)
        names = sorted(name for process in left if (name := _command_line(process.pid)))
        if left:
            _kill(self._noted, limit)
        self._let_go()
        return tuple(names)

    # -- inside

    def _members(self, everyone: Collection[Process]) -> list[Process]:
        lead = self.popen.pid
        numbers = {p.pid: p for p in everyone}
        # The number of the server stands for its session as long as there is a process in it, if not for a later one.
        later = lead in numbers and numbers[lead].began != self.began
        found = {lead} - ({lead} if later else set())
        for process in everyone:
            there = process.session == lead and not later
            if there or process.key in self._known or self._is_marked(process):
                found.add(process.pid)
        while more := {p.pid for p in everyone if p.parent in found and p.pid not in found and p.began >= self.began}:
            found |= more
        members = [numbers[pid] for pid in found if pid != lead and pid in numbers and not numbers[pid].ended]
        self._known.update(p.key for p in members)
        return members

    def _is_marked(self, process: Process) -> bool:
        return process.began >= self.began and value_of(MARKER, process.pid) == self.marker

    def _left(self) -> Collection[Process]:
        with _starting:
            everyone = _in_question()
            return {*self._members(everyone), *_strays(everyone)}

    def _noted(self) -> Collection[Process]:
        """What is left and about to be ended."""
        left = self._left()
        for process in left:
            if process.key not in self._known and process.key not in _strays_ended:
                _strays_ended[process.key] = _command_line(process.pid)
        return left

    def _await(self, patience: float) -> Collection[Process]:
        """What is left after at most `patience` seconds."""
        deadline = time.monotonic() + patience
        pause = 0.005
        while (left := self._left()) and time.monotonic() < deadline:
            time.sleep(pause)
            pause = min(0.05, 2 * pause)
        return left

    def _let_go(self) -> None:
        """Once the group is gone, its number may come to stand for another one."""
        try:
            os.killpg(self.popen.pid, 0)
        except ProcessLookupError:
            _watchdog.leave(self.popen.pid)
        except OSError:
            pass


def strays_ended() -> tuple[str, ...]:
    """Command lines of what was ended since the last call and came of some server that had gone, nobody knows which."""
    found = tuple(sorted(filter(None, _strays_ended.values())))
    _strays_ended.clear()
    return found


def _in_question() -> list[Process]:
    """The processes among which are all that came of our servers."""
    return below(os.getpid()) if _adopting and LISTED else everybody()


def end_everything(limit: float = 1.0) -> None:
    """Kill all servers of this process and all that came of them, at once, within about `limit` seconds.

    For a handler of signals: it waits for nothing that another thread may hold.
    """
    families = list(_running.values())
    for family in families:
        if family.popen.pid in _started:
            with contextlib.suppress(OSError):
                os.killpg(family.popen.pid, signal.SIGKILL)

    def left() -> Collection[Process]:
        everyone = everybody()
        servers = [p for p in everyone if p.pid in _started and p.pid != _watchdog.pid and not p.ended]
        found = {*servers, *_strays(everyone, running=())}
        for family in families:
            found |= set(family._members(everyone))
        return found

    _kill(left, limit)


@contextlib.contextmanager
def adopting() -> Iterator[None]:
    """What the servers leave behind meanwhile becomes a child of ours, where the system has it: Linux.

    Only for a process that starts nothing but servers: what else it left behind would be taken for theirs.
    """
    global _adopting
    over = threading.Event()

    def look_after() -> None:
        global _adopting
        _adopting = _set_subreaper(True)
        while _adopting and not over.wait(ADOPTED):
            _bury()

    # In a thread, because importing ctypes takes as long as starting a server.
    thread = threading.Thread(target=look_after, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
        if list(_strays(everybody())):  # whatever was missed
            _kill(lambda: list(_strays(everybody())), SWEEP)
        if _adopting:
            _bury()
            _set_subreaper(False)
            _adopting = False


def _set_subreaper(wanted: bool) -> bool:
    """Whether processes below us that lose their parent will be ours from now on."""
    if not LINUX:
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None).prctl(_SUBREAPER, int(wanted), 0, 0, 0) == 0) and wanted
    except (ImportError, OSError, AttributeError):
        return False


def _bury() -> None:
    """Let go of the adopted children that have ended, which would stay as zombies; never of one that we started."""
    with _starting:
        for process in children_of(os.getpid()):
            if process.ended and _is_adopted(process):
                with contextlib.suppress(OSError):
                    os.waitpid(process.pid, os.WNOHANG)


def _is_adopted(process: Process) -> bool:
    """Whether it is a child of ours that came of a server. Whatever else we started is of our own session."""
    return (
        process.parent == os.getpid()
        and process.pid not in _started
        and process.pid != _watchdog.pid
        and process.session != os.getsid(0)
    )


def _strays(everyone: Collection[Process], running: Collection[Family] | None = None) -> Iterator[Process]:
    """What came of some server that we started and surely not of one that is `running` (default: all that are)."""
    others = list(_running.values()) if running is None else running
    for process in everyone:
        if process.ended or process.pid in _started or process.began < _first:
            continue
        adopted = _adopting and _is_adopted(process)
        marker = value_of(MARKER, process.pid)
        if marker.startswith(RUN):
            if all(family.marker != marker for family in others):
                yield process
        elif adopted and not any(family.began <= process.began for family in others):
            yield process


def _kill(find: Callable[[], Collection[Process]], limit: float) -> None:
    """Kill what is found until nothing is, at most `limit` seconds.

    By whole groups, which catches those too that are being forked just now. A group whose session is not ours has
    nobody in it who does not come of the server.
    """
    deadline, clean = time.monotonic() + limit, 0
    while clean < CLEAN and time.monotonic() < deadline:
        groups = {process.group for process in find()}
        for group in groups - {os.getpgrp(), 0, 1}:
            with contextlib.suppress(OSError):
                os.killpg(group, signal.SIGKILL)
        clean = 0 if groups else clean + 1
        time.sleep(0.001)


def _command_line(pid: int) -> str:
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        line = " ".join(process.cmdline()) or process.name()
        return line.encode("utf-8", "backslashreplace").decode()
    return ""
