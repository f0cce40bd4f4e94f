"""What is conspicuous in the figures. A symptom is no verdict: it says what was measured, and what it looks like."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

from conformance.bench.answers import (
    ENDED,
    ERROR,
    HTTP,
    INVALID,
    LOST,
    STRAY,
    TOO_MANY,
    TWICE,
    UNAVAILABLE,
    UNLIKE,
    UNREADABLE,
    WRONG,
)
from conformance.bench.bare_loop import BareLoop
from conformance.bench.estimates import Estimate, growth, quantile, ratio, slope
from conformance.bench.measured import Batch, Cell, LongRun, Measured
from conformance.bench.program import SESSIONS_EACH
from conformance.model import Json

GROUPS = 30
"""Groups of batches between which growth is measured."""
WARM = 1 / 3
"""Part of the long run in which a server may still be warming up: caches, pools, code that is compiled."""
LEAST_REQUESTS = 1000
"""Requests over which it has to grow: what keeps the last few hundred is no leak."""
LEAST_LEAK = 64.0
"""Bytes for each request: less is not worth a word."""
STEADY = 0.4
"""The lower end of the interval, as a part of the mean, at least: what collects garbage grows by fits and starts."""
LEAST_GROWN = 256 * 1024
"""Bytes by which the memory has to have grown: it is taken in pieces of 128 KiB and more."""
LEAST_LOOKS = 10
"""How often the memory is to be seen between sessions."""
SLOWER = 1.6
"""So many times as slow at the end of the long run as at its beginning is conspicuous."""
MIDWAY = 1.15
"""So many times as slow in the middle, at least: what comes all at once at the end is something else on the machine."""
STALL = 0.02, 10.0
"""Seconds, and times the usual latency, that an answer takes at least which counts as a stall."""
TURNS, REGULAR, OTHERS = 6, 0.8, 0.05
"""How often a regular stall is to be seen, in which part of its turns; what part of all answers may be late besides."""
SHORTEST, TRIED = 5, 20
"""The shortest distance that is looked for, and how many are tried."""
SERIAL = 0.4
"""The median latency, as a part of that of one request times the number in flight, from which on requests wait for each
other: in a short block, in which the queue has only begun, it is a half."""
IN_FLIGHT = 8
"""Requests in flight, at least, with which that is told from noise."""
ENOUGH = 5
"""Answers alone that are needed for it."""
IDLE = 0.5
"""Part of the time in which a server computes at most that has no such reason to serve one after another."""
COMPUTED = 1 / 3
"""The same, as a part of the quickest answer alone."""
NO_MORE = 2.5
"""So many times as many answers a second as alone are the most of a server that serves one after another: where the
machine is busy, each of a few takes longer, and yet they do not wait for each other."""
WRONGS = (
    (WRONG, "mixes", "answers with the result of another request"),
    (UNLIKE, "differs", "answers that do not repeat the argument, as that of each request alone does"),
    (ERROR, "errors", "errors in answer to requests that are answered well alone"),
    (INVALID, "invalid", "results without the form that their method needs"),
    (TWICE, "twice", "answers that came a second time"),
    (STRAY, "stray", "answers with an id that was never sent"),
    (UNREADABLE, "unreadable", "answers that are no JSON-RPC response"),
    (ENDED, "ended", "requests that ended with their connection"),
)
"""Kind of error → the symptom that it is, and how it is told."""
REFUSALS = {
    f"{HTTP}{TOO_MANY}": " (it limits how much it is asked, as it may)",
    f"{HTTP}{UNAVAILABLE}": " (it says that this is too much for it)",
}
LEAST_WAIT = 0.002
"""Seconds that an answer takes at least, for what it does to be waiting."""


def symptoms(measured: Measured, bare: BareLoop) -> list[Json]:
    """Kind and sentence of each, the weightiest first."""
    return [{"kind": kind, "text": text} for kind, text in _all(measured, bare)]


def _all(measured: Measured, bare: BareLoop) -> Iterator[tuple[str, str]]:
    if measured.lost:
        yield "gone", f"the server could not be asked to the end: {measured.lost}"
    yield from _drops(measured)
    yield from _wrong(measured)
    yield from _differs(measured)
    yield from _leaks(measured)
    yield from _per_session(measured)
    yield from _slows(measured.long_run)
    yield from _stalls(measured.long_run)
    yield from _serialises(measured)


# -- growth


def grown(run: LongRun, kind: str) -> Estimate | None:
    """How much `rss` (bytes), `threads` or `files` grow with each request, once the server is warm."""
    batches = run.batches[int(len(run.batches) * WARM) :]
    size = max(1, round(len(batches) / GROUPS))
    marks = batches[::size]
    steps = [float(after.before - before.before) for before, after in pairwise(marks)]
    return growth([float(getattr(batch.cost, kind)) for batch in marks], steps)


def lasting(measured: Measured, kind: str) -> Estimate | None:
    """How much `rss`, `threads`, `files` or `processes` grow with each session that was opened and closed.

    Where each session has a process of its own these do not depend on each other, so that it is the slope of the line
    through them: how much more each takes than the one before.
    """
    own = [(i, float(getattr(each.cost, kind))) for i, each in enumerate(measured.starts) if each.cost is not None]
    if own:
        return slope([float(i) for i, _ in own], [level for _, level in own])
    costs = measured.sessions[int(len(measured.sessions) * WARM) :]
    each = max(1, round(len(costs) / GROUPS))
    levels = [float(getattr(cost, kind)) for cost in costs[::each]]
    return growth(levels, [float(each * SESSIONS_EACH)] * (len(levels) - 1))


def _leaks(measured: Measured) -> Iterator[tuple[str, str]]:
    run = measured.long_run
    found = grown(run, "rss")
    warm = run.batches[int(len(run.batches) * WARM) :]
    requests = sum(batch.count for batch in warm)
    steady = found is not None and found.low >= max(LEAST_LEAK, STEADY * found.value)
    if found is not None and steady and requests >= LEAST_REQUESTS and _both_halves(warm):
        told = f"{size(found.value)} a request (95 %: {size(found.low)} to {size(found.high)})"
        yield "leak", f"memory grows by {told}, over {requests} requests: a leak, or a cache that is not full yet"
    for kind, word in (("threads", "threads"), ("files", "open files")):
        more = grown(run, kind)
        if more is not None and more.low > 0 and more.value * 1000 >= 1:
            yield f"{kind}-leak", f"{word} grow by {more.value * 1000:.3g} in 1000 requests"


def _both_halves(batches: Sequence[Batch]) -> bool:
    """Whether the memory grew in the first and in the second half: what a cache takes comes to an end."""
    return _rises([batch.cost.rss for batch in batches])


def _rises(levels: Sequence[int]) -> bool:
    middle = len(levels) // 2
    rises = [half[-1] - half[0] for half in (levels[: middle + 1], levels[middle:]) if half]
    return len(rises) == 2 and sum(rises) >= LEAST_GROWN and min(rises) >= sum(rises) / 5


def _per_session(measured: Measured) -> Iterator[tuple[str, str]]:
    found: list[str] = []
    for kind, word in (("processes", "processes"), ("threads", "threads"), ("files", "open files")):
        more = lasting(measured, kind)
        if more is not None and more.low > 0.05 and "processes" not in found:  # these have threads and files
            found.append(kind)
            told = f"{more.value:.2g} {word} (95 %: {more.low:.2g} to {more.high:.2g})"
            yield f"session-{kind}", f"a session leaves {told} behind, over {measured.session_count} sessions"
    if not found:  # each of them takes memory
        yield from _session_memory(measured)
    left = [each.left for each in measured.starts if each.left]
    if left:
        often = f" ({len(left)} of {len(measured.starts)})" if len(left) > 1 else ""
        yield "left-behind", f"a session that ends leaves processes behind{often}: {left[0]}"


def _session_memory(measured: Measured) -> Iterator[tuple[str, str]]:
    more = lasting(measured, "rss")
    costs = measured.sessions[int(len(measured.sessions) * WARM) :]
    steady = more is not None and more.low >= max(LEAST_LEAK, STEADY * more.value)
    if more is not None and steady and len(costs) >= LEAST_LOOKS and _rises([cost.rss for cost in costs]):
        told = f"{size(more.value)} (95 %: {size(more.low)} to {size(more.high)})"
        kept = f"a session leaves {told} of memory behind, over {measured.session_count} sessions"
        yield "session-memory", f"{kept}: a leak, or what is kept until it expires"
    own = [each for each in measured.starts if each.cost is not None]
    if more is not None and own and more.low * len(own) >= LEAST_GROWN and more.low >= STEADY * more.value:
        told = f"{size(more.value)} (95 %: {size(more.low)} to {size(more.high)})"
        yield "session-memory", f"the process of each session takes {told} more than the one before, over {len(own)}"


# -- latency


def _slows(run: LongRun) -> Iterator[tuple[str, str]]:
    """Compares thirds of the long run, as they are and in units of the bare loop: both must say so."""
    third = len(run.batches) // 3
    if third < 3:
        return
    parts = [run.batches[:third], run.batches[third : 2 * third], run.batches[-third:]]
    plain = [[batch.pace for batch in part] for part in parts]
    fair = [[batch.pace / batch.bare for batch in part if batch.bare] for part in parts]
    middles = [median(each) for each in plain]
    first = ratio(plain[0], plain[2])
    if first is None or first.low < SLOWER or not MIDWAY * middles[0] < middles[1] < middles[2]:
        return
    if median(fair[2]) < SLOWER * median(fair[0]):
        return
    number = run.batches[-1].before + run.batches[-1].count
    told = f"{first.value:.2g} times as long (95 %: {first.low:.2g} to {first.high:.2g})"
    yield "slows", f"answers take {told} in the last third of {number} requests as in the first"


def _stalls(run: LongRun) -> Iterator[tuple[str, str]]:
    """Answers that take far longer than usual, at regular distances.

    Those that come now and then are in the percentiles: they may as well be due to what else the machine does.
    """
    least, times = STALL
    late = [i for i, (pace, seconds) in enumerate(run.latencies) if pace >= times and seconds >= least]
    period = _period(late, len(run.latencies))
    if period:
        took = median(run.latencies[i][1] for i in late)
        yield "stalls", f"every {period}th answer takes about {took * 1000:.3g} ms, which others do not"


def _period(late: Sequence[int], number: int) -> int:
    """The distance at which nearly all of `number` answers are late, and few others; 0 if there is none."""
    gaps = Counter(after - before for before, after in pairwise(late))
    for period, _ in gaps.most_common(TRIED):
        if period < SHORTEST:
            continue
        phase, there = Counter(i % period for i in late).most_common(1)[0]
        turns = len(range(phase, number, period))
        if turns >= TURNS and there >= REGULAR * turns and len(late) - there <= OTHERS * number:
            return period
    return 0


def _serialises(measured: Measured) -> Iterator[tuple[str, str]]:
    """Latency in proportion to the number in flight, of a server that does not compute meanwhile."""
    found: list[tuple[str, Cell, float]] = []
    asked = 0
    for operation in measured.operations:
        alone = measured.known(operation.name, 1)
        more = [
            cell
            for cell in measured.cells.values()
            if cell.operation == operation.name and cell.load >= IN_FLIGHT and cell.latencies
        ]
        if alone is None or len(alone.latencies) < ENOUGH or not more:
            continue
        usual = quantile(alone.latencies, 0.2)
        if usual < LEAST_WAIT or _computes(alone, more):
            continue
        asked += 1
        cell = max(more, key=lambda each: each.load)
        waits = quantile(cell.latencies, 0.5) / (cell.load * usual)
        if waits >= SERIAL and cell.rate <= NO_MORE * alone.rate:
            found.append((operation.name, cell, usual))
    if found:
        name, cell, usual = found[0]
        rest = f", and so do {len(found) - 1} of {asked - 1} others" if len(found) > 1 else ""
        yield (
            "serialises",
            f"requests wait for each other while the server hardly computes: {name} takes {usual * 1000:.3g} ms alone "
            f"and {quantile(cell.latencies, 0.5) * 1000:.3g} ms with {cell.load} in flight{rest}",
        )


def _computes(alone: Cell, more: Sequence[Cell]) -> bool:
    """Whether a server has reason to serve one after another: it computes.

    Where others keep the machine busy it computes only now and then, but for no shorter time in all.
    """
    if any(cell.cpu / cell.seconds > IDLE for cell in (alone, max(more, key=lambda each: each.load))):
        return True
    cells = [alone, *more]
    each = sum(cell.cpu for cell in cells) / sum(len(cell.latencies) for cell in cells)
    return each > COMPUTED * alone.latencies[0]


def _drops(measured: Measured) -> Iterator[tuple[str, str]]:
    """From how many in flight on requests go unanswered."""
    number = sum(cell.wrong[LOST] for cell in measured.cells.values())
    one_by_one = measured.long_run.wrong[LOST]
    number += one_by_one + sum(step.block.wrong[LOST] for step in measured.steps)
    lost = sorted({1} if one_by_one else {cell.load for cell in measured.cells.values() if cell.wrong[LOST]})
    if number and not lost:
        yield "drops", f"{number} requests at fixed times were not answered in time"
    if not lost:
        return
    fine = max(
        (c.load for c in measured.cells.values() if c.blocks and not c.wrong[LOST] and c.load < lost[0]), default=0
    )
    below = f"; with {fine} all were answered" if fine else ""
    yield "drops", f"{number} requests were not answered in time, from {lost[0]} in flight on{below}"


def _wrong(measured: Measured) -> Iterator[tuple[str, str]]:
    """What else went wrong, while each request alone was answered well."""
    blocks = [(cell.load, cell.wrong) for cell in measured.cells.values()]
    blocks += [(0, step.block.wrong) for step in measured.steps] + [(1, measured.long_run.wrong)]
    statuses = sorted({kind for _, wrong in blocks for kind in wrong if kind.startswith(HTTP)})
    refusals = [(kind, "refused", f"requests refused with {kind}{REFUSALS.get(kind, '')}") for kind in statuses]
    for kind, symptom, words in (*WRONGS, *refusals):
        number = sum(wrong[kind] for _, wrong in blocks)
        loads = [load for load, wrong in blocks if wrong[kind] and load]
        if number and not (kind == ENDED and measured.lost):
            first = f", from {min(loads)} in flight on" if loads and min(loads) > 1 else ""
            yield symptom, f"{words}: {number}{first}"


def _differs(measured: Measured) -> Iterator[tuple[str, str]]:
    """Valid answers that are not the one that an operation has before and after: a cache may do that, too."""
    for name, (number, usual) in measured.seldom.items():
        were = "answer was" if number == 1 else "answers were"
        yield "differs", f"{number} {were} not the one that {usual} others were, before and after: {name}"


def size(number: float) -> str:
    """Bytes for people."""
    for unit, each in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if abs(number) >= each:
            return f"{number / each:.3g} {unit}"
    return f"{number:.3g} B"
