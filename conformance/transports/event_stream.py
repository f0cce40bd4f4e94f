"""Server-sent events, parsed by their own rules (HTML Living Standard, "Server-sent events")."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

from conformance.budget import MOST_BYTES, kept

STREAM = "text/event-stream"
MAX_DATA = MOST_BYTES
BOM = b"\xef\xbb\xbf"
MAX_FIELD = 1000
"""Characters of an id that are kept."""
OPENING = re.compile(rb"\s*[{\[]")
"""How a line begins that is JSON."""
NO_FIELDS: Mapping[str, str] = MappingProxyType({})


def is_stream(headers: Mapping[str, str]) -> bool:
    """Whether an answer with these headers is a stream of events."""
    return media_type(headers) == STREAM


def media_type(headers: Mapping[str, str]) -> str:
    """The media type of an answer with these headers, in lower case and without parameters."""
    return headers.get("content-type", "").partition(";")[0].strip().lower()


MESSAGE = ("", "message")
"""Types of events that carry messages; what has no type is a `message` (HTML, "Server-sent events")."""


class Event(NamedTuple):
    """One event: its data, how many bytes were left out of that, the fields `id` and `retry` if it has them, its type.

    An event that does not say its type has the type "".
    """

    data: bytes
    omitted: int
    fields: Mapping[str, str] = NO_FIELDS
    kind: str = ""

    @property
    def is_message(self) -> bool:
        """Whether it carries a message. One in an event of another type is one all the same: so the session goes on."""
        return bool(self.data) and (self.kind in MESSAGE or b'"jsonrpc"' in self.data)


class EventStream:
    """Cuts a stream of bytes into events.

    CR, LF and CRLF end lines, also across the borders of chunks; several `data` lines are joined by a newline.
    Comments, events that have neither data nor a field that is kept, and an event that the stream ends in the
    middle of are passed over. Of an event's data 16 MiB are kept.
    """

    def __init__(self) -> None:
        self._line = bytearray()
        self._long_by = 0
        self._data = bytearray()
        self._omitted = 0
        self._joint = b""
        self._first = True
        self._after_cr = False
        self._fields: dict[str, str] = {}
        self._kind = ""
        self._unframed = b""

    def feed(self, part: bytes) -> list[tuple[bytes, int]]:
        """The data of the events that `part` completes, each with the number of bytes left out of it."""
        return [(event.data, event.omitted) for event in self.events(part) if event.data]

    def events(self, part: bytes) -> list[Event]:
        """The events that `part` completes."""
        if self._after_cr and part:
            part = part.removeprefix(b"\n")
            self._after_cr = False
        self._after_cr |= part.endswith(b"\r")
        if b"\r" in part:  # to look for two bytes takes much longer
            part = part.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *ends, last = part.split(b"\n")
        events = []
        for end in ends:
            self._keep(end)
            if (event := self._end_line()) is not None:
                events.append(event)
        self._keep(last)
        return events

    @property
    def unframed(self) -> bytes:
        """The beginning of a message that stands in the stream and is no event, if there is one."""
        return self._unframed or (bytes(self._line[:MAX_FIELD]) if _is_bare(self._line) else b"")

    @property
    def held(self) -> int:
        """Bytes that are kept of what is not over."""
        return len(self._line) + len(self._data)

    def _keep(self, part: bytes) -> None:
        room = MAX_DATA - len(self._line)
        self._line += part[:room]
        self._long_by += max(0, len(part) - room)

    def _end_line(self) -> Event | None:
        """The event that the line just ended dispatches, if it is blank and there is something in it."""
        line, long_by = self._line, self._long_by
        self._line, self._long_by = bytearray(), 0
        if self._first:
            if line.startswith(BOM):
                del line[: len(BOM)]
            self._first = False
        if not line:
            data, omitted, fields, kind = self._data, self._omitted, self._fields, self._kind
            self._data, self._omitted, self._joint, self._fields, self._kind = bytearray(), 0, b"", {}, ""
            return Event(kept(data), omitted, fields or NO_FIELDS, kind) if data or fields else None
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
        elif line.startswith(b"event:"):
            self._kind = line[6:].removeprefix(b" ")[:MAX_FIELD].decode("utf-8", "replace")
        elif line.startswith((b"id:", b"retry:")):
            name, _, value = line.partition(b":")
            self._fields[name.decode()] = value.removeprefix(b" ")[:MAX_FIELD].decode("utf-8", "replace")
        elif not self._unframed and _is_bare(line):
            self._unframed = bytes(line[:MAX_FIELD])
        return None


def _is_bare(line: bytearray) -> bool:
    """Whether a line is JSON where a field should be."""
    # Asked of a line that still grows, after each part of it: it is not to be copied for that.
    return OPENING.match(line) is not None and b'"jsonrpc"' in line
