"""Strict YAML: JSON scalars only, unique keys, no anchors or tags, and the line of every value."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

from conformance.model import Json

Lines = dict[tuple[str | int, ...], int]
"""Path of a value → its line, from 1."""


class FileError(Exception):
    """Something is wrong in a file: `path:line: what`."""

    def __init__(self, path: Path, line: int, what: str) -> None:
        super().__init__(f"{path}:{line}: {what}")


_LOADER: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
_INTEGER = re.compile(r"-?(0|[1-9][0-9]*)\Z")
_FLOAT = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?\Z")
_WORDS: dict[str, Json] = {"true": True, "false": False, "null": None}
_AMBIGUOUS = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}.*|0[xo]?[0-9a-fA-F_]+|[0-9]+(:[0-9]+)+|~|yes|no|on|off|True|False|Null)\Z",
    re.IGNORECASE,
)


def load(path: Path) -> tuple[Json, Lines]:
    """The data of a YAML file, and the line of each value in it. Raises FileError."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FileError(path, 1, f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    try:
        node = yaml.compose(text, Loader=_LOADER)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        what = getattr(error, "problem", None) or str(error)
        raise FileError(path, mark.line + 1 if mark else 1, f"is not valid YAML: {what}") from None
    if node is None:
        raise FileError(path, 1, "is empty")
    lines: Lines = {}
    return _Reader(path, lines).value(node, ()), lines


def line_of(lines: Lines, path: Iterable[str | int]) -> int:
    """The line of the value at `path`, or of the nearest value around it."""
    steps = tuple(path)
    while steps and steps not in lines:
        steps = steps[:-1]
    return lines.get(steps, 1)


class _Reader:
    def __init__(self, path: Path, lines: Lines) -> None:
        self._path = path
        self._lines = lines
        self._seen: set[int] = set()

    def value(self, node: yaml.Node, where: tuple[str | int, ...]) -> Json:
        line = node.start_mark.line + 1
        if id(node) in self._seen:
            raise FileError(self._path, line, "anchors and aliases are not allowed")
        self._seen.add(id(node))
        self._lines[where] = line
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, where)
        if isinstance(node, yaml.SequenceNode):
            return [self.value(element, (*where, i)) for i, element in enumerate(node.value)]
        return self._scalar(node, line)

    def _mapping(self, node: yaml.MappingNode, where: tuple[str | int, ...]) -> dict[str, Json]:
        mapping: dict[str, Json] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value
            if not isinstance(key_node, yaml.ScalarNode):
                raise FileError(self._path, line, "a key must be a string")
            if key in mapping:
                raise FileError(self._path, line, f"the key {key!r} stands twice")
            mapping[key] = self.value(value_node, (*where, key))
        return mapping

    def _scalar(self, node: yaml.Node, line: int) -> Json:
        text = str(node.value)
        if getattr(node, "style", None):
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.match(text):
            return int(text)
        if _FLOAT.match(text):
            return float(text)
        if not text or _AMBIGUOUS.match(text):
            raise FileError(self._path, line, f"{text!r} means different things to YAML readers: put it in quotes")
        return text
