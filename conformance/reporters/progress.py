"""How far the run has come: a line on a terminal, which goes away when the run is over, or one from time to time."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import TextIO

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
            self._begin(_confirming(event.count))
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


class LifeLine:
    """Where there is no terminal: a line on `stream` every `period` seconds, so that nobody takes the run for hung."""

    def __init__(self, stream: TextIO, period: float = 10.0) -> None:
        self._stream = stream
        self._period = period
        self._over = threading.Event()
        self._began = time.monotonic()
        self._doing = "starting the server"
        self._done, self._total = 0, 0
        self._thread: threading.Thread | None = None

    def consume(self, event: Event) -> None:
        """Take note of what is going on."""
        if isinstance(event, Started):
            self._doing, self._done, self._total = "starting the server", 0, 0
            if self._thread is None:
                self._thread = threading.Thread(target=self._tell, daemon=True)
                self._thread.start()
        elif isinstance(event, Planned):
            self._doing, self._done, self._total = "testing", 0, event.total
        elif isinstance(event, Confirming):
            self._doing, self._total = _confirming(event.count), 0
        elif isinstance(event, CaseEnded):
            self._done += 1
        elif isinstance(event, Finished):
            self.close()

    def close(self) -> None:
        """Say nothing more. Idempotent."""
        self._over.set()

    def _tell(self) -> None:
        while not self._over.wait(self._period):
            cases = f", {self._done} of {self._total} cases done" if self._total else ""
            seconds = time.monotonic() - self._began
            with contextlib.suppress(OSError, ValueError):  # nobody reads it any more
                self._stream.write(f"mcp-conform: {self._doing}{cases} ({seconds:.0f} s)\n")
                self._stream.flush()


def _confirming(count: int) -> str:
    return f"testing {count} {'finding' if count == 1 else 'findings'} again, on fresh servers"
