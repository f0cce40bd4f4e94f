"""What a JSON parser may refuse (RFC 8259, section 9): deep nesting, large or precise numbers, long or odd text."""

from __future__ import annotations

import re
from dataclasses import replace

from conformance.checks.fuzz.example import Example
from conformance.model import Json
from conformance.session.messages import encode, parse

DEPTH = 16
"""Arrays and objects within each other, those of the message itself included."""
LENGTH = 4096
"""Bytes of a string, and four times as many of a message."""
MEMBERS = 256
WHOLE = 2**53 - 1
LARGE, SMALL = 1e15, 1e-15
"""Magnitudes of numbers with a fraction."""
_ODD = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
"""Characters that JSON lets be escaped and a parser refuse."""
FIRST_ID = 500_001


def extreme(example: Example) -> bool:
    """Whether the example has something that a parser may refuse. What is no JSON is judged by its bytes."""
    return any(extreme_lines(example))


def extreme_lines(example: Example) -> list[bool]:
    """The same of each line of its script."""
    return [_extreme(line) for line in _lines(example)]


def tamed(example: Example) -> Example | None:
    """The same example within those limits; None if it is no JSON."""
    values = [parse(line) for line in _lines(example)]
    if not all(readable for _, readable in values):
        return None
    lines = [encode(_tame(value, DEPTH // 2)) for value, _ in values]
    if not example.script:
        return replace(example, data=lines[0])
    about = {**example.about, **({"extreme": [False] * len(lines)} if "extreme" in example.about else {})}
    return replace(example, data=b"\n".join(lines), script=tuple(lines), about=about)


def _lines(example: Example) -> list[bytes]:
    return example.lines(range(FIRST_ID, FIRST_ID + example.numbers)) or [example.data]


def _extreme(line: bytes) -> bool:
    if len(line) > 4 * LENGTH or _opened(line) > DEPTH:
        return True
    value, readable = parse(line)
    return readable and _beyond(value)


def _opened(line: bytes) -> int:
    """How deep brackets are nested, those in strings included: an upper bound that takes no parser."""
    deepest = depth = 0
    for byte in line:
        if byte in b"[{":
            depth += 1
            deepest = max(deepest, depth)
        elif byte in b"]}":
            depth -= 1
    return deepest


def _beyond(value: Json) -> bool:
    if isinstance(value, dict):
        return len(value) > MEMBERS or any(_beyond(name) or _beyond(member) for name, member in value.items())
    if isinstance(value, list):
        return len(value) > MEMBERS or any(map(_beyond, value))
    return _simple(value) is not value


def _simple(value: Json) -> Json:
    """A value that is no container, within the limits: itself, or something like it."""
    if isinstance(value, str):
        plain = _ODD.sub("?", value) if _ODD.search(value) else value
        return plain if len(plain.encode()) <= LENGTH else plain[: LENGTH // 100]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) <= WHOLE else 1
    return value if value == 0 or SMALL <= abs(value) <= LARGE else 0.5


def _tame(value: Json, depth: int) -> Json:
    if isinstance(value, dict | list) and depth <= 0:
        return 0
    if isinstance(value, dict):
        return {_simple(name): _tame(member, depth - 1) for name, member in list(value.items())[:MEMBERS]}
    if isinstance(value, list):
        return [_tame(element, depth - 1) for element in value[:MEMBERS]]
    return _simple(value)
