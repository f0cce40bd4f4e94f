"""Units of work: cases played one after another on a session, with the invariants watching."""

from __future__ import annotations

import threading
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial

from conformance.catalogue.cases import Case
from conformance.checks.invariants import Invariant
from conformance.checks.invariants.structured import structured_tools
from conformance.checks.invariants.wire import SuiteError
from conformance.checks.ledger import Ledger, Mark
from conformance.checks.probes import Bench, Probe
from conformance.checks.profiles.checks import Offer
from conformance.checks.profiles.judge import judge
from conformance.checks.profiles.rules import Rule
from conformance.engine.connections import Connections
from conformance.engine.player import play
from conformance.engine.stage import OPENING, SURVEY, Stage, said
from conformance.engine.time_limit import TimeLimit, out_of_time
from conformance.engine.verdicts import severity_of
from conformance.model import Finding, FindingKind, Fuzzing, Json, Requirement, Severity
from conformance.revisions import BY_DATE, Revision
from conformance.session.messages import Unread
from conformance.session.session import NotSpoken, Session
from conformance.survey.survey import CallPolicy, Samples, Survey, Unavailable, take
from conformance.transports import StartError, Transport

AGAIN = "the server could not be reached again"
MOST_IN_VAIN = 8
"""Cases in a row in which the server ended the session twice, and at once: then it is no server to talk to."""


@dataclass(slots=True)
class State:
    """What is known about one run while it goes on; shared by its units.

    `ledgers` are those of all units, finished or not. `startup` is how long the first answer took, in seconds.
    `lost` are the reasons why sessions were ended by the server, `in_vain` counts the cases in a row that were ended so
    twice. `gone` is why nothing can be tested any more: too many of those, or a server that we did not start is away.
    `planned` are its cases in the order in which they are played. `slow_tools` took so long in some session that they
    are not worth another call where nothing weighty depends on it. `locked` means that the server asks for
    authorization, so that only that can be tested, in a revision that it may not speak. `told_by` are findings that
    gave way, each with the kind of the one that tells it and where it stood.
    """

    revision: Revision
    transport: str
    policy: CallPolicy
    samples: Samples = field(default_factory=Samples)
    spoken: tuple[str, ...] = ()
    startup: float = 1.0
    fuzzing: Fuzzing = field(default_factory=Fuzzing)
    survey: Survey | None = None
    server: Mapping[str, str] = field(default_factory=dict)
    ledgers: list[Ledger] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    blocked_by: str = ""
    lost: list[str] = field(default_factory=list)
    gone: str = ""
    planned: tuple[str, ...] = ()
    slow_tools: set[str] = field(default_factory=set)
    in_vain: int = 0
    locked: bool = False
    main: Stage | None = None
    told_by: list[tuple[FindingKind, Ledger, Finding]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


Report = Callable[[str, str, float], None]
"""Called after each case with its id, outcome and seconds."""


@dataclass(frozen=True, slots=True)
class Workshop:
    """What units need to be played: connections, checks, the rules for clients that the user named, and time.

    `requirements` says how much findings weigh. `sparing` means that tools which are known to take long are left out.
    """

    connections: Connections
    invariants: tuple[type[Invariant], ...]
    probes: Mapping[str, Probe]
    rules: tuple[Rule, ...] = ()
    requirements: Mapping[str, Requirement] = field(default_factory=dict)
    time_limit: TimeLimit = field(default_factory=TimeLimit)
    sparing: bool = False

    def severity(self, finding: Finding, state: State) -> Severity:
        """What a finding weighs: nothing but advice if its requirement is none in that revision."""
        requirement, revision = self.requirements.get(finding.requirement), state.revision.date
        if requirement is None or revision not in requirement.bases:
            return Severity.ADVICE
        return severity_of(requirement, revision, finding.ceiling)

    def stage(
        self,
        revision: Revision,
        client: Json,
        ledger: Ledger,
        own_process: bool,
        *,
        urgent: bool = False,
        beside: Transport | None = None,
    ) -> Stage:
        """A stage with a session that has said nothing yet. Raises StartError."""
        session = self.connections.session(revision, client, own_process=own_process, urgent=urgent, beside=beside)
        return Stage(session, ledger, self.invariants, self.connections)

    def survey(self, state: State, stage: Stage) -> Survey:
        """Take the survey on an open stage, and judge it by the rules for clients."""
        stage.enter(SURVEY)
        known = stage.ledger.mark()
        survey = take(stage.session, state.policy, state.samples)
        if stage.lost:
            stage.ledger.unlearn(known, said)
            state.lost.append(stage.lost)
            survey = self._survey_again(state) or survey
        _tell_of_tools(stage.session, survey)
        if self.rules:
            target = self.connections.target
            given = bool(target.env or target.headers)
            judge(
                self.rules,
                Offer(stage.session, survey, stage.took, given, lambda: self._bare(state.revision)),
                stage.ledger,
            )
        return survey

    def _survey_again(self, state: State) -> Survey | None:
        """In a new session, for the server has ended the other one meanwhile."""
        try:
            other = self.stage(state.revision, {}, Ledger(), own_process=False)
            other.open()
            survey = take(other.session, state.policy, state.samples)
            other.close()
        except (NotSpoken, StartError):
            return None
        return survey

    @contextmanager
    def _bare(self, revision: Revision) -> Iterator[Session]:
        """A session, not yet open, with a server that was given neither variables nor headers. Raises StartError."""
        connections = self.connections.bare()
        try:
            session = connections.session(revision)
            yield session
            session.close()
        finally:
            connections.close()

    def play(
        self, state: State, cases: Iterable[Case], tell: Report, stage: Stage | None = None, keep: bool = True
    ) -> Ledger:
        """Play `cases` on `stage` or on sessions of their own; the ledger of what was learned.

        A server that was hurt or died is replaced. With `keep` the ledger joins the state's ledgers at once,
        so that nothing is lost when the run is interrupted.
        """
        unit = _Unit(self, state, stage)
        if keep and stage is None:
            with state.lock:
                state.ledgers.append(unit.ledger)
        try:
            for case in cases:
                if keep and unit.leaves_out(case):
                    continue
                began = time.monotonic()
                outcome = unit.play(case)
                took = time.monotonic() - began
                state.seconds[case.id] = state.seconds.get(case.id, 0.0) + took
                tell(case.id, outcome, took)
        finally:
            unit.close()
        return unit.ledger


class _Unit:
    def __init__(self, workshop: Workshop, state: State, stage: Stage | None) -> None:
        self.workshop = workshop
        self.state = state
        self.stage = stage
        self.ledger = stage.ledger if stage is not None else Ledger()
        self._opened = stage is not None
        """Whether the server could be reached when it was last tried."""
        if stage is not None:
            self.ledger.sessions.append([])

    def play(self, case: Case) -> str:
        """Play a case; how it ended. If the server ends the session meanwhile, as it may, once more in a new one."""
        before = _marks(self.ledger)
        known = self.ledger.mark()
        lost = self._attempt(case)
        if not lost:
            self.state.in_vain = 0
        else:
            self.ledger.unlearn(known, said)
            self.state.lost.append(lost)
            others = len(self.ledger.sessions[-1]) > 1 if self.ledger.sessions else False
            if not case.harmful or others:
                lost = self._attempt(case)
            self.state.in_vain = self.state.in_vain + 1 if lost and self._in_vain() else 0
            if self.state.in_vain >= MOST_IN_VAIN:
                self.state.gone = lost
            if lost:
                self.ledger.unlearn(known, said)
                self._block(case, lost)
        outcome = _outcome(before, _marks(self.ledger))
        # A lane goes on as long as nothing has gone wrong in it.
        if not case.shares and (not case.lane or outcome in ("broken", "blocked") or self._violated(known)):
            self.close()
        return outcome

    def _violated(self, known: Mark) -> bool:
        """Whether there is a violation that was not known: what is less does not make the server another one."""
        new = self.ledger.new_since(known)
        return any(self.workshop.severity(finding, self.state) is Severity.VIOLATION for finding in new)

    def _attempt(self, case: Case) -> str:
        """Play it once; why a session was lost meanwhile, if one was."""
        others: list[Stage] = []
        try:
            stage = self._ready(case)
            known = self.ledger.mark()
            self.ledger.sessions[-1].append(case.id)
            stage.enter(case.id)
            play(case, self._bench(stage, others), self.workshop.probes)
            if case.isolation == "shared":
                stage.session.hear_out()
            if why := self._serves_no_more(stage, known):
                for call in stage.session.calls.values():
                    call.excused = True
                self.ledger.unlearn(known, lambda finding: finding.requirement not in case.requirements)
                self._block(case, f"{AGAIN}: {why}")
                return ""
            stage.session.judge()
            self.state.slow_tools |= stage.session.slow_tools
        except Unread as reason:
            for requirement in case.requirements:
                self.ledger.inconclusive(requirement, str(reason))
        except (NotSpoken, StartError) as reason:
            if isinstance(reason, NotSpoken) and reason.call is not None:
                # Another process of a server that runs only one at a time may wait for its turn.
                one = self.stage is None or self.stage.session.transport.process_per_session
                reason.call.excused |= one and not reason.call.answers
                if reason.call.refused and not self._opened and self.workshop.connections.target.command:
                    return f"{AGAIN}: {reason}"  # the server that others shared is gone: there will be another one
            self._block(case, f"{AGAIN}: {reason}")
            if not self._opened and not self.workshop.connections.target.command:
                self.state.gone = str(reason)
        except Unavailable as reason:
            for requirement in case.requirements:
                self.ledger.inconclusive(requirement, str(reason))
        except SuiteError as error:
            self._break(case, f"mcp-conform sent something wrong: {error}")
        except Exception:  # whatever goes wrong in a case is our bug and must not end the run
            self._break(case, traceback.format_exc(limit=-3))
        finally:
            for other in others:
                other.close()
        stages = others if self.stage is None else [self.stage, *others]
        return next((each.lost for each in stages if each.lost), "")

    def _serves_no_more(self, stage: Stage, known: Mark) -> str:
        """Why it is not to be blamed on what a session was sent that no result came, "" if it is.

        Some servers run only once at a time, or take one client: then no other session opens, either.
        """
        heard = [frame.message for frame in stage.session.trace if frame.origin == "target"]
        if self.state.survey is None:
            return ""  # none has ever opened
        if stage.session.opened or any(isinstance(message, dict) and "result" in message for message in heard):
            return ""
        if heard and len(self.ledger.findings) == len(known.findings):
            return ""
        try:
            other = self.workshop.stage(self.state.revision, {}, Ledger(), own_process=True, urgent=True)
            if not heard:  # all the time that there is was spent on that one
                other.session.limits = replace(other.session.limits, start=self.workshop.connections.short_start)
            try:
                other.open()
            finally:
                other.close()
        except (NotSpoken, StartError) as reason:
            answered = isinstance(reason, NotSpoken) and reason.call is not None and bool(reason.call.answers)
            # One that we cannot start again may have been ended by what it was sent.
            return str(reason) if answered or self.workshop.connections.target.command else ""
        return ""

    def leaves_out(self, case: Case) -> bool:
        """Whether there is no time left for it, which is written down."""
        if self.workshop.time_limit.forbids():
            for requirement in case.requirements:
                self.ledger.inconclusive(requirement, out_of_time(self.workshop.time_limit))
            return True
        why = self.workshop.connections.patience.over
        for requirement in case.requirements if why else ():
            self.ledger.inconclusive(requirement, f"{case.id} was left out: {why}")
        return bool(why)

    def _in_vain(self) -> bool:
        """Whether the session that was lost had brought nothing but its opening."""
        trace = self.stage.session.trace if self.stage is not None else ()
        return sum(f.origin == "target" and f.message is not None and (f.status or 200) < 300 for f in trace) < 2

    def close(self) -> None:
        if self.stage is not None:
            try:
                self.stage.close()
            except SuiteError as error:
                self.ledger.break_ours("jsonrpc/valid-messages", str(error))
            self.stage = None

    def _ready(self, case: Case) -> Stage:
        """A live stage for `case`, opened unless the case does that itself."""
        if self.stage is not None and case.open and self.stage.fit:
            session = self.stage.session
            if session.revision.era == "stateless":
                session.client = case.client  # each request says what its client can do
            if session.client == case.client:
                return self.stage
        self.close()
        self._opened = False
        self.ledger.case = OPENING
        # A client with capabilities looks at what tools change: no other session may change it meanwhile.
        own = case.isolation == "process" or case.harmful or (case.shares and bool(case.client))
        stage = self.workshop.stage(self.state.revision, case.client, self.ledger, own)
        self.stage = stage
        if self.workshop.sparing:
            stage.session.slow_tools |= self.state.slow_tools
        self.ledger.sessions.append([])
        if case.open:
            stage.open()
            self.state.gone = ""
        self._opened = True
        return stage

    def _bench(self, stage: Stage, others: list[Stage]) -> Bench:
        survey = self.state.survey or Survey({}, self.state.policy)

        def connect(
            *, revision: str | None = None, client: Json = None, open: bool = True, shared: bool = False
        ) -> Session:
            date = BY_DATE[revision] if revision else self.state.revision
            # Before units that have not begun: this one holds a server while it waits.
            beside = stage.session.transport if shared else None
            other = self.workshop.stage(date, client, self.ledger, not shared, urgent=True, beside=beside)
            # A campaign ends many servers and looks at them no more.
            for ended in [each for each in others if each.session.ending is not None and not each.lost]:
                ended.close()
                others.remove(ended)
            others.append(other)
            other.session.case = self.ledger.case
            other.session.slow_tools |= stage.session.slow_tools
            _tell_of_tools(other.session, survey)
            if open:
                other.session.open()
            return other.session

        _tell_of_tools(stage.session, survey)
        state = self.state
        bench = Bench(stage.session, survey, self.ledger, connect, state.spoken, state.startup, fuzzing=state.fuzzing)
        bench.target = self.workshop.connections.target_at(stage.session.transport.url)
        bench.web = stage.web
        if bench.target.oauth is not None:
            bench.grant = partial(self.workshop.connections.grant, stage.session.transport.url, bench.target.oauth)
        return bench

    def _leave(self, case: Case, why: str) -> None:
        for requirement in case.requirements:
            self.ledger.block(requirement, why)

    def _block(self, case: Case, why: str) -> None:
        self._leave(case, why)
        self.close()

    def _break(self, case: Case, why: str) -> None:
        for requirement in case.requirements:
            self.ledger.break_ours(requirement, f"{case.id}: {why}")
        self.close()


def _tell_of_tools(session: Session, survey: Survey) -> None:
    """What a session must know of the tools that are called in it."""
    session.header_arguments = survey.header_arguments
    session.structured_tools = structured_tools(list(survey.tools))


def _marks(ledger: Ledger) -> tuple[int, int, int, int]:
    return (
        sum(finding.occurrences for finding in ledger.findings),
        len(ledger.broken),
        len(ledger.blocked),
        len(ledger.open),
    )


def _outcome(before: tuple[int, ...], after: tuple[int, ...]) -> str:
    for name, old, new in zip(("failed", "broken", "blocked", "inconclusive"), before, after, strict=True):
        if new > old:
            return name
    return "passed"
