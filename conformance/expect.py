"""The closed matching language of the cases.

A literal equals itself, type included (1 and 1.0 are the same number, true is none); an object matches at least the
named members; an array matches element by element. Words: `$type`, `$any`, `$not`, `$absent`, `$present`, `$matches`,
`$each`, `$schema`, `$saved`. A wish for another word is answered with a probe.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from conformance.model import Json

SHOWN = 200
"""Characters of a value that an explanation shows."""


class _Absent:
    def __repr__(self) -> str:
        return "nothing"


ABSENT: Any = _Absent()
"""The value of a member that is not there, and of an answer that did not come."""


@dataclass(frozen=True, slots=True)
class Mismatch:
    """Where a value does not match: `path` like `error.code`, what the pattern wants there, what is there."""

    path: str
    expected: str
    actual: str


TYPES: dict[str, Callable[[Json], bool]] = {
    "object": lambda v: isinstance(v, dict),
    "array": lambda v: isinstance(v, list),
    "string": lambda v: isinstance(v, str),
    "boolean": lambda v: isinstance(v, bool),
    "null": lambda v: v is None,
    "number": lambda v: isinstance(v, (int, float)) and not isinstance(v, bool),
    "integer": lambda v: not isinstance(v, bool) and (isinstance(v, int) or (isinstance(v, float) and v.is_integer())),
}


def match(pattern: Json, value: Json, saved: Mapping[str, Json]) -> Mismatch | None:
    """None if `value` matches, else the first place where it does not. The pattern must have passed check_pattern."""
    return _match(pattern, value, saved, "")


def _match(pattern: Json, value: Json, saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if isinstance(pattern, dict):
        words = [name for name in pattern if name.startswith("$")]
        for word in words:
            wrong = _WORDS[word](pattern[word], value, saved, path)
            if wrong is not None:
                return wrong
        return None if words else _match_members(pattern, value, saved, path)
    if value is ABSENT:
        return Mismatch(path, render(pattern), "nothing")
    if isinstance(pattern, list):
        if not isinstance(value, list) or len(value) != len(pattern):
            return Mismatch(path, render(pattern), show(value))
        return _first(_match(p, v, saved, f"{path}[{i}]") for i, (p, v) in enumerate(zip(pattern, value, strict=True)))
    return None if same(pattern, value) else Mismatch(path, render(pattern), show(value))


def _match_members(pattern: dict[str, Json], value: Json, saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if not isinstance(value, dict):
        return Mismatch(path, render(pattern), show(value))
    for name, wanted in pattern.items():
        here = f"{path}.{name}" if path else name
        wrong = _match(wanted, value.get(name, ABSENT), saved, here)
        if wrong is not None:
            return wrong
    return None


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal, booleans never being numbers."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other or _both_numbers(one, other) and one == other


def _both_numbers(one: Json, other: Json) -> bool:
    return isinstance(one, (int, float)) and isinstance(other, (int, float))


def _first(mismatches: Iterator[Mismatch | None]) -> Mismatch | None:
    return next((wrong for wrong in mismatches if wrong is not None), None)


# -- the words: (argument, value, saved, path) → Mismatch or None


def _type(argument: Json, value: Json, _saved: Mapping[str, Json], path: str) -> Mismatch | None:
    names = argument if isinstance(argument, list) else [argument]
    if value is not ABSENT and any(TYPES[name](value) for name in names):
        return None
    return Mismatch(path, render({"$type": argument}), show(value))


def _any(argument: Json, value: Json, saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if any(_match(option, value, saved, path) is None for option in argument):
        return None
    return Mismatch(path, render({"$any": argument}), show(value))


def _not(argument: Json, value: Json, saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if _match(argument, value, saved, path) is not None:
        return None
    return Mismatch(path, render({"$not": argument}), show(value))


def _absent(argument: Json, value: Json, _saved: Mapping[str, Json], path: str) -> Mismatch | None:
    return None if (value is ABSENT) is argument else Mismatch(path, render({"$absent": argument}), show(value))


def _present(argument: Json, value: Json, _saved: Mapping[str, Json], path: str) -> Mismatch | None:
    return None if (value is not ABSENT) is argument else Mismatch(path, render({"$present": argument}), show(value))


def _matches(argument: Json, value: Json, _saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if isinstance(value, str) and re.search(argument, value):
        return None
    return Mismatch(path, render({"$matches": argument}), show(value))


def _each(argument: Json, value: Json, saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if not isinstance(value, list):
        return Mismatch(path, render({"$each": argument}), show(value))
    return _first(_match(argument, element, saved, f"{path}[{i}]") for i, element in enumerate(value))


def _schema(argument: Json, value: Json, _saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if value is not ABSENT and _validator(json.dumps(argument, sort_keys=True)).is_valid(value):
        return None
    return Mismatch(path, render({"$schema": argument}), show(value))


def _saved(argument: Json, value: Json, saved: Mapping[str, Json], path: str) -> Mismatch | None:
    if value is not ABSENT and argument in saved and same(saved[argument], value):
        return None
    return Mismatch(path, f"the saved {argument}, {show(saved.get(argument, ABSENT))}", show(value))


_WORDS: dict[str, Callable[[Json, Json, Mapping[str, Json], str], Mismatch | None]] = {
    "$type": _type,
    "$any": _any,
    "$not": _not,
    "$absent": _absent,
    "$present": _present,
    "$matches": _matches,
    "$each": _each,
    "$schema": _schema,
    "$saved": _saved,
}


@lru_cache(maxsize=256)
def _validator(schema: str) -> Any:
    from jsonschema_rs import validator_for

    return validator_for(json.loads(schema))


# -- checking a pattern before it is used


def check_pattern(pattern: Json, path: str = "") -> Iterator[str]:
    """What is wrong with a pattern, each with its place in it; nothing if it may be used."""
    if isinstance(pattern, list):
        for i, element in enumerate(pattern):
            yield from check_pattern(element, f"{path}[{i}]")
    if not isinstance(pattern, dict):
        return
    words = [name for name in pattern if name.startswith("$")]
    if words and len(words) < len(pattern):
        yield f"{path or 'pattern'}: {words[0]} cannot stand beside members"
    for word in words:
        yield from (f"{path or 'pattern'}: {problem}" for problem in _check_word(word, pattern[word]))
    for name, inner in pattern.items():
        if name not in words:
            yield from check_pattern(inner, f"{path}.{name}" if path else name)


def _check_word(word: str, argument: Json) -> Iterator[str]:
    if word not in _WORDS:
        yield f"unknown word {word}; there are {', '.join(_WORDS)}"
    elif word == "$type":
        for name in argument if isinstance(argument, list) else [argument]:
            if name not in TYPES:
                yield f"unknown type {name!r}; there are {', '.join(TYPES)}"
    elif word == "$any":
        if not isinstance(argument, list) or not argument:
            yield "$any takes a list of patterns"
            return
        for option in argument:
            yield from check_pattern(option)
    elif word in ("$not", "$each"):
        yield from check_pattern(argument)
    elif word in ("$absent", "$present") and not isinstance(argument, bool):
        yield f"{word} takes true or false"
    elif word == "$saved" and not isinstance(argument, str):
        yield "$saved takes a name"
    elif word == "$matches":
        try:
            re.compile(argument)
        except (re.error, TypeError) as error:
            yield f"$matches takes a regular expression: {error}"
    elif word == "$schema":
        try:
            _validator(json.dumps(argument, sort_keys=True))
        except ValueError as error:
            yield f"$schema takes a JSON Schema: {str(error)[:200]}"


# -- explaining


def render(pattern: Json) -> str:
    """A pattern for people, on one line."""
    if isinstance(pattern, dict):
        words = [_render_word(word, argument) for word, argument in pattern.items() if word.startswith("$")]
        if words:
            return " and ".join(words)
        return "{" + ", ".join(f"{name}: {render(inner)}" for name, inner in pattern.items()) + "}"
    if isinstance(pattern, list):
        return "[" + ", ".join(map(render, pattern)) + "]"
    return show(pattern)


def _render_word(word: str, argument: Json) -> str:
    if word == "$type":
        return "any " + " or ".join(argument if isinstance(argument, list) else [argument])
    if word == "$any":
        return " or ".join(map(render, argument))
    if word == "$not":
        return f"anything but {render(argument)}"
    if word in ("$absent", "$present"):
        return "nothing" if (word == "$absent") is argument else "something"
    if word == "$matches":
        return f"a string that matches /{argument}/"
    if word == "$each":
        return f"an array of {render(argument)}"
    return f"what fits {show(argument)}" if word == "$schema" else f"the saved {argument}"


def show(value: Json) -> str:
    """A value as JSON, shortened to 200 characters."""
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 20]}… ({len(text)} characters)"
