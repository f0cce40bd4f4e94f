"""The report as one HTML page, which needs no network and says so in its Content-Security-Policy."""

from __future__ import annotations

from pathlib import Path

from conformance.engine.events import Event, Finished
from conformance.model import Report
from conformance.reporters.html import kinds
from conformance.reporters.html.document import document
from conformance.reporters.html.view import page_of
from conformance.reporters.report_file import ReportFile

PACKAGE = "conformance.reporters.html"


class HtmlReporter:
    """Writes the page when the run is finished."""

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        self._file = ReportFile(path)

    def consume(self, event: Event) -> None:
        """Write the page."""
        if isinstance(event, Finished):
            self._file.write(as_html(event.report, event.unwritten))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_html(report: Report, unwritten: bool = False) -> str:
    """The report as an HTML document; `unwritten` says that another report could not be written."""
    return document(PACKAGE, "page", page=page_of(report, unwritten), kinds=kinds)
