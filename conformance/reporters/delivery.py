"""Brings every event to every reporter, each by itself: one that fails does not take the others with it."""

from __future__ import annotations

import contextlib
import traceback
from dataclasses import replace

from conformance.engine.events import Event, Finished
from conformance.engine.verdicts import EXIT_UNTESTED
from conformance.model import Report
from conformance.reporters import Reporter
from conformance.reporters.masking import masked
from conformance.system.standard_streams import silence, why
from conformance.target.mask import Mask

TERMINAL = "the report on stdout"


class Delivery:
    """Reporters are told everything in the order in which they were added, with the secrets taken out.

    `lost` has a sentence for each report that could not be written, `bugs` a traceback for each reporter of ours that
    failed.
    """

    def __init__(self, mask: Mask) -> None:
        self._reporters: dict[str, Reporter] = {}
        self._mask = mask
        self.lost: list[str] = []
        self.bugs: list[str] = []

    def add(self, name: str, reporter: Reporter) -> None:
        """One more reporter, by the name of what it writes, such as `--json: report.json`; the terminal's is last."""
        self._reporters[name] = reporter

    def tell(self, event: Event) -> None:
        """Pass on an event of the run. Raises BrokenPipeError once nobody reads the terminal's report any more."""
        event = masked(self._mask, event)
        for name in tuple(self._reporters):
            self._tell(name, event)

    def finish(self, report: Report) -> Report:
        """Have everybody write the report; it comes back with the exit status that holds after that."""
        report = masked(self._mask, report)
        for name in tuple(self._reporters):
            unwritten = bool(self.lost or self.bugs)
            with contextlib.suppress(BrokenPipeError):
                self._tell(name, Finished(replace(report, exit=EXIT_UNTESTED) if unwritten else report, unwritten))
            if name != TERMINAL:
                self._close(name)
        return replace(report, exit=EXIT_UNTESTED) if self.lost or self.bugs else report

    def close(self) -> None:
        """Have everybody release what is held. Idempotent."""
        for name in tuple(self._reporters):
            self._close(name)

    # -- inside

    def _tell(self, name: str, event: Event) -> None:
        reporter = self._reporters.get(name)
        if reporter is None:
            return
        try:
            reporter.consume(event)
        except BrokenPipeError as error:
            self._drop(name, error)
            if name == TERMINAL:
                raise
        except Exception as error:
            self._drop(name, error)

    def _close(self, name: str) -> None:
        reporter = self._reporters.pop(name, None)
        if reporter is None:
            return
        try:
            reporter.close()
        except Exception as error:
            self._note(name, error)

    def _drop(self, name: str, error: Exception) -> None:
        """Note why a reporter failed, once, and ask nothing more of it."""
        self._note(name, error)
        reporter = self._reporters.pop(name)
        with contextlib.suppress(Exception):
            reporter.close()
        if name == TERMINAL:
            silence()

    def _note(self, name: str, error: Exception) -> None:
        if isinstance(error, BrokenPipeError) and name == TERMINAL:
            return  # as with `| head`
        if isinstance(error, OSError):
            self.lost.append(f"{name} could not be written: {why(error)}")
        else:
            self.bugs.append(traceback.format_exc())
