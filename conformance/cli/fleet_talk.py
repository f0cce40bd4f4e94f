"""What `fleet` says on stdout while it runs."""

from __future__ import annotations

import contextlib
import shlex
from pathlib import Path
from typing import Any

import click

from conformance.fleet.outcome import row_of
from conformance.fleet.reading import Listed
from conformance.fleet.run import Manner, Plan
from conformance.fleet.summary import violations
from conformance.model import Json, Severity
from conformance.reporters.words import counted, shortened, visible
from conformance.system.standard_streams import say


class Talk:
    """Says how a run goes on: a line for each server. What a server says is made visible."""

    def __init__(self, quiet: bool, number: int) -> None:
        self._quiet = quiet
        self._number = number
        self._done = 0

    def _say(self, text: str, **style: Any) -> None:
        with contextlib.suppress(OSError):  # that nobody reads stdout any more does not end a night's work
            click.secho(visible(shortened(text, 400)), **style)

    def plan(self, listed: Listed, plan: Plan, manner: Manner) -> None:
        """What will be done, and what cannot be, before anything runs."""
        for note in listed.notes:
            self._say(f"note: {note}")
        if not self._quiet:
            for entry in plan.impossible:
                self._say(f"{entry.name}: cannot be tested here: {entry.problem}", fg="yellow")
        where = f"by the workers of {manner.scheduler}" if manner.scheduler else f"{manner.workers} at a time"
        words = f"{_servers(len(plan.entries))} listed: {len(plan.todo)} to be tested {where}"
        words += f", {plan.finished} finished before" if plan.finished else ""
        words += f", {len(plan.impossible)} cannot be tested here" if plan.impossible else ""
        for number, what in (
            (plan.changed, "listed otherwise before"),
            (plan.unsettled, "not tested to the end under other limits, or in another sandbox or environment"),
        ):
            if number:
                one = number == 1
                words += f"; {number} {'was' if one else 'were'} {what}, and {'is' if one else 'are'} tested again"
        self._say(words)

    def ended(self, result: Json) -> None:
        """One line."""
        self._done += 1
        if self._quiet:
            return
        row = row_of(result)
        told = [counted(len(names), Severity(severity)) for severity, names in row["broken"].items() if names]
        told += [row["reason"]] if row["reason"] else []
        tail = f": {', '.join(told)}" if told else ""
        colour = {"passed": "green", "failed": "red"}.get(row["outcome"], "yellow")
        self._say(
            f"{self._done}/{self._number} {row['name']}: {row['outcome']}{tail} ({row['seconds']:g} s)", fg=colour
        )

    def died(self, name: str, deaths: int) -> None:
        """One line."""
        times = {1: "once", 2: "twice"}.get(deaths, f"{deaths} times")
        self._say(f"{name}: a worker died while it was tested ({times})", fg="yellow")

    def failed(self, why: str) -> None:
        """One line on stderr."""
        say(visible(why))

    def end(self, total: Json, folder: Path, interrupted: bool, again: bool) -> None:
        """The last lines."""
        if interrupted:
            how = "without --again " if again else ""
            self._say(f"Interrupted: this is what was learned until then. The same command {how}goes on from here.")
        counts = ", ".join(f"{number} {outcome}" for outcome, number in total["counts"].items() if number)
        self._say(f"{_servers(len(total['servers']))}: {counts}", bold=True)
        if total["earlier"]:
            self._say(f"Since the run of {total['earlier'][-1]['started']}: {_changes(total)}.")
        self._say(f"{shlex.quote(str(folder / 'index.html'))} is the table of them.")


def _changes(total: Json) -> str:
    """How many servers violate more rules than in the run before, or fewer."""
    pairs = [(row["trend"][-1], violations(row)) for row in total["servers"]]
    known = [now - before for before, now in pairs if before is not None and now is not None]
    counts = (
        (sum(each > 0 for each in known), "with more violations"),
        (sum(each < 0 for each in known), "with fewer"),
        (sum(before is not None and now is None for before, now in pairs), "not tested any more"),
    )
    told = [f"{_servers(number)} {what}" for number, what in counts if number]
    return ", ".join(told) or "no server has more violations, or fewer"


def _servers(number: int) -> str:
    return f"{number} server{'s' * (number != 1)}"
