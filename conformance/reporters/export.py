"""The requirements and cases as JSON for runners in other languages: all that YAML leaves to the reader is written out.

`schemas/export.json` describes the files, the section Export of `cases/README.md` what they mean.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from conformance import __version__
from conformance.catalogue.cases import Case, Condition, Each, Expectation, Otherwise, Row, Step
from conformance.catalogue.patterns import ABSENT
from conformance.engine.verdicts import severity_of
from conformance.files.places import CASES, SCHEMAS
from conformance.model import Json, Requirement
from conformance.reporters.json_report import as_text
from conformance.revisions import BY_DATE, REVISIONS, TRANSPORTS, holds

FORMAT = "mcp-conform-cases"
VERSION = 1
INDEX = "index.json"


class Occupied(Exception):
    """The folder holds something else than an export; the text says what."""


def files(requirements: Mapping[str, Requirement], cases: Iterable[Case]) -> dict[str, str]:
    """The files of an export: path within its folder → text. They are the same for the same suite."""
    by_area: dict[str, list[Json]] = {}
    for case in cases:
        by_area.setdefault(case.area, []).append(_case(case))
    found = {"requirements.json": _text({"requirements": [_requirement(each) for each in requirements.values()]})}
    for area in sorted(by_area):
        found[f"cases/{area}.json"] = _text({"area": area, "cases": by_area[area]})
    found["README.md"] = (CASES / "README.md").read_text("utf-8")
    found["schemas/export.json"] = (SCHEMAS / "export.json").read_text("utf-8")
    for revision in REVISIONS:
        for path in sorted((SCHEMAS / revision.date).glob("*.json")):
            if path.name != "deviations.json":
                found[f"schemas/{revision.date}/{path.name}"] = path.read_text("utf-8")
    index = {
        "tool": {"name": "mcp-conform", "version": __version__},
        "revisions": [
            {"date": each.date, "era": each.era, "batches": each.batches, "transports": list(each.transports)}
            for each in REVISIONS
        ],
        "files": sorted([INDEX, *found]),
    }
    return {INDEX: _text(index), **found}


def write(folder: Path, found: Mapping[str, str]) -> None:
    """Write the files of an export; those of an earlier one are replaced. Raises Occupied, OSError."""
    earlier = _earlier(folder)
    for name in earlier - set(found):
        (folder / name).unlink(missing_ok=True)
    for name in sorted(found, key=lambda name: name == INDEX):  # last, since it says that the others are there
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(found[name], encoding="utf-8", newline="\n")


def _earlier(folder: Path) -> set[str]:
    """The files of an earlier export that may be deleted. Raises Occupied."""
    if not folder.exists():
        return set()
    if not folder.is_dir():
        raise Occupied(f"{folder} is not a folder")
    if not any(folder.iterdir()):
        return set()
    try:
        index = json.loads((folder / INDEX).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        index = None
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise Occupied(f"{folder} is not empty, and holds no earlier export")
    listed = index.get("files")
    return {name for name in listed if _is_ours(name)} if isinstance(listed, list) else set()


def _is_ours(name: Json) -> bool:
    """Whether that is a path as `files` gives it, so that what stands in an index leads nowhere else."""
    parts = name.split("/") if isinstance(name, str) else []
    plain = all(part.strip(".") and "\\" not in part and "\0" not in part for part in parts)
    return plain and len(parts) in (2, 3) and parts[0] in ("cases", "schemas") and parts[-1].endswith(".json")


def _text(data: Json) -> str:
    return as_text({"format": FORMAT, "version": VERSION, **data})


def _requirement(requirement: Requirement) -> Json:
    revisions = {
        date: {
            "level": level,
            "basis": requirement.bases[date],
            "severity": severity_of(requirement, date),
            "urls": list(requirement.urls[date]),
        }
        for date, level in requirement.levels.items()
    }
    return {
        "id": requirement.id,
        "text": requirement.text,
        "revisions": revisions,
        "transports": list(requirement.transports or TRANSPORTS),
        "capabilities": list(requirement.capabilities),
        "client": list(requirement.client),
        "observable": requirement.observable,
        "needs": requirement.needs,
        "probe": requirement.probe,
        "caution": requirement.caution,
        "unobservable": requirement.unobservable,
    }


def _case(case: Case) -> Json:
    dates = _dates(case.since, case.until)
    steps = list(case.plain_steps)
    return {
        "id": case.id,
        "title": case.title,
        "revisions": [date for date in dates if not case.eras or BY_DATE[date].era in case.eras],
        "transports": list(case.transports or TRANSPORTS),
        "requires": [list(alternatives) for alternatives in case.requires],
        "client": dict(case.client),
        "isolation": case.isolation,
        "open": case.open,
        "harmful": case.harmful,
        "illegal": case.illegal,
        "lane": case.lane or None,
        "waits": case.waits,
        "opens": case.opens,
        "control": case.control,
        "requirements": list(case.requirements),
        "probes": list(dict.fromkeys(step.probe for step in steps if step.kind == "probe")),
        "picks": sorted({kind for step in case.steps for kind in _picks(step)}),
        "undecided": dict(case.undecided),
        "steps": [_step(step) for step in case.steps],
    }


def _dates(since: str | None, until: str | None) -> list[str]:
    return [revision.date for revision in REVISIONS if holds(revision.date, since, until)]


def _picks(step: Step) -> Iterator[str]:
    """The kinds of things that the step picks."""
    if step.each is not None:
        yield from filter(None, [step.each.kind])
        yield from _picked(list(step.each.things))
    yield from _picked([step.params, step.id, dict(step.headers), list(step.batch)])
    for inner in step.steps:
        yield from _picks(inner)


def _picked(value: Json) -> Iterator[str]:
    if isinstance(value, dict):
        if set(value) == {"$pick"}:
            yield value["$pick"]
        for member in value.values():
            yield from _picked(member)
    elif isinstance(value, list):
        for element in value:
            yield from _picked(element)


def _step(step: Step) -> Json:
    return {
        "kind": step.kind,
        "when": _condition(step.when),
        "otherwise": _otherwise(step.otherwise),
        **_said(step),
        **({} if step.kind == "steps" else {"expect": [_expectation(each) for each in step.expect]}),
        "judges": list(step.judges),
    }


def _said(step: Step) -> dict[str, Json]:
    """What is done in the step; each kind has its own members."""
    params = {} if step.params is ABSENT else {"params": step.params}
    identifier = {} if step.id is ABSENT else {"id": step.id}
    headers = {"headers": dict(step.headers)}
    bytes_ = {"base64": step.raw64} if step.raw64 else {"text": step.raw}
    if step.kind == "request":
        how = {"illegal": step.illegal, "meta": step.meta, "wait": step.wait, "wait-for": step.wait_for}
        how["like"] = step.like
        return {"method": step.method, **params, **identifier, **how, **headers, "save": dict(step.save)}
    if step.kind == "notify":
        return {"method": step.method, **params, "illegal": step.illegal, **headers}
    if step.kind == "pages":
        return {"method": step.method, "save": dict(step.save)}
    if step.kind == "batch":
        return {"messages": list(step.batch), "illegal": step.illegal}
    if step.kind in ("raw", "http"):
        return {**bytes_, **headers}
    if step.kind == "probe":
        return {"probe": step.probe, "with": dict(step.settings), "as": step.name or None}
    if step.kind == "steps":
        session = "another" if step.another else "same"
        inner = [_step(each) for each in step.steps]
        return {"each": _each(step.each), "together": step.together, "session": session, "steps": inner}
    return {}


def _each(each: Each | None) -> Json:
    if each is None:
        return None
    things = {"pick": each.kind} if each.kind else {"values": list(each.things)}
    return {"name": each.name, **things, "at-most": each.most, "until-decided": each.until_decided}


def _condition(condition: Condition | None) -> Json:
    """Only what it asks for: an empty object always holds."""
    if condition is None:
        return {}
    asked: dict[str, Json] = {}
    if condition.since or condition.until or condition.era:
        dates = _dates(condition.since, condition.until)
        asked["revisions"] = [date for date in dates if condition.era in ("", BY_DATE[date].era)]
    words = {"declares": list(condition.declares), "lacks": list(condition.lacks), "saved": dict(condition.saved)}
    asked |= {word: value for word, value in words.items() if value}
    asked |= {"transport": condition.transport} if condition.transport else {}
    patterns = {"response": condition.response, "status": condition.status}
    asked |= {word: pattern for word, pattern in patterns.items() if pattern is not ABSENT}
    return asked if condition.alive is None else {**asked, "alive": condition.alive}


def _otherwise(otherwise: Otherwise | None) -> Json:
    return None if otherwise is None else {"outcome": otherwise.outcome, "because": otherwise.because}


def _expectation(expectation: Expectation) -> Json:
    judging = expectation.subject == "judge"
    plain = expectation.subject in ("answered", "nothing", "alive")
    return {
        "requirement": expectation.requirement,
        "when": _condition(expectation.when),
        "otherwise": _otherwise(expectation.otherwise),
        "subject": expectation.subject,
        **({} if judging or plain else {"pattern": expectation.pattern}),
        **({"rows": [_row(row) for row in expectation.rows]} if judging else {}),
        "silence": expectation.silence or "finding",
        "severity": expectation.severity,
        "message": expectation.message,
    }


def _row(row: Row) -> Json:
    return {
        "when": _condition(row.when),
        "outcome": row.outcome,
        "because": row.message,
        "severity": row.severity,
        "expected": row.expected,
        "actual": row.actual,
    }
