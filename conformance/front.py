"""From a plan to a run, its reports and an exit status."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from conformance.client_configs import ClientConfig
from conformance.events import Event, Finished
from conformance.fleet import Fleet
from conformance.masking import Mask
from conformance.options import Plan, UsageError
from conformance.processes import end_everything
from conformance.reporters import Reporter, to_file
from conformance.reporters.words import visible
from conformance.runner import Runner
from conformance.settings import WrongUse
from conformance.transports.stdio import StdioTransport

if TYPE_CHECKING:
    from typing import NoReturn


SHOW_CURSOR = b"\x1b[?25h"
NOTICE = b"\ninterrupted: ending the servers; interrupt again to leave at once\n"


Engine = Runner | Fleet


def carry_out(plan: Plan, ahead: StdioTransport | None = None) -> int:
    """Run, and report to everybody who is to know; the exit status. `ahead` is the target, if it was started already.

    Interrupted once, it ends the servers and reports what was learned; twice, it leaves at once. Raises WrongUse.
    """
    from conformance.reporters.terminal import TerminalReporter

    paths = [path.resolve() for path in plan.files.values()]
    if len(set(paths)) < len(paths):
        raise WrongUse("two reports cannot go to the same file")
    try:
        target = plan.target
        engine: Engine = (
            Fleet(target, plan.options) if isinstance(target, ClientConfig) else Runner(target, plan.options, ahead)
        )
    except UsageError as error:
        raise WrongUse(str(error)) from None
    with contextlib.ExitStack() as held:
        files: list[Reporter] = []
        for kind, path in plan.files.items():
            try:
                reporter = to_file(kind, path, plan.options.fail_on)
            except OSError as error:
                raise WrongUse(f"--{kind}: {path} cannot be written: {error.strerror}") from None
            held.callback(reporter.close)
            files.append(reporter)
        if plan.save_cases is not None:
            files.append(_found_cases(plan.save_cases))
        terminal = TerminalReporter(plan.verbose)
        held.callback(terminal.close)
        return _report(engine, Mask(plan.target.secrets), terminal, files)


def _found_cases(folder: Path) -> Reporter:
    from conformance.reporters.found_cases import FoundCases, Occupied

    try:
        return FoundCases(folder)
    except Occupied as error:
        raise WrongUse(f"--save-cases: {error}") from None
    except OSError as error:
        raise WrongUse(f"--save-cases: {folder} cannot be written: {error.strerror}") from None


def _report(engine: Engine, mask: Mask, terminal: Reporter, files: list[Reporter]) -> int:
    """Pass the events on. A terminal that went away ends the run, quietly; the files are still written."""
    listeners = [*files, terminal]
    last: Event | None = None
    events = engine.run()
    with _one_interrupt():
        try:
            for last in events:
                if not isinstance(last, Finished):
                    _tell(listeners, mask.event(last))
        except KeyboardInterrupt:
            pass
        except UsageError as error:
            raise WrongUse(mask.text(visible(str(error)))) from None
        except BrokenPipeError:
            listeners = files
        finally:
            _close(events)
    end = last if isinstance(last, Finished) else Finished(engine.report())
    try:
        _tell(listeners, mask.event(end))
    except BrokenPipeError:
        _silence()
    if terminal not in listeners:
        _silence()
    return end.report.exit


def _tell(listeners: Iterable[Reporter], event: Event) -> None:
    for listener in listeners:
        listener.consume(event)


def _close(events: Iterator[Event]) -> None:
    close = getattr(events, "close", None)
    if close is not None:
        close()


@contextlib.contextmanager
def _one_interrupt() -> Iterator[None]:
    """The first SIGINT or SIGTERM raises KeyboardInterrupt, the second kills the servers and ends the process."""

    def leave(_number: int, _frame: FrameType | None) -> NoReturn:
        end_everything()
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), SHOW_CURSOR)
        os._exit(130)

    def interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, leave)
        with contextlib.suppress(OSError):
            os.write(2, NOTICE)
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _silence() -> None:
    """Nobody reads stdout any more: what is left in its buffer goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
