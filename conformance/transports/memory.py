"""A transport without a process, for tests: a function answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from conformance.transports import Arrival, Ended, Ending, Inbox


class MemoryTransport:
    """See `conformance.transports.Transport`. `handler` gets each line and gives the lines to answer with."""

    name = "memory"

    def __init__(self, handler: Callable[[bytes], Iterable[bytes]]) -> None:
        self._handler = handler
        self._inbox = Inbox()
        self._buffer = b""
        self._over = False

    def start(self) -> None:
        """Nothing is to be started."""

    def say(self, line: bytes) -> None:
        """Let the target say something unasked."""
        self._inbox.put(Arrival("stdout", line, time.monotonic()), len(line))

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Hand one line to the handler."""
        self.write(data if data.endswith(b"\n") else data + b"\n")
        return None

    def write(self, data: bytes) -> None:
        """Hand each line that `data` completes to the handler."""
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            for answer in self._handler(line):
                self.say(answer)

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next line or the end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """The target is done."""
        if not self._over:
            self._over = True
            self._inbox.put(Ended(time.monotonic(), "the server exited with code 0"), 0)

    def close(self) -> Ending:
        """Always by itself."""
        self.end_input()
        return Ending("closed", 0)

    def stderr(self) -> str:
        """There is none."""
        return ""
