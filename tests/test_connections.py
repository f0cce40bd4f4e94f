"""Sessions on demand, and how long what they take is waited for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conformance.checks.ledger import Ledger
from conformance.checks.registry import cases
from conformance.engine.connections import Connections
from conformance.engine.detection import attempt
from conformance.engine.plan import plan
from conformance.engine.stage import Stage
from conformance.engine.units import State
from conformance.model import Limits, Target
from conformance.revisions import BY_DATE
from conformance.survey.survey import CallPolicy, Survey
from conformance.transports import Used
from conformance.transports.stdio import StdioTransport

SILENT = Target((sys.executable, "-c", "import sys; sys.stdin.read()"))
FOREVER = 3600.0
"""Seconds."""
REVISION = BY_DATE["2025-11-25"]


def measured(monkeypatch: pytest.MonkeyPatch, used: Used, held_up: float) -> None:
    """Let every target have used that much, and have waited for a core for so many seconds."""
    monkeypatch.setattr(StdioTransport, "used", lambda _: used)
    monkeypatch.setattr(StdioTransport, "held_up", lambda _: held_up)


@contextmanager
def adapted(startup: float, spares: int) -> Iterator[Connections]:
    """Connections that have seen one target start in so many seconds."""
    connections = Connections(SILENT, Limits(), spares=spares)
    try:
        connections.session(REVISION)
        connections.adapt(startup)
        yield connections
    finally:
        connections.close(hurry=True)


def test_the_start_of_a_target_that_was_ready_long_ago_is_not_taken_for_slow() -> None:
    ready = StdioTransport(Target((sys.executable, "-m", "conformance.reference")), Limits())
    ready.start()
    ready.began -= FOREVER
    connections = Connections(Target(("unused",)), Limits(), spares=0)
    connections.begin_with(ready)
    tried = attempt(REVISION, lambda _: Stage(connections.session(REVISION), Ledger(), (), connections), Limits())
    connections.close()
    assert tried.spoken
    assert tried.seconds < FOREVER / 2


@pytest.mark.parametrize(
    ("startup", "used", "held_up", "at_once"),
    [
        pytest.param(5.0, Used(0.5, 1_000), 0.0, 24, id="a server that waits"),
        pytest.param(5.0, Used(2.0, 1_000), 0.0, 6, id="a server that computes"),
        pytest.param(5.0, Used(0.5, 1_000), 4.0, 6, id="a server that has no core"),
        pytest.param(5.0, Used(0.5, 1_000), 1.0, 6, id="a server that has no core for some of the time"),
        pytest.param(1.0, Used(0.1, 1_000), 0.0, 6, id="a server that starts at once"),
        pytest.param(5.0, Used(0.5, 10**15), 0.0, 6, id="a server that is too large"),
    ],
)
def test_more_servers_run_at_once_only_if_their_start_is_long_and_is_no_work_and_memory_holds_them(
    monkeypatch: pytest.MonkeyPatch, startup: float, used: Used, held_up: float, at_once: int
) -> None:
    measured(monkeypatch, used, held_up)
    with adapted(startup, spares=6) as connections:
        assert connections.at_once == at_once


@pytest.mark.parametrize(
    ("used", "held_up", "times"),
    [
        pytest.param(Used(0.5, 1_000), 0.0, 1.0, id="an idle machine"),
        pytest.param(Used(0.5, 1_000), 0.5, 2.0, id="as much waiting as work"),
        pytest.param(Used(0.5, 1_000), 50.0, 4.0, id="hardly ever a core"),
        pytest.param(Used(0.0, 0), 0.0, 1.0, id="nobody knows"),
    ],
)
def test_a_server_that_waits_for_a_core_has_longer_to_end(
    monkeypatch: pytest.MonkeyPatch, used: Used, held_up: float, times: float
) -> None:
    measured(monkeypatch, used, held_up)
    with adapted(0.3, spares=0) as connections:
        assert connections.limits.pace == times
        assert connections.limits.shutdown == times * Limits().shutdown


@pytest.mark.parametrize(("startup", "together"), [(0.5, 7), (10.0, 1)])
def test_cases_that_open_several_sessions_are_played_one_after_another_only_if_that_takes_no_time(
    startup: float, together: int
) -> None:
    survey = Survey({"tools": {}}, CallPolicy())
    state = State(REVISION, "stdio", CallPolicy(), startup=startup, survey=survey, ledgers=[Ledger()])
    units = [[case.id for case in unit] for unit in plan(cases(), state)]
    asking = [sum(name.startswith("asking/") for name in unit) for unit in units]
    assert max(asking) == together
    assert sum(asking) == 7
