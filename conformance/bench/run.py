"""One call of `bench`: one server, or two in turns; what was learned so far can be asked for at any time."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from conformance import __version__
from conformance.bench.bounds import Bound, check_known, judged
from conformance.bench.clock import ENDS, STARTS, STUCK, Clock, Stopped
from conformance.bench.comparison import compared, machines
from conformance.bench.plan import Plan
from conformance.bench.program import Program
from conformance.bench.report import FORMAT, of_bare, of_machine, of_plan, of_server
from conformance.bench.subject import NOT_TO_BE_HAD, Subject, Untestable
from conformance.model import Json, Target
from conformance.transports import StartError

LABELS = ("A", "B")
INTERRUPTED = "the run was interrupted"
OVERDUE = "time ran out in the middle of it: a longer --duration may measure more"
KEPT, BROKEN, UNTESTED = 0, 1, 3
"""Exit statuses: nothing is amiss, a bound is broken, not everything could be measured."""


class Measurement:
    """`targets` is one server, or two that are compared. `tell` is told in a few words what is measured now."""

    def __init__(
        self, targets: Sequence[Target], plan: Plan, bounds: Sequence[Bound], tell: Callable[[str], None]
    ) -> None:
        self._clock = clock = Clock(len(targets) * (STARTS * plan.options.limits.start + ENDS), plan.duration)
        self.subjects = [Subject(label, target, plan, clock) for label, target in zip(LABELS, targets, strict=False)]
        self._plan = plan
        self._bounds = tuple(bounds)
        self._tell = tell
        self._program: Program | None = None
        self._problem = ""
        self._complete = False
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._machine = of_machine()

    def teach(self, learn: Callable[[Mapping[str, str]], None]) -> None:
        """Have `learn` told of secrets that come up: value → name."""
        for subject in self.subjects:
            subject.teach(learn)

    def run(self) -> None:
        """Everything. No process is left behind, whatever happens. Raises UsageError."""
        hurry = True
        try:
            for subject in self.subjects:
                self._tell("starting the server" if len(self.subjects) == 1 else f"starting server {subject.label}")
                if not self._done(subject, subject.reach):
                    return
            self._clock.begin()
            for subject in self.subjects:
                if not self._done(subject, subject.prepare):
                    return
                check_known(self._bounds, subject.operations, self._plan.loads)
            self._program = Program(self.subjects, self._plan, self._clock, self._tell)
            self._program.run()
            self._complete, hurry = True, False
        except StartError as why:
            self._problem = "" if self._clock.stopped else f"the bare loop could not be started: {why}"
        except Stopped:
            pass  # whoever has stopped it knows why
        finally:
            self._close(hurry)

    def stop(self) -> None:
        """End everything that was started, at once; `run` returns then. Called from another thread."""
        self._clock.stop()
        for subject in self.subjects:
            subject.stop()
        if self._program is not None:
            self._program.bare.close()

    def left(self) -> float:
        """Seconds until it should have ended, negative if it should have already."""
        return self._clock.end + STUCK - time.monotonic()

    def _done(self, subject: Subject, step: Callable[[], None]) -> bool:
        """Whether the step could be done with the server; else the problem is noted. Raises Stopped."""
        try:
            step()
        except (Untestable, *NOT_TO_BE_HAD) as why:
            self._clock.check()
            self._problem = str(why) if len(self.subjects) == 1 else f"server {subject.label}: {why}"
            return False
        return True

    def _close(self, hurry: bool) -> None:
        if self._program is not None:
            self._program.bare.close()
        for subject in self.subjects:
            subject.close(hurry)

    @property
    def overdue(self) -> str:
        """Why it did not come to its end, where nobody interrupted it."""
        if self._clock.begun:
            return OVERDUE
        waited = time.monotonic() - self._clock.created
        return f"nothing could be measured in {waited:.0f} s; --start-timeout says how long the first answer may take"

    def report(self, old: Json = None, why: str = INTERRUPTED) -> Json:
        """What has been learned, as `schemas/bench.json` describes it; compared with the report `old` if there is one.

        `why` it did not come to its end, if it did not. Of two servers the second is compared with the first.
        """
        program = self._program
        servers = [of_server(subject, program.bare) for subject in self.subjects] if program is not None else []
        bounds = [{**row, "server": server["label"]} for server in servers for row in judged(self._bounds, server)]
        problem = self._problem or ("" if self._complete else why)
        lost = next((server["lost"] for server in servers if server["lost"]), "")
        unmeasured = [row["bound"] for row in bounds if row["state"] == "not measured"]
        if not problem and lost:
            problem = f"not all could be measured: {lost}"
        if not problem and unmeasured:
            problem = f"nothing was measured that --bound {unmeasured[0]} is about; a longer --duration may do so"
        broken = any(row["state"] == "broken" for row in bounds)
        comparison = None
        if len(servers) > 1:
            comparison = compared(servers[0], servers[1], "server A, what server B does")
        elif old is not None and servers:
            comparison = compared(old["servers"][0], servers[0], f"the run of {old['started']}")
        report = {
            "bench": FORMAT,
            "version": __version__,
            "started": self._started,
            "seconds": time.monotonic() - self._clock.created,
            "complete": self._complete,
            "problem": problem,
            "exit": BROKEN if broken else UNTESTED if problem else KEPT,
            "machine": self._machine,
            "plan": of_plan(self._plan),
            "servers": servers,
            "bare": of_bare(program.bare) if program is not None else {"loads": []},
            "bounds": bounds,
            "comparison": comparison,
        }
        if comparison is not None and old is not None:
            comparison["notes"] += machines(old, report)
        return report
