"""What is measured of one server, as it accumulates. Times are in seconds, memory in bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from conformance.bench.answers import errors
from conformance.bench.client import Block
from conformance.bench.costs import Cost
from conformance.bench.operations import Operation

LOADS = (1, 2, 4, 8, 16, 32, 64)
"""How many requests are in flight."""


@dataclass(slots=True)
class Cell:
    """One operation under one load: `blocks` were measured at different times of the run.

    `sessions` is how many sessions share the load; `left_out` why it was not measured.
    """

    operation: str
    load: int
    sessions: int = 1
    blocks: list[Block] = field(default_factory=list)
    left_out: str = ""

    @property
    def latencies(self) -> list[float]:
        """All of them, sorted."""
        return sorted(each for block in self.blocks for each in block.answered)

    @property
    def wrong(self) -> Counter[str]:
        """What was counted, by the kinds of `answers`."""
        return sum((block.wrong for block in self.blocks), Counter())

    @property
    def errors(self) -> int:
        """How many requests were not answered as they should be."""
        return errors(self.wrong)

    @property
    def told(self) -> bool:
        """Whether there is anything to tell: an answer, or that there was none."""
        return self.errors > 0 or any(block.answered for block in self.blocks)

    @property
    def seconds(self) -> float:
        """How long was measured."""
        return sum(block.seconds for block in self.blocks)

    @property
    def cpu(self) -> float:
        """CPU seconds that the server used meanwhile."""
        return sum(block.cpu for block in self.blocks)

    @property
    def rate(self) -> float:
        """Answers a second."""
        return len(self.latencies) / self.seconds if self.seconds else 0.0


@dataclass(frozen=True, slots=True)
class Start:
    """One start of a server: how long until the session was open, the first request on it, and the end.

    `how` is how it ended, as in `Ending`, `left` what it left behind, for people. `cost` is that of its process once
    it had been asked something. None is what was not measured.
    """

    start: float | None
    first: float | None
    end: float | None
    how: str = ""
    left: str = ""
    cost: Cost | None = None


@dataclass(slots=True)
class Step:
    """One rate of the open loop: requests that were due each second, and what came of them."""

    offered: float
    block: Block
    saturated: bool = False


@dataclass(frozen=True, slots=True)
class Batch:
    """Some requests of the long run: how many there had been before, and what the server cost afterwards.

    `pace` is how long the quicker ones took, as a multiple of what is usual for their operations in the long run;
    `bare` is the same of the bare loop at that moment, which tells what the machine does.
    """

    before: int
    count: int
    pace: float
    bare: float
    cost: Cost


@dataclass(slots=True)
class LongRun:
    """Many requests, one at a time. `latencies` in order, as multiples of the median of their operation, and
    in seconds; `bare` are those of the bare loop, in seconds."""

    batches: list[Batch] = field(default_factory=list)
    latencies: list[tuple[float, float]] = field(default_factory=list)
    bare: list[float] = field(default_factory=list)
    wrong: Counter[str] = field(default_factory=Counter)


@dataclass(slots=True)
class Measured:
    """All that was measured of one server. `rules` are those that the invariants saw broken under load."""

    operations: tuple[Operation, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)
    """Operations, and parts of the course, that were not measured: name → why."""
    starts: list[Start] = field(default_factory=list)
    cells: dict[tuple[str, int, int], Cell] = field(default_factory=dict)
    """By operation, load and sessions."""
    steps: list[Step] = field(default_factory=list)
    long_run: LongRun = field(default_factory=LongRun)
    sessions: list[Cost] = field(default_factory=list)
    """Before the first session that was opened and closed, and after every few of them."""
    session_count: int = 0
    before: Cost | None = None
    after: Cost | None = None
    peak: int = 0
    rules: Mapping[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    seldom: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """Operation → how many answers were not the one that nearly all were, and how many those are."""
    lost: str = ""
    """Why the server could not be asked any more before the end."""

    def cell(self, operation: str, load: int, sessions: int = 1) -> Cell:
        """The cell, which is made if there is none."""
        return self.cells.setdefault((operation, load, sessions), Cell(operation, load, sessions))

    def known(self, operation: str, load: int, sessions: int = 1) -> Cell | None:
        """The cell, if it was measured."""
        cell = self.cells.get((operation, load, sessions))
        return cell if cell is not None and cell.blocks else None
