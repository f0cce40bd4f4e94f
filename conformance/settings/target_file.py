"""The target file, `mcp-conform.yaml` or `[tool.mcp-conform]` in pyproject.toml; `schemas/target.json` describes it."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from conformance.files.places import SCHEMAS
from conformance.files.variables import PUBLIC
from conformance.files.yaml_files import FileError, Lines, check, line_of, load
from conformance.model import Json
from conformance.target.mask import Mask
from conformance.target.secrets import in_settings, taken_openly

NAME = "mcp-conform.yaml"
TABLE = "mcp-conform"
SCHEMA = SCHEMAS / "target.json"

_VARIABLE = re.compile(r"\$(?:\{(?P<braced>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<plain>[A-Za-z_][A-Za-z0-9_]*)|(?P<dollar>\$))")


@dataclass(frozen=True, slots=True)
class TargetFile:
    """A target file that is valid under its schema; `settings` are its keys and values."""

    path: Path
    settings: Mapping[str, Json] = field(default_factory=dict)
    lines: Lines = field(default_factory=dict)

    def error(self, place: Iterable[str | int], what: str) -> FileError:
        """Something is wrong with what stands at `place`."""
        return FileError(self.path, line_of(self.lines, place), what)

    def where(self, *place: str | int) -> str:
        """`file:line` of what stands at `place`."""
        return f"{self.path}:{line_of(self.lines, place)}"

    def folder(self, key: str) -> Path | None:
        """The folder that stands under `key`, seen from the file; None if there is none. Raises FileError."""
        if key not in self.settings:
            return None
        folder = self.path.parent / str(self.settings[key])
        if not folder.is_dir():
            raise self.error((key,), f"{key}: the folder {str(folder)!r} does not exist")
        return folder

    def filled(self, key: str) -> tuple[dict[str, str], dict[str, str]]:
        """The map under `key` with variables replaced, and the values that came from variables: value → name.

        `$NAME` and `${NAME}` stand for the environment variable NAME, `$$` for a dollar sign. Raises FileError if a
        variable is not set. HOME and others that are nobody's secret, and plain values, do not count as such.
        """
        filled: dict[str, str] = {}
        secrets: dict[str, str] = {}
        for name, text in self.settings.get(key, {}).items():

            def value(found: re.Match[str], place: tuple[str, str] = (key, name)) -> str:
                variable = found["braced"] or found["plain"]
                if not variable:
                    return "$"
                if variable not in os.environ:
                    what = f"the environment variable {variable} is not set; {'.'.join(place)} takes its value"
                    raise self.error(place, what)
                if not PUBLIC.match(variable) and not taken_openly(variable, os.environ[variable]):
                    secrets[os.environ[variable]] = variable
                return os.environ[variable]

            filled[name] = _VARIABLE.sub(value, text)
        return filled, secrets


def find(folder: Path) -> TargetFile | None:
    """The target file in `folder`: mcp-conform.yaml or, without one, pyproject.toml if it has the table.

    Raises FileError.
    """
    if (folder / NAME).is_file():
        return read(folder / NAME)
    project = folder / "pyproject.toml"
    if project.is_file() and f"[tool.{TABLE}" in project.read_text(encoding="utf-8", errors="replace"):
        return read(project)
    return None


def read(path: Path) -> TargetFile:
    """The target file at `path`; a name that ends in .toml is read as a pyproject.toml. Raises FileError."""
    if path.suffix == ".toml":
        return _from_toml(path)
    data, lines = load(path)
    if not isinstance(data, dict):
        raise FileError(path, 1, f"is not a target file: it must hold keys such as server, not {_kind(data)}")
    _check(path, data, lines)
    return TargetFile(path, data, lines)


def _check(path: Path, data: Json, lines: Lines) -> None:
    """Raises FileError, which quotes what stands in the file: but no secret."""
    try:
        check(path, data, lines, SCHEMA)
    except FileError as error:
        given = [data[key] for key in ("env", "headers") if isinstance(data, dict) and isinstance(data.get(key), dict)]
        values = {str(value): str(name) for part in given for name, value in part.items()}
        raise FileError(error.path, error.line, Mask({**in_settings(data), **values}).text(error.what)) from None


def _from_toml(path: Path) -> TargetFile:
    try:
        text = path.read_text(encoding="utf-8")
        document = tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise FileError(path, 1, f"cannot be read: {why}") from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise FileError(path, int(line[1]) if line else 1, f"is not valid TOML: {error}") from None
    data = document.get("tool", {}).get(TABLE)
    if not isinstance(data, dict):
        raise FileError(path, 1, f"is not a target file: it has no table [tool.{TABLE}]")
    lines = _toml_lines(text)
    _check(path, data, lines)
    return TargetFile(path, data, lines)


_HEADER = re.compile(r"\s*\[\[?\s*tool\.[\"']?" + TABLE + r"[\"']?\s*(?:\.\s*(?P<rest>[^\]]*?)\s*)?\]")
_KEY = re.compile(r"\s*(?P<key>[A-Za-z0-9_-]+|\"[^\"]*\"|'[^']*')\s*=")


def _toml_lines(text: str) -> Lines:
    """The lines of tables and keys of the table, as well as can be told without a parser that knows lines."""
    lines: Lines = {}
    here: tuple[str, ...] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("["):
            header = _HEADER.match(line)
            here = None
            if header is not None:
                here = tuple(part.strip(" \"'") for part in (header["rest"] or "").split(".") if part)
                lines.setdefault(here, number)
        elif here is not None and (key := _KEY.match(line)):
            lines.setdefault((*here, key["key"].strip("\"'")), number)
    return lines


def _kind(data: Json) -> str:
    if isinstance(data, list):
        return "a list"
    return "text" if isinstance(data, str) else "a single value"
