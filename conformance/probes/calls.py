"""Calls of the tools that may be called: which, with what patience, and how a call is given up."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.eras.stateless import META
from conformance.model import Frame, Json
from conformance.probes import Bench
from conformance.session import Call, Session
from conformance.survey import MAX_CALLS, Unavailable

ORDINARY = 10.0
"""The time limit for answers to which `Limits.slow` and `Limits.late` belong; a longer one makes them longer."""

GLANCE = 0.25
"""Seconds between two looks at what a tool has told so far."""

MAX_TIMEOUTS = 3
FEW = 5
"""How many tools a probe tries that needs only one."""


def named_tools(bench: Bench) -> list[Json]:
    """Tools that may be called and have a name to call them by."""
    return bench.survey.callable_tools


def callable_tools(bench: Bench) -> Iterator[tuple[Json, Json]]:
    """Tools that may be called, each with the params of a good call; those known to be slow are left out.

    Raises Unavailable if there is none.
    """
    tools = named_tools(bench)
    if not tools:
        raise Unavailable(bench.survey.policy.forbids)
    found = slow = False
    for tool in tools[:MAX_CALLS]:
        if tool["name"] in bench.session.slow_tools:
            slow = True
            continue
        try:
            params = {"name": tool["name"], "arguments": bench.survey.arguments_for(tool)}
        except Unavailable:
            continue
        found = True
        yield tool, params
    if not found:
        lacking = "has arguments that can be made up" if not slow else "answers within a second or so"
        raise Unavailable(f"no tool that may be called {lacking}")


def soon(session: Session) -> float:
    """Seconds after which a tool counts as slow."""
    return _patience(session.limits.slow, session.limits.answer)


def late(session: Session) -> float:
    """Seconds that slow tools are waited for in the end."""
    return _patience(session.limits.late, session.limits.answer)


def _patience(seconds: float, limit: float) -> float:
    return min(limit, seconds * max(1.0, limit / ORDINARY))


def call_quickly(session: Session, params: Json) -> Call:
    """A call that is cancelled if the tool turns out to be slow."""
    call = session.send("tools/call", params)
    if not session.wait(call, timeout=soon(session)):
        session.slow_tools.add(str(params.get("name")))
        cancel(session, call)
    return call


def cancel(session: Session, call: Call) -> None:
    """Cancel a call that is not waited for any longer."""
    if session.alive:
        session.notify("notifications/cancelled", {"requestId": call.id, "reason": "no answer in time"})


def call_each(bench: Bench, talkative: bool = False, seconds: float | None = None) -> Iterator[tuple[Json, Call]]:
    """Call each tool that may be called; those that answer. Gives up after MAX_TIMEOUTS tools that do not.

    A tool that takes long is left to work while the others are called, if the server does more than one thing at a
    time, and cancelled in the end. With `talkative` each call asks for progress and, where requests say that, for logs;
    what comes meanwhile counts and not the result, so a slow tool is not waited for. It is slow after `seconds`, by
    default `soon`.
    """
    session = bench.session
    slow: list[tuple[Json, Call]] = []
    for number, (tool, params) in enumerate(callable_tools(bench)):
        # A token of its own in the whole session, since a call that was given up may still report progress; of both
        # types by turns, since some servers lose the type.
        own = session.position
        meta: Json = {"progressToken": 700_000 + own if number % 2 else f"mcp-conform-{own}"}
        if bench.session.revision.era == "stateless" and bench.survey.declares("logging"):
            meta[META + "logLevel"] = "debug"
        call = session.send("tools/call", {**params, "_meta": meta} if talkative else params)
        if not session.wait(call, timeout=seconds or soon(session)):
            if talkative:
                _hear_second_progress(bench, call)
            session.hear_out()
        if call.answers:
            yield tool, call
        elif not session.alive:
            return
        else:
            session.slow_tools.add(str(tool.get("name")))
            slow.append((tool, call))
            if len(slow) == MAX_TIMEOUTS:
                break
    if not talkative:
        session.wait(*(call for _, call in slow), timeout=late(session))
    for tool, call in slow:
        if call.answers:
            yield tool, call
        else:
            cancel(session, call)


def _hear_second_progress(bench: Bench, call: Call) -> None:
    """Wait for a tool that told of its progress once until it does so again, or ends.

    Otherwise whether progress rises would be put to the test or not as chance will have it.
    """
    for _ in range(round(bench.session.limits.answer / GLANCE)):
        if call.answers or sum(_tells_progress(frame, call) for frame in call.notifications) != 1:
            return
        bench.session.listen(GLANCE)


def _tells_progress(frame: Frame, call: Call) -> bool:
    message = frame.message
    if not isinstance(message, dict) or message.get("method") != "notifications/progress":
        return False
    params = message.get("params")
    return isinstance(params, dict) and params.get("progressToken") == call.params["_meta"]["progressToken"]
