"""The report of a bench as one HTML page, which needs no network: tables, and plots as inline SVG."""

from __future__ import annotations

from conformance.model import Json
from conformance.reporters.bench import figures, plots
from conformance.reporters.html.document import document

PACKAGE = "conformance.reporters.bench"


def as_html(report: Json) -> str:
    """The report as an HTML document."""
    return document(PACKAGE, "bench", report=report, show=figures, plots=plots)
