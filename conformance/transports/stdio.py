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
CHUNK = 64 * 1024
"""What a pipe holds; a larger buffer would be mapped and unmapped for each read."""
SETTLE = 0.5
"""Seconds without output after which what still holds the stdout of a dead server counts as silent."""


class StdioTransport:
    """See `conformance.transports.Transport`.

    A line longer than 16 MiB arrives cut, with the count of what was left out.
    """

    name = "stdio"

    def __init__(self, target: Target, limits: Limits) -> None:
        self._target = target
        self._limits = limits
        self._lines = Lines()
        self._inbox = Inbox()
        self._queue: deque[memoryview] = deque()
        self._changed = threading.Condition()
        self._writing = False
        self._input_closed = False
        self._asked_to_go = 0.0
        self._died = False
        self._over = False
        self._turn = 0
        self._closing = threading.Lock()
        self._ending: Ending | None = None
        self._process: ServerProcess | None = None

    def start(self) -> None:
        """Start the process. Raises StartError."""
        self._process = process = ServerProcess(self._target, self._limits)
        assert process.popen.stdin is not None
        self._stdin = process.popen.stdin.fileno()
        os.set_blocking(self._stdin, False)
        self._reader = threading.Thread(target=self._read, args=(process,), daemon=True)
        self._reader.start()
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Write one line."""
        self.write(data if data.endswith(b"\n") else data + b"\n")
        return None

    def write(self, data: bytes) -> None:
        """Write at once what the pipe takes; a thread writes the rest."""
        with self._changed:
            if self._input_closed:
                return
            left = memoryview(data)
            if not self._writing:
                left = self._write_some(left)
            if left:
                self._queue.append(left)
                if not self._writing:
                    self._writing = True
                    threading.Thread(target=self._write_rest, daemon=True).start()

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next line or the end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """Close stdin once what is queued has been written, at most `limits.shutdown` seconds from now."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing or self._input_closed, self._limits.shutdown)
            self._close_input()

    def close(self) -> Ending:
        """Close stdin, wait, terminate, kill."""
        with self._closing:
            if self._ending is None:
                self._ending = self._end()
            return self._ending

    def unfinished(self) -> bytes:
        """The line that the server has begun."""
        return self._lines.rest()

    def stderr(self) -> str:
        """The tail of stderr."""
        return self._process.stderr() if self._process is not None else ""

    # -- inside

    def _end(self) -> Ending:
        process = self._process
        if process is None:
            return Ending("closed")
        self._inbox.open_wide()
        with self._changed:
            self._close_input()
        how, orphans = process.end(self._asked_to_go + self._limits.shutdown - time.monotonic())
        self._reader.join(1.0)
        self._finish("the transport was closed")
        seconds = max(0.0, process.gone_at - self._asked_to_go)
        return Ending("died" if self._died else how, process.popen.returncode, seconds, orphans)

    def _close_input(self) -> None:
        """To be called with `_changed` held."""
        if self._input_closed or self._process is None:
            return
        self._process.remember_family()
        self._died = not self._process.running
        self._input_closed = True
        self._asked_to_go = time.monotonic()
        self._queue.clear()
        assert self._process.popen.stdin is not None
        with contextlib.suppress(OSError):
            self._process.popen.stdin.close()
        self._changed.notify_all()

    def _write_some(self, data: memoryview) -> memoryview:
        """What the pipe did not take; nothing if nobody reads it any more: the end of stdout tells why."""
        try:
            return data[os.write(self._stdin, data) :]
        except BlockingIOError:
            return data
        except OSError:
            return data[:0]

    def _write_rest(self) -> None:
        writable = select.poll()
        writable.register(self._stdin, select.POLLOUT)
        while True:
            with self._changed:
                if self._queue and (left := self._write_some(self._queue.popleft())):
                    self._queue.appendleft(left)
                if not self._queue:
                    self._writing = False
                    self._changed.notify_all()
                    return
            # A short wait, so that closing is noticed even while the server does not read.
            writable.poll(50)

    def _read(self, process: ServerProcess) -> None:
        assert process.popen.stdout is not None
        lines = self._lines
        put = self._inbox.put
        # Nobody else closes the pipe, so that its number cannot come to stand for another one during a read.
        with contextlib.suppress(OSError), process.popen.stdout as pipe:
            fd = pipe.fileno()
            while True:
                self._turn += 1  # odd: waiting for output
                part = os.read(fd, CHUNK)
                self._turn += 1
                if not part or self._over:
                    break
                at = time.monotonic()
                for line, omitted in lines.feed(part):
                    put(Arrival("stdout", line, at, omitted=omitted), len(line))
        process.wait(self._limits.quiet)
        self._finish(process.fate() or "the server closed its stdout and still runs", lines.rest())

    def _watch(self, process: ServerProcess) -> None:
        """Tell the end of a server whose stdout is still held by something that it started.

        A launcher that leaves with 0 and lets another process serve is waited for, until the input is closed.
        """
        while not process.wait(3600):
            pass
        self._reader.join(SETTLE)
        with self._changed:
            self._changed.wait_for(lambda: self._input_closed or self._over or process.popen.returncode != 0)
        assert process.popen.stdout is not None
        reason = f"{process.fate()}; something that it started still holds its stdout"
        readable = select.poll()
        with contextlib.suppress(ValueError):  # closed by the reader
            readable.register(process.popen.stdout.fileno(), select.POLLIN)
        while self._reader.is_alive() and not self._over:
            turn = self._turn
            self._reader.join(SETTLE)
            if not readable.poll(0) and turn % 2 and turn == self._turn:
                self._finish(reason)

    def _finish(self, reason: str, partial: bytes = b"") -> None:
        """Put the end into the inbox, once."""
        with self._changed:
            if self._over:
                return
            self._over = True
            self._changed.notify_all()
        self._inbox.put(Ended(time.monotonic(), reason, partial=partial))


class Lines:
    """Cuts a stream of bytes into lines, keeping at most MAX_LINE bytes of each."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._omitted = 0

    def feed(self, part: bytes) -> list[tuple[bytes, int]]:
        """The lines that `part` completes, each with the number of bytes left out."""
        head, *rest = part.split(b"\n")
        if not rest:
            self._keep(head)
            return []
        if self._begun:
            self._keep(head)
            head, omitted = bytes(self._begun), self._omitted
            self._begun, self._omitted = bytearray(), 0
        else:
            omitted = 0
        self._keep(rest.pop())
        return [(head, omitted), *((line, 0) for line in rest)]

    def rest(self) -> bytes:
        """The line that was begun and not ended."""
        return bytes(self._begun)

    def _keep(self, part: bytes) -> None:
        room = MAX_LINE - len(self._begun)
        self._begun += part[:room]
        self._omitted += max(0, len(part) - room)
