"""What calls of tools have shown so far in a session: how long they take, what they log."""

from __future__ import annotations

from dataclasses import dataclass, replace

from conformance.checks.probes import Bench
from conformance.checks.probes.calls import avoided, call_each, cancel
from conformance.checks.probes.outcome import complete, succeeded
from conformance.model import Json, members
from conformance.session.session import Call
from conformance.survey.survey import MAX_CALLS, Unavailable

SLOW, TOO_SLOW = 0.15, 2.0
"""Seconds that a call must take so that something can happen meanwhile, and that are worth waiting for."""

CANDIDATES = 3
FEW = 2
"""Calls that are given up after TOO_SLOW."""
REPEATED = 2
"""So often a slow call is made again: on a busy machine any call may be slow once or twice."""


@dataclass(frozen=True, slots=True)
class SeenCall:
    """A call that was answered: its params without `_meta`, how long it took, the levels of what it logged.

    `way` is how much of the time any answer takes.
    """

    params: Json
    seconds: float
    levels: tuple[str, ...]
    call: Call
    way: float = 0.0

    @property
    def midway(self) -> float:
        """Seconds after which what was said when half of the tool's own time was over has been heard."""
        return (self.seconds + self.way) / 2


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
    if not bench.survey.callable_tools:
        raise Unavailable(bench.survey.policy.forbids)
    try:
        calls, lacking = seen(bench), ""
    except Unavailable as lack:
        calls, lacking = [], str(lack)
    way = bench.session.patience.way
    known = [each for each in calls if each.seconds - way >= SLOW and each.seconds <= TOO_SLOW] or _given_up(bench)
    for each in sorted(known, key=lambda each: -each.seconds)[:CANDIDATES]:
        took = [each.seconds]
        while len(took) <= REPEATED and took[-1] - way >= SLOW:
            again = _patiently(bench, each.params)
            took.append(_seen(again).seconds if again.answers else 0.0)
        if took[-1] - way >= SLOW:
            return replace(each, seconds=min(took), call=again, way=way)
    raise Unavailable(lacking or f"no tool that was called takes between {SLOW:g} and {TOO_SLOW:g} s each time")


def _given_up(bench: Bench) -> list[SeenCall]:
    """The first call worth waiting for of a tool that has not answered in this session; after FEW too slow ones none.

    Its calls were given up after a second or so, or another session was waiting for it.
    """
    session, late = bench.session, 0
    answered = {members(call.params).get("name") for call in session.calls.values() if call.answers}
    for tool in [each for each in bench.survey.callable_tools[:MAX_CALLS] if each["name"] not in answered]:
        if late == FEW or avoided(session, tool):
            continue
        try:
            params = {"name": tool["name"], "arguments": bench.survey.arguments_for(tool)}
            if session.patience.features.in_vain(params) >= TOO_SLOW:
                continue
            call = _patiently(bench, params)
        except Unavailable:
            continue
        if not call.answers:
            late += 1
        elif _counts(call, "") and (found := _seen(call)).seconds - bench.session.patience.way >= SLOW:
            return [found]
    return []


def _patiently(bench: Bench, params: Json) -> Call:
    """A call that is given up after TOO_SLOW, however long others were waited for."""
    session = bench.session
    # A number, which some servers do not give back as such.
    call = session.send("tools/call", {**params, "_meta": {"progressToken": 800_000 + session.position}})
    if not session.wait(call, timeout=TOO_SLOW):
        session.patience.features.waited(params, TOO_SLOW)
        cancel(session, call)
        session.give_up(call)
    return call


def _counts(call: Call, asking: str) -> bool:
    if call.method != "tools/call" or not call.answers or call.sent.illegal or not succeeded(call):
        return False
    return complete(call) and (not asking or asking in call.params.get("_meta", {}))


def _seen(call: Call) -> SeenCall:
    params = {name: value for name, value in call.params.items() if name in ("name", "arguments")}
    return SeenCall(params, call.answers[0].at - call.sent.at, tuple(call.levels), call)
