"""One server that is measured: reached as the suite reaches it, and then asked by the client that makes load."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor

from conformance.bench.answers import Answers
from conformance.bench.carriers import Carrier, TransportCarrier
from conformance.bench.client import Client
from conformance.bench.clock import CLOSING, RAN_OUT, Clock
from conformance.bench.costs import Costs, pids_of
from conformance.bench.http_carrier import HttpCarrier, proxied
from conformance.bench.measured import Measured, Start
from conformance.bench.operations import TOO_SLOW, Operation, Trial, tried
from conformance.bench.plan import Plan
from conformance.checks.invariants import load_invariants
from conformance.checks.ledger import Ledger
from conformance.engine.candidates import attempts
from conformance.engine.connections import Connections
from conformance.engine.detection import Attempt, discard, refuses_posts, untestable
from conformance.engine.stage import Stage
from conformance.model import Target
from conformance.revisions import HTTP_SSE, Revision
from conformance.session.messages import Unavailable
from conformance.session.session import NotSpoken, Session
from conformance.survey.survey import Survey, take
from conformance.transports import SESSION, StartError
from conformance.transports.http import HttpTransport
from conformance.transports.http_client import client_for
from conformance.transports.sse import SseTransport
from conformance.transports.stdio import StdioTransport

SURVEY = 0.3
"""Part of the time in which it is asked what the server offers."""
TRIAL = 0.3
"""Part of the time that is left then in which each operation is tried once."""
WATCHED = 32
"""Requests in flight while the invariants watch."""
LOADED = 0.7
"""Part of that time in which they are; in the rest one is asked after the other."""
ALMOST = 0.9
"""Part of a shortened wait after which what it was for may have failed because of that."""


NOT_TO_BE_HAD = (StartError, NotSpoken, Unavailable)
"""What is raised where a server does not start, does not open a session, or is not worth waiting for any more."""


class Untestable(Exception):
    """The server cannot be measured; one sentence, for people."""


class Subject:
    """`label` is what it is called where there are two. `measured` is what is known so far.

    No wait goes beyond the end of `clock`. What is asked for once that was stopped raises Stopped.
    """

    def __init__(self, label: str, target: Target, plan: Plan, clock: Clock) -> None:
        self.label = label
        self.target = target
        self.measured = Measured()
        self.revision: Revision | None = None
        self.server: dict[str, str] = {}
        self.transport = target.transport
        self._plan = plan
        self._clock = clock
        self._connections = Connections(target, clock.within(plan.options.limits), 0)
        self._connections.answers = plan.options.answers
        self._connections.pace.end()  # who is refused under load is not to come back in secret
        self._started = 0.0
        self._stage: Stage | None = None
        self._survey: Survey | None = None
        self._sessions: list[Session] = []
        self.opened = False
        self.client: Client
        self.costs: Costs

    def teach(self, learn: Callable[[Mapping[str, str]], None]) -> None:
        """Have `learn` told of secrets that come up: value → name."""
        self._connections.learn = learn

    @property
    def operations(self) -> list[str]:
        """The names of what is asked for."""
        return [each.name for each in self.measured.operations]

    def operation(self, name: str) -> Operation | None:
        """The operation of that name."""
        return next((each for each in self.measured.operations if each.name == name), None)

    @property
    def takes(self) -> float:
        """Seconds that it takes to start and, where it does not end by itself, to end, about."""
        limits = self._connections.limits
        return self._started + (2 * min(limits.shutdown, CLOSING) if limits.impatient else 0.0)

    @property
    def own_processes(self) -> bool:
        """Whether each session has a process of its own."""
        return self._stage is not None and self._stage.session.transport.process_per_session

    def reach(self) -> None:
        """Start the server, find the revision, open the session that is measured. Raises Untestable."""
        self._stage = self._open_stage()
        session = self._stage.session
        self.revision = session.revision
        self.server, self.transport = session.server, session.transport.name

    def prepare(self) -> None:
        """Take the survey, try each operation. Raises Untestable."""
        assert self._stage is not None
        session = self._stage.session
        end = time.monotonic() + SURVEY * self._clock.left
        self._survey = survey = take(session, self._plan.options.policy, self._plan.options.samples, end)
        self.measured.notes += survey.cut
        session.header_arguments = survey.header_arguments
        left = self._clock.left
        patience = max(0.5, min(TOO_SLOW, TRIAL * left / 2))
        trial = Trial(self._plan.only, self._plan.gap, patience, time.monotonic() + TRIAL * left)
        offer = tried(session, survey, trial)
        self._clock.check()
        self.measured.operations = offer.operations
        self.measured.left_out = dict(offer.left_out)
        if not session.alive:
            ended = session.ended.reason if session.ended is not None else "the session is over"
            raise Untestable(f"the server did not stay while each operation was tried once: {ended}")
        if not offer.operations:
            raise Untestable(
                f"the server answers no request that could be measured{self._why_not()}{self._too_short()}"
            )
        stateless = session.revision.era == "stateless"
        answers = Answers(session.revision.date, stateless)
        self.client = Client(self._carrier(session), answers, self._clock, self._plan.gap)
        self.client.answer_limit = self._plan.options.limits.answer
        self.client.slowest = max(each.alone for each in offer.operations)
        self.client.earlier = {key for key, call in session.calls.items() if not call.answers}
        self.costs = Costs(pids_of(session.transport))
        self.measured.before = self.costs.samples[0] if self.costs.known else None
        self.opened = True

    def start_once(self) -> None:
        """Start the server once more, ask it one thing, and end it; what that took is noted."""
        if not self.target.command or self.revision is None:
            return
        began = time.monotonic()
        try:
            session = self._session(self.revision, own_process=True)
            session.open()
        except NOT_TO_BE_HAD as why:
            if not self._hurried(began):
                self._note(f"a start failed: {why}")
            elif not self.measured.starts:
                self.measured.left_out["start and end"] = RAN_OUT
            return
        opened = time.monotonic()
        method, params = session.era.sentinel(session)
        first: float | None = None
        with contextlib.suppress(*NOT_TO_BE_HAD):
            if session.request(method, params).answers:
                first = time.monotonic() - opened
        own = session.transport.process_per_session
        cost = Costs(pids_of(session.transport)).look() if own else None
        began_to_end = time.monotonic()
        ending = session.close()
        self._connections.release(session)
        self._clock.check()
        took = ending.seconds if own else time.monotonic() - began_to_end
        self.measured.session_count += own
        self.measured.starts.append(Start(opened - began, first, took, ending.how, ending.left, cost))

    def watch(self, seconds: float) -> None:
        """Ask all operations at once in a session that the invariants watch; what they found is noted.

        Not what they find where one is asked after the other, too: that is for the suite to tell. Nothing is measured:
        a session that is watched costs us many times what the requests do.
        """
        fast = [each for each in self.measured.operations if each.alone < seconds / 4]
        if not fast:
            return
        loaded, _ = self._watched(fast, WATCHED, LOADED * seconds)
        calm, complete = self._watched(fast, 1, 0.0) if loaded else ({}, True)
        if complete:
            self.measured.rules = {rule: what for rule, what in loaded.items() if rule not in calm}
        else:  # nobody knows which of them are broken without load, too
            self.measured.left_out["rules under load"] = RAN_OUT

    def _watched(self, operations: list[Operation], load: int, seconds: float) -> tuple[dict[str, str], bool]:
        """Requirement → what breaks it, with so many requests in flight; whether it came to its end.

        Each operation is asked for once at least, unless the time runs out or the server does not answer.
        """
        assert self.revision is not None
        began = time.monotonic()
        try:
            session = self._session(self.revision, own_process=False)
            stage = Stage(session, Ledger(), load_invariants(), self._connections)
            stage.open()
        except NOT_TO_BE_HAD as why:
            if not self._hurried(began):
                self._note(f"no session could be opened for the invariants: {why}")
            return {}, False
        stage.enter("bench/load")
        if self._survey is not None:
            session.header_arguments = self._survey.header_arguments
        end, number = time.monotonic() + seconds, 0
        full = self._plan.options.limits.answer  # what a session has near the end is too short to prove anything
        while session.alive and (number < len(operations) or time.monotonic() < end):
            try:
                calls = []
                for _ in range(load):
                    each = operations[number % len(operations)]
                    number += 1
                    session.listen(self._plan.gap)
                    calls.append(session.send(each.method, each.params))
                left = self._clock.left
                if left >= full:
                    session.wait(*calls, timeout=full)
                    continue
                session.listen(left, until=lambda calls=calls: all(call.done for call in calls))  # type: ignore[misc]
            except NOT_TO_BE_HAD:
                break
            for call in calls:
                if not call.done:  # it is we who do not wait any longer: that is no breach
                    session.give_up(call)
            if not self._clock.left:
                stage.hurried = True
                break
        self._clock.check()
        complete = number >= len(operations) and session.alive and not stage.hurried
        stage.close()
        found = {
            each.requirement: f"{each.message}; expected {each.expected}; actual {each.actual}"
            for each in stage.ledger.findings
        }
        return found, complete

    def open_and_close(self) -> bool:
        """Open a session beside the one that is measured, and close it; whether that went well."""
        assert self.revision is not None
        began = time.monotonic()
        try:
            session = self._session(self.revision, own_process=False)
            session.open()
        except NOT_TO_BE_HAD as why:
            if not self._hurried(began):
                self._note(f"a session could not be opened: {why}")
            return False
        session.close()
        self._connections.release(session)
        return True

    def spread(self, number: int) -> bool:
        """Have requests take turns among so many sessions from now on; whether there are as many."""
        carrier, revision = self.client.carrier, self.revision
        if not isinstance(carrier, HttpCarrier) or revision is None or self._stage is None:
            return False
        if not self._stage.session.http_headers.get(SESSION):
            return False
        while len(self._sessions) < number:
            if not self._sessions:
                self._sessions.append(self._stage.session)
                continue
            if not self._clock.left:
                return False
            began = time.monotonic()
            try:
                session = self._session(revision, own_process=False)
                session.open()
            except NOT_TO_BE_HAD as why:
                if not self._hurried(began):
                    self._note(f"no more than {len(self._sessions)} sessions could be opened: {why}")
                return False
            self._sessions.append(session)
        carrier.sessions = [dict(session.http_headers) for session in self._sessions[:number]]
        return True

    def gather(self) -> None:
        """Have requests go over the first session again, and close the others."""
        for session in self._sessions[1:]:
            session.close(hurry=not self._clock.left)
            self._connections.release(session)
        if self._sessions and isinstance(self.client.carrier, HttpCarrier):
            self.client.carrier.sessions = [dict(self._sessions[0].http_headers)]
        self._sessions.clear()

    def close(self, hurry: bool = False) -> None:
        """End the server and all that was started."""
        if self._stage is not None and not hurry:
            session = self._stage.session
            session.limits = limits = self._clock.within(session.limits)
            if isinstance(session.transport, StdioTransport):
                session.transport.hold_to(limits)
            if self.opened and self.client.carrier.lost:
                session.drop()  # its end has been heard, and not by the session, which would wait for it
            self._stage.close()
            ending = self._stage.session.ending
            if ending is not None and ending.how != "remote":
                self.measured.starts.append(Start(None, None, ending.seconds, ending.how, ending.left))
        self._connections.close(hurry=hurry)
        if left := self._connections.left_behind():
            self.measured.notes.append(left)

    def stop(self) -> None:
        """End the server at once. Called from another thread."""
        self._connections.close(hurry=True)

    # -- inside

    def _session(self, revision: Revision, own_process: bool) -> Session:
        """A session whose waits end with the clock. Raises StartError."""
        self._connections.limits = self._clock.within(self._connections.limits)
        return self._connections.session(revision, own_process=own_process)

    def _hurried(self, began: float) -> bool:
        """Whether what was begun then, and failed, may have done so because it got less time than the user gives."""
        full, given = self._plan.options.limits, self._connections.limits
        waits = [mine for mine, usual in ((given.start, full.start), (given.answer, full.answer)) if mine < usual]
        return bool(waits) and time.monotonic() - began >= ALMOST * min(waits)

    def _note(self, words: str) -> None:
        """What the report is to say, unless it is due to us who end everything."""
        self._clock.check()
        self.measured.notes.append(words)

    def _too_short(self) -> str:
        return "" if self._clock.left else f"; it got {self._clock.seconds:g} s, and --duration allows more"

    def _why_not(self) -> str:
        reasons = [f"{name}: {why}" for name, why in self.measured.left_out.items()]
        if self._plan.only:
            reasons.insert(0, f"--only {' '.join(self._plan.only)}")
        if self._survey is not None and self._survey.unread:
            reasons.insert(0, f"the list of {', '.join(self._survey.unread)} could not be read")
        return f" ({'; '.join(reasons[:3])})" if reasons else ""

    def _carrier(self, session: Session) -> Carrier:
        """A lean one over HTTP, unless a proxy or something else is in between that only the transport knows."""
        transport = session.transport
        if not isinstance(transport, HttpTransport) or isinstance(transport, SseTransport) or proxied(transport.host):
            return TransportCarrier(transport, session)
        headers = self._connections.target_at(transport.url).headers
        url, client = client_for(transport.url, {}, self._plan.options.limits)
        client.close()
        return HttpCarrier(transport, url, headers, [dict(session.http_headers)], session)

    def _open_stage(self) -> Stage:
        tried_ = self._attempts()
        refused = not any(each.spoken for each in tried_) and self.target.may_be_older and refuses_posts(tried_)
        if refused and self._connections.tells_endpoint():
            for each in tried_:
                discard(each)
            self._connections.carry_by(HTTP_SSE)
            self.target = self._connections.target
            tried_ = self._attempts()
        spoken = sorted((each for each in tried_ if each.spoken), key=lambda each: each.revision.date)
        for each in tried_:
            if not spoken or each is not spoken[-1]:
                discard(each)
        if not spoken:
            self._clock.check()
            raise Untestable(untestable(tried_))
        chosen = spoken[-1]
        self._connections.adapt(chosen.seconds)
        self._started = chosen.seconds
        assert chosen.stage is not None
        return chosen.stage

    def _attempts(self) -> list[Attempt]:
        wanted = self._plan.options.revisions or ("newest",)
        with ThreadPoolExecutor(2, thread_name_prefix="mcp-conform") as pool:
            limits = self._clock.within(self._plan.options.limits)
            return list(attempts(wanted, self.target.transport, self._begin, limits, pool))

    def _begin(self, revision: Revision) -> Stage:
        session = self._session(revision, own_process=False)
        return Stage(session, Ledger(), (), self._connections)
