"""The report as SARIF 2.1.0, as code scanning reads it: one rule for each broken requirement, one result for a finding.

The same finding in several revisions is one result, since it is one thing to mend. Results have no region: a finding
is about what a server said, not about a line; for GitHub that is a result about the file as a whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from urllib.parse import quote

from conformance.engine.events import Event, Finished
from conformance.model import Finding, Json, Judged, Report, Requirement, Severity, Verdict
from conformance.reporters.fingerprint import fingerprint
from conformance.reporters.grouping import by_reason, by_server
from conformance.reporters.json_report import readable
from conformance.reporters.markdown import link, prose
from conformance.reporters.report_file import ReportFile
from conformance.reporters.source import source
from conformance.reporters.summary import Bottom, bottom, headline, unfinished
from conformance.reporters.words import facts, shortened, standing, visible

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS = {Severity.VIOLATION: "error", Severity.WARNING: "warning", Severity.ADVICE: "note"}
RESULTS = 5000
"""GitHub shows no more of one run."""
TAGS = 20
"""GitHub reads no more of one rule."""
BYTES, WITH_FRAMES = 9_500_000, 8_000_000
"""Bytes of all results, and until when they have frames: GitHub takes 10 MB, compressed."""
FRAMES = 8
MESSAGE, DESCRIPTION, NOTE = 1000, 1000, 1600
"""Characters; GitHub takes 1024 of a description."""


class SarifReporter:
    """Writes the report when the run is finished."""

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        self._file = ReportFile(path)

    def consume(self, event: Event) -> None:
        """Write the report."""
        if isinstance(event, Finished):
            data = readable(as_sarif(event.report))
            self._file.write(json.dumps(data, indent=1, ensure_ascii=True, allow_nan=False) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_sarif(report: Report, here: Path | None = None) -> Json:
    """The report as a SARIF log with one run; `here` is the working directory, which locations are relative to."""
    place = source(report.target, here)
    results, left = _within(_results(report, place))
    rules = {judged.requirement.id: judged.requirement for run in report.runs for judged in run.verdicts}
    places = {identifier: i for i, identifier in enumerate(dict.fromkeys(result["ruleId"] for result in results))}
    for result in results:
        result["ruleIndex"] = places[result["ruleId"]]
    worst = _worst(report)
    label = report.target.name or report.target.url.partition("?")[0].rpartition("://")[2] or place
    return {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "mcp-conform",
                        "version": report.version,
                        "semanticVersion": report.version,
                        "rules": [_rule(rules[identifier], worst[identifier], report) for identifier in places],
                    }
                },
                "automationDetails": {"id": f"mcp-conform/{visible(shortened(label, 200))}/"},
                "columnKind": "unicodeCodePoints",
                "invocations": [_invocation(report, left)],
                "results": results,
                "properties": {
                    "verdict": headline(report),
                    "runs": [
                        {
                            "server": _said(run.name or str(run.server.get("name", ""))),
                            "revision": run.revision,
                            "transport": run.transport,
                            "checked": run.extent.checked,
                            "unobservable": run.extent.unobservable,
                            "unchecked": run.extent.unchecked,
                            "verdicts": len(run.verdicts),
                        }
                        for run in report.runs
                    ],
                },
            }
        ],
    }


# -- results


def _results(report: Report, place: str) -> Iterator[Json]:
    """A result for each finding, the worst first."""
    found: dict[str, tuple[Severity, Json]] = {}
    for part in by_server(report):
        for run in reversed(part.runs):
            server = run.name or str(run.server.get("name", ""))
            for judged in run.verdicts:
                for finding in judged.findings:
                    severity = _severity(judged, finding)
                    key = fingerprint(judged.requirement.id, server, finding.message)
                    where = f"{run.revision} {run.transport}"
                    if key not in found:
                        found[key] = severity, _result(judged, finding, server, place)
                        found[key][1]["partialFingerprints"] = {"primaryLocationLineHash": key, "mcpConform/v1": key}
                    known, result = found[key]
                    if severity.rank > known.rank:
                        found[key] = severity, result
                    result["occurrenceCount"] += finding.occurrences
                    if where not in result["properties"]["runs"]:
                        result["properties"]["runs"].append(where)
    for severity, result in sorted(found.values(), key=lambda each: -each[0].rank):
        yield {**result, "level": LEVELS[severity]}


def _severity(judged: Judged, finding: Finding) -> Severity:
    """What the finding weighs by itself: that of the verdict, unless it is softened."""
    found = [each for each in (judged.severity, finding.ceiling) if each is not None]
    return min(found, key=lambda severity: severity.rank)


def _result(judged: Judged, finding: Finding, server: str, place: str) -> Json:
    told = [(label, line) for label, line in facts(finding, FRAMES) if label != "frame"]
    message = ". ".join([finding.message, *(f"{label}: {line}" for label, line in told if label != "hint")])
    hints = [line for label, line in told if label == "hint"]
    text = _said(message, 4 * MESSAGE) + "".join(f" ({line})" for line in hints)
    logical = [part for part in (_said(server, 200), judged.requirement.area, finding.case) if part]
    return {
        "ruleId": judged.requirement.id,
        "level": "",
        "kind": "fail",
        "message": {"text": text.replace("](", "] (")},  # which would be a link
        "locations": [
            {
                "physicalLocation": {"artifactLocation": {"uri": quote(place), "uriBaseId": "%SRCROOT%"}},
                "logicalLocations": [{"fullyQualifiedName": " / ".join(logical), "kind": "module"}],
            }
        ],
        "partialFingerprints": {},
        "occurrenceCount": 0,
        **({"suppressions": [{"kind": "external", "justification": _said(judged.known)}]} if judged.known else {}),
        "properties": {
            "server": _said(server, 200),
            "requirementLevel": judged.level,
            "basis": judged.basis,
            "runs": [],
            "case": finding.case,
            "confirmation": standing(finding),
            **({"reproduce": _said(judged.reproduce, 4 * MESSAGE)} if judged.reproduce else {}),
            "frames": [line for label, line in facts(finding, FRAMES) if label == "frame"],
        },
    }


def _within(results: Iterator[Json]) -> tuple[list[Json], int]:
    """The results that GitHub takes, and how many are left out; later ones go without frames."""
    kept: list[Json] = []
    size = left = 0
    for result in results:
        if size > WITH_FRAMES:
            result["properties"].pop("frames")
        length = len(json.dumps(readable(result), indent=1)) + 400  # for the indentation of its place
        if left or len(kept) == RESULTS or size + length > BYTES:
            left += 1
            continue
        kept.append(result)
        size += length
    return kept, left


# -- rules


def _worst(report: Report) -> dict[str, Severity]:
    """What the breach of each requirement weighs at most, by its id."""
    found: dict[str, Severity] = {}
    for run in report.runs:
        for judged in run.verdicts:
            known = found.get(judged.requirement.id)
            if judged.severity and (known is None or known.rank < judged.severity.rank):
                found[judged.requirement.id] = judged.severity
    return found


def _rule(requirement: Requirement, severity: Severity, report: Report) -> Json:
    text = shortened(visible(" ".join(requirement.text.split())), DESCRIPTION)
    tested = [run.revision for run in report.runs if run.revision in requirement.levels]
    newest = max(tested, default=requirement.revisions[-1])
    level, basis = requirement.levels[newest], requirement.bases[newest]
    urls = requirement.urls[newest]
    url = urls[0] if urls and urls[0].startswith(("https://", "http://")) else ""
    about = f"{level}, {basis}, in {', '.join(requirement.revisions)}."
    how = f"mcp-conform explain {requirement.id} says how it is checked."
    linked = f"\n\n{link('Specification', url)}" if url else ""
    return {
        "id": requirement.id,
        "name": requirement.id,
        "shortDescription": {"text": text},
        "fullDescription": {"text": text},
        "help": {
            "text": f"{text}\n\n{about}\n\n{how}" + (f"\n\nSpecification: {url}" if url else ""),
            "markdown": f"{prose(text)}\n\n{prose(about)}\n\n{prose(how)}{linked}",
        },
        **({"helpUri": url} if url else {}),
        "defaultConfiguration": {"level": LEVELS[severity]},
        "properties": {
            "tags": ["mcp", requirement.area, level, basis, *requirement.revisions][:TAGS],
            "level": level,
            "basis": basis,
            "revisions": list(requirement.revisions),
        },
    }


# -- the invocation


def _invocation(report: Report, left: int) -> Json:
    began = datetime.fromisoformat(report.started)
    why = unfinished(report)
    notes = [("error", _said(why, NOTE))] if why else []
    stale = report.known.stale if report.known else ()
    notes += [("error", f"baseline: {_said(sentence, NOTE)}") for sentence in stale]
    notes += [("error", f"not tested: {_said(name, 200)}: {_said(why, NOTE)}") for name, why in report.problems.items()]
    notes += [("error", f"mcp-conform itself failed: {_said(why, NOTE)}") for why in by_reason(report, Verdict.BROKEN)]
    if left:
        notes.append(("warning", f"{left} results were left out, since code scanning takes no more"))
    notes += [("note", _said(note, NOTE)) for note in report.notes]
    return {
        "executionSuccessful": bottom(report) in (Bottom.FAILS, Bottom.CONFORMS) and report.exit in (0, 1),
        "exitCode": report.exit,
        "startTimeUtc": _utc(began),
        "endTimeUtc": _utc(began + timedelta(seconds=report.seconds)),
        "toolExecutionNotifications": [{"level": level, "message": {"text": text}} for level, text in notes],
    }


def _utc(time: datetime) -> str:
    return time.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def _said(text: str, limit: int = MESSAGE) -> str:
    return visible(shortened(text, limit))
