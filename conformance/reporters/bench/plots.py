"""Plots as SVG needs them: where lines and ticks are, in pixels. What they look like is in the template."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from conformance.model import Json
from conformance.reporters.bench.figures import number, seconds, size

WIDTH, HEIGHT = 460, 240
LEFT, RIGHT, TOP, BOTTOM = 64, 28, 12, 40
COLOURS = 8
"""Lines that have a colour of their own; further ones share the last."""
TICKS = 6


class Tick(NamedTuple):
    """A mark on an axis."""

    place: float
    text: str


class Line(NamedTuple):
    """One line: `points` as SVG has them, `dots` with what is said of each, `colour` from 0 on."""

    label: str
    colour: int
    points: str
    dots: list[tuple[float, float, str]]


@dataclass(frozen=True, slots=True)
class Axis:
    """What is shown in one direction: its name, how its values are written, and whether it is logarithmic."""

    name: str
    write: Callable[[float | None], str]
    log: bool = False

    def place(self, value: float, ends: tuple[float, float]) -> float:
        """Where a value is between the ends, from 0 to 1."""
        low, high = ends
        if self.log:
            value, low, high = (math.log(max(each, 1e-12)) for each in (value, low, high))
        return (value - low) / (high - low) if high > low else 0.5

    def ends(self, values: Sequence[float]) -> tuple[float, float]:
        """The ends of the axis."""
        low, high = min(values), max(values)
        if self.log:
            return 10 ** math.floor(math.log10(max(low, 1e-12))), 10 ** math.ceil(math.log10(max(high, 1e-12)))
        return min(0.0, low), high or 1.0

    def ticks(self, values: Sequence[float], ends: tuple[float, float]) -> list[float]:
        """The values that are marked."""
        if self.log:
            first, last = round(math.log10(ends[0])), round(math.log10(ends[1]))
            return [10.0**power for power in range(first, last + 1)]
        few = sorted(set(values))
        if len(few) <= TICKS:
            return few
        return [ends[0] + (ends[1] - ends[0]) * i / (TICKS - 1) for i in range(TICKS)]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot with all that the template draws."""

    title: str
    x: str
    y: str
    lines: list[Line]
    x_ticks: list[Tick]
    y_ticks: list[Tick]

    width, height, left, right, top, bottom = WIDTH, HEIGHT, LEFT, WIDTH - RIGHT, TOP, HEIGHT - BOTTOM


Points = Sequence[tuple[float, float]]


def plot(title: str, x: Axis, y: Axis, lines: Iterable[tuple[str, Points]]) -> Plot | None:
    """A plot of named lines; None if there is nothing to show."""
    named = [(label, points) for label, points in lines if points]
    if not named:
        return None
    xs = [point[0] for _, points in named for point in points]
    ys = [point[1] for _, points in named for point in points]
    x_ends, y_ends = x.ends(xs), y.ends(ys)

    def across(value: float) -> float:
        return round(LEFT + x.place(value, x_ends) * (WIDTH - LEFT - RIGHT), 1)

    def up(value: float) -> float:
        return round(HEIGHT - BOTTOM - y.place(value, y_ends) * (HEIGHT - TOP - BOTTOM), 1)

    drawn = [
        Line(
            label,
            min(i, COLOURS - 1),
            " ".join(f"{across(a)},{up(b)}" for a, b in points),
            [(across(a), up(b), f"{label}: {x.write(a)}, {y.write(b)}") for a, b in points]
            if len(points) <= 40
            else [],
        )
        for i, (label, points) in enumerate(named)
    ]
    x_ticks = [Tick(across(value), x.write(value)) for value in x.ticks(xs, x_ends)]
    y_ticks = [Tick(up(value), y.write(value)) for value in y.ticks(ys, y_ends)]
    return Plot(title, x.name, y.name, drawn, x_ticks, y_ticks)


def of_server(server: Json) -> list[Plot]:
    """The plots of one server."""
    in_flight = Axis("requests in flight", number, log=True)
    latency = Axis("p50", seconds, log=True)
    due = Axis("requests due each second", number)
    open_latency = Axis("latency", seconds, log=True)
    steps = server["open_loop"]["steps"]
    levels = server["growth"]["levels"]
    samples = (server["cost"] or {"samples": []})["samples"]
    made = [
        plot("Latency with others in flight", in_flight, latency, _by_load(server)),
        plot(
            "Latency at fixed times (open loop)",
            due,
            open_latency,
            [(name, [(s["offered"], s[name]) for s in steps if s[name]]) for name in ("p50", "p95", "p99", "max")],
        ),
        plot(
            "Memory in the long run",
            Axis("requests", number),
            Axis("memory", size),
            [("memory", [(level[0], level[1]) for level in levels])],
        ),
        plot(
            "Pace in the long run: 1 is usual",
            Axis("requests", number),
            Axis("latency", number),
            [("pace", [(level[0], level[2]) for level in levels])],
        ),
        plot(
            "Memory over the whole run",
            Axis("seconds", number),
            Axis("memory", size),
            [("memory", [(sample[0], sample[1]) for sample in samples])],
        ),
    ]
    return [each for each in made if each is not None]


def _by_load(server: Json) -> list[tuple[str, Points]]:
    rows: list[tuple[str, Points]] = []
    for operation in server["operations"]:
        cells = sorted((c for c in operation["loads"] if c["sessions"] == 1), key=lambda each: each["in_flight"])
        rows.append((operation["name"], [(cell["in_flight"], cell["p50"]) for cell in cells if cell["p50"]]))
    slowest = sorted(rows, key=lambda row: -max((y for _, y in row[1]), default=0.0))
    return slowest[: 2 * COLOURS]


def bars(counts: Sequence[int], height: int = 20, width: int = 6) -> list[tuple[int, float, float]]:
    """A small histogram: left side, top and height of each bar, in pixels."""
    most = max(counts, default=0)
    tall = [round(height * (count / most) ** 0.5, 1) if most else 0.0 for count in counts]
    return [(i * width, height - each, each) for i, each in enumerate(tall)]
