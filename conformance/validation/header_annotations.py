"""Where the inputSchema of a tool says `x-mcp-header`: which arguments are mirrored in HTTP headers."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from conformance.model import Json

WORD = "x-mcp-header"
PREFIX = "Mcp-Param-"
DEEPEST = 100
"""Levels of schemas within each other that are looked at."""
TOKEN = re.compile(r"[-!#$%&'*+.^_`|~0-9A-Za-z]+")
"""What the name of an HTTP header is made of."""

_ONE = (
    *("items", "additionalItems", "contains", "unevaluatedItems", "additionalProperties", "unevaluatedProperties"),
    *("propertyNames", "not", "if", "then", "else"),
)
_MANY = ("items", "prefixItems", "allOf", "anyOf", "oneOf")
_NAMED = ("properties", "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One `x-mcp-header`: its value, the schema that has it, and where that is, as a JSON pointer.

    `path` are the names of the properties that lead to the argument; empty where others than `properties` lead there.
    """

    value: Json
    schema: dict[str, Json]
    place: str
    path: tuple[str, ...]

    @property
    def header(self) -> str:
        """The name of the HTTP header; empty if the annotation mirrors nothing or names none that can be sent."""
        usable = self.path and isinstance(self.value, str) and TOKEN.fullmatch(self.value)
        return PREFIX + self.value if usable else ""


def annotated(schema: Json, usable: bool = False) -> Iterator[Annotation]:
    """All annotations of a schema, in the places of schemas only: a default or an example may hold the word as data.

    What `$ref` leads to is looked at where it is written. With `usable` only those that have a header are found.
    """
    left: list[tuple[Json, str, tuple[str, ...] | None, int]] = [(schema, "", (), 0)]
    while left:
        part, place, path, depth = left.pop()
        if not isinstance(part, dict):
            continue
        found = Annotation(part[WORD], part, place or "/", path or ()) if WORD in part else None
        if found is not None and (found.header or not usable):
            yield found
        if depth == DEEPEST:
            continue
        part = {"properties": part.get("properties")} if usable else part
        inner = [
            (sub, f"{place}/{word}/{name}".rstrip("/"), _on(path, word, name)) for word, name, sub in _within(part)
        ]
        left += [(*each, depth + 1) for each in reversed(inner)]


def _on(path: tuple[str, ...] | None, word: str, name: str) -> tuple[str, ...] | None:
    """The path of properties one step further, None if it is none any more."""
    return (*path, name) if word == "properties" and path is not None else None


def _within(schema: dict[str, Json]) -> Iterator[tuple[str, str, Json]]:
    """Each subschema: the word, its name or number beneath that, and itself."""
    for word, value in schema.items():
        if isinstance(value, dict):
            if word in _NAMED:
                yield from ((word, name, sub) for name, sub in value.items())
            elif word in _ONE:
                yield word, "", value
        elif isinstance(value, list) and word in _MANY:
            yield from ((word, str(number), sub) for number, sub in enumerate(value))


def value_at(arguments: Json, path: tuple[str, ...]) -> Json:
    """The argument at that path of properties, None if there is none."""
    for name in path:
        arguments = arguments.get(name) if isinstance(arguments, dict) else None
    return arguments


def as_text(value: Json) -> str | None:
    """An argument as its header says it, before it is encoded; None for what no header says."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, (str, int)) else None
