"""What differs between two runs, or two servers, and what cannot be told from noise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from conformance.bench.estimates import certain, ratio
from conformance.model import Json

NOTABLE = 0.05
"""A difference of less than this part is not worth a word, however certain it is."""
MACHINES = 1.25
"""Where the bare loop takes so many times as long, the machine was another one, or busy with something else."""


class Pair(NamedTuple):
    """The medians of one operation with so many requests in flight, as they were and as they are."""

    operation: str
    in_flight: int
    old: list[float]
    new: list[float]


def compared(old: Json, new: Json, name: str) -> Json:
    """The rows of `comparison` in `schemas/bench.json`: what server `new` does differently from `old`.

    The blocks of a run lie apart in time, so that what the machine did meanwhile is in their spread: Welch's test on
    their logarithms, and the procedure of Benjamini and Hochberg over all pairs.
    """
    pairs = list(_pairs(old, new))
    found = [(pair, estimate) for pair in pairs if (estimate := ratio(pair.old, pair.new)) is not None]
    sure = certain([estimate.p for _, estimate in found])
    rows: list[Json] = []
    for (pair, estimate), differs in zip(found, sure, strict=True):
        notable = differs and abs(estimate.value - 1) >= NOTABLE
        state = "same" if not notable else "slower" if estimate.value > 1 else "faster"
        rows.append(
            {
                "operation": pair.operation,
                "in_flight": pair.in_flight,
                "ratio": estimate.value,
                "low": estimate.low,
                "high": estimate.high,
                "p": estimate.p,
                "state": state,
            }
        )
    order = {"slower": 0, "faster": 1, "same": 2}
    rows.sort(key=lambda row: order[row["state"]])
    return {"with": name, "rows": rows, "notes": list(_differences(old, new, len(pairs) - len(found)))}


def machines(old: Json, new: Json) -> list[str]:
    """What keeps two whole reports from being compared, as far as the machine goes."""
    before, after = ({cell["in_flight"]: cell["p50"] for cell in each["bare"]["loads"]} for each in (old, new))
    both = [load for load in before if before[load] and after.get(load)]
    if not both:
        return []
    times = after[both[0]] / before[both[0]]
    if 1 / MACHINES <= times <= MACHINES:
        return []
    return [
        f"the bare loop takes {times:.2f} times as long as then: another machine, or a busy one; "
        "the differences may be its own"
    ]


def _pairs(old: Json, new: Json) -> Iterator[Pair]:
    known = {
        (each["name"], cell["in_flight"], cell["sessions"]): cell["blocks"]
        for each in old["operations"]
        for cell in each["loads"]
    }
    for each in new["operations"]:
        for cell in each["loads"]:
            before = known.get((each["name"], cell["in_flight"], cell["sessions"]))
            if before is not None and cell["sessions"] == 1:
                yield Pair(each["name"], cell["in_flight"], before, cell["blocks"])


def _differences(old: Json, new: Json, untold: int) -> Iterator[str]:
    names = [[each["name"] for each in server["operations"]] for server in (old, new)]
    for there, here, words in ((names[0], names[1], "only before"), (names[1], names[0], "only now")):
        if missing := [name for name in there if name not in here]:
            yield f"measured {words}: {', '.join(missing)}"
    for member in ("revision", "transport"):
        if old[member] != new[member]:
            yield f"the {member} was {old[member]} and is {new[member]}"
    if untold:
        pairs = "1 pair was" if untold == 1 else f"{untold} pairs were"
        yield f"{pairs} measured too seldom to be compared; a longer --duration measures more"
