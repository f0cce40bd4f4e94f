"""Reads what targets send, within the memory that there is for it; what is not read is told from what is no JSON."""

from __future__ import annotations

import re

from conformance.budget import EACH_PART, LARGE, MESSAGES, MOST_BYTES, ONE_AT_A_TIME, exact_parts_of, parts_of
from conformance.model import Json
from conformance.session.messages import MOST_PARTS, Counted, beyond_us, parse

HUGE = 1024 * 1024
"""Bytes from which on messages are dealt with one at a time: what is made of each meanwhile takes much more."""
WORTH_COUNTING = MESSAGES.most // 16
"""Bytes of our memory from which on it is worth the time to tell values from what looks like them within texts."""
PATIENCE = 0.25
"""Seconds to wait until other sessions have let go of what they have read."""

TOO_LONG = f"is longer than the {MOST_BYTES >> 20} MiB that mcp-conform reads of one message"
TOO_MANY = f"has more than the {MOST_PARTS} values that mcp-conform reads of one message, or is nested too deep for it"
_ROOM = f"{MESSAGES.most // 1_000_000} MB of memory"
TOO_MUCH = f"came with others, which together, once read, take more than the {_ROOM} that mcp-conform has for them"

_BEGINS = re.compile(rb"[ \t\r\n]*+(?:[\[{]|\Z)")
_BEYOND_16_BITS = re.compile(rb"[\xf0-\xff]")


def looks_like_json(data: bytes) -> bool:
    """Whether the beginning of an object or an array is there, or may still come."""
    return _BEGINS.match(data) is not None


def read(data: bytes, omitted: int = 0) -> tuple[Json, bool, str]:
    """The JSON value in `data`, whether there is one, and else why it was not read although it may be one.

    That is for sentences which begin with "a message". `omitted` bytes are missing at the end of `data`.
    """
    if omitted:
        why = TOO_LONG if len(data) >= MOST_BYTES else TOO_MUCH
        return None, False, why if looks_like_json(data) else ""
    if len(data) < LARGE:
        return *parse(data), ""
    parts = parts_of(data)
    if parts > MOST_PARTS and (parts := exact_parts_of(data)) > MOST_PARTS:
        return None, False, TOO_MANY if looks_like_json(data) else ""
    size = _size(data, parts)
    if size > WORTH_COUNTING:
        size = _size(data, exact_parts_of(data))
    if not MESSAGES.take(size, PATIENCE):
        return None, False, TOO_MUCH if looks_like_json(data) else ""
    if len(data) < HUGE:
        return _counted(data, size)
    with ONE_AT_A_TIME:
        return _counted(data, size)


def _counted(data: bytes, size: int) -> tuple[Json, bool, str]:
    message, readable = parse(data)
    if isinstance(message, Counted):  # not all of it was read
        message.size = size
    elif isinstance(message, dict):
        message = Counted(message)
        message.size = size
    elif isinstance(message, list) and message:
        message = [Counted(part) if isinstance(part, dict) else part for part in message]
        counted = [part for part in message if isinstance(part, Counted)]
        for part in counted:
            part.size = size // len(counted)
        if not counted:
            MESSAGES.give(size)
        else:
            MESSAGES.give(size - len(counted) * (size // len(counted)))
    else:
        MESSAGES.give(size)
    return message, readable, TOO_MANY if not readable and beyond_us(data) else ""


def _size(data: bytes, parts: int) -> int:
    """Bytes of our memory that a message takes; one message alone always fits."""
    return min(_width(data) * len(data) + EACH_PART * parts, MESSAGES.most * 3 // 4)


def _width(data: bytes) -> int:
    """Bytes that Python takes for each character, at most."""
    if data.isascii():
        return 1
    return 4 if _BEYOND_16_BITS.search(data) else 2
