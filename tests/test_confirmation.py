"""What was found is put to the test again: once for what was found several times, and not at all if nothing was."""

from __future__ import annotations

import sys

import pytest

from conformance.checks.ledger import Ledger
from conformance.engine.events import Confirming
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import Finding, Fuzzing, Target

REFERENCE = (sys.executable, "-m", "conformance.reference")


def confirmed(*faults: str, only: tuple[str, ...]) -> tuple[list[int], list[Finding]]:
    """How many jobs each round of confirmation has, and what is reported, for the reference server with `faults`."""
    command = (*REFERENCE, *(word for fault in faults for word in ("--fault", fault)))
    runner = Runner(Target(command), Options(("2025-11-25",), only, fuzzing=Fuzzing(0)))
    rounds = [event.count for event in runner.run() if isinstance(event, Confirming)]
    judged = [verdict for run in runner.report().runs for verdict in run.verdicts]
    return rounds, [finding for verdict in judged for finding in verdict.findings]


def test_a_correct_server_is_not_started_again() -> None:
    assert confirmed(only=("tools/list", "tools/names")) == ([], [])


def test_what_several_cases_show_is_confirmed_by_one_of_them() -> None:
    rounds, found = confirmed("input-schema-missing", only=("tools/list", "tools/effects", "asking/roots"))
    assert rounds == [1]
    assert {finding.confirmed for finding in found} == {True}
    assert max(finding.occurrences for finding in found) > 2


def test_different_breaches_are_confirmed_each_alone() -> None:
    rounds, found = confirmed(
        "unknown-method-succeeds",
        "unknown-tool-succeeds",
        only=("jsonrpc/unknown-method", "tools/unknown-tool"),
    )
    assert rounds == [2]
    assert len(found) >= 2
    assert {finding.confirmed for finding in found} == {True}


def test_breaches_that_fail_nobody_share_a_server() -> None:
    faults = ("completion-missing-code", "completion-error-code")
    rounds, found = confirmed(*faults, only=("completion/each", "completion/missing-argument"))
    assert rounds == [1]
    assert {finding.case for finding in found} == {"completion/each", "completion/missing-argument"}
    assert {finding.confirmed for finding in found} == {True}


def finding(case: str, message: str = "m") -> Finding:
    """A finding of the one requirement that there is here."""
    return Finding("tools/list-shape", case, message, "e", "a")


@pytest.mark.parametrize(
    ("back", "kinds", "expected"),
    [
        ({"tools/list-shape"}, {finding("x").kind}, {"a": True, "b": True, "c": None}),
        ({"tools/list-shape"}, set(), {"a": True, "b": None, "c": None}),
        (set(), {finding("x").kind}, {"a": False, "b": None, "c": None}),
    ],
    ids=["what is alike comes back with it", "what is not alike waits", "what does not come back tells of itself only"],
)
def test_a_case_that_was_played_again_speaks_for_findings_of_its_kinds(
    back: set[str], kinds: set[tuple[str, str, None]], expected: dict[str, bool | None]
) -> None:
    ledger = Ledger()
    ledger.findings = [finding("a"), finding("b"), finding("c", "another message")]
    ledger.confirm("a", lambda each: each.requirement in back, kinds, {})
    assert {each.case: each.confirmed for each in ledger.findings} == expected
