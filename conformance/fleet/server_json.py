"""`server.json` of the MCP registry: what it offers to start a server, or to reach one, as an entry.

Its members were written with underscores before September 2025, and `registryType` was called `registry_name` at first.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from conformance.fleet.entries import Entry
from conformance.fleet.inputs import Impossible, Values
from conformance.fleet.packages import of_package, of_remote
from conformance.model import Json, elements, members

OFFICIAL = "io.modelcontextprotocol.registry/official"
GONE = "deleted"

Rank = tuple[list[int], bool, str]


@dataclass(frozen=True, slots=True)
class Choice:
    """What the user allows and gives.

    `remotes`: servers that somebody else runs are tested, where nothing can be started. `programs` are those that can
    be run. `values` has what is given for the variables of a server, by the name of the server.
    """

    remotes: bool = False
    programs: frozenset[str] = frozenset()
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Published:
    """A server.json. `rank` is what its versions are ordered by, `origin` the file that it is in."""

    server: dict[str, Json]
    rank: tuple[bool, Rank]
    origin: str = ""

    @property
    def told(self) -> str:
        """Name and version, for people."""
        return f"{self.server['name']} {_version(self.server)}".strip()


@dataclass(slots=True)
class Found:
    """The servers of a file, and what was left out of them."""

    servers: list[Published] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def is_server(data: Json) -> bool:
    """Whether it is a server.json, or a server.json together with what a registry says of it."""
    if isinstance(members(data).get("server"), dict):
        return is_server(data["server"])
    about = {"packages", "remotes", "version_detail"} & set(members(data))
    return isinstance(members(data).get("name"), str) and bool(
        about or "server.schema.json" in str(data.get("$schema"))
    )


def servers_of(data: Json) -> Found | None:
    """The servers of a server.json, or of the list of a registry: the latest of each; None if it is neither."""
    listed = elements(data) or elements(members(data).get("servers"))
    if not listed and is_server(data):
        listed = [data]
    if not any(map(is_server, listed)) or any(map(_is_target, listed)):
        return None
    found = Found()
    published: list[Published] = []
    gone = wrong = 0
    for each in map(members, listed):
        server = each["server"] if isinstance(each.get("server"), dict) else each
        server = {_camel(name): value for name, value in server.items()}
        if not isinstance(server.get("name"), str) or not server["name"].strip():
            wrong += 1
            continue
        said = members(members(each.get("_meta")).get(OFFICIAL)) or members(members(server.get("_meta")).get(OFFICIAL))
        if GONE in (said.get("status"), server.get("status")):
            gone += 1
            continue
        said = {**members(server.get("versionDetail")), **said}
        rank = (said.get("isLatest") or said.get("is_latest")) is True, _rank(_version(server))
        published.append(Published(server, rank))
    found.servers, older = latest(published)
    told = (
        (gone, "deleted server", "deleted servers"),
        (len(older), "older version", "older versions"),
        (wrong, "element that names no server", "elements that name no server"),
    )
    found.notes = [f"{number} {one if number == 1 else more} left out" for number, one, more in told if number]
    return found


def latest(published: Iterable[Published]) -> tuple[list[Published], list[Published]]:
    """Of each server the latest version, in the order in which they are listed first; and the others."""
    chosen: dict[str, Published] = {}
    older = []
    for each in published:
        before = chosen.get(each.server["name"])
        if before is not None and before.rank > each.rank:
            older.append(each)
            continue
        if before is not None:
            older.append(before)
        chosen[each.server["name"]] = each
    return list(chosen.values()), older


def _is_target(element: Json) -> bool:
    """Whether an element is one of a list of targets."""
    return isinstance(members(element).get("server"), (str, list)) or isinstance(members(element).get("url"), str)


def _version(server: Mapping[str, Json]) -> str:
    return str(server.get("version") or members(server.get("versionDetail")).get("version") or "")


def _rank(version: str) -> Rank:
    """What versions are ordered by: their numbers; one that is only a candidate for another comes before it."""
    plain, _, more = version.lstrip("v").partition("+")[0].partition("-")
    return [int(number) for number in re.findall(r"\d+", plain)], not more, more


def entry_of(server: Mapping[str, Json], choice: Choice) -> Entry:
    """The entry of a server.json: what can be started here; else, if that is allowed, what can be reached."""
    name = str(server["name"])
    version = _version(server)
    why: list[str] = []
    for kind, given in _ways(server, choice):
        values = Values(choice.values.get(name, {}))
        try:
            made = of_package(given, values, choice.programs) if kind == "package" else of_remote(given, values)
        except Impossible as reason:
            why.append(str(reason))
            continue
        entry = Entry(name, made.settings, version=version, environment=made.environment, secrets=made.secrets)
        return replace(entry, bundle=made.bundle)
    if not choice.remotes and elements(server.get("remotes")):
        why.append("it is at a URL, which --remotes allows to be tested")
    problem = "; ".join(dict.fromkeys(why)) or "its server.json has neither packages nor remotes"
    return Entry(name, {}, version=version, problem=problem)


def _ways(server: Mapping[str, Json], choice: Choice) -> Iterator[tuple[str, dict[str, Json]]]:
    for package in elements(server.get("packages")):
        yield "package", _plain(package)
    if choice.remotes:
        for remote in elements(server.get("remotes")):
            yield "remote", _plain(remote)


def _plain(value: Json) -> Json:
    """With the names of members as they are written now, but for the names of variables."""
    if isinstance(value, dict):
        return {
            _camel(name): {key: _plain(each) for key, each in inner.items()}
            if name == "variables" and isinstance(inner, dict)
            else _plain(inner)
            for name, inner in value.items()
        }
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)
