"""What the user wants to be measured, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

from conformance.bench.measured import LOADS
from conformance.engine.options import Options

DURATION = 30.0
"""Seconds that all takes, unless the user says otherwise."""
REQUESTS = 10_000
"""Requests of the long run, at most."""
SESSIONS = 1_000
"""Sessions that are opened and closed, at most."""
CAUTIOUS_RATE = 20.0
"""Requests a second at a server that somebody else runs, unless the user says otherwise."""
ROUNDS = 4
"""Each cell is measured that many times, at different moments of the run."""


@dataclass(frozen=True, slots=True)
class Plan:
    """`duration` in seconds; `rate` is the most requests a second, 0 for no limit; `only` are patterns of operations.

    `loads` are how many requests are in flight at once, ascending; 1 is among them.
    """

    options: Options
    duration: float = DURATION
    rate: float = 0.0
    only: tuple[str, ...] = ()
    loads: tuple[int, ...] = LOADS
    chosen_loads: bool = False
    """Whether the user chose the loads, so that none of them is left out."""
    requests: int = REQUESTS
    sessions: int = SESSIONS
    rounds: int = ROUNDS

    @property
    def gap(self) -> float:
        """Seconds between two requests, at least."""
        return 1 / self.rate if self.rate else 0.0
