"""Servers started one after another, some of them before anybody asks for one; knows nothing of processes."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, Protocol, TypeVar

from conformance.transports import StartError

AT_ONCE = os.cpu_count() or 1
"""How many servers may be starting at the same time: a start is work, and more of them only hold each other up."""

GIVE_WAY = 0.05
"""Seconds after which a server is started ahead, if somebody waited for one just now."""


class Startable(Protocol):
    """What can be started, and ended."""

    def start(self) -> None:
        """Raises StartError."""

    def close(self, *, hurry: bool = False) -> object:
        """End it, in a `hurry` without waiting for it to go by itself."""


S = TypeVar("S", bound=Startable)


class Starts(Generic[S]):
    """Starts what `make` makes, at most `spares` of them ahead, from any thread.

    `expect(n)` says how many more will be taken, `hoard` that more may be. Whoever waits for one comes before those
    that are started ahead. `started` counts them all.
    """

    def __init__(self, make: Callable[[], S], spares: int, at_once: int = AT_ONCE) -> None:
        self.started = 0
        self._make = make
        self._spares = spares
        self._at_once = at_once
        self._turn = threading.Condition()
        self._ready: deque[S] = deque()
        self._wanted = 0
        self._hoarding = False
        self._coming = 0
        self._waiting: deque[object] = deque()
        self._work = 0.0
        self._begun: deque[float] = deque(maxlen=at_once)
        self._alarm: threading.Timer | None = None
        self._closed = False

    @property
    def waiting(self) -> int:
        """How many wait for one."""
        return len(self._waiting)

    def adapt(self, work: float) -> None:
        """A start takes `work` seconds of computing: no more than `at_once` begin within that time from now on."""
        with self._turn:
            self._work = work
            self._turn.notify_all()

    def begin_with(self, started: S) -> None:
        """Take over one that was started already."""
        with self._turn:
            self._ready.append(started)
            self.started += 1
            self._turn.notify_all()

    def expect(self, number: int) -> None:
        """So many more will be taken, so that they may be started ahead."""
        with self._turn:
            self._wanted += number
        self._top_up()

    def hoard(self) -> None:
        """A start takes so long that as many as allowed are made ahead from now on, whether they are needed or not."""
        with self._turn:
            self._hoarding = True
        self._top_up()

    def take(self, urgent: bool = False) -> S:
        """One that is started. What is `urgent` comes before what others wait for. Raises StartError."""
        with self._turn:
            self._wanted = max(0, self._wanted - 1)
            self._await_turn(urgent)
            taken = self._ready.popleft() if self._ready else None
            if taken is None:
                self._begun.append(time.monotonic())
        if taken is None:
            taken = self._make()
            taken.start()
            with self._turn:
                self.started += 1
        self._top_up()
        return taken

    def refuse(self) -> None:
        """Start nothing from now on: whoever waits gets a StartError."""
        with self._turn:
            self._closed = True
            self._turn.notify_all()
            if self._alarm is not None:
                self._alarm.cancel()

    def leave(self) -> list[S]:
        """Those that nobody has taken, which are the caller's from now on."""
        with self._turn:
            left = list(self._ready)
            self._ready.clear()
        return left

    # -- inside

    def _await_turn(self, urgent: bool) -> None:
        """Wait until one is ready or may be started, one after another. To be called with the lock held."""
        me = object()
        if urgent:
            self._waiting.appendleft(me)
        else:
            self._waiting.append(me)
        while not self._closed and (self._waiting[0] is not me or not (self._ready or self._until_turn() <= 0)):
            self._turn.wait(self._until_turn() if self._waiting[0] is me else None)
        self._waiting.remove(me)
        self._turn.notify_all()
        if self._closed:
            raise StartError("the run was stopped")

    def _until_turn(self) -> float:
        """Seconds until one more may start. To be called with the lock held."""
        if len(self._begun) < self._at_once:
            return 0.0
        return self._begun[0] + self._work - time.monotonic()

    def _top_up(self) -> None:
        """Start ahead what will be needed, now or when it is its turn."""
        while True:
            with self._turn:
                wanted = self._spares if self._hoarding else min(self._spares, self._wanted)
                enough = len(self._ready) + self._coming >= wanted
                if self._closed or enough or self._alarm is not None:
                    return
                if (left := self._until_turn()) > 0 or self._waiting:
                    self._alarm = threading.Timer(max(left, GIVE_WAY), self._again)
                    self._alarm.daemon = True
                    self._alarm.start()
                    return
                self._coming += 1
                self._begun.append(time.monotonic())
            if not self._start_spare():
                return

    def _again(self) -> None:
        with self._turn:
            self._alarm = None
        self._top_up()

    def _start_spare(self) -> bool:
        """Whether it could be started; if not, whoever needs it will be told."""
        spare = self._make()
        try:
            spare.start()
        except StartError:
            return False
        finally:
            with self._turn:
                self._coming -= 1
        with self._turn:
            self.started += 1
            if not self._closed:
                self._ready.append(spare)
                self._turn.notify_all()
                return True
        spare.close(hurry=True)
        return False
