"""The report as Markdown at the end of the summary of a step of GitHub Actions, which others write to as well."""

from __future__ import annotations

from pathlib import Path

from conformance.engine.events import Event, Finished
from conformance.reporters.markdown import LIMIT, as_markdown
from conformance.system.github_actions import SUMMARY
from conformance.system.standard_streams import say, why

ALL = 1024 * 1024
"""Bytes that GitHub takes of one step; of a longer summary it takes nothing."""


class StepSummary:
    """Appends the report when the run is finished. What cannot be written is told on stderr, and fails nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def consume(self, event: Event) -> None:
        """Append the report, as much of it as there is room for."""
        if not isinstance(event, Finished):
            return
        try:
            with self._path.open("ab") as file:
                room = ALL - file.tell() - 2
                text = as_markdown(event.report, min(room, LIMIT))
                if text:
                    file.write(f"\n{text}\n".encode())
        except OSError as error:
            say(f"{SUMMARY}: {self._path} could not be written: {why(error)}; the report is left out there")
            return
        if not text:
            say(f"{SUMMARY}: the summary of this step is full; the report is left out")

    def close(self) -> None:
        """Nothing is held."""
