"""Being told to stop: what the signals SIGINT, SIGTERM, SIGHUP and SIGQUIT do, and those of job control."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGBREAK") if hasattr(signal, name)
)
"""Those of them that this system has; SIGBREAK is Ctrl-Break on Windows."""

JOB_CONTROL = tuple(getattr(signal, name) for name in ("SIGTSTP", "SIGTTIN", "SIGTTOU") if hasattr(signal, name))
"""What a terminal stops a process with, Ctrl-Z and its like."""


class _Outcome:
    """Whether `interrupt` has raised, and whether the exit status is settled, so that it does nothing any more."""

    interrupted = False
    settled = False


@contextmanager
def taken_by(told: Callable[[], None]) -> Iterator[None]:
    """For a while each of the signals calls `told` in the main thread; afterwards what was before holds again.

    A signal that is ignored stays ignored, as nohup wants it. In another thread than the main one nothing changes.
    Without a terminal there is nobody who could have a stopped process go on: then those of JOB_CONTROL, which come of
    a server, do nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def handle(number: int, _frame: FrameType | None) -> None:
        if number in SIGNALS:
            told()

    taken = SIGNALS if _has_terminal() else (*SIGNALS, *JOB_CONTROL)
    before = {number: signal.getsignal(number) for number in taken}
    before = {number: handler for number, handler in before.items() if handler is not signal.SIG_IGN}
    try:
        for number in before:
            signal.signal(number, handle)
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _has_terminal() -> bool:
    """Whether a terminal controls this process."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except (OSError, AttributeError):
        return False
    return True


def interrupt() -> None:
    """Raise KeyboardInterrupt, unless the exit status is settled."""
    if not _Outcome.settled:
        _Outcome.interrupted = True
        raise KeyboardInterrupt


def caused(error: BaseException) -> bool:
    """Whether an exception comes of an interrupt. Python wraps what is raised while a class is being made."""
    return isinstance(error, KeyboardInterrupt) or _Outcome.interrupted


def swallowed() -> bool:
    """Whether `interrupt` has raised and the run goes on all the same; true once.

    Python ignores what is raised in a callback of a weak reference and in `__del__`, which it calls at any moment.
    """
    was, _Outcome.interrupted = _Outcome.interrupted, False
    return was


def ignored(unraisable: sys.UnraisableHookArgs) -> None:
    """Instead of `sys.unraisablehook`: says nothing of an interrupt that Python ignores, since it is not lost."""
    if not isinstance(unraisable.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(unraisable)


def settle(settled: bool = True) -> None:
    """All has been reported and only the end of the process is left: from now on `interrupt` does nothing."""
    _Outcome.settled = settled
