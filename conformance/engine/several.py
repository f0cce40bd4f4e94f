"""Several servers, tested one after another by the one engine, in one report."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime

from conformance import __version__
from conformance.engine import events
from conformance.engine.options import ClientConfig, Options
from conformance.engine.runner import INTERRUPTED, Runner
from conformance.engine.time_limit import TimeLimit
from conformance.engine.verdicts import EXIT_UNTESTED, counts, worst
from conformance.model import Report, Target


class Several:
    """Tests the servers of a client configuration. To be used like a Runner; raises UsageError like one."""

    def __init__(self, config: ClientConfig, options: Options) -> None:
        self._config = config
        self._fail_on = options.fail_on
        options = replace(options, shared=len(config.servers) > 1)
        self._limit = TimeLimit(options.time_limit)
        self._unlisted = set(options.mentions)
        # All of them now: what is wrong with the options is told before anything is started.
        self._waiting = [
            Runner(
                server.target,
                replace(options, named_by=("--config", config.path, "--name", server.name)),
                limit=TimeLimit(options.server_time_limit, self._limit),
            )
            for server in config.servers
            if not server.problem
        ]
        if not self._waiting:
            Runner(Target(config=config.path), options)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._current: Runner | None = None
        self._reports: dict[str, Report] = {}
        self._complete = False
        self._stopped = False

    def run(self) -> Iterator[events.Event]:
        """Everything, server by server. Whatever happens, no process is left behind when it ends or is closed."""
        for note in self._config.notes:
            yield events.Noted(note)
        for server in self._config.servers:
            if server.problem:
                yield events.NotTested(server.name, server.problem)
        while self._waiting and not self._stopped:
            self._current = self._waiting.pop(0)
            with closing(self._current.run()) as told:
                for event in told:
                    if isinstance(event, events.Finished):
                        self._reports[self._current.target.name] = event.report
                    else:
                        yield event
            self._unlisted -= {m for m in self._unlisted if m.name in self._current.listed(m.kind)}
            self._current = None
        self._complete = not self._stopped and not self._limit.reached
        for note in self._not_listed():
            yield events.Noted(note)
        yield events.Finished(self.report())

    def stop(self) -> None:
        """Have the run end early: the server that is tested is stopped, the others are not begun. See Runner.stop."""
        self._stopped = True
        if self._current is not None:
            self._current.stop()

    def _not_listed(self) -> list[str]:
        """A tool that nobody has was misspelt, perhaps: silence would look like success."""
        mentions = sorted(self._unlisted, key=lambda m: m.name) if self._reports else []
        return [f"{m.where}: no server that was tested has a {m.kind} {m.name!r}" for m in mentions]

    def report(self) -> Report:
        """What has been learned so far, of all servers."""
        parts = dict(self._reports)
        if self._current is not None:
            parts.setdefault(self._current.target.name, self._current.report())
        problems = {}
        cut = self._limit.reason if self._limit.reached else INTERRUPTED
        for server in self._config.servers:
            part = parts.get(server.name)
            if problem := server.problem or (cut if part is None else part.problem):
                problems[server.name] = problem
        several = [(name, note) for name, part in parts.items() for note in part.notes]
        unlisted = self._not_listed() if self._complete else []
        statuses = [part.exit for part in parts.values()]
        if problems or not self._complete:
            statuses.append(EXIT_UNTESTED)
        runs = tuple(run for part in parts.values() for run in part.runs)
        return Report(
            target=Target(config=self._config.path),
            version=__version__,
            started=self._started,
            seconds=time.monotonic() - self._began,
            complete=self._complete,
            runs=runs,
            exit=worst(statuses),
            notes=(*self._config.notes, *unlisted, *(f"{name}: {note}" for name, note in several)),
            problem="" if self._config.servers else "there is no server to test: all of them are disabled",
            counts=counts(runs),
            problems=problems,
            untried=tuple(sorted({date for part in parts.values() for date in part.untried})),
            fail_on=self._fail_on,
        )
