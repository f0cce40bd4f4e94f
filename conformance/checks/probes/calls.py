"""Calls of the tools that may be called: which, with what patience, and how a call is given up."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.checks.probes import Bench
from conformance.model import Json
from conformance.session.eras.stateless import META
from conformance.session.features import NotAskedAgain, reports_progress, tells_progress
from conformance.session.session import TURN, Call, Session
from conformance.survey.survey import MAX_CALLS, Unavailable

ORDINARY = 10.0
"""The time limit for answers to which `Limits.slow` and `Limits.late` belong; a longer one makes them longer."""

GLANCE = 0.25
"""Seconds between two looks at what a tool has told so far."""

MAX_TIMEOUTS = 3
FEW = 5
"""How many tools a probe tries that needs only one."""


def callable_tools(bench: Bench, talkative: bool = False, at_once: bool = False) -> Iterator[tuple[Json, Json]]:
    """Tools that may be called, each with the params of a good call; those known to be slow are left out.

    `talkative` says that they will be asked for progress, `at_once` that it does not matter whether another session
    waits for them. Raises Unavailable if there is none.
    """
    tools = bench.survey.callable_tools
    if not tools:
        raise Unavailable(bench.survey.policy.forbids)
    session = bench.session
    found = False
    slow: list[str] = []
    for tool in tools[:MAX_CALLS]:
        if tool["name"] in session.slow_tools:
            slow.append(f"{tool['name']!r}")
            continue
        if avoided(session, tool):
            slow.append(f"{tool['name']!r}, which does not return")
            continue
        if not at_once and _taken_for_long(session, tool, talkative):
            session.slow_tools.add(tool["name"])
            slow.append(f"{tool['name']!r}, which is being waited for elsewhere")
            continue
        try:
            params = {"name": tool["name"], "arguments": bench.survey.arguments_for(tool)}
        except Unavailable:
            continue
        found = True
        yield tool, params
    if not found:
        lacking = "has arguments that can be made up" if not slow else "answers within a second or so: not "
        raise Unavailable(f"no tool that may be called {lacking}{' nor '.join(slow[:FEW])}")


def _taken_for_long(session: Session, tool: Json, talkative: bool) -> bool:
    """Whether another session waits for the tool, and goes on waiting; what the server asks meanwhile is answered."""
    end = time.monotonic() + soon(session) + (late(session) if talkative else 0.0)
    while session.patience.features.under_way(tool, talkative, session.requests):
        if time.monotonic() >= end or not session.alive:
            return True
        session.listen(TURN)
    return False


def avoided(session: Session, tool: Json) -> str:
    """Why a listed tool is not called again, "" if it may be called."""
    return session.patience.features.avoids("tools/call", {"name": tool.get("name")})


def avoided_tool(session: Session, params: Json) -> str:
    """Why a call with `params` is not worth its time, "" if it is: the tool does not return, or takes long."""
    name = params.get("name") if isinstance(params, dict) else None
    if not isinstance(name, str):
        return ""
    return f"tool {name!r} takes long" if name in session.slow_tools else avoided(session, {"name": name})


def without_meta(params: Json) -> dict[str, Json]:
    """The params as they were given, without what the era has added."""
    return {name: value for name, value in params.items() if name != "_meta"}


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
    if not session.wait(call, timeout=soon(session)) and not call.turned_down:
        session.slow_tools.add(str(params.get("name")))
        cancel(session, call)
    return call


def cancel(session: Session, call: Call) -> None:
    """Cancel a call that is not waited for any longer."""
    session.patience.features.left(session.requests)
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
    began = time.monotonic()
    for number, (tool, params) in enumerate(callable_tools(bench, talkative, at_once=seconds is not None)):
        # A token of its own in the whole session, since a call that was given up may still report progress; text, an
        # integer and text of digits by turns, since some servers lose the type.
        own = session.position
        tokens: tuple[Json, ...] = (f"mcp-conform-{own}", 700_000 + own, str(700_000 + own))
        meta: Json = {"progressToken": tokens[number % len(tokens)]}
        if bench.session.revision.era == "stateless":  # also where logging is not declared: then none may come
            meta[META + "logLevel"] = "debug"
        began = time.monotonic()
        try:
            call = session.send("tools/call", {**params, "_meta": meta} if talkative else params)
        except NotAskedAgain:
            continue
        if not session.wait(call, timeout=seconds or soon(session)):
            if talkative:
                _hear_second_progress(bench, call)
            session.hear_out()
        if call.answers:
            yield tool, call
        elif not session.alive:
            return
        elif not call.turned_down:
            session.slow_tools.add(str(tool.get("name")))
            slow.append((tool, call))
            if len(slow) == MAX_TIMEOUTS or session.deaf:  # a server that hangs takes no other call
                break
    last = time.monotonic()
    twins: list[Call] = []
    if not (talkative or session.deaf):
        twins = [_told_of(session, call) for _, call in slow if _may_hang(session, call)]
        session.wait(*(call for _, call in slow), timeout=late(session))
    if doubtful := [call for _, call in slow if _may_hang(session, call)]:
        spent = time.monotonic() - (last if not session.deaf else began)
        session.wait(
            *doubtful,
            timeout=max(0.0, session.limits.answer - spent),
            until=lambda: not any(_may_hang(session, call) for call in doubtful),
        )
    for twin in twins:
        if not twin.answers:
            cancel(session, twin)
    for tool, call in slow:
        if call.answers:
            yield tool, call
        elif not call.hung:
            session.patience.features.waited(call.params, time.monotonic() - last)
            cancel(session, call)


def _told_of(session: Session, call: Call) -> Call:
    """The same call, of whose progress the server is to tell: one that does so is slow and does not hang."""
    meta = {**call.params.get("_meta", {}), "progressToken": f"mcp-conform-{session.position}"}
    return session.send("tools/call", {**call.params, "_meta": meta})


def _may_hang(session: Session, call: Call) -> bool:
    """Whether a slow tool is one of which nothing was ever heard: that is found out once a run."""
    features = session.patience.features
    known = features.returns(call.method, call.params) or features.known_silent(call.method, call.params)
    return not (call.answers or known or reports_progress(call))


def _hear_second_progress(bench: Bench, call: Call) -> None:
    """Wait for a tool that told of its progress once until it does so again, or ends.

    Otherwise whether progress rises would be put to the test or not as chance will have it.
    """
    for _ in range(round(bench.session.limits.answer / GLANCE)):
        if call.answers or sum(tells_progress(frame, call) for frame in call.notifications) != 1:
            return
        bench.session.listen(GLANCE)
