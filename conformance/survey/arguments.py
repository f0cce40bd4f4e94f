"""Arguments that a tool's inputSchema admits: the smallest first."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, TypeGuard, cast

from conformance.model import Json, elements, members
from conformance.validation.json_schemas import Judge, Unusable, judge, unusable
from conformance.validation.pointers import pointed
from conformance.validation.schema_bounds import matches

MOST = 3
"""Candidates for one schema."""
DEPTH = 8
"""How deep a schema is followed."""
MOST_STEPS = 10_000
"""Subschemas looked at for one candidate."""
MOST_ITEMS = 1_000
HUGE = 10**100
LONGEST = 64 * 1024
"""Characters of a string."""
LONGEST_PATTERN = 1_000
MOST_DRAWN = 20_000
"""Repeats and characters looked at for a string that has to match a pattern."""


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
        raise Unfillable("its inputSchema is not an object")
    made, why = _made(json.dumps(schema))
    if not made:
        raise Unfillable(why)
    yield from copy.deepcopy(made)


@lru_cache(maxsize=512)
def _made(written: str) -> tuple[list[dict[str, Json]], str]:
    """What `candidates` gives for a schema, or why there is nothing: it is asked for by many probes."""
    schema = json.loads(written)
    made: list[dict[str, Json]] = []
    why = ""
    try:
        admits = _judge(schema)
    except Unfillable as reason:
        return [], str(reason)
    for whole, turn in ((False, 0), (True, 0), (False, 1), (True, 1)):
        try:
            one = _Maker(schema, whole, turn).arguments()
            if one not in made and admits(one):
                made.append(one)
        except Unfillable as reason:
            why = why or str(reason)
        except Unusable as reason:
            why = why or f"its inputSchema cannot be used: {reason}"
        if len(made) == MOST:
            break
    return made, why or "its inputSchema admits nothing that was tried"


def _judge(schema: Json) -> Judge:
    """A schema that is none itself admits everything. Raises Unfillable for one that takes too much to apply."""
    why = unusable(schema)
    if why:
        raise Unfillable(f"its inputSchema cannot be used: {why}")
    try:
        return judge(schema)
    except Unusable:
        return lambda _value: True


class _Maker:
    """Makes one value: with all members if `whole`, of alternatives the one numbered `turn`."""

    def __init__(self, root: dict[str, Json], whole: bool, turn: int) -> None:
        self._root = root
        self._whole = whole
        self._turn = turn
        self._left = MOST_STEPS

    def _step(self, depth: int) -> None:
        self._left -= 1
        if depth > DEPTH or self._left < 0:
            raise Unfillable("its inputSchema is nested too deeply")

    def arguments(self) -> dict[str, Json]:
        """Raises Unfillable."""
        return self._object(self._joined(self._root, 0), 0)

    def _value(self, schema: Json, depth: int) -> Json:
        self._step(depth)
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
            return self._value(self._joined(schema, 0), depth + 1)
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
        properties = members(properties)
        required = schema.get("required")
        names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
        if len(names) > MOST_ITEMS:
            raise Unfillable(f"its inputSchema asks for {len(names)} members")
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
        first = elements(first)
        count = _length(least, MOST_ITEMS, "items")
        made = [self._value(each, depth + 1) for each in first[: max(count, len(first) if self._whole else 0)]]
        while len(made) < count:
            made.append(self._value(schema.get("items", {}), depth + 1))
        if schema.get("uniqueItems") is True:
            made = [_changed(value, number) for number, value in enumerate(made)]
        return made

    def _joined(self, schema: dict[str, Json], depth: int) -> dict[str, Json]:
        """The schema with what it refers to, and one of its alternatives, taken into it."""
        self._step(depth)
        whole = _without(schema, "$ref")
        if isinstance(schema.get("$ref"), str):
            whole = _joined(whole, self._resolve(schema["$ref"]))
        parts = whole.pop("allOf", None)
        for part in elements(parts):
            whole = _joined(whole, self._joined(part, depth + 1) if isinstance(part, dict) else {})
        for word in ("anyOf", "oneOf"):
            parts = whole.pop(word, None)
            if isinstance(parts, list) and parts and isinstance(one := self._one_of(parts), dict):
                whole = _joined(whole, self._joined(one, depth + 1))
        return whole

    def _resolve(self, reference: str) -> dict[str, Json]:
        place = pointed(self._root, reference)
        if place is None:
            raise Unfillable(f"its inputSchema refers to {reference[:200]}")
        return members(place)


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
            joined[name] = {**mine, **{key: _both(mine.get(key), each) for key, each in value.items()}}
        else:
            joined[name] = value
    return joined


def _both(one: Json, other: Json) -> Json:
    return _joined(one, other) if isinstance(one, dict) and one else other


def _length(asked: Json, most: int, what: str) -> int:
    """What `minItems` and the like ask for; 0 for what is no number. Raises Unfillable for more than `most`."""
    if not _is_number(asked):
        return 0
    if asked > most:
        raise Unfillable(f"its inputSchema asks for more than {most} {what}")
    return max(0, int(asked))


def _kind(schema: dict[str, Json]) -> str:
    """The type that a schema without one speaks of."""
    words = {"properties": "object", "required": "object", "items": "array", "minimum": "number", "maximum": "number"}
    return next((kind for word, kind in words.items() if word in schema), "string")


def _number(schema: dict[str, Json]) -> int | float:
    """The smallest whole number that fits or, where there is none, a fraction; 1 if nothing is asked."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    step = schema.get("multipleOf")
    if any(_is_number(bound) and abs(bound) > HUGE for bound in (low, high, above, below, step)):
        raise Unfillable("its inputSchema has numbers that not everybody can read")
    if _is_number(step) and step > 0:
        start = low if _is_number(low) else above if _is_number(above) else 0
        if start / step > HUGE:
            raise Unfillable(f"a number must be a multiple of {step}")
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
    plain = "x" * max(1, _length(schema.get("minLength"), LONGEST, "characters"))
    return _FORMATS.get(str(schema.get("format")), plain)


def _matching(pattern: str, schema: dict[str, Json]) -> str:
    """The shortest string for a regular expression, stretched where it must be longer."""
    from rstr import Rstr

    least = _length(schema.get("minLength"), LONGEST, "characters")
    chance = _Least()
    try:
        for chance.more in range(40) if len(pattern) <= LONGEST_PATTERN else ():
            text = str(Rstr(cast(Any, chance)).xeger(pattern))
            if len(text) >= least and matches(pattern, text):
                return text
    except Exception:  # regular expressions of ECMAScript may be none of Python's
        pass
    raise Unfillable(f"a required string must match {pattern[:200]!r}")


class _Least:
    """In place of chance: the fewest repeats (and `more`), and of characters the plainest. Raises Unfillable."""

    def __init__(self) -> None:
        self.more = 0
        self._left = MOST_DRAWN

    def _draw(self, count: int) -> None:
        self._left -= count
        if self._left < 0:
            raise Unfillable("a required string would be too long")

    def randint(self, least: int, most: int) -> int:
        count = min(least + self.more, most)
        self._draw(count)
        return count

    def choice(self, choices: Sequence[Json]) -> Json:
        self._draw(1 + len(choices) // 20)
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
