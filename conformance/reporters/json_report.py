"""The report as JSON; `schemas/report.json` describes it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path

from conformance.engine.events import Event, Finished
from conformance.model import Finding, Frame, Json, Judged, Played, Report, Run, Tally, Target
from conformance.reporters.addresses import page
from conformance.reporters.report_file import ReportFile
from conformance.reporters.words import HEADER, decoded, shortened

FORMAT = 1
FRAME_LIMIT = 16384
"""Characters of a frame or of any other text; the middle of longer ones is left out."""
DEPTH = 64
"""How deep what a server sent is copied."""
LARGEST = 10**308
"""A whole number beyond it is more than many JSON parsers can read."""

_BEYOND_ASCII = re.compile(r"[^\x00-\x7e]+")


class JsonReporter:
    """Writes the report when the run is finished."""

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        self._file = ReportFile(path)

    def consume(self, event: Event) -> None:
        """Write the report."""
        if isinstance(event, Finished):
            self._file.write(as_text(as_json(event.report)))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_json(report: Report) -> Json:
    """The report as JSON data; strings hold no lone surrogates and numbers are finite."""
    data = {
        "report": FORMAT,
        "complete": report.complete,
        "tool": {"name": "mcp-conform", "version": report.version},
        "started": report.started,
        "seconds": round(report.seconds, 3),
        "target": _target(report.target),
        "runs": [_run(run) for run in report.runs],
        "counts": dict(report.counts),
        "exit": report.exit,
    }
    if report.untried:
        data["untried"] = list(report.untried)
    if report.fail_on != "violation":
        data["failOn"] = report.fail_on
    if report.known is not None:
        known = report.known
        data["baseline"] = {"file": known.path, "stale": list(known.stale), "untested": list(known.untested)}
    if report.notes:
        data["notes"] = [_told(note) for note in report.notes]
    if report.problem:
        data["problem"] = _told(report.problem)
    data |= _diagnosis(report)
    if report.problems:
        data["problems"] = {name: _told(why) for name, why in report.problems.items()}
    return readable(data)


def as_text(data: Json, sort_keys: bool = False) -> str:
    """JSON for files that people look at too: in it is no control character but the newline between members.

    Nor is there anything else that a terminal or an editor obeys. `data` is what `readable` gives.
    """
    text = json.dumps(data, indent=2, sort_keys=sort_keys, ensure_ascii=False, allow_nan=False)
    return _BEYOND_ASCII.sub(_escaped, text) + "\n"


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    return text if text.isprintable() else "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _target(target: Target) -> Json:
    data: dict[str, Json] = {}
    if target.config:
        data["config"] = target.config
    if target.command:
        data["command"] = list(target.command)
    if target.url:
        data["url"] = target.url
    return data


def _run(run: Run) -> Json:
    return {
        **({"name": run.name} if run.name else {}),
        "revision": run.revision,
        "era": run.era,
        "transport": run.transport,
        "server": {name: _told(str(run.server.get(name, ""))) for name in ("name", "version")},
        "capabilities": readable(run.capabilities, longest=FRAME_LIMIT),
        "coverage": {
            "checked": run.extent.checked,
            "unobservable": run.extent.unobservable,
            "unchecked": run.extent.unchecked,
        },
        "verdicts": [_judged(judged) for judged in run.verdicts],
        **({"cases": {case: _played(played) for case, played in run.cases.items()}} if run.cases else {}),
        **({"leftOut": {_told(name): _told(why) for name, why in run.left_out.items()}} if run.left_out else {}),
        **({"campaigns": [_tally(tally) for tally in run.tallies]} if run.tallies else {}),
    }


def _played(played: Played) -> Json:
    return {"seconds": round(played.seconds, 3), "frames": [excerpt._asdict() for excerpt in played.excerpts]}


def _tally(tally: Tally) -> Json:
    return {
        "campaign": tally.campaign,
        "seed": tally.seed,
        "planned": tally.planned,
        "frames": tally.frames,
        "answers": dict(tally.answers),
        "restarts": tally.restarts,
        **({"note": tally.note} if tally.note else {}),
    }


def _judged(judged: Judged) -> Json:
    return {
        "requirement": judged.requirement.id,
        "level": judged.level,
        "basis": judged.basis,
        "verdict": judged.verdict,
        "severity": judged.severity,
        "reason": _told(judged.reason),
        "url": judged.url,
        **_page(judged.requirement.id),
        "findings": [_finding(finding) for finding in judged.findings],
        "reproduce": judged.reproduce,
        **({"shownBy": dict(judged.shown_by)} if judged.shown_by else {}),
        **({"known": _told(judged.known)} if judged.known else {}),
        **({"flaky": [_finding(finding) for finding in judged.flaky]} if judged.flaky else {}),
    }


def _page(requirement: str) -> dict[str, Json]:
    address = page(requirement)
    return {"page": address} if address else {}


def _finding(finding: Finding) -> Json:
    return {
        "case": finding.case,
        "message": _told(finding.message),
        "expected": _told(finding.expected),
        "actual": _told(finding.actual),
        "confirmed": finding.confirmed,
        "frames": [_frame(frame) for frame in finding.frames],
        **({"after": list(finding.after)} if finding.after else {}),
        **({"tries": dict(zip(("shown", "of"), finding.tries, strict=True))} if finding.tries[1] else {}),
        **_diagnosis(finding),
    }


def _told(text: str) -> str:
    return shortened(text, FRAME_LIMIT)


def _diagnosis(of: Finding | Report) -> dict[str, Json]:
    return {"diagnosis": of.diagnosis, "hint": of.hint} if of.diagnosis else {}


def _frame(frame: Frame) -> Json:
    text = decoded(frame.data, FRAME_LIMIT)
    if frame.channel == "head":
        text = "\n".join([f"HTTP {frame.status}", *(f"{name}: {value}" for name, value in frame.headers.items())])
    headers = {name: shortened(value, HEADER) for name, value in frame.headers.items() if frame.origin == "us"}
    told: Json = {"origin": frame.origin, "channel": frame.channel, "at": round(frame.at, 6), "text": text}
    return {**told, "headers": headers} if headers else told


def readable(value: Json, depth: int = DEPTH, longest: int | None = None) -> Json:
    """What any JSON parser reads: surrogates escaped, no NaN, no number beyond 1e308, not too deep.

    With `longest` the middle of longer texts is left out.
    """
    if isinstance(value, str):
        text = value if longest is None else shortened(value, longest)
        return text.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, int) and abs(value) > LARGEST:
        return str(value)
    if isinstance(value, dict | list) and depth == 0:
        return "… (nested too deep)"
    if isinstance(value, dict):
        return {readable(name, depth, longest): readable(member, depth - 1, longest) for name, member in value.items()}
    if isinstance(value, list):
        return [readable(element, depth - 1, longest) for element in value]
    return value
