"""Lists of targets: YAML or JSON, each element the keys of a target file, and a name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from conformance.files.yaml_files import FileError, Lines, Place, check, line_of
from conformance.fleet.entries import Entry, of_target, referred_to
from conformance.model import Json, UsageError
from conformance.settings.client_configs import read as read_config
from conformance.settings.settings import Words, settle
from conformance.settings.target_file import SCHEMA, TargetFile
from conformance.target.process import why_not_runnable

OWN = ("name", "version")
"""Keys of an element that no target file has."""
PLACES = ("cwd", "cases", "baseline")
"""Keys whose values are places, seen from the list."""


def entries_of_list(path: Path, elements: Sequence[Json], lines: Lines, place: Place) -> list[Entry]:
    """The servers of a list that stands at `place` in the file. Raises FileError."""
    found: list[Entry] = []
    for number, element in enumerate(elements):
        here: Place = (*place, number)
        if not isinstance(element, dict):
            raise FileError(path, line_of(lines, here), "an element must be an object: name, and server or url")
        name = element.get("name")
        if not isinstance(name, str) or not name.strip():
            raise FileError(path, line_of(lines, here), "each server needs a name, which is a string")
        version = element.get("version", "")
        if not isinstance(version, str):
            raise FileError(path, line_of(lines, (*here, "version")), f"{name}: version must be a string (in quotes)")
        settings = {key: value for key, value in element.items() if key not in OWN}
        inner = {where[len(here) :]: line for where, line in lines.items() if where[: len(here)] == here}
        inner[()] = line_of(lines, here)
        check(path, settings, inner, SCHEMA)
        if not {"server", "url"} & set(settings):
            raise FileError(path, inner[()], f"{name}: needs server or url")
        found.append(_entry(path, Entry(name, settings, str(path), version), inner))
    return found


def _entry(path: Path, entry: Entry, lines: Lines) -> Entry:
    """With places that mean the same on any folder, the values of its variables, and why it cannot be tested here."""
    settings = dict(entry.settings)
    try:
        target, _ = settle(Words(), TargetFile(path, settings, lines))
    except UsageError as error:
        return replace(entry, problem=str(error))
    for key in PLACES:
        if key in settings:
            settings[key] = str((path.parent / str(settings[key])).resolve())
    environment = {name: os.environ[name] for name in referred_to(settings) if name in os.environ}
    # Without a folder of its own it is started in the scratch folder, where only what is found by PATH is.
    target = replace(target, cwd=settings.get("cwd"))
    problem = why_not_runnable(target) if target.command else ""
    return replace(entry, settings=settings, environment=environment, secrets=dict(target.secrets), problem=problem)


def entries_of_config(path: Path) -> tuple[list[Entry], list[str]]:
    """The servers of a client configuration, and notes about it. Raises FileError."""
    config = read_config(str(path))
    found = []
    for server in config.servers:
        settings, environment = of_target(server.target)
        secrets = dict(server.target.secrets)
        found.append(Entry(server.name, settings, str(path), "", environment, secrets, server.problem))
    return found, list(config.notes)
