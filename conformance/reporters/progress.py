"""The line that shows on a terminal how far the run has come; it goes away when the run is over."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn

from conformance.events import CaseEnded, Confirming, Event, Finished, Planned, RevisionFound, Started


class ProgressLine:
    """Shows a spinner, what is going on, and how many cases are done."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._confirming = False

    def consume(self, event: Event) -> None:
        """Move on."""
        if isinstance(event, Started):
            self._task = self._progress.add_task("starting the server", total=None)
            self._progress.start()
        elif isinstance(event, Finished):
            self.close()
        elif self._task is None:
            return
        elif isinstance(event, RevisionFound):
            self._progress.update(self._task, description=f"{event.revision} is spoken")
        elif isinstance(event, Planned):
            self._progress.update(self._task, description="testing", total=event.total)
        elif isinstance(event, Confirming):
            self._confirming = True
            self._progress.update(
                self._task, description=f"confirming {event.count} on fresh servers", total=None, completed=0
            )
        elif isinstance(event, CaseEnded) and not self._confirming:
            area = event.case.partition("/")[0]
            self._progress.update(self._task, description=f"{event.revision} {area}", advance=1)

    def close(self) -> None:
        """Take the line away and show the cursor. Idempotent."""
        self._progress.stop()
