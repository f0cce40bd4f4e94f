"""Bounds that the user sets: `p95=50ms`, `tools/call:echo:p95@16=50ms`, `rss=200MB`, `errors=0`, `leak=1MB/1000`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase

from conformance.model import Json, UsageError

LATENCIES = ("p50", "p95", "p99", "max")
SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}
BYTES = {"B": 1, "kB": 1e3, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1024, "MiB": 1024**2, "GiB": 1024**3}
EACH = 1000
"""Requests that a leak is counted for unless the bound says otherwise."""

_BOUND = re.compile(r"(?:(?P<where>.+):)?(?P<metric>[a-z0-9]+)(?:@(?P<load>\d+))?=(?P<value>.*)", re.DOTALL)
_VALUE = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[A-Za-zµ]*)(?:/(?P<each>\w+))?")


@dataclass(frozen=True, slots=True)
class Metric:
    """What a bound may be about. `units` are those of its values, unit → factor; `wide` means of the whole server."""

    units: dict[str, float]
    text: str
    wide: bool = True
    least: bool = False
    """Whether the bound is a lower one."""


METRICS = {
    **{name: Metric(SECONDS, f"{name} of the latency", wide=False) for name in LATENCIES},
    "rate": Metric({"": 1.0}, "answers a second, at least", wide=False, least=True),
    "errors": Metric({"": 1.0}, "requests that were not answered as they should be", wide=False),
    "start": Metric(SECONDS, "from the start of the process to an open session, the median"),
    "first": Metric(SECONDS, "the first request of a session, the median"),
    "end": Metric(SECONDS, "from the end of its input to the end of the process, the median"),
    "rss": Metric(BYTES, "the most memory of all its processes"),
    "cpu": Metric(SECONDS, "CPU time for each request of the long run"),
    "threads": Metric({"": 1.0}, "the most threads"),
    "files": Metric({"": 1.0}, "the most open files"),
    "leak": Metric(BYTES, "how much memory grows with the number of requests, surely"),
}


@dataclass(frozen=True, slots=True)
class Bound:
    """`where` is an operation, a pattern of them or a method, "" for all; `load` how many requests are in flight.

    `value` is in seconds, bytes or a number; of `leak` in bytes for each request.
    """

    text: str
    metric: str
    value: float
    where: str = ""
    load: int = 1

    def covers(self, name: str) -> bool:
        """Whether it is about the operation of that name."""
        return not self.where or fnmatchcase(name, self.where) or name.partition(":")[0] == self.where


def parsed(text: str) -> Bound:
    """The bound that the user wrote. Raises UsageError."""
    found = _BOUND.fullmatch(text.strip())
    if found is None:
        raise UsageError(f"--bound: {text!r} is not of the form [OPERATION:]METRIC[@IN_FLIGHT]=VALUE, like p95=50ms")
    name, where = found["metric"], found["where"] or ""
    metric = METRICS.get(name)
    if metric is None:
        raise UsageError(f"--bound: there is no metric {name!r} in {text!r}; there are {', '.join(METRICS)}")
    if metric.wide and (where or found["load"]):
        raise UsageError(f"--bound: {text!r}: {name} is measured of the whole server: write {name}=…")
    if name == "errors" and found["load"]:
        raise UsageError(f"--bound: {text!r}: errors are counted over all loads: write errors=…")
    value = _VALUE.fullmatch(found["value"].strip())
    if value is None or value["unit"] not in metric.units or bool(value["each"]) > (name == "leak"):
        units = " or ".join(f"{unit}" for unit in metric.units if unit) or "no unit"
        raise UsageError(f"--bound: {text!r}: the value of {name} is a number with {units}, like {_example(name)}")
    number = float(value["number"]) * metric.units[value["unit"]]
    if metric.least and not number:
        raise UsageError(f"--bound: {text!r} can never be broken: {name} is a lower bound, like {name}=500")
    if name == "leak":
        each = value["each"] or str(EACH)
        if each != "request" and (not each.isdecimal() or int(each) == 0):
            raise UsageError(f"--bound: {text!r}: {each!r} is not a number of requests, as in leak=1MB/1000")
        number /= 1 if each == "request" else int(each)
    return Bound(text.strip(), name, number, where, int(found["load"] or 1))


def _example(name: str) -> str:
    if name == "leak":
        return "leak=1MB/1000"
    return (
        f"{name}=200MB"
        if METRICS[name].units is BYTES
        else f"{name}=50ms"
        if METRICS[name].units is SECONDS
        else f"{name}=0"
    )


def check_known(bounds: Iterable[Bound], names: Iterable[str], loads: Iterable[int]) -> None:
    """Raises UsageError for a bound that is about nothing that will be measured."""
    names, loads = list(names), list(loads)
    for bound in bounds:
        if METRICS[bound.metric].wide:
            continue
        if not any(bound.covers(name) for name in names):
            listed = ", ".join(names[:12]) + (" …" if len(names) > 12 else "")
            raise UsageError(f"--bound {bound.text}: no operation matches {bound.where!r}; measured are {listed}")
        if bound.metric != "errors" and bound.load not in loads:
            raise UsageError(
                f"--bound {bound.text}: {bound.load} requests in flight are not measured, but "
                f"{', '.join(map(str, loads))}; see --in-flight"
            )


def judged(bounds: Iterable[Bound], server: Json) -> list[Json]:
    """What became of each bound at one server of the report: rows of `bounds`, see `schemas/bench.json`."""
    return [_judged(bound, server) for bound in bounds]


def _judged(bound: Bound, server: Json) -> Json:
    worst: tuple[float, str] | None = None
    least = METRICS[bound.metric].least
    for value, place in _values(bound, server):
        if worst is None or (value < worst[0] if least else value > worst[0]):
            worst = value, place
    row = {"bound": bound.text, "metric": bound.metric, "limit": bound.value}
    if worst is None:
        return {**row, "state": "not measured", "value": None, "where": bound.where}
    broken = worst[0] < bound.value if least else worst[0] > bound.value
    return {**row, "state": "broken" if broken else "kept", "value": worst[0], "where": worst[1]}


def _values(bound: Bound, server: Json) -> list[tuple[float, str]]:
    """The values that the bound is about, each with its place."""
    if METRICS[bound.metric].wide:
        value = WIDE[bound.metric](server)
        return [] if value is None else [(value, "")]
    rows = [each for each in server["operations"] if bound.covers(each["name"])]
    if bound.metric == "errors":
        cells = [cell for each in rows for cell in each["loads"]]
        whole = 0 if bound.where else server["other_errors"]
        return [(float(sum(cell["errors"] for cell in cells) + whole), "")] if cells else []
    cells = [(each["name"], cell) for each in rows for cell in each["loads"] if cell["in_flight"] == bound.load]
    return [
        (cell[bound.metric], f"{name} with {bound.load} in flight")
        for name, cell in cells
        if cell["sessions"] == 1 and cell.get(bound.metric) is not None
    ]


WIDE: dict[str, Callable[[Json], float | None]] = {
    "start": lambda server: server["times"]["start"],
    "first": lambda server: server["times"]["first"],
    "end": lambda server: server["times"]["end"],
    "rss": lambda server: server["cost"] and server["cost"]["peak_rss"],
    "cpu": lambda server: server["cost"] and server["cost"]["cpu_per_request"],
    "threads": lambda server: server["cost"] and server["cost"]["most_threads"],
    "files": lambda server: server["cost"] and server["cost"]["most_files"],
    "leak": lambda server: server["growth"]["rss"] and server["growth"]["rss"]["low"],
}
"""Metric → where its value is in a server of the report; None if it was not measured."""
