"""The report as one HTML page for people: no network, and nothing that a server sent is markup or script."""

from conformance.reporters.html.page import HtmlReporter, as_html

__all__ = ["HtmlReporter", "as_html"]
