"""A badge for a README: what shields.io draws one from, as JSON, or an SVG of our own."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path

from conformance.engine.events import Event, Finished
from conformance.model import Json, Report, Severity, UsageError
from conformance.reporters.report_file import ReportFile
from conformance.reporters.summary import Bottom, bottom, broken_rules, in_full
from conformance.reporters.words import counted

LABEL = "MCP"
GREEN, YELLOW, RED, GREY = "brightgreen", "yellow", "red", "lightgrey"
HEX = {GREEN: "#2a7e19", YELLOW: "#8a6100", RED: "#c03524", GREY: "#6a6a6a"}
"""White on each of them has a contrast of at least 4.5."""
NARROW, WIDE, USUAL, SPACE = 4.0, 9.6, 6.6, 12.0
"""Pixels, at 11 px in a sans serif: of narrow and wide letters, of others, and beside the text."""


class BadgeReporter:
    """Writes the badge when the run is finished. Raises UsageError if the file is called neither .json nor .svg."""

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        writers = {".json": as_json, ".svg": as_svg}
        if path.suffix.lower() not in writers:
            raise UsageError(f"--badge: {path} must end in .json (for shields.io) or .svg (a picture)")
        self._writer = writers[path.suffix.lower()]
        self._file = ReportFile(path)

    def consume(self, event: Event) -> None:
        """Write the badge."""
        if isinstance(event, Finished):
            self._file.write(self._writer(event.report))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def words(report: Report) -> tuple[str, str]:
    """Message and colour. Green and yellow only if every rule that can be checked was asked for, to the end."""
    what, broken = bottom(report), broken_rules(report)
    revisions = sorted({run.revision for run in report.runs})
    where = ", ".join(revisions) if len(revisions) < 3 else f"{len(revisions)} revisions"
    if what is Bottom.UNTESTED or not where:
        return "not tested", GREY
    if what is Bottom.FAILS:
        failing = [counted(number, severity) for severity, number in broken.items()]
        return f"{where} · {failing[0]}", RED
    if what is Bottom.PARTLY or not all(map(in_full, report.runs)):
        return f"{where} · partly tested", GREY
    if warnings := broken.get(Severity.WARNING):
        return f"{where} · conforms, {counted(warnings, Severity.WARNING)}", YELLOW
    return f"{where} · conforms", GREEN


def as_json(report: Report) -> str:
    """What shields.io calls an endpoint; a badge that is not green keeps its colour whatever a page asks for."""
    message, color = words(report)
    data: dict[str, Json] = {"schemaVersion": 1, "label": LABEL, "message": message, "color": color}
    if color != GREEN:
        data["isError"] = True
    return json.dumps(data, ensure_ascii=False) + "\n"


def as_svg(report: Report) -> str:
    """Two boxes with text, which a screen reader reads as one picture; it needs no font but the reader's own."""
    message, color = words(report)
    left, right = round(_width(LABEL)), round(_width(message))
    title = escape(f"{LABEL}: {message}")
    texts = "".join(
        f'<text x="{x:g}" y="14" textLength="{wide - SPACE:g}">{escape(text)}</text>'
        for text, x, wide in ((LABEL, left / 2, left), (message, left + right / 2, right))
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img" aria-label="{title}">'
        f"<title>{title}</title>"
        f'<rect width="{left}" height="20" fill="#444"/>'
        f'<rect x="{left}" width="{right}" height="20" fill="{HEX[color]}"/>'
        '<g fill="#fff" text-anchor="middle" font-family="Verdana,DejaVu Sans,Geneva,sans-serif" font-size="11">'
        f"{texts}</g></svg>\n"
    )


def _width(text: str) -> float:
    wide = {**dict.fromkeys("fijlrtI.,:·' ", NARROW), **dict.fromkeys("mwMW", WIDE)}
    return SPACE + sum(wide.get(character, USUAL) for character in text)
