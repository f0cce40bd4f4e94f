"""Server-sent events, parsed by their own rules (HTML Living Standard, "Server-sent events")."""

from __future__ import annotations


class EventStream:
    """Cuts a stream of bytes into the data of events.

    Comments, `id`, `retry`, `event` and events without data are passed over; CR, LF and CRLF end lines, also across the
    borders of chunks; several `data` lines are joined by a newline.
    """

    def __init__(self) -> None:
        self._buffer = b""
        self._data: list[bytes] = []
        self._begun = False
        self._after_cr = False

    def feed(self, part: bytes) -> list[bytes]:
        """The data of the events that `part` completes; events with empty data are left out."""
        if self._after_cr and part.startswith(b"\n"):
            part = part[1:]
        if part:
            self._after_cr = part.endswith(b"\r")
        text = (self._buffer + part).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if not self._begun and len(text) >= 3:
            text = text.removeprefix(b"\xef\xbb\xbf")
            self._begun = True
        *lines, self._buffer = text.split(b"\n")
        return [data for line in lines if (data := self._line(line))]

    def _line(self, line: bytes) -> bytes:
        """The data of the event that the line ends, if it is the blank one."""
        if not line:
            data, self._data = b"\n".join(self._data), []
            return data
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        return b""
