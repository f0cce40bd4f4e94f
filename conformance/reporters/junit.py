"""The report as JUnit XML, as CI systems read it: one suite for each run, one test for each requirement."""

from __future__ import annotations

from pathlib import Path

from junit_xml import TestCase, TestSuite, to_xml_report_string

from conformance.engine.events import Event, Finished
from conformance.engine.verdicts import outcome
from conformance.model import Judged, Report, Run, Verdict
from conformance.reporters.report_file import ReportFile
from conformance.reporters.words import covered, diagnosis_of, finding_text, lines, shortened, visible
from conformance.target.process import command_line

MESSAGE, REASON = 400, 1600
"""Characters of what stands in one attribute."""


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
    suites = [_suite(run, report, fail_on) for run in report.runs]
    suites += [_untested(report, name, why) for name, why in report.problems.items()]
    if not suites:
        suites = [_untested(report, "", report.problem or "the run was interrupted")]
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + str(to_xml_report_string(suites, prettyprint=False))


def _suite(run: Run, report: Report, fail_on: str) -> TestSuite:
    prefix = _named(run.name, f"mcp-conform.{run.revision}.{run.transport}", ".")
    cases = []
    for judged in run.verdicts:
        case = TestCase(judged.requirement.id, f"{prefix}.{judged.requirement.area}", judged.seconds)
        _tell(case, judged, fail_on)
        cases.append(case)
    properties = {
        "server.name": run.server.get("name", ""),
        "server.version": run.server.get("version", ""),
        "revision": run.revision,
        "transport": run.transport,
        "coverage": covered(run.extent),
        **_about(report),
    }
    return TestSuite(
        _named(run.name, f"{run.revision} {run.transport}", " "),
        cases,
        timestamp=_timestamp(report),
        properties={name: visible(shortened(str(value), MESSAGE)) for name, value in properties.items()},
    )


def _tell(case: TestCase, judged: Judged, fail_on: str) -> None:
    reason, result = visible(shortened(judged.reason, REASON)), outcome(judged, fail_on)
    if result == "skipped":
        case.add_skipped_info(f"{judged.verdict}: {reason}")
    elif result == "error":
        case.add_error_info(f"mcp-conform itself failed: {reason}", error_type="broken")
    elif judged.verdict is Verdict.FAILED and judged.severity is not None:
        text = lines(finding_text(judged))
        if result == "failed":
            message = visible(shortened(judged.findings[0].message, MESSAGE)) if judged.findings else reason
            case.add_failure_info(message or judged.requirement.id, text, judged.severity.value)
        else:
            case.stdout = text


def _untested(report: Report, name: str, why: str) -> TestSuite:
    """What could not be tested: a suite with one error, since a suite without tests counts as success."""
    title = _named(name, "mcp-conform", ".")
    case = TestCase("the server can be tested", title, 0.0 if name else report.seconds)
    told = "" if name else "\n".join(f"{label}: {line}" for label, line in diagnosis_of(report))
    case.add_error_info(visible(shortened(why, REASON)), told or None, error_type="untested")
    return TestSuite(title, [case], timestamp=_timestamp(report), properties=_about(report))


def _named(name: str, rest: str, separator: str) -> str:
    """`rest`, after the name of the server if it has one."""
    return f"{visible(name)}{separator}{rest}" if name else rest


def _about(report: Report) -> dict[str, str]:
    target = report.target
    about = {"tool": f"mcp-conform {report.version}", "complete": str(report.complete).lower()}
    if report.untried:
        about["untried"] = ", ".join(report.untried)
    if target.config:
        about["config"] = visible(target.config)
    if target.command:
        about["command"] = visible(command_line(target.command))
    if target.url:
        about["url"] = visible(target.url)
    return about


def _timestamp(report: Report) -> str:
    """Without a zone, as the schema of Jenkins has it."""
    return report.started.removesuffix("Z").partition("+")[0]
