"""The engine: plan → run → confirm. A generator of events; the only one."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from conformance import events
from conformance.cases import Case
from conformance.checks import cases, checks, judged_by_invariants, probes
from conformance.confirmation import Confirmation
from conformance.connections import Connections
from conformance.detection import Attempt, attempts, discard, judge_offers, untestable
from conformance.folklore import explained, of_problem
from conformance.invariants import load_invariants
from conformance.ledger import Ledger
from conformance.model import Frame, Judged, Kind, Report, Requirement, Run, Target, Verdict
from conformance.options import Options, UsageError
from conformance.own import Own
from conformance.plan import plan
from conformance.profiles import rules as profiles
from conformance.reproduction import command
from conformance.requirements import applies, load, near
from conformance.revisions import CHOICES, Revision
from conformance.selection import Selection, SelectionError, quick, select, without_campaigns
from conformance.session import Session
from conformance.survey import CallPolicy, Survey
from conformance.target import LEFT_BEHIND
from conformance.transports.stdio import StdioTransport
from conformance.units import CLOSING, OPENING, SESSION_CASES, SURVEY, Stage, State, Workshop
from conformance.verdicts import Facts, counts, exit_status, in_order, judge

INTERRUPTED = "the run was interrupted"


class Runner:
    """Tests one target. `run` yields events to the end; `report` may be asked at any time, also after an interrupt."""

    def __init__(self, target: Target, options: Options, ahead: StdioTransport | None = None) -> None:
        """`ahead` is the target, if it was started already. Raises UsageError."""
        unknown = [d for d in options.revisions if d not in CHOICES]
        if unknown:
            raise UsageError(f"unknown revision {unknown[0]}; there are {', '.join(CHOICES)}")
        self.target = target
        self.options = options
        try:
            rules = profiles.chosen(options.profiles)
        except profiles.UnknownProfile as error:
            raise UsageError(f"--profile: {error}") from None
        self._advice = profiles.requirements(rules)
        own = options.own or Own()
        self._own = frozenset(own.requirements)
        self.requirements = {**load(), **self._advice, **own.requirements}
        self.cases = (*cases(), *own.cases)
        self._notes: list[str] = []
        self.selection = self._select()
        self._judging: dict[str, tuple[str, ...]] = {}
        for case in self.selection.cases:
            for requirement in case.requirements:
                self._judging[requirement] = (*self._judging.get(requirement, ()), case.id)
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._states: list[State] = []
        self._ahead = 0
        self._problem = ""
        self._complete = False
        self._stopped = False
        self._events: queue.SimpleQueue[events.Event | None] = queue.SimpleQueue()
        self._connections = Connections(target, options.limits, options.jobs, self._watch if options.trace else None)
        self._connections.begin_with(ahead)
        self._connections.answers = options.answers
        self._workshop = Workshop(self._connections, load_invariants(), probes(), rules)
        self._confirmation = Confirmation(self._workshop, self.selection, options.quick, bool(self._advice))

    # -- the straight line

    def run(self) -> Generator[events.Event, None, None]:
        """Everything, in order. Whatever happens, no process is left behind when it ends or is closed."""
        yield events.Started(self.target)
        yield from map(events.Noted, self._notes)
        pool = ThreadPoolExecutor(self.options.jobs, thread_name_prefix="mcp-conform")
        try:
            yield from self._detect(pool)
            yield from self._test(pool)
            if self.options.confirm:
                yield from self._confirm(pool)
            self._complete = not self._stopped
        finally:
            if not self._complete:
                self._seal()
            self._connections.close(hurry=not self._complete)
            pool.shutdown(cancel_futures=True)
        found = {finding.message for state in self._states for ledger in state.ledgers for finding in ledger.findings}
        if (left := self._connections.left_behind()) and LEFT_BEHIND not in found:
            self._notes.append(left)
            yield events.Noted(left)
        yield events.Finished(self.report())

    def stop(self) -> None:
        """Have the run end early: nothing is written down any more, and the servers are ended under their sessions.

        To be called from another thread than the one that iterates over `run`.
        """
        self._stopped = True
        self._seal()
        self._connections.close(hurry=True)

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
        lost = [reason for state in self._states for reason in state.lost]
        gone = next((state.gone for state in self._states if state.gone), "")
        problem = self._problem or (f"not all could be tested: {gone}" if gone else "")
        diagnosis, hint = of_problem(problem) if problem else ("", "")
        report = Report(
            target=self.target,
            version=__version__,
            started=self._started,
            seconds=time.monotonic() - self._began,
            complete=self._complete,
            runs=runs,
            exit=0,
            notes=(*self._notes, *([f"{len(lost)} times a case met this: {lost[0]}"] if lost else [])),
            problem=problem,
            diagnosis=diagnosis,
            hint=hint,
            counts=counts(runs),
            fail_on=self.options.fail_on,
        )
        return replace(report, exit=exit_status(report, self.options.fail_on))

    @property
    def effort(self) -> tuple[int, int]:
        """Processes started and requests made so far."""
        return self._connections.started, self._connections.requests

    @property
    def survey(self) -> Survey | None:
        """What the target offers in the newest revision that was tested; None if no session could be opened."""
        return next((state.survey for state in reversed(self._states) if state.survey is not None), None)

    def listed(self, kind: Literal["tool", "prompt"]) -> set[str]:
        """The names of the tools or prompts that the target lists, over all revisions."""
        surveys = [state.survey for state in self._states if state.survey is not None]
        return {str(item.get("name")) for s in surveys for item in (s.tools if kind == "tool" else s.prompts)}

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
            elif not self._stopped:
                failed.append(tried)
                yield events.RevisionAbsent(tried.revision.date, tried.reason)
        if self._stopped:
            return
        self._states.sort(key=lambda state: state.revision.date)
        spoken = tuple(state.revision.date for state in self._states)
        for state in self._states:
            state.spoken = spoken
        if self._states:
            self._connections.adapt(max(state.startup for state in self._states))
        if not self._states:
            judge_offers(failed)
        told: set[Kind] = set()
        for tried, ledger in zip(failed, pool.map(lambda tried: discard(tried, self._begin), failed), strict=True):
            if not spoken and {finding.kind for finding in ledger.findings} - told:
                self._states.append(self._failed_state(tried, ledger))
                told.update(finding.kind for finding in ledger.findings)
            self._notes.append(f"{tried.revision.date} is not spoken: {tried.reason}")
        insisted = [d for d in options.revisions if d != "newest" and d not in spoken]
        if not spoken:
            self._problem = untestable(failed)
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
            self.options.policy,
            self.options.samples,
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
            self._look_ahead()
            yield events.Surveyed(state.revision.date, state.transport, state.server, state.survey)
            units = plan(self.selection.cases, state)
            state.planned = tuple(case.id for unit in units for case in unit)
            total += len(state.planned)
            for unit in units:
                todo.append(self._job(state, unit, state.main if unit is units[0] else None))
            self._connections.expect(len(units) - 1)
        self._check_mentions()
        yield events.Planned(total)
        yield from self._work(pool, todo)

    def _check_mentions(self) -> None:
        """Raises UsageError for a tool or prompt that the user named and the target does not list in any revision."""
        for mention in self.options.mentions if self.survey is not None else ():
            names = self.listed(mention.kind)
            if mention.name not in names and not self.options.shared:
                there = f"there are {', '.join(sorted(names)[:10])}" if names else f"it lists no {mention.kind}"
                hint = near(mention.name, names) or f"; {there}"
                raise UsageError(f"{mention.where}: the server has no {mention.kind} {mention.name!r}{hint}")

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
                if isinstance(event, events.CaseEnded):
                    self._look_ahead()
                yield event
        for job in jobs:
            job.result()

    def _ended(self, _job: Future[object]) -> None:
        self._events.put(None)

    # -- confirm

    def _confirm(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        """Put what failed to the test again, on fresh servers: each case alone, with --quick all on one.

        What does not come back so is played with all that had been played before it, several times.
        """
        again = self._confirmation
        self._connections.be_patient()
        while todo := [job for state in self._states for job in again.jobs(state)]:
            yield events.Confirming(len(todo))
            self._connections.expect(max(0, len(todo) - self._ahead))
            self._ahead = 0
            yield from self._work(pool, todo)
        if todo := [job for state in self._states for job in again.replays(state)]:
            yield events.Confirming(len(todo))
            yield from self._work(pool, todo)

    def _look_ahead(self) -> None:
        """Have the servers that will confirm started while cases are still played."""
        if self.options.confirm and not self._confirmation.played:
            needed = sum(map(self._confirmation.needed, self._states))
            self._connections.expect(max(0, needed - self._ahead))
            self._ahead = max(needed, self._ahead)

    # -- conclude

    def _conclude(self, state: State) -> Run:
        ledger = Ledger()
        for part in state.ledgers:
            ledger.merge(part)
        ledger.arrange((OPENING, SURVEY, *state.planned, CLOSING))
        by = checks()
        facts = Facts(
            state.revision.date,
            state.transport,
            state.survey,
            ledger,
            self._judging,
            state.seconds,
            state.blocked_by or ("" if self._complete else INTERRUPTED),
            self.options.softened,
        )
        verdicts = [
            self._completed(judge(requirement, facts), state)
            for requirement in self._reportable(state)
            if requirement.id in by or requirement.id in self._advice or requirement.id in self._own
        ]
        return Run(
            state.revision.date,
            state.revision.era,
            state.transport,
            state.server,
            state.survey.capabilities if state.survey else {},
            in_order(verdicts, [finding.requirement for finding in ledger.findings]),
            sum(state.seconds.values()),
            self.target.name,
            tuple(ledger.tallies),
            state.survey.left_out if state.survey else {},
        )

    def _reportable(self, state: State) -> Iterator[Requirement]:
        for identifier, requirement in self.requirements.items():
            if (
                identifier in self.selection.requirements
                and not requirement.unobservable
                and applies(requirement, state.revision.date, state.transport)
            ):
                yield requirement

    def _completed(self, judged: Judged, state: State) -> Judged:
        """With the command that shows the failure again, and what probably is behind it."""
        if judged.verdict is not Verdict.FAILED:
            return judged
        first = judged.findings[0]
        advice = judged.requirement.id in self._advice
        shown_by = (judged.requirement.id,) if advice else (*first.after, first.case)
        findings = tuple(map(explained, judged.findings))
        return replace(
            judged,
            findings=findings,
            reproduce=command(self.target, self._own_options(), state.revision.date, *shown_by),
        )

    # -- inside

    def _own_options(self) -> Options:
        """The options without what was said about other targets."""
        if not self.options.shared:
            return self.options
        listed = self.listed("tool")
        return replace(self.options, mentions=tuple(m for m in self.options.mentions if m.name in listed))

    def _select(self) -> Selection:
        try:
            selected = select(
                self.cases,
                self.requirements,
                self.options.only,
                self.options.skip,
                invariant=judged_by_invariants(),
                extra=SESSION_CASES,
            )
            if self.options.quick:
                asked = len(selected.requirements)
                selected = quick(selected, judged_by_invariants())
                left = asked - len(selected.requirements)
                self._notes.append(f"--quick left out {left} requirements that one session cannot tell at once")
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
