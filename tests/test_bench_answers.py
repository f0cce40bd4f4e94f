"""What `bench` makes of single answers, and of few of them, without a server."""

from __future__ import annotations

import json
import time
from collections import Counter
from typing import Any, cast

import pytest

from conformance.bench.answers import ERROR, STRAY, UNLIKE, WRONG, Answers, stray
from conformance.bench.client import Block
from conformance.bench.clock import Clock
from conformance.bench.costs import Cost
from conformance.bench.measured import Batch, LongRun, Measured
from conformance.bench.operations import FIRST_ID, PLACE, Operation
from conformance.bench.plan import Plan
from conformance.bench.program import Program
from conformance.bench.subject import Subject
from conformance.bench.symptoms import _differs, _serialises, _slows
from conformance.engine.options import Options
from conformance.model import Target

ECHO = Operation("tools/call:echo", "tools/call", {"arguments": {"text": f"m{PLACE}"}}, (), marked=True)
PLAIN = Operation("tools/call:state", "tools/call", {"arguments": {}}, ())


def answer(number: int, text: str, **more: Any) -> bytes:
    result = {"content": [{"type": "text", "text": text}], **more}
    return json.dumps({"jsonrpc": "2.0", "id": number, "result": result}).encode()


def asked(answers: Answers, operation: Operation, texts: list[str]) -> Counter[str]:
    """What is wrong with answers that come one after another."""
    found = Counter[str]()
    for number, text in enumerate(texts, FIRST_ID + 1):
        found[answers.judge(operation, number, answer(number, text.format(number)))] += 1
    return found


def test_an_answer_without_the_argument_that_others_repeat_is_an_error() -> None:
    answers = Answers("2025-11-25", False)
    assert asked(answers, ECHO, ["m{}"] * 5) == {"": 5}
    assert asked(answers, ECHO, ["m{}", "42", "m7000000999"]) == {"": 1, UNLIKE: 1, WRONG: 1}


def test_what_a_tool_says_is_an_error_is_one_unless_it_says_so_alone() -> None:
    answers = Answers("2025-11-25", False)
    number = FIRST_ID + 1
    assert asked(answers, PLAIN, ["fine"] * 3) == {"": 3}
    answers.learning = False
    assert answers.judge(PLAIN, number, answer(number, "busy", isError=True)) == ERROR
    fails = Operation("tools/call:fails", "tools/call", {"arguments": {}}, (), fails=True)
    assert answers.judge(fails, number, answer(number, "no such file", isError=True)) == ""


def test_a_late_answer_to_what_was_asked_before_is_expected_once() -> None:
    earlier = {"7", '"a"'}
    assert [stray(answer(7, "late"), earlier) for _ in range(2)] == ["", STRAY]
    assert stray(b'{"jsonrpc": "2.0", "id": "a", "result": {}}', earlier) == ""
    assert stray(answer(8, "never asked"), earlier) == STRAY
    assert stray(b'{"jsonrpc": "2.0", "id": 8, "method": "ping"}', earlier) == ""


def few(texts: list[str]) -> dict[str, tuple[int, int]]:
    answers = Answers("2025-11-25", False)
    asked(answers, PLAIN, texts)
    return answers.seldom()


def test_an_answer_that_is_another_one_now_and_then_is_told() -> None:
    texts = ["42" if number % 500 == 499 else "fine" for number in range(2100)]
    assert few(texts) == {PLAIN.name: (4, 2096)}
    measured = Measured(seldom=few(texts))
    ((kind, text),) = _differs(measured)
    assert kind == "differs" and text.startswith("4 answers were not the one that 2096 others were")


@pytest.mark.parametrize(
    "texts",
    [
        ["fine"] * 1000,
        ["before"] * 1000 + ["after"] * 1000,
        [f"{number // 100} s" for number in range(2000)],
        [f"number {number}" for number in range(500)],
        ["heads", "tails", "tails"] * 300,
        ["fine"] * 1000 + ["once"] + ["fine"] * 1000,
    ],
)
def test_answers_that_change_as_those_of_a_clock_do_are_not(texts: list[str]) -> None:
    assert few(texts) == {}


def blocks(load: int, latency: float, number: int, seconds: float, cpu: float = 0.0) -> Block:
    return Block(load, [latency] * number, seconds=seconds, cpu=cpu)


def waiting(alone: Block, loaded: Block) -> list[str]:
    """The symptoms of an operation that was measured alone and under a load."""
    measured = Measured(operations=(PLAIN,))
    measured.cell(PLAIN.name, 1).blocks.append(alone)
    measured.cell(PLAIN.name, loaded.load).blocks.append(loaded)
    return [kind for kind, _ in _serialises(measured)]


def test_requests_that_wait_for_each_other_are_told_from_those_on_a_busy_machine() -> None:
    alone = blocks(1, 0.005, 40, 0.2)
    assert waiting(alone, blocks(16, 0.08, 64, 0.32)) == ["serialises"]
    held_up = Block(1, [0.0045] * 10 + [0.016] * 30, seconds=0.525)
    assert waiting(held_up, blocks(16, 0.05, 16, 0.05)) == []  # each takes longer, and many are answered at once


def test_a_server_that_computes_is_not_said_to_wait_where_it_gets_little_of_the_processor() -> None:
    alone = Block(1, [0.0032, *[0.016] * 20], seconds=0.42, cpu=0.03)
    assert waiting(alone, blocks(32, 0.5, 64, 1.3, cpu=0.13)) == []


@pytest.mark.parametrize(
    ("paces", "found"),
    [
        ([1 + number / 10 for number in range(30)], ["slows"]),
        ([1.0] * 10 + [1.02] * 10 + [1.1, 1.05, 9.5, 7.3, 7.0, 7.5, 2.7, 1.4, 2.2, 2.4], []),
    ],
)
def test_a_server_that_slows_down_is_told_from_a_machine_that_is_busy_for_a_while(
    paces: list[float], found: list[str]
) -> None:
    cost = Cost(0.0, 0, 1, 3, 1, 0.0)
    batches = [Batch(100 * number, 100, pace, 1.0, cost) for number, pace in enumerate(paces)]
    assert [kind for kind, _ in _slows(LongRun(batches))] == found


class Concurrent:
    """Stands for the client of a server that answers each request after 50 ms, or one after another."""

    def __init__(self, serial: bool) -> None:
        self._serial = serial

    def one_by_one(self, operations: list[Operation], count: int, end: float, load: int) -> Block:
        """A block that takes no time."""
        return Block(load, [0.05 * (load if self._serial else 1)] * count, seconds=0.05)


@pytest.mark.parametrize("serial", [True, False])
def test_many_in_flight_are_left_out_only_where_requests_wait_for_each_other(serial: bool) -> None:
    subject = Watched(True)
    subject.client = cast("Any", Concurrent(serial))
    subject.measured.cell(PLAIN.name, 1).blocks.append(blocks(1, 0.05, 10, 0.5))
    clock = Clock(60, 60)
    program = Program([subject], Plan(Options(revisions=()), loads=(1, 16), chosen_loads=True), clock, print)
    cell = subject.measured.cell(PLAIN.name, 16)
    assert program._worth(subject, cell, 0.5) is not serial
    assert bool(cell.left_out) is serial


class Watched(Subject):
    """One whose sessions under load find a broken rule, and the one without is cut short or not."""

    def __init__(self, complete: bool) -> None:
        plan = Plan(Options(revisions=()))
        super().__init__("A", Target(command=("true",)), plan, Clock(1, 1))
        self.measured.operations = (PLAIN,)
        self._complete = complete

    def _watched(self, operations: list[Operation], load: int, seconds: float) -> tuple[dict[str, str], bool]:
        return ({"a/b": "broken"}, True) if load > 1 else ({}, self._complete)


@pytest.mark.parametrize("complete", [True, False])
def test_a_rule_is_broken_under_load_only_where_it_is_known_to_hold_without(complete: bool) -> None:
    subject = Watched(complete)
    subject.watch(1.0)
    assert list(subject.measured.rules) == (["a/b"] if complete else [])
    assert ("rules under load" in subject.measured.left_out) is not complete


def test_what_fails_because_little_time_is_left_is_not_held_against_the_server() -> None:
    subject = Watched(True)
    subject._clock.begin()
    subject._connections.limits = subject._clock.within(subject._plan.options.limits)
    assert subject._hurried(time.monotonic() - 1.0)
    assert not subject._hurried(time.monotonic())
    subject._connections.limits = subject._plan.options.limits
    assert not subject._hurried(time.monotonic() - 1.0)
