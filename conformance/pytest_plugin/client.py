"""What the fixture gives: a session with the server, and assertions in the pattern language of the cases."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Unpack

import pytest

from conformance.catalogue.patterns import ABSENT, check_pattern, match, render
from conformance.catalogue.requirements import applies, load
from conformance.checks.invariants import load_invariants
from conformance.checks.invariants.wire import SuiteError
from conformance.checks.ledger import Ledger
from conformance.engine.candidates import attempts
from conformance.engine.connections import Connections
from conformance.engine.detection import Attempt, discard, untestable
from conformance.engine.stage import SURVEY, Stage
from conformance.engine.units import Workshop
from conformance.engine.verdicts import Facts, judge, outcome
from conformance.model import Finding, Frame, Json, Judged
from conformance.pytest_plugin.options import Server
from conformance.pytest_plugin.warning import ConformanceWarning
from conformance.reporters.masking import masked
from conformance.reporters.words import facts, finding_text, headline, shortened, visible
from conformance.revisions import BY_DATE, NEWEST, Revision
from conformance.session.messages import Call, How, NotSpoken, Unavailable
from conformance.survey.survey import Survey, take
from conformance.system.github_actions import harmless
from conformance.target.mask import Mask

FRAMES = 20
"""Frames that an assertion shows, at most."""


class McpServer:
    """A server of the user's and a session with it, for his own tests. To be used in one thread.

    The session is in the newest revision that was asked for and the server speaks. Every frame is watched: what breaks
    a requirement meanwhile fails the test.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._options = server.options
        self._problem = server.problem
        self._told = False
        self._mask = Mask(server.target.secrets)
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="mcp-server")
        self._connections: Connections | None = None
        self._stage: Stage | None = None
        self._start = 0
        self._case = ""

    # -- what tests use

    def request(self, method: str, params: Json = None, **how: Unpack[How]) -> Answer:
        """Send a request and wait for its answer. What the revision wants in every request is added.

        `illegal=True` is for what is wrong on purpose, `headers` are HTTP's. ValueError for what is wrong by mistake.
        """
        __tracebackhide__ = True
        session = self._open_stage().session
        try:
            call = session.request(method, params, **how)
            session.judge()
        except SuiteError as error:
            raise ValueError(self._mistake(error)) from None
        except (NotSpoken, Unavailable) as reason:
            raise AssertionError(self._told_of(method, "an answer", str(reason), ())) from None
        return Answer(self, call, tuple(session.since(call.sent.number)))

    def notify(self, method: str, params: Json = None, **how: Unpack[How]) -> None:
        """Send a notification; the same words as for `request`."""
        __tracebackhide__ = True
        session = self._open_stage().session
        try:
            session.notify(method, params, **how)
            session.judge()
        except SuiteError as error:
            raise ValueError(self._mistake(error)) from None

    @property
    def notifications(self) -> list[Json]:
        """The notifications that have come since the test began, once all that was on its way has come."""
        self._open_stage().session.hear_out()
        heard = [frame.message for frame in self.frames if frame.origin == "target"]
        return [each for each in heard if isinstance(each, dict) and "method" in each and "id" not in each]

    @property
    def frames(self) -> tuple[Frame, ...]:
        """All that was said since the test began."""
        return tuple(self._open_stage().session.since(self._start))

    @property
    def revision(self) -> str:
        """The revision that is spoken."""
        return self._open_stage().session.revision.date

    @property
    def capabilities(self) -> Json:
        """What the server declares."""
        return self._open_stage().session.capabilities

    @cached_property
    def survey(self) -> Survey:
        """What the server offers: tools, resources, prompts; asked once."""
        stage = self._open_stage()
        stage.enter(SURVEY)
        survey = take(stage.session, self._options.policy, self._options.samples)
        stage.enter(self._case)
        return survey

    def restart(self) -> None:
        """End the server and start it again, with a new session."""
        self._leave()
        self.begin(self._case)

    # -- what the plugin uses

    def begin(self, case: str) -> None:
        """A test begins. A server that has ended is started again."""
        self._case = visible(case)
        if self._stage is None or not self._stage.fit:
            self._leave()
            self._open()
        stage = self._open_stage()
        stage.session.hear_out()
        stage.enter(self._case)
        stage.ledger.take(0)
        self._start = stage.session.position

    def broken(self, item: pytest.Item) -> str:
        """What the server has broken since the test began, as text; what fails nobody is a warning of the test."""
        told: list[str] = []
        for judged in self._judged():
            if outcome(judged, self._options.fail_on) == "failed":
                told.append(harmless(finding_text(judged)))
            elif judged.severity == "warning":
                message = visible(shortened(judged.findings[0].message, 300))
                item.warn(ConformanceWarning(f"{headline(judged)}: {message}"))
        return "\n\n".join(told)

    def observed(self) -> Iterator[tuple[str, str]]:
        """Title and text of what the server has broken since the test began."""
        for judged in self._judged():
            yield f"mcp-conform {judged.severity}", harmless(finding_text(judged))

    def close(self) -> None:
        """End the server. Idempotent."""
        self._leave()
        self._pool.shutdown()

    def __repr__(self) -> str:
        return f"<MCP server {visible(self._server.name)}>".replace(" >", ">")

    # -- inside

    def _mistake(self, error: SuiteError) -> str:
        said = visible(shortened(self._mask.text(str(error)), 1600))
        return f"{said}; illegal=True sends it all the same"

    def _judged(self) -> list[Judged]:
        stage = self._stage
        if stage is None:
            return []
        session = stage.session
        if session.alive:
            session.hear_out()
        session.judge()
        found: dict[str, list[Finding]] = defaultdict(list)
        for finding in stage.ledger.take(0):
            found[finding.requirement].append(finding)
        revision, transport = session.revision.date, session.transport.name
        judgements = []
        for identifier, findings in found.items():
            requirement = load()[identifier]
            if not applies(requirement, revision, transport):
                continue
            ledger = Ledger()
            ledger.findings = findings
            known = Facts(revision, transport, None, ledger, {}, softened=self._options.softened)
            judgements.append(masked(self._mask, judge(requirement, known)))
        return judgements

    def _told_of(self, method: str, expected: str, actual: str, frames: tuple[Frame, ...]) -> str:
        message = f"{method} is not answered as expected"
        finding = masked(self._mask, Finding("", self._case, message, expected, actual, frames))
        lines = [f"  {label + ':':9} {line}" for label, line in facts(finding, FRAMES)]
        return "\n".join([visible(finding.message), *lines])

    def _open_stage(self) -> Stage:
        if self._stage is None:
            raise RuntimeError("mcp_server is used outside of the test that asked for it")
        return self._stage

    def _open(self) -> None:
        if not self._problem:
            try:
                self._problem = self._connect()
            finally:
                if self._stage is None:
                    self._leave()
        if self._problem:
            told = visible(shortened(self._mask.text(self._problem), 100 if self._told else 1600))
            self._told = True
            pytest.fail(f"Not tested: {told}", pytrace=False)

    def _connect(self) -> str:
        """Open a session; why that cannot be, "" if it can."""
        options, target = self._options, self._server.target
        connections = self._connections = Connections(target, options.limits, 0)
        connections.answers = options.answers
        connections.pace.end()  # a test may be about just that
        connections.learn = self._mask.learn
        workshop = Workshop(connections, load_invariants(), {})

        def begin(revision: Revision) -> Stage:
            return workshop.stage(revision, {}, Ledger(), own_process=False)

        dates = tuple(date for date in options.revisions if date in BY_DATE)
        failed: list[Attempt] = []
        chosen: Attempt | None = None
        for tried in attempts(dates or (NEWEST,), target.transport, begin, options.limits, self._pool):
            if tried.spoken and (chosen is None or tried.revision.date > chosen.revision.date):
                tried, chosen = chosen or tried, tried
            if tried is not chosen:
                failed.append(tried)
        for tried in failed:
            discard(tried)
        if chosen is None or chosen.stage is None:
            return untestable(failed)
        connections.adapt(chosen.seconds)
        self._stage = chosen.stage
        return ""

    def _leave(self) -> None:
        stage, self._stage = self._stage, None
        connections, self._connections = self._connections, None
        try:
            if stage is not None:
                stage.close()
        except SuiteError:
            pass  # it was told when it was sent
        finally:
            if connections is not None:
                connections.close(hurry=True)


class Answer:
    """What came of a request: `response` is the message, `result` and `error` are members of it, None if missing.

    `frames` are the request and all that came until its answer.
    """

    def __init__(self, server: McpServer, call: Call, frames: tuple[Frame, ...]) -> None:
        self._server = server
        self._call = call
        self.frames = frames
        self.response: Json = call.response
        self.result: Json = call.result
        self.error: Json = call.error
        self.notifications: list[Json] = [frame.message for frame in call.notifications]

    def matches(self, pattern: Json) -> Answer:
        """The same answer, if its message matches a pattern of the cases; else AssertionError.

        ValueError for what is no pattern.
        """
        __tracebackhide__ = True
        if flaws := check_pattern(pattern):
            raise ValueError(f"not a pattern: {'; '.join(flaw.what for flaw in flaws)}")
        value = self._call.response if self._call.answers else ABSENT
        mismatch = match(pattern, value)
        if mismatch is not None:
            where = f"{mismatch.path}: " if mismatch.path else ""
            actual = where + (self._call.lost if value is ABSENT else mismatch.actual)
            raise AssertionError(self._server._told_of(self._call.method, render(pattern), actual, self.frames))
        return self

    def __repr__(self) -> str:
        return f"<answer to {visible(self._call.method)}>"
