"""The probe of the area logging: what a level keeps back."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.observed import SeenCall, levels_of, seen
from conformance.model import Json
from conformance.session.eras.stateless import META
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

LEVELS = ("emergency", "alert", "critical", "error", "warning", "notice", "info", "debug")
"""The most severe first; the last one lets everything through."""

THRESHOLD = "error"
LOWER = LEVELS[LEVELS.index(THRESHOLD) + 1 :]


def level_filter(bench: Bench) -> Iterator[Observation]:
    """A tool that logs below `error`, called again with the level at `error`.

    It finds out which tool does so and is quick.
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
    meta: Json = {} if handshake else {"_meta": {META + "logLevel": THRESHOLD}}
    proof = _level(bench, THRESHOLD).proof if handshake else ()
    bench.session.hear_out()  # so that what was under way has come
    call = bench.session.request("tools/call", {**talker.params, **meta})
    bench.session.hear_out()
    frames = (*proof, call.sent, *call.notifications[:5], *call.answers)
    yield Observation({"level-set": True, "levels": list(dict.fromkeys(levels_of(call)))}, call, frames)
    if handshake and bench.session.alive:
        _level(bench, LEVELS[-1])


def _level(bench: Bench, level: str) -> Call:
    return bench.session.request("logging/setLevel", {"level": level})


def _talker(bench: Bench, asking: str) -> SeenCall | None:
    """A call that is known to log below the threshold and is quick."""
    known = [each for each in seen(bench, asking) if any(level in LOWER for level in each.levels)]
    return min(known, key=lambda each: each.seconds, default=None)
