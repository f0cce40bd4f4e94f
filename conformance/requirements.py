"""The catalogue: what the specification asks of a server, from `cases/requirements/*.yaml`."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

from conformance.data import REQUIREMENTS, SCHEMAS
from conformance.model import Basis, Json, Level, Requirement
from conformance.revisions import REVISIONS, holds
from conformance.yaml_files import FileError, Lines, line_of
from conformance.yaml_files import load as load_yaml

SITE = "https://modelcontextprotocol.io"


@cache
def load(folder: Path = REQUIREMENTS) -> dict[str, Requirement]:
    """All requirements by id, in the order of files and entries. Raises FileError."""
    found: dict[str, Requirement] = {}
    for path in sorted(folder.glob("*.yaml")):
        data, lines = load_yaml(path)
        _check(path, data, lines)
        for name, entry in data["requirements"].items():
            identifier = f"{data['area']}/{name}"
            try:
                found[identifier] = _requirement(identifier, entry)
            except KeyError as missing:
                line = line_of(lines, ("requirements", name))
                raise FileError(path, line, f"{identifier}: nothing is said for revision {missing}") from None
    return found


def applies(requirement: Requirement, revision: str, transport: str) -> bool:
    """Whether the rule holds in the revision and concerns the transport."""
    return revision in requirement.levels and (not requirement.transports or transport in requirement.transports)


@cache
def _validator() -> Any:
    from jsonschema_rs import Draft202012Validator

    return Draft202012Validator(json.loads((SCHEMAS / "requirement.json").read_text()))


def _check(path: Path, data: Json, lines: Lines) -> None:
    for error in _validator().iter_errors(data):
        raise FileError(path, line_of(lines, tuple(error.instance_path)), error.message[:300])
    if data["area"] != path.stem:
        raise FileError(path, line_of(lines, ("area",)), f"area must be the file's name, {path.stem!r}")


def _requirement(identifier: str, entry: dict[str, Json]) -> Requirement:
    listed = entry.get("revisions")
    dates = [
        r.date
        for r in REVISIONS
        if (r.date in listed if listed else holds(r.date, entry.get("since"), entry.get("until")))
    ]
    return Requirement(
        id=identifier,
        text=entry["text"],
        levels={date: Level(_in(entry["level"], date)) for date in dates},
        bases={date: Basis(_in(entry["basis"], date)) for date in dates},
        urls={date: tuple(_url(page, date) for page in _several(_in(entry["source"], date))) for date in dates},
        observable=entry["observable"],
        transports=tuple(entry.get("transports", ())),
        capabilities=_several(entry.get("capability", [])),
        client=_several(entry.get("client", [])),
        needs=entry.get("needs", ""),
        probe=entry.get("probe", ""),
        caution=entry.get("caution", ""),
        unobservable=_unobservable(entry),
    )


def _in(value: Json, date: str) -> Json:
    if not isinstance(value, dict):
        return value
    return value[date] if date in value or "else" not in value else value["else"]


def _several(value: Json) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _url(page: str, date: str) -> str:
    if page.startswith("https://"):
        return page
    guide = "basic/security_best_practices"
    if page.startswith(guide):
        return f"{SITE}/docs/{date}/tutorials/security/security_best_practices{page.removeprefix(guide)}"
    return f"{SITE}/specification/{date}" + ("" if not page or page.startswith("#") else "/") + page


def _unobservable(entry: dict[str, Json]) -> str:
    levels = entry["level"].values() if isinstance(entry["level"], dict) else [entry["level"]]
    if "unobservable" in entry:
        return str(entry["unobservable"])
    if entry.get("umbrella"):
        return "it only sums up other requirements"
    if "actor" in entry:
        return f"it binds the {entry['actor']}, not the server"
    if entry["observable"] == "no":
        return str(entry["needs"])
    if all(level == "MAY" for level in levels):
        return "it is a permission: there is nothing to break"
    return ""
