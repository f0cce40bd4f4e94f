"""How the terminal report is laid out: lines, prose that is wrapped, and how much of everything."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from conformance.engine.options import Detail
from conformance.model import Severity

STYLES = {Severity.VIOLATION: "bold red", Severity.WARNING: "yellow", Severity.ADVICE: "bright_black"}
WIDTH = 110
"""Columns of prose, also on wide terminals."""
PROBLEM = 1600
"""Characters of what kept a server from being tested."""
LISTED = 8
"""Names in one line."""

Word = tuple[str, str]
"""Text and its style."""


class _Out(Console):
    """A console that lets a reader who went away be noticed."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Paper:
    """What the report is printed on."""

    def __init__(self, detail: Detail, stream: TextIO) -> None:
        self.terminal = stream.isatty()
        self.out: Console = _Out(file=stream, markup=False, highlight=False, emoji=False, soft_wrap=True)
        self.quiet, self.full = detail == "quiet", detail == "full"

    def line(self, text: str, style: str = "") -> None:
        """One line."""
        self.out.print(Text(text, style))

    def words(self, *words: Word | str) -> None:
        """One line of words in several styles."""
        self.out.print(Text.assemble(*words))

    def prose(self, text: str, style: str = "") -> None:
        """Wrapped and indented on a terminal, one line in a pipe."""
        if self.terminal:
            width = min(self.out.width, WIDTH)
            self.out.print(Padding(Text(text, style), (0, 0, 0, 2)), width=width, soft_wrap=False)
        else:
            self.line(f"  {text}", style)

    def listed(self, names: Iterable[str]) -> str:
        """The names; only the first ones unless everything is shown."""
        names = list(names)
        if self.full or len(names) <= LISTED:
            return ", ".join(names)
        return f"{', '.join(names[:LISTED])} and {len(names) - LISTED} more"
