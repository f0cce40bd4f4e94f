"""Files and folders that list servers → the servers."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from conformance.files import json_files, yaml_files
from conformance.files.yaml_files import FileError, Lines
from conformance.fleet.entries import Entry
from conformance.fleet.lists import entries_of_config, entries_of_list
from conformance.fleet.server_json import Choice, Published, entry_of, is_server, latest, servers_of
from conformance.model import Json, UsageError
from conformance.settings.client_configs import SECTIONS

ENDINGS = (".json", ".yaml", ".yml")
WANTED = (
    "a list of servers, each with name and server or url; a client configuration; or server.json, one or the list of"
    " a registry"
)


@dataclass(slots=True)
class Listed:
    """All that was listed: servers with different names, and remarks about the files."""

    entries: list[Entry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read(paths: Iterable[Path], choice: Choice, elsewhere: bool = False) -> Listed:
    """The servers of files, and of the files in folders. Raises UsageError.

    `elsewhere` says that they will not run on this machine, or not with its programs.
    """
    listed = Listed()
    published: list[Published] = []
    try:
        for path in paths:
            if path.is_dir():
                _read_folder(path, listed, published)
            else:
                _read_file(path, listed, published)
    except FileError as error:
        raise UsageError(str(error)) from None
    chosen, older = latest(published)
    listed.entries += [replace(entry_of(each.server, choice), origin=each.origin) for each in chosen]
    taken = {each.server["name"]: each for each in chosen}
    for each in older:
        instead = taken[each.server["name"]]
        listed.notes.append(f"{each.origin}: {each.told} left out, since {instead.origin} lists {instead.told}")
    if elsewhere:
        listed.entries = [replace(entry, problem="") if _missing(entry) else entry for entry in listed.entries]
    first: dict[str, Entry] = {}
    for entry in listed.entries:
        if (other := first.setdefault(entry.name, entry)) is not entry:
            both = f"{other.origin} and {entry.origin}" if other.origin != entry.origin else other.origin
            raise UsageError(f"{both}: the server {entry.name!r} is listed twice")
    return listed


def _missing(entry: Entry) -> bool:
    """Whether all that keeps it from being tested is that a program is not here."""
    return bool(entry.settings) and entry.problem.startswith("the command ")


def _read_folder(folder: Path, listed: Listed, published: list[Published]) -> None:
    """What lies in a folder beside lists of servers is remarked upon and left alone."""
    files = sorted(path for path in folder.rglob("*") if path.suffix in ENDINGS and path.is_file())
    before = len(listed.entries) + len(published)
    for path in files:
        try:
            _read_file(path, listed, published)
        except _Other as error:
            listed.notes.append(f"{error}; it was left out")
    if len(listed.entries) + len(published) == before:
        raise FileError(folder, 1, f"no file in it lists a server; wanted is {WANTED}")


class _Other(FileError):
    """A file that is about something else."""


def _read_file(path: Path, listed: Listed, published: list[Published]) -> None:
    """What a server.json lists goes to `published`: other files may have later versions of it. Raises FileError."""
    data, lines = _load(path)
    if isinstance(data, dict) and any(isinstance(data.get(section), dict) for section in SECTIONS):
        entries, notes = entries_of_config(path)
        listed.entries += entries
        listed.notes += notes
        return
    found = servers_of(data)
    if found is not None:
        listed.notes += [f"{path}: {note}" for note in found.notes]
        published += [replace(each, origin=str(path)) for each in found.servers]
        return
    place: tuple[str, ...] = ("servers",) if isinstance(data, dict) else ()
    elements = data.get("servers") if isinstance(data, dict) else data
    if not isinstance(elements, list) or not elements or any(is_server(element) for element in elements):
        raise _Other(path, 1, f"lists no servers; wanted is {WANTED}")
    if isinstance(data, dict) and (unknown := [key for key in data if key != "servers"]):
        raise _Other(path, yaml_files.line_of(lines, (unknown[0],)), f"{unknown[0]!r} is not known beside servers")
    listed.entries += entries_of_list(path, elements, lines, place)


def _load(path: Path) -> tuple[Json, Lines]:
    """Raises FileError."""
    if path.suffix.lower() != ".json":
        return yaml_files.load(path)
    try:  # the list of a registry is long; the lines of its values are of no interest
        data = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return json_files.load(path)
    return (data, {}) if servers_of(data) is not None else json_files.load(path)
