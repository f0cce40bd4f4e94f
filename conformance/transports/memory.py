"""A transport without a process, for tests: a function answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from conformance.transports import Arrival, Ended, Ending, Inbox, Used


class MemoryTransport:
    """See `conformance.transports.Transport`. `handler` gets each line and gives fewer than 20 000 lines."""

    name = "memory"
    frame = "line"
    has_headers = False
    single_stream = True
    ours = True
    away = 0.0
    host = ""
    posts_apart = False
    url = ""
    any_bytes = True
    process_per_session = False

    def __init__(self, handler: Callable[[bytes], Iterable[bytes]]) -> None:
        self.began = time.monotonic()
        self._handler = handler
        self._inbox = Inbox()
        self._buffer = b""
        self._over = False
        self._died = False

    def start(self) -> None:
        """Nothing is to be started."""

    def say(self, line: bytes) -> None:
        """Let the target say something unasked, from any thread."""
        if not self._over:
            self._inbox.put(Arrival("stdout", line, time.monotonic()), len(line))

    def die(self, reason: str) -> None:
        """Let the target end before it is asked to."""
        self._died |= not self._over
        self._finish(reason)

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Hand one line to the handler."""
        self.write(data if data.endswith(b"\n") else data + b"\n")
        return None

    def break_off(self, exchange: int) -> None:
        """There are no exchanges."""

    def write(self, data: bytes) -> None:
        """Hand each line that `data` completes to the handler."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            if not self._over:
                for answer in self._handler(line):
                    self.say(answer)

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next line or the end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """The target is done."""
        self._finish("the server exited with code 0")

    def close(self, hurry: bool = False) -> Ending:
        """Always by itself, unless it has died before."""
        self.end_input()
        return Ending("died") if self._died else Ending("closed", 0)

    def unfinished(self) -> bytes:
        """There are no lines."""
        return b""

    def listens_at(self) -> tuple[str, ...]:
        """It has no URL."""
        return ()

    def used(self) -> Used:
        """There is no process."""
        return Used()

    def held_up(self) -> float:
        """There is no process."""
        return 0.0

    def stderr(self) -> str:
        """There is none."""
        return ""

    def _finish(self, reason: str) -> None:
        if not self._over:
            self._over = True
            self._inbox.put(Ended(time.monotonic(), reason))
