"""Waiting: silence is learned and paid for once, what does not return is named, and who is only slow is not blamed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from sessions import REVISION, session

from conformance.checks.ledger import Ledger
from conformance.engine.events import Noted
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import Frame, Fuzzing, Json, Target
from conformance.session import patience
from conformance.session.delays import Delays
from conformance.session.features import TRIES, Features, NotAskedAgain, named
from conformance.session.messages import Call
from conformance.session.patience import IN_VAIN, LEAST, NOTABLE, NotWaitedFor, Patience
from conformance.session.requests import Requests
from conformance.system.process_table import held_up, held_up_here
from conformance.transports import Ended

SERVER = Path(__file__).resolve().parent / "servers" / "waiting.py"
ONCE = "jsonrpc/every-request-answered-once"


@dataclass(frozen=True)
class Said:
    """The outcome of a run of the command line, and what the server was asked for."""

    status: int
    printed: str
    report: dict[str, Any]
    asked: list[list[str]]

    @property
    def judged(self) -> list[dict[str, Any]]:
        """All verdicts."""
        return [judged for run in self.report["runs"] for judged in run["verdicts"]]

    @property
    def findings(self) -> list[tuple[str, str, str]]:
        """Severity, requirement and message of all but advice."""
        failed = [judged for judged in self.judged if judged["severity"] in ("violation", "warning")]
        return [(j["severity"], j["requirement"], f["message"]) for j in failed for f in j["findings"]]


def run(mode: str, folder: Path, *options: str) -> Said:
    """A run against the server in that mode."""
    file = folder / "report.json"
    words = [sys.executable, "-m", "conformance", "--server", f"{sys.executable} {SERVER} {mode} {folder}"]
    words += ["--json", str(file), "--revision", "2025-11-25", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    asked = [json.loads(line) for line in (folder / "asked").read_text().splitlines()]
    return Said(done.returncode, done.stdout + done.stderr, json.loads(file.read_text()), asked)


HANGING = {
    "tool": ("tools/call", "echo", "tool 'echo'", ("tools", "content", "json-schema")),
    "resource": ("resources/read", "note://first", "resource 'note://first'", ("resources", "content")),
    "prompt": ("prompts/get", "greet", "prompt 'greet'", ("prompts", "content")),
    "completion": ("completion/complete", "note://{name}", "completion of 'note://{name}'", ("completion",)),
}


@pytest.mark.parametrize("mode", HANGING)
def test_what_does_not_return_is_named_in_a_warning_and_not_asked_for_again(mode: str, tmp_path: Path) -> None:
    method, name, shown, areas = HANGING[mode]
    only = [word for area in areas for word in ("--only", area)]
    said = run(mode, tmp_path, *only, "--only", ONCE, "--timeout", "2", "--fuzz", "5", "--fuzz-time", "2")
    assert said.status == 0, said.printed
    ((severity, requirement, message),) = said.findings
    assert (severity, requirement) == ("warning", ONCE)
    assert shown in message and message.endswith("did not answer within 2 s, nor after it was cancelled")
    asked = [each for each in said.asked if each[0] == method and name in each[1]]
    # Once, a tool also with a wish for progress; the same to confirm it; and by a campaign that comes before all that.
    assert len(asked) <= (4 if mode == "tool" else 2) + TRIES, asked


def test_what_was_not_asked_for_again_is_named_with_the_reason(tmp_path: Path) -> None:
    said = run(
        "prompt", tmp_path, "--only", "prompts/get-each", "--only", "prompts/missing-arguments", "--timeout", "2"
    )
    reasons = {judged["requirement"]: judged["reason"] for judged in said.judged}
    why = "prompt 'greet' was not called again: it did not answer within 2 s, nor after it was cancelled"
    assert reasons["prompts/arguments-validated"] == why
    assert why in said.printed


@pytest.mark.parametrize(
    ("mode", "only"),
    [
        ("everything-late", ("tools/list", "tools/call-each", "jsonrpc/unknown-method")),
        ("first-late", ("tools/list", "prompts/get-each")),
        ("tool-late", ("tools/list", "tools/call-each", "tools/missing-arguments", "tools/in-flight")),
    ],
)
def test_who_is_only_slow_is_not_blamed(mode: str, only: tuple[str, ...], tmp_path: Path) -> None:
    said = run(mode, tmp_path, *(word for case in only for word in ("--only", case)), "--fuzz", "0")
    assert said.status == 0, said.printed
    assert said.findings == []


def test_a_tool_that_tells_of_its_progress_does_not_hang_however_long_it_takes(tmp_path: Path) -> None:
    said = run("tool-reports", tmp_path, "--only", "tools", "--only", "progress", "--timeout", "2", "--fuzz", "0")
    assert [message for _, _, message in said.findings if "echo" in message] == []


def test_a_run_that_plays_not_every_case_for_the_time_it_takes_says_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patience, "MOST", 2.0)
    monkeypatch.setattr(patience, "MOST_ANSWERS", 0)
    target = Target((sys.executable, str(SERVER), "everything-late", str(tmp_path)))
    runner = Runner(target, Options((REVISION.date,), ("tools",), fuzzing=Fuzzing(0)))
    told = [event.text for event in runner.run() if isinstance(event, Noted)]
    assert len(told) == 1
    assert told[0].startswith("not every case was played to its end: waiting for answers took ")
    report = runner.report()
    assert report.notes[-1] == told[0]
    assert report.exit == 3
    assert report.problem == told[0].replace("not every case was played to its end", "not all could be tested")


@pytest.mark.parametrize(
    ("messages", "size", "times", "told"),
    [
        (1000, 50_000, 100, "100000 messages or lines, 5 MB,"),
        (10, 10_000_000, 50, "500 messages or lines, 500 MB,"),
    ],
    ids=["many messages", "large messages"],
)
def test_a_server_that_sends_without_end_ends_the_run(messages: int, size: int, times: int, told: str) -> None:
    patient = Patience()
    for _ in range(times):
        assert patient.over == ""
        patient.unasked(messages, size)
    assert patient.over == f"the server sent {told} that nobody asked for or that cannot be read"
    patient.renew()
    assert patient.over == ""


def test_after_silence_the_next_request_is_not_waited_for_in_full_and_its_silence_blames_nobody() -> None:
    ledger = Ledger()
    mute = session(lambda asked: [], ledger)
    assert mute.request("ping").lost == "no answer within 1 s"
    with pytest.raises(NotWaitedFor, match=r"tools/list: no answer within 0\.5 s"):
        mute.request("tools/list")
    mute.close()
    for observer in mute.observers:
        getattr(observer, "finish", lambda: None)()
    assert [finding.message for finding in ledger.findings if finding.requirement == ONCE] == ["ping is not answered"]


def test_once_something_is_answered_the_next_request_is_waited_for_in_full() -> None:
    some = session(lambda asked: [{"id": asked["id"], "result": {}}] if asked["method"] == "ping" else [])
    for method in ("tools/list", "prompts/list"):
        assert some.request(method).lost == "no answer within 1 s"
        some.hear_out()
    assert not some.deaf


def test_what_a_run_waits_in_vain_is_bounded_whatever_goes_unanswered() -> None:
    patience = Patience()
    assert patience.hurried(10.0, stuck=False) == 10.0
    patience.waited(0.0, IN_VAIN * 10.0 + 1.0, 10.0, answered=False, patient=True)
    assert patience.hurried(10.0, stuck=False) == LEAST
    patience.renew()
    assert patience.hurried(10.0, stuck=False) == 10.0


def test_a_run_in_more_revisions_than_usual_has_more_time_for_slow_answers() -> None:
    patience = Patience()
    patience.revisions = 4
    patience.waited(0.0, 59.0, 10.0, answered=True, patient=True)
    assert patience.over == ""
    patience.waited(60.0, 62.0, 10.0, answered=True, patient=True)
    assert "waiting for answers took 61 s" in patience.over


def test_a_run_of_nothing_but_slow_answers_is_over_at_some_time_and_says_why() -> None:
    patience = Patience()
    patience.waited(0.0, 20.0, 10.0, answered=True, patient=True)
    patience.waited(1.0, 21.0, 10.0, answered=True, patient=True)
    assert patience.over == ""  # most of it at the same time
    patience.waited(30.0, 45.0, 10.0, answered=True, patient=True)
    assert "waiting for answers took" in patience.over
    with pytest.raises(NotWaitedFor):
        patience.admit("tools/list", None, object(), waited=False)


def test_an_answer_that_is_late_because_the_machine_is_busy_does_not_count_as_slow(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    target = session(lambda asked: []).transport
    delays = Delays(target)
    monkeypatch.setattr("conformance.session.delays.held_up_here", lambda: 0.5)
    monkeypatch.setattr(target, "held_up", lambda: 2.0)
    assert delays.shifted(10.0, 10.0 + NOTABLE / 2) == 10.0  # nobody looks
    assert delays.shifted(10.0, 13.0) == 12.5
    assert delays.shifted(20.0, 23.0) == 20.0
    monkeypatch.setattr(target, "held_up", lambda: 9.0)
    assert delays.shifted(20.0, 23.0) == 23.0


def test_what_a_process_waits_for_a_core_is_known() -> None:
    if not Path("/proc/self/schedstat").exists():
        pytest.skip("this kernel does not count it")
    before = held_up(os.getpid()), held_up_here()
    cores = os.cpu_count() or 1
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2 * cores)]
    try:
        deadline = time.monotonic() + 60
        while held_up_here() <= before[1] and time.monotonic() < deadline:
            pass
        assert held_up(os.getpid()) > before[0]
        assert held_up_here() > before[1]
        assert held_up(-1) == 0.0
    finally:
        for each in busy:
            each.kill()
            each.wait()


def test_what_took_long_when_it_opened_a_session_is_waited_for_longer_and_is_not_the_sentinel_any_more() -> None:
    quick = session(lambda asked: [{"id": asked["id"], "result": {}}])
    again = quick.request("ping")
    quick.patience.answered(Call(1, "ping", None, Frame(0, "us", "stdin", 0.0, b"")), 10.5)
    assert quick.patience.sentinel_limit(again, 10.0) == 21.0
    assert quick.patience.limits([again], 10.0, stuck=False, opening=False) == (21.0, False)
    assert quick.sentinel() == ("tools/list", None)


def call(name: str, method: str = "tools/call", **more: Json) -> Call:
    """A request for something by name."""
    params = {"name": name, **more}
    return Call(1, method, params, Frame(0, "us", "stdin", 0.0, b""))


@pytest.mark.parametrize(("ended", "enough"), [(None, LEAST), (Ended(0.5, "the exchange broke off", 1), 10.0)])
def test_only_what_was_silent_is_waited_for_less_the_next_time(ended: Ended | None, enough: float) -> None:
    requests = Requests()
    gone, next_one = call("mute"), Call(2, "ping", None, Frame(1, "us", "stdin", 1.0, b""))
    for each in (gone, next_one):
        requests.register(each)
    requests.end(gone, ended, "no answer within 1 s")
    requests.answer(next_one, Frame(2, "target", "stdout", 1.0, b"{}", {"id": 2, "result": {}}, True))
    assert requests.patience.limit([call("mute")], 10.0) == enough


def test_what_was_silent_is_asked_again_only_by_who_wants_to_hear_of_its_progress() -> None:
    features, me = Features(), object()
    assert features.admit("tools/call", {"name": "slow"}, me, waited=False)
    features.silent(call("slow"), 10.0)
    with pytest.raises(NotAskedAgain, match="tool 'slow' was not called again: it did not answer within 10 s"):
        features.admit("tools/call", {"name": "slow"}, me, waited=False)
    talkative = {"name": "slow", "_meta": {"progressToken": 1}}
    assert features.admit("tools/call", talkative, me, waited=False)
    features.silent(call("slow", _meta={"progressToken": 1}), 10.0)
    with pytest.raises(NotAskedAgain):
        features.admit("tools/call", talkative, me, waited=False)
    assert features.admit("tools/call", {"name": "other"}, me, waited=False)


@pytest.fixture
def threads() -> Iterator[list[ThreadPoolExecutor]]:
    """Two threads beside this one: a thread does not wait for itself."""
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other:
        yield [one, other]


def admitted(features: Features, thread: ThreadPoolExecutor, params: Json, *, waited: bool = False) -> bool:
    """Whether a new session in that thread may call the tool."""
    return thread.submit(lambda: features.admit("tools/call", params, object(), waited=waited)).result()


def test_what_has_not_returned_yet_is_asked_by_one_session_at_a_time(threads: list[ThreadPoolExecutor]) -> None:
    features, slow, one = Features(), {"name": "slow"}, object()
    assert features.admit("tools/call", slow, one, waited=False)
    assert features.admit("tools/call", slow, one, waited=False)
    assert features.spares([("tools/call", slow)], illegal=False)
    assert not admitted(features, threads[0], slow)
    assert admitted(features, threads[0], slow, waited=True)
    features.returned(call("slow"))
    assert not features.spares([("tools/call", slow)], illegal=False)
    assert admitted(features, threads[1], slow)


def test_who_asks_to_be_told_of_progress_waits_only_for_one_who_does_so_too(threads: list[ThreadPoolExecutor]) -> None:
    features, talkative = Features(), {"name": "slow", "_meta": {"progressToken": 1}}
    assert features.admit("tools/call", {"name": "slow"}, object(), waited=False)
    assert admitted(features, threads[0], talkative)
    assert not admitted(features, threads[1], talkative)
    assert features.under_way({"name": "slow"}, True, object())
    assert not features.under_way({"name": "other"}, True, object())


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("tools/call", {"name": "a"}, "tool 'a'"),
        ("resources/read", {"uri": "a://b"}, "resource 'a://b'"),
        ("prompts/get", {"name": 3}, "prompt 3"),
        ("tools/call", {"name": "x" * 500}, "tool '" + "x" * 99 + "…"),
        ("tools/call", ["a"], "tools/call"),
        ("ping", None, "ping"),
    ],
)
def test_what_a_request_asks_for_has_a_name_for_people(method: str, params: Json, expected: str) -> None:
    assert named(method, params) == expected


def test_an_example_may_ask_twice_for_what_has_not_returned_yet() -> None:
    features = Features()
    twice = [("resources/read", {"uri": "test://text"})] * 2
    assert not features.spares(twice, illegal=False)
    assert features.spares(twice, illegal=False), "what comes of the first example is not known yet"
    features.landed()
    assert not features.spares(twice, illegal=False)
