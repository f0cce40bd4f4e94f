"""The engine: plan → run → confirm. A generator of events; the only one."""

from __future__ import annotations

import queue
import shlex
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Literal

from conformance import events
from conformance.cases import Case
from conformance.checks import cases, checks, judged_by_invariants, probes
from conformance.connections import Connections
from conformance.detection import Attempt, attempts, discard, judge_offers
from conformance.invariants import load_invariants
from conformance.ledger import Ledger
from conformance.model import (
    Finding,
    Frame,
    Fuzzing,
    Judged,
    Limits,
    Report,
    Requirement,
    Run,
    Target,
    Verdict,
)
from conformance.plan import isolated, plan
from conformance.requirements import applies, load
from conformance.revisions import BY_DATE, Revision
from conformance.selection import CAMPAIGNS, Selection, SelectionError, select, without_campaigns
from conformance.session import NotSpoken, Session
from conformance.survey import CallPolicy
from conformance.transports import StartError
from conformance.units import SESSION_CASES, SURVEY, Stage, State, Workshop
from conformance.verdicts import Facts, counts, exit_status, judge, stands


class UsageError(Exception):
    """The user asked for something that cannot be; one line."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose. `revisions` empty means every revision that the target speaks, `("newest",)` one."""

    revisions: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    call_tools: Literal["none", "safe", "all"] = "safe"
    named_tools: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    jobs: int = 6
    fail_on: str = "violation"
    trace: bool = False
    confirm: bool = True
    fuzzing: Fuzzing = field(default_factory=Fuzzing)


QUIET_STARTS = 4
"""A window of silence lasts that many times as long as the target takes to start, at most `limits.quiet`."""

INTERRUPTED = "the run was interrupted"


class Runner:
    """Tests one target. `run` yields events to the end; `report` may be asked at any time, also after an interrupt."""

    def __init__(self, target: Target, options: Options) -> None:
        unknown = [d for d in options.revisions if d not in BY_DATE and d != "newest"]
        if unknown:
            known = ", ".join([*BY_DATE, "newest"])
            raise UsageError(f"unknown revision {unknown[0]}; there are {known}")
        self.target = target
        self.options = options
        self.requirements = load()
        self.selection = self._select()
        self._judging: dict[str, tuple[str, ...]] = {}
        for case in self.selection.cases:
            for requirement in case.requirements:
                self._judging[requirement] = (*self._judging.get(requirement, ()), case.id)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._states: list[State] = []
        self._notes: list[str] = []
        self._problem = ""
        self._complete = False
        self._events: queue.SimpleQueue[events.Event | None] = queue.SimpleQueue()
        self._connections = Connections(target, options.limits, options.jobs, self._watch if options.trace else None)
        self._workshop = Workshop(self._connections, load_invariants(), probes())

    # -- the straight line

    def run(self) -> Iterator[events.Event]:
        """Everything, in order. Whatever happens, no process is left behind when it ends or is closed."""
        yield events.Started(self.target)
        pool = ThreadPoolExecutor(self.options.jobs, thread_name_prefix="mcp-conform")
        try:
            yield from self._detect(pool)
            yield from self._test(pool)
            if self.options.confirm:
                yield from self._confirm(pool)
            self._complete = True
        finally:
            if not self._complete:
                self._seal()
            self._connections.close()
            pool.shutdown(cancel_futures=True)
        yield events.Finished(self.report())

    def _seal(self) -> None:
        """The run is cut short: servers are about to be ended under their sessions, which is no fault of theirs."""
        self._connections.refuse()
        for state in self._states:
            with state.lock:
                for ledger in state.ledgers:
                    ledger.sealed = True

    def report(self) -> Report:
        """What has been learned so far."""
        from conformance import __version__

        runs = tuple(self._conclude(state) for state in self._states)
        report = Report(
            target=self.target,
            version=__version__,
            started=self._started,
            seconds=time.monotonic() - self._began,
            complete=self._complete,
            runs=runs,
            exit=0,
            notes=tuple(self._notes),
            problem=self._problem,
            counts=counts(runs),
        )
        return replace(report, exit=exit_status(report, self.options.fail_on))

    @property
    def effort(self) -> tuple[int, int]:
        """Processes started and requests made so far."""
        return self._connections.started, self._connections.requests

    def spent(self) -> dict[str, float]:
        """Seconds spent in each case, over all runs; cases of different units overlap in time."""
        total: dict[str, float] = {}
        for state in self._states:
            for case, took in state.seconds.items():
                total[case] = total.get(case, 0.0) + took
        return total

    # -- detect

    def _detect(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        options = self.options
        failed: list[Attempt] = []
        for tried in attempts(options.revisions, self.target.transport, self._begin, options.limits, pool):
            if tried.spoken and not self._wanted(tried.revision):
                discard(tried)
            elif tried.spoken and tried.stage is not None:
                self._states.append(self._state(tried))
                session = tried.stage.session
                yield events.RevisionFound(tried.revision.date, session.transport.name, session.server)
            else:
                failed.append(tried)
                yield events.RevisionAbsent(tried.revision.date, tried.reason)
        self._states.sort(key=lambda state: state.revision.date)
        spoken = tuple(state.revision.date for state in self._states)
        for state in self._states:
            state.spoken = spoken
        if self._states:
            self._connections.listen_for(QUIET_STARTS * max(state.startup for state in self._states))
        if not self._states:
            judge_offers(failed)
        for tried, ledger in zip(failed, pool.map(discard, failed), strict=True):
            if not self._states and ledger.findings:
                self._states.append(self._failed_state(tried, ledger))
            self._notes.append(f"{tried.revision.date} is not spoken: {tried.reason}")
        insisted = [d for d in options.revisions if d != "newest" and d not in spoken]
        if not spoken:
            self._problem = _untestable(failed)
        elif insisted:
            self._problem = f"the server does not speak {', '.join(insisted)}"

    def _wanted(self, revision: Revision) -> bool:
        wanted = self.options.revisions
        return not wanted or wanted == ("newest",) or revision.date in wanted

    def _begin(self, revision: Revision) -> Stage:
        return self._workshop.stage(revision, {}, Ledger(), own_process=False)

    def _state(self, tried: Attempt) -> State:
        assert tried.stage is not None
        session = tried.stage.session
        state = State(
            tried.revision,
            session.transport.name,
            CallPolicy(self.options.call_tools, self.options.named_tools),
            startup=tried.seconds,
            fuzzing=self.options.fuzzing,
            server=session.server,
            main=tried.stage,
        )
        state.ledgers.append(tried.stage.ledger)
        return state

    def _failed_state(self, tried: Attempt, ledger: Ledger) -> State:
        """A run that never began, but whose opening already broke something."""
        transport = self.target.transport
        state = State(tried.revision, transport, CallPolicy(), ledgers=[ledger])
        state.blocked_by = f"the session could not be opened: {tried.reason}"
        return state

    # -- run

    def _test(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        todo: list[Callable[[], object]] = []
        total = 0
        for state in self._states:
            if state.main is None:
                continue
            state.survey = self._workshop.survey(state, state.main)
            units = plan(self.selection.cases, state)
            total += sum(len(unit) for unit in units)
            for unit in units:
                todo.append(self._job(state, unit, state.main if unit is units[0] else None))
            self._connections.expect(sum(1 for unit in units[1:] if isolated(unit)))
        yield events.Planned(total)
        yield from self._work(pool, todo)

    def _job(self, state: State, unit: tuple[Case, ...], stage: Stage | None) -> Callable[[], object]:
        def tell(case: str, outcome: str, seconds: float) -> None:
            self._events.put(events.CaseEnded(state.revision.date, state.transport, case, outcome, seconds))

        def job() -> None:
            self._workshop.play(state, unit, tell, stage)

        return job

    def _work(self, pool: ThreadPoolExecutor, todo: Iterable[Callable[[], object]]) -> Iterator[events.Event]:
        jobs = [pool.submit(job) for job in todo]
        for job in jobs:
            job.add_done_callback(self._ended)
        ended = 0
        while ended < len(jobs):
            event = self._events.get()
            if event is None:
                ended += 1
            else:
                yield event
        for job in jobs:
            job.result()

    def _ended(self, _job: Future[object]) -> None:
        self._events.put(None)

    # -- confirm

    def _confirm(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        """Put each case that failed to the test again, alone, on a fresh server."""
        todo: list[Callable[[], object]] = []
        known = {case.id: case for case in self.selection.cases}
        for state in self._states:
            failed = {
                f.case
                for ledger in state.ledgers
                for f in ledger.findings
                if f.confirmed is None and self._reported(f)  # a campaign has put its own to the test again
            }
            for identifier in sorted(failed):
                todo.append(self._again(state, identifier, known.get(identifier)))
        if not todo:
            return
        yield events.Confirming(len(todo))
        self._connections.expect(len(todo))
        yield from self._work(pool, todo)

    def _reported(self, finding: Finding) -> bool:
        return finding.requirement in self.selection.requirements

    def _again(self, state: State, identifier: str, case: Case | None) -> Callable[[], object]:
        def job() -> None:
            ledger = self._replay(state, identifier, case)
            back = {f.requirement for f in ledger.findings} if ledger is not None else set()
            for mine in state.ledgers:
                mine.confirm(identifier, back, stands)

        return job

    def _replay(self, state: State, identifier: str, case: Case | None) -> Ledger | None:
        if case is not None:
            return self._workshop.play(state, (case,), _tell_nobody, keep=False)
        ledger = Ledger()
        try:
            stage = self._workshop.stage(state.revision, {}, ledger, own_process=True)
        except StartError:
            return None
        with closing(stage), suppress(NotSpoken):
            stage.open()
            if identifier == SURVEY:
                self._workshop.survey(state, stage)
        return ledger

    # -- conclude

    def _conclude(self, state: State) -> Run:
        ledger = Ledger()
        for part in state.ledgers:
            ledger.merge(part)
        by = checks()
        facts = Facts(
            state.revision.date,
            state.transport,
            state.survey,
            ledger,
            self._judging,
            state.seconds,
            state.blocked_by or ("" if self._complete else INTERRUPTED),
        )
        verdicts = [
            self._with_command(judge(requirement, facts), state)
            for requirement in self._reportable(state)
            if requirement.id in by
        ]
        return Run(
            state.revision.date,
            state.revision.era,
            state.transport,
            state.server,
            state.survey.capabilities if state.survey else {},
            tuple(verdicts),
            sum(state.seconds.values()),
            tuple(ledger.tallies),
        )

    def _reportable(self, state: State) -> Iterator[Requirement]:
        for identifier, requirement in self.requirements.items():
            if (
                identifier in self.selection.requirements
                and not requirement.unobservable
                and applies(requirement, state.revision.date, state.transport)
            ):
                yield requirement

    def _with_command(self, judged: Judged, state: State) -> Judged:
        if judged.verdict is not Verdict.FAILED:
            return judged
        return replace(judged, reproduce=self._command(state, judged.findings[0].case))

    def _command(self, state: State, case: str) -> str:
        target, options = self.target, self.options
        words = ["mcp-conform"]
        if target.command:
            words += ["--server", shlex.join(target.command)]
        if target.url:
            words += ["--url", target.url]
        if options.call_tools != "safe":
            words += ["--call-tools", options.call_tools]
        for tool in options.named_tools:
            words += ["--call-tool", tool]
        if target.cwd:
            words += ["--cwd", target.cwd]
        if options.limits.answer != Limits().answer:
            words += ["--timeout", f"{options.limits.answer:g}"]
        if case.startswith(f"{CAMPAIGNS}/"):
            words += options.fuzzing.words
        # Values may be secret: a shell that has the variable fills it in.
        given = "".join(f'--env {shlex.quote(name)}="${name}" ' for name in target.env)
        given += "".join(f"--header {shlex.quote(name + ': …')} " for name in target.headers)
        return f"{shlex.join(words)} {given}" + shlex.join(["--revision", state.revision.date, "--only", case])

    # -- inside

    def _select(self) -> Selection:
        try:
            selected = select(
                cases(),
                self.requirements,
                self.options.only,
                self.options.skip,
                invariant=judged_by_invariants(),
                extra=SESSION_CASES,
            )
            return selected if self.options.fuzzing.examples else without_campaigns(selected)
        except SelectionError as error:
            raise UsageError(str(error)) from None

    def _watch(self, session: Session) -> _Tracer:
        return _Tracer(session, self._events)


class _Tracer:
    """Passes every frame of a session on as an event."""

    def __init__(self, session: Session, out: queue.SimpleQueue[events.Event | None]) -> None:
        self._session = session
        self._out = out

    def sent(self, frame: Frame) -> None:
        self._put(frame)

    def heard(self, frame: Frame, call: object) -> None:
        self._put(frame)

    def _put(self, frame: Frame) -> None:
        session = self._session
        name = f"{session.transport.name}-{id(session):x}"
        self._out.put(events.FrameSeen(session.revision.date, session.transport.name, name, frame))


def _tell_nobody(case: str, outcome: str, seconds: float) -> None:
    """Confirmation is not news."""


def _untestable(failed: list[Attempt]) -> str:
    if not failed:
        return "no revision of the specification was selected that this transport carries"
    fatal = next((tried for tried in failed if tried.fatal), None)
    if fatal is not None:
        return fatal.reason
    if len(failed) > 1 and all(tried.silent for tried in failed):
        return f"the server answers neither initialize nor server/discover: {failed[0].lost}"
    return "; ".join(f"{tried.revision.date}: {tried.reason}" for tried in failed[:2])
