"""Server-sent events, parsed by their own rules (HTML Living Standard, "Server-sent events")."""

from __future__ import annotations

from conformance.budget import MOST_BYTES, kept

MAX_DATA = MOST_BYTES
BOM = b"\xef\xbb\xbf"


class EventStream:
    """Cuts a stream of bytes into the data of events.

    CR, LF and CRLF end lines, also across the borders of chunks; several `data` lines are joined by a newline.
    Comments, `id`, `retry`, `event`, events without data and an event that the stream ends in the middle of are passed
    over. Of an event's data 16 MiB are kept.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._long_by = 0
        self._data = bytearray()
        self._omitted = 0
        self._joint = b""
        self._first = True
        self._after_cr = False

    def feed(self, part: bytes) -> list[tuple[bytes, int]]:
        """The data of the events that `part` completes, each with the number of bytes left out of it."""
        if self._after_cr and part:
            part = part.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr |= part.endswith(b"\r")
        *ends, last = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
        events = []
        for end in ends:
            self._keep(end)
            if (event := self._end_line()) is not None:
                events.append(event)
        self._keep(last)
        return events

    @property
    def held(self) -> int:
        """Bytes that are kept of what is not over."""
        return len(self._line) + len(self._data)

    def _keep(self, part: bytes) -> None:
        room = MAX_DATA - len(self._line)
        self._line += part[:room]
        self._long_by += max(0, len(part) - room)

    def _end_line(self) -> tuple[bytes, int] | None:
        """The event that the line just ended dispatches, if it is blank and there is data."""
        line, long_by = self._line, self._long_by
        self._line, self._long_by = bytearray(), 0
        if self._first:
            if line.startswith(BOM):
                del line[: len(BOM)]
            self._first = False
        if not line:
            data, omitted = self._data, self._omitted
            self._data, self._omitted, self._joint = bytearray(), 0, b""
            return (kept(data), omitted) if data else None
        if line == b"data" or line.startswith(b"data:"):
            # It may be long: not to be copied more often than needed.
            del line[: 6 if line[5:6] == b" " else 5]
            before, length = len(self._data), len(self._joint) + len(line)
            if length == len(line) and not before:
                self._data = line
            else:
                self._data += self._joint
                self._data += line
                del self._data[MAX_DATA:]
            self._joint = b"\n"
            self._omitted += long_by + before + length - len(self._data)
        return None
