"""What is known about a schema that somebody else wrote before a value is looked at: whether it can be used at all.

Every look here is one walk over the schema as it is written, without recursion: a schema may refer to itself, or refer
so often that it is a thousand times as large as it looks.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conformance.model import Json
from conformance.validation.pointers import pointed

DEEPEST = 150
"""Levels of a schema, or of a value that is held against one."""
MOST_SCHEMAS = 100_000
"""Subschemas of one schema with all that it refers to written out; patterns and lists of values weigh more."""
MOST_WRITTEN = 20_000
"""Subschemas that are looked at: each takes a kilobyte. Those of a larger schema are left to jsonschema, in steps."""
MOST_ASKED = 1_000_000
"""Items, members or characters that a schema may ask for at least."""
LONGEST_PATTERN = 10_000
_HEAVIEST_PATTERN = 8_000
LARGEST_PROGRAM = 4 * 1024 * 1024
"""Bytes that a compiled pattern may take."""
MOST_WORK = 300_000_000
"""Weight of a schema or pattern times size of the value held against it: seconds, at the worst."""
_MOST_STEPS_BACK = 100_000
_LONGEST_SPELT = 1_000
_IN_NO_DIALECT = (
    *("unterminated character set", "missing ), unterminated"),
    *("unbalanced parenthesis", "nothing to repeat"),
)
"""How errors of `re` begin."""

_SAME_VALUE = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_PARTS = (
    *("properties", "patternProperties", "additionalProperties", "items", "prefixItems", "additionalItems"),
    *("contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
)
_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas", "dependencies"})
_ELSEWHERE = ("$dynamicRef", "$recursiveRef")
_ASKS = ("minItems", "minLength", "minProperties", "minContains")
_REPEATS = re.compile(r"\{(\d{1,12})(?:,(\d{0,12}))?\}")


class Unusable(ValueError):
    """A schema cannot be used to judge a value, or not within the bounds of this module; the text says why."""


@dataclass(frozen=True, slots=True)
class Look:
    """What one look at a schema shows.

    `flaw` says why nobody can use it, with the place, "" if that is not so; `demand` why nobody can give what it asks
    for. `weight` is the number of subschemas with references written out; 0 if they come back to themselves, or cannot
    be followed by looking alone. `dangling` is a reference to a place that the schema does not have, with where it
    stands, `misspelt` a pattern that is no regular expression in any dialect.
    """

    flaw: str = ""
    weight: int = 0
    demand: str = ""
    dangling: str = ""
    misspelt: str = ""


def look(root: Json) -> Look:
    """What one walk over the schema shows. Raises nothing, whatever the schema is."""
    if deeper(root, DEEPEST):
        return Look(f"it is nested more than {DEEPEST} levels deep")
    found = _Walk(root)
    if found.unfinished:
        return Look(found.flaw, demand=found.demand)
    circle = _circle(found.same)
    if circle is not None:
        return Look(f"at {_shown(found.places[circle])} it refers to itself without end")
    dangling = "" if found.rebased else found.dangling
    if found.flaw:
        return Look(found.flaw, dangling=dangling, misspelt=found.misspelt)
    both = {one: [*found.same[one], *found.parts[one]] for one in found.same}
    if max(_unrolled(found.same, found.weights).values(), default=0) > MOST_SCHEMAS:
        return Look("with its references written out it asks too much of one value")
    weight = 0 if found.unclear else _unrolled(both, found.weights).get(id(root), 1)
    weight = weight if weight <= MOST_SCHEMAS else 0
    return Look(weight=weight, demand=found.demand, dangling=dangling, misspelt=found.misspelt)


class _Walk:
    """All subschemas, by identity: those for the same value, those for parts of it, and what is wrong with one."""

    def __init__(self, root: Json) -> None:
        self.same: dict[int, list[int]] = {}
        self.parts: dict[int, list[int]] = {}
        self.weights: dict[int, int] = {}
        self.places: dict[int, str] = {}
        self.flaw = ""
        self.demand = ""
        self.unclear = False
        self.dangling = ""
        self.misspelt = ""
        self.rebased = False
        """Whether a part has an `$id` of its own, so that references within mean other places."""
        self._root = root
        self._waiting: list[tuple[dict[str, Json], str]] = []
        self._enter(root, "")
        while self._waiting and not self.unfinished:
            self._visit(*self._waiting.pop())

    @property
    def unfinished(self) -> bool:
        """Whether there are more than MOST_WRITTEN subschemas."""
        return len(self.places) > MOST_WRITTEN

    def _enter(self, schema: Json, place: str) -> list[int]:
        """Note a subschema; its key, in a list, empty for what is no object."""
        if not isinstance(schema, dict):
            return []
        if id(schema) not in self.places and not self.unfinished:
            self.places[id(schema)] = place
            self._waiting.append((schema, place))
        return [id(schema)]

    def _visit(self, schema: dict[str, Json], place: str) -> None:
        key = id(schema)
        self.weights[key] = 1 + _own_weight(schema)
        self.flaw = self.flaw or _flaw(schema, place)
        self.demand = self.demand or _demand(schema, place)
        self.misspelt = self.misspelt or _misspelt(schema, place)
        self.same[key] = [
            one for sub, where in _subschemas(schema, _SAME_VALUE, place) for one in self._enter(sub, where)
        ]
        self.parts[key] = [one for sub, where in _subschemas(schema, _PARTS, place) for one in self._enter(sub, where)]
        reference = schema.get("$ref")
        if isinstance(reference, str):
            meant = pointed(self._root, reference)
            self.unclear |= meant is None
            if meant is None and reference.startswith("#/"):
                self.dangling = self.dangling or f"$ref {reference[:120]!r} at {_shown(place)}"
            self.same[key] += self._enter(meant, reference.removeprefix("#"))
        self.rebased |= "$id" in schema and bool(place)
        self.unclear |= self.rebased or any(word in schema for word in _ELSEWHERE)


def _subschemas(schema: dict[str, Json], words: tuple[str, ...], place: str) -> Iterator[tuple[Json, str]]:
    for word in words:
        under = schema.get(word)
        if isinstance(under, list):
            yield from ((each, f"{place}/{word}/{i}") for i, each in enumerate(under))
        elif isinstance(under, dict) and word in _MAPS:
            yield from ((each, f"{place}/{word}/{name}") for name, each in under.items())
        elif isinstance(under, dict):
            yield under, f"{place}/{word}"


def _own_weight(schema: dict[str, Json]) -> int:
    values = schema.get("enum")
    weight = len(values) if isinstance(values, list) else 0
    required = schema.get("required")
    weight += len(required) if isinstance(required, list) else 0
    return weight + sum(_heaviness(pattern) for pattern, _ in _patterns(schema, ""))


def _patterns(schema: dict[str, Json], place: str) -> Iterator[tuple[str, str]]:
    if isinstance(schema.get("pattern"), str):
        yield schema["pattern"], f"{place}/pattern"
    properties = schema.get("patternProperties")
    for pattern in properties if isinstance(properties, dict) else ():
        yield pattern, f"{place}/patternProperties"


def _heaviness(pattern: str) -> int:
    return min(_HEAVIEST_PATTERN, len(pattern) * repeats(pattern))


def repeats(pattern: str) -> int:
    """How often the parts of a regular expression are to be repeated, if all repeats were within each other."""
    product = 1
    for least, most in _REPEATS.findall(pattern):
        product *= max(1, int(most or least))
        if product > 10**15:
            break
    return product


def _demand(schema: dict[str, Json], place: str) -> str:
    for word in _ASKS:
        asked = schema.get(word)
        if isinstance(asked, (int, float)) and asked > MOST_ASKED:
            return f"its {word} at {_shown(f'{place}/{word}')} is more than anybody would send"
    return ""


def _flaw(schema: dict[str, Json], place: str) -> str:
    found = _patterns_wrong(schema, place, pattern_flaw)
    return next((f"its pattern at {where} {why}" for _, where, why in found), "")


def _misspelt(schema: dict[str, Json], place: str) -> str:
    found = _patterns_wrong(schema, place, _no_expression)
    return next((f"{pattern[:120]!r} at {where}: {why}" for pattern, where, why in found), "")


def _patterns_wrong(schema: dict[str, Json], place: str, wrong: Callable[[str], str]) -> Iterator[tuple[str, str, str]]:
    """The patterns of which something is wrong, where each stands, and what it is."""
    return ((each, _shown(where), why) for each, where in _patterns(schema, place) if (why := wrong(each)))


@lru_cache(maxsize=1024)
def _no_expression(pattern: str) -> str:
    """Why a pattern is no regular expression in any dialect, "" if one might read it: where Python's and Rust's agree.

    In ECMAScript `[]` is a class of nothing and `[^]` one of everything.
    """
    if len(pattern) > _LONGEST_SPELT or "[]" in pattern or "[^]" in pattern:
        return ""
    try:
        re.compile(pattern)
    except re.error as error:
        if error.msg.startswith(_IN_NO_DIALECT) and _compiled(pattern) is None:
            return error.msg
    except (OverflowError, RecursionError):
        pass
    return ""


@lru_cache(maxsize=1024)
def pattern_flaw(pattern: str) -> str:
    """Why nobody should use a regular expression, "" if there is no reason; one that is none is not judged."""
    if len(pattern) > LONGEST_PATTERN:
        return f"has more than {LONGEST_PATTERN} characters"
    if repeats(pattern) > 1000 and _compiled(pattern) is None:
        return "repeats its parts too often"
    return ""


def matches(pattern: str, text: str) -> bool:
    """Whether the regular expression, ECMAScript's as JSON Schema has it, is found in `text`, in bounded time.

    Raises Unusable.
    """
    known = _compiled(pattern)
    if known is None:
        why = pattern_flaw(pattern) or "cannot be used here"
        raise Unusable(f"the pattern {pattern[:60]!r} {why}")
    validator, linear = known
    if _heaviness(pattern) * len(text) > MOST_WORK:
        raise Unusable(f"the pattern {pattern[:60]!r} would take too long on {len(text)} characters")
    if linear:
        try:
            return bool(validator.is_valid(text))
        except ValueError as error:  # half a surrogate pair
            raise Unusable(f"the pattern {pattern[:60]!r} cannot be applied: {error}") from None
    if len(text) > LONGEST_PATTERN:
        raise Unusable(f"the pattern {pattern[:60]!r} would take too long on {len(text)} characters")
    try:
        for wrong in validator.iter_errors(text):
            if type(wrong.kind).__name__.endswith("_Pattern"):
                return False
            raise Unusable(f"the pattern {pattern[:60]!r} takes too long")
    except UnicodeError as error:
        raise Unusable(f"the pattern {pattern[:60]!r} cannot be applied: {error}") from None
    return True


def in_linear_time(pattern: str) -> bool:
    """Whether `matches` takes no longer than the text is long; True also for a pattern that cannot be used."""
    known = _compiled(pattern)
    return known is None or known[1]


@lru_cache(maxsize=32)
def _compiled(pattern: str) -> tuple[Any, bool] | None:
    """The validator of one pattern, and whether it takes linear time; None if it cannot be used."""
    import jsonschema_rs as rs

    linear = rs.RegexOptions(size_limit=LARGEST_PROGRAM)
    backtracking = rs.FancyRegexOptions(backtrack_limit=_MOST_STEPS_BACK, size_limit=LARGEST_PROGRAM)
    for options in (linear, backtracking) if len(pattern) <= LONGEST_PATTERN else ():
        try:
            return rs.Draft202012Validator({"type": "string", "pattern": pattern}, pattern_options=options), (
                options is linear
            )
        except ValueError:
            continue
    return None


_CONTAINERS = frozenset({dict, list})


def deeper(value: Json, levels: int) -> bool:
    """Whether a JSON value has objects or arrays within each other on more than `levels` levels."""
    layer = [value] if isinstance(value, (dict, list)) else []
    for _ in range(levels):
        if not layer:
            return False
        layer = [
            inner
            for outer in layer
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if type(inner) in _CONTAINERS  # as JSON is decoded; every long message is looked at
        ]
    return bool(layer)


def size(value: Json, most: int) -> int:
    """How many characters and parts a JSON value has; what is beyond `most` is not counted."""
    total = 0
    waiting = [value]
    while waiting and total <= most:
        one = waiting.pop()
        total += 1
        if isinstance(one, str):
            total += len(one)
        elif isinstance(one, int):
            total += one.bit_length() // 64
        elif isinstance(one, (dict, list)):
            if total + len(one) > most:
                return total + len(one)
            if isinstance(one, dict):
                total += sum(map(len, one))
                one = list(one.values())
            waiting += one
    return total


def _circle(edges: dict[int, list[int]]) -> int | None:
    """A node that leads back to itself, if there is one."""
    ordered = _ordered(edges)
    left = edges.keys() - set(ordered)
    if not left:
        return None
    one = next(key for key in edges if key in left)
    passed: set[int] = set()
    while one not in passed:  # each node that is left leads to another one
        passed.add(one)
        one = next(following for following in edges[one] if following in left)
    return one


def _ordered(edges: dict[int, list[int]]) -> list[int]:
    """The nodes that lead into no circle, each after all that it leads to."""
    leading: dict[int, list[int]] = {}
    open_ends = {one: len(following) for one, following in edges.items()}
    for one, following in edges.items():
        for each in following:
            leading.setdefault(each, []).append(one)
    ready = [one for one, count in open_ends.items() if count == 0]
    for one in ready:
        for before in leading.get(one, ()):
            open_ends[before] -= 1
            if open_ends[before] == 0:
                ready.append(before)
    return ready


def _unrolled(edges: dict[int, list[int]], weights: dict[int, int]) -> dict[int, int]:
    """The weight of each node with all that it leads to, as often as it leads there; 0 if that comes back to itself."""
    totals = dict.fromkeys(edges, 0)
    for one in _ordered(edges):
        totals[one] = min(weights[one] + sum(totals[each] for each in edges[one]), 10 * MOST_SCHEMAS)
    return totals


def _shown(place: str) -> str:
    return place[:120] or "its root"
