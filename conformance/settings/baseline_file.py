"""The baseline: a YAML file of known failures; `schemas/baseline.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from datetime import date
from pathlib import Path

from conformance.catalogue.requirements import near
from conformance.engine.baseline import Baseline, Known
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, Lines, line_of, load
from conformance.model import Json
from conformance.revisions import BY_DATE

FORMAT = 1
SCHEMA = SCHEMAS / "baseline.json"
HEAD = """\
# Failures that are known: they do not fail mcp-conform --baseline {name}.
# One that is gone, or whose last day (until: 2027-01-31) has passed, does.
"""


def read(path: Path, rules: Collection[str]) -> Baseline:
    """The known failures of a file, which may be about `rules`. Raises FileError."""
    data, lines = load(path, SCHEMA)
    return Baseline(str(path), tuple(_entry(path, i, row, lines, rules) for i, row in enumerate(data["known"])))


def _entry(path: Path, number: int, row: Json, lines: Lines, rules: Collection[str]) -> Known:
    def wrong(key: str, what: str) -> FileError:
        return FileError(path, line_of(lines, ("known", number, key)), what)

    rule, revision = row["rule"], row.get("revision", "")
    if rule not in rules:
        raise wrong("rule", f"there is no rule {rule!r}{near(rule, rules)}")
    if revision and revision not in BY_DATE:
        raise wrong("revision", f"there is no revision {revision}; there are {', '.join(BY_DATE)}")
    until = None
    if "until" in row:
        try:
            until = date.fromisoformat(row["until"])
        except ValueError:
            raise wrong("until", f"there is no day {row['until']}") from None
    line = line_of(lines, ("known", number))
    return Known(rule, row["reason"], revision, row.get("target", ""), until, line)


def written(entries: Iterable[Known], name: str) -> str:
    """The text of a baseline file called `name`."""
    lines = [HEAD.format(name=name), f"baseline: {FORMAT}\n"]
    rows = ["".join(_lines(entry)) for entry in entries]
    lines += ["known:\n", *rows] if rows else ["known: []\n"]
    return "".join(lines)


def _lines(entry: Known) -> Iterable[str]:
    yield f"  - rule: {entry.rule}\n"
    # Dates and what may look like something else are quoted: JSON strings are YAML.
    for key, value in (("revision", entry.revision), ("target", entry.target), ("reason", entry.reason)):
        if value:
            yield f"    {key}: {json.dumps(value, ensure_ascii=False)}\n"
    if entry.until is not None:
        yield f'    until: "{entry.until}"\n'
