"""Sessions on demand: not too many targets start at once, and nobody waits for one in vain."""

from __future__ import annotations

import sys
import threading

import pytest

from conformance.checks.ledger import Ledger
from conformance.engine.connections import AT_ONCE, Connections
from conformance.engine.detection import attempt
from conformance.engine.units import Stage
from conformance.model import Limits, Target
from conformance.revisions import BY_DATE
from conformance.transports import StartError
from conformance.transports.stdio import StdioTransport

SILENT = Target((sys.executable, "-c", "import sys; sys.stdin.read()"))
FOREVER = 3600.0
"""Seconds."""
REVISION = BY_DATE["2025-11-25"]


@pytest.fixture
def hard_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A start takes so much work that no two are over within a test."""
    monkeypatch.setattr(StdioTransport, "worked", lambda _transport: FOREVER)


@pytest.mark.usefixtures("hard_to_start")
def test_no_more_targets_start_at_once_than_there_are_cores_and_whoever_waits_is_sent_away_in_the_end() -> None:
    connections = Connections(SILENT, Limits(), spares=0)
    sessions = [connections.session(REVISION)]
    connections.adapt(1.0)
    sessions += [connections.session(REVISION) for _ in range(AT_ONCE - 1)]
    asked, refused = threading.Event(), threading.Event()

    def ask() -> None:
        asked.set()
        try:
            connections.session(REVISION)
        except StartError:
            refused.set()

    waiting = threading.Thread(target=ask)
    waiting.start()
    asked.wait()
    connections.refuse()
    waiting.join()
    connections.close()
    assert refused.is_set()
    assert connections.started == len(sessions)


@pytest.mark.usefixtures("hard_to_start")
def test_a_target_that_was_started_ahead_is_given_out_without_waiting() -> None:
    connections = Connections(SILENT, Limits(), spares=AT_ONCE)
    connections.expect(AT_ONCE)
    sessions = [connections.session(REVISION)]
    connections.adapt(1.0)
    sessions += [connections.session(REVISION) for _ in range(AT_ONCE - 1)]
    assert connections.started == len(sessions)
    connections.close()


def test_a_target_that_cannot_be_started_ahead_is_told_to_who_needs_it() -> None:
    connections = Connections(Target(("/nonexistent/server",)), Limits(), spares=1)
    connections.expect(1)
    with pytest.raises(StartError, match="/nonexistent/server"):
        connections.session(REVISION)
    connections.close()


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
