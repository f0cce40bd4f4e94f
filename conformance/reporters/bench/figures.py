"""How figures of a bench are written: times, sizes, rates, and histograms of a few characters."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.model import Json

BLOCKS = "▁▂▃▄▅▆▇█"
PLAIN = ".:-=+*#@"
NOTHING = "–"


def seconds(value: float | None) -> str:
    """A time with a unit that fits it."""
    if value is None:
        return NOTHING
    for unit, each in (("s", 1.0), ("ms", 1e-3)):
        if abs(value) >= each:
            return f"{_short(value / each)} {unit}"
    return f"{_short(value * 1e6)} µs"


def size(value: float | None) -> str:
    """Bytes with a unit that fits them."""
    if value is None:
        return NOTHING
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(value) >= each:
            return f"{_short(value / each)} {unit}"
    return f"{_short(value)} B"


def rate(value: float | None) -> str:
    """Answers a second."""
    return NOTHING if value is None else f"{_short(value)}/s"


def number(value: float | None) -> str:
    """A number of things, or a part of one."""
    return NOTHING if value is None else f"{value:,.0f}".replace(",", " ") if value >= 100 else f"{value:.3g}"


def interval(estimate: Json, write: object = None) -> str:
    """An estimate and how certain it is."""
    tell = write if callable(write) else number
    return f"{tell(estimate['value'])} (95 %: {tell(estimate['low'])} to {tell(estimate['high'])})"


def spark(bars: Sequence[int], plain: bool = False) -> str:
    """A histogram, one character a class; a class without a value is blank."""
    most = max(bars, default=0)
    signs = PLAIN if plain else BLOCKS
    return "".join(" " if not each else signs[min(len(signs) - 1, each * len(signs) // (most + 1))] for each in bars)


def of_metric(metric: str, value: float | None) -> str:
    """The value of something that a bound may be about."""
    if metric in ("rss", "leak"):
        return f"surely at least {size(value)} a request" if metric == "leak" else size(value)
    if metric in ("errors", "threads", "files"):
        return number(value)
    return rate(value) if metric == "rate" else seconds(value)


def _short(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}"
