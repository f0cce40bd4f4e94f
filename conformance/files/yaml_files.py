"""Strict YAML: JSON scalars only, unique keys, no anchors or tags, and the line of every value."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml

Place = tuple[str | int, ...]
"""Where a value stands: the keys and indices that lead to it."""

Lines = dict[Place, int]
"""Place of a value → its line, from 1."""

MAX_DEPTH = 50
DIGITS = 4000
"""Of a whole number; Python reads no more than 4300."""

_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_PAIRS = r"an escape such as \ud83d is half a character: YAML has no pairs of them; write the character itself"
_WORDS = {"true": True, "false": False, "null": None}
_AMBIGUOUS = re.compile(
    r"""( [0-9]{4}-[0-9]{1,2}-[0-9]{1,2} (([Tt]|\s+)[0-9].*)?   # a date or a time
        | [-+]? [0-9][0-9_]* (:[0-9]{1,2})+ (\.[0-9_]*)?         # base 60
        | [-+]? ( 0[xob]?[0-9a-f_]+ | [0-9][0-9_]* )             # base 16, 8 or 2, thousands
        | [-+]? [0-9_]* \. [0-9_]* (e[-+]?[0-9]+)?               # fractions that JSON has not
        | [-+]? \. (inf|nan)
        | ~ | = | y | n | yes | no | on | off | true | false | null )\Z""",
    re.IGNORECASE | re.VERBOSE,
)


class FileError(Exception):
    """Something is wrong in a file; its text is `path:line: what`."""

    def __init__(self, path: Path, line: int, what: str) -> None:
        super().__init__(f"{path}:{line}: {what}")
        self.path = path
        self.line = line
        self.what = what


def load(path: Path, schema: Path | None = None) -> tuple[Any, Lines]:
    """The data of a YAML file and the line of each value; valid under the JSON Schema in the file `schema`.

    Raises FileError.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileError(path, 1, f"cannot be read: {why}") from None
    return parse(text, path, schema)


def parse(text: str, path: Path, schema: Path | None = None) -> tuple[Any, Lines]:
    """As `load`, of a text that stands in the file `path` or is about to. Raises FileError."""
    lines: Lines = {}
    try:
        data = _Reader(path, lines, yaml.parse(text, Loader=_LOADER)).document()
    except yaml.YAMLError as error:
        raise FileError(path, _line_of_error(error, text), f"is not valid YAML: {_reason(error)}") from None
    if schema is not None:
        check(path, data, lines, schema)
    return data, lines


def line_of(lines: Lines, place: Iterable[str | int]) -> int:
    """The line of the value at `place`, or of the nearest value around it."""
    steps = tuple(place)
    while steps and steps not in lines:
        steps = steps[:-1]
    return lines.get(steps, 1)


class _Reader:
    """Builds the data from the events of the parser, which still know anchors and tags."""

    def __init__(self, path: Path, lines: Lines, events: Iterator[Any]) -> None:
        self._path = path
        self._lines = lines
        self._events = events

    def document(self) -> Any:
        next(self._events)
        if isinstance(next(self._events), yaml.StreamEndEvent):
            raise FileError(self._path, 1, "is empty")
        data = self._value(next(self._events), ())
        next(self._events)
        rest = next(self._events)
        if not isinstance(rest, yaml.StreamEndEvent):
            raise self._error(rest, "a second document is not allowed")
        return data

    def _error(self, event: Any, what: str) -> FileError:
        return FileError(self._path, event.start_mark.line + 1, what)

    def _check(self, event: Any) -> None:
        if event.anchor is not None:
            raise self._error(event, "anchors and aliases are not allowed")
        if event.tag is not None:
            raise self._error(event, f"the tag {event.tag} is not allowed")

    def _value(self, event: Any, place: Place) -> Any:
        self._check(event)
        self._lines.setdefault(place, event.start_mark.line + 1)
        if isinstance(event, yaml.ScalarEvent):
            return self._scalar(event)
        if len(place) >= MAX_DEPTH:
            raise self._error(event, f"is nested more than {MAX_DEPTH} deep")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(place)
        return self._sequence(place)

    def _sequence(self, place: Place) -> list[Any]:
        elements: list[Any] = []
        while not isinstance(event := next(self._events), yaml.SequenceEndEvent):
            elements.append(self._value(event, (*place, len(elements))))
        return elements

    def _mapping(self, place: Place) -> dict[str, Any]:
        mapping: dict[str, Any] = {}
        while not isinstance(event := next(self._events), yaml.MappingEndEvent):
            self._check(event)
            key = self._scalar(event) if isinstance(event, yaml.ScalarEvent) else None
            if not isinstance(key, str):
                raise self._error(event, "a key must be a string")
            if key in mapping:
                raise self._error(event, f"the key {key!r} stands twice")
            self._lines[*place, key] = event.start_mark.line + 1
            mapping[key] = self._value(next(self._events), (*place, key))
        return mapping

    def _scalar(self, event: Any) -> Any:
        text = str(event.value)
        if _SURROGATE.search(text):  # the reader in C refuses them, the one in Python does not
            raise self._error(event, _NO_PAIRS)
        if event.style:
            return text
        if not text:
            raise self._error(event, 'a value is missing: write null, "" or what is meant')
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.match(text):
            if len(text) > DIGITS:
                raise self._error(event, f"a number of {len(text)} digits is too large")
            return int(text)
        if _FLOAT.match(text):
            number = float(text)
            if not math.isfinite(number):
                raise self._error(event, f"{text} is too large for a number")
            return number
        if _AMBIGUOUS.match(text):
            raise self._error(event, f"{text} means different things to YAML readers: put it in quotes")
        return text


def _reason(error: yaml.YAMLError) -> str:
    what = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    return _NO_PAIRS if "invalid Unicode character escape" in what else what


def _line_of_error(error: yaml.YAMLError, text: str) -> int:
    mark = getattr(error, "problem_mark", None)
    if mark is not None:
        return int(mark.line) + 1
    # A character that YAML forbids is found before there are lines; its position counts bytes.
    return text.encode()[: getattr(error, "position", 0)].count(b"\n") + 1


@cache
def _schema(path: Path) -> tuple[Any, Any]:
    from jsonschema_rs import Draft202012Validator

    schema = json.loads(path.read_text(encoding="utf-8"))
    return schema, Draft202012Validator(schema)


def check(path: Path, data: Any, lines: Lines, schema_path: Path) -> None:
    """Raise FileError with the first thing that is wrong with `data` under the schema in the file `schema_path`."""
    for problem in problems(path, data, lines, schema_path).values():
        raise problem


def problems(path: Path, data: Any, lines: Lines, schema_path: Path, depth: int = 0) -> dict[Place, FileError]:
    """What is wrong with `data` under the schema, the first thing of each part of it; parts are `depth` keys away."""
    schema, validator = _schema(schema_path)
    if validator.is_valid(data):
        return {}
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    found: dict[Place, list[tuple[bool, int, str]]] = {}
    for each in Draft202012Validator(schema).iter_errors(data):
        error = best_match([each])
        # An unknown word comes first: it often is the one that another error misses.
        rank = (error.validator != "additionalProperties", *_explain(error, lines))
        found.setdefault(tuple(error.absolute_path)[:depth], []).append(rank)
    first = {place: min(ranks) for place, ranks in found.items()}
    return {place: FileError(path, line, what) for place, (_, line, what) in first.items()}


def _explain(error: Any, lines: Lines) -> tuple[int, str]:
    """The line of an error of jsonschema, and what is wrong there."""
    place = tuple(error.absolute_path)
    where = ".".join(map(str, place)) or "the file"
    if error.validator == "additionalProperties" and isinstance(error.instance, Mapping):
        known = list(error.schema.get("properties", {}))
        unknown = next(name for name in error.instance if name not in known)
        return line_of(lines, (*place, unknown)), f"{unknown!r} is not known in {where}; allowed are {', '.join(known)}"
    if error.validator == "oneOf" and all(set(option) == {"required"} for option in error.validator_value):
        names = ", ".join(option["required"][0] for option in error.validator_value)
        return line_of(lines, place), f"{where} needs exactly one of {names}"
    if error.validator == "required":
        missing = next(name for name in error.validator_value if name not in error.instance)
        return line_of(lines, place), f"{where} needs {missing!r}"
    return line_of(lines, place), f"{where}: {error.message[:300]}"
