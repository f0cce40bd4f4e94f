"""Probes of the area cancellation: what comes of cancelled requests, and of cancellations that are wrong."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.observed import SeenCall, slow_call
from conformance.model import Frame, Json
from conformance.session.session import Call, How, Session
from conformance.transports import SESSION

CANCELLED = "notifications/cancelled"
PROGRESS = "notifications/progress"
REASON = "mcp-conform no longer needs it"

NUMBERS, TEXTS, SESSIONS = "another one", "another one with a text as its id", "one of another session with the same id"
ALIKE = "another one whose id is a text with the same digits"
NEXT = "the next one"
"""What is not cancelled, beside what is, or after it."""
NUMBER, TEXT, BARE = "a number", "a string", "a number, and no reason is given"
"""What a cancellation is like: the id of the request, and whether it has what is optional."""
QUICK = 1.0
"""Seconds that a tool may take of which two calls more are made."""
LONG = 80 * "x"
"""In tokens: longer than a UUID, or what else a server may have in mind."""
CONTROLS = 2
"""How often two calls at once must both be answered, so that the cancellation of one is to blame."""
TRIES = 3
"""How often a cancelled call must go on before that is told: a cancellation may always come too late."""


def in_flight(bench: Bench) -> Iterator[Observation]:
    """A slow tool is called and cancelled at once, until the server heeds it or TRIES times.

    It finds out which tool is slow, and for how long it goes on; and if the server heeds it, whether it also does so
    where the id of the request is a string, and where no reason is given. Before that, whether another call that is
    under way meanwhile goes on.
    """
    slow = slow_call(bench)
    yield from _others(bench, slow)
    # Whether the tool, left alone, still reports progress after half its time.
    half = slow.call.sent.at + slow.midway
    talks = _progress_after(bench, slow.call, slow.call.params["_meta"]["progressToken"], half) is not None
    if talks and slow.seconds <= QUICK:
        _progress_at_once(bench, slow)
    for kind in (NUMBER, TEXT, BARE):
        seen = list(_cancelled(bench, slow, {"tool": slow.params["name"], "talks": talks, "id": kind}))
        yield from seen
        if any(each.values.get(name) for each in seen for name in ("lost", "answered", "works-on")):
            return


def _others(bench: Bench, slow: SeenCall) -> Iterator[Observation]:
    """Of two calls at once one is cancelled: whether the other one is answered, as both are if none is cancelled."""
    session = bench.session
    apart = session.revision.era == "handshake" and SESSION in session.http_headers
    alike = slow.seconds <= QUICK
    for kind in (NUMBERS, TEXTS, *[ALIKE] * alike, *[SESSIONS] * apart):
        _, other, proof = _pair(bench, slow, kind, cancelled=True)
        lost = not other.answers and all(_both_answered(bench, slow, kind) for _ in range(CONTROLS))
        yield Observation({"tool": slow.params["name"], "another-lost": lost, "another": kind}, other, proof)
        if lost:
            return
    yield _next(bench, slow)


def _next(bench: Bench, slow: SeenCall) -> Observation:
    """The call that follows one that is cancelled, and only that one: a server may lose it and serve those after it."""
    session, lost = bench.session, 0
    briefly = 4 * slow.seconds + session.limits.quiet
    for patience in (session.limits.answer, *[0.0] * (CONTROLS - 1)):
        _called(session, slow, briefly)  # if one was lost because of a cancellation before, it is this one
        doomed = session.send("tools/call", slow.params)
        doomed.excused = True
        let_begin(session, doomed, slow.seconds)
        cancelled = session.notify(CANCELLED, {"requestId": doomed.id, "reason": REASON})
        session.give_up(doomed)
        following = _called(session, slow, max(patience, briefly))
        if following.answers or following.turned_down:
            break
        lost += 1
    facts: dict[str, Json] = {"tool": slow.params["name"], "another-lost": lost == CONTROLS, "another": NEXT}
    return Observation(facts, following, (doomed.sent, cancelled, following.sent))


def _called(session: Session, slow: SeenCall, patience: float) -> Call:
    """A call that may stay unanswered, which is waited for that many seconds."""
    call = session.send("tools/call", slow.params)
    call.excused = True
    session.wait(call, timeout=patience)
    session.give_up(call)
    return call


def _both_answered(bench: Bench, slow: SeenCall, kind: str) -> bool:
    """Whether both of two calls at once are answered if none is cancelled."""
    first, second, _ = _pair(bench, slow, kind, cancelled=False)
    return bool(first.answers and second.answers)


def _pair(bench: Bench, slow: SeenCall, kind: str, cancelled: bool) -> tuple[Call, Call, tuple[Frame, ...]]:
    """Two calls at once, after the time they may take; the first one is cancelled or not. What was sent.

    The one that is to be answered comes last, so that it still goes on when the cancellation arrives.
    """
    session = bench.session
    beside = bench.connect(shared=True) if kind == SESSIONS else session
    doomed, other = _ids(session, kind)
    first = session.send("tools/call", slow.params, **doomed)
    second = beside.send("tools/call", slow.params, **other)
    first.excused = second.excused = True
    let_begin(session, first, slow.seconds)
    proof: tuple[Frame, ...] = (first.sent, second.sent)
    if cancelled:
        proof = (*proof, session.notify(CANCELLED, {"requestId": first.id, "reason": REASON}))
    patience = max(session.limits.answer, 4 * slow.seconds)
    beside.wait(second, timeout=patience)
    if not cancelled:
        session.wait(first, timeout=patience)
    session.give_up(first)
    beside.give_up(second)
    return first, second, proof


def _progress_at_once(bench: Bench, slow: SeenCall) -> None:
    """Progress of two calls at once, for the invariants: tokens of which a careless server keeps too little."""
    session = bench.session
    calls: list[Call] = []
    for name in ("one", "two"):
        token = f"mcp-conform-{LONG}-hé世😀-{name}-{session.position}"
        calls.append(session.send("tools/call", {**slow.params, "_meta": {"progressToken": token}}))
        # The first one is ahead, so that the progress of one cannot pass for that of the other.
        session.listen(slow.seconds / 2, until=partial(_tells_twice, bench, calls[0], token))
    session.wait(*calls)


def _tells_twice(bench: Bench, call: Call, token: Json) -> bool:
    first = _progress_after(bench, call, token, call.sent.at)
    return first is not None and _progress_after(bench, call, token, first.at) is not None


def _ids(session: Session, kind: str) -> tuple[How, How]:
    """The ids of two calls; those of two sessions are the same."""
    if kind == NUMBERS:
        return How(), How()
    if kind == ALIKE:
        number = session.new_id()
        return How(id=number), How(id=str(number))
    names = ("same", "same") if kind == SESSIONS else ("one", "two")
    one, two = (f"mcp-conform-{name}-{session.position}" for name in names)
    return How(id=one), How(id=two)


def _cancelled(bench: Bench, slow: SeenCall, facts: dict[str, Json]) -> Iterator[Observation]:
    """What comes of the slow call, made with an id of that kind and cancelled."""
    seconds = slow.seconds
    why: Json = {} if facts["id"] == BARE else {"reason": REASON}
    answered: Call | None = None
    working: tuple[Call, Frame] | None = None
    for number in range(TRIES):
        token = f"mcp-conform-cancelled-{number}-{bench.session.position}"
        how = How(id=f"mcp-conform-{token}") if facts["id"] == TEXT else How()
        call = bench.session.send("tools/call", {**slow.params, "_meta": {"progressToken": token}}, **how)
        call.excused = True
        let_begin(bench.session, call, seconds)
        began = time.monotonic()
        cancelled = bench.session.notify(CANCELLED, {"requestId": call.id, **why})
        # On a busy machine the cancellation arrives late, and from a server far away what it says before that: it is
        # from then on that nothing is due.
        over = cancelled.at + time.monotonic() - began + slow.midway
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


def let_begin(session: Session, call: Call, seconds: float) -> None:
    """Wait until the server has got a call that takes `seconds`, where a cancellation may overtake it."""
    if not session.transport.single_stream:
        session.listen(seconds / 4, until=partial(_has_begun, call))


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
