"""The trace: the frames of a session, in order of arrival, bounded in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from conformance.budget import brief, cost
from conformance.model import Frame

MAX_BYTES = 8 * 1024 * 1024
"""Of our memory, roughly, for the frames of one session."""
MAX_FRAMES = 20_000


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
        self._bytes += cost(frame)
        while self._bytes > MAX_BYTES or len(self._frames) > self.most:
            self._bytes -= cost(self._frames.popleft())
