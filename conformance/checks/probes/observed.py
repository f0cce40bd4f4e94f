"""What calls of tools have shown so far in a session: how long they take, what they log."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.checks.probes import Bench
from conformance.checks.probes.calls import call_each
from conformance.checks.probes.outcome import complete, succeeded
from conformance.model import Json
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

SLOW, TOO_SLOW = 0.15, 2.0
"""Seconds that a call must take so that something can happen meanwhile, and that are worth waiting for."""

CANDIDATES = 3
REPEATED = 2
"""So often a slow call is made again: on a busy machine any call may be slow once or twice."""


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call that was answered: its params without `_meta`, how long it took, the levels of what it logged."""

    params: Json
    seconds: float
    levels: tuple[str, ...]
    call: Call


def seen(bench: Bench, asking: str = "") -> list[SeenCall]:
    """What the calls made in this session have shown, or those whose `_meta` has the key `asking`.

    If there were none, each tool that may be called is called.
    """
    if not any(_counts(call, asking) for call in bench.session.calls.values()):
        for _ in call_each(bench, talkative=True):
            pass
    return [_seen(call) for call in bench.session.calls.values() if _counts(call, asking)]


def slow_call(bench: Bench) -> SeenCall:
    """A call worth waiting for, made REPEATED times to see that it is not slow by chance. Raises Unavailable."""
    known = [each for each in seen(bench) if SLOW <= each.seconds <= TOO_SLOW]
    for each in sorted(known, key=lambda each: -each.seconds)[:CANDIDATES]:
        took = [each.seconds]
        while len(took) <= REPEATED and took[-1] >= SLOW:
            # A number, which some servers do not give back as such.
            own = {"progressToken": 800_000 + bench.session.position}
            again = bench.session.request("tools/call", {**each.params, "_meta": own})
            took.append(_seen(again).seconds if again.answers else 0.0)
        if took[-1] >= SLOW:
            return replace(each, seconds=min(took), call=again)
    raise Unavailable(f"no tool that was called takes between {SLOW:g} and {TOO_SLOW:g} s each time")


def _counts(call: Call, asking: str) -> bool:
    if call.method != "tools/call" or not call.answers or call.sent.illegal or not succeeded(call):
        return False
    return complete(call) and (not asking or asking in call.params.get("_meta", {}))


def _seen(call: Call) -> SeenCall:
    params = {name: value for name, value in call.params.items() if name in ("name", "arguments")}
    return SeenCall(params, call.answers[0].at - call.sent.at, tuple(call.levels), call)
