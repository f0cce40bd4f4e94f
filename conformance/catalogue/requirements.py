"""The catalogue: what the specification asks of a server, from `cases/requirements/*.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from conformance.files.places import REQUIREMENTS, SCHEMAS
from conformance.files.yaml_files import FileError, line_of
from conformance.files.yaml_files import load as load_yaml
from conformance.model import Basis, Json, Level, Requirement
from conformance.revisions import REVISIONS, holds

SITE = "https://modelcontextprotocol.io"


def load(folder: Path = REQUIREMENTS) -> dict[str, Requirement]:
    """All requirements by id, in the order of files and entries. Raises FileError."""
    return _read(folder)[0]


def areas(folder: Path = REQUIREMENTS) -> dict[str, str]:
    """The title of each area, in the order of files. Raises FileError."""
    return _read(folder)[1]


@cache
def _read(folder: Path) -> tuple[dict[str, Requirement], dict[str, str]]:
    found: dict[str, Requirement] = {}
    titles: dict[str, str] = {}
    for path in sorted(folder.glob("*.yaml")):
        data, lines = load_yaml(path, SCHEMAS / "requirement.json")
        if data["area"] != path.stem:
            raise FileError(path, line_of(lines, ("area",)), f"area must be the name of the file, {path.stem!r}")
        titles[data["area"]] = data["title"]
        for name, entry in data["requirements"].items():
            identifier = f"{data['area']}/{name}"
            try:
                found[identifier] = _requirement(identifier, entry)
            except ValueError as problem:
                raise FileError(path, line_of(lines, ("requirements", name)), f"{identifier}: {problem}") from None
    return found, titles


def applies(requirement: Requirement, revision: str, transport: str) -> bool:
    """Whether the rule holds in the revision and concerns the transport."""
    return revision in requirement.levels and (not requirement.transports or transport in requirement.transports)


def near(name: str, names: Iterable[str]) -> str:
    """The known names that look like `name`, as the end of a sentence; empty if there are none."""
    near = get_close_matches(name, names, n=3)
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _requirement(identifier: str, entry: dict[str, Json]) -> Requirement:
    dates = _dates(entry)
    levels = {date: Level(level) for date, level in _by_date("level", entry, dates).items()}
    sources = _by_date("source", entry, dates)
    return Requirement(
        id=identifier,
        text=entry["text"],
        levels=levels,
        bases={date: Basis(basis) for date, basis in _by_date("basis", entry, dates).items()},
        urls={date: tuple(_url(page, date) for page in _several(pages)) for date, pages in sources.items()},
        observable=entry["observable"],
        transports=tuple(entry.get("transports", ())),
        capabilities=_several(entry.get("capability", [])),
        client=_several(entry.get("client", [])),
        needs=entry.get("needs", ""),
        probe=entry.get("probe", ""),
        caution=entry.get("caution", ""),
        unobservable=_unobservable(entry, levels.values()),
    )


def _dates(entry: dict[str, Json]) -> list[str]:
    """The revisions in which the entry holds. Raises ValueError if there are none."""
    listed = entry.get("revisions")
    dates = [
        r.date
        for r in REVISIONS
        if (r.date in listed if listed else holds(r.date, entry.get("since"), entry.get("until")))
    ]
    if not dates:
        raise ValueError("it holds in no revision")
    return dates


def _by_date(field: str, entry: dict[str, Json], dates: list[str]) -> dict[str, Json]:
    """A field that may be a map, spelled out for each revision. Raises ValueError if the map does not fit them."""
    value = entry[field]
    if not isinstance(value, dict):
        return dict.fromkeys(dates, value)
    needless = set(value) - set(dates) - {"else"}
    if needless:
        raise ValueError(f"{field} speaks of {min(needless)}, in which it does not hold")
    missing = [date for date in dates if date not in value and "else" not in value]
    if missing:
        raise ValueError(f"{field} says nothing for {missing[0]}")
    return {date: value[date] if date in value else value["else"] for date in dates}


def _several(value: Json) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _url(page: str, date: str) -> str:
    if page.startswith("https://"):
        return page
    guide = "basic/security_best_practices"
    if page.startswith(guide):
        return f"{SITE}/docs/{date}/tutorials/security/security_best_practices{page.removeprefix(guide)}"
    return f"{SITE}/specification/{date}" + ("" if not page or page.startswith("#") else "/") + page


def _unobservable(entry: dict[str, Json], levels: Iterable[Level]) -> str:
    if "unobservable" in entry:
        return str(entry["unobservable"])
    if entry["observable"] == "no":
        return str(entry["needs"])
    if entry.get("umbrella"):
        return "it only sums up other requirements"
    if "actor" in entry:
        return f"it binds the {entry['actor']}, not the server"
    if all(level is Level.MAY for level in levels):
        return "it is a permission: there is nothing to break"
    return ""
