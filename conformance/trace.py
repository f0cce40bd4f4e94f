"""The trace: the frames of a session, in order of arrival, bounded in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from conformance.ledger import brief
from conformance.model import Frame

MAX_BYTES = 16 * 1024 * 1024
"""Of our memory, roughly, for the frames of one session."""
MAX_FRAMES = 20_000
EACH, PARSED = 600, 6
"""Bytes that a frame costs, and how many times the length of its data, most of them for the message in it."""


class Trace:
    """Iterates over the frames kept; `position` is the number of the next one, `most` how many are kept."""

    def __init__(self) -> None:
        self.position = 0
        self.most = MAX_FRAMES
        self._frames: deque[Frame] = deque()
        self._bytes = 0

    def __iter__(self) -> Iterator[Frame]:
        return iter(self._frames)

    def since(self, number: int) -> Iterator[Frame]:
        """The frames kept from frame `number` on."""
        skipped = max(0, len(self._frames) - (self.position - number))
        return (frame for frame in islice(self._frames, skipped, None) if frame.number >= number)

    def keep(self, frame: Frame) -> None:
        """Add a frame; the oldest ones make room."""
        self.position += 1
        frame = brief(frame)
        self._frames.append(frame)
        self._bytes += _cost(frame)
        while self._bytes > MAX_BYTES or len(self._frames) > self.most:
            self._bytes -= _cost(self._frames.popleft())


def _cost(frame: Frame) -> int:
    return EACH + len(frame.data) * (1 if frame.message is None else PARSED)
