"""The line that shows on a terminal how far the run has come; it goes away when the run is over."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn

from conformance.engine.events import CaseEnded, Confirming, Event, Finished, Planned, RevisionFound, Started


class ProgressLine:
    """Shows a spinner, what is going on, and how many cases are done."""

    def __init__(self, console: Console) -> None:
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[tally]}", markup=False),
            console=console,
            transient=True,
        )
        self._task: TaskID | None = None
        self._done, self._total = 0, 0

    def consume(self, event: Event) -> None:
        """Move on."""
        if isinstance(event, Started):
            self._begin("starting the server")
            self._progress.start()
        elif isinstance(event, Finished):
            self.close()
        elif self._task is None:
            return
        elif isinstance(event, RevisionFound):
            self._progress.update(self._task, description=f"{event.revision} is spoken")
        elif isinstance(event, Planned):
            self._done, self._total = 0, event.total
            self._progress.update(self._task, description="testing", total=event.total)
        elif isinstance(event, Confirming):
            self._begin(f"testing {event.count} failures again, on fresh servers")
        elif isinstance(event, CaseEnded):
            self._done += 1
            what = f"{event.revision} {event.case.partition('/')[0]}"
            self._progress.update(self._task, description=what, advance=1, tally=f"{self._done}/{self._total} cases")

    def _begin(self, what: str) -> None:
        """Something of which nobody knows how long it takes."""
        if self._task is not None:
            self._progress.remove_task(self._task)
        self._task = self._progress.add_task(what, total=None, tally="")

    def close(self) -> None:
        """Take the line away and show the cursor. Idempotent."""
        self._progress.stop()
