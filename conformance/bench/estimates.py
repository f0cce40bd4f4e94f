"""What follows from noisy numbers: means and slopes with confidence intervals, and whether two samples differ."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its interval of 95 % confidence, all in the unit of what was measured; `number` of measurements."""

    value: float
    low: float
    high: float
    number: int


def mean(values: Sequence[float]) -> Estimate | None:
    """The mean of independent values; None of fewer than three."""
    number = len(values)
    if number < 3:
        return None
    middle = fmean(values)
    reach = _quantile(number - 1) * stdev(values) / math.sqrt(number)
    return Estimate(middle, middle - reach, middle + reach, number)


def growth(levels: Sequence[float], steps: Sequence[float]) -> Estimate | None:
    """How much `levels` rise for each unit of `steps`, their distances; None of fewer than three steps.

    The mean of the rises, not the slope of a line through the levels: memory is taken in jumps and never given back,
    so that the levels depend on each other, and a single jump would pass for a rise that is certain. Of k jumps of one
    size the interval reaches down to zero as long as k is less than about four.
    """
    rises = [(after - before) / step for before, after, step in zip(levels, levels[1:], steps, strict=False) if step]
    return mean(rises)


def slope(xs: Sequence[float], ys: Sequence[float]) -> Estimate | None:
    """The slope of the line of least squares; None of fewer than three points, or if all `xs` are the same."""
    number = len(xs)
    if number < 3:
        return None
    middle, level = fmean(xs), fmean(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    if not spread:
        return None
    rise = sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / spread
    left = sum((y - level - rise * (x - middle)) ** 2 for x, y in zip(xs, ys, strict=True))
    reach = _quantile(number - 2) * math.sqrt(left / max(1, number - 2) / spread)
    return Estimate(rise, rise - reach, rise + reach, number)


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times as large the new values are, with 95 % confidence; `p` is the chance of that without a change."""

    value: float
    low: float
    high: float
    p: float


def ratio(old: Sequence[float], new: Sequence[float]) -> Ratio | None:
    """Welch's test on the logarithms of positive values; None unless there are three of each."""
    if min(len(old), len(new)) < 3 or min(*old, *new) <= 0:
        return None
    before, after = [math.log(value) for value in old], [math.log(value) for value in new]
    difference = fmean(after) - fmean(before)
    parts = [stdev(values) ** 2 / len(values) for values in (before, after)]
    error = math.sqrt(sum(parts)) or 1e-9
    freedom = sum(parts) ** 2 / (sum(v**2 / (len(x) - 1) for v, x in zip(parts, (before, after), strict=True)) or 1e-36)
    freedom = max(1.0, freedom)
    reach = _quantile(freedom) * error
    p = 2 * (1 - _student(abs(difference) / error, freedom))
    return Ratio(
        math.exp(difference), math.exp(difference - reach), math.exp(difference + reach), min(1.0, max(0.0, p))
    )


def certain(values: Sequence[float], false: float = 0.01) -> list[bool]:
    """Which of many chances are small enough that at most `false` of those chosen are due to chance.

    The procedure of Benjamini and Hochberg: who compares a hundred pairs finds one difference where there is none.
    """
    order = sorted(range(len(values)), key=values.__getitem__)
    last = max((rank for rank, i in enumerate(order, 1) if values[i] <= false * rank / len(values)), default=0)
    chosen = set(order[:last])
    return [i in chosen for i in range(len(values))]


def quantile(ordered: Sequence[float], part: float) -> float:
    """The smallest of `ordered` values that is at least as large as `part` of them; 0 of none."""
    return ordered[max(0, math.ceil(part * len(ordered)) - 1)] if ordered else 0.0


# -- Student's t


def _quantile(freedom: float) -> float:
    """How many standard errors the interval of confidence reaches to each side."""
    low, high = 0.0, 1000.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _student(middle, freedom) < (1 + CONFIDENCE) / 2 else (low, middle)
    return high


def _student(t: float, freedom: float) -> float:
    """The distribution function of Student's t for t ≥ 0."""
    return 1 - 0.5 * _beta(freedom / (freedom + t * t), freedom / 2, 0.5)


def _beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _beta(1 - x, b, a)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log(1 - x)) / a
    tiny = 1e-300
    fraction, c, d = 1.0, 1.0, 0.0
    for i in range(300):
        m = i // 2
        if i == 0:
            numerator = 1.0
        elif i % 2 == 0:
            numerator = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        else:
            numerator = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d = 1 / (1 + numerator * d or tiny)
        c = 1 + numerator / c or tiny
        fraction *= c * d
        if abs(1 - c * d) < 1e-12:
            break
    return front * (fraction - 1)
