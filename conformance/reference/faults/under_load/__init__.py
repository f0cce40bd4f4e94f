"""Defects that show only under load, and break no rule: for `mcp-conform bench`, which finds them by what it measures.

They are no part of the table of faults, which the kill matrix goes through: no requirement is broken.
"""

from __future__ import annotations

import time
from collections import deque
from threading import Condition, Event, Lock, Thread

from conformance.reference.call import Call
from conformance.reference.fault import HANDSHAKE, Fault, around, setting

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server
    from conformance.reference.wire import Message

WAIT = 0.005
"""Seconds that a request waits, as for a database."""
STALL = 0.06
MOST = 32


def _serialised() -> Apply:
    one_at_a_time = Lock()

    def serve(call: Call, proceed: Proceed) -> Message | None:
        with one_at_a_time:
            time.sleep(WAIT)
            return proceed(call)

    return around(serve)


def _before_each(act: Callable[[int], object]) -> Apply:
    """Call `act` with the number of the request, before it is served."""
    numbers = iter(range(1, 1 << 62))

    def serve(call: Call, proceed: Proceed) -> Message | None:
        act(next(numbers))
        return proceed(call)

    return around(serve)


def _leaking() -> Apply:
    kept: list[bytes] = []
    return _before_each(lambda number: kept.append(bytes((number % 256,)) * 1024))


def _slowing() -> Apply:
    """Goes through a history of all requests that nobody needs."""
    history: list[str] = []

    def search(number: int) -> None:
        history.append(str(number))
        for _ in range(3):
            sum(each.endswith("never") for each in history)

    return _before_each(search)


def _stalling() -> Apply:
    return _before_each(lambda number: None if number % 100 else time.sleep(STALL))


def _threaded(server: Server) -> None:
    """Each session has a thread that waits for nothing."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method == "initialize":
            Thread(target=Event().wait, daemon=True).start()
        return proceed(call)

    around(serve)(server)


def _bounded(stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream, of which no more than MOST wait at a time: the others are lost."""
    waiting: deque[bytes | None] = deque()
    changed = Condition()

    def read(lines: Iterable[bytes]) -> None:
        for line in lines:
            with changed:
                if len(waiting) < MOST:
                    waiting.append(line)
                    changed.notify()
        with changed:
            waiting.append(None)
            changed.notify()

    Thread(target=read, args=(stream,), daemon=True).start()
    while True:
        with changed:
            while not waiting:
                changed.wait()
            line = waiting.popleft()
        if line is None:
            return
        yield line


FAULTS = (
    Fault("serialises", "", "requests wait 5 ms each, one after another", _serialised()),
    Fault("leaks-memory", "", "each request leaves 1 kB behind", _leaking()),
    Fault(
        "leaks-threads",
        "",
        "each session that begins with initialize leaves a thread behind",
        _threaded,
        transports="http",
        until=HANDSHAKE[-1],
    ),
    Fault("slows", "", "each request takes longer than the one before", _slowing()),
    Fault("stalls", "", "every 100th request takes 60 ms more", _stalling()),
    Fault(
        "drops", "", "of requests that wait, those beyond 32 are lost", setting("lines", _bounded), transports="stdio"
    ),
)


def apply(server: Server, names: Iterable[str]) -> None:
    """Give the server the named faults. Raises KeyError with the first name that is none."""
    known = {fault.name: fault for fault in FAULTS}
    for name in names:
        known[name].apply(server)
