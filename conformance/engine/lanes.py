"""The jobs of a run: its units, and the help that one gets whose cases take long."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

import psutil

from conformance.catalogue.cases import Case
from conformance.engine import events
from conformance.engine.stage import Stage
from conformance.engine.units import State, Workshop

SPARE = 0.3
"""The part of the machine that must have been idle so far: where it has no time to spare, it is not the server that
takes long, and another session would not help."""
WORTH = 3.0
"""Seconds that a lane must still take before another session is opened to play some of its cases, and"""
STARTS = 3
"""that many times as long as the target takes to start."""


class Lane:
    """Cases that are played one after another: by one session or, if each can have any, by several. From any thread."""

    def __init__(self, state: State, cases: tuple[Case, ...], clock: Callable[[], float] = time.monotonic) -> None:
        self.state = state
        self._clock = clock
        self._lock = threading.Lock()
        self._waiting = deque(cases)
        # Over stdio each session has a server of its own: none changes what another sees.
        alone = state.transport == "stdio"
        self._divisible = alone or all(case.shares and not case.client for case in cases)
        self._players = 0
        self._ended = 0
        self._seconds = 0.0

    def cases(self) -> Iterator[Case]:
        """In their order, those that nobody else has taken meanwhile."""
        with self._lock:
            self._players += 1
        while (case := self._next()) is not None:
            began = self._clock()
            yield case
            with self._lock:
                # The first one also opens the session and finds out what those after it go by.
                self._seconds += self._clock() - began if self._ended else 0.0
                self._ended += 1

    def _next(self) -> Case | None:
        with self._lock:
            return self._waiting.popleft() if self._waiting else None

    @property
    def left(self) -> float:
        """Seconds that what is left of it takes, 0 if another session would not shorten that by more than it costs."""
        with self._lock:
            if not (self._divisible and self._ended > 1 and len(self._waiting) > self._players):
                return 0.0
            left = len(self._waiting) * self._seconds / (self._ended - 1) / self._players
        return left if left > WORTH + STARTS * self.state.startup else 0.0


class Lanes:
    """Makes the jobs of a run. Who has ended one helps with a slow lane, once no unit waits to be begun."""

    def __init__(self, workshop: Workshop, put: Callable[[events.Event], None]) -> None:
        self._workshop = workshop
        self._put = put
        self._lock = threading.Lock()
        self._lanes: list[Lane] = []
        self._times = psutil.cpu_times()
        self._begun = 0

    def job(self, state: State, unit: tuple[Case, ...], stage: Stage | None) -> Callable[[], None]:
        """A job that plays `unit`, on `stage` if that is open. All are made before the first one is called."""
        lane = Lane(state, unit)
        self._lanes.append(lane)

        def job() -> None:
            with self._lock:
                self._begun += 1
            self._play(lane, stage)
            while (other := self._to_help()) is not None:
                self._play(other, None)

        return job

    def _to_help(self) -> Lane | None:
        with self._lock:
            waiting = self._begun < len(self._lanes)
        if waiting or self._idle() < SPARE:
            return None
        slowest = max(self._lanes, key=lambda lane: lane.left)
        return slowest if slowest.left else None

    def _idle(self) -> float:
        """The part of the time of all cores that nobody has used since all jobs were made."""
        times = psutil.cpu_times()
        passed = sum(times) - sum(self._times)
        return (times.idle - self._times.idle) / passed if passed > 0 else 0.0

    def _play(self, lane: Lane, stage: Stage | None) -> None:
        state = lane.state

        def tell(case: str, outcome: str, seconds: float) -> None:
            self._put(events.CaseEnded(state.revision.date, state.transport, case, outcome, seconds))

        self._workshop.play(state, lane.cases(), tell, stage)
