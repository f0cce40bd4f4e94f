"""`mcp-conform bench`: --duration as a limit, as many sessions as it allows, and a server over WebSocket."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

from fronts import conform
from jsonschema import Draft202012Validator

from conformance.bench.answers import CUT, LOST, Answers
from conformance.bench.client import Client
from conformance.bench.clock import CLOSING, RAN_OUT, Clock
from conformance.bench.costs import Cost
from conformance.bench.measured import Measured, Start
from conformance.bench.operations import Operation
from conformance.bench.symptoms import lasting
from conformance.model import Limits
from conformance.transports import Arrival

ROOT = Path(__file__).resolve().parent.parent
SERVERS = ROOT / "tests" / "servers"
SCHEMA = json.loads((ROOT / "schemas" / "bench.json").read_text("utf-8"))
PING = Operation("ping", "ping", None, (b'{"jsonrpc":"2.0","id":', b',"method":"ping"}'))
HUGE = 10**6


def bench(tmp_path: Path, server: str, *arguments: object) -> dict[str, Any]:
    """The report of a run that must end well."""
    file = tmp_path / "report.json"
    done = conform("bench", "--server", server, "--json", file, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(file.read_text("utf-8"))
    Draft202012Validator(SCHEMA).validate(report)
    return report


# The limit


class Silence:
    """A carrier whose requests nobody answers; after `most` of them the time of the clock is over."""

    lost = ""

    def __init__(self, clock: Clock, most: int) -> None:
        self.sent: list[int] = []
        self.given_up: list[int] = []
        self._clock = clock
        self._most = most

    def send(self, operation: Operation, number: int) -> None:
        """Take it, and tell nobody."""
        self.sent.append(number)
        if len(self.sent) == self._most:
            self._clock.end = time.monotonic()

    def receive(self, seconds: float) -> Arrival | None:
        """Nothing ever comes."""

    def give_up(self, number: int) -> None:
        """Remember it."""
        self.given_up.append(number)

    def reply(self, data: bytes) -> None:
        """Nobody asks."""

    def rest(self) -> None:
        """There is nothing to let go of."""


def test_what_is_under_way_when_the_time_is_over_is_no_error_and_is_not_waited_for() -> None:
    clock = Clock(HUGE, HUGE)
    carrier = Silence(clock, 8)
    client = Client(carrier, Answers("", False), clock)
    block = client.one_by_one([PING], HUGE, time.monotonic() + HUGE, 8)
    assert block.wrong == {CUT: 8} and block.answered == []
    assert carrier.given_up == carrier.sent and client.cut[0] == 8
    assert client.on_time([PING], 10, HUGE).latencies == []


def test_what_is_not_answered_long_before_the_time_is_over_is_an_error() -> None:
    clock = Clock(HUGE, HUGE)
    client = Client(Silence(clock, 2), Answers("", False), clock)
    assert client.one_by_one([PING], 1, time.monotonic() + HUGE).wrong == {LOST: 1}


def test_no_wait_goes_beyond_the_end_but_that_for_the_end_of_a_server() -> None:
    clock = Clock(5, 0)
    assert clock.within(Limits()).start <= 5 and clock.within(Limits()).answer == Limits().answer
    clock.begin()
    limits = clock.within(Limits())
    assert limits.start < 1 and limits.answer < 1 and limits.shutdown == CLOSING


def test_a_server_that_answers_slowly_ends_in_time_and_it_is_said_what_was_not_measured(tmp_path: Path) -> None:
    slow = f"{sys.executable} {SERVERS / 'turning.py'} slow 3"
    few = ("--duration", 3, "--only", "tools/call:echo", "--only", "ping")
    (server,) = bench(tmp_path, slow, *few)["servers"]
    (echo,) = [each for each in server["operations"] if each["name"] == "tools/call:echo"]
    assert {"64"} <= set(echo["left_out"])
    assert set(server["left_out"].values()) <= {RAN_OUT}
    assert server["rules"] == []  # an answer that nobody waited for breaks none
    assert echo["loads"] == [] or echo["loads"][0]["count"] <= 3


# Sessions


def test_over_stdio_as_many_sessions_are_opened_as_there_is_time_for_and_growth_from_one_to_the_next_is_found(
    tmp_path: Path,
) -> None:
    server = f"{sys.executable} {ROOT / 'tests' / 'servers' / 'growing.py'} {tmp_path / 'grows'}"
    found: set[str] = set()
    for duration in (4, 15, 30):  # the longer ones where others keep the machine busy
        few = ("--duration", duration, "--in-flight", "1", "--only", "tools/call:echo")
        (measured,) = bench(tmp_path, server, *few)["servers"]
        found = {each["kind"] for each in measured["symptoms"]}
        if "session-memory" in found and measured["sessions"]["count"] > 8:
            break
    more = measured["sessions"]["rss"]
    assert "session-memory" in found
    assert measured["sessions"]["count"] == more["number"] and 100_000 < more["value"] < 400_000  # it grows by 200 kB


def _started(more: list[int]) -> Measured:
    """What was measured of a server whose processes took so many bytes more than 30 MB."""
    costs = [Cost(0.0, 30_000_000 + each, 1, 3, 1, 0.0) for each in more]
    return Measured(starts=[Start(0.1, 0.1, 0.1, cost=cost) for cost in costs])


def test_growth_from_one_process_to_the_next_is_told_from_noise() -> None:
    noise = [(7919 * i) % 1000 * 300 for i in range(40)]  # up to 300 kB, in no order
    costs = [
        [Cost(0.0, 30_000_000 + each + step * i, 1, 3, 1, 0.0) for i, each in enumerate(noise)] for step in (0, 50_000)
    ]
    none, some = (lasting(Measured(starts=[Start(0.1, 0.1, 0.1, cost=cost) for cost in row]), "rss") for row in costs)
    assert none is not None and none.low < 0 < none.high
    assert some is not None and some.low < 50_000 < some.high and some.low > 40_000


# Transports


def test_a_server_over_websocket_is_measured(tmp_path: Path) -> None:
    server = f"{sys.executable} {SERVERS / 'over_websocket.py'} {{port}}"
    few = ("--duration", 6, "--in-flight", "1,8", "--only", "tools/call:echo", "--bound", "errors=0")
    (measured,) = bench(tmp_path, server, "--url", "ws://127.0.0.1:{port}/", *few)["servers"]
    (echo,) = measured["operations"]
    assert measured["transport"] == "websocket" and measured["growth"]["requests"] > 0
    assert {cell["in_flight"] for cell in echo["loads"]} >= {1, 8} and all(cell["count"] for cell in echo["loads"])
    assert all(cell["ours"] is None for cell in echo["loads"])  # the bare loop answers over another transport
