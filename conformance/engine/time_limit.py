"""`--time-limit`: a run that takes longer ends in order."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAYING = 0.75
"""Share of the time after which no more cases are begun: what is left is for confirmation."""


def out_of_time(limit: TimeLimit) -> str:
    """Why a rule could not be decided."""
    return f"out of time: {limit.reason}"


class TimeLimit:
    """`seconds` are counted from `begin` on; without a limit they are infinite. Its end is that of `within`, too."""

    def __init__(self, seconds: float = math.inf, within: TimeLimit | None = None) -> None:
        self.seconds = seconds
        self._within = within
        self._reached = False
        self._began = math.inf

    @property
    def reached(self) -> bool:
        """Whether something was left out for it."""
        return self._reached or (self._within is not None and self._within.reached)

    def begin(self) -> None:
        """The time runs from now on. A second call changes nothing: several servers share one limit."""
        self._began = min(self._began, time.monotonic())
        if self._within is not None:
            self._within.begin()

    def left(self) -> float:
        """Seconds, at least 0."""
        began = time.monotonic() if self._began == math.inf else self._began
        mine = max(0.0, began + self.seconds - time.monotonic())
        return mine if self._within is None else min(mine, self._within.left())

    def forbids(self) -> bool:
        """Whether no more cases are to be begun: who asks leaves one out."""
        if self._within is not None and self._within.forbids():
            return True
        near = self.left() < (1 - PLAYING) * self.seconds
        self._reached |= near
        return near

    @property
    def reason(self) -> str:
        """Why not everything was tested."""
        if self._within is not None and self._within.reached:
            return self._within.reason
        return f"the time limit of {self.seconds:g} s was reached"

    def _over(self) -> None:
        if self._within is not None and self._within.left() == 0:
            self._within._over()
        else:
            self._reached = True

    @contextmanager
    def ending(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` in a thread of its own when the time is over, unless the context has ended before."""
        if self.left() == math.inf:
            yield
            return

        def over() -> None:
            self._over()
            stop()

        alarm = threading.Timer(self.left(), over)
        alarm.daemon = True
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()
