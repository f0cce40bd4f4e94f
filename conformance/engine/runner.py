"""The engine: plan → run → confirm. A generator of events; the only one."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from conformance.catalogue.mistakes import of_problem
from conformance.catalogue.requirements import load, near
from conformance.checks.invariants import load_invariants
from conformance.checks.ledger import Ledger
from conformance.checks.profiles import rules as profiles
from conformance.checks.registry import cases, probes
from conformance.engine import events, one_cause
from conformance.engine.candidates import attempts, usual
from conformance.engine.chosen import chosen
from conformance.engine.conclusion import Conclusion
from conformance.engine.confirmation import Confirmation
from conformance.engine.connections import Connections
from conformance.engine.detection import Attempt, discard, judge_offers, refuses_posts, untestable
from conformance.engine.frailty import controls
from conformance.engine.independence import mixes_clients
from conformance.engine.lanes import Lanes
from conformance.engine.options import JOBS, Options
from conformance.engine.own import Own
from conformance.engine.plan import plan, plan_locked
from conformance.engine.stage import OPENING, Stage
from conformance.engine.time_limit import TimeLimit, out_of_time
from conformance.engine.tracing import Tracer
from conformance.engine.units import State, Workshop
from conformance.engine.verdicts import NOT_ALL, counts, exit_status, mostly_left_out
from conformance.model import Finding, FindingKind, Report, Requirement, Target, UsageError
from conformance.revisions import ALL, BY_DATE, CHOICES, HTTP_SSE, NEWEST, Revision, is_custom
from conformance.session.session import Session
from conformance.survey.survey import CallPolicy, Survey
from conformance.target.process import LEFT_BEHIND
from conformance.transports.stdio import StdioTransport

INTERRUPTED = "the run was interrupted"


class Runner:
    """Tests one target. `run` yields events to the end; `report` may be asked at any time, also after an interrupt."""

    def __init__(
        self, target: Target, options: Options, ahead: StdioTransport | None = None, limit: TimeLimit | None = None
    ) -> None:
        """`ahead` is the target, if it was started already; `limit` one that is for several. Raises UsageError."""
        unknown = [d for d in options.revisions if d not in CHOICES]
        if unknown:
            raise UsageError(f"unknown revision {unknown[0]}; there are {', '.join(CHOICES)}")
        self.target = target
        self.options = options
        rules = profiles.chosen(options.profiles)
        self._advice = profiles.requirements(rules)
        own = options.own or Own()
        self.requirements = {**load(), **self._advice, **own.requirements}
        self.cases = (*cases(), *own.cases)
        self._controls = [each for each in self.cases if each.control and (target.command or options.harmful)]
        self._limit = limit or TimeLimit(options.time_limit)
        self._untried: tuple[str, ...] = ()
        self._notes: list[str] = []
        if options.selected is not None:
            self.selection = options.selected
        else:
            self.selection, self._notes = chosen(self.cases, self.requirements, options, ours=bool(target.command))
        self._began = time.monotonic()
        self._started = datetime.now(UTC).isoformat(timespec="seconds")
        self._states: list[State] = []
        self._ahead = 0
        self._problem = self._cut_off = ""
        self._mixing: Finding | None = None
        self._complete = self._stopped = False
        self._events: queue.SimpleQueue[events.Event | None] = queue.SimpleQueue()
        watch = self._watch if options.trace else None
        self._connections = Connections(target, options.limits, options.jobs or JOBS, watch)
        self._connections.begin_with(ahead)
        self._connections.answers = options.answers
        self._connections.patience.confirms = options.confirm
        self._workshop = Workshop(self._connections, load_invariants(), probes(), rules, self.requirements, self._limit)
        self._conclusion = Conclusion(target, self.selection, self.requirements, self._advice, own.requirements)
        self._confirmation = Confirmation(self._workshop, self.selection, options.quick, bool(self._advice))

    # -- the straight line

    def run(self) -> Generator[events.Event, None, None]:
        """Everything, in order. Whatever happens, no process is left behind when it ends or is closed."""
        yield events.Started(self.target)
        yield from map(events.Noted, self._notes)
        pools = [ThreadPoolExecutor(self.options.jobs or JOBS, thread_name_prefix="mcp-conform")]
        limit = self._limit
        limit.begin()
        try:
            with limit.ending(self.stop):
                yield from self._detect(pools[0])
                yield from (self._noted(note) for note in self._connections.grants)
                pools += [pool := ThreadPoolExecutor(self.options.jobs or self._connections.at_once)]
                yield from self._test(pool)
                if cut := self._connections.patience.over:
                    self._cut_off = cut
                    yield self._noted(f"not every case was played to its end: {cut}")
                one_cause.settle(self._states, self._workshop.severity)
                if self.options.confirm:
                    yield from self._confirm(pool)
                if away := self._connections.kept_away():
                    yield self._noted(away)
            self._complete = not self._stopped and not limit.reached
        finally:
            if not self._complete:
                self._seal()
            self._connections.close(hurry=not self._complete)
            for pool in pools:
                pool.shutdown(cancel_futures=True)
        found = {finding.message for state in self._states for ledger in state.ledgers for finding in ledger.findings}
        if (left := self._connections.left_behind()) and LEFT_BEHIND not in found:
            yield self._noted(left)
        yield events.Finished(self.report())

    def _noted(self, note: str) -> events.Noted:
        self._notes.append(note)
        return events.Noted(note)

    def teach(self, learn: Callable[[Mapping[str, str]], None]) -> None:
        """Have `learn` told of secrets that come up in the run: value → name."""
        self._connections.learn = learn

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

        late = out_of_time(self._limit) if self._limit.reached else ""
        options, cut = self._own_options(), "" if self._complete or late else INTERRUPTED
        runs = tuple(self._conclusion.run(state, options, cut, late) for state in self._states)
        lost = [reason for state in self._states for reason in state.lost]
        gone = next((state.gone for state in self._states if state.gone), "")
        if self._limit.reached:
            gone = self._limit.reason
        elif mostly_left_out(runs, self._cut_off):
            gone = self._cut_off
        problem = self._problem or (f"{NOT_ALL}: {gone}" if gone else "")
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
            untried=self._untried,
            fail_on=self.options.fail_on,
        )
        return replace(report, exit=exit_status(report, self.options.fail_on))

    def reportable(self, revision: str, transport: str) -> list[Requirement]:
        """The requirements on which a run in `revision` over `transport` gives a verdict, in catalogue order."""
        return list(self._conclusion.reportable(revision, transport))

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
        elsewhere: list[str] = []
        for tried in self._attempts(pool):
            if isinstance(tried, events.Noted):
                yield tried
            elif tried.spoken and not self._wanted(tried.revision):
                discard(tried)
            elif tried.spoken and options.within and tried.revision.date not in options.within:
                elsewhere.append(tried.revision.date)
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
        if is_custom(self.target.transport):
            yield self._noted(
                f"{self.target.transport} is a custom transport, which no revision defines: "
                "only what holds over every transport is tested"
            )
        self._states.sort(key=lambda state: state.revision.date)
        spoken = tuple(sorted([*elsewhere, *(state.revision.date for state in self._states)]))
        for state in self._states:
            state.spoken = spoken
        if self._states:
            self._connections.adapt(max(state.startup for state in self._states))
        if not spoken:
            judge_offers(failed)
        told: set[FindingKind] = set()
        for tried, ledger in zip(failed, pool.map(lambda tried: discard(tried, self._begin), failed), strict=True):
            if not spoken and {finding.kind for finding in ledger.findings} - told:
                self._states.append(self._failed_state(tried, ledger))
                told.update(finding.kind for finding in ledger.findings)
            self._notes.append(f"{tried.revision.date} is not spoken: {tried.reason}")
        if (
            not (spoken or self._states)
            and (locked := next((tried for tried in failed if tried.locked), None)) is not None
        ):
            self._states.append(self._locked_state(locked))
        if spoken and not options.revisions:
            there = [r.date for r in BY_DATE.values() if r.carried_by(self.target.transport)]
            self._untried = tuple(date for date in there if date not in {*spoken, *(t.revision.date for t in failed)})
        insisted = [d for d in options.revisions if d in BY_DATE and d not in spoken]
        if self._mixing is not None and self.target.command:
            yield self._noted(f"{self._mixing.message}, so that each session was given a server of its own")
            for state in self._states:
                state.ledgers[0].found(self._mixing)
        if not spoken:
            self._problem = self._problem or untestable(failed)
        elif insisted:
            self._problem = f"the server does not speak {', '.join(insisted)}"

    def _attempts(self, pool: ThreadPoolExecutor) -> Iterator[Attempt | events.Noted]:
        """Where messages are refused at a URL, HTTP+SSE is tried, as the specification has it for clients."""
        held: list[Attempt] | None = [] if self.target.may_be_older else None
        for tried in self._over(pool):
            if held is not None and not tried.spoken:
                held.append(tried)
                continue
            yield from held or ()
            held = None
            yield tried
        refused = held is not None and (not held or refuses_posts(held))
        if refused and not self._stopped and self._connections.tells_endpoint():
            for tried in held or ():
                discard(tried)
            self._connections.carry_by(HTTP_SSE)
            self.target = self._connections.target
            self._conclusion = replace(self._conclusion, target=self.target)
            yield self._noted("GET opens a stream at the URL that tells where messages are posted: it is HTTP+SSE")
            yield from self._over(pool)
        else:
            yield from held or ()

    def _over(self, pool: ThreadPoolExecutor) -> Iterator[Attempt]:
        if self._connections.one_stream_at_url and not self._connections.alone:
            once = mixes_clients(self._connections, OPENING)
            self._mixing = once and mixes_clients(self._connections, OPENING, fresh=bool(self.target.command))
            self._connections.alone = self._mixing is not None and bool(self.target.command)
        if self._mixing is not None and not self.target.command:
            self._problem = f"{self._mixing.message}: give the command, too, so that each gets a server of its own"
            return iter(())
        wanted = self.options.revisions or usual(self.target.transport)
        return attempts(wanted, self.target.transport, self._begin, self.options.limits, pool)

    def _wanted(self, revision: Revision) -> bool:
        wanted = self.options.revisions
        return not wanted or bool({NEWEST, ALL, revision.date} & set(wanted))

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

    def _locked_state(self, tried: Attempt) -> State:
        """A run in which nobody knows what the server speaks, so that nothing weighs more than a warning."""
        state = State(tried.revision, self.target.transport, CallPolicy(), ledgers=[Ledger()], locked=True)
        state.blocked_by = "the server asks for authorization"
        return state

    # -- run

    def _test(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        todo: list[Callable[[], object]] = []
        total = 0
        lanes = Lanes(self._workshop, self._events.put)
        self._connections.patience.revisions = len(self._states)
        for state in self._states:
            if state.locked:
                todo += [lanes.job(state, unit, None) for unit in plan_locked(self.selection.cases, state)]
            if state.main is None:
                continue
            state.survey = self._workshop.survey(state, state.main)
            self._look_ahead()
            yield events.Surveyed(state.revision.date, state.transport, state.server, state.survey)
            yield from (events.Noted(f"{state.revision.date}: {why}") for why in state.survey.cut)
            units = plan(self.selection.cases, state)
            state.planned = tuple(case.id for unit in units for case in unit)
            total += len(state.planned)
            for unit in units:
                todo.append(lanes.job(state, unit, state.main if unit is units[0] else None))
            self._connections.expect(len(units) - 1)
        total = total or len(todo)
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

    def _work(self, pool: ThreadPoolExecutor, todo: Iterable[Callable[[], object]]) -> Iterator[events.Event]:
        jobs = [pool.submit(job) for job in todo]
        for job in jobs:
            job.add_done_callback(lambda _: self._events.put(None))
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

    # -- confirm

    def _confirm(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        """Put what failed to the test again, on fresh servers: violations alone, with --quick everything on one.

        What does not come back so is played with all that had been played before it, several times.
        """
        self._connections.be_patient()
        yield from self._work(pool, controls(self._workshop, self._controls, self._states, self.selection.requirements))
        yield from self._try_again(pool)
        yield from self._try_again(pool) if one_cause.unsettle(self._states) else ()

    def _try_again(self, pool: ThreadPoolExecutor) -> Iterator[events.Event]:
        again = self._confirmation
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

    # -- inside

    def _own_options(self) -> Options:
        """The options without what was said about other targets."""
        if not self.options.shared:
            return self.options
        listed = self.listed("tool")
        return replace(self.options, mentions=tuple(m for m in self.options.mentions if m.name in listed))

    def _watch(self, session: Session) -> Tracer:
        return Tracer(session, self._events.put)
