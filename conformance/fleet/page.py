"""The table of all servers as one HTML page, `index.html`, which needs no network."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from conformance.fleet.summary import violations
from conformance.model import Json
from conformance.reporters.html.document import document
from conformance.reporters.words import shortened, visible

NAME = "index.html"
TEXT = 200
"""Characters of a name or a reason; the report of a server has the rest."""
NIGHTS = 5
"""Earlier runs that a row shows; the summary has more."""


@dataclass(frozen=True, slots=True)
class Row:
    """A server as the page has it. `link` is where its report is, "" without one. `trend` is for people, `change` the
    difference to the run before, None if there is none."""

    name: str
    version: str
    outcome: str
    reason: str
    violations: str
    warnings: str
    trend: str
    change: int | None
    coverage: str
    revisions: str
    seconds: float
    link: str


def as_html(summary: Json, link: Callable[[str], str]) -> str:
    """The page; `link` gives the address of the report of a key, seen from the page, "" if there is none."""
    rows = [_row(server, link(server["key"])) for server in summary["servers"]]
    nights = [*summary["earlier"], {"started": summary["started"], "counts": summary["counts"]}]
    return document(
        "conformance.fleet",
        "index",
        rows=rows,
        counts={outcome: number for outcome, number in summary["counts"].items() if number},
        total=f"{len(rows)} server{'s' * (len(rows) != 1)}",
        nights=nights[-30:],
        outcomes=list(summary["counts"]),
        started=summary["started"],
        complete=summary["complete"],
        sandbox=summary["sandbox"],
        options=_short(" ".join(summary["options"])),
        version=summary["tool"]["version"],
    )


def _row(server: Mapping[str, Json], link: str) -> Row:
    known, before = violations(server), server["trend"][-1] if server["trend"] else None
    told = [*server["trend"], known][-NIGHTS - 1 :]
    return Row(
        name=_short(server["name"]),
        version=_short(server["version"]),
        outcome=server["outcome"],
        reason=_short(server["reason"]),
        violations="" if known is None else str(known),
        warnings="" if known is None else str(len(server["broken"]["warning"])),
        trend=" ".join("–" if each is None else str(each) for each in told) if server["trend"] else "",
        change=None if known is None or before is None else known - before,
        coverage=f"{100 * server['tested'] // server['applicable']}" if server["applicable"] else "",
        revisions=_short(", ".join(server["revisions"])),
        seconds=server["seconds"],
        link=link,
    )


def _short(text: str) -> str:
    return visible(shortened(text, TEXT))
