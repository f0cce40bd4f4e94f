"""Bytes that are not JSON. A server may stay silent; if it answers, it says parse error; it lives on."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings

from conformance.fuzz.strategies import MALFORMED
from conformance.model import Frame, Json, Severity
from conformance.probes import Bench
from conformance.session import Session, parse

REQUIREMENT = "jsonrpc/parse-error-code"
ACCEPTED = (-32700, -32600)
MAX_RESTARTS = 5


@dataclass(frozen=True, slots=True)
class Breach:
    """What the target did wrong with one line."""

    message: str
    actual: str
    frames: tuple[Frame, ...]


class _Broken(Exception):
    """Tells Hypothesis that the property does not hold, so that it looks for a smaller example."""


def campaign(bench: Bench) -> None:
    """Send generated lines, each followed by a sentinel; judge the answers. `with: {examples: N}`."""
    runner = _Campaign(bench)

    @settings(
        max_examples=int(bench.settings.get("examples", 30)),
        database=None,
        derandomize=True,
        deadline=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(MALFORMED)
    def line_is_survived(data: bytes) -> None:
        # A lenient decoder makes JSON of a line whose only fault is its encoding; JSON-RPC does not forbid that.
        if not parse(data.decode("utf-8", "replace").encode())[1]:
            runner.put(data)

    try:
        line_is_survived()
    except _Broken:
        pass
    except BaseExceptionGroup as group:
        if group.split(_Broken)[1] is not None:
            raise
    runner.conclude()


class _Campaign:
    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        self.session: Session = bench.session
        self.smallest: Breach | None = None
        self.answered = False
        self.restarts = 0

    def put(self, data: bytes) -> None:
        """Send one line; raises _Broken if the property does not hold for it."""
        if self.restarts > MAX_RESTARTS:
            return
        start = self.session.position
        self.session.raw(data)
        sentinel = self.session.hear_out()
        frames = tuple(self.session.since(start))
        wrong = self._wrong_answer(frames, sentinel.id if sentinel else None)
        if sentinel is None or not sentinel.answers:
            ended = self.session.ended
            wrong = Breach(
                "the server did not survive a line that is not JSON",
                ended.reason if ended else "the next request is not answered",
                frames,
            )
            self.restarts += 1
            if self.restarts <= MAX_RESTARTS:
                self.session = self.bench.connect()
        if wrong is not None:
            self.smallest = wrong
            raise _Broken

    def _wrong_answer(self, frames: tuple[Frame, ...], sentinel: Json) -> Breach | None:
        for frame in frames:
            message = frame.message
            if frame.origin == "us" or not isinstance(message, dict) or "method" in message:
                continue
            if message.get("id") == sentinel:
                continue
            self.answered = True
            error = message.get("error")
            code = error.get("code") if isinstance(error, dict) else None
            if code not in ACCEPTED:
                what = f"error {code}" if error is not None else "a result"
                return Breach("a line that is not JSON is answered wrongly", what, (frames[0], frame))
        return None

    def conclude(self) -> None:
        """Write down what was learned."""
        ledger = self.bench.ledger
        if self.smallest is not None:
            ledger.broke(
                REQUIREMENT,
                self.smallest.message,
                expected="silence or error -32700, and the server lives on",
                actual=self.smallest.actual,
                frames=self.smallest.frames,
                ceiling=Severity.WARNING,
            )
        elif self.answered:
            ledger.held(REQUIREMENT)
        else:
            ledger.inconclusive(REQUIREMENT, "the server stays silent on lines that are not JSON, which is allowed")
