"""Policy: what weighs how much, and what the exit status is."""

import json
from dataclasses import replace

import pytest

from conformance.checks.ledger import Ledger
from conformance.engine.verdicts import Facts, counts, exit_status, in_order, judge, severity_of, without_followers
from conformance.model import Basis, Finding, Frame, Judged, Level, Report, Requirement, Run, Severity, Target, Verdict
from conformance.survey.survey import CallPolicy, Survey

REVISION = "2025-11-25"


def requirement(level: Level = Level.MUST, basis: Basis = Basis.TEXT, **changes: object) -> Requirement:
    plain = Requirement(
        id="tools/example",
        text="An example.",
        levels={REVISION: level},
        bases={REVISION: basis},
        urls={REVISION: ("https://example.com/",)},
        observable="yes",
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def facts(ledger: Ledger, capabilities: object = None, **changes: object) -> Facts:
    plain = Facts(REVISION, "stdio", Survey(capabilities or {}, CallPolicy()), ledger, {})
    return replace(plain, **changes)  # type: ignore[arg-type]


def report(*judged: Judged, **changes: object) -> Report:
    run = Run(REVISION, "handshake", "stdio", {}, {}, judged, 0.0)
    plain = Report(Target(("true",)), "0", "2025-01-01T00:00:00Z", 0.0, True, (run,), 0)
    return replace(plain, **changes)  # type: ignore[arg-type]


def broken_ledger(ceiling: Severity | None = None) -> Ledger:
    ledger = Ledger("tools/case")
    ledger.broke("tools/example", "wrong", expected="right", actual="wrong", ceiling=ceiling)
    return ledger


@pytest.mark.parametrize("level", [Level.MUST, Level.MUST_NOT])
@pytest.mark.parametrize("basis", [Basis.TEXT, Basis.SCHEMA, Basis.JSONRPC])
def test_a_must_that_is_written_down_is_a_violation(level: Level, basis: Basis) -> None:
    assert severity_of(requirement(level, basis), REVISION) is Severity.VIOLATION


@pytest.mark.parametrize("basis", [Basis.PROSE, Basis.SECURITY_GUIDE])
def test_a_must_that_is_only_prose_is_a_warning(basis: Basis) -> None:
    assert severity_of(requirement(Level.MUST, basis), REVISION) is Severity.WARNING


@pytest.mark.parametrize("level", [Level.SHOULD, Level.SHOULD_NOT])
def test_a_should_is_a_warning_whatever_it_rests_on(level: Level) -> None:
    assert severity_of(requirement(level), REVISION) is Severity.WARNING


def test_a_ceiling_softens() -> None:
    assert severity_of(requirement(), REVISION, Severity.ADVICE) is Severity.ADVICE


def test_a_ceiling_never_hardens() -> None:
    assert severity_of(requirement(Level.SHOULD), REVISION, Severity.VIOLATION) is Severity.WARNING


def test_a_finding_fails_the_requirement_with_the_worst_severity() -> None:
    ledger = broken_ledger(Severity.ADVICE)
    ledger.broke("tools/example", "worse", expected="right", actual="worse")
    judged = judge(requirement(), facts(ledger))
    assert (judged.verdict, judged.severity) == (Verdict.FAILED, Severity.VIOLATION)
    assert [f.message for f in judged.findings] == ["worse", "wrong"]


def test_what_was_never_declared_is_not_applicable_even_if_something_was_found() -> None:
    judged = judge(requirement(capabilities=("tools",)), facts(broken_ledger()))
    assert judged.verdict is Verdict.NOT_APPLICABLE
    assert "tools" in judged.reason


def test_a_boolean_capability_that_is_false_is_not_declared() -> None:
    capabilities = {"resources": {"subscribe": False}}
    judged = judge(requirement(capabilities=("resources.subscribe",)), facts(Ledger(), capabilities))
    assert judged.verdict is Verdict.NOT_APPLICABLE


def test_what_held_is_passed() -> None:
    ledger = Ledger()
    ledger.held("tools/example")
    assert judge(requirement(), facts(ledger)).verdict is Verdict.PASSED


def test_our_own_bug_is_broken_and_outweighs_what_held() -> None:
    ledger = Ledger()
    ledger.held("tools/example")
    ledger.break_ours("tools/example", "a bug")
    assert judge(requirement(), facts(ledger)).verdict is Verdict.BROKEN


def test_what_nothing_put_to_the_test_is_inconclusive_and_says_what_it_needs() -> None:
    judged = judge(requirement(needs="a way to change the list"), facts(Ledger()))
    assert (judged.verdict, judged.reason) == (Verdict.INCONCLUSIVE, "not tested: needs a way to change the list")


def test_what_an_earlier_failure_made_pointless_is_blocked_and_names_the_cause() -> None:
    ledger = Ledger()
    ledger.block("tools/example", "the server died")
    judged = judge(requirement(), facts(ledger))
    assert (judged.verdict, judged.reason) == (Verdict.BLOCKED, "the server died")


def judged_as(verdict: Verdict, severity: Severity | None = None) -> Judged:
    return Judged(requirement(), Level.MUST, Basis.TEXT, verdict, severity, "", "https://example.com/")


PASSED = judged_as(Verdict.PASSED)


@pytest.mark.parametrize(
    ("severity", "fail_on", "status"),
    [
        (Severity.VIOLATION, "violation", 1),
        (Severity.WARNING, "violation", 0),
        (Severity.WARNING, "warning", 1),
        (Severity.ADVICE, "warning", 0),
        (Severity.ADVICE, "advice", 1),
    ],
)
def test_the_exit_status_follows_the_threshold(severity: Severity, fail_on: str, status: int) -> None:
    assert exit_status(report(PASSED, judged_as(Verdict.FAILED, severity)), fail_on) == status


def test_a_run_in_which_all_held_is_success() -> None:
    assert exit_status(report(PASSED)) == 0


@pytest.mark.parametrize("verdict", [Verdict.INCONCLUSIVE, Verdict.NOT_APPLICABLE, Verdict.BLOCKED])
def test_zero_requirements_put_to_the_test_is_never_success(verdict: Verdict) -> None:
    assert exit_status(report(judged_as(verdict))) == 3


def test_our_own_bug_exits_3() -> None:
    assert exit_status(report(PASSED, judged_as(Verdict.BROKEN))) == 3


def test_an_interrupted_run_without_violations_exits_3() -> None:
    assert exit_status(report(PASSED, complete=False)) == 3


def test_a_violation_that_was_learned_before_an_interrupt_still_exits_1() -> None:
    assert exit_status(report(judged_as(Verdict.FAILED, Severity.VIOLATION), complete=False)) == 1


def test_a_problem_exits_3() -> None:
    assert exit_status(report(PASSED, problem="2026-07-28 is not spoken")) == 3


def test_counts_name_every_verdict_and_every_severity() -> None:
    counted = counts(report(PASSED, judged_as(Verdict.FAILED, Severity.WARNING)).runs)
    assert (counted["passed"], counted["failed"], counted["warning"], counted["violation"]) == (1, 1, 1, 0)
    assert set(counted) == {v.value for v in Verdict} | {s.value for s in Severity}


def test_like_findings_are_counted_and_not_repeated() -> None:
    ledger = broken_ledger()
    ledger.broke("tools/example", "wrong", expected="right", actual="wrong again")
    assert [(f.message, f.occurrences) for f in ledger.findings] == [("wrong", 2)]


def test_a_finding_belongs_to_the_case_of_the_frame_that_proves_it() -> None:
    from conformance.model import Frame

    ledger = Ledger("tools/later")
    frame = Frame(1, "target", "stdout", 0.0, b"{}", case="tools/earlier")
    ledger.broke("tools/example", "late", expected="-", actual="-", frames=(frame,))
    assert ledger.findings[0].case == "tools/earlier"


def test_what_did_not_show_itself_twice_fails_nobody_and_is_told_as_flaky_with_its_trace() -> None:
    ledger = broken_ledger()
    ledger.held("tools/example")  # by another case
    (finding,) = ledger.findings
    ledger.settle(finding, (), (1, 6), shown=False)
    judged = judge(requirement(), facts(ledger))
    assert (judged.verdict, judged.severity, judged.findings) == (Verdict.INCONCLUSIVE, None, ())
    assert judged.reason == "flaky, in 1 of 6 tries: wrong (wrong)"
    assert [(each.message, each.confirmed) for each in judged.flaky] == [("wrong", False)]


def test_what_came_back_with_its_history_stands_and_says_what_it_takes() -> None:
    ledger = broken_ledger()
    (finding,) = ledger.findings
    ledger.settle(finding, ("tools/before",), (3, 3), shown=True)
    judged = judge(requirement(), facts(ledger))
    assert (judged.verdict, judged.severity) == (Verdict.FAILED, Severity.VIOLATION)
    assert (judged.findings[0].after, judged.findings[0].tries) == (("tools/before",), (3, 3))


def test_what_did_not_come_back_alone_fails_nobody_if_the_run_is_cut_short_then() -> None:
    ledger = broken_ledger()
    ledger.confirm("tools/case", lambda each: False, set(), {})
    judged = judge(requirement(), facts(ledger))
    assert (judged.verdict, judged.reason) == (Verdict.INCONCLUSIVE, "flaky, in 1 of 2 tries: wrong (wrong)")
    assert len(judged.flaky) == 1


def test_what_was_shown_each_time_but_not_often_enough_is_not_called_flaky() -> None:
    ledger = broken_ledger()
    ledger.settle(ledger.findings[0], (), (1, 1), shown=False)
    judged = judge(requirement(), facts(ledger))
    assert (judged.verdict, judged.reason) == (
        Verdict.INCONCLUSIVE,
        "not confirmed, in 1 of 1 try, too few: wrong (wrong)",
    )


def judged(name: str, severity: Severity | None = None, blocked_by: str = "") -> Judged:
    verdict = Verdict.FAILED if severity else Verdict.BLOCKED if blocked_by else Verdict.PASSED
    return Judged(requirement(id=name), Level.MUST, Basis.TEXT, verdict, severity, blocked_by, "https://example.com/")


def test_what_failed_comes_first_by_severity_then_causes_then_as_it_was_found() -> None:
    verdicts = (
        judged("a/passed"),
        judged("b/warning", Severity.WARNING),
        judged("c/late", Severity.VIOLATION),
        judged("d/early", Severity.VIOLATION),
        judged("e/blocked", blocked_by="f/cause"),
        judged("f/cause", Severity.VIOLATION),
        judged("g/passed"),
    )
    ordered = [each.requirement.id for each in in_order(verdicts, ["b/warning", "d/early", "c/late", "f/cause"])]
    assert ordered == ["f/cause", "d/early", "c/late", "b/warning", "a/passed", "e/blocked", "g/passed"]


def test_findings_are_arranged_as_the_cases_are_played_and_keep_their_order_within_one() -> None:
    ledger = Ledger()
    for case, rule in (("z", "one"), ("unknown", "two"), ("a", "three"), ("z", "four")):
        ledger.case = case
        ledger.broke(f"tools/{rule}", "wrong", expected="right", actual="wrong")
    ledger.arrange(("session/opening", "a", "z"))
    assert [finding.requirement for finding in ledger.findings] == [
        "tools/three",
        "tools/one",
        "tools/four",
        "tools/two",
    ]


# -- one cause, one finding


def about_a_method(name: str, severity: Severity, code: int = -32601, method: str = "prompts/get") -> Judged:
    """What failed because a request for `method` was refused with `code`."""
    asked = Frame(0, "us", "stdin", 0.0, json.dumps({"id": 1, "method": method}).encode())
    error = {"id": 1, "error": {"code": code, "message": "no"}}
    frames = (asked, Frame(1, "target", "stdout", 0.0, json.dumps(error).encode()))
    finding = Finding(name, "prompts/case", "refused", "", "", frames)
    return replace(judged(name, severity), findings=(finding,))


def of_an_unknown_method(*verdicts: Judged, served: str = "") -> list[tuple[Verdict, str]]:
    """Verdict and reason of each where prompts/get is refused as unknown, and `served` was answered with a result."""
    ledger = Ledger()
    ledger.unknown, ledger.served = {"prompts/get"}, {served}
    return [(each.verdict, each.reason) for each in without_followers(verdicts, facts(ledger))]


CAUSE = about_a_method("prompts/methods-available", Severity.WARNING)
FAILED = (Verdict.FAILED, "")


def test_what_failed_only_because_its_method_is_unknown_is_blocked_by_the_finding_that_says_so() -> None:
    follower = about_a_method("prompts/unknown-name-refused", Severity.WARNING)
    assert of_an_unknown_method(follower, CAUSE) == [(Verdict.BLOCKED, CAUSE.requirement.id), FAILED]


@pytest.mark.parametrize(
    "follower",
    [
        about_a_method("prompts/unknown-name-refused", Severity.VIOLATION),
        about_a_method("prompts/unknown-name-refused", Severity.WARNING, code=-32603),
        about_a_method("prompts/unknown-name-refused", Severity.WARNING, method="prompts/list"),
        judged("prompts/unknown-name-refused", Severity.WARNING),
    ],
    ids=["heavier than its cause", "another code", "another method", "no frames"],
)
def test_what_weighs_more_or_has_another_cause_stays_a_finding(follower: Judged) -> None:
    assert of_an_unknown_method(CAUSE, follower) == [FAILED, FAILED]


def test_a_method_that_was_served_once_is_not_unknown() -> None:
    follower = about_a_method("prompts/unknown-name-refused", Severity.WARNING)
    assert of_an_unknown_method(CAUSE, follower, served="prompts/get") == [FAILED, FAILED]
