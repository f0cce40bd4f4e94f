"""The course of a bench: what is measured when, and how the time is shared out."""

from __future__ import annotations

import contextlib
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from statistics import median

from conformance.bench.answers import CUT, errors
from conformance.bench.bare_loop import BareLoop
from conformance.bench.clock import RAN_OUT, Clock
from conformance.bench.costs import Cost, Watcher
from conformance.bench.estimates import quantile
from conformance.bench.measured import Batch, Cell, Step
from conformance.bench.operations import Operation
from conformance.bench.plan import Plan
from conformance.bench.subject import Subject

SHARES = {"starts": 8, "watched": 6, "long run": 30, "loads": 34, "spread": 4, "rates": 12, "sessions": 14}
"""Phase → its share of the time; what one does not use the next ones get."""
STARTS = 10
FIRST = 0.25
"""Part of the time that one more start may take before all else, so that there is one."""
WARM = 0.1
"""Part of the time of the long run, at most, in which each operation is asked for before anything is counted."""
BATCH = 100
"""Requests of a batch of the long run, about."""
BARE = 20
"""Requests of the bare loop after each batch."""
PACE = 5.0
"""The long run consists of operations that take at most so many times as long as the fastest."""
FRACTIONS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.15, 1.3, 1.6, 2.0)
"""Rates of the open loop, as parts of what the closed loop reached."""
MOST_ROUNDS = 10
SLICE = 0.04
"""Seconds of a block, for which there are as many rounds as the time allows."""
KEPT_UP = 0.95
"""A rate is kept up if at least this part of it is answered in time."""
ALONE = 3
"""What is measured alone gets so many times the time of other blocks: there is only one answer at a time."""
THIN = 0.008
"""Seconds of a block, below which rather fewer loads are measured."""
BREADTH = 0.5
"""Part of the time of an operation that its first turn may take: each load once comes before some of them often."""
PROBE = 4
"""So many times as many requests in flight are tried before far more are left out as too slow."""
SESSIONS_EACH = 3
"""Sessions between two looks at the costs."""


class Program:
    """Measures all subjects, in turns where there are two, so that what the machine does meanwhile hits both.

    `tell` is told in a few words what is measured now. `bare` has the same client measure what our own cost is.
    """

    def __init__(self, subjects: list[Subject], plan: Plan, clock: Clock, tell: Callable[[str], None]) -> None:
        self.subjects = subjects
        self.plan = plan
        self.bare = BareLoop(subjects[0].transport, plan, clock)
        self._clock = clock
        self._tell = tell
        self._left = dict(SHARES)

    def run(self) -> None:
        """Everything for which there is time. The subjects are open. Raises StartError, Stopped."""
        self.bare.open()
        if all(subject.own_processes or not subject.costs.known for subject in self.subjects):
            self._left["starts"] += self._left.pop("sessions")  # there each start is a session
            del self._left["spread"]
        with contextlib.ExitStack() as stack:
            for subject in self.subjects:
                if subject.costs.known:
                    stack.enter_context(Watcher(subject.costs.look))
            for subject in self.subjects:
                if 2 * subject.takes < FIRST * self._clock.left / len(self.subjects):
                    subject.start_once()
            self._long_run(self._phase("long run"))
            self._loads(self._phase("loads"))
            if "spread" in self._left:
                self._spread(self._phase("spread"))
            self._rates(self._phase("rates"))
            if "sessions" in self._left:
                self._sessions(self._phase("sessions"))
            for subject in self.subjects:
                subject.client.carrier.rest()
                subject.measured.seldom = subject.client.answers.seldom()
                number, since = subject.client.cut
                if number:
                    first = "it" if number == 1 else "the first"
                    told = f"{number} {'request was' if number == 1 else 'requests were'} not answered yet"
                    subject.measured.notes.append(f"when the time was over {told}, {first} after {since:.2g} s")
            end = self._phase("watched")
            for number, subject in enumerate(self.subjects, 1):
                left = end - time.monotonic()
                if left > 0:
                    subject.watch(max(0.05, left * number / len(self.subjects)))
                else:
                    subject.measured.left_out["rules under load"] = RAN_OUT
        for subject in self.subjects:
            subject.measured.after = subject.costs.settled() if subject.costs.known else None
        self._starts(self._phase("starts"))

    # -- the phases

    def _phase(self, name: str) -> float:
        """When it is to be over. Raises Stopped."""
        self._clock.check()
        self._tell(name)
        whole = sum(self._left.values())
        share = self._left.pop(name) / whole
        return time.monotonic() + self._clock.left * share

    def _living(self) -> Iterator[Subject]:
        self._clock.check()
        for subject in self.subjects:
            if lost := subject.client.carrier.lost:
                subject.measured.lost = subject.measured.lost or lost
            else:
                yield subject

    def _starts(self, end: float) -> None:
        own = any(subject.own_processes for subject in self.subjects)
        for _ in range(self.plan.sessions if own else STARTS):
            began = time.monotonic()
            for subject in self.subjects:
                self._clock.check()
                if subject.takes < self._clock.left:
                    subject.start_once()
                elif not subject.measured.starts:
                    subject.measured.left_out["start and end"] = RAN_OUT
            if 2 * time.monotonic() - began >= end:
                return

    def _long_run(self, end: float) -> None:
        """Many requests one after another, so that what grows with their number shows."""
        runs = {subject.label: _Run(subject) for subject in self._living()}
        warm = time.monotonic() + WARM * max(0.0, end - time.monotonic())
        for subject in self._living():
            for operation in subject.measured.operations:
                subject.client.one_by_one([operation], 3, warm)
            subject.client.answers.learning = True
            runs[subject.label].choose(warm)
        self.bare.client.one_by_one([self.bare.operation], 3 * BARE, warm)
        while time.monotonic() < end:
            for subject in self._living():
                run = runs[subject.label]
                if run.count < self.plan.requests:
                    run.batch(self.bare, end)
            if all(run.count >= self.plan.requests for run in runs.values()) or not any(self._living()):
                break
        for run in runs.values():
            run.finish()

    def _loads(self, end: float) -> None:
        """Each operation with each number of requests in flight, round after round."""
        for subject in self.subjects:
            subject.client.answers.learning = False
        names = dict.fromkeys(name for subject in self.subjects for name in subject.operations)
        rows = len(names) * len(self.subjects) + 1
        loads = self._thinned(end - time.monotonic(), rows)
        each = (end - time.monotonic()) / rows / (len(loads) + ALONE - 1)
        rounds = max(self.plan.rounds, min(MOST_ROUNDS, int(each / SLICE)))
        budget = spent = 0.0
        for turn in range(rounds):
            if (turn and time.monotonic() >= end) or not self._clock.left:
                return
            seconds = max(0.001, each / rounds)
            for load in loads:
                self.bare.measure(load, max(SLICE / 2, seconds))
            for name in names:
                share = seconds * (len(loads) + ALONE - 1) * len(self.subjects)
                budget += share
                began = time.monotonic()
                most = max(seconds, budget - spent, 0 if turn else BREADTH * rounds * share)
                self._operation(name, loads, turn, seconds, most)
                spent += time.monotonic() - began

    def _operation(self, name: str, loads: tuple[int, ...], turn: int, seconds: float, left: float) -> None:
        """One operation with each load, in blocks of so many seconds, while there are seconds `left`.

        Every other turn goes the other way, so that neither a load nor a server always comes first.
        """
        began = time.monotonic()
        for load in loads[:: 1 if turn % 2 == 0 else -1]:
            for subject in self.subjects[:: 1 if turn % 2 == 0 else -1]:
                self._clock.check()
                if subject.client.carrier.lost:
                    continue
                cell = subject.measured.cell(name, load)
                if self._worth(subject, cell, left + seconds - (time.monotonic() - began)):
                    self._measure(subject, cell, seconds)

    def _spread(self, end: float) -> None:
        """The quickest operation, over as many sessions as there are requests in flight."""
        began = time.monotonic()
        loads = [load for load in self.plan.loads if load > 1]
        for number, load in enumerate(loads):
            for subject in self._living():
                name = max(subject.operations, key=lambda each: _most(subject, each))
                if not self._clock.left:
                    subject.measured.left_out["many sessions"] = RAN_OUT
                    continue
                if subject.measured.known(name, load) is None or not subject.spread(load):
                    continue
                until = began + (end - began) * (number + 1) / len(loads)
                self._measure(subject, subject.measured.cell(name, load, load), max(0.02, until - time.monotonic()))
        for subject in self.subjects:
            subject.gather()

    def _thinned(self, left: float, rows: int) -> tuple[int, ...]:
        """The loads, or some of them where there is too little time for all, and the user has not chosen."""
        loads = self.plan.loads
        if self.plan.chosen_loads or left / rows / (len(loads) + ALONE - 1) / self.plan.rounds >= THIN:
            return loads
        few = tuple(load for i, load in enumerate(loads) if i % 2 == 0)
        for subject in self.subjects:
            subject.measured.notes.append(
                f"there was no time for every load: {', '.join(map(str, few))} requests in flight were measured; "
                "a longer --duration allows more, --only measures fewer operations"
            )
        return few

    def _worth(self, subject: Subject, cell: Cell, left: float) -> bool:
        """Whether there is time for a block, as far as can be told from what was measured."""
        operation = subject.operation(cell.operation)
        if operation is None or not self._clock.left:
            return False
        if cell.blocks:
            if len(cell.blocks) > 1 and cell.errors:
                return False  # it goes wrong every time, and each takes all our patience
            return cell.load == 1 or min(block.seconds for block in cell.blocks) <= left
        fewer = [subject.measured.known(cell.operation, load) for load in self.plan.loads if load < cell.load]
        known = [each for each in fewer if each is not None]
        if cell.load == 1 or (not known and fewer == []):
            return True
        if not known or not known[-1].latencies:
            cell.left_out = "with fewer in flight there was no answer, or no time"
            return False
        if self.plan.rate and cell.load > max(1.0, self.plan.rate * median(known[-1].latencies)):
            cell.left_out = f"at {self.plan.rate:g} requests a second there are never so many in flight"
            return False
        points = [(each.load, median(each.latencies)) for each in known if each.latencies]
        while expected_with(cell.load, points) > left and PROBE * points[-1][0] < cell.load:
            load, usual = points[-1]
            if PROBE * usual > left:
                break
            # Whether requests wait for each other, which would take so long, is found out with a few of them.
            probe = subject.client.one_by_one([operation], PROBE * load, time.monotonic() + left, PROBE * load)
            if errors(probe.wrong):
                subject.measured.cell(cell.operation, PROBE * load).blocks.append(probe)
            if not probe.answered:
                break
            points.append((PROBE * load, median(probe.answered)))
        expected = expected_with(cell.load, points)
        cell.left_out = "" if expected <= left else f"it may take {expected:.2g} s: a longer --duration has time for it"
        return not cell.left_out

    def _measure(self, subject: Subject, cell: Cell, seconds: float) -> None:
        operation = subject.operation(cell.operation)
        assert operation is not None
        seconds *= ALONE if cell.load == 1 else 1
        before = subject.costs.cpu() if subject.costs.known else 0.0
        block = subject.client.one_by_one([operation], 100_000, time.monotonic() + seconds, cell.load)
        block.cpu = subject.costs.cpu() - before if subject.costs.known else 0.0
        cell.blocks.append(block)

    def _rates(self, end: float) -> None:
        """The open loop: more and more requests a second, whatever is answered, until the server does not keep up."""
        mixes = {subject.label: _mix(subject) for subject in self._living()}
        for fraction in FRACTIONS:
            going = [s for s in self._living() if mixes[s.label][1] and not _saturated(s)]
            left = end - time.monotonic()
            steps = going[0].measured.steps if going else []
            if going and left <= 0 and not steps:
                for subject in going:
                    subject.measured.left_out["open loop"] = RAN_OUT
            if not going or left <= 0 or (steps and 0 < self.plan.rate <= steps[-1].offered):
                return
            seconds = max(0.05, left / len(going) / max(2, len(FRACTIONS) - len(steps)))
            for subject in going:
                operations, most = mixes[subject.label]
                rate = min(most * fraction, self.plan.rate or most * fraction)
                block = subject.client.on_time(operations, rate, seconds)
                if block.wrong[CUT]:
                    subject.measured.left_out["open loop"] = f"{rate:.3g} requests a second and more: {RAN_OUT}"
                    continue
                kept_up = block.rate >= KEPT_UP * rate
                subject.measured.steps.append(Step(rate, block, not kept_up))

    def _sessions(self, end: float) -> None:
        """Sessions at a URL that are opened and closed: what one leaves behind shows in the costs of the server."""
        for _ in range(self.plan.sessions // SESSIONS_EACH):
            going = [s for s in self._living() if s.costs.known and not s.own_processes]
            if not going or time.monotonic() >= end:
                for subject in going:
                    if not subject.measured.session_count:
                        subject.measured.left_out["sessions opened and closed"] = RAN_OUT
                return
            for subject in going:
                if not subject.measured.sessions:
                    subject.costs.find()
                    subject.measured.sessions.append(subject.costs.look())
                if not all(subject.open_and_close() for _ in range(SESSIONS_EACH)):
                    return
                subject.measured.session_count += SESSIONS_EACH
                subject.costs.find()
                subject.measured.sessions.append(subject.costs.look())


def expected_with(load: int, points: Sequence[tuple[int, float]]) -> float:
    """Seconds that an answer may take with so many in flight; `points` are what it took with fewer.

    It rises as it did in the last step: where requests do not wait for each other it does not.
    """
    (before, early), (last, late) = ((0, 0.0), *points)[-2:]
    return late + max(0.0, late - early) / (last - before) * (load - last)


def _saturated(subject: Subject) -> bool:
    """Whether two rates in a row were too much."""
    return [step.saturated for step in subject.measured.steps[-2:]] == [True, True]


def _mix(subject: Subject) -> tuple[list[Operation], float]:
    """The operations of the open loop, and how many of them a second the closed loop reached."""
    rates = {name: _most(subject, name) for name in subject.operations}
    fastest = max(rates.values(), default=0.0)
    chosen = [each for each in subject.measured.operations if rates[each.name] * PACE >= fastest > 0]
    return chosen, len(chosen) / sum(1 / rates[each.name] for each in chosen) if chosen else 0.0


def _most(subject: Subject, name: str) -> float:
    cells = [cell for cell in subject.measured.cells.values() if cell.operation == name and cell.blocks]
    return max((cell.rate for cell in cells if not cell.errors), default=0.0)


class _Run:
    """The long run of one subject."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self.count = 0
        self._operations: list[Operation] = []
        self._raw: list[tuple[str, float]] = []
        self._batches: list[tuple[int, int, list[float], Cost]] = []

    def choose(self, end: float) -> None:
        """Take the operations that are quick enough to be asked thousands of times."""
        took: dict[str, float] = {}
        for operation in self.subject.measured.operations:
            if operation.alone < 0.25:
                block = self.subject.client.one_by_one([operation], 3, end)
                took[operation.name] = median(block.answered) if block.answered else 1e9
        fastest = min(took.values(), default=0.0)
        quick = [each for each in self.subject.measured.operations if took.get(each.name, 1e9) <= PACE * fastest + 1e-3]
        self._operations = quick or list(self.subject.measured.operations[:1])

    def batch(self, bare: BareLoop, end: float) -> None:
        """One batch, and a little of the bare loop."""
        number = len(self._operations)
        count = number * max(1, round(BATCH / number))
        before = self.subject.client.sent
        block = self.subject.client.one_by_one(self._operations, count, end)
        names = [self._operations[i % number].name for i in range(len(block.latencies))]
        self._raw += list(zip(names, block.latencies, strict=True))
        self.subject.measured.long_run.wrong += block.wrong
        self.count += len(block.latencies)
        own = bare.client.one_by_one([bare.operation], BARE, end).answered
        self._batches.append((before, len(block.latencies), own, self.subject.costs.look()))

    def finish(self) -> None:
        """Work out the pace of each batch."""
        by_name: dict[str, list[float]] = defaultdict(list)
        for name, latency in self._raw:
            if latency >= 0:
                by_name[name].append(latency)
        usual = {name: median(values) for name, values in by_name.items()}
        run = self.subject.measured.long_run
        run.latencies = [(latency / usual[name] if latency >= 0 else -1.0, latency) for name, latency in self._raw]
        run.bare = [each for batch in self._batches for each in batch[2]]
        own = _quick(run.bare) if run.bare else 1.0
        begin = 0
        for before, count, bare, cost in self._batches:
            paces = [pace for pace, _ in run.latencies[begin : begin + count] if pace >= 0]
            begin += count
            if paces and bare and count * 2 >= self._batches[0][1]:  # the last one may be cut short
                run.batches.append(Batch(before, count, _quick(paces), _quick(bare) / own, cost))


def _quick(values: list[float]) -> float:
    """The latency that a fifth of the values does not exceed: what others do on the machine moves it least."""
    return quantile(sorted(values), 0.2)
