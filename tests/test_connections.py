"""Sessions on demand, and how long what they take is waited for."""

from __future__ import annotations

import sys

from conformance.checks.ledger import Ledger
from conformance.engine.connections import Connections
from conformance.engine.detection import attempt
from conformance.engine.stage import Stage
from conformance.model import Limits, Target
from conformance.revisions import BY_DATE
from conformance.transports.stdio import StdioTransport

SILENT = Target((sys.executable, "-c", "import sys; sys.stdin.read()"))
FOREVER = 3600.0
"""Seconds."""
REVISION = BY_DATE["2025-11-25"]


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
