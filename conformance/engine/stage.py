"""A session with what watches it."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable

from conformance.checks.invariants import Invariant
from conformance.checks.invariants.wire import SuiteError
from conformance.checks.ledger import History, Ledger
from conformance.checks.probes import no_web
from conformance.engine.connections import Connections
from conformance.engine.counting import Counting
from conformance.engine.noticing import Methods, Signs
from conformance.model import Finding
from conformance.session.opened import opened_for
from conformance.session.session import Observer, Session
from conformance.transports import AND_GONE
from conformance.transports.web import Web

OPENING, SURVEY, CLOSING = "session/opening", "session/survey", "session/closing"
"""What frames belong to that no case asked for; may be named like cases."""

SESSION_CASES = (OPENING, SURVEY, CLOSING)


class Stage:
    """A session with the invariants watching it, both writing into one ledger.

    `hurried` means that nothing is asked about its end, so that the target is told to go at once.
    """

    def __init__(
        self,
        session: Session,
        ledger: Ledger,
        invariants: Iterable[type[Invariant]],
        connections: Connections,
    ) -> None:
        self.session = session
        self.ledger = ledger
        self.took = 0.0
        self.hurried = False
        self._connections = connections
        self._webs: list[Web] = []
        self._watching = [invariant(session, ledger) for invariant in invariants]
        self._counting = Counting(session.watching.label, ledger)
        session.observers[:0] = [*self._watching, self._counting, Signs(ledger), Methods(ledger)]
        session.watching.mishap = self._mishap

    def enter(self, case: str) -> None:
        """What happens from now on belongs to `case`."""
        self.session.case = case
        self.ledger.case = case

    def open(self) -> float:
        """Open the session; how long that took, in seconds. Raises NotSpoken."""
        self.enter(OPENING)
        began = time.monotonic()
        self.session.open()
        self.took = time.monotonic() - began
        return self.took

    @property
    def lost(self) -> str:
        """Why the session is over though no message of ours did that, "" if that is not so."""
        ended = self.session.ended
        return ended.reason if ended is not None and (ended.lost or ended.refused) else ""

    @property
    def fit(self) -> bool:
        """Whether another case may be played in this session."""
        session = self.session
        over = session.deaf or session.finished or session.requests.overloaded
        return session.alive and session.opened and not over

    def close(self) -> None:
        """Close the session and let the invariants judge its end. Idempotent."""
        if self.session.ending is not None:
            self._part()
            return
        if self.session.spent or self.session.requests.overloaded:
            self.session.drop()
            self._connections.release(self.session)
            self._part()
            return
        self._hear_questions()
        if self.session.case != OPENING:
            self.enter(CLOSING)
        self.session.close(self.hurried or (self._connections.mute and not self.session.opened))
        self._connections.release(self.session)
        known = self.ledger.mark() if self.lost else None
        for invariant in self._watching:
            try:
                invariant.finish()
            except Exception as error:
                self._mishap(invariant, error)
        if known is not None:
            self.ledger.unlearn(known, said)
        if self.ledger.findings:
            self.ledger.histories.append(History(self.session.trace))
        self._part()

    def _hear_questions(self) -> None:
        """A server that asks for something after the opening, such as the roots, gets its answer before the end."""
        session = self.session
        only_opened = all(call.method in ("initialize", "ping") for call in session.calls.values())
        if only_opened and session.opened and session.client and session.transport.process_per_session:
            session.listen(max(0.0, session.limits.quiet - opened_for(session)))
            session.hear_out()

    def web(self) -> Web:
        """A client for single requests to the same server; it is closed with the stage."""
        if not self.session.transport.url:
            return no_web()
        self._webs.append(self._connections.web(self.session))
        return self._webs[-1]

    def _part(self) -> None:
        """Let go of the session, which may have heard much: as part of a cycle it would stay for long."""
        self._counting.finish()
        ended = self.session.ended
        if ended is not None and not (ended.lost or ended.refused):
            self.ledger.ends.add(ended.reason.removesuffix(AND_GONE))
        for web in self._webs:
            web.close()
        self._connections.forget(self.session)
        self._connections.patience.features.left(self.session.requests)
        self.session.watching.part()
        self._watching.clear()

    def _mishap(self, observer: Observer, error: Exception) -> None:
        """A bug of ours in an invariant is told of its own requirements, and does not keep the case from going on."""
        if isinstance(error, SuiteError) or observer not in self._watching:
            raise error
        why = f"invariant {observer.name}: " + "".join(traceback.format_exception(error)[-4:])
        for requirement in observer.requirements:
            self.ledger.break_ours(requirement, why)


def said(finding: Finding) -> bool:
    """Whether a finding rests on a message of the server, and not on silence or on what HTTP refused."""
    last = finding.frames[-1] if finding.frames else None
    if finding.confirmed is not None:
        return True  # a campaign has put it to the test again, in sessions of its own
    return last is not None and last.origin == "target" and last.message is not None and (last.status or 200) < 300
