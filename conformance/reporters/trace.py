"""Every frame of every session, as JSON lines, while the run goes on."""

from __future__ import annotations

import json
from pathlib import Path

from conformance.engine.events import Event, FrameSeen, Started
from conformance.reporters.report_file import opened
from conformance.system.github_actions import harmless

BYTES = 65536
"""Of a frame; the rest is left out."""


class TraceReporter:
    """Writes an object a line: where, number, origin, channel, at, case, text, and HTTP's status and headers.

    Of several servers each line says the name.
    """

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        self._file = opened(path)
        self._server: dict[str, object] = {}

    def consume(self, event: Event) -> None:
        """Write a frame."""
        if isinstance(event, Started):
            self._server = {"server": event.target.name} if event.target.name else {}
        elif isinstance(event, FrameSeen) and not self._file.closed:
            self._file.write(harmless(json.dumps(self._server | _row(event)) + "\n"))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _row(event: FrameSeen) -> dict[str, object]:
    from conformance.reporters.words import decoded

    frame = event.frame
    row: dict[str, object] = {
        "revision": event.revision,
        "transport": event.transport,
        "session": event.session,
        "number": frame.number,
        "origin": frame.origin,
        "channel": frame.channel,
        "at": round(frame.at, 6),
        "case": frame.case,
        "text": decoded(frame.data, BYTES),
    }
    if frame.status is not None:
        row["status"] = frame.status
    if frame.headers:
        row["headers"] = dict(frame.headers)
    return row
