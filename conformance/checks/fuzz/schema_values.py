"""Values that a JSON Schema admits, and values that break it in one place by one keyword.

Knows the keywords of the specification's own schemas and those that tools use: what is made is validated by who asks.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass

from conformance.checks.fuzz.choices import Choices, one_of, text
from conformance.checks.fuzz.odd_values import ARTICLES, FORMATS, INTEGERS, NUMBERS, ODD, OF_TYPE, PLAIN, SHAPES
from conformance.model import Json

Schema = Mapping[str, Json]
Part = tuple[str, Schema]
"""What the references in a schema are relative to, and the schema."""
Place = tuple[str | int, ...]

DEEPEST = 6
MOST_STEPS = 20_000
"""Subschemas looked at for one value."""
MOST_ITEMS = 1_000
LONGEST = 70_000
"""Characters of a string."""


class Unmakeable(Exception):
    """No value can be made up for a schema; the text says why."""


@dataclass(frozen=True, slots=True)
class Break:
    """A keyword of a schema that can be broken at a place; `schema` is the part that has it."""

    place: Place
    keyword: str
    schema: Schema
    detail: Json = None


class Maker:
    """Makes values; `resolve` finds what a reference means. Addresses are never made: a tool could fetch them."""

    def __init__(self, resolve: Callable[[str, str], Part]) -> None:
        self._resolve = resolve
        self._left = 0

    def value(self, part: Part, choices: Choices) -> Json:
        """A value that the schema admits, as far as we understand it. Raises Unmakeable.

        Raises what Python raises where a keyword has a value of another type than keywords have.
        """
        self._left = MOST_STEPS
        return self._value(part, choices, 0)

    def _step(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise Unmakeable("a schema has too many parts")

    def _value(self, part: Part, choices: Choices, depth: int) -> Json:
        parts = list(self._parts(part, choices))
        for _, schema in parts:
            if "const" in schema:
                return schema["const"]
        for _, schema in parts:
            if isinstance(schema.get("enum"), list) and schema["enum"]:
                return one_of(choices, schema["enum"])
        types = [_types(schema) for _, schema in parts if "type" in schema]
        allowed = [name for name in types[0] if all(name in other for other in types)] if types else []
        if types and not allowed:
            raise Unmakeable("no type is allowed")
        kind = one_of(choices, allowed) if allowed else _implied(parts)
        if kind == "object":
            return self._object(parts, choices, depth)
        if kind == "array":
            return self._array(parts, choices, depth)
        if kind == "string":
            return _string(parts, choices)
        if kind in ("integer", "number"):
            return _number(parts, kind, choices)
        return None if kind == "null" else bool(choices.below(2))

    def parts(self, part: Part) -> Iterator[Part]:
        """The schema and all that it asks for as well: references followed, but no alternative of a union."""
        self._left = MOST_STEPS
        return self._parts(part, None)

    def _parts(self, part: Part, choices: Choices | None, depth: int = 0) -> Iterator[Part]:
        base, schema = part
        self._step()
        if not isinstance(schema, Mapping) or depth > DEEPEST:
            return
        yield part
        if isinstance(schema.get("$ref"), str):
            yield from self._parts(self._resolve(base, schema["$ref"]), choices, depth + 1)
        for one in schema.get("allOf", ()):
            yield from self._parts((base, one), choices, depth + 1)
        for union in ("anyOf", "oneOf"):
            if choices is not None and isinstance(schema.get(union), list) and schema[union]:
                yield from self._parts((base, one_of(choices, schema[union])), choices, depth + 1)

    def _object(self, parts: list[Part], choices: Choices, depth: int) -> dict[str, Json]:
        members = _members(parts)
        required = {name for _, schema in parts for name in schema.get("required", ())}
        if len(required) > MOST_ITEMS:
            raise Unmakeable(f"an object must have {len(required)} members")
        made: dict[str, Json] = {}
        for name in [*required, *(name for name in members if name not in required)]:
            if name in required or (depth < DEEPEST and choices.below(2)):
                made[name] = self._of_all(members.get(name, []), choices, depth + 1)
        for _, schema in parts:
            companions = schema.get("dependentRequired")
            for name, needed in companions.items() if isinstance(companions, Mapping) else ():
                for each in needed if name in made else ():
                    made.setdefault(each, self._of_all(members.get(each, []), choices, depth + 1))
        return made

    def _array(self, parts: list[Part], choices: Choices, depth: int) -> list[Json]:
        first: list[Schema] = next((schema["prefixItems"] for _, schema in parts if "prefixItems" in schema), [])
        base = parts[0][0]
        items = [(base, schema["items"]) for base, schema in parts if isinstance(schema.get("items"), Mapping)]
        closed = any(schema.get("items") is False for _, schema in parts)
        least = max((int(schema.get("minItems", 0)) for _, schema in parts), default=0)
        if least > MOST_ITEMS:
            raise Unmakeable(f"an array must have more than {MOST_ITEMS} items")
        most = min((int(schema.get("maxItems", least + 3)) for _, schema in parts), default=least)
        length = least + choices.below(max(0, min(most, least + 3) - least) + 1) if depth < DEEPEST else least
        length = min(length, len(first)) if closed else length
        return [
            self._value((base, first[i]), choices, depth + 1) if i < len(first) else self._of_all(items, choices, depth)
            for i in range(length)
        ]

    def _of_all(self, parts: list[Part], choices: Choices, depth: int) -> Json:
        if not parts:
            return one_of(choices, ("x", 1, None, [], {}))
        if len(parts) == 1:
            return self._value(parts[0], choices, depth)
        base = parts[0][0]
        return self._value((base, {"allOf": [schema for _, schema in parts]}), choices, depth)

    # -- breaking

    def breaks(self, part: Part, value: Json) -> Iterator[Break]:
        """All that can be broken in `value`, which the schema admits; also members that it could have and lacks.

        Raises as `value` does.
        """
        self._left = MOST_STEPS
        yield from self._breaks(part, value, (), 0)

    def _breaks(self, part: Part, value: Json, place: Place, depth: int) -> Iterator[Break]:
        if depth > DEEPEST:
            return
        parts = [one for each in self._parts(part, None) for one in (each, *self._meant(each, value))]
        for _, schema in parts:
            for keyword in ("type", "const", "enum", *BOUNDS, "pattern", "uniqueItems", "anyOf", "oneOf"):
                if keyword in schema and _concerns(keyword, value):
                    yield Break(place, keyword, schema)
            if isinstance(value, dict):
                for name in schema.get("required", ()):
                    if name in value:
                        yield Break((*place, name), "required", schema)
                if schema.get("additionalProperties") is False:
                    yield Break(place, "additionalProperties", schema)
                dependent = schema.get("dependentRequired")
                for name, needed in dependent.items() if isinstance(dependent, Mapping) else ():
                    if name in value and needed:
                        yield Break(place, "dependentRequired", schema, (name, needed[0]))
        if isinstance(value, dict):
            for name, under in _members(parts).items():
                for each in under:
                    if name in value:
                        yield from self._breaks(each, value[name], (*place, name), depth + 1)
                    else:
                        yield from self._absent(each, (*place, name))
            for base, schema in parts:
                open_to = schema.get("additionalProperties")
                if isinstance(open_to, Mapping) and open_to:
                    yield from self._absent((base, open_to), (*place, "mcp-conform"))
        elif isinstance(value, list):
            for base, schema in parts:
                if isinstance(schema.get("items"), Mapping):
                    for i, item in enumerate(value[:2]):
                        yield from self._breaks((base, schema["items"]), item, (*place, i), depth + 1)
                    if not value:
                        yield from self._absent((base, schema["items"]), (*place, 0))

    def _meant(self, part: Part, value: Json) -> list[Part]:
        """Of a union of objects the one that the value names by a constant."""
        base, schema = part
        for one in [*schema.get("anyOf", ()), *schema.get("oneOf", ())]:
            under = list(self._parts((base, one), None))
            constants = [
                (name, each["const"])
                for _, each in under
                for name, each in each.get("properties", {}).items()
                if isinstance(each, Mapping) and "const" in each
            ]
            if constants and isinstance(value, dict) and all(value.get(name) == wanted for name, wanted in constants):
                return under
        return []

    def _absent(self, part: Part, place: Place) -> Iterator[Break]:
        """What a member that is not there could break if it were."""
        for _, schema in self._parts(part, None):
            for keyword in ("type", "const", "enum"):
                if keyword in schema:
                    yield Break(place, keyword, schema)


BOUNDS = {
    "minimum": (int, float),
    "maximum": (int, float),
    "exclusiveMinimum": (int, float),
    "exclusiveMaximum": (int, float),
    "multipleOf": (int, float),
    "minLength": str,
    "maxLength": str,
    "minItems": list,
    "maxItems": list,
    "minProperties": dict,
    "maxProperties": dict,
}


def broken(value: Json, what: Break, choices: Choices) -> tuple[Json, str] | None:
    """A copy of `value` with that broken, and in words what is wrong; None if that cannot be done."""
    copy = deepcopy(value)
    holder: Json = copy
    for step in what.place[:-1]:
        holder = holder[step]
    where = _named(what.place)
    if what.keyword == "required":
        del holder[what.place[-1]]
        return copy, f"{where} is missing"
    old = _at(copy, what.place)
    if what.keyword == "additionalProperties":
        old["mcp-conform-extra"] = one_of(choices, ("x", 1, None, {}))
        return copy, f"{where or 'the object'} has a member that is not allowed"
    if what.keyword == "dependentRequired":
        name, needed = what.detail
        old.pop(needed, None)
        return copy, f"{where}.{needed} is missing beside {name}".removeprefix(".")
    new = _wrong(old, what, choices)
    if new is None:
        return None
    (instead,) = new
    label = f"{where or 'the whole'}: {_shown(instead)}, {_rule(what)}"
    if not what.place:
        return instead, label
    if isinstance(holder, list) and what.place[-1] == len(holder):
        holder.append(instead)
    else:
        holder[what.place[-1]] = instead
    return copy, label


def _wrong(old: Json, what: Break, choices: Choices) -> tuple[Json] | None:
    """A value that breaks the keyword, in a tuple of one; None if there is none."""
    limit = what.schema[what.keyword]
    match what.keyword:
        case "type" | "anyOf" | "oneOf":
            allowed = _types(what.schema) if what.keyword == "type" else ("object", "string", "array")
            others = [
                name for name in OF_TYPE if name not in allowed and not (name == "integer" and "number" in allowed)
            ]
            if "integer" in allowed and "number" not in allowed and "number" in others and choices.below(3) == 2:
                return (0.5,)
            return (one_of(choices, OF_TYPE[one_of(choices, others)]),) if others else None
        case "const" | "enum":
            known = limit if what.keyword == "enum" else [limit]
            texts = [one for one in known if isinstance(one, str)]
            odd = ("mcp-conform", "", *(f"{one}x" for one in texts[:2]), *(one.swapcase() for one in texts[:1]))
            return (one_of(choices, odd if texts else ("mcp-conform", -987_654)),)
        case "minimum" | "exclusiveMinimum":
            return (one_of(choices, (limit - (what.keyword == "minimum"), limit - 1000, -(2**53))),)
        case "maximum" | "exclusiveMaximum":
            return (one_of(choices, (limit + (what.keyword == "maximum"), limit + 1000, 2**53)),)
        case "multipleOf":
            return (limit * 1.5,)
        case "minLength":
            return (old[: limit - 1],) if limit else None
        case "maxLength":
            return ("x" * (limit + one_of(choices, (1, 10, 1000))),) if limit <= LONGEST else None
        case "minItems":
            return (old[: limit - 1],) if limit else None
        case "maxItems":
            more = limit + one_of(choices, (1, 10)) - len(old)
            return ([*old, *([old[-1] if old else "x"] * more)],) if limit <= MOST_ITEMS else None
        case "uniqueItems":
            return ([*old, old[0]],) if old and limit else None
        case "pattern":
            return (one_of(choices, ("", "\u2028", "mcp-conform", "!")),)
        case "minProperties":
            return ({},) if limit else None
        case "maxProperties":
            return ({**old, **{f"mcp-conform-{i}": i for i in range(limit + 1)}},) if limit <= MOST_ITEMS else None
    return None


def _rule(what: Break) -> str:
    limit = what.schema.get(what.keyword)
    if what.keyword == "type":
        return "expected " + " or ".join(ARTICLES.get(name, f"a {name}") for name in _types(what.schema))
    if what.keyword in ("anyOf", "oneOf"):
        return "expected one of several types"
    shown = json.dumps(limit, ensure_ascii=False)
    return f"{what.keyword} is {shown if len(shown) < 80 else shown[:80] + '…'}"


def _shown(value: Json) -> str:
    shown = json.dumps(value, ensure_ascii=False)
    return shown if len(shown) <= 60 else f"{shown[:40]}… ({len(shown)} characters)"


def _named(place: Place) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in place).removeprefix(".")


def _at(value: Json, place: Place) -> Json:
    for step in place:
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def _concerns(keyword: str, value: Json) -> bool:
    if keyword in BOUNDS:
        return isinstance(value, BOUNDS[keyword]) and not isinstance(value, bool)  # type: ignore[arg-type]
    if keyword == "pattern":
        return isinstance(value, str)
    return isinstance(value, list) if keyword == "uniqueItems" else True


def _members(parts: list[Part]) -> dict[str, list[Part]]:
    members: dict[str, list[Part]] = {}
    for base, schema in parts:
        properties = schema.get("properties")
        for name, under in properties.items() if isinstance(properties, Mapping) else ():
            if isinstance(under, Mapping):
                members.setdefault(name, []).append((base, under))
    return members


def _types(schema: Schema) -> tuple[str, ...]:
    kinds = schema["type"]
    return (kinds,) if isinstance(kinds, str) else tuple(kinds)


def _implied(parts: list[Part]) -> str:
    words = {word for _, schema in parts for word in schema}
    if words & {"properties", "required", "additionalProperties"}:
        return "object"
    return "array" if "items" in words else "string"


def _string(parts: list[Part], choices: Choices) -> str:
    for _, schema in parts:
        if "pattern" in schema:
            raise Unmakeable(f"a string must match {schema['pattern']!r}")
        form = schema.get("format")
        if form in FORMATS:
            return one_of(choices, FORMATS[str(form)])
        if form in ("url", "uri-reference", "hostname", "iri", "ipv4", "ipv6"):
            raise Unmakeable("an argument is an address")
    least = max((int(schema.get("minLength", 0)) for _, schema in parts), default=0)
    if least > LONGEST:
        raise Unmakeable(f"a string must have more than {LONGEST} characters")
    most = min((int(schema.get("maxLength", 10**6)) for _, schema in parts), default=10**6)
    shape = choices.below(len(SHAPES) + 3)
    made = SHAPES[shape] if shape < len(SHAPES) else text(choices, one_of(choices, (PLAIN, ODD)), 6)
    return made.ljust(least, "x")[:most]


def _number(parts: list[Part], kind: str, choices: Choices) -> Json:
    schemas = [schema for _, schema in parts]
    low = max((s["minimum"] for s in schemas if "minimum" in s), default=-math.inf)
    low = max([low, *(s["exclusiveMinimum"] + 1 for s in schemas if "exclusiveMinimum" in s)])
    high = min((s["maximum"] for s in schemas if "maximum" in s), default=math.inf)
    high = min([high, *(s["exclusiveMaximum"] - 1 for s in schemas if "exclusiveMaximum" in s)])
    edges = [edge for edge in (low, high, low + 1, high - 1) if math.isfinite(edge)]
    if kind == "integer":
        edges = [math.ceil(edge) for edge in edges]
    candidates = [*INTEGERS, *(() if kind == "integer" else NUMBERS), *edges]
    fitting = [number for number in candidates if low <= number <= high]
    steps = [s["multipleOf"] for s in schemas if s.get("multipleOf")]
    if steps:
        fitting = [number for number in fitting if math.fmod(number, steps[0]) == 0]
    if not fitting:
        raise Unmakeable("no number fits")
    return one_of(choices, fitting)
