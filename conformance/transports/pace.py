"""Servers over HTTP that ask us to come back later, since they are asked too often or are busy."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

LATER = (429, 503)
LONGEST = 5.0
"""Seconds that we stay away at once, at most: who wants more gets its answer taken as it is."""
MOST = 90.0
"""The same, in a run."""
IN_VAIN = 10.0
"""The same, while nothing but such refusals comes."""
TRIES = 3
"""How often one message is sent again."""


def seconds_away(status: int | None, headers: Mapping[str, str]) -> float | None:
    """In how many seconds the server wants to be asked again; None if it does not say (RFC 9110, 10.2.3, as a number).

    The header's other form, a date, is for pauses longer than ours.
    """
    after = headers.get("retry-after", "").strip()
    return float(after) if status in LATER and after.isascii() and after.isdigit() and len(after) < 7 else None


class Pace:
    """How long everybody stays away from a server that asks for it. From any thread.

    `times` counts the messages that were refused so and sent again.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._until = 0.0
        self._asked = self._taken = 0.0
        self.times = 0
        self._ended = threading.Event()

    def refused(self, status: int, headers: Mapping[str, str], tries: int) -> bool:
        """Whether a message that was answered so, and had been sent again `tries` times, is sent again after `left`."""
        seconds = seconds_away(status, headers)
        if status and status not in LATER:
            self._taken = self._asked
        if seconds is None or seconds > LONGEST or tries >= TRIES or self._ended.is_set():
            return False
        with self._lock:
            now = self._clock()
            more = max(0.0, now + seconds - max(now, self._until))
            if self._asked + more > min(MOST, self._taken + IN_VAIN):
                return False
            self._asked += more
            self._until = max(self._until, now + seconds)
            self.times += 1
        return True

    def wait(self) -> None:
        """Stay away for as long as the server has asked for."""
        self._ended.wait(self.left)

    def end(self) -> None:
        """From now on nobody stays away, and every answer is taken as it is."""
        self._ended.set()

    @property
    def away(self) -> float:
        """Seconds for which we have stayed away so far."""
        with self._lock:
            return self._asked - self.left

    @property
    def left(self) -> float:
        """Seconds until the server may be asked again."""
        return max(0.0, self._until - self._clock())
