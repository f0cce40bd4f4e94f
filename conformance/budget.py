"""How much of what targets say is kept at once, in all sessions together; what is beyond that is told."""

from __future__ import annotations

import contextlib
import ctypes
import re
import sys
import threading

from conformance.model import Frame

MB = 1_000_000
MOST_BYTES = 16 * 1024 * 1024
"""Bytes of one message that are kept."""


ONE_AT_A_TIME = threading.RLock()
"""Held by whoever deals with something huge: what is made of it meanwhile takes much more than it."""


class Budget:
    """Bytes that may be in use at once. Safe to be used by several threads."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._used = 0
        # What is given back by a destructor may interrupt who takes, in the same thread.
        self._room = threading.Condition(threading.RLock())

    @property
    def used(self) -> int:
        """Bytes that are taken now."""
        return self._used

    def take(self, size: int, patience: float = 0.0) -> bool:
        """Whether there is room for `size` bytes within `patience` seconds; they are taken until given back."""
        with self._room:
            if self._used + size > self.most and not (
                patience and self._room.wait_for(lambda: self._fits(size), patience)
            ):
                return False
            self._used += size
            return True

    def enter(self, size: int) -> None:
        """Take `size` bytes, whether there is room or not."""
        with self._room:
            self._used += size

    def give(self, size: int) -> None:
        """Give back what was taken."""
        with self._room:
            self._used -= size
            self._room.notify_all()

    def _fits(self, size: int) -> bool:
        return self._used + size <= self.most


class Bulk(bytes):
    """Many bytes of a target, which count for as long as somebody has them."""

    __slots__ = ()

    def __del__(self) -> None:
        if BYTES:  # at the end of the process names are gone
            BYTES.give(len(self))

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(memoryview(self)),)


SMALL = 64 * 1024
"""Bytes that are not counted."""


def kept(data: bytearray) -> bytes:
    """What was in `data`, which is empty then; counted if it is much."""
    whole = bytes(data)
    data.clear()  # not to be there twice
    if len(whole) < SMALL:
        return whole
    BYTES.enter(len(whole))
    return Bulk(whole)


KEPT_BYTES = 64 * 1024
"""A longer frame is kept by its beginning only."""
LARGE = 16 * 1024
"""Bytes from which on a message counts, and is kept for as long as the case needs it, its frame without it."""


def brief(frame: Frame) -> Frame:
    """The frame, or its beginning if it is long; what it says is left out if that is much."""
    return frame if len(frame.data) < LARGE else frame._replace(data=frame.data[:KEPT_BYTES], message=None)


def curtailed(frame: Frame) -> Frame:
    """The frame with all that it says, but with the beginning only of the bytes that said it, if they are many."""
    return frame if len(frame.data) <= KEPT_BYTES else frame._replace(data=frame.data[:KEPT_BYTES])


EACH, EACH_PART = 500, 200
"""Bytes of our memory that a frame takes, and each value in its message, beside their text."""


def parts_of(data: bytes) -> int:
    """How many values JSON has, or more: commas and brackets in strings are counted too."""
    return data.count(b",") + data.count(b"{") + data.count(b"[")


# In long matches, so that what is put together without them is made of few pieces; and of text, since to join bytes
# takes 80 more for each piece.
_NO_PARTS = re.compile(r'(?:[^,{\["]++|"(?:[^"\\]++|\\.)*+")++', re.DOTALL)
_QUICKLY_COUNTED = 4 * MB


def exact_parts_of(data: bytes) -> int:
    """As `parts_of`, strings left out, which takes as long as reading the JSON; of what is very long the same."""
    if len(data) > _QUICKLY_COUNTED:
        return parts_of(data)
    return parts_of(_NO_PARTS.sub("", data.decode("latin-1")).encode("latin-1"))


def cost(frame: Frame) -> int:
    """Bytes of our memory that a frame takes, roughly."""
    data = frame.data
    if frame.message is None:
        return EACH + len(data)
    return EACH + 2 * len(data) + EACH_PART * parts_of(data)


_MMAP_THRESHOLD, _ARENA_MAX = -3, -8
"""Of mallopt in glibc."""


def give_back_early() -> None:
    """Have the C library give memory back that is not used any more; to be called before there are threads.

    glibc has an arena for each thread, and once it has freed a large block it keeps others of that size for later.
    Answers of 3 MB in six sessions take 190 MB instead of 290 MB with this.
    """
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):  # another C library
            mallopt = ctypes.CDLL(None).mallopt
            mallopt(_MMAP_THRESHOLD, 256 * 1024)
            mallopt(_ARENA_MAX, 2)


BYTES = Budget(48 * MB)
"""Messages as they came over the wire, begun or whole, those of less than 64 KiB left out."""
MESSAGES = Budget(64 * MB)
"""The same as objects of Python, those that are small left out."""
HISTORIES = Budget(16 * MB)
"""What was said in sessions that are over."""
