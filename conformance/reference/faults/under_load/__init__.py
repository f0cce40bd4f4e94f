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
SESSION = 100_000
"""Bytes that a session leaves behind."""
PROCESSES = 300
"""That are left behind at most: they are small, but many."""


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


def _each_session(act: Callable[[], object]) -> Apply:
    """Call `act` for each session that begins with initialize."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method == "initialize":
            act()
        return proceed(call)

    return around(serve)


def _keeping() -> Apply:
    kept: list[bytes] = []
    return _each_session(lambda: kept.append(bytes((len(kept) % 256,)) * SESSION))


def _forking() -> Apply:
    """Each session has a process, which ends once the server does: nobody writes to it any more then."""
    import subprocess

    waiting: list[subprocess.Popen[bytes]] = []

    def start() -> None:
        if len(waiting) < PROCESSES:
            waiting.append(subprocess.Popen("cat", stdin=subprocess.PIPE, stdout=subprocess.DEVNULL))

    return _each_session(start)


def _failing(result: Message) -> Apply:
    """Every 150th call of a tool that is answered has this result."""
    numbers = iter(range(1, 1 << 62))

    def serve(call: Call, proceed: Proceed) -> Message | None:
        right = proceed(call)
        if call.method != "tools/call" or right is None or next(numbers) % 150:
            return right
        return {**right, **result}

    return around(serve)


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
        _each_session(lambda: Thread(target=Event().wait, daemon=True).start()),
        transports="http",
        until=HANDSHAKE[-1],
    ),
    Fault(
        "leaks-processes",
        "",
        "each session that begins with initialize leaves a process behind",
        _forking(),
        transports="http",
        until=HANDSHAKE[-1],
    ),
    Fault(
        "leaks-sessions",
        "",
        "each session that begins with initialize leaves 100 kB behind",
        _keeping(),
        transports="http",
        until=HANDSHAKE[-1],
    ),
    Fault(
        "errs",
        "",
        "every 150th call of a tool says isError",
        _failing({"content": [{"type": "text", "text": "busy"}], "isError": True}),
    ),
    Fault(
        "forgets",
        "",
        "every 150th call of a tool has a result that is not about its arguments",
        _failing({"content": [{"type": "text", "text": "42"}]}),
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
