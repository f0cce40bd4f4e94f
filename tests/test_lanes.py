"""Cases of one lane share a session as long as nothing goes wrong, so that a sound server is started seldom."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import Fuzzing, Target, Verdict
from conformance.revisions import BY_DATE

REFERENCE = (sys.executable, "-m", "conformance.reference")
BAD_SERVERS = Path(__file__).with_name("bad_servers.py")
HARMFUL = ("jsonrpc/invalid-requests", "cancellation/invalid", "fuzz/malformed", "fuzz/invalid-requests")


def played(*words: str, only: tuple[str, ...] = (), revision: str = "2025-11-25", http: bool = False) -> Runner:
    """A run against the reference server, to its end."""
    command = (*REFERENCE, *(("--transport", "http", "--port", "{port}") if http else ()), *words)
    target = Target(command, "http://127.0.0.1:{port}/mcp" if http else "")
    runner = Runner(target, Options((revision,), only, fuzzing=Fuzzing(40, 30.0)))
    for _event in runner.run():
        pass
    return runner


def failed(runner: Runner) -> set[str]:
    """The requirements that are broken."""
    return {v.requirement.id for run in runner.report().runs for v in run.verdicts if v.verdict is Verdict.FAILED}


@pytest.mark.parametrize("http", [False, True], ids=["stdio", "http"])
def test_what_might_hurt_a_server_is_played_on_one_process_if_it_does_not(http: bool) -> None:
    runner = played(only=HARMFUL, http=http)
    assert runner.report().exit == 0
    assert runner.effort[0] == 2  # and the survey


@pytest.mark.parametrize("revision", [date for date, each in BY_DATE.items() if each.era == "handshake"])
def test_a_server_that_asks_its_client_nothing_is_started_ten_times_at_most(revision: str) -> None:
    runner = played("--without", "tools", revision=revision)
    assert runner.report().exit == 0
    assert runner.effort[0] <= 10


def test_a_sound_server_with_tools_is_started_ten_times_at_most_by_default() -> None:
    runner = Runner(Target((sys.executable, str(BAD_SERVERS), "sound")), Options())
    for _event in runner.run():
        pass
    assert runner.report().exit == 0
    assert runner.effort[0] <= 10


def test_a_case_that_opens_a_session_itself_hands_it_on_to_its_lane() -> None:
    runner = played(only=("discovery/unknown-client-capabilities", "tasks/requestor"))
    assert runner.report().exit == 0
    assert runner.effort[0] == 2  # and the survey


def test_a_server_that_one_case_hurts_is_replaced_for_the_next() -> None:
    runner = played("--fault", "malformed-cancellation-kills", only=HARMFUL)
    assert failed(runner) == {"cancellation/invalid-cancellation-ignored"}
    assert runner.effort[0] > 2
    # What the others put to the test they have put to the test all the same.
    passed = {v.requirement.id for run in runner.report().runs for v in run.verdicts if v.verdict is Verdict.PASSED}
    assert passed >= {"jsonrpc/invalid-request-code", "jsonrpc/parse-error-code"}
