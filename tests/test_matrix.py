"""The kill matrix: each fault of the reference server is caught by the requirement it breaks, and by no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

import fronts
import mistake_faults
import pytest

from conformance.catalogue.mistakes import table
from conformance.catalogue.requirements import load
from conformance.catalogue.selection import Selection, quick
from conformance.checks.fuzz import TABLE
from conformance.checks.registry import cases, checks
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import OWN, Client, Fuzzing, Limits, Report, Verdict
from conformance.revisions import BY_DATE, CHOSEN, HTTP, REVISIONS, STDIO
from conformance.settings.settings import DEMO, reference
from conformance.survey.survey import CallPolicy

REFERENCE = (sys.executable, "-m", "conformance.reference")
LIMITS = Limits(start=20, answer=3, quiet=0.15, shutdown=1.5)
"""Short, since some faults are about silence: each limit is far above what the reference server ever needs."""
PATIENT = Limits(start=60, answer=10, quiet=1.5, shutdown=6)
"""For what was missed, or found too much: on a loaded machine a short window of silence may be over too early."""

pytestmark = pytest.mark.matrix


@dataclass(frozen=True)
class Fault:
    """A row of the reference server's table."""

    area: str
    name: str
    requirements: tuple[str, ...]
    revisions: tuple[str, ...]
    transports: tuple[str, ...]


@cache
def faults() -> tuple[Fault, ...]:
    """The table, as the reference server prints it."""
    printed = subprocess.run([*REFERENCE, "--list-faults"], capture_output=True, check=True, text=True).stdout
    rows = [json.loads(line) for line in printed.splitlines()]
    return tuple(
        Fault(r["area"], r["name"], tuple(r["requirements"]), tuple(r["revisions"]), tuple(r["transports"]))
        for r in rows
    )


@cache
def tokens() -> dict[str, str]:
    """Kind → an access token of the reference server."""
    printed = subprocess.run([*REFERENCE, "--list-tokens"], capture_output=True, check=True, text=True).stdout
    listed: dict[str, str] = json.loads(printed)
    return listed


EVERYTHING_EVERYWHERE = os.environ.get("MCP_CONFORM_MATRIX") == "full"
"""Whether all that the suite has is run against each fault in each revision.

Otherwise it is all that shares a session, in the newest of them, and if that does not find it, what judges its rule.
"""
ONE_SESSION = tuple(case.id for case in quick(Selection(cases(), frozenset()), ()).cases)

CLIENT = Client("reference-client", "reference-client-secret")
CAMPAIGNS = Fuzzing(seconds=60)
FEW_FRAMES = Fuzzing(examples=12, seconds=60)
"""Enough for faults that show on any wrong frame."""
NO_FRAMES = Fuzzing(examples=0)
"""For faults that need none: campaigns find many of them too, by another rule that they break as well."""
FOR_CAMPAIGNS = ("fuzzing", "fuzzing_calls", "fuzzing_http")
"""The areas of faults that only campaigns find; only campaigns are played against them, and them alone."""


def outcome(
    *arguments: str,
    revisions: tuple[str, ...] = (),
    transport: str = STDIO,
    only: tuple[str, ...] = (),
    fuzzing: Fuzzing = FEW_FRAMES,
    limits: Limits = LIMITS,
    guarded: bool = False,
) -> Report:
    """What the suite says of the reference server started with `arguments`; PATIENT goes with confirmation.

    `guarded` gives it a token of each kind.
    """
    plain = reference((), {name: word for word, name in CHOSEN.items()}[transport])
    target = replace(plain, command=(*plain.command, *arguments))
    if guarded:
        given = tokens()
        headers = {"Authorization": f"Bearer {given[OWN]}"}
        target = replace(target, headers=headers, tokens=given, oauth=CLIENT, registers=True)
    options = Options(
        revisions=revisions,
        only=only,
        policy=CallPolicy("all"),
        limits=limits,
        confirm=limits is PATIENT,
        fuzzing=fuzzing,
    )
    runner = Runner(target, options)
    for _event in runner.run():
        pass
    return runner.report()


def findings(report: Report) -> dict[str, set[str]]:
    """Requirement → revisions in which it failed."""
    failed: dict[str, set[str]] = {}
    for run in report.runs:
        for judged in run.verdicts:
            assert judged.verdict is not Verdict.BROKEN, judged.reason
            if judged.verdict is Verdict.FAILED:
                failed.setdefault(judged.requirement.id, set()).add(run.revision)
    return failed


def together(reports: list[Report]) -> dict[str, set[str]]:
    """The findings of all."""
    found: dict[str, set[str]] = {}
    for report in reports:
        for requirement, dates in findings(report).items():
            found.setdefault(requirement, set()).update(dates)
    return found


def diagnoses(reports: list[Report]) -> set[str]:
    """What is said to be behind the findings."""
    verdicts = [judged for report in reports for run in report.runs for judged in run.verdicts]
    told = {finding.diagnosis for judged in verdicts for finding in judged.findings}
    return (told | {report.diagnosis for report in reports}) - {""}


def shown_by(report: Report, requirement: str) -> tuple[str, ...]:
    """Those that found it broken."""
    judged = [v for run in report.runs for v in run.verdicts if v.requirement.id == requirement]
    return tuple(sorted({finding.case for verdict in judged for finding in verdict.findings}))


@pytest.mark.slow
@pytest.mark.parametrize("transport", DEMO)
def test_the_correct_server_has_no_finding_in_any_revision(transport: str) -> None:
    report = outcome(revisions=("all",), transport=transport, fuzzing=CAMPAIGNS)
    sound(report, [r.date for r in REVISIONS if r.carried_by(transport)])


@pytest.mark.slow
def test_the_correct_server_that_asks_for_a_token_has_no_finding_in_any_revision() -> None:
    report = outcome("--authorization", revisions=("all",), transport=HTTP, fuzzing=NO_FRAMES, guarded=True)
    sound(report, [r.date for r in REVISIONS if r.carried_by(HTTP)])
    judged = {v.requirement.id: v for run in report.runs for v in run.verdicts}
    passed = {name for name, verdict in judged.items() if verdict.verdict is Verdict.PASSED}
    assert {"authorization/token-validated", "authorization/insufficient-scope-403"} <= passed


def sound(report: Report, expected: list[str]) -> None:
    """Assert that it has no finding, in the revisions that are expected."""
    assert [run.revision for run in report.runs] == expected
    assert findings(report) == {}
    assert report.exit == 0


def campaigns(requirement: str) -> tuple[str, ...]:
    """The cases of the campaigns that can find it broken; what only invariants judge, all."""
    judging = tuple(f"fuzz/{name}" for name, _, requirements in TABLE if requirement in requirements.split())
    return judging or ("fuzz/*",)


@pytest.mark.parametrize("fault", [f for f in faults() if f.area in FOR_CAMPAIGNS], ids=lambda fault: fault.name)
def test_a_fault_that_only_generated_frames_show_is_found_by_a_campaign(fault: Fault) -> None:
    broken = fault.requirements[0]
    revision = (fault.revisions[0],)
    over = next(name for name in DEMO if name in fault.transports)
    only = campaigns(broken)
    report = outcome("--fault", fault.name, transport=over, revisions=revision, only=only, fuzzing=CAMPAIGNS)
    found = findings(report)
    assert broken in found
    assert set(found) <= set(fault.requirements), "unrelated findings"


ORDINARY = [f for f in faults() if f.requirements[0] in checks() and f.area not in FOR_CAMPAIGNS]

FOR_BOTH_FRONTS = {
    fault.area: fault.name
    for fault in reversed(ORDINARY)
    if STDIO in fault.transports and fronts.REVISION in fault.revisions
}.values()
"""One of each area: both fronts are made from one report."""

SILENT = (
    "latin-1",
    "server-request-id-null",
    "ping-slow",
    "blocks-on-changed-roots",
    "id-text-lost-in-errors",
    "templates-unanswered",
    "asks-with-object-id",
    "stays-after-input",
    "hangs-on-decline",
    "hangs-on-cancel",
    "id-stuck-after-error",
    "hangs-on-refused-model",
    "next-dropped-after-refused-read",
    "next-dropped-after-unknown-method",
)
"""Faults that make the suite wait for answers that never come."""

FOR_ALL = ("jsonrpc", "lifecycle", "stdio", "versioning", "rarely", "mistakes", "apart", "clients_at_once", "endurance")
"""The areas of faults that concern whatever is asked: beside them others would not show."""
AT_ONCE = 3
"""So many faults one server has, of those that show beside each other: starting servers is most of the work."""


def guarded(fault: Fault) -> bool:
    """Whether it shows only to those who have a token."""
    return fault.area.startswith("authorization")


def claimed(fault: Fault) -> tuple[str, ...]:
    """The revisions in which it shows over any of its transports."""
    return tuple(date for date in fault.revisions if any(BY_DATE[date].carried_by(t) for t in fault.transports))


def carrier(fault: Fault) -> str:
    """The transport over which it is looked at."""
    return next(name for name in DEMO if name in fault.transports)


def groups() -> list[tuple[Fault, ...]]:
    """Faults that one server can have at once: each of another area, no two with a requirement in common."""
    if EVERYTHING_EVERYWHERE:
        return [(fault,) for fault in ORDINARY]
    packed: list[tuple[Fault, ...]] = []
    begun: dict[object, list[tuple[Fault, ...]]] = {}
    for fault in ORDINARY:
        named = fault.name in SILENT or fault.name in FOR_BOTH_FRONTS or fault.name in mistake_faults.ROW_OF
        if named or fault.area in FOR_ALL:
            packed.append((fault,))
            continue
        open_ones = begun.setdefault((carrier(fault), guarded(fault), claimed(fault)), [])
        for i, group in enumerate(open_ones):
            if all(fault.area != each.area and not set(fault.requirements) & set(each.requirements) for each in group):
                open_ones[i] = (*group, fault)
                if len(open_ones[i]) == AT_ONCE:
                    packed.append(open_ones.pop(i))
                break
        else:
            open_ones.append((fault,))
    return packed + [group for open_ones in begun.values() for group in open_ones]


def begun_early(group: tuple[Fault, ...]) -> object:
    """The faults as a parameter, with a mark if they take long."""
    name = "+".join(fault.name for fault in group)
    return pytest.param(group, id=name, marks=[pytest.mark.slow] if name in SILENT else [])


@pytest.mark.parametrize("group", [begun_early(group) for group in groups()])
def test_a_fault_is_caught_by_its_requirement_and_by_no_other(group: tuple[Fault, ...], tmp_path: Path) -> None:
    if len(group) > 1 and caught_at_once(group):
        return
    for fault in group:
        caught_alone(fault, tmp_path)


def caught_at_once(group: tuple[Fault, ...]) -> bool:
    """Whether one server with all of these shows each of them, and nothing that none of them breaks.

    If not, one may keep another from showing, and each has to be looked at alone.
    """
    named = [word for fault in group for word in ("--fault", fault.name)]
    test = partial(outcome, *named, transport=carrier(group[0]), guarded=guarded(group[0]), fuzzing=NO_FRAMES)
    newest, older = newest_and_older(group[0])
    dates, broken = set(claimed(group[0])), [fault.requirements[0] for fault in group]
    due = {name: dates & set(load()[name].levels) for name in broken}
    reports = [test(revisions=newest, only=ONE_SESSION)]
    if missed := tuple(name for name in broken if name not in findings(reports[0])):
        reports.append(test(revisions=newest, only=missed))
    shown = tuple({case for report in reports for name in broken for case in shown_by(report, name)})
    if older and shown:
        reports.append(test(revisions=older, only=shown))
    lacking = {name: due[name] - together(reports).get(name, set()) for name in broken}
    if missed := tuple(name for name in broken if lacking[name]):
        reports.append(test(revisions=tuple(sorted(set().union(*lacking.values()))), only=missed))
    found = together(reports)
    seen = all(found.get(name, set()) >= due[name] for name in broken)
    return seen and set(found) <= {name for fault in group for name in fault.requirements} and not diagnoses(reports)


def newest_and_older(fault: Fault) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The newest revision with a handshake in which it shows, or else the newest, and the others."""
    dates = claimed(fault)
    newest = (max([date for date in dates if BY_DATE[date].era == "handshake"] or dates),)
    return newest, tuple(date for date in dates if date not in newest)


def caught_alone(fault: Fault, folder: Path) -> None:
    """Assert that a server with this fault alone is caught by its requirement and by no other."""
    test = partial(outcome, "--fault", fault.name, transport=carrier(fault), guarded=guarded(fault))
    broken = fault.requirements[0]
    newest, older = newest_and_older(fault)
    whole = claimed(fault) if EVERYTHING_EVERYWHERE else newest
    reports: list[Report] = []
    for only in ((),) if EVERYTHING_EVERYWHERE else (ONE_SESSION, (broken,), ()):
        reports.append(test(revisions=whole, only=only, fuzzing=NO_FRAMES))
        if broken in findings(reports[-1]) or reports[-1].problem:
            break
    else:
        reports.append(test(revisions=whole, only=campaigns(broken)))
    # It is shown by the same cases in the older revisions, and by either front.
    shown = shown_by(reports[-1], broken) or (broken,)
    if older and not EVERYTHING_EVERYWHERE:
        reports.append(test(revisions=older, only=shown))
    due = {date for date in claimed(fault) if date in load()[broken].levels}
    problems = [report.problem for report in reports if report.problem]
    for how in ({"fuzzing": NO_FRAMES}, {"limits": PATIENT}):
        missed = tuple(sorted(due - together(reports).get(broken, set())))
        if missed and not problems:
            reports.append(test(revisions=missed, only=(broken,), **how))
    found = together(reports)
    if problems:  # no session opens at all: it is told once
        due &= found.get(broken, set()) or {"once"}
    assert found.get(broken, set()) >= due, problems
    unrelated = tuple(sorted(set(found) - set(fault.requirements)))
    if unrelated:
        again = test(revisions=claimed(fault), only=unrelated, limits=PATIENT)
        assert set(findings(again)) <= set(fault.requirements), "unrelated findings"
    assert diagnoses(reports) <= {row.diagnosis for row in table() if row.id == mistake_faults.ROW_OF.get(fault.name)}
    if fault.name in FOR_BOTH_FRONTS:
        words = ["--fuzz", str(FEW_FRAMES.examples), *(word for case in shown for word in ("--only", case))]
        server = f"{fronts.SERVER} --fault {fault.name}"
        # Where no session opens, pytest has an error for each requirement.
        telling = ("failed",) if problems else ("failed", "error")

        def told() -> tuple[set[str], set[str]]:
            said = fronts.by_command_line(folder, server, *words, start=fronts.here)
            return failures(said, telling), failures(
                fronts.by_pytest(folder, server, *words, start=fronts.here), telling
            )

        by_command_line, by_pytest = told()
        if by_command_line != by_pytest:  # what rests on a race may show in one of two runs on a busy machine
            by_command_line, by_pytest = told()
        assert by_command_line == by_pytest


def test_a_state_that_is_no_text_is_not_sent_back_so_that_no_case_is_our_own_mistake() -> None:
    report = outcome("--fault", "request-state-number", revisions=("2026-07-28",), only=("input-required/*",))
    assert list(findings(report)) == ["input-required/request-state-is-string"]


def test_a_level_is_put_to_the_test_where_another_case_has_called_the_tools_before() -> None:
    only = ("tools/call-each", "tools/logging")
    report = outcome("--fault", "level-off-by-one", revisions=("2025-11-25",), only=only, fuzzing=NO_FRAMES)
    assert list(findings(report)) == ["logging/level-filter"]


@pytest.mark.parametrize("kind", ["tools", "resources", "prompts"])
def test_a_list_that_is_shorter_later_is_noticed_in_any_session(kind: str) -> None:
    report = outcome("--fault", f"{kind}-fewer-later", revisions=("2025-11-25",), only=ONE_SESSION, fuzzing=NO_FRAMES)
    assert list(findings(report)) == [f"{kind}/list-change-announced"]


def failures(outcomes: dict[str, str], telling: tuple[str, ...]) -> set[str]:
    """What failed. Whether the rest could be put to the test may depend on how quick a server works by itself."""
    return {requirement for requirement, outcome in outcomes.items() if outcome in telling}


def test_every_checked_requirement_has_a_fault_that_breaks_it() -> None:
    covered = {requirement for fault in faults() for requirement in fault.requirements}
    missing = {
        identifier
        for identifier in checks()
        if not load()[identifier].unobservable and identifier not in covered and must_have_fault(identifier)
    }
    assert missing == set()


def must_have_fault(identifier: str) -> bool:
    """All areas that are complete: on stdio, in the handshake revisions."""
    requirement = load()[identifier]
    handshake = any(BY_DATE[date].era == "handshake" for date in requirement.revisions)
    stdio = not requirement.transports or "stdio" in requirement.transports
    return handshake and stdio
