"""Probes of the area cancellation: what comes of cancelled requests, and of cancellations that are wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.observed import SeenCall, slow_call
from conformance.model import Frame, Json
from conformance.session.session import Call, How

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
REASON = "mcp-conform no longer needs it"

CONTROLS = 2
"""How often two calls at once must both be answered, so that the cancellation of one is to blame."""
TRIES = 3
"""How often a cancelled call must go on before that is told: a cancellation may always come too late."""


def in_flight(bench: Bench) -> Iterator[Observation]:
    """A slow tool is called and cancelled at once, until the server heeds it or TRIES times.

    It finds out which tool is slow, and for how long it goes on; and if the server heeds it, whether it also does so
    where the id of the request is a string. Before that, whether another call that is under way meanwhile goes on.
    """
    slow = slow_call(bench)
    yield _another(bench, slow)
    # Whether the tool, left alone, still reports progress after half its time.
    half = slow.call.sent.at + slow.seconds / 2
    talks = _progress_after(bench, slow.call, slow.call.params["_meta"]["progressToken"], half) is not None
    for kind in ("a number", "a string"):
        seen = list(_cancelled(bench, slow, {"tool": slow.params["name"], "talks": talks, "id": kind}))
        yield from seen
        if any(each.values.get(name) for each in seen for name in ("lost", "answered", "works-on")):
            return


def _another(bench: Bench, slow: SeenCall) -> Observation:
    """Of two calls at once one is cancelled: whether the other one is answered, as both are if none is cancelled."""
    other, _, proof = _pair(bench, slow, cancelled=True)
    lost = not other.answers and all(_both_answered(bench, slow) for _ in range(CONTROLS))
    return Observation({"tool": slow.params["name"], "another-lost": lost}, other, proof)


def _both_answered(bench: Bench, slow: SeenCall) -> bool:
    """Whether both of two calls at once are answered if none is cancelled."""
    first, second, _ = _pair(bench, slow, cancelled=False)
    return bool(first.answers and second.answers)


def _pair(bench: Bench, slow: SeenCall, cancelled: bool) -> tuple[Call, Call, tuple[Frame, ...]]:
    """Two calls at once, after the time they may take; the second one is cancelled or not. What was sent."""
    session = bench.session
    first, second = (session.send("tools/call", slow.params) for _ in range(2))
    first.excused = second.excused = True
    _let_begin(bench, second, slow.seconds)
    proof: tuple[Frame, ...] = (first.sent, second.sent)
    if cancelled:
        proof = (*proof, session.notify(CANCELLED, {"requestId": second.id, "reason": REASON}))
    patience = max(session.limits.answer, 4 * slow.seconds)
    session.listen(patience, until=lambda: bool(first.answers and (cancelled or second.answers)))
    for call in (first, second):
        session.give_up(call)
    return first, second, proof


def _cancelled(bench: Bench, slow: SeenCall, facts: dict[str, Json]) -> Iterator[Observation]:
    """What comes of the slow call, made with an id of that kind and cancelled."""
    seconds = slow.seconds
    answered: Call | None = None
    working: tuple[Call, Frame] | None = None
    for number in range(TRIES):
        token = f"mcp-conform-cancelled-{number}-{bench.session.position}"
        how = How(id=f"mcp-conform-{token}") if facts["id"] == "a string" else How()
        call = bench.session.send("tools/call", {**slow.params, "_meta": {"progressToken": token}}, **how)
        call.excused = True
        _let_begin(bench, call, seconds)
        began = time.monotonic()
        cancelled = bench.session.notify(CANCELLED, {"requestId": call.id, "reason": REASON})
        # On a busy machine the cancellation arrives late, and it is from then on that nothing is due.
        over = cancelled.at + time.monotonic() - began + seconds / 2
        bench.session.wait(call, timeout=2 * seconds + bench.session.limits.quiet)
        bench.session.give_up(call)
        sentinel = bench.session.hear_out()
        if sentinel is None or not sentinel.answers:
            yield Observation({**facts, "lost": True})
            return
        going = _progress_after(bench, call, token, over)
        answered = call if call.answers and _in_spite(call, over) else None
        working = (call, going) if going is not None else None
        if answered is None and working is None:
            break
    yield Observation({**facts, "answered": answered is not None}, answered)
    if working is None:
        yield Observation({**facts, "works-on": False})
    else:
        call, frame = working
        late = f"progress {frame.at - call.sent.at:.2f} s after the call, which was cancelled at once"
        yield Observation({**facts, "works-on": True}, call, (call.sent, frame), late)


def _let_begin(bench: Bench, call: Call, seconds: float) -> None:
    """Wait until the server has got a call that takes `seconds`, where a cancellation may overtake it."""
    if not bench.session.transport.single_stream:
        bench.session.listen(seconds / 4, until=partial(_has_begun, call))


def _has_begun(call: Call) -> bool:
    """Whether the server has shown that it got the call."""
    return call.head is not None or bool(call.notifications or call.answers)


def _in_spite(call: Call, over: float) -> bool:
    """Whether the answer came in spite of the cancellation, after `over`; a quick result may have come before it."""
    return call.error is not None or call.answers[0].at > over


def _progress_after(bench: Bench, call: Call, token: Json, over: float) -> Frame | None:
    """Progress for `token` that came after `over`, in seconds since the session began."""
    for frame in bench.session.since(call.sent.number):
        message = frame.message
        if frame.origin == "us" or not isinstance(message, dict) or message.get("method") != PROGRESS:
            continue
        params = message.get("params")
        if isinstance(params, dict) and params.get("progressToken") == token and frame.at > over:
            return frame
    return None
