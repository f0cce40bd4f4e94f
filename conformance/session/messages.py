"""Messages as JSON: ids, encoding, and one request of ours with what came of it."""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypedDict

from conformance.budget import MESSAGES, cost, exact_parts_of, parts_of
from conformance.model import Frame, Json

MAY_TAKE_LONG = ("tools/call", "resources/read", "prompts/get", "completion/complete", "tasks/result")
"""Methods behind which an author's own code runs: no answer in time proves nothing."""


class How(TypedDict, total=False):
    """How a message differs from an ordinary one.

    `id` replaces the session's own; `illegal` marks what is wrong on purpose; `bare` leaves out what the era adds
    to every request; `headers` are added to the era's (HTTP), as `transports.replaced` says. `verb` is HTTP's method in
    lower case, if not post.
    """

    id: Json
    illegal: bool
    bare: bool
    headers: Mapping[str, str | None]
    verb: str


ROOM = 2 * 1024 * 1024
"""Bytes that notifications take which are kept for one call: a flood of them must not fill our memory."""
LEVELS_KEPT, LONGEST_LEVEL = 16, 32
"""There are eight levels; a server may invent others."""


def log_level(frame: Frame) -> str | None:
    """The level of a log message, cut if it is long; None if the frame is none."""
    if not isinstance(frame.message, dict) or frame.message.get("method") != "notifications/message":
        return None
    params = frame.message.get("params")
    return str(params.get("level"))[:LONGEST_LEVEL] if isinstance(params, dict) else None


@dataclass(slots=True, eq=False)
class Call:
    """One request of ours and what came of it.

    `lost` says why no answer can come any more, "" while one can; `unread` that one has come and was too large, `late`
    that its time was up, `refused` that nobody took the request, `empty` that what answered it over HTTP held nothing,
    `garbled` that it was a body that says it is JSON and is not. `awaited` means that nobody asks what the answer says,
    only whether it comes. `answers` are all responses with its id, so a second one is not lost. `notifications` arrived
    between the request and its first answer, the first ROOM bytes of them, until its case is over; `levels` are those
    of the log messages among them, and are kept. `hung` says that no answer came in all the time that there is for one,
    nor when the call was cancelled. `opens` is the id of the session that it opens, as HTTP gives it with the first
    part of the answer.
    """

    id: Json
    method: str
    params: Json
    sent: Frame
    answers: list[Frame] = field(default_factory=list)
    notifications: list[Frame] = field(default_factory=list)
    levels: list[str] = field(default_factory=list)
    head: Frame | None = None
    lost: str = ""
    late: bool = False
    refused: bool = False
    empty: bool = False
    garbled: bool = False
    excused: bool = False
    counted: bool = False
    hung: bool = False
    unread: bool = False
    awaited: bool = False
    opens: str = ""
    room: int = ROOM

    def revive(self) -> None:
        """What was given up before may still come, unless its answer was too large or nobody took the request."""
        if not (self.unread or self.turned_down):
            self.lost, self.late = "", False

    def hear(self, notification: Frame) -> None:
        """A notification came while the call was under way."""
        if self.room > 0:
            self.room -= cost(notification)
            self.notifications.append(notification)
            level = log_level(notification)
            if level is not None and level not in self.levels and len(self.levels) < LEVELS_KEPT:
                self.levels.append(level)

    @property
    def response(self) -> Json:
        """The first response message, or None; without the null of a server that always writes result and error."""
        message = self.answers[0].message if self.answers else None
        if isinstance(message, dict) and "result" in message and "error" in message:
            both = (message["result"], message["error"])
            return {name: value for name, value in message.items() if value is not None or both == (None, None)}
        return message

    @property
    def result(self) -> Json:
        """The `result` of the first response, or None."""
        # A long answer is kept by its beginning only, once its case is over.
        return None if (response := self.response) is None else response.get("result")

    @property
    def error(self) -> Json:
        """The `error` of the first response, or None."""
        return None if (response := self.response) is None else response.get("error")

    @property
    def proof(self) -> tuple[Frame, ...]:
        """The request and its answers."""
        return (self.sent, *self.answers)

    @property
    def redirected(self) -> bool:
        """Whether it was answered by a redirect that was not followed; `lost` says why."""
        return self.head is not None and 300 <= (self.head.status or 200) < 400 and bool(self.lost)

    @property
    def turned_down(self) -> bool:
        """Whether HTTP has refused it."""
        return self.head is not None and (self.head.status or 0) >= 400

    @property
    def done(self) -> bool:
        """Whether waiting any longer is pointless."""
        return bool(self.answers) or bool(self.lost)


class NotSpoken(Exception):
    """The target does not speak the revision; `offered` is the one it named instead, if any."""

    def __init__(self, reason: str, offered: str = "", call: Call | None = None) -> None:
        super().__init__(reason)
        self.offered = offered
        self.call = call


class Unread(NotSpoken):
    """The answer to `call` came and is too large to be read, so that what it shows is open; one sentence."""


class Observer(Protocol):
    """Sees every frame of a session, in order, though not at once: see `Session.judge`."""

    def sent(self, frame: Frame) -> None:
        """We sent `frame`."""

    def heard(self, frame: Frame, call: Call | None) -> None:
        """The target sent `frame`; `call` is the request it answers."""


class Unavailable(Exception):
    """What a case needs of the target is not to be had; the text says what would let the case run."""


LONG_ID = 1000
"""Characters of an id; of a longer one a digest is kept."""


def is_utf8(data: bytes) -> bool:
    """Whether the bytes are text in UTF-8, as every message must be."""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def id_key(identifier: Json) -> str:
    """A key under which two ids are equal only if value and JSON type are: 1 and "1" differ, 7 and 7.0 do not."""
    if type(identifier) is int:
        return str(identifier)
    if isinstance(identifier, str):
        if len(identifier) > LONG_ID:
            digest = hashlib.sha256(identifier.encode("utf-8", "surrogatepass")).hexdigest()
            identifier = f"{identifier[:40]}… {len(identifier)} characters, {digest}"
        return f'"{identifier}"'
    if isinstance(identifier, float) and identifier.is_integer():
        identifier = int(identifier)
    return json.dumps(identifier, sort_keys=True)


def loosely(identifier: Json) -> str:
    """A key under which ids are equal whatever their JSON type: 1, "1" and 1.0 are."""
    return id_key(identifier).strip('"')


DEEPEST = 200
"""Levels of objects and arrays within each other that are read."""
LONGEST_DEEP = 4 * 1024 * 1024
"""Bytes of a message with more levels than that; in a longer one they are not looked for."""
MOST_PARTS = 500_000
"""Objects, arrays and elements of one message: they take a hundred megabytes or so."""


class Counted(dict[str, Json]):
    """A large message; `size` counts for as long as somebody has it."""

    size = 0

    def __del__(self) -> None:
        if self.size and MESSAGES:  # at the end of the process names are gone
            MESSAGES.give(self.size)

    def __reduce__(self) -> tuple[type[dict[str, Json]], tuple[dict[str, Json]]]:
        return dict, (dict(self),)


class Shallow(Counted):
    """A message as far as it is read, of which the depths are left out."""


_BEGINNINGS = frozenset(bytes([byte]) for byte in b'{["-0123456789tfn \t\r\n\xef')
"""What JSON begins with, a byte order mark before it included."""


def parse(data: bytes) -> tuple[Json, bool]:
    """The JSON value in `data` and whether there is one. NaN and Infinity are not JSON.

    RFC 8259 lets those who read JSON set limits; ours are such that whatever is read can be compared, copied and
    written again. What is nested deeper than DEEPEST is read as empty. A number that neither a double nor Python's int
    of 4300 digits can hold is read as the largest double. What has more than MOST_PARTS parts is not read; nor is what
    is too deep in more than LONGEST_DEEP bytes. `beyond_us` tells that from what is no JSON.
    """
    if data[:1] not in _BEGINNINGS or data.isspace():  # a server may write such lines without end
        return None, False
    if len(data) <= 2 * DEEPEST:  # most messages: too short for any limit
        try:
            # A byte order mark is judged by an invariant; the message behind it counts.
            return _DECODER.decode(data.decode("utf-8-sig")), True
        except ValueError:
            return None, False
    if _has_too_many_parts(data):
        return None, False
    try:
        text = data.decode("utf-8-sig")
    except ValueError:
        return None, False
    try:
        if not too_deep(text):
            return _decoded(text), True
        value = _decoded(_without_depths(text)) if len(data) <= LONGEST_DEEP else None
    except ValueError:
        return None, False
    return (Shallow(value) if isinstance(value, dict) else value), value is not None


def beyond_us(data: bytes) -> bool:
    """Whether what `parse` does not read may be JSON all the same."""
    if _has_too_many_parts(data):
        return True
    try:
        text = data.decode("utf-8-sig")
        if too_deep(text):
            return len(data) > LONGEST_DEEP
        _decoded(text)
    except ValueError:
        return False
    return True


def too_deep(text: str) -> bool:
    """Whether JSON has more than DEEPEST levels, which is to be known before it is read.

    Python before 3.12 may end the process (`Cannot recover from stack overflow`) where it collects garbage while its
    own reader is as deep as it may go.
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return False
    depth = 0
    for bracket in _NO_BRACKETS.sub("", text):
        depth += 1 if bracket in "[{" else -1
        if depth > DEEPEST:
            return True
    return False


def _has_too_many_parts(data: bytes) -> bool:
    return len(data) > 2 * MOST_PARTS and parts_of(data) > MOST_PARTS and exact_parts_of(data) > MOST_PARTS


def _decoded(text: str) -> Json:
    """Raises ValueError. Not for what is `too_deep`."""
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:  # more digits than Python reads
        return _PATIENT.decode(text)


_QUOTED = r'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)'
_TOKEN = re.compile(rf"{_QUOTED}|[\[\]{{}}]", re.DOTALL)
# In long matches, so that what is put together without them is made of few pieces.
_NO_BRACKETS = re.compile(rf'(?:[^\[\]{{}}"]++|{_QUOTED})++', re.DOTALL)


def _without_depths(text: str) -> str:
    """JSON with what is deeper than DEEPEST left out; what is left is as wrong as it was."""
    kept: list[str] = []
    start = depth = 0
    for found in _TOKEN.finditer(text):
        sign = text[found.start()]
        if sign in "[{":
            depth += 1
            if depth == DEEPEST:
                kept.append(text[start : found.end()])
        elif sign in "]}":
            if depth == DEEPEST:
                start = found.start()
            depth -= 1
    # Where the end is missing it stays so.
    return "".join(kept) + text[start:] if depth < DEEPEST else ""


def _number(text: str) -> float:
    """The double, or the largest one of that sign: infinity is no JSON, and would not be when it is sent."""
    value = float(text)
    return value if -_LARGEST <= value <= _LARGEST else math.copysign(_LARGEST, value)


def _integer(text: str) -> int | float:
    return int(text) if len(text) <= _MOST_DIGITS else _number(text)


_LARGEST = sys.float_info.max
_MOST_DIGITS = 4000


def _refuse_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


# Made once: json.loads and json.dumps make one for each call with options.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_number)
_PATIENT = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_number, parse_int=_integer)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def encode(message: Json) -> bytes:
    """`message` on one line, in UTF-8. Half a surrogate pair, which UTF-8 cannot hold, is escaped."""
    try:
        return _ENCODER.encode(message).encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode()


def is_id(value: Json) -> bool:
    """Whether a value may be the id of a request: a string or an integer."""
    if isinstance(value, bool):
        return False
    return isinstance(value, (str, int)) or (isinstance(value, float) and value.is_integer())


OF_LOGS = frozenset({"level", "severity", "lvl", "msg", "time", "timestamp", "ts", "@timestamp", "logger"})
"""Members of a line that libraries for logs write as JSON."""


def is_reply(message: Json) -> bool:
    """Whether it is meant to answer something, well formed or not: a line of a log, JSON though it is, is not."""
    if not isinstance(message, dict) or "method" in message:
        return False
    if message.keys().isdisjoint(OF_LOGS):
        return not message.keys().isdisjoint(("jsonrpc", "id", "result", "error"))
    return "jsonrpc" in message


def is_message(value: Json) -> bool:
    """Whether JSON-RPC 2.0 and MCP together call a value a request, a notification or a response."""
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or not is_id(value.get("id", "")):
        return False
    if "method" in value:
        return isinstance(value["method"], str) and isinstance(value.get("params", {}), dict)
    return bool(value.keys() & {"result", "error"})
