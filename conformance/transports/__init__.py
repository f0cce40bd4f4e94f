"""The transports: each moves bytes to and from a target and knows nothing of JSON.

All that a target says, on every channel, arrives in one inbox in order of arrival.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple, Protocol

from conformance.target.process import StartError, Used, left_behind

__all__ = [
    "AGAIN",
    "BARE",
    "EMPTY",
    "OURS",
    "SESSION",
    "UNFRAMED",
    "Arrival",
    "Ended",
    "Ending",
    "Inbox",
    "StartError",
    "Transport",
    "Used",
    "replaced",
]

AGAIN = "again"
UNFRAMED, EMPTY = "unframed", "empty"
"""Fields of what is a message in a stream and no event, and of the end of an answer that held no message."""
BARE = ("head", "event", "end", "endpoint", "reply")
"""The channels on which no message comes: what HTTP says around messages."""
OURS = "the client closed the connection"
"""Why an exchange, or all, has ended where that was our own doing."""
SESSION = "Mcp-Session-Id"
"""The header that names a session."""


class Arrival(NamedTuple):
    """Bytes from the target: one line of stdout, one HTTP body, one SSE payload; or what HTTP says around them.

    `channel` is `stdout`, `body` (a whole non-SSE body) or `sse` (the data of one event that has any); without bytes
    `head` (HTTP status and headers), `event` (an event without data, or what is UNFRAMED) or `end` (of an answer, as in
    `Ended.arrival`); of HTTP+SSE `endpoint` (the data of the event of that type), `event` (one of a type that is not
    known) and `reply` (the body that answers a POST). AGAIN is nothing that came: the message was sent again, as the
    server had asked. `fields` are `id`, `retry` and `event` (a type that is not usual) of an event;
    `surplus` of a body, how many bytes came after its end.
    `at` is a `time.monotonic()`. `omitted` counts bytes cut off because the message was longer than the transport
    keeps.
    """

    channel: str
    data: bytes
    at: float
    exchange: int | None = None
    status: int | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    omitted: int = 0
    fields: Mapping[str, str] = MappingProxyType({})


BROKE_OFF = "broke off"
"""What is said of a connection that ended before an answer."""
AND_GONE = ", and now it refuses connections"
"""What is said of a server that broke off an exchange, and is gone."""


@dataclass(frozen=True, slots=True)
class Ended:
    """Nothing more will come: on stdout (`exchange` is None), or for one HTTP exchange.

    `reason` is for people: "the server exited with code 1", "connection refused". `partial` is an unfinished last line,
    of which `omitted` bytes were not kept.
    `lost` means that only the session is over, and nothing is wrong with that: a client would begin a new one. `then`
    is the end of everything that comes with the end of this exchange. `unread` means that the answer was too large,
    `refused` that nobody took the message, `empty` that an answer came to its end and held no message, `answered` that
    one has come, whole or broken off by the server; `accepted` that the message was taken, and that what answers it
    comes elsewhere.
    """

    at: float
    reason: str
    exchange: int | None = None
    partial: bytes = b""
    omitted: int = 0
    lost: bool = False
    then: Ended | None = None
    unread: bool = False
    refused: bool = False
    empty: bool = False
    answered: bool = False
    accepted: bool = False

    @property
    def arrival(self) -> Arrival | None:
        """What comes with it: the unfinished line, or the end of the answer."""
        if self.partial:
            return Arrival("stdout", self.partial, self.at, omitted=self.omitted)
        fields = {EMPTY: "yes"} if self.empty else {}
        return Arrival("end", b"", self.at, self.exchange, fields=fields) if self.answered else None


@dataclass(frozen=True, slots=True)
class Ending:
    """How a target went when the transport was closed.

    `how` is `closed` (by itself, when its input ended), `terminated` (by SIGTERM), `killed`, `died` (before it was
    asked to go) or `remote` (not our process). `code` is the exit status, negative for a signal, None if unknown.
    `seconds` is the time from closing its input to its end. `orphans` are command lines of processes that it left
    behind (they were ended).
    """

    how: str
    code: int | None = None
    seconds: float = 0.0
    orphans: tuple[str, ...] = ()

    @property
    def left(self) -> str:
        """The processes that it had the chance to take along and left behind, for people; "" if there are none."""
        return left_behind(self.orphans) if self.how in ("closed", "terminated") else ""


class Transport(Protocol):
    """Moves bytes. Writing never blocks; closing unblocks everything and leaves no process behind.

    What else sets transports apart is said by members, not by their names.
    """

    name: str
    frame: str
    """What a message travels in: a line, a body."""
    has_headers: bool
    """Whether each message is an HTTP exchange, with headers and a status."""
    single_stream: bool
    """Whether all that is said in either direction is one stream, in order."""
    posts_apart: bool
    """Whether messages are posted to where the target says, and what answers them comes on another stream."""
    any_bytes: bool
    """Whether a message may be any bytes, and not only text in UTF-8."""
    process_per_session: bool
    """Whether each session has a process of its own, which we start."""
    ours: bool
    """Whether we have started the target."""
    host: str
    """The host of its URL, "" if it has none."""
    url: str
    """Its URL, "" if it has none."""
    began: float
    """When the target was started or reached, as a `time.monotonic()`."""

    def start(self) -> None:
        """Start or reach the target. Raises StartError."""

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Send one message, as it is (stdio adds the newline unless `data` ends with one).

        Over HTTP each message is an exchange of its own, whose number is returned; `method` and `headers`
        concern HTTP only. For WHOLE and APART see `written_requests`.
        """

    def break_off(self, exchange: int) -> None:
        """Close the connection of an HTTP exchange that is under way, as a client does that has gone."""

    def write(self, data: bytes) -> None:
        """Write raw bytes without framing (stdio); over HTTP the same as a POST of `data`."""

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next event, or None after `timeout` seconds."""

    def end_input(self) -> None:
        """Close the target's input once all is written. Nothing can be sent afterwards."""

    def close(self, hurry: bool = False) -> Ending:
        """End the target, for sure, within the time limits: close input, wait, terminate, kill. Idempotent.

        With `hurry` it is not waited for, but terminated at once.
        """

    def listens_at(self) -> tuple[str, ...]:
        """The addresses at which a target that we started listens for connections to its URL, as far as is known."""

    @property
    def away(self) -> float:
        """Seconds for which the target has had us stay away so far."""

    def used(self) -> Used:
        """What a process which is the target alone has used so far, with what it started; nothing if unknown."""

    def held_up(self) -> float:
        """Seconds that a target that we started was ready to run and waited for a core, so far; 0 if unknown."""

    def unfinished(self) -> bytes:
        """The beginning of a line that the target has not ended so far, at most 64 KiB."""

    def stderr(self) -> str:
        """The tail of what the target wrote to stderr (64 KiB at most), empty if there is none."""


class Inbox:
    """Events in order of arrival, from any threads to one; a flood waits outside instead of filling our memory.

    Built on SimpleQueue, because a wake-up through a Condition costs four times as much.
    """

    MAX_BYTES = 4 * 1024 * 1024
    MAX_EVENTS = 5_000

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[tuple[Arrival | Ended, int]] = queue.SimpleQueue()
        self._entering = threading.Lock()
        self._room = threading.Condition()
        self._crowded = False
        self._wide = False
        self._entered = 0
        self._left = 0

    def put(self, event: Arrival | Ended, size: int = 0) -> None:
        """Add an event of `size` bytes; an Arrival waits while the inbox is full."""
        if isinstance(event, Arrival) and self._full() and not self._admitted():
            return
        with self._entering:
            self._entered += size
        self._events.put((event, size))

    def get(self, timeout: float) -> Arrival | Ended | None:
        """The next event, or None after `timeout` seconds. Called by one thread at a time."""
        try:
            event, size = self._events.get(timeout=timeout) if timeout > 0 else self._events.get_nowait()
        except queue.Empty:
            return None
        self._left += size
        if self._crowded and not self._full():
            with self._room:
                self._crowded = False
                self._room.notify_all()
        return event

    def open_wide(self) -> None:
        """Let nobody wait any more, because the transport is closing: what a flood says from now on is dropped."""
        with self._room:
            self._wide = True
            self._room.notify_all()

    def _full(self) -> bool:
        return self._entered - self._left > self.MAX_BYTES or self._events.qsize() > self.MAX_EVENTS

    def _admitted(self) -> bool:
        """Wait for room; false if there will be none."""
        with self._room:
            self._crowded = True
            while self._full() and not self._wide:
                self._room.wait()
                self._crowded = True
            return not self._full()


def replaced(headers: Mapping[str, str], own: Mapping[str, str | None] | None) -> dict[str, str]:
    """`headers` with `own` in place of those of the same name, whatever its case; what is None is left out."""
    own = own or {}
    names = {name.lower() for name in own}
    kept = {name: value for name, value in headers.items() if name.lower() not in names}
    return {**kept, **{name: value for name, value in own.items() if value is not None}}
