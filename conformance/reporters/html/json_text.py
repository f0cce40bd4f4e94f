"""JSON laid out for reading, token by token: what was sent is not changed, and one place in it can be marked."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.model import Json, elements, members

Path = tuple[str | int, ...]
"""Members and indices from the top of a document."""

WIDTH = 96
"""Characters of a line; what fits is not broken up."""
DEEPEST = 40
"""Levels; what is nested deeper is not laid out."""

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"|[\[\]{},:]|[^\s\[\]{},:"]+')
_CLOSING = {"{": "}", "[": "]"}


class Part(NamedTuple):
    """A piece of a text, and whether it is the one that matters."""

    text: str
    marked: bool


@dataclass(slots=True)
class _Value:
    """A scalar as it was written, or an object or array, whose `kind` is its opening bracket."""

    text: str = ""
    kind: str = ""
    inner: list[tuple[str, _Value]] = field(default_factory=list)
    width: int = 0


def parsed(text: str) -> Json:
    """The document, with its numbers as they were written, as text. Raises ValueError if it is none, or too deep."""
    try:
        return json.loads(text, parse_int=str, parse_float=str)
    except RecursionError:
        raise ValueError("nested too deep") from None


def laid_out(text: str, mark: Path | None = None) -> list[Part]:
    """`text`, which `parsed` accepts, over several lines, with the place `mark` marked. Raises ValueError if too deep.

    Only white space between tokens is changed; characters that are not printable are escaped as in JSON.
    """
    tokens = iter([_printable(token) for token in _TOKEN.findall(text)])
    value = _value(next(tokens), tokens, 0)
    return _joined(_written(value, (), mark, 0, False))


def _printable(token: str) -> str:
    return token if token.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in token)


def _value(token: str, tokens: Iterator[str], depth: int) -> _Value:
    """What begins with `token`; the rest of it is taken from `tokens`."""
    if token not in _CLOSING:
        return _Value(token, width=len(token))
    if depth == DEEPEST:
        raise ValueError("nested too deep")
    value, closing = _Value(kind=token, width=2), _CLOSING[token]
    token = next(tokens)
    while token != closing:
        key = ""
        if token == ",":
            token = next(tokens)
        if closing == "}":
            key = token
            next(tokens)  # the colon
            token = next(tokens)
        inner = _value(token, tokens, depth + 1)
        value.inner.append((key, inner))
        value.width += len(key) + inner.width + 4
        token = next(tokens)
    return value


def _written(value: _Value, here: Path, mark: Path | None, indent: int, flat: bool) -> Iterator[Part]:
    if not value.kind:
        yield Part(value.text, here == mark)
        return
    flat = flat or value.width + indent <= WIDTH
    inmost = "" if flat or not value.inner else "\n" + " " * (indent + 2)
    yield Part(value.kind, here == mark)
    for number, (key, inner) in enumerate(value.inner):
        place = (*here, _name(key) if key else number)
        yield Part(("," + (inmost or " ")) if number else inmost, False)
        if key:
            yield Part(f"{key}: ", place == mark)
        yield from _written(inner, place, mark, indent + 2, flat)
    yield Part(f"\n{' ' * indent}" if inmost else "", False)
    yield Part(_CLOSING[value.kind], False)


def _name(key: str) -> str:
    return str(json.loads(key))


def _joined(parts: Iterator[Part]) -> list[Part]:
    """With neighbours of one kind put together."""
    joined: list[tuple[list[str], bool]] = []
    for text, marked in parts:
        if not joined or joined[-1][1] is not marked:
            joined.append(([], marked))
        joined[-1][0].append(text)
    return [Part("".join(texts), marked) for texts, marked in joined]


# -- the place that a finding is about

_PLACE = re.compile(
    r'(?:\$|[A-Za-z_][\w-]*|\[\d+\]|\["[^"]*"\])(?:\.[\w$-]+|\.?\[\d+\]|\["[^"]*"\])*(?=: | (?:is|has|=) )'
)
_STEP = re.compile(r'\["([^"]*)"\]|\[(\d+)\]|([\w$-]+)')
_ABSENT = re.compile(r"(?: is missing| has no |: nothing|is a required property)")
_TOPS: tuple[Path, ...] = (
    (),
    ("result",),
    ("result", "structuredContent"),
    ("params",),
    ("error",),
)
"""What the places that findings name may be meant from."""


def place_named(told: str) -> Path | None:
    """The place with which `told` begins, such as `error.code: -32603` or `params.x is missing`; None if with none."""
    found = _PLACE.match(told)
    if found is None:
        return None
    steps = (int(index) if index else name or word for name, index, word in _STEP.findall(found[0]))
    return tuple(step for step in steps if step != "$")


def place_in(document: Json, told: str) -> Path | None:
    """Where in `document` that is of which `told` speaks, or, if it is missing there, what it is missing from."""
    place = place_named(told)
    if not place:
        return None
    there = place[:-1] if _ABSENT.search(told) else place
    found = ((*top, *there) for top in _TOPS if there and _exists(document, (*top, *there)))
    return next(found, None)


def _exists(document: Json, place: Path) -> bool:
    for step in place:
        if isinstance(step, int):
            if step >= len(elements(document)):
                return False
            document = document[step]
        elif step in members(document):
            document = document[step]
        else:
            return False
    return True
