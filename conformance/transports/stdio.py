"""stdio: one process for each transport, one message a line."""

from __future__ import annotations

import contextlib
import math
import os
import select
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext

from conformance.budget import BYTES, MOST_BYTES, SMALL, kept
from conformance.model import Limits, Target
from conformance.target.process import ServerProcess
from conformance.transports import Arrival, Ended, Ending, Transport, Used

MAX_LINE = MOST_BYTES
CHUNK = 64 * 1024
"""What a pipe holds; a larger buffer would be mapped and unmapped for each read."""
MAX_LATE = 16 * 1024 * 1024
"""Bytes of output kept while a server is being ended."""
EACH = 400
"""Bytes that each line costs us beside its own."""
MAX_QUEUED = 4 * 1024 * 1024
"""Bytes that wait for a server to read them, EACH for each message included; what comes after that is dropped."""
STEP = 1024 * 1024
"""Bytes for which a long line reserves room at a time."""
SETTLE = 0.5
"""Seconds without output after which what still holds the stdout of a dead server counts as silent."""


def stderr_unread(transport: Transport) -> AbstractContextManager[None]:
    """Leave what a target on stdio writes to stderr in its pipe meanwhile, as a client does that ignores it."""
    process = transport.process if isinstance(transport, StdioTransport) else None
    return process.stderr_unread() if process is not None else nullcontext()


def stderr_waiting(transport: Transport) -> int:
    """Bytes that a target on stdio has written to stderr and nobody has read; 0 where that cannot be told."""
    process = transport.process if isinstance(transport, StdioTransport) else None
    return process.stderr_waiting() if process is not None else 0


class StdioTransport:
    """See `conformance.transports.Transport`.

    A line longer than 16 MiB arrives cut, with the count of what was left out; so does a long one where the lines of
    all sessions together are too long to be kept. Whoever receives reads the pipe itself: a thread between would double
    the cost of an answer, and a flood waits in the pipe instead of filling our memory.
    """

    name = "stdio"
    frame = "line"
    has_headers = False
    single_stream = True
    ours = True
    away = 0.0
    host = ""
    posts_apart = False
    url = ""
    any_bytes = True
    process_per_session = True

    def __init__(self, target: Target, limits: Limits) -> None:
        self.began = 0.0
        self._target = target
        self._limits = limits
        self._lines = Lines()
        self._arrived: deque[Arrival | Ended] = deque()
        self._reading = threading.Lock()
        self._queue: deque[memoryview] = deque()
        self._queued = 0
        self._changed = threading.Condition()
        self._writing = False
        self._input_closed = False
        self._asked_to_go = 0.0
        self._died = False
        self._over = False
        self._ends = False
        self._heard_at = 0.0
        self._closing = threading.Lock()
        self._ending: Ending | None = None
        self._process: ServerProcess | None = None

    def start(self) -> None:
        """Start the process. Raises StartError."""
        self.began = time.monotonic()
        self._process = process = ServerProcess(self._target, self._limits)
        assert process.popen.stdin is not None and process.popen.stdout is not None
        self._stdin = process.popen.stdin.fileno()
        os.set_blocking(self._stdin, False)
        self._stdout = process.popen.stdout.fileno()
        self._bell = Bell()
        self._readable = select.poll()
        self._readable.register(self._stdout, select.POLLIN)
        self._readable.register(self._bell.fileno, select.POLLIN)
        process.watch(lambda fate: self._bell.ring())

    def hold_to(self, limits: Limits) -> None:
        """From now on these limits hold."""
        self._limits = limits
        if self._process is not None:
            self._process.limits = limits

    def listens_at(self) -> tuple[str, ...]:
        """It has no URL."""
        return ()

    def used(self) -> Used:
        """What the process and what it started have used so far."""
        return self._process.used() if self._process is not None else Used()

    def held_up(self) -> float:
        """Seconds that the process and what it started were ready to run and waited for a core, so far."""
        return self._process.held_up() if self._process is not None else 0.0

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Write one line."""
        self.write(data if data.endswith(b"\n") else data + b"\n")
        return None

    def break_off(self, exchange: int) -> None:
        """There are no exchanges."""

    def write(self, data: bytes) -> None:
        """Write at once what the pipe takes; a thread writes the rest."""
        with self._changed:
            if self._input_closed:
                return
            left = memoryview(data)
            if not self._writing:
                left = self._write_some(left)
            # The rest of a message must not be lost while there is nothing else: half of one would be left.
            if left and (not self._queue or self._queued + len(left) + EACH <= MAX_QUEUED):
                self._queued += len(left) + EACH
                self._queue.append(left)
                if not self._writing:
                    self._writing = True
                    threading.Thread(target=self._write_rest, daemon=True).start()

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next line or the end."""
        if not self._arrived:
            with self._reading:
                self._await(timeout)
        return self._arrived.popleft() if self._arrived else None

    def end_input(self) -> None:
        """Close stdin once what is queued has been written, at most `limits.shutdown` seconds from now."""
        with self._changed:
            self._changed.wait_for(lambda: not self._writing or self._input_closed, self._limits.shutdown)
            self._close_input()

    def close(self, hurry: bool = False) -> Ending:
        """Close stdin, wait, terminate, kill."""
        with self._closing:
            if self._ending is None:
                self._ending = self._end(hurry)
            return self._ending

    def unfinished(self) -> bytes:
        """The line that the server has begun."""
        return self._lines.rest()

    @property
    def process(self) -> ServerProcess | None:
        """The process, once it is started."""
        return self._process

    def stderr(self) -> str:
        """The tail of stderr."""
        return self._process.stderr() if self._process is not None else ""

    # -- inside

    def _end(self, hurry: bool) -> Ending:
        process = self._process
        if process is None:
            return Ending("closed")
        with self._changed:
            self._close_input()
        self._ends = True
        self._bell.ring()
        # What the server still says must be read, or it might not end.
        reader = threading.Thread(target=self._read_to_end, args=(process,), daemon=True)
        reader.start()
        patience = 0.0 if hurry else self._asked_to_go + self._limits.shutdown - time.monotonic()
        how, orphans = process.end(patience)
        reader.join(1.0)
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
        self._queued = 0
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
                if self._queue:
                    first = self._queue.popleft()
                    left = self._write_some(first)
                    self._queued -= len(first) - len(left)
                    if left:
                        self._queue.appendleft(left)
                    else:
                        self._queued -= EACH
                if not self._queue:
                    self._writing = False
                    self._changed.notify_all()
                    return
            # A short wait, so that closing is noticed even while the server does not read.
            writable.poll(50)

    def _await(self, timeout: float) -> None:
        """Read until a line or the end has arrived, at most `timeout` seconds. To be called with `_reading` held."""
        process = self._process
        if process is None:
            return
        deadline = time.monotonic() + timeout
        while not (self._arrived or self._over or self._ends):
            left = max(0.0, deadline - time.monotonic())
            # A launcher that leaves with 0 and lets another process serve is waited for, until the input is closed.
            gone = not process.running and (self._input_closed or process.popen.returncode != 0)
            patience = min(left, SETTLE) if gone else left
            ready = [fd for fd, _ in self._readable.poll(math.ceil(patience * 1000))]
            if self._stdout in ready:
                self._read(process)
                if not self._arrived and time.monotonic() >= deadline:
                    return  # a line without end must not keep us
            elif ready:
                self._bell.answer()
            elif gone and time.monotonic() - max(process.gone_at, self._heard_at) >= SETTLE:
                self._finish(f"{process.fate()}; something that it started still holds its stdout")
            elif left <= 0:
                return

    def _read(self, process: ServerProcess, keep: bool = True) -> int:
        """Take in what there is, or forget it; the number of bytes. None means that nobody holds stdout any more."""
        part = os.read(self._stdout, CHUNK)
        at = self._heard_at = time.monotonic()
        if keep:
            for line, omitted in self._lines.feed(part):
                self._arrived.append(Arrival("stdout", line, at, omitted=omitted))
        if not part:
            process.wait(self._limits.quiet)
            self._finish(process.fate() or "the server closed its stdout and still runs", *self._lines.end())
        return len(part)

    def _read_to_end(self, process: ServerProcess) -> None:
        """Read what a server says that is being ended, since it might not end otherwise; a flood is forgotten."""
        assert process.popen.stdout is not None
        readable = select.poll()
        readable.register(self._stdout, select.POLLIN)
        room = MAX_LATE
        # Nobody else closes the pipe, so that its number cannot come to stand for another one during a read.
        with self._reading, contextlib.suppress(OSError), process.popen.stdout:
            while not self._over:
                if readable.poll(50):
                    lines = len(self._arrived)
                    room -= self._read(process, keep=room > 0)
                    room -= EACH * max(0, len(self._arrived) - lines)

    def _finish(self, reason: str, partial: bytes = b"", omitted: int = 0) -> None:
        """Tell the end, once."""
        with self._changed:
            if not self._over:
                self._arrived.append(Ended(time.monotonic(), reason, partial=partial, omitted=omitted))
                self._over = True


class Bell:
    """Wakes a thread that waits in poll(). Made of sockets, which are closed when nobody can ring any more."""

    def __init__(self) -> None:
        self._rung, self._ringer = socket.socketpair()
        self._rung.setblocking(False)
        self._ringer.setblocking(False)

    def __del__(self) -> None:
        self._rung.close()
        self._ringer.close()

    @property
    def fileno(self) -> int:
        """Readable once the bell has been rung."""
        return self._rung.fileno()

    def ring(self) -> None:
        """May be called from any thread."""
        with contextlib.suppress(OSError):
            self._ringer.send(b"!")

    def answer(self) -> None:
        """Make it silent again."""
        with contextlib.suppress(OSError):
            self._rung.recv(64)


class Lines:
    """Cuts a stream of bytes into lines, keeping at most MAX_LINE bytes of each, and less where there is no room."""

    def __init__(self) -> None:
        self._begun = bytearray()
        self._omitted = 0
        self._taken = 0

    def __del__(self) -> None:
        if BYTES:  # at the end of the process names are gone
            BYTES.give(self._taken)

    def feed(self, part: bytes) -> list[tuple[bytes, int]]:
        """The lines that `part` completes, each with the number of bytes left out."""
        head, *rest = part.split(b"\n")
        if not rest:
            self._keep(head)
            return []
        if self._begun:
            self._keep(head)
            head, omitted = self._whole(), self._omitted
            self._omitted = 0
        else:
            omitted = 0
        self._keep(rest.pop())
        return [(head, omitted), *((line, 0) for line in rest)]

    def rest(self) -> bytes:
        """The line that was begun and not ended, at most its first 64 KiB."""
        return bytes(self._begun[:SMALL])

    def end(self) -> tuple[bytes, int]:
        """The line that was begun and not ended, and the number of bytes left out; nothing follows."""
        return self._whole(), self._omitted

    def _whole(self) -> bytes:
        """The line begun; the next one begins."""
        BYTES.give(self._taken)
        begun, self._begun, self._taken = self._begun, bytearray(), 0
        return kept(begun)

    def _keep(self, part: bytes) -> None:
        room = 0 if self._omitted else MAX_LINE - len(self._begun)
        size = len(self._begun) + min(len(part), room)
        if size > max(SMALL, self._taken):
            step = min(size + STEP, MAX_LINE)
            if BYTES.take(step - self._taken):
                self._taken = step
            else:
                room = max(0, max(SMALL, self._taken) - len(self._begun))
        self._begun += part[:room]
        self._omitted += max(0, len(part) - room)
