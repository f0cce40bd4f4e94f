"""Runs the engine in a thread of its own, while the main thread minds the signals."""

from __future__ import annotations

import contextlib
import math
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from typing import NoReturn, Protocol, Self

from conformance import __version__
from conformance.engine.events import Event, Finished
from conformance.engine.verdicts import EXIT_UNTESTED
from conformance.model import Report, Target, UsageError
from conformance.system import interrupts
from conformance.system.processes import end_everything

PATIENCE = 1.0
"""Seconds from the first signal until the servers are killed that have not ended."""
AFTERMATH = 0.3
"""Seconds from then until what has been learned is reported, whether the engine has ended or not."""
LAST = 1.0
"""Seconds from a signal until the process ends, once the reports are being written: somebody may not read them."""
MORE = 4.0
"""Seconds more as long as that goes on: a busy machine is no reason to lose a report."""
LITTLE = 0.001
"""Seconds of computing in LAST seconds, from which on it goes on."""

GRACE = 2.0
"""Seconds beyond its time limit in which the engine ends by itself."""

GLANCE = 0.1
"""Seconds between two looks for a signal."""

NOTICE = b"\ninterrupted: ending the servers; interrupt again to kill them\n"
SHOW_CURSOR = b"\x1b[?25h"
LEFT_AT_ONCE = 130

SIGNAL, OVER, TIME = "signal", "over", "time"


class Engine(Protocol):
    """What is supervised: a Runner, or Several of them."""

    def run(self) -> Iterator[Event]:
        """Everything, event by event; the last one is Finished."""

    def report(self) -> Report:
        """What has been learned so far."""

    def stop(self) -> None:
        """End the servers and begin nothing more. Called from another thread; may take as long as a server does."""


class Supervision:
    """Has work done in a thread of its own, which gets `limit` seconds, and GRACE more to end by itself.

    To be entered in the main thread. Interrupted once, or out of time, the work is to end in order; interrupted twice,
    or after PATIENCE seconds, the servers are killed.
    """

    def __init__(self, limit: float = math.inf) -> None:
        self._signals = 0
        self._limit = limit
        self._stopping = threading.Event()
        self._wakes: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._taken = interrupts.taken_by(self._signalled)
        self._reporting = False
        self._last = LAST
        self._clock = _clock_of_this_thread()
        self._alarm: threading.Timer | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        self._taken.__enter__()
        if interrupts.swallowed():
            self._signalled()
        return self

    def __exit__(self, *error: object) -> None:
        self._taken.__exit__(None, None, None)

    @property
    def interrupted(self) -> bool:
        """Whether there was a signal."""
        return self._signals > 0

    def carry_out(
        self, work: Callable[[], None], stop: Callable[[], None], left: Callable[[], float] | None = None
    ) -> bool:
        """Have `work` done; whether it came to its end. Else `stop` was called in yet another thread.

        `left` says how many seconds there are left, negative beyond the end, where the limit is not known beforehand.
        `work` may still be going on, if it did not end when it was told to.
        """
        end = time.monotonic() + self._limit
        left = left or (lambda: end - time.monotonic())
        self._thread = threading.Thread(target=self._carried_out, args=(work,), name="mcp-conform-engine", daemon=True)
        self._thread.start()
        while (first := self._next(GLANCE)) is TIME and left() > -GRACE:
            pass
        if first is not OVER:
            self._stop(stop, NOTICE if first is SIGNAL else b"")
        return first is OVER

    def wait(self, seconds: float) -> None:
        """Wait for the engine, which may have been told to stop, to have ended, for so long at most."""
        if self._thread is not None:
            self._thread.join(seconds)

    @contextlib.contextmanager
    def last_words(self, seconds: float = LAST) -> Iterator[None]:
        """While the reports are written a signal leaves so many seconds for that, and MORE while it goes on."""
        self._reporting, self._last = True, seconds
        if self._signals:
            self._set_alarm()
        yield
        self._reporting = False
        if self._alarm is not None:
            self._alarm.cancel()  # what is left does not wait for anybody
        if self._signals:
            end_everything()  # one may have been starting when the others were killed

    # -- inside

    def _signalled(self) -> None:
        """In the main thread, between any two of its steps."""
        self._signals += 1
        if self._reporting:
            self._set_alarm()
        self._wakes.put(SIGNAL)

    def _set_alarm(self) -> None:
        if self._alarm is None:
            end = time.monotonic() + self._last + MORE
            self._alarm = threading.Timer(self._last, self._leave_if_stuck, (end, self._clock()))
            self._alarm.daemon = True
            self._alarm.start()

    def _leave_if_stuck(self, end: float, computed: float) -> None:
        while time.monotonic() < end and (now := self._clock()) - computed > LITTLE and self._reporting:
            computed = now
            time.sleep(self._last)
        if self._reporting:
            _leave_at_once()

    def _carried_out(self, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            self._wakes.put(OVER)

    def _stop(self, stop: Callable[[], None], notice: bytes) -> None:
        with contextlib.suppress(OSError):
            os.write(2, notice)
        self._stopping.set()
        threading.Thread(target=stop, daemon=True).start()
        if self._next(PATIENCE) is not OVER:
            end_everything()
            while self._next(AFTERMATH) is SIGNAL:
                pass

    def _next(self, seconds: float = math.inf) -> str:
        """What comes first. The kernel may hand a signal to another thread, and then it does not wake this one."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                return self._wakes.get(timeout=min(left, GLANCE))
        return TIME


class Supervisor(Supervision):
    """Supervises an engine, whose time limit is in seconds.

    What has been learned is reported in any case, however often it is interrupted. `bugs` are tracebacks of what
    failed in the engine itself.
    """

    def __init__(self, engine: Engine, limit: float = math.inf) -> None:
        super().__init__(limit)
        self.bugs: list[str] = []
        self._engine = engine
        self._finished: Report | None = None
        self._usage: UsageError | None = None

    def run(self, tell: Callable[[Event], None]) -> Report:
        """Run to the end and pass on all events but the last. Raises UsageError; BrokenPipeError of `tell` ends it."""
        self.carry_out(lambda: self._work(tell), self._engine.stop)
        if self._usage is not None:
            raise self._usage
        return self._finished or self._learned()

    # -- inside

    def _work(self, tell: Callable[[Event], None]) -> None:
        try:
            with contextlib.closing(self._engine.run()) as events:  # type: ignore[type-var]
                for event in events:
                    if self._stopping.is_set():
                        return
                    if isinstance(event, Finished):
                        self._finished = event.report
                    else:
                        tell(event)
        except UsageError as error:
            self._usage = error
        except BrokenPipeError:
            pass  # nobody reads what `tell` says
        except Exception:
            if not self._stopping.is_set():
                self.bugs.append(traceback.format_exc())

    def _learned(self) -> Report:
        """What the engine knows. It may still be at work, if it did not end when it was told to."""
        for _ in range(3):
            try:
                return self._engine.report()
            except Exception:
                failure = traceback.format_exc()
        self.bugs.append(failure)
        why = "mcp-conform itself failed"
        return Report(Target(), __version__, "", 0.0, complete=False, runs=(), exit=EXIT_UNTESTED, problem=why)


def _clock_of_this_thread() -> Callable[[], float]:
    """How many seconds this thread has computed, for others to read; those of the process where that is not known."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.process_time
    clock = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(clock)


def _leave_at_once() -> NoReturn:
    end_everything()
    with contextlib.suppress(OSError, ValueError):
        if sys.stdout.isatty():
            os.write(sys.stdout.fileno(), SHOW_CURSOR)
    os._exit(LEFT_AT_ONCE)
