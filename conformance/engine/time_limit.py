"""`--time-limit`: a run that takes longer ends in order."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PLAYING = 0.75
"""Share of the time after which no more cases are begun: what is left is for confirmation."""


class TimeLimit:
    """`seconds` are counted from `begin` on; without a limit they are infinite.

    `reached` says that something was left out for it.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        self.seconds = seconds
        self.reached = False
        self._began = math.inf

    def begin(self) -> None:
        """The time runs from now on. A second call changes nothing: several servers share one limit."""
        self._began = min(self._began, time.monotonic())

    def left(self) -> float:
        """Seconds, at least 0."""
        began = time.monotonic() if self._began == math.inf else self._began
        return max(0.0, began + self.seconds - time.monotonic())

    def forbids(self) -> bool:
        """Whether no more cases are to be begun: who asks leaves one out."""
        near = self.left() < (1 - PLAYING) * self.seconds
        self.reached |= near
        return near

    @property
    def reason(self) -> str:
        """Why not everything was tested."""
        return f"the time limit of {self.seconds:g} s was reached"

    @contextmanager
    def ending(self, stop: Callable[[], None]) -> Iterator[None]:
        """Call `stop` in a thread of its own when the time is over, unless the context has ended before."""
        if self.seconds == math.inf:
            yield
            return

        def over() -> None:
            self.reached = True
            stop()

        alarm = threading.Timer(self.left(), over)
        alarm.daemon = True
        alarm.start()
        try:
            yield
        finally:
            alarm.cancel()
