"""The probes of the area logging: what a level keeps back, and on which stream messages come."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.another_client import another_client
from conformance.checks.probes.calls import callable_tools, without_meta
from conformance.checks.probes.observed import SeenCall, seen
from conformance.model import Frame, Json
from conformance.session.eras.stateless import META
from conformance.session.session import Call
from conformance.survey.survey import LISTS, Unavailable

LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
"""The most severe first; the last one lets everything through."""

THRESHOLD = "error"
QUICK = 0.3
"""Seconds that a tool may take which is called once for each level."""


def level_filter(bench: Bench) -> Iterator[Observation]:
    """A tool that logs below `error`, called again with the level at `error`, and if it is quick at the others.

    It finds out which tool does so and is quick, and what it logs when it may log all.
    """
    handshake = bench.session.revision.era == "handshake"
    if handshake and bench.session.transport.has_headers and "Mcp-Session-Id" not in bench.session.http_headers:
        raise Unavailable("without an HTTP session the server has nowhere to keep a level")
    next(callable_tools(bench))
    if handshake and not isinstance(_level(bench, LEVELS[-1]).result, dict):
        yield Observation({"level-set": False})
        return
    talker = _talker(bench, "" if handshake else META + "logLevel")
    if talker is None:
        raise Unavailable(f"no tool that may be called logs below the level {THRESHOLD}")
    others = [level for level in LEVELS if level != THRESHOLD and set(_below(level)) & set(talker.levels)]
    for level in (THRESHOLD, *(others if talker.seconds < QUICK else ())):
        meanwhile = partial(_other_requests, bench) if handshake and level == THRESHOLD else _nothing
        seen_at = _at(bench, talker, level, meanwhile)
        if seen_at is not None:
            yield seen_at
            if seen_at.values["below"]:
                break
    else:
        yield from _beside_another(bench, talker)
    if handshake and bench.session.alive:
        _level(bench, LEVELS[-1])


def _beside_another(bench: Bench, talker: SeenCall) -> Iterator[Observation]:
    """What the tool logs at the threshold after another client of the server has asked for everything, and has left."""
    other = another_client(bench) if bench.session.alive else None
    if other is not None:
        others = partial(other.request, "logging/setLevel", {"level": LEVELS[-1]})
        for what, meanwhile in (("has set a lower one", others), ("has ended its session", other.close)):
            seen_at = _at(bench, talker, THRESHOLD, meanwhile)
            if seen_at is not None:
                yield replace(seen_at, values={**seen_at.values, "once-another": what})


def _other_requests(bench: Bench) -> None:
    """What has nothing to do with levels."""
    for method in ("ping", *(LISTS[name][0] for name in bench.survey.declared_lists)):
        bench.session.request(method)


def _nothing() -> None:
    """Do nothing."""


def _at(bench: Bench, talker: SeenCall, level: str, meanwhile: Callable[[], object]) -> Observation | None:
    """What the tool logs at that level, None if the level is refused; `meanwhile` is done once it is set."""
    handshake = bench.session.revision.era == "handshake"
    meta: Json = {} if handshake else {"_meta": {META + "logLevel": level}}
    proof: tuple[Frame, ...] = ()
    if handshake:
        asked = _level(bench, level)
        if not isinstance(asked.result, dict):
            return None
        proof = asked.proof
    meanwhile()
    bench.session.hear_out()  # so that what was under way has come
    call = bench.session.request("tools/call", {**talker.params, **meta})
    bench.session.hear_out()
    frames = (*proof, call.sent, *call.notifications[:5], *call.answers)
    below = ", ".join(each for each in call.levels if each in _below(level))
    return Observation({"level-set": True, "level": level, "below": below, "levels": call.levels}, call, frames)


def _below(level: str) -> tuple[str, ...]:
    return LEVELS[LEVELS.index(level) + 1 :]


def _level(bench: Bench, level: str) -> Call:
    return bench.session.request("logging/setLevel", {"level": level})


def _talker(bench: Bench, asking: str) -> SeenCall | None:
    """A call that is known to log below the threshold and is quick."""
    known = [each for each in seen(bench, asking) if any(level in _below(THRESHOLD) for level in each.levels)]
    return min(known, key=lambda each: each.seconds, default=None)


def beside_subscription(bench: Bench) -> Iterator[Observation]:
    """A tool that logs, called over HTTP on another connection while a subscription is open there.

    It finds out which tool does so and is quick, and on which stream each message comes, and when; then it calls that
    without a level. Over stdio there is one stream only.
    """
    talker = min(
        (each for each in seen(bench, META + "logLevel") if each.levels), key=lambda each: each.seconds, default=None
    )
    if talker is None:
        raise Unavailable("no tool that may be called logs")
    session, kinds = bench.session, []
    if not session.transport.single_stream:
        session = bench.connect(shared=True)
        kinds = [kind for kind in ("tools", "prompts", "resources") if bench.survey.declares(f"{kind}.listChanged")]
    if kinds:
        wanted = {"notifications": {f"{kind}ListChanged": True for kind in kinds}}
        session.give_up(session.send("subscriptions/listen", wanted))
        session.hear_out()
    start = session.position
    call = session.request("tools/call", {**talker.params, "_meta": {META + "logLevel": LEVELS[-1]}})
    session.listen(session.limits.quiet)
    session.hear_out()
    told = [frame for frame in session.since(start) if _is_log(frame)]
    elsewhere = [frame for frame in told if frame.exchange != call.sent.exchange]
    late = [frame for frame in told if call.answers and frame.number > call.answers[0].number]
    frames = (call.sent, *(elsewhere or late or told)[:5], *call.answers)
    facts = {"messages": len(told), "elsewhere": len(elsewhere), "late": len(late), "subscribed": bool(kinds)}
    actual = f"{len(elsewhere)} of {len(told)} messages on another stream, {len(late)} after the response"
    yield Observation({"tool": talker.params["name"], **facts}, call, frames, actual)
    start = session.position
    call = session.request("tools/call", without_meta(talker.params))
    session.hear_out()
    told = [frame for frame in session.since(start) if _is_log(frame)]
    frames = (call.sent, *told[:5], *call.answers)
    yield Observation({"tool": talker.params["name"], "unasked": len(told)}, call, frames, f"{len(told)} messages")


def _is_log(frame: Frame) -> bool:
    message = frame.message
    return (
        frame.origin == "target"
        and isinstance(message, dict)
        and message.get("method") == "notifications/message"
        and "id" not in message
    )
