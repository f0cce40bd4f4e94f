"""What the campaigns found, as a case file that shows it again without Hypothesis."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.events import Event, Finished
from conformance.model import Json, Report
from conformance.reporters.words import visible

AREA = "found"
LONGEST = 200
"""Characters of a title."""
HEADER = "# Written by mcp-conform --save-cases, which writes it anew each time; rename file and area to keep it.\n"


class Occupied(Exception):
    """There is a file already that somebody else wrote; one line."""


class FoundCases:
    """Writes `found.yaml` into a folder when the run is finished, if anything was found. Raises Occupied, OSError."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / f"{AREA}.yaml"
        if self._path.exists() and not self._path.read_text("utf-8", "replace").startswith(HEADER):
            raise Occupied(f"{self._path} is not a file that --save-cases wrote; move it away")

    def consume(self, event: Event) -> None:
        """Write the cases; what was written before and is not found any more goes."""
        if not isinstance(event, Finished):
            return
        cases = found(event.report)
        if cases:
            self._path.write_text(HEADER + as_yaml(cases), "utf-8")
        else:
            self._path.unlink(missing_ok=True)

    def close(self) -> None:
        """Nothing is held open."""


def found(report: Report) -> list[Json]:
    """The cases of all findings that have one, each once; one that several revisions show is about all of them."""
    cases: dict[str, dict[str, Json]] = {}
    for run in report.runs:
        for judged in run.verdicts:
            for finding in judged.findings:
                if finding.replay:
                    case = finding.replay
                    identifier = f"{case['id']}-{case['since']}"
                    title = visible(case["title"])[:LONGEST]
                    cases.setdefault(identifier, {**case, "id": identifier, "title": title})
    return list(cases.values())


def as_yaml(cases: list[Json]) -> str:
    """The file, which people read: one line for each member; JSON is YAML."""
    lines = [f"area: {AREA}", "cases:"]
    for case in cases:
        bullet = "  - "
        for name, value in case.items():
            if name == "steps":
                lines.append("    steps:")
                lines += [f"      - {_written(step)}" for step in value]
            else:
                lines.append(f"{bullet}{name}: {_written(value)}")
            bullet = "    "
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def _written(value: Json) -> str:
    # Astral characters and the like as they are: YAML would read a pair of \\u escapes as two characters.
    return json.dumps(value, ensure_ascii=False)
