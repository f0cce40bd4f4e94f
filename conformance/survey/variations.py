"""Other arguments that a tool's inputSchema admits: one member at a time is negative, zero, large, empty or long."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import zip_longest

from conformance.model import Json, elements, members
from conformance.survey.arguments import Unfillable, candidates
from conformance.validation.json_schemas import Unusable, judge

MOST_MEMBERS = 12
MOST_CHOICES = 8
LARGEST = 1_000
"""A larger number is not asked for, and none where no maximum is named: a tool may have to make so much, or hang."""
SEVERAL = 6
LONG = "x" * 200
_END = object()


def variations(schema: Json) -> Iterator[dict[str, Json]]:
    """Valid arguments: all members at once, and then one of them changed, by turns. None if nothing can be made up."""
    try:
        full = max(candidates(schema), key=len)
        admits = judge(schema)
    except (Unfillable, Unusable):
        return
    properties = members(schema.get("properties"))
    columns = [
        [{**full, name: value} for value in _values(members(properties.get(name)), full[name])]
        for name in list(full)[:MOST_MEMBERS]
    ]
    tried: list[dict[str, Json]] = []
    for row in zip_longest([full], *columns, fillvalue=_END):
        for arguments in row:
            with suppress(Unusable):
                if isinstance(arguments, dict) and arguments not in tried and admits(arguments):
                    tried.append(arguments)
                    yield arguments


def _values(schema: dict[str, Json], present: Json) -> list[Json]:
    """Other values of a member; that they are valid is for others to find out."""
    chosen = elements(schema.get("enum"))[:MOST_CHOICES]
    if chosen:
        return chosen
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if "boolean" in kinds:
        return [True, False]
    values: list[Json] = [None] if "null" in kinds else []
    if "integer" in kinds or "number" in kinds:
        low, high = schema.get("minimum"), schema.get("maximum")
        values += [0, -1, *_bound(high), *([0.5] if "number" in kinds else []), *_bound(low), 1]
    if "array" in kinds:
        item = present[0] if isinstance(present, list) and present else None
        values += [[], [item] * SEVERAL, [item, item]]
    if "string" in kinds and "format" not in schema and "pattern" not in schema:
        values += [LONG, ""]
    return values


def _bound(value: Json) -> list[Json]:
    """A bound of a number, if it is within reason."""
    within = isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= LARGEST
    return [value] if within else []
