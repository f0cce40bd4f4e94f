"""Cases of one lane share a session as long as nothing goes wrong, so that a sound server is started seldom."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from fronts import conform

from conformance.catalogue.cases import Case, Isolation
from conformance.engine.lanes import Lane
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.engine.units import State
from conformance.model import Fuzzing, Target, Verdict
from conformance.revisions import BY_DATE
from conformance.survey.survey import CallPolicy

REFERENCE = (sys.executable, "-m", "conformance.reference")
BAD_SERVERS = Path(__file__).with_name("bad_servers.py")
FAR_AWAY = Path(__file__).with_name("servers") / "far_away.py"
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


def test_no_case_is_played_in_a_session_whose_input_is_closed_though_the_server_stays() -> None:
    only = ("subscriptions/reconnect", "meta/subscribing")
    runner = played("--fault", "stays-after-input", only=only, revision="2026-07-28")
    (run,) = runner.report().runs
    assert {v.requirement.id for v in run.verdicts if v.findings} == {"transport-stdio/exits-on-stdin-close"}
    passed = {v.requirement.id for v in run.verdicts if v.verdict is Verdict.PASSED}
    assert passed >= {"meta/missing-client-capabilities-refused", "meta/unknown-keys-tolerated"}


class _Clock:
    """A clock that moves when it is told to."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def lane(*, transport: str = "stdio", cases: int = 20, isolation: Isolation = "shared") -> tuple[Lane, _Clock]:
    """A lane of so many cases, and its clock."""
    state = State(BY_DATE["2025-11-25"], transport, CallPolicy(), startup=0.5)
    clock = _Clock()
    each = tuple(Case(f"tools/{n}", "tools", "", isolation=isolation, lane="slow") for n in range(cases))
    return Lane(state, each, clock), clock


def test_another_session_helps_with_a_lane_only_where_much_is_left_to_wait_for() -> None:
    slow, clock = lane()
    playing = slow.cases()
    next(playing)
    clock.now += 50.0  # the first one also opens the session and finds things out for the others
    next(playing)
    assert not slow.left  # nobody knows how long its cases take
    clock.now += 2.0
    next(playing)
    assert slow.left == 34.0  # 17 cases are not begun
    clock.now += 0.001
    for _ in range(15):
        next(playing)
    assert not slow.left


def test_sessions_that_share_a_lane_play_each_of_its_cases_once() -> None:
    slow, _ = lane(cases=7)
    first, second = slow.cases(), slow.cases()
    taken = [next(first), next(second), next(second), *first, *second]
    assert sorted(case.id for case in taken) == [f"tools/{n}" for n in range(7)]


@pytest.mark.parametrize(("transport", "isolation", "helped"), [("stdio", "process", True), ("http", "session", False)])
def test_sessions_at_one_url_do_not_share_what_may_disturb_others(
    transport: str, isolation: Isolation, helped: bool
) -> None:
    slow, clock = lane(transport=transport, isolation=isolation)
    playing = slow.cases()
    for _ in range(3):
        next(playing)
        clock.now += 2.0
    assert bool(slow.left) is helped


def test_a_sound_server_that_is_far_away_breaks_nothing(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    server = shlex.join([sys.executable, str(FAR_AWAY), "0.25", *REFERENCE])
    areas = (word for area in ("tasks", "progress", "cancellation", "resources") for word in ("--only", area))
    said = conform("--server", server, "--revision", "2025-11-25", *areas, "--json", file)
    (run,) = json.loads(file.read_text())["runs"]
    findings = [each["requirement"] for each in run["verdicts"] if each["verdict"] == "failed"]
    assert (said.returncode, findings) == (0, []), said.stdout
