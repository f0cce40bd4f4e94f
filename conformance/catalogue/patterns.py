"""The closed matching language of the cases: what a pattern means, and how a mismatch is told.

A literal equals itself, type included (1 and 1.0 are one number, `true` is none). An object matches at least the
named members, an array element by element. An object of $-words matches where all of its words do:

- `$type: name` or a list of names: null, boolean, integer (300000.0 is one), number, string, array, object
- `$any: [pattern, …]` one of them matches
- `$not: pattern` there is a value, and it does not match
- `$absent: true` there is no value: no such member or, at the top, no response at all. Nothing else matches that
- `$present: true` there is a value, null included
- `$matches: regex` a string in which the regular expression is found
- `$each: pattern` an array all of whose elements match
- `$some: pattern` an array of which at least one element matches
- `$unique: name` an array in which no two elements that are objects have the same value of that member
- `$schema: schema` valid under the JSON Schema, 2020-12 unless it says otherwise; nothing is fetched
- `$saved: name` equals what a step saved under that name; `$name.member` as a string is short for it
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from conformance.files.yaml_files import Place
from conformance.model import Json
from conformance.validation.json_schemas import Unusable, misfit


class _Absent(Enum):
    ABSENT = "absent"


ABSENT: Json = _Absent.ABSENT
"""The value of a member that is missing, or of a response that did not come."""

LONGEST = 200
"""How much of a value a mismatch shows, in characters."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """The first place where a value does not match.

    `path` is like `result.tools[0].name`, empty for the whole value. `expected` renders the pattern there, `actual`
    the value, at most LONGEST characters of it.
    """

    path: str
    expected: str
    actual: str


@dataclass(frozen=True, slots=True)
class Flaw:
    """What is wrong with a pattern, and where in it."""

    place: Place
    what: str


_NOTHING_SAVED: Mapping[str, Json] = {}


def match(pattern: Json, value: Json, saved: Mapping[str, Json] = _NOTHING_SAVED) -> Mismatch | None:
    """None if `value` matches `pattern`, else the first mismatch.

    `saved` are the values that `$saved` may name; KeyError for another. The pattern must be free of flaws.
    """
    return _match(pattern, value, saved, ())


def _match(pattern: Json, value: Json, saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if _is_words(pattern):
        for word, argument in pattern.items():
            mismatch = _WORDS[word].match(argument, value, saved, place)
            if mismatch is not None:
                return mismatch
        return None
    if value is ABSENT:
        return _mismatch(place, render(pattern, saved), value)
    if isinstance(pattern, dict):
        if not isinstance(value, dict):
            return _mismatch(place, render(pattern, saved), value)
        return _first(_match(part, value.get(name, ABSENT), saved, (*place, name)) for name, part in pattern.items())
    if isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            return _mismatch(place, render(pattern, saved), value)
        pairs = enumerate(zip(pattern, value, strict=True))
        return _first(_match(part, element, saved, (*place, i)) for i, (part, element) in pairs)
    return None if _equal(pattern, value) else _mismatch(place, render(pattern, saved), value)


def _first(mismatches: Iterator[Mismatch | None]) -> Mismatch | None:
    return next((mismatch for mismatch in mismatches if mismatch is not None), None)


def _mismatch(place: Place, expected: str, value: Json) -> Mismatch:
    return Mismatch(path_text(place), expected, shorten(value))


def _is_words(pattern: Json) -> bool:
    return isinstance(pattern, dict) and any(name.startswith("$") for name in pattern)


def _equal(one: Json, other: Json) -> bool:
    """Whether two JSON values are the same; 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(member, other[name]) for name, member in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_equal, one, other))
    numbers = _type_of(one) == _type_of(other) == "number"
    return bool(one == other and (numbers or type(one) is type(other)))


def _type_of(value: Json) -> str:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return "number"
    return _TYPES.get(type(value), "")


_TYPES = {
    type(None): "null",
    bool: "boolean",
    str: "string",
    list: "array",
    dict: "object",
}
_TYPE_NAMES = (*_TYPES.values(), "number", "integer")


# -- the words


def _match_type(names: Json, value: Json, _saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    allowed = [names] if isinstance(names, str) else names
    actual = _type_of(value)
    integer = actual == "number" and value == value // 1
    if actual in allowed or (integer and "integer" in allowed):
        return None
    return _mismatch(place, _render_type(names, _saved), value)


def _match_any(patterns: Json, value: Json, saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if any(_match(pattern, value, saved, place) is None for pattern in patterns):
        return None
    return _mismatch(place, _render_any(patterns, saved), value)


def _match_not(pattern: Json, value: Json, saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if value is not ABSENT and _match(pattern, value, saved, place) is not None:
        return None
    return _mismatch(place, _render_not(pattern, saved), value)


def _match_absent(_true: Json, value: Json, _saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    return None if value is ABSENT else _mismatch(place, "nothing", value)


def _match_present(_true: Json, value: Json, _saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    return _mismatch(place, "anything", value) if value is ABSENT else None


def _match_regex(regex: Json, value: Json, _saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if isinstance(value, str) and re.search(regex, value):
        return None
    return _mismatch(place, _render_regex(regex, _saved), value)


def _match_each(pattern: Json, value: Json, saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if not isinstance(value, list):
        return _mismatch(place, _render_each(pattern, saved), value)
    return _first(_match(pattern, element, saved, (*place, i)) for i, element in enumerate(value))


def _match_some(pattern: Json, value: Json, saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if isinstance(value, list) and any(_match(pattern, each, saved, place) is None for each in value):
        return None
    return _mismatch(place, _render_some(pattern, saved), value)


def _match_unique(name: Json, value: Json, _saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if not isinstance(value, list):
        return _mismatch(place, _render_unique(name, _saved), value)
    texts: set[str] = set()  # most are, and there may be many
    others: list[Json] = []
    for i, element in enumerate(value):
        if not isinstance(element, dict) or name not in element:
            continue
        own = element[name]
        if own in texts if isinstance(own, str) else any(_equal(own, other) for other in others):
            return Mismatch(path_text((*place, i, name)), _render_unique(name, _saved), shorten(own))
        if isinstance(own, str):
            texts.add(own)
        else:
            others.append(own)
    return None


def _match_schema(schema: Json, value: Json, _saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    if value is ABSENT:
        return _mismatch(place, _render_schema(schema, _saved), value)
    try:
        wrong = misfit(schema, value)
    except Unusable:
        return None  # it may be a schema of the server's: what cannot be computed is no mismatch
    if wrong is None:
        return None
    return Mismatch(path_text((*place, *wrong.path)), _render_schema(schema, _saved), shorten(wrong.value))


def _match_saved(name: Json, value: Json, saved: Mapping[str, Json], place: Place) -> Mismatch | None:
    return None if _equal(saved[name], value) else _mismatch(place, shorten(saved[name]), value)


# -- rendering


def render(pattern: Json, saved: Mapping[str, Json] = _NOTHING_SAVED) -> str:
    """The pattern as text to print after "expected", with what was `saved`."""
    if _is_words(pattern):
        return " and ".join(_WORDS[word].render(argument, saved) for word, argument in pattern.items())
    if isinstance(pattern, dict):
        return "{" + ", ".join(f"{name}: {render(part, saved)}" for name, part in pattern.items()) + "}"
    if isinstance(pattern, list):
        return "[" + ", ".join(render(part, saved) for part in pattern) + "]"
    return shorten(pattern)


_ENCODER = json.JSONEncoder(ensure_ascii=False)


def shorten(value: Json) -> str:
    """A value as JSON of at most LONGEST characters, without the parts that cannot be printed."""
    if value is ABSENT:
        return "nothing"
    text = ""
    # Most values are names; making a generator for one takes longer than encoding it.
    simple = not isinstance(value, dict | list | tuple)
    for chunk in (_ENCODER.encode(value),) if simple else _ENCODER.iterencode(value):
        text += chunk[: LONGEST + 1]
        if len(text) > LONGEST:
            text = text[: LONGEST - 1] + "…"
            break
    return text.encode("utf-8", "backslashreplace").decode()


def path_text(place: Place) -> str:
    """A place as it would be written: `result.tools[0].name`."""
    text = ""
    for step in place:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[\w/-]+", step):
            text += f".{step}" if text else step
        else:
            text += f"[{json.dumps(step)}]"
    return text


def _render_type(names: Json, _saved: Mapping[str, Json]) -> str:
    return names if isinstance(names, str) else " or ".join(names)


def _render_any(patterns: Json, saved: Mapping[str, Json]) -> str:
    return " or ".join(render(pattern, saved) for pattern in patterns)


def _render_not(pattern: Json, saved: Mapping[str, Json]) -> str:
    text = render(pattern, saved)
    return f"not ({text})" if " or " in text or " and " in text else f"not {text}"


def _render_regex(regex: Json, _saved: Mapping[str, Json]) -> str:
    return f"text matching /{regex}/"


def _render_each(pattern: Json, saved: Mapping[str, Json]) -> str:
    return f"an array of {render(pattern, saved)}"


def _render_some(pattern: Json, saved: Mapping[str, Json]) -> str:
    return f"an array with {render(pattern, saved)}"


def _render_unique(name: Json, _saved: Mapping[str, Json]) -> str:
    return f"each {name} once"


def _render_schema(schema: Json, _saved: Mapping[str, Json]) -> str:
    return f"valid under the schema {shorten(schema)}"


def _render_saved(name: Json, saved: Mapping[str, Json]) -> str:
    try:
        return shorten(saved[name])
    except KeyError:
        return f"the saved {name}"


# -- checking a pattern


def check_pattern(pattern: Json) -> list[Flaw]:
    """What is wrong with a pattern, with the place of each flaw; empty if it can be used."""
    return list(_flaws(pattern, ()))


def saved_names(pattern: Json) -> Iterator[tuple[str, Place]]:
    """The names that `$saved` mentions in a pattern without flaws, each with its place."""
    for part, place in _parts(pattern, ()):
        if isinstance(part, dict) and "$saved" in part:
            yield part["$saved"], (*place, "$saved")


def _parts(pattern: Json, place: Place) -> Iterator[tuple[Json, Place]]:
    yield pattern, place
    if isinstance(pattern, list):
        for i, element in enumerate(pattern):
            yield from _parts(element, (*place, i))
    elif isinstance(pattern, dict):
        for name, member in pattern.items():
            if name != "$schema":
                yield from _parts(member, (*place, name))


def _flaws(pattern: Json, place: Place) -> Iterator[Flaw]:
    if isinstance(pattern, list):
        for i, element in enumerate(pattern):
            yield from _flaws(element, (*place, i))
    elif isinstance(pattern, dict):
        words = _is_words(pattern)
        for name, member in pattern.items():
            here = (*place, name)
            if not words:
                yield from _flaws(member, here)
            elif name in _WORDS:
                yield from _WORDS[name].flaws(member, here)
            elif name.startswith("$"):
                yield Flaw(here, f"{name} is not a word of the language; the words are {', '.join(_WORDS)}")
            else:
                word = next(other for other in pattern if other.startswith("$"))
                yield Flaw(here, f"the member {name!r} cannot stand beside {word}")


def _flaws_of_type(names: Json, place: Place) -> Iterator[Flaw]:
    for name in names if isinstance(names, list) and names else [names]:
        if name not in _TYPE_NAMES:
            yield Flaw(place, f"{shorten(name)} is not a JSON type; there are {', '.join(_TYPE_NAMES)}")


def _flaws_of_any(patterns: Json, place: Place) -> Iterator[Flaw]:
    if isinstance(patterns, list) and patterns:
        yield from _flaws(patterns, place)
    else:
        yield Flaw(place, "$any takes a list of patterns")


def _flaws_of_true(value: Json, place: Place) -> Iterator[Flaw]:
    if value is not True:
        yield Flaw(place, f"{place[-1]} can only be true")


def _flaws_of_regex(regex: Json, place: Place) -> Iterator[Flaw]:
    if not isinstance(regex, str):
        yield Flaw(place, "$matches takes a regular expression")
        return
    try:
        re.compile(regex)
    except re.error as error:
        yield Flaw(place, f"is not a regular expression: {error}")


def _flaws_of_schema(schema: Json, place: Place) -> Iterator[Flaw]:
    from jsonschema_rs import ValidationError, validator_for

    def fetch(uri: str) -> Json:
        raise LookupError(f"{uri} is elsewhere")

    if not isinstance(schema, (dict, bool)):
        yield Flaw(place, "$schema takes a JSON Schema")
        return
    try:
        validator_for(schema, retriever=fetch)
    except (ValidationError, ValueError) as error:
        yield Flaw(place, f"is not a JSON Schema that can be used: {str(error).splitlines()[0]}")


def _flaws_of_name(name: Json, place: Place) -> Iterator[Flaw]:
    if not isinstance(name, str):
        yield Flaw(place, f"{place[-1]} takes the name of a member")


def _flaws_of_saved(name: Json, place: Place) -> Iterator[Flaw]:
    if not isinstance(name, str):
        yield Flaw(place, "$saved takes a name")


@dataclass(frozen=True, slots=True)
class _Word:
    match: Callable[[Json, Json, Mapping[str, Json], Place], Mismatch | None]
    render: Callable[[Json, Mapping[str, Json]], str]
    flaws: Callable[[Json, Place], Iterator[Flaw]]


_WORDS = {
    "$type": _Word(_match_type, _render_type, _flaws_of_type),
    "$any": _Word(_match_any, _render_any, _flaws_of_any),
    "$not": _Word(_match_not, _render_not, _flaws),
    "$absent": _Word(_match_absent, lambda _true, _saved: "nothing", _flaws_of_true),
    "$present": _Word(_match_present, lambda _true, _saved: "anything", _flaws_of_true),
    "$matches": _Word(_match_regex, _render_regex, _flaws_of_regex),
    "$each": _Word(_match_each, _render_each, _flaws),
    "$some": _Word(_match_some, _render_some, _flaws),
    "$unique": _Word(_match_unique, _render_unique, _flaws_of_name),
    "$schema": _Word(_match_schema, _render_schema, _flaws_of_schema),
    "$saved": _Word(_match_saved, _render_saved, _flaws_of_saved),
}
