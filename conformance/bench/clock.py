"""How much time a bench has left: `--duration` bounds all that comes once the server has started."""

from __future__ import annotations

import time
from dataclasses import replace

from conformance.model import Limits

GRACE = 5.0
"""Seconds after the time is over by which everything has ended and the report is there, on a machine that is not
overloaded."""
CLOSING = 1.0
"""Seconds of them in which a server may end by itself, and so many again after a SIGTERM."""
STUCK = 1.0
"""Seconds after the time is over from which on, with the grace of `Supervision`, what has not ended is killed."""
LEAST = 0.5
"""Seconds that an answer is waited for at least, if anything is asked at all."""
RAN_OUT = "time ran out: a longer --duration measures it"
"""Why something was not measured."""
STARTS = 2
"""How often the time for a start may pass until a session is open: a server is asked in several ways."""
ENDS = 10.0
"""Seconds, besides, in which servers end that were asked in vain."""


class Stopped(Exception):
    """The run is to end at once: it was interrupted, or did not end in time."""


class Clock:
    """Counts `start` seconds from now on, in which sessions open, and `seconds` once the measurement begins.

    `end` is a `time.monotonic()` after which nothing is waited for any more.
    """

    def __init__(self, start: float, seconds: float) -> None:
        self.created = time.monotonic()
        self.seconds = seconds
        self.end = self.created + start
        self.begun = False
        self.stopped = False

    @property
    def left(self) -> float:
        """Seconds, at least 0."""
        return 0.0 if self.stopped else max(0.0, self.end - time.monotonic())

    def begin(self) -> None:
        """The servers have started, and the time of the measurement runs from now on."""
        self.check()
        self.begun = True
        self.end = time.monotonic() + self.seconds

    def stop(self) -> None:
        """Let nothing more be measured. Called from another thread."""
        self.stopped = True
        self.end = self.created

    def check(self) -> None:
        """Raises Stopped."""
        if self.stopped:
            raise Stopped

    def within(self, limits: Limits) -> Limits:
        """`limits` that let no wait go on when the time is over, beside that for the end of a server."""
        left = self.left
        start = min(limits.start, max(LEAST, left))
        if not self.begun:
            return replace(limits, start=start)
        return replace(
            limits,
            start=start,
            answer=min(limits.answer, max(LEAST, left / 2)),
            shutdown=min(limits.shutdown, left + CLOSING),
        )
