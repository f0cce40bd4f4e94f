"""Server-sent events, parsed by their own rules (HTML Living Standard, "Server-sent events")."""

from __future__ import annotations

MAX_DATA = 16 * 1024 * 1024
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

    def _keep(self, part: bytes) -> None:
        room = MAX_DATA - len(self._line)
        self._line += part[:room]
        self._long_by += max(0, len(part) - room)

    def _end_line(self) -> tuple[bytes, int] | None:
        """The event that the line just ended dispatches, if it is blank and there is data."""
        line, long_by = bytes(self._line), self._long_by
        self._line, self._long_by = bytearray(), 0
        if self._first:
            line = line.removeprefix(BOM)
            self._first = False
        if not line:
            event = (bytes(self._data), self._omitted)
            self._data, self._omitted, self._joint = bytearray(), 0, b""
            return event if event[0] else None
        name, _, value = line.partition(b":")
        if name == b"data":
            value = self._joint + value.removeprefix(b" ")
            self._joint = b"\n"
            kept = value[: MAX_DATA - len(self._data)]
            self._data += kept
            self._omitted += long_by + len(value) - len(kept)
        return None
