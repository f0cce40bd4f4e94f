"""What came of the test of one server: the result that is kept, and the row of the summary that is made of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.engine.verdicts import EXIT_CLEAN, EXIT_VIOLATIONS
from conformance.fleet.conditions import LIMITS, conditions, cut_by
from conformance.fleet.entries import Entry
from conformance.fleet.limits import TIME
from conformance.fleet.trial import Job, Tried
from conformance.model import Json, Severity, Verdict
from conformance.reporters.json_report import readable
from conformance.reporters.words import shortened

FORMAT = 1
PASSED, FAILED, INCOMPLETE, NOT_TESTED = "passed", "failed", "incomplete", "not tested"
OUTCOMES = (FAILED, INCOMPLETE, NOT_TESTED, PASSED)
REASON = 1000
FRAME = 600
"""Characters."""


class Verdicted(NamedTuple):
    """One requirement in one run of one server, as a result has it. `severity` is "" unless it failed."""

    revision: str
    transport: str
    requirement: str
    verdict: str
    severity: str
    message: str


def result_of(entry: Entry, digest: str, tried: Tried, attempts: int, job: Job) -> Json:
    """What is kept of a server whose test has ended. `attempts` counts the workers that took it."""
    report = None if tried.report is None else _trimmed(tried.report)
    outcome, reason = _outcome(report, tried)
    cut = cut_by(report, tried.limit, job.limits, job.sandbox)
    settled = outcome in (PASSED, FAILED) and not {tried.limit, TIME} & set(cut)
    return {
        **_head(entry, digest, None if settled else conditions(job.limits, job.sandbox, job.keep, cut)),
        "outcome": outcome,
        "reason": shortened(readable(reason), REASON),
        "attempts": attempts,
        "seconds": round(tried.seconds, 1),
        "used": dict(tried.used),
        "report": report,
    }


def not_tested(entry: Entry, digest: str, reason: str, attempts: int = 0, job: Job | None = None) -> Json:
    """What is kept of a server that could not be tested, and why."""
    return {
        **_head(entry, digest, None if job is None else conditions(job.limits, job.sandbox, job.keep, LIMITS)),
        "outcome": NOT_TESTED,
        "reason": shortened(readable(reason), REASON),
        "attempts": attempts,
        "seconds": 0.0,
        "used": {},
        "report": None,
    }


def _head(entry: Entry, digest: str, unsettled: Json) -> dict[str, Json]:
    """`unsettled` are the conditions under which it may be another result; the store reads that at once."""
    head: dict[str, Json] = {"result": FORMAT, "digest": digest}
    head |= {"conditions": unsettled} if unsettled is not None else {}
    head |= {"key": entry.key, "name": readable(entry.name)}
    return {**head, "listed": readable(entry.version)} if entry.version else head


def _outcome(report: Json, tried: Tried) -> tuple[str, str]:
    """One of OUTCOMES, and why it is not passed or failed."""
    if report is None:
        return NOT_TESTED, tried.reason
    told = [f"its test was ended: {tried.stopped}"] if tried.stopped else []
    told += [report.get("problem", ""), *report.get("notes", ())]
    reason = next(filter(None, told), "")
    if not any(each.verdict in (Verdict.PASSED, Verdict.FAILED) for each in verdicts_of(report)):
        return NOT_TESTED, reason or "nothing could be tested"
    if report["exit"] == EXIT_VIOLATIONS:
        return FAILED, reason if tried.stopped else ""
    if report["exit"] == EXIT_CLEAN and not tried.stopped:
        return PASSED, ""
    return INCOMPLETE, reason or "not all could be tested"


def _trimmed(report: Json) -> Json:
    """A report without what audits what passed: a fleet has too many of them."""
    runs = [
        {
            **{name: value for name, value in run.items() if name != "cases"},
            "verdicts": [{name: value for name, value in v.items() if name != "shownBy"} for v in run["verdicts"]],
        }
        for run in report["runs"]
    ]
    return {**report, "runs": runs}


def compact(result: Json) -> Json:
    """A result with what failed in full, and of all else only what is called how: for a folder that is published."""
    if result["report"] is None:
        return result
    runs = []
    for run in result["report"]["runs"]:
        rest: dict[str, list[str]] = {}
        for verdict in run["verdicts"]:
            if verdict["verdict"] != Verdict.FAILED:
                rest.setdefault(verdict["verdict"], []).append(verdict["requirement"])
        failed = [_brief(verdict) for verdict in run["verdicts"] if verdict["verdict"] == Verdict.FAILED]
        runs.append({**run, "verdicts": failed, "rest": rest})
    return {**result, "report": {**result["report"], "runs": runs}}


def _brief(verdict: Json) -> Json:
    """With the frames of its findings as short as is good for reading."""
    findings = [
        {**each, "frames": [{**frame, "text": shortened(frame["text"], FRAME)} for frame in each["frames"]]}
        for each in verdict["findings"]
    ]
    return {**verdict, "findings": findings}


def verdicts_of(report: Json) -> Iterator[Verdicted]:
    """All verdicts of a report, compact or not."""
    for run in report["runs"]:
        where = (run["revision"], run["transport"])
        for verdict in run["verdicts"]:
            message = verdict["findings"][0]["message"] if verdict["findings"] else verdict["reason"]
            yield Verdicted(
                *where,
                verdict["requirement"],
                verdict["verdict"],
                verdict["severity"] or "",
                shortened(message, REASON),
            )
        for name, requirements in run.get("rest", {}).items():
            for requirement in requirements:
                yield Verdicted(*where, requirement, name, "", "")


def row_of(result: Json) -> Json:
    """What the summary says of a server; schemas/fleet.json describes it."""
    report = result["report"] or {"runs": [], "exit": None}
    told = list(verdicts_of(report))
    broken = {
        severity: sorted(
            {each.requirement for each in told if each.severity == severity and each.verdict == Verdict.FAILED}
        )
        for severity in Severity
    }
    decided = sum(each.verdict in (Verdict.PASSED, Verdict.FAILED) for each in told)
    said = next((run["server"].get("version", "") for run in report["runs"]), "")
    return {
        "key": result["key"],
        "name": result["name"],
        "version": shortened(said or result.get("listed", ""), 100),
        "outcome": result["outcome"],
        "reason": result["reason"],
        "revisions": sorted({run["revision"] for run in report["runs"]}),
        "transports": sorted({run["transport"] for run in report["runs"]}),
        "broken": {str(severity): names for severity, names in broken.items()},
        "tested": decided,
        "applicable": sum(each.verdict != Verdict.NOT_APPLICABLE for each in told),
        "seconds": result["seconds"],
        "attempts": result["attempts"],
    }
