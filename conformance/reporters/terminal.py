"""The report for people: with colours and progress on a terminal, plain lines in a pipe."""

from __future__ import annotations

import sys
from typing import TextIO

from rich.console import Console

from conformance.engine.events import (
    CaseEnded,
    Event,
    Finished,
    Noted,
    NotTested,
    Planned,
    RevisionAbsent,
    RevisionFound,
    Started,
)
from conformance.engine.options import Detail
from conformance.reporters.printing import PROBLEM, Paper
from conformance.reporters.progress import LifeLine, ProgressLine
from conformance.reporters.terminal_report import TerminalReport
from conformance.reporters.words import joined, shortened, visible

NAME = 100
"""Characters of what a server calls itself."""


class TerminalReporter:
    """Prints to `stream`, which is stdout if there is none.

    A progress line is shown on stdout or stderr, whichever is a terminal, else a line on stderr from time to time.
    """

    def __init__(self, detail: Detail = "usual", stream: TextIO | None = None) -> None:
        self._paper = Paper(detail, stream or sys.stdout)
        self._found: list[RevisionFound] = []
        self._absent: list[RevisionAbsent] = []
        self._progress: ProgressLine | LifeLine | None = None
        if self._paper.quiet:
            return
        if self._paper.terminal:
            self._progress = ProgressLine(self._paper.out)
        elif sys.stderr.isatty():
            self._progress = ProgressLine(Console(stderr=True))
        else:
            self._progress = LifeLine(sys.stderr)

    def consume(self, event: Event) -> None:
        """Show one event."""
        if self._progress is not None:
            self._progress.consume(event)
        if isinstance(event, RevisionFound):
            self._found.append(event)
        elif isinstance(event, RevisionAbsent):
            self._absent.append(event)
        else:
            if isinstance(event, Planned | Finished | Started | NotTested):
                self._spoken()
            if isinstance(event, Finished):
                TerminalReport(self._paper, event.report).print(event.unwritten)
            elif not self._paper.quiet:
                self._tell(event)

    def close(self) -> None:
        """Give the terminal back as it was. Idempotent."""
        if self._progress is not None:
            self._progress.close()

    # -- inside

    def _tell(self, event: Event) -> None:
        line = self._paper.line
        if isinstance(event, Started):
            line(f"mcp-conform tests {_target(event)}", "bold")
        elif isinstance(event, Noted):
            line(visible(event.text), "bright_black")
        elif isinstance(event, NotTested):
            line(f"mcp-conform cannot test {visible(event.name)}", "bold")
            line(f"  {visible(shortened(event.why, PROBLEM))}", "red")
        elif isinstance(event, CaseEnded) and self._paper.full:
            where = f"{event.revision} {event.transport}"
            line(f"  {where} {event.case}: {visible(event.outcome)} ({event.seconds:.3f} s)", "bright_black")

    def _spoken(self) -> None:
        """One line for all that is spoken, and one for each revision that was asked for in vain."""
        if self._found and not self._paper.quiet:
            server = self._found[-1].server
            who = " ".join(shortened(str(server.get(name, "")), NAME) for name in ("name", "version")).strip()
            dates = joined(list(dict.fromkeys(found.revision for found in self._found)))
            over = joined(list(dict.fromkeys(found.transport for found in self._found)))
            self._paper.line(f"  {f'{visible(who)} ' if who else ''}speaks {dates} over {over}", "green")
            for absent in self._absent:
                why = visible(shortened(absent.why, 300))
                self._paper.line(f"  does not speak {absent.revision}: {why}", "bright_black")
        self._found, self._absent = [], []


def _target(event: Started) -> str:
    target = event.target
    what = " at ".join(part for part in (" ".join(target.command), target.url) if part)
    return visible(f"{target.name}: {what}" if target.name else what)
