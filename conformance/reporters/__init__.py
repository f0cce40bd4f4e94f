"""Views of a run. A reporter consumes events and changes nothing of what they say."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from conformance.engine.events import Event
from conformance.tables import registered


class Reporter(Protocol):
    """Gets every event in order, then `close`, also after an interrupt."""

    def consume(self, event: Event) -> None:
        """Take note of one event."""

    def close(self) -> None:
        """Release what is held: files, the cursor of a terminal. Idempotent."""


REPORTERS = {
    "json": "json_report.JsonReporter",
    "junit": "junit.JunitReporter",
    "html": "html.HtmlReporter",
    "markdown": "markdown.MarkdownReporter",
    "sarif": "sarif.SarifReporter",
    "badge": "badge.BadgeReporter",
    "trace": "trace.TraceReporter",
    "snapshot": "snapshot.SnapshotReporter",
}
"""Reporters that write a file: the option's name → module and class; imported only when asked for."""


def to_file(kind: str, path: Path, fail_on: str) -> Reporter:
    """The reporter `kind`, writing to `path`. The file is opened at once: raises OSError if it cannot be written.

    Raises UsageError if the name of the file does not say what is to be written.
    """
    reporter: Reporter = registered(__name__, REPORTERS[kind])(path, fail_on)
    return reporter
