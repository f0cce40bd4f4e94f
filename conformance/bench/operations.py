"""What is asked of a server again and again: one operation for each method that it serves and each tool."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import NamedTuple

from conformance.catalogue.patterns import shorten
from conformance.model import Json, members
from conformance.session.messages import Unavailable, Unread, encode
from conformance.session.session import Session
from conformance.survey.picks import PARAMS, picks
from conformance.survey.survey import MAX_CALLS, Survey

FIRST_ID = 7_000_000_000
"""Ids of requests count from here, all with as many digits: no such number is in answers by chance."""
PLACE = str(FIRST_ID)
"""Stands in a message for the id of the request, wherever it is."""
TOOLS = "tools/call"
TOO_SLOW = 5.0
"""Seconds: what takes longer alone is not asked for again and again; with little time in all it is less."""


@dataclass(frozen=True, slots=True)
class Operation:
    """One request that can be sent many times.

    `name` is the method, of tools with the tool: `tools/call:echo`. `parts` are the bytes of the message between the
    places for the id. `marked` means that the id stands in the arguments too and comes back in the answer, so that the
    answer to another request is recognized. `alone` is how many seconds the first answer took.
    """

    name: str
    method: str
    params: Json
    parts: tuple[bytes, ...]
    headers: Mapping[str, str] = field(default_factory=dict)
    marked: bool = False
    fails: bool = False
    """Whether the result says isError."""
    alone: float = 0.0

    def message(self, number: bytes) -> bytes:
        """The bytes of the request with the id `number`, in decimal."""
        return number.join(self.parts)


@dataclass(frozen=True, slots=True)
class Offer:
    """What of a server can be measured; `left_out` says of the rest why it is not."""

    operations: tuple[Operation, ...]
    left_out: Mapping[str, str]


class Trial(NamedTuple):
    """How operations are tried: `only` these patterns, if any; `gap` seconds apart; each is waited for `patience`
    seconds, and none is begun once `time.monotonic()` has passed `end`."""

    only: tuple[str, ...] = ()
    gap: float = 0.0
    patience: float = TOO_SLOW
    end: float = math.inf


def tried(session: Session, survey: Survey, trial: Trial) -> Offer:
    """Every operation that answers with a result. Each is asked for once or twice.

    No tool is among them that may do harm: see `Survey.callable_tools`.
    """
    only = trial.only
    found: dict[str, Operation] = {}
    left_out = {f"{TOOLS}:{name}": why for name, why in survey.left_out.items()}
    for name, method, choices in _candidates(session, survey):
        if only and not any(fnmatchcase(name, pattern) for pattern in only):
            continue
        if time.monotonic() > trial.end:
            left_out[name] = "there was no time to try it: --duration allows more, --only fewer operations"
            continue
        for params in choices:
            outcome = _tried(session, name, method, params, trial)
            if isinstance(outcome, Operation):
                known = found.get(name)
                if known is None or known.fails:
                    found[name] = outcome
                if not outcome.fails:
                    break
            else:
                left_out.setdefault(name, outcome)
    left_out = {n: why for n, why in left_out.items() if n not in found and (not only or _matches(n, only))}
    return Offer(tuple(found.values()), left_out)


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _candidates(session: Session, survey: Survey) -> Iterator[tuple[str, str, list[Json]]]:
    """Name, method and the params that may be tried, the best first."""
    method, params = session.era.sentinel(session)
    yield method, method, [params]
    try:
        good = picks("good-request", survey)
    except Unavailable:
        good = []
    for each in good:
        if each["method"] != TOOLS:
            given = {name: value for name, value in each["params"].items() if name in PARAMS}
            yield each["method"], each["method"], [given or None]
    for tool in survey.callable_tools[:MAX_CALLS]:
        try:
            arguments = [survey.arguments_for(tool), *survey.other_arguments(tool)[:3]]
        except Unavailable:
            continue
        yield f"{TOOLS}:{tool['name']}", TOOLS, [{"name": tool["name"], "arguments": each} for each in arguments]


def _tried(session: Session, name: str, method: str, params: Json, trial: Trial) -> Operation | str:
    """The operation, or why there is none."""
    plain = _asked(session, method, params, trial)
    if isinstance(plain, str):
        return plain
    result, seconds = plain
    fails = members(result).get("isError") is True
    marked = _marked(params) if not fails else None
    if marked is not None and not _headed(session, method, marked):
        again = _asked(session, method, marked, trial)
        if not isinstance(again, str) and members(again[0]).get("isError") is not True:
            echoes = PLACE.encode() in encode(again[0])
            if echoes:
                return replace(_operation(session, name, method, marked), marked=True, alone=again[1])
    return replace(_operation(session, name, method, params), fails=fails, alone=seconds)


def _asked(session: Session, method: str, params: Json, trial: Trial) -> tuple[Json, float] | str:
    """The result and how many seconds it took, or why there is none."""
    session.listen(trial.gap)
    began = time.monotonic()
    try:
        call = session.send(method, params)
        session.wait(call, timeout=min(trial.patience, session.limits.answer))
    except (Unavailable, Unread) as why:
        return str(why)
    seconds = time.monotonic() - began
    if call.error is not None:
        return f"it is answered by an error: {shorten(call.error)}"
    if not isinstance(call.result, dict):
        if call.late:
            return f"one answer takes more than {seconds:.1f} s"
        return f"it is not answered: {call.lost}" if call.lost else "it is answered without a result"
    kind = call.result.get("resultType", "complete")
    if kind != "complete" or "task" in call.result:
        return "it asks the client for input" if kind == "input_required" else "it is answered by a task"
    return call.result, seconds


def _marked(params: Json) -> Json:
    """`params` with the place of the id in each argument that is a plain string; None if there is none."""
    arguments = members(params).get("arguments")
    if not isinstance(arguments, dict):
        return None
    changed = {name: f"m{PLACE}" if isinstance(value, str) else value for name, value in arguments.items()}
    return {**params, "arguments": changed} if changed != arguments else None


def _headed(session: Session, method: str, params: Json) -> bool:
    """Whether a header repeats the arguments that hold the id: headers are the same in every request."""
    headers = session.era.headers(session, {"method": method, "params": params})
    return any(PLACE in value for value in headers.values())


def _operation(session: Session, name: str, method: str, params: Json) -> Operation:
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": FIRST_ID, "method": method}
    dressed = session.era.dress(session, params)
    if dressed is not None:
        message["params"] = dressed
    headers = session.era.headers(session, message) if session.transport.has_headers else {}
    parts = tuple(encode(message).split(PLACE.encode()))
    return Operation(name, method, params, parts, headers)
