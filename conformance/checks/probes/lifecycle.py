"""Probes of the area lifecycle: the opening, ping, and requests of the server that nobody answers."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.askers import hear_unasked, is_question
from conformance.checks.probes.calls import call_quickly, callable_tools, cancel, late, soon
from conformance.checks.probes.outcome import shown, stray
from conformance.codes import INTERNAL_ERROR
from conformance.model import Frame, Json
from conformance.session.answers import CAPABILITY
from conformance.session.eras.handshake import Handshake
from conformance.session.messages import encode
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

PINGS = 8

PROMPTLY = 5.0
"""Seconds; "promptly" has no number, so this is far above what any server needs."""

PATIENT = 0.5
"""Seconds that a server must have waited for us before its moving on counts as giving up."""


def opening(bench: Bench) -> Iterator[Observation]:
    """A quiet window, initialize, a ping, another quiet window, and only then notifications/initialized.

    The windows are as long as the server took to start.
    What the server says in the windows is the capability invariant's to judge.
    """
    session = bench.session
    assert isinstance(session.era, Handshake)
    if session.transport.process_per_session:
        # It may have been started ahead.
        age = time.monotonic() - session.transport.began
        session.listen(max(0.0, min(2 * bench.startup, PROMPTLY) + session.limits.quiet - age))
    quiet = not any(isinstance(frame.message, dict) for frame in session.since(0))
    yield Observation({"before": "initialize", "quiet": quiet})
    session.era.greet(session)
    start = session.position
    ping = session.request("ping")
    ping.excused = True  # the case tells of silence
    got = "silence" if not ping.answers else "result" if isinstance(ping.result, dict) else "error"
    actual = shown(ping)
    session.listen(session.limits.quiet)
    asks = any(map(_asks, session.since(start)))
    yield Observation({"before": "initialized", "quiet": not asks, "ping": got}, frames=ping.proof, actual=actual)
    session.notify("notifications/initialized")
    session.hear_out()


def _asks(frame: Frame) -> bool:
    message = frame.message
    return frame.origin == "target" and isinstance(message, dict) and message.get("method", "ping") != "ping"


def prompt_pings(bench: Bench) -> Iterator[Observation]:
    """The last of eight pings in a row, or the first that is not answered as it should be: how long the answer took."""
    session = bench.session
    for number in range(1, PINGS + 1):
        call = session.request("ping")
        took = call.answers[0].at - call.sent.at if call.answers else 0.0
        if number < PINGS and session.alive and isinstance(call.result, dict) and took < PROMPTLY:
            continue
        call.excused = session.alive and not call.answers  # the case tells of silence
        status = call.head.status or 0 if call.head is not None else 0
        values: dict[str, Json] = {"unanswered": call.excused, "within-5-s": took < PROMPTLY, "status": status}
        actual = f"it took {took:.1f} s" if call.answers else call.lost
        yield Observation(values, None if call.excused else call, frames=call.proof, actual=actual)
        return


def unanswered_requests(bench: Bench) -> Iterator[Observation]:
    """Tools that ask the client, which stays silent, until one has gone on without an answer.

    It finds out which tools ask, and how long the server has waited before it went on.
    """
    session = bench.session
    session.answers.held.update(CAPABILITY)
    hear_unasked(session)
    waiting, seen = False, False
    for _, params in callable_tools(bench):
        start = session.position
        call = session.send("tools/call", params)
        session.wait(call, timeout=soon(session))
        asked = [f for f in session.since(start) if is_question(f)]
        if asked:
            session.wait(call, timeout=late(session))
        if not call.answers:
            call.excused = True
            cancel(session, call)
            waiting = bool(asked)
            if waiting or not session.alive:
                break
            session.slow_tools.add(str(params["name"]))
            continue
        session.hear_out()
        for question in asked:
            seen = seen or (yield from _giving_up(bench, params, call, question))
        if seen:
            break
    session.answers.held.clear()
    if not seen:
        idle = "no tool that was called asks the client and waits for its answer"
        raise Unavailable("the server still waits" if waiting else idle)


def _giving_up(bench: Bench, params: Json, call: Call, question: Frame) -> Generator[Observation, None, bool]:
    """Whether it can be told: `call` with `params` was answered although `question` was not."""
    message = question.message
    values = {"about": "going on", "method": message["method"]}
    proof = (call.sent, question, *call.answers)
    waited = call.answers[0].at - question.at
    if _cancelled(bench, call, question):
        yield Observation({**values, "cancels": True}, frames=proof)
        yield _answered_late(bench, message["id"])
        return True
    if waited < PATIENT or not _asks_again(bench, params, question):
        return False
    yield Observation({**values, "cancels": False}, frames=proof, actual=f"the tool's result after {waited:.1f} s")
    return True


def _cancelled(bench: Bench, call: Call, question: Frame) -> bool:
    """Whether the server has said that it waits no longer."""
    for frame in bench.session.since(call.sent.number):
        message = frame.message
        if frame.origin == "target" and isinstance(message, dict):
            told = message.get("params")
            named = told.get("requestId") if isinstance(told, dict) else None
            if message.get("method") == "notifications/cancelled" and named == question.message["id"]:
                return True
    return False


def _answered_late(bench: Bench, identifier: Json) -> Observation:
    """What comes of an answer to a request that the server has cancelled."""
    session, start = bench.session, bench.session.position
    reply = {
        "jsonrpc": "2.0",
        "id": identifier,
        "error": {"code": INTERNAL_ERROR, "message": "The answer comes too late"},
    }
    session.raw(encode(reply), illegal=False)
    values: dict[str, Json] = {"about": "late answer", "next-request": "answered"}
    sentinel = session.hear_out()
    proof = tuple(session.since(start))
    if sentinel is None or not sentinel.answers:
        again = session.hear_out(other=True)
        if again is not None and again.answers:
            return Observation({**values, "next-request": "lost"}, frames=proof)
        for unanswered in (sentinel, again):
            if unanswered is not None:
                unanswered.excused = True  # the case tells of silence, with its cause
        actual = session.ended.reason if session.ended else sentinel.lost if sentinel else "the session is over"
        return Observation({**values, "next-request": "unanswered"}, frames=proof, actual=actual)
    answers = [frame for frame in proof if stray(frame, sentinel) and frame.message.get("id") is None]
    answers = [frame for frame in answers if not (frame.channel == "body" and (frame.status or 200) >= 400)]
    if not answers:
        return Observation({**values, "answered": False}, frames=proof)
    actual = encode(answers[0].message).decode("utf-8", "replace")[:300]
    return Observation({**values, "answered": True}, frames=(proof[0], answers[0]), actual=actual)


def _asks_again(bench: Bench, params: Json, question: Frame) -> bool:
    """Whether it is the tool that asks: what the server asks by itself may come while any slow tool works."""
    call = call_quickly(bench.session, params)
    call.excused = not call.answers
    later = [frame for frame in bench.session.since(call.sent.number) if is_question(frame)]
    return any(frame.message["method"] == question.message["method"] for frame in later)
