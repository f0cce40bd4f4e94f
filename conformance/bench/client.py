"""The client that makes load: it knows which requests are under way, and how long each took.

It is not `Session`, which keeps a trace, parses every message as it comes and has observers: three times the cost of a
request. What came is matched by its id at once, and judged when there is time.
"""

from __future__ import annotations

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from conformance.bench.answers import CUT, ENDED, LOST, TWICE, Answers, number_in, refused, stray
from conformance.bench.carriers import Carrier
from conformance.bench.clock import Clock
from conformance.bench.operations import FIRST_ID, Operation

PATIENCE = 20
"""Once all is sent, answers are waited for that many times as long as the slowest took so far."""
LEAST, MOST = 0.4, 10.0
"""Seconds that they are waited for, at least and at most."""
UNJUDGED = 16 * 1024 * 1024
"""Bytes of answers that wait to be judged."""
SPUN = 0.001
"""Seconds before a request is due in which nobody sleeps."""
TURN = 64
"""Requests sent, or answers taken, before the other is looked after."""


class Flying(NamedTuple):
    """A request under way: since when it is counted, as a `time.monotonic()`, and the block that it belongs to."""

    operation: Operation
    since: float
    block: Block
    place: int


@dataclass(slots=True)
class Block:
    """What was measured in one go: `load` requests in flight, or sent at their times.

    `latencies` in seconds, in the order in which the requests were sent; negative where no answer came. `wrong` counts
    by the KINDS of `answers`. `seconds` from the first request to the last answer; `cpu` seconds that the server used.
    """

    load: int
    latencies: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    cpu: float = 0.0
    began: float = 0.0

    @property
    def answered(self) -> list[float]:
        """The latencies of what was answered."""
        return [each for each in self.latencies if each >= 0]

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.answered) / self.seconds if self.seconds > 0 else 0.0


class Client:
    """One client, which sends requests `gap` seconds apart at least. `sent` counts them, `slowest` was the longest.

    When the time of `clock` is over it neither sends nor waits; what is under way then is counted as CUT.
    """

    def __init__(self, carrier: Carrier, answers: Answers, clock: Clock, gap: float = 0.0) -> None:
        self.carrier = carrier
        self.answers = answers
        self.sent = 0
        self.slowest = 0.0
        self.cut: tuple[int, float] = 0, 0.0
        """How many requests were under way when the time was over, and since how many seconds the first of them."""
        self.answer_limit = MOST
        self.earlier: set[str] = set()
        """The keys of what was asked before, by the session, and may still be answered."""
        self._clock = clock
        self._gap = gap
        self._not_before = 0.0
        self._next = FIRST_ID + 1
        self._flying: dict[int, Flying] = {}
        self._gone: dict[int, Block] = {}
        """Requests that were given up, whose answers may still come."""
        self._unjudged: list[tuple[Flying, int, bytes]] = []
        self._held = 0
        self._present = Block(0)

    def one_by_one(self, operations: list[Operation], count: int, end: float, load: int = 1) -> Block:
        """Closed loop: `load` requests in flight, the next is sent when one is answered; `operations` take turns.

        At most `count` requests are sent, and none after `end`, but at least one, unless the time is over.
        """
        block = self._present = Block(load, began=time.monotonic())
        started = 0
        while not self.carrier.lost:
            now = time.monotonic()
            if now >= self._clock.end:
                break
            more = started < count and (now < end or not started)
            while more and len(self._flying) < load and now >= self._not_before:
                self._fire(operations[started % len(operations)], now, block)
                started += 1
                now = time.monotonic()
                more = started < count and now < end
            if not self._flying and not more:
                break
            if not more and self._given_up(block):
                break
            waits = self._not_before - now if more and len(self._flying) < load else 0.05
            self._take(min(0.05, max(0.0, waits)))
            if more and len(self._flying) >= load and self._stuck(now):
                started = count
        return self._finished(block)

    def on_time(self, operations: list[Operation], rate: float, seconds: float) -> Block:
        """Open loop: a request each 1/`rate` seconds, whatever has been answered.

        Each latency counts from the moment at which its request was due, so that one that could not be sent in time,
        because the server had stopped reading, counts with all of its delay.
        """
        block = self._present = Block(0, began=time.monotonic())
        number, total = 0, max(1, int(rate * seconds))
        while not self.carrier.lost:
            now = time.monotonic()
            if now >= self._clock.end:
                break
            turn = 0
            while number < total and (due := block.began + number / rate) <= now and turn < TURN:
                self._fire(operations[number % len(operations)], due, block)
                number, turn = number + 1, turn + 1
            late = now - block.began > 2 * seconds + self._patience()
            if number == total or late:
                if late or self._given_up(block) or not self._flying:
                    break
                self._take(0.05)
            else:
                self._take_until(block.began + number / rate)
        block.seconds = max(block.seconds, number / rate)  # a rate is about all the time in which requests were due
        return self._finished(block)

    def begin_with(self, number: int) -> None:
        """Ids begin here: several clients of one server need different ones."""
        self._next = FIRST_ID + number

    # -- inside

    def _fire(self, operation: Operation, since: float, block: Block) -> None:
        number, self._next = self._next, self._next + 1
        self._flying[number] = Flying(operation, since, block, len(block.latencies))
        block.latencies.append(-1.0)
        self.sent += 1
        self.carrier.send(operation, number)
        if self._gap:
            self._not_before = max(self._not_before + self._gap, time.monotonic() - self._gap)

    def _take(self, seconds: float) -> None:
        """Take in what comes within `seconds`, and what else is there already."""
        for turn in range(TURN):
            arrival = self.carrier.receive(seconds if not turn else 0.0)
            if arrival is None or arrival.at >= self._clock.end:
                return
            number = number_in(arrival.data) if arrival.data else 0
            if number not in self._flying and arrival.channel in ("end", "body"):
                number = arrival.exchange or 0  # nothing else will answer what was asked there
            flying = self._flying.pop(number, None)
            if flying is None:
                self._unexpected(number, arrival.data)
                continue
            refusal = refused(arrival.status or 0, number_in(arrival.data) == number)
            if refusal or not arrival.data:
                flying.block.wrong[refusal or ENDED] += 1
                continue
            latency = arrival.at - flying.since
            flying.block.latencies[flying.place] = latency
            flying.block.seconds = arrival.at - flying.block.began
            self.slowest = max(self.slowest, latency)
            if arrival.omitted:
                continue  # too much to be kept, so that nobody can tell whether it is right
            self._unjudged.append((flying, number, arrival.data))
            self._held += len(arrival.data)
            if self._held > UNJUDGED:
                self._judge()

    def _take_until(self, due: float) -> None:
        """Take in what comes until the next request is due. Systems wait whole milliseconds: the last one is spun."""
        wait = due - time.monotonic()
        if wait > SPUN:
            self._take(min(0.05, wait - SPUN))
        else:
            self._take(0.0)
            time.sleep(0)  # who shares our core may go on

    def _unexpected(self, number: int, data: bytes) -> None:
        late = self._gone.pop(number, None)
        if late is not None or not data:
            return  # counted as lost already
        kind = TWICE if FIRST_ID < number < self._next else stray(data, self.earlier)
        if kind:
            self._present.wrong[kind] += 1
        else:
            self.carrier.reply(data)

    def _patience(self) -> float:
        return min(self.answer_limit, max(LEAST, PATIENCE * self.slowest))

    def _stuck(self, now: float) -> bool:
        """Whether everything under way was waited for long enough."""
        patience = self._patience()
        return all(now - each.since > patience for each in self._flying.values())

    def _given_up(self, block: Block) -> bool:
        """Whether what is still under way was waited for long enough."""
        if not self._flying:
            return True
        newest = max(each.since for each in self._flying.values())
        heard = block.began + block.seconds
        return time.monotonic() - max(newest, heard) > self._patience()

    def _finished(self, block: Block) -> Block:
        now, patience = time.monotonic(), self._patience()
        if self._flying and now >= self._clock.end:
            self.cut = len(self._flying), now - min(each.since for each in self._flying.values())
        for number, flying in self._flying.items():
            self._gone[number] = flying.block
            cut = now >= self._clock.end and now - flying.since < patience
            flying.block.wrong[CUT if cut else ENDED if self.carrier.lost else LOST] += 1
            self.carrier.give_up(number)
        self._flying.clear()
        self._judge()
        return block

    def _judge(self) -> None:
        for flying, number, data in self._unjudged:
            if problem := self.answers.judge(flying.operation, number, data):
                flying.block.wrong[problem] += 1
        self._unjudged.clear()
        self._held = 0
