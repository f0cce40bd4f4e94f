"""One defect is one finding: what only follows from it blames the server for nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hostile import measure
from hostile.registry import load

from conformance.checks.ledger import Ledger
from conformance.engine.one_cause import unsettle
from conformance.engine.units import State
from conformance.model import Finding
from conformance.revisions import BY_DATE as REVISIONS
from conformance.survey.survey import CallPolicy

SHORT = ("--revision", "newest", "--timeout", "2", "--start-timeout", "5")
FEW = ("--fuzz", "3", "--fuzz-time", "1")
VERSIONS = "versioning/advertised versioning/interleaved versioning/unsupported"
SILENT = "jsonrpc/every-request-answered-once"


def failed(name: str, folder: Path, *areas: str) -> set[str]:
    """The requirements that a run against the target finds broken, advice apart."""
    return {
        each["requirement"] for each in verdicts(name, folder, *areas) if each["severity"] in ("violation", "warning")
    }


def verdicts(name: str, folder: Path, *areas: str) -> list[dict[str, Any]]:
    """All verdicts of a run against the target."""
    return of_run(measure.server_options(load()[name]), folder, *areas)


def of_run(server: list[str], folder: Path, *areas: str, frames: Sequence[str] = FEW) -> list[dict[str, Any]]:
    """All verdicts of a run with the options that name the server."""
    file = folder / "report.json"
    only = [word for area in areas for word in ("--only", area)]
    command = [sys.executable, "-m", "conformance", *server, *SHORT, *frames, *only]
    subprocess.run([*command, "--json", str(file)], cwd=folder, capture_output=True, timeout=300, check=False)
    return [each for run in json.loads(file.read_text())["runs"] for each in run["verdicts"]]


@pytest.mark.parametrize(
    ("name", "areas", "only"),
    [
        ("discovers-once", f"discovery meta tasks-extension {VERSIONS}", {"discovery/discover-implemented"}),
        ("discovers-once-and-is-silent", "cancellation/invalid-stateless elicitation", set()),
        ("hangs-in-subscriptions", "subscriptions", set()),
        ("dies-in-subscriptions", "subscriptions fuzz/conversation", set()),
        ("another-list-each-time", "meta/client-info", set()),
        ("drops-ping-and-unknown-methods", "cancellation/late", set()),
        ("ids-next", "jsonrpc transport-stdio cancellation", {"jsonrpc/response-id-echoed"}),
    ],
)
def test_what_only_follows_from_a_defect_is_no_finding(name: str, areas: str, only: set[str], tmp_path: Path) -> None:
    assert failed(name, tmp_path, *areas.split()) - {SILENT} == only


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("numbers-as-text", "jsonrpc/error-code-integer"),
        ("booleans-as-text", "tools/annotations-shape"),
        ("nulls-for-what-is-absent", "pagination/next-cursor-string"),
        ("lists-as-objects", "tools/list-shape"),
        ("results-in-data", "tools/list-shape"),
        ("results-as-lists", "jsonrpc/result-is-object"),
        ("empty-results-as-null", "jsonrpc/result-is-object"),
        ("one-code-for-all-errors", "jsonrpc/unknown-method-code"),
        ("refuses-with-null", "jsonrpc/error-has-code-and-message"),
        ("refuses-with-empty-results", "jsonrpc/unknown-method-refused"),
        ("errors-beside-results", "jsonrpc/result-xor-error"),
        ("methods-in-responses", "jsonrpc/valid-messages"),
        ("declares-nothing", "lifecycle/initialize-result-complete"),
        ("responses-lose-their-ids", "jsonrpc/response-id-echoed"),
        ("acknowledges-whatever-comes", "jsonrpc/notification-never-answered"),
    ],
)
def test_what_is_wrong_everywhere_is_one_finding_that_names_the_rest(name: str, only: str, tmp_path: Path) -> None:
    found = verdicts(name, tmp_path)
    failing = [each for each in found if each["severity"] in ("violation", "warning")]
    assert [each["requirement"] for each in failing] == [only]
    blocked = [each["requirement"] for each in found if each["verdict"] == "blocked" and each["reason"] == only]
    named = failing[0]["findings"][0]["actual"].partition("; the same breaks ")[2]
    assert not named or named.split(", ")[0] in blocked


def test_a_server_that_always_fails_inside_has_two_findings_what_it_fails_at_and_the_code(tmp_path: Path) -> None:
    broken = failed("fails-whatever-is-asked", tmp_path)
    assert broken == {"lifecycle/ping-answered-with-empty-result", "jsonrpc/unknown-method-code"}


def test_a_server_that_refuses_by_silence_has_one_finding_but_for_what_does_not_return(tmp_path: Path) -> None:
    assert failed("refuses-by-silence", tmp_path) - {SILENT} == {"jsonrpc/unknown-method-refused"}


@pytest.mark.parametrize(
    ("name", "only"),
    [
        ("http-errors-accepted", "transport-http/request-answered-as-json-or-sse"),
        ("http-errors-empty", "transport-http/json-answer-is-one-object"),
        ("http-errors-failing", "jsonrpc/parse-error-code"),
        ("http-errors-closed", "jsonrpc/every-request-answered-once"),
        ("http-errors-streams", "jsonrpc/every-request-answered-once"),
    ],
)
def test_errors_that_http_loses_are_one_finding(name: str, only: str, tmp_path: Path) -> None:
    assert failed(name, tmp_path) == {only}


def test_what_gave_way_is_told_if_what_it_gave_way_to_does_not_come_back() -> None:
    cause, other = (Finding(name, "jsonrpc/ids", "wrong", "right", "wrong") for name in ("jsonrpc/a", "jsonrpc/b"))
    state, ledger = State(REVISIONS["2025-11-25"], "stdio", CallPolicy()), Ledger()
    state.ledgers.append(ledger)
    state.told_by.append((cause.kind, ledger, other))
    ledger.findings.append(replace(cause, confirmed=True))
    assert not unsettle([state])
    ledger.findings = [replace(cause, confirmed=False)]
    assert unsettle([state])
    assert other in ledger.findings
    assert not unsettle([state])


@pytest.mark.parametrize(
    ("name", "case"),
    [
        ("slow-after-thirty-requests", "cancellation/at-once"),
        ("answers-after-most-of-the-patience", "cancellation/race"),
    ],
)
def test_a_server_that_answers_one_request_after_another_is_not_blamed_for_silence(
    name: str, case: str, tmp_path: Path
) -> None:
    assert failed(name, tmp_path, case) == set()


@pytest.mark.parametrize("name", ["runs-one-at-a-time", "only-its-first-process-answers"])
def test_a_server_that_starts_no_second_time_is_not_blamed_for_its_silence(name: str, tmp_path: Path) -> None:
    found = verdicts(name, tmp_path, "lifecycle", "discovery")
    assert not [each for each in found if each["severity"] is not None]
    assert any("could not be reached again" in (each["reason"] or "") for each in found)


def test_an_encoding_that_is_not_utf_8_is_found_once_and_is_no_silence(tmp_path: Path) -> None:
    server = f"{sys.executable} -m conformance.reference --fault latin-1"
    found = of_run(["--server", server], tmp_path, "jsonrpc/ids", "jsonrpc/ids-of-each-method", "completion", "tools")
    told = [(each["requirement"], each["findings"]) for each in found if each["severity"] == "violation"]
    assert [requirement for requirement, _ in told] == ["jsonrpc/messages-utf8"]
    assert [finding["message"] for finding in told[0][1]] == ["a message is not encoded in UTF-8"]


@pytest.mark.parametrize(
    ("areas", "broken"),
    [
        ("fuzz/conversation", {SILENT}),
        ("cancellation/at-once fuzz/conversation", {"cancellation/late-cancellation-harmless"}),
    ],
)
def test_a_campaign_that_meets_the_harm_of_a_cancellation_adds_nothing_to_the_case_that_shows_it(
    areas: str, broken: set[str], tmp_path: Path
) -> None:
    server = f"{sys.executable} -m conformance.reference --fault cancelled-at-once-kills"
    frames = ("--fuzz", "100", "--fuzz-time", "20")
    found = of_run(["--server", server], tmp_path, *areas.split(), frames=frames)
    assert {each["requirement"] for each in found if each["severity"] in ("violation", "warning")} == broken
