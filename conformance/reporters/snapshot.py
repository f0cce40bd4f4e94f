"""What the server offers in the newest revision that was tested, as JSON that is the same for the same server."""

from __future__ import annotations

from pathlib import Path

from conformance.compatibility import snapshot
from conformance.engine.events import Event, Finished, Surveyed
from conformance.reporters import json_report
from conformance.reporters.report_file import ReportFile


class SnapshotReporter:
    """Writes the snapshot when the run is finished; nothing if there was no survey, or the run was cut short."""

    def __init__(self, path: Path, _fail_on: str = "") -> None:
        self._file = ReportFile(path)
        self._newest: Surveyed | None = None

    def consume(self, event: Event) -> None:
        """Remember the newest survey; write in the end."""
        if isinstance(event, Surveyed) and (self._newest is None or event.revision >= self._newest.revision):
            self._newest = event
        elif isinstance(event, Finished) and event.report.complete and self._newest is not None:
            self._file.write(as_text(self._newest))

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def as_text(surveyed: Surveyed) -> str:
    """The snapshot as canonical JSON: sorted names, one member a line."""
    server = str(surveyed.server.get("name", ""))
    data = json_report.readable(snapshot.make(surveyed.revision, server, surveyed.survey))
    return json_report.as_text(data, sort_keys=True)
