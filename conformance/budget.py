"""How much of what targets say is kept at once, in all sessions together; what is beyond that is told."""

from __future__ import annotations

import threading

MB = 1_000_000


class Budget:
    """Bytes that may be in use at once. Safe to be used by several threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._used = 0
        # What is given back by a destructor may interrupt who takes, in the same thread.
        self._lock = threading.RLock()

    @property
    def used(self) -> int:
        """Bytes that are taken now."""
        return self._used

    def take(self, size: int) -> bool:
        """Whether there was room for `size` bytes, which are now taken until they are given back."""
        with self._lock:
            if self._used + size > self.most:
                return False
            self._used += size
            return True

    def give(self, size: int) -> None:
        """Give back what was taken."""
        with self._lock:
            self._used -= size


BYTES = Budget(48 * MB)
"""Messages as they came over the wire, begun or whole, those of less than 64 KiB left out."""
MESSAGES = Budget(64 * MB)
"""The same as objects of Python, those that are small left out."""
HISTORIES = Budget(16 * MB)
"""What was said in sessions that are over."""
