"""Which servers of a fleet are tested once more, and which keep the result that they have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fleets import Lists, lines_of
from fronts import conform

from conformance.fleet.conditions import conditions as conditions_of
from conformance.fleet.conditions import cut_by, others
from conformance.fleet.entries import Entry
from conformance.fleet.limits import Limits
from conformance.fleet.outcome import not_tested, result_of
from conformance.fleet.run import Manner, planned
from conformance.fleet.sandbox import Sandbox
from conformance.fleet.store import Store
from conformance.fleet.trial import Job, Tried

LIMITS, NONE = Limits(60, 1000, 1000, 10), Sandbox()
ENTRY = Entry("one", {"server": "true"})


def left_to_do(folder: Path, result: Any, manner: Manner) -> tuple[int, int]:
    """Of a folder that has this result: how many servers are tested, and how many of them since it is not settled."""
    store = Store(folder)
    try:
        store.put(result)
        plan = planned([ENTRY], store, manner)
        return len(plan.todo), plan.unsettled
    finally:
        store.close()


def result(stopped: str = "", limits: Limits = LIMITS, sandbox: Sandbox = NONE) -> Any:
    """That of a server that was not tested; a limit may have ended its test."""
    tried = Tried("one", None, "why", stopped and "too much", 0.0, {}, limit=stopped)
    return result_of(ENTRY, ENTRY.digest(()), tried, 1, Job("one", {}, limits=limits, sandbox=sandbox))


CHANGED = {
    "a limit that did not cut it": ("", {"limits": Limits(600, 9000, 9000, 100)}, 0),
    "the limit that cut it": ("memory", {"limits": Limits(60, 2000, 1000, 10)}, 1),
    "the limit that cut it, to a lower one": ("memory", {"limits": Limits(60, 500, 1000, 10)}, 0),
    "another limit than the one that cut it": ("disk", {"limits": Limits(600, 2000, 1000, 10)}, 0),
    "the sandbox": ("", {"limits": LIMITS, "sandbox": Sandbox("bwrap")}, 1),
    "what is kept of the environment": ("", {"limits": LIMITS, "keep": ("UV_CACHE_DIR",)}, 1),
    "nothing": ("time", {"limits": LIMITS}, 0),
}


@pytest.mark.parametrize(("cut", "manner", "again"), CHANGED.values(), ids=CHANGED)
def test_what_was_not_tested_is_tested_again_where_what_decides_that_has_changed(
    cut: str, manner: dict[str, Any], again: int, tmp_path: Path
) -> None:
    assert left_to_do(tmp_path, result(cut), Manner(**manner)) == (again, again)


def test_inside_a_container_the_limits_that_it_keeps_may_be_why_a_server_was_not_tested() -> None:
    docker = Sandbox("docker", "image")
    then = conditions_of(LIMITS, docker, (), cut_by(None, "", LIMITS, docker))
    assert not others(then, Limits(600, 1000, 9000, 10), docker, ())
    assert others(then, Limits(60, 2000, 1000, 10), docker, ())
    assert others(then, LIMITS, Sandbox("docker", "another"), ())


def test_a_server_whose_workers_died_is_tested_again_with_higher_limits(tmp_path: Path) -> None:
    dead = not_tested(ENTRY, ENTRY.digest(()), "its worker died", 3, Job("one", {}, limits=LIMITS))
    assert left_to_do(tmp_path, dead, Manner(limits=LIMITS)) == (0, 0)
    assert left_to_do(tmp_path, dead, Manner(limits=Limits(60, 2000, 1000, 10))) == (1, 1)


def test_what_is_settled_is_not_tested_again_whatever_changes(tmp_path: Path) -> None:
    verdict: dict[str, Any] = {"requirement": "r", "verdict": "passed", "severity": None, "reason": "", "findings": []}
    run = {"revision": "x", "transport": "stdio", "server": {}, "verdicts": [verdict]}
    tried = Tried("one", {"runs": [run], "exit": 0}, "", "", 0.0, {})
    settled = result_of(ENTRY, ENTRY.digest(()), tried, 1, Job("one", {}, limits=LIMITS))
    other = Manner(limits=Limits(600, 2000, 2000, 20), sandbox=Sandbox("bwrap"), keep=("A",))
    assert settled["outcome"] == "passed" and left_to_do(tmp_path, settled, other) == (0, 0)


def test_a_higher_limit_has_only_those_tested_again_that_the_old_one_ended(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    lists.add("sound")
    lists.add("slow")
    lists.listed({"name": "silent", "server": "false"})
    script = tmp_path / "journaled.py"
    slow = "import sys, time\nif sys.argv[2] == 'slow':\n    time.sleep(4)\n"
    script.write_text(slow + script.read_text())
    short = conform(*lists.words("--name", "slow", "--time", "3", "--workers", "1"))
    assert lists.row("slow")["outcome"] == "not tested", short.stdout
    started = lines_of(lists.journal)["slow"]
    conform(*lists.words("--name", "sound", "--name", "silent", "--workers", "1"))
    done = conform(*lists.words("--workers", "1"))
    assert "1 to be tested" in done.stdout and "2 finished before; 1 was not tested to the end" in done.stdout
    assert lines_of(lists.journal)["slow"] > started
    assert lists.row("slow")["outcome"] == "passed", done.stdout


def test_one_server_is_tested_again_by_its_name_and_the_others_stay_in_the_table(tmp_path: Path) -> None:
    lists = Lists(tmp_path)
    for name in ("one", "two"):
        lists.add(name)
    lists.listed({"name": "absent", "server": "no-such-program-anywhere"})
    conform(*lists.words("--workers", "2"))
    before = lines_of(lists.journal)
    kept = (lists.out / "results" / "two.json").read_bytes()
    done = conform(*lists.words("--again", "--name", "one"))
    assert "1 to be tested" in done.stdout, done.stdout + done.stderr
    after = lines_of(lists.journal)
    assert after["one"] == 2 * before["one"] and after["two"] == before["two"]
    assert (lists.out / "results" / "two.json").read_bytes() == kept
    assert {row["name"]: row["outcome"] for row in lists.summary()["servers"]} == {
        "absent": "not tested",
        "one": "passed",
        "two": "passed",
    }
    assert lists.summary()["earlier"] == []
