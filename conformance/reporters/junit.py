"""The report as JUnit XML, as CI systems read it: one suite for each run, one test for each requirement.

The times of the tests add up to the time of the run: each test has a share of it, in proportion to the time that its
cases took. So start-up and confirmation are shared too, and cases that ran at once are not counted twice. Names are
unique, and the same in every run.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from itertools import accumulate, pairwise
from pathlib import Path

from conformance.engine.events import Event, Finished
from conformance.engine.verdicts import outcome
from conformance.model import Judged, Report, Run, Verdict
from conformance.reporters.report_file import ReportFile
from conformance.reporters.summary import unfinished
from conformance.reporters.words import covered, diagnosis_of, finding_text, lines, shortened, visible
from conformance.target.process import command_line

MESSAGE, REASON = 400, 1600
"""Characters of what stands in one attribute."""
COUNTED = {"failures": "failure", "errors": "error", "skipped": "skipped"}


class JunitReporter:
    """Writes the report when the run is finished. What weighs at least `fail_on` is a failure."""

    def __init__(self, path: Path, fail_on: str = "violation") -> None:
        self._fail_on = fail_on
        self._file = ReportFile(path)

    def consume(self, event: Event) -> None:
        """Write the report."""
        if isinstance(event, Finished):
            self._file.write(as_xml(event.report, self._fail_on) + "\n")

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_xml(report: Report, fail_on: str) -> str:
    """The report as an XML document in ASCII; what weighs at least `fail_on` is a failure."""
    root = ET.Element("testsuites", name="mcp-conform")
    weights: list[float] = []
    for run in report.runs:
        root.append(_suite(run, report, fail_on))
        weights += [judged.seconds for judged in run.verdicts]
    for name, why in report.problems.items():
        root.append(_untested(report, name, why))
        weights.append(0.0)
    for sentence in report.known.stale if report.known else ():
        root.append(_stale(report, sentence))
        weights.append(0.0)
    if why := unfinished(report):
        root.append(_untested(report, "", why))
        weights.append(0.0)
    for case, time in zip(root.iter("testcase"), _shares(weights, report.seconds), strict=True):
        case.set("time", _seconds(time))
    _total(root)
    text = ET.tostring(root, encoding="us-ascii", xml_declaration=False).decode("ascii")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'


def _suite(run: Run, report: Report, fail_on: str) -> ET.Element:
    about = {
        "server.name": run.server.get("name", ""),
        "server.version": run.server.get("version", ""),
        "revision": run.revision,
        "transport": run.transport,
        "coverage": covered(run.extent),
        **_about(report),
    }
    suite = _empty(_named(run.name, f"{run.revision} {run.transport}", " "), report, about)
    prefix = _named(run.name, f"mcp-conform.{run.revision}.{run.transport}", ".")
    for judged in run.verdicts:
        place = f"{prefix}.{judged.requirement.area}"
        case = ET.SubElement(suite, "testcase", name=judged.requirement.id, classname=place)
        _tell(case, judged, fail_on)
    return suite


def _tell(case: ET.Element, judged: Judged, fail_on: str) -> None:
    reason, result = visible(shortened(judged.reason, REASON)), outcome(judged, fail_on)
    if result == "skipped":
        known = visible(shortened(judged.known, REASON))
        ET.SubElement(case, "skipped", message=f"known: {known}" if known else f"{judged.verdict}: {reason}")
    elif result == "error":
        ET.SubElement(case, "error", type="broken", message=f"mcp-conform itself failed: {reason}")
    elif judged.verdict is Verdict.FAILED and judged.severity is not None:
        if result == "failed":
            message = visible(shortened(judged.findings[0].message, MESSAGE)) if judged.findings else reason
            told = ET.SubElement(case, "failure", type=judged.severity.value, message=message or judged.requirement.id)
        else:
            told = ET.SubElement(case, "system-out")
        told.text = lines(finding_text(judged))


def _untested(report: Report, name: str, why: str) -> ET.Element:
    """What could not be tested: a suite with one error, since a suite without tests counts as success."""
    title = _named(name, "mcp-conform", ".")
    suite = _empty(title, report, _about(report))
    case = ET.SubElement(suite, "testcase", name="the server can be tested", classname=title)
    error = ET.SubElement(case, "error", type="untested", message=visible(shortened(why, REASON)))
    if not name:
        error.text = "\n".join(f"{label}: {line}" for label, line in diagnosis_of(report)) or None
    return suite


def _empty(name: str, report: Report, about: Mapping[str, str]) -> ET.Element:
    suite = ET.Element("testsuite", name=name, timestamp=_timestamp(report))
    properties = ET.SubElement(suite, "properties")
    for key, value in about.items():
        ET.SubElement(properties, "property", name=key, value=visible(shortened(str(value), MESSAGE)))
    return suite


def _total(root: ET.Element) -> None:
    """Tests, failures, errors and times of each suite and of all; Jenkins' schema knows `skipped` of suites only."""
    for each in (root, *root):
        cases = list(each.iter("testcase"))
        each.set("tests", str(len(cases)))
        for name, tag in COUNTED.items():
            if each is not root or tag != "skipped":
                each.set(name, str(sum(case.find(tag) is not None for case in cases)))
        each.set("time", _seconds(sum(round(1000 * float(case.attrib["time"])) for case in cases)))


def _shares(weights: list[float], seconds: float) -> Iterator[int]:
    """Whole milliseconds in proportion to `weights`, or equal ones if all are 0; together they are `seconds`."""
    weights = weights if any(weights) else [1.0] * len(weights)
    ends = [round(1000 * seconds * part / sum(weights)) for part in accumulate(weights, initial=0.0)]
    return (after - before for before, after in pairwise(ends))


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}"


def _stale(report: Report, sentence: str) -> ET.Element:
    """What is wrong with the baseline: a suite with one failure."""
    told = visible(shortened(sentence, MESSAGE))
    suite = _empty("baseline", report, _about(report))
    case = ET.SubElement(suite, "testcase", name=told, classname="mcp-conform.baseline")
    ET.SubElement(case, "failure", type="baseline", message=told)
    return suite


def _named(name: str, rest: str, separator: str) -> str:
    """`rest`, after the name of the server if it has one."""
    return f"{visible(name)}{separator}{rest}" if name else rest


def _about(report: Report) -> dict[str, str]:
    target = report.target
    about = {"tool": f"mcp-conform {report.version}", "complete": str(report.complete).lower()}
    if report.untried:
        about["untried"] = ", ".join(report.untried)
    if target.config:
        about["config"] = target.config
    if target.command:
        about["command"] = command_line(target.command)
    if target.url:
        about["url"] = target.url
    return about


def _timestamp(report: Report) -> str:
    """Without a zone, as the schema of Jenkins has it."""
    return report.started.removesuffix("Z").partition("+")[0]
