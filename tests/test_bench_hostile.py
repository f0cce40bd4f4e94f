"""What bench gets out of hostile servers: an end in time, one sentence, and nothing of ours left on the machine."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from hostile import measure
from hostile.base import Server
from hostile.registry import load
from servers import turning

TARGETS = load()
DURATIONS = ("1.5", "6", "40")
"""Seconds of --duration: the first will do, unless others keep the machine busy."""
START = "6"
"""Seconds of --start-timeout: a busy machine may need some."""
SHORT = ("bench", "--start-timeout", START, "--timeout", "2")
NET = 90.0
"""Seconds after which a run is taken for one that does not end; on a machine of its own it is promised to end within
2 · 6 + 10 + 1.5 + 5."""
CALLS = "12"
"""Calls of the tool after which a server of `turning` turns bad."""

SILENT = r"answers neither initialize nor server/discover: no answer within"
NOTHING = r"answers no request that could be measured"
ANY = ""
STDIO: dict[str, tuple[tuple[int, ...], str]] = {
    "silent": ((3,), SILENT),
    "traceback": ((3,), "RuntimeError: no configuration found"),
    "stdout-flood": ((3,), SILENT),
    "garbage": ((0,), ANY),
    "flood-big-messages-initialize": ((3,), NOTHING),
    "flood-pings-beside": ((0,), ANY),
    "flood-elicitation-call": ((0, 3), ANY),
    "answers-each-request-a-thousand-times": ((0,), r"twice: answers that came a second time: \d+"),
    "tool-result-of-200-mb": ((0,), r"tools/call:echo +.*too (large|long)|one answer takes more than"),
    "every-answer-of-3-mb": ((0,), ANY),
    "stops-itself": ((3,), ANY),
    "segmentation-fault": ((3,), "SIGSEGV"),
    "ignores-every-signal": ((0,), ANY),
    "sends-sigint-start": ((3,), "interrupted"),
}
"""Target → exit statuses, and what must be said."""
AT_URL: dict[str, tuple[tuple[int, ...], str]] = {
    "http-body-without-end": ((0, 3), r"tools/list"),
    "http-dies-at-post-5": ((3,), "exited with code 9"),
    "http-never-answers-at-all": ((3,), "no answer within 6 s"),
    "http-daemon": ((0,), "leaves processes behind"),
    "sse-endless": ((0, 3), ANY),
    "sse-accepts-and-is-deaf": ((3,), "no answer within 6 s"),
}
GONE = r"gone: the server could not be asked to the end: "
# A flood ends by itself at some point, and the server with it: then the exit status is 3.
LATE = r"drops: \d+ requests? w|when the time was over \d+ requests? w"
UNDER_LOAD: dict[str, tuple[tuple[int, ...], str]] = {
    "dies": ((3,), f"{GONE}the server exited with code 7"),
    "hangs": ((0, 3), LATE),
    "closes": ((3,), f"{GONE}the server closed its stdout and still runs"),
    "slow": ((0,), ANY),
    "wrong-ids": ((0,), "stray: "),
    "huge": ((0,), ANY),
    "garbage": ((0,), ANY),
    "flood": ((0, 3), LATE),
    "line-without-end": ((0, 3), LATE),
    "daemon": ((0,), "left-behind: "),
}
"""Kind of `turning`, over stdio → the same."""
UNDER_LOAD_OVER_HTTP: dict[str, tuple[tuple[int, ...], str]] = {
    "dies": ((3,), f"{GONE}the server exited with code 7"),
    "hangs": ((0, 3), LATE),
    "breaks-off": ((0,), r"ended: requests that ended with their connection: \d+"),
    "garbage": ((0,), ANY),
    "body-without-end": ((0, 3), LATE),
    "events-without-end": ((0, 3), LATE),
    "event-without-end": ((0, 3), LATE),
    "comments-without-end": ((0, 3), LATE),
    "stays-after-the-answer": ((0,), ANY),
    "huge-chunk": ((0, 3), LATE),
    "length-of-terabytes": ((0, 3), LATE),
    "huge-header": ((0,), ANY),
}

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left is read from /proc")


def judged(
    name: str, options: Sequence[str], folder: Path, statuses: tuple[int, ...], says: str
) -> tuple[list[str], str]:
    """What is wrong with a run, and what it printed."""
    wrong: list[str] = []
    for duration in DURATIONS:
        words = [*SHORT, "--duration", duration, *options]
        done = measure.run(name, words, folder / f"run-{duration}", NET, 2 * measure.MEMORY, ("json",))
        wrong = measure.classes(done.row(statuses, says), NET)
        if done.status == 3 and not done.report.get("problem"):
            wrong.append("no reason is given")
        if not wrong or set(wrong) - {"status", "unsaid"}:
            break
    return wrong, f"{done}\n{done.printed}"


@pytest.mark.parametrize("name", [*STDIO, *AT_URL])
def test_a_bench_of_a_hostile_target_ends_in_one_sentence_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    statuses, says = {**STDIO, **AT_URL}[name]
    wrong, told = judged(name, measure.server_options(TARGETS[name]), tmp_path, statuses, says)
    assert wrong == [], told


def turns(kind: str, port: str = "") -> str:
    """The command of a server that turns bad."""
    script = Path(turning.__file__)
    return f"{shlex.join([sys.executable, str(script), kind, CALLS])} {port}"


ONE = ("--only", "tools/call:echo", "--in-flight", "1,8")


@pytest.mark.parametrize("kind", UNDER_LOAD)
def test_a_server_that_turns_bad_under_load_is_named_and_leaves_nothing(kind: str, tmp_path: Path) -> None:
    statuses, says = UNDER_LOAD[kind]
    wrong, told = judged(kind, ["--server", turns(kind), *ONE], tmp_path, statuses, says)
    assert wrong == [], told


@pytest.mark.parametrize("kind", UNDER_LOAD_OVER_HTTP)
def test_a_server_that_turns_bad_under_load_over_http_is_named_and_leaves_nothing(kind: str, tmp_path: Path) -> None:
    statuses, says = UNDER_LOAD_OVER_HTTP[kind]
    at = ("--server", turns(kind, "{port}"), "--url", "http://127.0.0.1:{port}/mcp")
    wrong, told = judged(kind, [*at, *ONE], tmp_path, statuses, says)
    assert wrong == [], told


def test_every_way_to_turn_bad_is_tested() -> None:
    assert set(UNDER_LOAD) == set(turning.on_stdio(Server())) and set(UNDER_LOAD_OVER_HTTP) == set(turning.OVER_HTTP)


def test_what_must_be_said_can_be_looked_for() -> None:
    for _, says in (*STDIO.values(), *AT_URL.values(), *UNDER_LOAD.values(), *UNDER_LOAD_OVER_HTTP.values()):
        re.compile(says)
