"""What else decides a result that is not settled: a limit that cut it, the sandbox, what the worker gave it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from conformance.engine.time_limit import TimeLimit
from conformance.fleet.limits import DISK, MEMORY, PROCESSES, TIME, Limits
from conformance.fleet.sandbox import Sandbox
from conformance.model import Json

LIMITS = (TIME, MEMORY, DISK, PROCESSES)
INSIDE = (MEMORY, PROCESSES)
"""Limits that a container keeps by itself, so that what is refused there looks like a fault of the server."""


def conditions(limits: Limits, sandbox: Sandbox, keep: Sequence[str], cut: Sequence[str] = ()) -> dict[str, Json]:
    """As a result keeps them. `cut` names the limits that may have decided it."""
    return {"sandbox": _of(sandbox), "keep": sorted(keep), "cut": {name: _sizes(limits)[name] for name in cut}}


def others(then: Json, limits: Limits, sandbox: Sandbox, keep: Sequence[str]) -> bool:
    """Whether a result that was got under the conditions `then` may be another one now."""
    if not isinstance(then, dict) or not isinstance(then.get("cut"), dict):
        return False
    sizes = _sizes(limits)
    more = any(sizes.get(name, 0) > was for name, was in then["cut"].items())
    return more or then.get("sandbox") != _of(sandbox) or then.get("keep") != sorted(keep)


def cut_by(report: Json, stopped: str, limits: Limits, sandbox: Sandbox) -> list[str]:
    """The limits that may have decided a result; `stopped` is the one that ended the run, "" if none did."""
    if stopped:
        return [stopped]
    found = [TIME] if report is not None and _out_of_time(report, TimeLimit(limits.seconds).reason) else []
    return [*found, *(INSIDE if sandbox.kind == "docker" else ())]


def _out_of_time(report: Json, reason: str) -> bool:
    told = [report.get("problem", ""), *report.get("notes", ())]
    told += [verdict["reason"] for run in report["runs"] for verdict in run["verdicts"]]
    return any(reason in each for each in told)


def _of(sandbox: Sandbox) -> str:
    return f"docker {sandbox.image}" if sandbox.kind == "docker" else sandbox.kind


def _sizes(limits: Limits) -> Mapping[str, float]:
    return {TIME: limits.seconds, MEMORY: limits.memory, DISK: limits.disk, PROCESSES: limits.processes}
