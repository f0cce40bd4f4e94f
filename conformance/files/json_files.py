"""JSON as editors keep it: comments and trailing commas are accepted, and the line of every value is told."""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from pathlib import Path
from typing import Any, NoReturn

from conformance.files.yaml_files import MAX_DEPTH, FileError, Lines, Place

_BLANK = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*+", re.DOTALL)
_SCALAR = re.compile(r"[-+.\w]+")


def load(path: Path) -> tuple[Any, Lines]:
    """The data of a JSON file and the line of each value. Of a key that stands twice, the last value counts.

    Raises FileError, with line and column if it is not JSON.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FileError(path, 1, "cannot be read: it is not UTF-8") from None
    except IsADirectoryError:
        raise FileError(path, 1, "cannot be read: it is a directory; name the file in it") from None
    except OSError as error:
        raise FileError(path, 1, f"cannot be read: {error.strerror}") from None
    return _Reader(path, text).document()


class _Reader:
    """Reads one text; `_at` is where it stands."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._text = text
        self._at = 0
        self._lines: Lines = {}
        self._line, self._counted = 1, 0

    def document(self) -> tuple[Any, Lines]:
        if not self._next():
            self._wrong("the file is empty")
        data = self._value(())
        if self._next():
            self._wrong("something follows the value of the file")
        return data, self._lines

    def _next(self) -> str:
        """The next character that is neither blank nor in a comment, "" at the end."""
        blank = _BLANK.match(self._text, self._at)
        assert blank is not None
        self._at = blank.end()
        if self._text.startswith("/*", self._at):
            self._wrong("a comment is not closed: */ is missing")
        return self._text[self._at : self._at + 1]

    def _wrong(self, what: str) -> NoReturn:
        column = self._at - self._text.rfind("\n", 0, self._at)
        raise FileError(self._path, self._here(), f"is not valid JSON: column {column}: {what}")

    def _here(self) -> int:
        """The line of the place that is being read; places never go back."""
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _value(self, place: Place) -> Any:
        first = self._next()
        self._lines.setdefault(place, self._here())
        if len(place) >= MAX_DEPTH:
            self._wrong(f"nested more than {MAX_DEPTH} deep")
        if first == "{":
            return self._object(place)
        if first == "[":
            return self._array(place)
        return self._string() if first == '"' else self._scalar()

    def _object(self, place: Place) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._at += 1
        while (first := self._next()) != "}":
            if first != '"':
                self._wrong("a key in double quotes or } was expected" if first else "} is missing at the end")
            line = self._here()
            key = self._string()
            self._lines[*place, key] = line
            if self._next() != ":":
                self._wrong(f"a colon was expected after the key {key!r}")
            self._at += 1
            members[key] = self._value((*place, key))
            if not self._comma("}"):
                break
        self._at += 1
        return members

    def _array(self, place: Place) -> list[Any]:
        elements: list[Any] = []
        self._at += 1
        while self._next() != "]":
            elements.append(self._value((*place, len(elements))))
            if not self._comma("]"):
                break
        self._at += 1
        return elements

    def _comma(self, end: str) -> bool:
        """Whether a comma comes, which is passed over; else it must be the end of what is being read."""
        found = self._next()
        if found == ",":
            self._at += 1
            return True
        if found != end:
            self._wrong(f"a comma or {end} was expected" if found else f"{end} is missing at the end")
        return False

    def _string(self) -> str:
        try:
            text, end = scanstring(self._text, self._at + 1, True)
        except json.JSONDecodeError as error:
            self._at = error.pos
            self._wrong(error.msg[:1].lower() + error.msg[1:].removesuffix(" at"))
        self._at = end
        return str(text)

    def _scalar(self) -> Any:
        found = _SCALAR.match(self._text, self._at)
        try:
            value = json.loads(found[0] if found else "", parse_constant=_refuse)
        except ValueError:
            what = found[0][:40] if found else self._text[self._at : self._at + 1]
            self._wrong(f"a value was expected, not {what!r}" if what else "a value is missing at the end")
        self._at += len(found[0]) if found else 0
        return value


def _refuse(name: str) -> NoReturn:
    raise ValueError(name)
