"""The table of all servers, as data: `summary.json`; `schemas/fleet.json` describes it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from conformance import __version__
from conformance.files.places import SCHEMAS
from conformance.fleet.outcome import OUTCOMES
from conformance.model import Json, UsageError

FORMAT = 1
NAME = "summary.json"
NIGHTS = 30
"""Earlier runs that a summary remembers."""


@dataclass(frozen=True, slots=True)
class About:
    """A run as a whole. Times are ISO 8601 in UTC; `words` are what each server was tested with."""

    started: str
    finished: str
    complete: bool
    sandbox: str
    words: Sequence[str]


def summary_of(about: About, rows: Iterable[Json], before: Json = None) -> Json:
    """The summary of a run; `before` is that of the run before it, whose trends go on."""
    servers = sorted(rows, key=lambda row: str(row["name"]).casefold())
    nights = [*before["earlier"], _night(before)][-NIGHTS:] if before is not None else []
    past = {row["name"]: row for row in before["servers"]} if before is not None else {}
    for row in servers:
        row["trend"] = _trend(past.get(row["name"]), len(nights))
    return {
        "fleet": FORMAT,
        "tool": {"name": "mcp-conform", "version": __version__},
        "started": about.started,
        "finished": about.finished,
        "complete": about.complete,
        "sandbox": about.sandbox,
        "options": list(about.words),
        "counts": counts(servers),
        "earlier": nights,
        "servers": servers,
    }


def now() -> str:
    """ISO 8601, in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def counts(rows: Iterable[Mapping[str, Json]]) -> dict[str, int]:
    """How many servers there are of each outcome."""
    found = Counter(row["outcome"] for row in rows)
    return {outcome: found[outcome] for outcome in OUTCOMES}


def violations(row: Mapping[str, Json]) -> int | None:
    """How many rules a server violates; None if that is not known."""
    return len(row["broken"]["violation"]) if row["tested"] else None


def _night(summary: Json) -> Json:
    return {"started": summary["started"], "counts": summary["counts"]}


def _trend(past: Json, nights: int) -> list[int | None]:
    """Violations in each of the earlier runs, the oldest first; None where it was not tested."""
    known = [*past["trend"], violations(past)] if past is not None else []
    return [*[None] * (nights - len(known)), *known[len(known) - nights if len(known) > nights else 0 :]]


def as_text(summary: Json) -> str:
    """As a file: a line for each server, so that two runs can be compared by eye."""
    head = {name: value for name, value in summary.items() if name != "servers"}
    lines = [json.dumps(head, indent=2)[:-2] + ',\n  "servers": [']
    lines += [
        f"    {json.dumps(row)}{',' if number + 1 < len(summary['servers']) else ''}"
        for number, row in enumerate(summary["servers"])
    ]
    return "\n".join([*lines, "  ]", "}"]) + "\n"


def read(path: Path) -> Json:
    """The summary in a file or a folder. Raises UsageError."""
    from jsonschema_rs import Draft202012Validator

    file = path / NAME if path.is_dir() else path
    try:
        data = json.loads(file.read_text("utf-8"))
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file} is not JSON: {error}") from None
    if not isinstance(data, dict) or data.get("fleet") != FORMAT:
        raise UsageError(f"{file} is not a summary of mcp-conform fleet, or not one of version {FORMAT}")
    schema = json.loads((SCHEMAS / "fleet.json").read_text("utf-8"))
    problem = next(iter(Draft202012Validator(schema).iter_errors(data)), None)
    if problem is not None:
        place = "".join(f"/{step}" for step in problem.instance_path)
        raise UsageError(f"{file} is not a valid summary: at {place or 'its top'}: {problem.message[:300]}")
    return data
