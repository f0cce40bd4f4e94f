"""What was measured as data: what `--json` writes (`schemas/bench.json`), and what every view is made from."""

from __future__ import annotations

import math
import os
import platform
from collections import Counter
from collections.abc import Iterable, Sequence
from statistics import median

from conformance.bench.answers import CHANGED, CUT, errors, errors_in
from conformance.bench.bare_loop import BareLoop
from conformance.bench.clock import RAN_OUT
from conformance.bench.costs import Cost
from conformance.bench.estimates import Estimate, quantile, slope
from conformance.bench.measured import Cell, Measured, Step
from conformance.bench.plan import Plan
from conformance.bench.subject import Subject
from conformance.bench.symptoms import grown, lasting, symptoms
from conformance.model import Json
from conformance.target.process import command_line

FORMAT = 1
OURS = 0.5
"""Where at least this part of a latency is our own, the figure says more about us than about the server."""
MICROSECOND = 1e-6
LONGEST = 3_600_000_000
"""Microseconds that a histogram can hold."""
DIGITS = 3
"""Significant digits of a histogram."""


def of_server(subject: Subject, bare: BareLoop) -> Json:
    """One server of the report."""
    measured = subject.measured
    target = subject.target
    return {
        "label": subject.label,
        "target": {"command": command_line(target.command), "url": target.url},
        "server": dict(subject.server),
        "revision": subject.revision.date if subject.revision else "",
        "transport": subject.transport,
        "times": _times(measured),
        "operations": [_operation(measured, name, bare) for name in subject.operations],
        "left_out": dict(measured.left_out),
        "open_loop": _open_loop(measured.steps),
        "cost": _costs(subject),
        "growth": {
            "requests": len(measured.long_run.latencies),
            "rss": _estimate(grown(measured.long_run, "rss")),
            "threads": _estimate(grown(measured.long_run, "threads")),
            "files": _estimate(grown(measured.long_run, "files")),
            "levels": [[b.before + b.count, b.cost.rss, b.pace] for b in measured.long_run.batches],
        },
        "sessions": {
            "count": measured.session_count,
            **{kind: _estimate(lasting(measured, kind)) for kind in ("rss", "threads", "files")},
        },
        "other_errors": errors(_elsewhere(measured)),
        "errors": errors_in(_elsewhere(measured)),
        "rules": [{"requirement": rule, "what": what} for rule, what in measured.rules.items()],
        "symptoms": symptoms(measured, bare),
        "notes": list(dict.fromkeys(measured.notes)),
        "lost": measured.lost,
    }


def of_bare(bare: BareLoop) -> Json:
    """What our own cost is: the latencies of the bare loop by the number of requests in flight."""
    cells = sorted(bare.cells.items()) if bare.alike else []
    return {"loads": [_cell(cell, None) for _, cell in cells if cell.latencies]}


def of_machine() -> Json:
    """Where it was measured, as far as it matters for the figures."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "system": platform.system(),
        "processor": platform.machine(),
        "cores": os.cpu_count() or 1,
        "python": platform.python_version(),
        "load": load,
    }


def of_plan(plan: Plan) -> Json:
    """What was asked for."""
    return {"duration": plan.duration, "rate": plan.rate or None, "in_flight": list(plan.loads)}


# -- inside


def _times(measured: Measured) -> Json:
    starts = measured.starts
    return {
        "start": _median(each.start for each in starts),
        "first": _median(each.first for each in starts),
        "end": _median(each.end for each in starts),
        "each": [
            {"start": each.start, "first": each.first, "end": each.end, "how": each.how, "left": each.left}
            for each in starts
        ],
    }


def _median(values: Iterable[float | None]) -> float | None:
    known = [each for each in values if each is not None]
    return median(known) if known else None


def _operation(measured: Measured, name: str, bare: BareLoop) -> Json:
    operation = next(each for each in measured.operations if each.name == name)
    cells = [cell for cell in measured.cells.values() if cell.operation == name]
    loads = [_cell(cell, bare.cells.get(cell.load) if bare.alike else None) for cell in cells if cell.told]
    missing = {str(cell.load): cell.left_out or RAN_OUT for cell in cells if not cell.told}
    return {
        "name": name,
        "method": operation.method,
        "echoes": operation.marked,
        "is_error": operation.fails,
        "loads": loads,
        "left_out": missing,
        "slope": _estimate(_slope(cell for cell in cells if cell.sessions == 1)),
    }


def _slope(cells: Iterable[Cell]) -> Estimate | None:
    """Seconds that one more request in flight adds to the median latency."""
    points = [(float(cell.load), _p(block.answered, 0.5)) for cell in cells for block in cell.blocks if block.answered]
    return slope([x for x, _ in points], [y for _, y in points])


def _cell(cell: Cell, bare: Cell | None) -> Json:
    ordered = cell.latencies
    row: dict[str, Json] = {
        "in_flight": cell.load,
        "sessions": cell.sessions,
        "count": len(ordered),
        "errors": cell.errors,
        "wrong": errors_in(cell.wrong),
        "changed": cell.wrong[CHANGED],
        "cut": cell.wrong[CUT],
        "rate": cell.rate,
        "cpu": cell.cpu,
        "seconds": cell.seconds,
        **_percentiles(ordered),
        "blocks": [_p(block.answered, 0.5) for block in cell.blocks if block.answered],
        "histogram": _histogram(ordered),
        "bars": bars(ordered),
        "ours": None,
    }
    if bare is not None and ordered and bare.latencies:
        row["ours"] = min(1.0, quantile(bare.latencies, 0.5) / max(row["p50"], 1e-9))
    return row


def _percentiles(ordered: Sequence[float]) -> dict[str, Json]:
    parts = {"p50": 0.5, "p95": 0.95, "p99": 0.99, "max": 1.0}
    return {name: quantile(ordered, part) if ordered else None for name, part in parts.items()}


def _p(values: Sequence[float], part: float) -> float:
    return quantile(sorted(values), part)


BARS = 12
DECADES = (1e-5, 1e1)
"""Seconds between which small histograms reach, in logarithmic steps that are the same in all of them."""


def bars(values: Iterable[float]) -> list[int]:
    """How many values are in each of BARS classes of equal width on a logarithmic scale from 10 µs to 10 s."""
    low, high = (math.log(each) for each in DECADES)
    found = [0] * BARS
    for value in values:
        place = (math.log(max(value, 1e-9)) - low) / (high - low) * BARS
        found[min(BARS - 1, max(0, int(place)))] += 1
    return found


def _histogram(values: Iterable[float]) -> str:
    """A HdrHistogram of microseconds in its own encoding, in base64; "" of nothing."""
    counts = Counter(max(1, min(LONGEST, round(value / MICROSECOND))) for value in values)
    if not counts:
        return ""
    from hdrh.histogram import HdrHistogram

    histogram = HdrHistogram(1, LONGEST, DIGITS)
    for value, count in counts.items():
        histogram.record_value(value, count)
    encoded: bytes = histogram.encode()
    return encoded.decode()


def _elsewhere(measured: Measured) -> Counter[str]:
    """What went wrong beside the cells."""
    return sum((step.block.wrong for step in measured.steps), Counter(measured.long_run.wrong))


def _open_loop(steps: Sequence[Step]) -> Json:
    rows = [
        {
            "offered": step.offered,
            "answered": step.block.rate,
            "count": len(step.block.answered),
            "errors": errors(step.block.wrong),
            "kept_up": not step.saturated,
            **_percentiles(sorted(step.block.answered)),
        }
        for step in steps
    ]
    kept = [step.offered for step in steps if not step.saturated]
    return {
        "steps": rows,
        "most_answered": max((step.block.rate for step in steps), default=None),
        "highest_kept_up": max(kept, default=None),
        "saturated": any(step.saturated for step in steps),
    }


def _costs(subject: Subject) -> Json:
    measured = subject.measured
    samples = subject.costs.samples if subject.opened else []
    if not samples or measured.before is None:
        return None
    run = measured.long_run
    spent = run.batches[-1].cost.cpu - run.batches[0].cost.cpu if len(run.batches) > 1 else None
    asked = sum(batch.count for batch in run.batches[1:])
    return {
        "before": _cost(measured.before),
        "after": _cost(measured.after) if measured.after is not None else None,
        "peak_rss": max(measured.peak, subject.costs.peak),
        "most_threads": max(each.threads for each in samples),
        "most_files": max(each.files for each in samples),
        "most_processes": max(each.processes for each in samples),
        "cpu_per_request": spent / asked if spent is not None and asked else None,
        "samples": [[each.at - samples[0].at, each.rss, each.threads, each.files, each.cpu] for each in _few(samples)],
    }


def _few(samples: Sequence[Cost], most: int = 200) -> Sequence[Cost]:
    return samples[:: max(1, len(samples) // most)]


def _cost(cost: Cost) -> Json:
    return {
        "rss": cost.rss,
        "threads": cost.threads,
        "files": cost.files,
        "processes": cost.processes,
        "cpu": cost.cpu,
    }


def _estimate(estimate: Estimate | None) -> Json:
    if estimate is None:
        return None
    return {"value": estimate.value, "low": estimate.low, "high": estimate.high, "number": estimate.number}
