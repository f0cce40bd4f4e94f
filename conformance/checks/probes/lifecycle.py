"""Probes of the area lifecycle: the opening, ping, and requests of the server that nobody answers."""

from __future__ import annotations

import time

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import hear_unasked, is_question
from conformance.checks.probes.calls import call_quickly, callable_tools, cancel, late, soon
from conformance.checks.probes.cancellation import LATE_RESPONSE, answer_late
from conformance.checks.probes.outcome import shown
from conformance.model import Frame, Json
from conformance.session.answers import CAPABILITY
from conformance.session.eras.handshake import Handshake
from conformance.session.session import Call

SILENT = "lifecycle/silent-before-initialize"
NO_REQUESTS = "lifecycle/no-requests-before-initialized"
EARLY_PING = "lifecycle/ping-answered-before-initialized"
PROMPT = "lifecycle/ping-answered-promptly"
EMPTY = "lifecycle/ping-answered-with-empty-result"
CANCELLED = "lifecycle/timed-out-request-cancelled"

PROMPTLY = 5.0
"""Seconds; "promptly" has no number, so this is far above what any server needs."""

PATIENT = 0.5
"""Seconds that a server must have waited for us before its moving on counts as giving up."""


@probe("lifecycle.opening", SILENT, NO_REQUESTS, EARLY_PING)
def opening(bench: Bench) -> None:
    """A quiet window, initialize, a ping, another quiet window, and only then notifications/initialized.

    The windows are as long as the server took to start.
    What the server says in the windows is the capability invariant's to judge.
    """
    session = bench.session
    assert isinstance(session.era, Handshake)
    if session.transport.name == "http":
        bench.ledger.not_applicable(SILENT, "over HTTP a server cannot speak first")
    else:
        # It may have been started ahead.
        age = time.monotonic() - session.transport.began
        session.listen(max(0.0, min(2 * bench.startup, PROMPTLY) - age) + session.limits.quiet)
        if not any(isinstance(frame.message, dict) for frame in session.since(0)):
            bench.ledger.held(SILENT)
    session.era.greet(session)
    start = session.position
    _judge_early_ping(bench, session.request("ping"))
    session.listen(session.limits.quiet)
    if not any(map(_asks, session.since(start))):
        bench.ledger.held(NO_REQUESTS)
    session.notify("notifications/initialized")
    # A server that asks for something now, such as the roots, should get its answer before its input is closed.
    session.listen(session.limits.quiet)
    session.hear_out()


def _asks(frame: Frame) -> bool:
    message = frame.message
    return frame.origin == "target" and isinstance(message, dict) and message.get("method", "ping") != "ping"


def _judge_early_ping(bench: Bench, call: Call) -> None:
    call.excused = True  # silence is told here, with its cause
    if isinstance(call.result, dict):
        bench.ledger.held(EARLY_PING)
        return
    bench.ledger.broke(
        EARLY_PING,
        "ping is not answered between initialize and notifications/initialized",
        expected="an empty result",
        actual=shown(call),
        frames=call.proof,
    )


@probe("lifecycle.prompt-pings", PROMPT)
def prompt_pings(bench: Bench) -> None:
    """Eight pings in a row, each of which is timed."""
    for _ in range(8):
        call = bench.session.request("ping")
        if call.error is not None:
            bench.ledger.block(PROMPT, EMPTY)
            return
        if not bench.session.alive:
            bench.ledger.block(PROMPT, call.lost)
            return
        call.excused = not call.answers  # silence is told here
        took = call.answers[0].at - call.sent.at if call.answers else bench.session.limits.answer
        if not call.answers or took >= PROMPTLY:
            bench.ledger.broke(
                PROMPT,
                "a ping is not answered promptly",
                expected=f"an answer within {PROMPTLY:g} s",
                actual=f"it took {took:.1f} s" if call.answers else call.lost,
                frames=call.proof,
            )
            return
    bench.ledger.held(PROMPT)


@probe("lifecycle.unanswered-requests", CANCELLED, LATE_RESPONSE)
def unanswered_requests(bench: Bench) -> None:
    """Tools that ask the client, which stays silent. A server that then goes on says that it gave up.

    It finds out which tools ask, and how long the server has waited before it went on.
    """
    session = bench.session
    session.answers.held.update(CAPABILITY)
    hear_unasked(session)
    waiting = False
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
        if any(_judge_giving_up(bench, params, call, question) for question in asked):
            break
    session.answers.held.clear()
    why = "the server still waits" if waiting else "no tool that was called asks the client and waits for its answer"
    bench.ledger.inconclusive(CANCELLED, why)
    bench.ledger.inconclusive(LATE_RESPONSE, why)


def _judge_giving_up(bench: Bench, params: Json, call: Call, question: Frame) -> bool:
    """Whether it could be judged: `call` with `params` was answered although `question` was not."""
    for frame in bench.session.since(call.sent.number):
        message = frame.message
        if frame.origin == "target" and isinstance(message, dict):
            told = message.get("params")
            named = told.get("requestId") if isinstance(told, dict) else None
            if message.get("method") == "notifications/cancelled" and named == question.message["id"]:
                bench.ledger.held(CANCELLED)
                answer_late(bench, question)
                return True
    waited = call.answers[0].at - question.at
    if waited < PATIENT or not _asks_again(bench, params, question):
        return False
    bench.ledger.broke(
        CANCELLED,
        f"the server gives up its {question.message['method']} without saying so",
        expected="notifications/cancelled for the request that it no longer waits for",
        actual=f"the tool's result after {waited:.1f} s",
        frames=(call.sent, question, *call.answers),
    )
    return True


def _asks_again(bench: Bench, params: Json, question: Frame) -> bool:
    """Whether it is the tool that asks: what the server asks by itself may come while any slow tool works."""
    call = call_quickly(bench.session, params)
    call.excused = not call.answers
    later = [frame for frame in bench.session.since(call.sent.number) if is_question(frame)]
    return any(frame.message["method"] == question.message["method"] for frame in later)
