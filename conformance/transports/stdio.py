"""stdio: one process for each transport, one message a line."""

from __future__ import annotations

import contextlib
import os
import select
import threading
import time
from collections import deque
from collections.abc import Mapping

from conformance.model import Limits, Target
from conformance.target import ServerProcess
from conformance.transports import Arrival, Ended, Ending, Inbox

MAX_LINE = 16 * 1024 * 1024
CHUNK = 256 * 1024


class StdioTransport:
    """See `conformance.transports.Transport`.

    A line longer than 16 MiB arrives cut, with the count of what was left out.
    """

    name = "stdio"

    def __init__(self, target: Target, limits: Limits) -> None:
        self._target = target
        self._limits = limits
        self._inbox = Inbox()
        self._queue: deque[bytes] = deque()
        self._queued = threading.Condition()
        self._writing = False
        self._input_closed = False
        self._asked_to_go = 0.0
        self._ended = threading.Event()
        self._closing = threading.Lock()
        self._ending: Ending | None = None
        self._process: ServerProcess | None = None

    def start(self) -> None:
        """Start the process. Raises StartError."""
        self._process = process = ServerProcess(self._target, self._limits)
        assert process.popen.stdin is not None
        self._stdin = process.popen.stdin.fileno()
        os.set_blocking(self._stdin, False)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Write one line."""
        self.write(data if data.endswith(b"\n") else data + b"\n")
        return None

    def write(self, data: bytes) -> None:
        """Write at once what the pipe takes; a thread writes the rest."""
        with self._queued:
            if self._input_closed:
                return
            if not self._queue and not self._writing:
                try:
                    data = data[os.write(self._stdin, data) :]
                except BlockingIOError:
                    pass
                except OSError:
                    return  # the reader tells how the process ended
            if data:
                self._queue.append(data)
                if not self._writing:
                    self._writing = True
                    threading.Thread(target=self._write_rest, daemon=True).start()

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next line or the end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """Close stdin once what is queued has been written, at most `limits.shutdown` seconds from now."""
        with self._queued:
            if self._input_closed:
                return
            self._queued.wait_for(lambda: not self._writing, self._limits.shutdown)
            self._close_input()

    def close(self) -> Ending:
        """Close stdin, wait, terminate, kill."""
        with self._closing:
            if self._ending is None:
                self._ending = self._end()
            return self._ending

    def stderr(self) -> str:
        """The tail of stderr."""
        return self._process.stderr() if self._process is not None else ""

    # -- inside

    def _end(self) -> Ending:
        process = self._process
        if process is None:
            return Ending("died")
        died = not process.running and not self._input_closed
        self._inbox.open_wide()
        with self._queued:
            self._queue.clear()
            self._close_input()
        how, orphans = process.end(time.monotonic() - self._asked_to_go)
        seconds = time.monotonic() - self._asked_to_go
        self._reader.join(2.0)
        return Ending("died" if died else how, process.popen.returncode, seconds, orphans)

    def _close_input(self) -> None:
        if not self._input_closed:
            self._input_closed = True
            self._asked_to_go = time.monotonic()
            assert self._process is not None and self._process.popen.stdin is not None
            with contextlib.suppress(OSError):
                self._process.popen.stdin.close()

    def _write_rest(self) -> None:
        while True:
            with self._queued:
                if not self._queue or self._input_closed:
                    self._writing = False
                    self._queued.notify_all()
                    return
                data = self._queue[0]
                try:
                    data = data[os.write(self._stdin, data) :]
                except BlockingIOError:
                    pass
                except OSError:
                    data = b""
                if data:
                    self._queue[0] = data
                else:
                    self._queue.popleft()
                    continue
                stdin = self._stdin
            # A short wait, so that closing is noticed even while the server does not read.
            with contextlib.suppress(OSError, ValueError):
                select.select([], [stdin], [], 0.05)

    def _read(self) -> None:
        assert self._process is not None and self._process.popen.stdout is not None
        fd = self._process.popen.stdout.fileno()
        lines = _Lines()
        with contextlib.suppress(OSError):
            while part := os.read(fd, CHUNK):
                at = time.monotonic()
                for line, omitted in lines.feed(part):
                    self._inbox.put(Arrival("stdout", line, at, omitted=omitted), len(line))
        process = self._process
        process.wait(0.3)
        reason = process.fate() or "the server closed its stdout and still runs"
        self._inbox.put(Ended(time.monotonic(), reason, partial=lines.rest()), 0)


class _Lines:
    """Cuts a stream of bytes into lines, keeping at most MAX_LINE bytes of each."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._kept = 0
        self._omitted = 0

    def feed(self, part: bytes) -> list[tuple[bytes, int]]:
        """The lines that `part` completes, each with the number of bytes left out."""
        if b"\n" not in part:
            self._keep(part)
            return []
        head, *rest = part.split(b"\n")
        self._keep(head)
        first = (b"".join(self._parts), self._omitted)
        self._parts, self._kept, self._omitted = [], 0, 0
        self._keep(rest.pop())
        return [first, *((line, 0) for line in rest)]

    def rest(self) -> bytes:
        """The line that was begun and not ended."""
        return b"".join(self._parts)

    def _keep(self, part: bytes) -> None:
        room = MAX_LINE - self._kept
        self._omitted += max(0, len(part) - room)
        part = part[: max(0, room)]
        if part:
            self._parts.append(part)
            self._kept += len(part)
