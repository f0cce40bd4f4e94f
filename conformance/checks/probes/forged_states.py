"""States of another wording: what a client can read in a requestState, with one value changed."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterator
from itertools import islice

from conformance.model import Json

MOST = 12
"""Forgeries of one state."""
LONGEST = 10_000
MARK = "mcp-conform"
SEPARATOR = "."


def forgeries(state: str) -> list[str]:
    """The state with one text in it changed, as far as it is JSON, as it is or in base64; so are its parts.

    A number may be a date or a counter that nobody minds; a text is something that somebody has said.
    """
    return list(islice(_forgeries(state), MOST)) if len(state) <= LONGEST else []


def _forgeries(state: str) -> Iterator[str]:
    parts = state.split(SEPARATOR)
    for number, part in enumerate(parts):
        value, written = _read(part)
        for changed in _changed(value):
            yield SEPARATOR.join([*parts[:number], written(changed), *parts[number + 1 :]])
    if len(parts) > 1:
        value, written = _read(state)
        yield from map(written, _changed(value))


def _read(text: str) -> tuple[Json, Callable[[Json], str]]:
    """What a text holds, None if that cannot be told, and how to write the like."""
    whole = _parsed(text)
    if whole is not None:
        return whole, _compact
    padded = text + "=" * (-len(text) % 4)
    for altchars in (b"-_", b"+/"):
        try:
            found = base64.b64decode(padded, altchars, validate=True).decode()
        except (binascii.Error, ValueError):
            continue
        value = _parsed(found)
        if value is not None:

            def written(other: Json, altchars: bytes = altchars) -> str:
                made = base64.b64encode(_compact(other).encode(), altchars).decode()
                return made if text == padded else made.rstrip("=")

            return value, written
    return None, _compact


def _parsed(text: str) -> Json:
    """The object or array that a text is in JSON, else None."""
    try:
        value = json.loads(text) if text[:1] in ("{", "[") else None
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, (dict, list)) else None


def _compact(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"))


def _changed(value: Json) -> Iterator[Json]:
    """The value with one text in it replaced by another."""
    if isinstance(value, str):
        yield MARK
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from ({**value, name: other} for other in _changed(each))
    elif isinstance(value, list):
        for number, each in enumerate(value):
            yield from ([*value[:number], other, *value[number + 1 :]] for other in _changed(each))
