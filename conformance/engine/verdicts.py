"""Findings → verdicts → exit status: all policy is here and nowhere else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from conformance.checks.ledger import Ledger
from conformance.codes import METHOD_NOT_FOUND
from conformance.model import Basis, Finding, Json, Judged, Level, Report, Requirement, Run, Severity, Verdict
from conformance.session.messages import parse
from conformance.survey.survey import Survey

BINDING = (Basis.TEXT, Basis.SCHEMA, Basis.JSONRPC, Basis.OWN)
"""A MUST fails only if it stands in capitals on a page, in the schema, in JSON-RPC 2.0, or in cases of the user."""

EXIT_CLEAN = 0
EXIT_VIOLATIONS = 1
EXIT_USAGE = 2
EXIT_UNTESTED = 3

FAIL_ON = ("violation", "warning", "advice")


SERVED = (
    "completion/method-available",
    "logging/set-level-answered",
    "prompts/methods-available",
    "resources/methods-available",
    "resources/subscribe-answered",
    "resources/templates-list-available",
    "subscriptions/listen-supported",
    "tools/methods-available",
)
"""The rules that a method which the server declares is there: of what follows from that, only they fail."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What the engine knows about a run when verdicts are due.

    `survey` is None if the session could not be opened. `seconds` is the time spent on each case, divided by the number
    of requirements that it judges. `cases_of` are the cases that can judge a requirement. `softened` is what the user
    has weigh less. `out_of_time` says why there was no time for the rest.
    """

    revision: str
    transport: str
    survey: Survey | None
    ledger: Ledger
    cases_of: Mapping[str, tuple[str, ...]]
    seconds: Mapping[str, float] = field(default_factory=dict)
    blocked_by: str = ""
    out_of_time: str = ""
    softened: Mapping[str, Severity] = field(default_factory=dict)


def severity_of(requirement: Requirement, revision: str, ceiling: Severity | None = None) -> Severity:
    """What a breach weighs in `revision`; `ceiling` softens it and never hardens it."""
    if requirement.bases[revision] is Basis.CLIENT:
        return Severity.ADVICE
    must = requirement.levels[revision] in (Level.MUST, Level.MUST_NOT)
    binding = requirement.bases[revision] in BINDING
    severity = Severity.VIOLATION if must and binding else Severity.WARNING
    return severity if ceiling is None or ceiling.rank >= severity.rank else ceiling


def softened(judged: Judged) -> bool:
    """Whether it failed, and weighs less than its level and basis say."""
    must = judged.level in (Level.MUST, Level.MUST_NOT) and judged.basis in BINDING
    return must and judged.severity in (Severity.WARNING, Severity.ADVICE)


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
        shown_by=facts.ledger.tested.get(requirement.id, {}) if verdict is Verdict.PASSED else {},
        seconds=sum(facts.seconds.get(case, 0.0) for case in facts.cases_of.get(requirement.id, ())),
    )


def without_followers(verdicts: Iterable[Judged], facts: Facts) -> list[Judged]:
    """One cause, one finding: what failed only because a method is unknown is blocked by the finding that says so.

    Nothing weighs less for that: what is heavier than its cause stays as it is.
    """
    verdicts = list(verdicts)
    missing: dict[str, Judged] = {}
    for judged in verdicts:
        if judged.verdict is Verdict.FAILED and judged.requirement.id in SERVED:
            for finding in judged.findings:
                missing.setdefault(_unknown_method(finding, facts.ledger), judged)
    missing.pop("", None)

    def follows(judged: Judged) -> Judged:
        if judged.severity is None or judged.requirement.id in SERVED:
            return judged
        causes = [missing.get(_unknown_method(finding, facts.ledger)) for finding in judged.findings]
        cause = causes[0] if causes else None
        if cause is None or None in causes or cause.severity is None or cause.severity.rank < judged.severity.rank:
            return judged
        return replace(judged, verdict=Verdict.BLOCKED, severity=None, reason=cause.requirement.id, findings=())

    return [follows(judged) for judged in verdicts]


def _unknown_method(finding: Finding, ledger: Ledger) -> str:
    """The method that the server never served, and whose refusal as unknown is all that proves the finding; else ""."""
    asked: list[Json] = []
    codes: list[Json] = []
    for frame in finding.frames:
        said = parse(frame.data)[0]  # what campaigns send is kept as bytes only
        message = said if isinstance(said, dict) else {}
        if frame.origin == "us":
            asked.append(message.get("method"))
        else:
            error = message.get("error")
            codes.append(error.get("code") if isinstance(error, dict) else None)
    method = asked[0] if asked and all(each == asked[0] for each in asked) else None
    refused = bool(codes) and all(code == METHOD_NOT_FOUND for code in codes)
    proved = refused and isinstance(method, str) and method in ledger.unknown - ledger.served
    # Of several like findings only the frames of the first are kept; those of another method say so.
    alike = finding.occurrences == 1 or str(method) in finding.message
    return str(method) if proved and alike else ""


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


def doubt(finding: Finding) -> str:
    """Why a finding does not count, for people: it came back too seldom, or could not be tried often enough."""
    shown, tries = finding.tries
    often = f"in {shown} of {tries} {'try' if tries == 1 else 'tries'}"
    return f"flaky, {often}" if shown < tries else f"not confirmed, {often}, too few"


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
        return Verdict.INCONCLUSIVE, f"{doubt(flaky)}: {flaky.message} ({flaky.actual})"
    if identifier in ledger.tested:
        return Verdict.PASSED, ""
    if identifier in ledger.blocked:
        return Verdict.BLOCKED, ledger.blocked[identifier]
    if identifier in ledger.absent:
        return Verdict.NOT_APPLICABLE, ledger.absent[identifier]
    if facts.blocked_by:
        return Verdict.BLOCKED, facts.blocked_by
    if facts.out_of_time:
        return Verdict.INCONCLUSIVE, facts.out_of_time
    if identifier in ledger.open:
        return Verdict.INCONCLUSIVE, ledger.open[identifier]
    why = f"needs {requirement.needs}" if requirement.needs else "nothing that the server did is about this rule"
    return Verdict.INCONCLUSIVE, f"not tested: {why}"


KNOWN = "known"
NOT_ALL = "not all could be tested"
"""With this begins the problem of a run that was cut short."""
Outcome = Literal["passed", "failed", "skipped", "error"]


def outcome(judged: Judged, fail_on: str = "violation") -> Outcome:
    """A verdict in the words of test runners; what weighs at least `fail_on` is a failure."""
    if judged.verdict is Verdict.BROKEN:
        return "error"
    if judged.verdict in (Verdict.NOT_APPLICABLE, Verdict.INCONCLUSIVE, Verdict.BLOCKED) or judged.known:
        return "skipped"
    weighs = judged.severity is not None and judged.severity.rank >= Severity(fail_on).rank
    return "failed" if weighs else "passed"


_WEIGHTS = {
    Verdict.NOT_APPLICABLE: 1,
    Verdict.INCONCLUSIVE: 0,
    Verdict.BLOCKED: 2,
    Verdict.PASSED: 3,
    Verdict.BROKEN: 5,
    Verdict.FAILED: 6,
}


def weight(judged: Judged) -> int:
    """Which verdict counts where the cases of one run were played in several parts: the one of the highest weight.

    What some part has found was found. A part that had nothing to do with a requirement says nothing of it.
    """
    severity = judged.severity.rank if judged.severity is not None else 0
    return 4 if judged.flaky else _WEIGHTS[judged.verdict] + severity


def counts(runs: Iterable[Run]) -> dict[str, int]:
    """How many requirements got each verdict, and how many failed with each severity, over all runs.

    What is known is counted under "known" and under no severity.
    """
    counter: Counter[str] = Counter({verdict.value: 0 for verdict in Verdict})
    counter.update({severity.value: 0 for severity in Severity})
    for run in runs:
        for judged in run.verdicts:
            counter[judged.verdict.value] += 1
            if judged.known:
                counter[KNOWN] += 1
            elif judged.severity is not None:
                counter[judged.severity.value] += 1
    return dict(counter)


def mostly_left_out(runs: Iterable[Run], why: str) -> bool:
    """Whether `why`, which may be "", left more requirements open than half of those that were put to the test."""
    verdicts = [judged for run in runs for judged in run.verdicts]
    tested = sum(judged.verdict in (Verdict.PASSED, Verdict.FAILED) for judged in verdicts)
    left = sum(judged.verdict is Verdict.INCONCLUSIVE and why in judged.reason for judged in verdicts)
    return bool(why) and 2 * left > tested


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
