"""What the campaigns found, as a case file that shows it again without Hypothesis."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from conformance.catalogue.patterns import check_pattern
from conformance.engine.events import Event, Finished
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, parse
from conformance.files.yaml_text import Unwritable, comment, one_line
from conformance.model import Json, Report
from conformance.reporters.report_file import ReportFile
from conformance.reporters.words import shortened, visible

AREA = "found"
SCHEMA = SCHEMAS / "case.json"
TITLE, MESSAGE = 200, 1000
"""Characters."""
STEP = 1_000_000
"""Characters of a step; a frame that goes into a case has fewer."""
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
        text = as_yaml(found(event.report))
        if not text:
            self._path.unlink(missing_ok=True)
            return
        file = ReportFile(self._path)
        try:
            file.write(HEADER + text)
        finally:
            file.close()

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
                    title = visible(shortened(case["title"], TITLE))
                    steps = [_told(step) for step in case["steps"]]
                    cases.setdefault(identifier, {**case, "id": identifier, "title": title, "steps": steps})
    return list(cases.values())


def _told(step: Mapping[str, Json]) -> Json:
    """The step; what its expectations say to people is one line."""
    if "expect" not in step:
        return dict(step)
    expected = [
        {**each, "message": visible(shortened(each["message"], MESSAGE))} if "message" in each else each
        for each in step["expect"]
    ]
    return {**step, "expect": expected}


def as_yaml(cases: Iterable[Json]) -> str:
    """The file, which people read: one line for each member. "" if there is no case.

    What it says is what `cases` say. One that no file can hold, such as one with half a character in it, is left out;
    a comment tells why.
    """
    lines: list[str] = []
    some = False
    for case in cases:
        try:
            lines += [*_lines(case), ""]
            some = True
        except Unwritable as why:
            lines += [comment(f"{case['id']} is left out, since {why}."), ""]
    return "\n".join([*HEAD, *lines]).rstrip("\n") + "\n" if some else ""


HEAD = [f"area: {AREA}", "cases:"]


def _lines(case: Json) -> list[str]:
    """The case in the list of the file. Raises Unwritable unless it reads back as it is."""
    lines = []
    for name, value in case.items():
        if name == "steps":
            lines += ["    steps:", *(f"      - {one_line(step, STEP)}" for step in value)]
        else:
            lines.append(f"    {name}: {one_line(value)}")
    lines[0] = f"  - {lines[0].strip()}"
    try:
        read = parse("\n".join([*HEAD, *lines]) + "\n", Path("the file"), SCHEMA)[0]
    except FileError as error:
        raise Unwritable(f"it would not be read: {error.what}") from None
    if json.dumps(read) != json.dumps({"area": AREA, "cases": [case]}):
        raise Unwritable("it would read as something else")
    for step in case["steps"]:
        for each in step.get("expect", ()):
            for flaw in check_pattern(each.get("response")):
                raise Unwritable(f"what is expected {flaw.what}")
    return lines
