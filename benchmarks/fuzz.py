"""Frames a second of a campaign, against a bare loop that writes the same frames. See README.md beside this file."""

from __future__ import annotations

import resource
import sys
import time

from conformance.checks.fuzz.choices import Drawn
from conformance.checks.fuzz.example import Example
from conformance.checks.fuzz.malformed import Malformed
from conformance.checks.fuzz.partner import VOLLEY, Partner
from conformance.checks.invariants import load_invariants
from conformance.checks.ledger import Ledger
from conformance.checks.probes import Bench
from conformance.engine.connections import Connections
from conformance.engine.stage import Stage
from conformance.model import Limits, Target
from conformance.revisions import BY_DATE
from conformance.session.session import NotSpoken, Session
from conformance.survey.survey import CallPolicy, Survey

REVISION = "2025-11-25"
COMMAND = (sys.executable, "-m", "conformance.reference")
LEAST = 0.5
"""Part of the speed of the bare loop that a campaign must reach."""
MOST_GROWTH = 20.0
"""Megabytes that our memory may grow by during FRAMES frames."""
FRAMES = 10_000


def drawn(campaign: Malformed, number: int) -> list[Example]:
    """The frames; those of a megabyte would measure pipes."""
    source = Drawn("benchmark")
    examples: list[Example] = []
    while len(examples) < number:
        source.begin()
        example = campaign.make(source)
        if len(example.data) < 10_000:
            examples.append(example)
    return examples


def bare(session: Session, examples: list[Example]) -> float:
    """Seconds to write each frame and a ping, and to read until the ping is answered; nobody looks at anything."""
    transport = session.transport
    began = time.perf_counter()
    for number, example in enumerate(examples, 1_000_000):
        transport.send(example.written(number))
        transport.send(b'{"jsonrpc":"2.0","id":"p%d","method":"ping"}' % number)
        wanted = b'"p%d"' % number
        while True:
            arrived = transport.receive(10)
            if arrived is None or wanted in getattr(arrived, "data", wanted):
                break
    return time.perf_counter() - began


def campaign(bench: Bench, number: int) -> float:
    """Seconds to draw, send and sort as many frames as a campaign does."""
    partner = Partner(bench, 0)
    kind = Malformed(bench)
    began = time.perf_counter()
    examples = drawn(kind, number)
    for start in range(0, number, VOLLEY):
        volley = examples[start : start + VOLLEY]
        for example, reply in zip(volley, partner.volley(volley), strict=True):
            assert reply is not None, example
            assert isinstance(kind.judge(example, reply), str), example
    return time.perf_counter() - began


def main() -> int:
    """Print the figures; 1 if a bound is missed."""
    connections = Connections(Target(COMMAND), Limits(), spares=0)
    stages = [
        Stage(connections.session(BY_DATE[REVISION]), Ledger(), invariants, connections)
        for invariants in ((), load_invariants())
    ]
    for stage in stages:
        stage.open()

    def connect(**_how: object) -> Session:
        raise NotSpoken("the benchmark needs one server")

    session = stages[1].session
    bench = Bench(session, Survey({}, CallPolicy()), stages[1].ledger, connect)
    examples = drawn(Malformed(bench), 500)
    ratios = []
    for _ in range(5):
        floor, ours = bare(stages[0].session, examples), campaign(bench, 500)
        ratios.append((floor / ours, 500 / floor, 500 / ours))
    ratio, floor, ours = sorted(ratios)[len(ratios) // 2]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(FRAMES // 500):
        campaign(bench, 500)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    for stage in stages:
        stage.close()
    connections.close()
    print(f"frames a second: {ours:.0f}; bare loop: {floor:.0f}; ratio {ratio:.2f} (at least {LEAST})")
    print(f"memory grown by {FRAMES} frames: {grown:.1f} MB (at most {MOST_GROWTH:.0f})")
    return ratio < LEAST or grown > MOST_GROWTH


if __name__ == "__main__":
    sys.exit(main())
