"""Arguments that a tool's inputSchema admits: the smallest first."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard, cast

from conformance.json_schemas import Judge, judge
from conformance.model import Json
from conformance.pointers import pointed

MOST = 3
"""Candidates for one schema."""
DEPTH = 8
"""How deep a schema is followed."""


class Unfillable(Exception):
    """No arguments can be made up for this schema; the text says why."""


def smallest_arguments(schema: Json) -> dict[str, Json]:
    """Arguments with just the required members, filled with the smallest values that fit their schemas.

    Raises Unfillable where the schema uses words that cannot be satisfied without more knowledge.
    """
    return next(candidates(schema))


def candidates(schema: Json) -> Iterator[dict[str, Json]]:
    """At most MOST arguments, all valid under the schema: the required members, all members, other alternatives.

    At least one; raises Unfillable instead.
    """
    if not isinstance(schema, dict):
        raise Unfillable("its inputSchema is no object")
    admits = _judge(schema)
    seen: list[Json] = []
    why: Unfillable | None = None
    for whole, turn in ((False, 0), (True, 0), (False, 1), (True, 1)):
        try:
            made = _Maker(schema, whole, turn).arguments()
        except Unfillable as reason:
            why = why or reason
            continue
        if made in seen or not admits(made):
            continue
        seen.append(made)
        yield copy.deepcopy(made)
        if len(seen) == MOST:
            return
    if not seen:
        raise why or Unfillable("its inputSchema admits nothing that was tried")


def _judge(schema: Json) -> Judge:
    """A schema that is none itself admits everything."""
    try:
        return judge(schema)
    except ValueError:
        return lambda _value: True


class _Maker:
    """Makes one value: with all members if `whole`, of alternatives the one numbered `turn`."""

    def __init__(self, root: dict[str, Json], whole: bool, turn: int) -> None:
        self._root = root
        self._whole = whole
        self._turn = turn

    def arguments(self) -> dict[str, Json]:
        """Raises Unfillable."""
        return self._object(self._joined(self._root), 0)

    def _value(self, schema: Json, depth: int) -> Json:
        if depth > DEPTH:
            raise Unfillable("its inputSchema is nested too deeply")
        if not isinstance(schema, dict):
            return "x"
        for word in ("const", "default"):
            if word in schema:
                return schema[word]
        for word in ("enum", "examples"):
            if isinstance(schema.get(word), list) and schema[word]:
                return self._one_of(schema[word])
        if isinstance(schema.get("$ref"), str):
            return self._value({**self._resolve(schema["$ref"]), **_without(schema, "$ref")}, depth + 1)
        for word in ("anyOf", "oneOf"):
            if isinstance(schema.get(word), list) and schema[word]:
                return self._value(_joined(_without(schema, word), self._one_of(schema[word])), depth + 1)
        if isinstance(schema.get("allOf"), list):
            return self._value(self._joined(schema), depth + 1)
        kind = schema.get("type", _kind(schema))
        return self._of_type(self._one_of(kind) if isinstance(kind, list) and kind else kind, schema, depth)

    def _one_of(self, choices: Sequence[Json]) -> Json:
        return choices[min(self._turn, len(choices) - 1)]

    def _of_type(self, kind: Json, schema: dict[str, Json], depth: int) -> Json:
        if kind == "object":
            return self._object(schema, depth)
        if kind == "array":
            return self._array(schema, depth)
        if kind in ("integer", "number"):
            return _number(schema)
        if kind == "boolean":
            return False
        if kind == "null":
            return None
        return _string(schema)

    def _object(self, schema: dict[str, Json], depth: int) -> dict[str, Json]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, dict) else {}
        required = schema.get("required")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        made = {name: self._value(properties.get(name, {}), depth + 1) for name in names}
        for name in properties if self._whole and depth < DEPTH // 2 else ():
            if name not in made:
                try:
                    made[name] = self._value(properties[name], depth + 1)
                except Unfillable:
                    continue  # it may be left out
        return made

    def _array(self, schema: dict[str, Json], depth: int) -> list[Json]:
        least = schema.get("minItems", 1 if self._whole and schema.get("maxItems", 1) != 0 else 0)
        first = schema.get("prefixItems")
        first = first if isinstance(first, list) else []
        count = int(least) if isinstance(least, (int, float)) else 0
        made = [self._value(each, depth + 1) for each in first[: max(count, len(first) if self._whole else 0)]]
        while len(made) < count:
            made.append(self._value(schema.get("items", {}), depth + 1))
        if schema.get("uniqueItems") is True:
            made = [_changed(value, number) for number, value in enumerate(made)]
        return made

    def _joined(self, schema: dict[str, Json]) -> dict[str, Json]:
        """The schema with what it refers to, and one of its alternatives, taken into it."""
        whole = _without(schema, "$ref")
        if isinstance(schema.get("$ref"), str):
            whole = _joined(whole, self._resolve(schema["$ref"]))
        for part in whole.pop("allOf", None) or []:
            whole = _joined(whole, self._joined(part) if isinstance(part, dict) else {})
        for word in ("anyOf", "oneOf"):
            parts = whole.pop(word, None)
            if isinstance(parts, list) and parts and isinstance(one := self._one_of(parts), dict):
                whole = _joined(whole, self._joined(one))
        return whole

    def _resolve(self, reference: str) -> dict[str, Json]:
        place = pointed(self._root, reference)
        if place is None:
            raise Unfillable(f"its inputSchema refers to {reference}")
        return place if isinstance(place, dict) else {}


def _without(schema: dict[str, Json], word: str) -> dict[str, Json]:
    return {name: value for name, value in schema.items() if name != word}


def _joined(schema: dict[str, Json], further: Json) -> dict[str, Json]:
    """Both schemas in one, as far as their members can be put together."""
    joined = dict(schema)
    for name, value in further.items() if isinstance(further, dict) else ():
        mine = joined.get(name)
        if name == "required" and isinstance(mine, list) and isinstance(value, list):
            joined[name] = [*mine, *(one for one in value if one not in mine)]
        elif name == "properties" and isinstance(mine, dict) and isinstance(value, dict):
            joined[name] = {**mine, **{key: _joined(mine.get(key) or {}, each) for key, each in value.items()}}
        else:
            joined[name] = value
    return joined


def _kind(schema: dict[str, Json]) -> str:
    """The type that a schema without one speaks of."""
    words = {"properties": "object", "required": "object", "items": "array", "minimum": "number", "maximum": "number"}
    return next((kind for word, kind in words.items() if word in schema), "string")


def _number(schema: dict[str, Json]) -> int | float:
    """The smallest whole number that fits or, where there is none, a fraction; 1 if nothing is asked."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf")
    if _is_number(step) and step > 0:
        start = low if _is_number(low) else above if _is_number(above) else 0
        times = int(start // step) + (0 if start % step == 0 and not _is_number(above) else 1)
        value = times * step
        return int(value) if float(value).is_integer() else value
    if _is_number(low):
        value = -int(-low // 1)
        return value if not _is_number(high) or value <= high else low
    if _is_number(above):
        value = int(above // 1) + 1
        return value if not _is_number(high) or value <= high else (above + high) / 2
    if _is_number(high):
        return min(1, int(high // 1))
    if _is_number(below):
        return min(1, -int(-below // 1) - 1)
    return 1


def _is_number(value: Json) -> TypeGuard[int | float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


_FORMATS = {
    "date": "2025-01-01",
    "date-time": "2025-01-01T00:00:00Z",
    "time": "00:00:00Z",
    "duration": "PT1S",
    "email": "a@example.com",
    "uuid": "00000000-0000-4000-8000-000000000000",
    "ipv4": "127.0.0.1",
    "ipv6": "::1",
}


def _string(schema: dict[str, Json]) -> str:
    # A URI could be fetched by the tool: nothing may be fetched on our account.
    if schema.get("format") in ("uri", "url", "uri-reference", "hostname", "iri"):
        raise Unfillable("a required argument is an address")
    if isinstance(schema.get("pattern"), str):
        return _matching(schema["pattern"], schema)
    least = schema.get("minLength")
    plain = "x" * max(1, int(least) if _is_number(least) else 1)
    return _FORMATS.get(str(schema.get("format")), plain)


def _matching(pattern: str, schema: dict[str, Json]) -> str:
    """The shortest string for a regular expression, stretched where it must be longer."""
    import re

    from rstr import Rstr

    least = schema.get("minLength")
    least = int(least) if _is_number(least) else 0
    try:
        for repeats in range(40):
            text = str(Rstr(cast(Any, _Least(repeats))).xeger(pattern))
            if len(text) >= least and re.search(pattern, text):
                return text
    except Exception:  # regular expressions of ECMAScript may be none of Python's
        pass
    raise Unfillable(f"a required string must match {pattern!r}")


class _Least:
    """In place of chance: the fewest repeats (and `more`), and of characters the plainest."""

    def __init__(self, more: int) -> None:
        self._more = more

    def randint(self, least: int, most: int) -> int:
        return min(least + self._more, most)

    def choice(self, choices: Sequence[Json]) -> Json:
        return min(choices, key=_plainness) if isinstance(choices[0], str) else choices[0]

    def shuffle(self, _choices: list[Json]) -> None:
        """Leave the order."""


def _plainness(text: str) -> tuple[int, str]:
    kinds = (str.islower, str.isupper, str.isdigit)
    rank = next((rank for rank, kind in enumerate(kinds) if text.isascii() and kind(text)), len(kinds))
    return (rank + (not text.isprintable()), text)


def _changed(value: Json, number: int) -> Json:
    """The value, different from those with other numbers; where it cannot be changed it stays."""
    if number == 0 or isinstance(value, (bool, dict, list)) or value is None:
        return value
    return value + number if _is_number(value) else f"{value}{number}"
