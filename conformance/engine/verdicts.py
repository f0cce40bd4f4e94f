"""Findings → verdicts → exit status: all policy is here and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from conformance.checks.ledger import Ledger
from conformance.model import Basis, Finding, Judged, Level, Report, Requirement, Run, Severity, Verdict
from conformance.survey.survey import Survey

BINDING = (Basis.TEXT, Basis.SCHEMA, Basis.JSONRPC, Basis.OWN)
"""A MUST fails only if it stands in capitals on a page, in the schema, in JSON-RPC 2.0, or in cases of the user."""

EXIT_CLEAN = 0
EXIT_VIOLATIONS = 1
EXIT_USAGE = 2
EXIT_UNTESTED = 3

FAIL_ON = ("violation", "warning", "advice")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the engine knows about a run when verdicts are due.

    `survey` is None if the session could not be opened. `seconds` is the time spent on each case.
    `cases_of` are the cases that can judge a requirement. `softened` is what the user has weigh less.
    """

    revision: str
    transport: str
    survey: Survey | None
    ledger: Ledger
    cases_of: Mapping[str, tuple[str, ...]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    blocked_by: str = ""
    softened: Mapping[str, Severity] = field(default_factory=dict)


def severity_of(requirement: Requirement, revision: str, ceiling: Severity | None = None) -> Severity:
    """What a breach weighs in `revision`; `ceiling` softens it and never hardens it."""
    if requirement.bases[revision] is Basis.CLIENT:
        return Severity.ADVICE
    must = requirement.levels[revision] in (Level.MUST, Level.MUST_NOT)
    binding = requirement.bases[revision] in BINDING
    severity = Severity.VIOLATION if must and binding else Severity.WARNING
    return severity if ceiling is None or ceiling.rank >= severity.rank else ceiling


def judge(requirement: Requirement, facts: Facts) -> Judged:
    """The verdict on one requirement in one run. It must hold in the run's revision."""
    ledger = facts.ledger
    softened = facts.softened.get(requirement.id)
    found = [f for f in (*ledger.findings, *ledger.flaky) if f.requirement == requirement.id]
    findings = tuple(_at_most(softened, f) for f in found if f.confirmed is not False)
    verdict, reason = _verdict(requirement, facts, findings)
    failed = verdict is Verdict.FAILED
    severity = (
        max((severity_of(requirement, facts.revision, f.ceiling) for f in findings), key=lambda s: s.rank)
        if failed
        else None
    )
    return Judged(
        requirement=requirement,
        level=requirement.levels[facts.revision],
        basis=requirement.bases[facts.revision],
        verdict=verdict,
        severity=severity,
        reason=reason,
        url=requirement.urls[facts.revision][0],
        findings=tuple(sorted(findings, key=lambda f: -severity_of(requirement, facts.revision, f.ceiling).rank))
        if failed
        else (),
        # What did not come back fails nobody, whether all tries were made or the run was cut short before.
        flaky=tuple(f for f in found if f.confirmed is False) if verdict is Verdict.INCONCLUSIVE else (),
        seconds=sum(facts.seconds.get(case, 0.0) for case in facts.cases_of.get(requirement.id, ())),
    )


def in_order(verdicts: Iterable[Judged], found: Iterable[str]) -> tuple[Judged, ...]:
    """What failed comes first: by severity, what blocks others before what does not, then as it was `found`.

    `found` are the ids of requirements. The others keep their order.
    """
    verdicts = tuple(verdicts)
    places = {identifier: place for place, identifier in enumerate(dict.fromkeys(found))}
    causes = {judged.reason for judged in verdicts if judged.verdict is Verdict.BLOCKED}

    def place(judged: Judged) -> tuple[int, bool, int]:
        if judged.severity is None:
            return 1, False, 0
        identifier = judged.requirement.id
        return -judged.severity.rank, identifier not in causes, places.get(identifier, len(places))

    return tuple(sorted(verdicts, key=place))


def _at_most(severity: Severity | None, finding: Finding) -> Finding:
    """The finding, no heavier than `severity`."""
    if severity is None or (finding.ceiling is not None and finding.ceiling.rank <= severity.rank):
        return finding
    return replace(finding, ceiling=severity)


def _verdict(requirement: Requirement, facts: Facts, findings: tuple[Finding, ...]) -> tuple[Verdict, str]:
    identifier, ledger, survey = requirement.id, facts.ledger, facts.survey
    undeclared = (
        survey is not None
        and requirement.capabilities
        and not any(survey.declares(capability) for capability in requirement.capabilities)
    )
    if undeclared:
        return Verdict.NOT_APPLICABLE, "the server does not declare " + " or ".join(requirement.capabilities)
    if findings:
        return Verdict.FAILED, ""
    if identifier in ledger.broken:
        return Verdict.BROKEN, ledger.broken[identifier]
    doubted = [f for f in (*ledger.findings, *ledger.flaky) if f.requirement == identifier]
    if doubted:
        flaky = doubted[0]
        shown, tries = flaky.tries
        return Verdict.INCONCLUSIVE, f"flaky, in {shown} of {tries} tries: {flaky.message} ({flaky.actual})"
    if identifier in ledger.tested:
        return Verdict.PASSED, ""
    if identifier in ledger.blocked:
        return Verdict.BLOCKED, ledger.blocked[identifier]
    if identifier in ledger.absent:
        return Verdict.NOT_APPLICABLE, ledger.absent[identifier]
    if facts.blocked_by:
        return Verdict.BLOCKED, facts.blocked_by
    if identifier in ledger.open:
        return Verdict.INCONCLUSIVE, ledger.open[identifier]
    why = f"needs {requirement.needs}" if requirement.needs else "nothing that the server did is about this rule"
    return Verdict.INCONCLUSIVE, f"not tested: {why}"


Outcome = Literal["passed", "failed", "skipped", "error"]


def outcome(judged: Judged, fail_on: str = "violation") -> Outcome:
    """A verdict in the words of test runners; what weighs at least `fail_on` is a failure."""
    if judged.verdict is Verdict.BROKEN:
        return "error"
    if judged.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE, Verdict.BLOCKED):
        return "skipped"
    weighs = judged.severity is not None and judged.severity.rank >= Severity(fail_on).rank
    return "failed" if weighs else "passed"


def counts(runs: Iterable[Run]) -> dict[str, int]:
    """How many requirements got each verdict, and how many findings each severity, over all runs."""
    counter: Counter[str] = Counter({verdict.value: 0 for verdict in Verdict})
    counter.update({severity.value: 0 for severity in Severity})
    for run in runs:
        for judged in run.verdicts:
            counter[judged.verdict.value] += 1
            if judged.severity is not None:
                counter[judged.severity.value] += 1
    return dict(counter)


def exit_status(report: Report, fail_on: str = "violation") -> int:
    """The exit status for a report: DESIGN's 0, 1 or 3.

    `fail_on` is the least severity that fails. Zero requirements put to the test is never success.
    """
    verdicts = [judged for run in report.runs for judged in run.verdicts]
    if any(outcome(judged, fail_on) == "failed" for judged in verdicts):
        return EXIT_VIOLATIONS
    tested = any(judged.verdict in (Verdict.PASSED, Verdict.FAILED) for judged in verdicts)
    broken = any(judged.verdict is Verdict.BROKEN for judged in verdicts)
    if report.problem or report.problems or broken or not tested or not report.complete:
        return EXIT_UNTESTED
    return EXIT_CLEAN


def worst(statuses: Iterable[int]) -> int:
    """The exit status for several servers: violations weigh most, then what could not be tested."""
    found = set(statuses)
    return next((status for status in (EXIT_VIOLATIONS, EXIT_UNTESTED, EXIT_CLEAN) if status in found), EXIT_UNTESTED)
