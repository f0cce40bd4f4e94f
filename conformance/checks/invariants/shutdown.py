"""Shutdown: a stdio server ends by itself when its input is closed."""

from __future__ import annotations

from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Severity
from conformance.session.messages import id_key
from conformance.session.session import Call, Session
from conformance.target.process import LEFT_BEHIND
from conformance.transports import Ending

IMPLIED = "transport-stdio/exits-on-stdin-close-implied"
SAID = "transport-stdio/exits-on-stdin-close"


class Shutdown(Watcher):
    """See the module. The requirement changed its id and basis with the stateless era."""

    name = "shutdown"
    requirements: ClassVar[tuple[str, ...]] = (IMPLIED, SAID)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._owed: set[str] = set()

    def sent(self, frame: Frame) -> None:
        """A response of ours settles a request of the server."""
        if isinstance(frame.message, dict) and "method" not in frame.message:
            self._owed.discard(id_key(frame.message.get("id")))

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Note the requests of the server that are not answered, until it gives them up."""
        message = frame.message
        if not isinstance(message, dict) or "method" not in message:
            return
        if "id" in message:
            self._owed.add(id_key(message["id"]))
        elif message["method"] == "notifications/cancelled" and isinstance(message.get("params"), dict):
            self._owed.discard(id_key(message["params"].get("requestId")))

    def finish(self) -> None:
        """Judge how the process went."""
        session = self.session
        ending = session.ending
        if (
            not session.transport.process_per_session
            or ending is None
            or not session.opened
            or ending.how in ("died", "remote")
        ):
            return
        if session.requests.at_work:
            return  # nobody has waited for its end
        if self._owed and ending.how != "closed":
            return  # it may still wait for what it asked us for
        requirement = SAID if session.revision.era == "stateless" else IMPLIED
        if ending.how != "closed" and (session.limits.impatient or ending.seconds < session.limits.shutdown):
            return  # we did not wait for it: another one took too long, or the run was cut short
        if ending.how == "closed":
            self.ledger.held(requirement)
        else:
            self._stayed(requirement, ending)
        if ending.left:  # however it was asked to go
            self._broke(requirement, LEFT_BEHIND, ending.left, Severity.ADVICE)

    def _stayed(self, requirement: str, ending: Ending) -> None:
        session = self.session
        after = f"{session.limits.shutdown:g} s after its stdin was closed"
        step = "SIGTERM ended it" if ending.how == "terminated" else "it ignored SIGTERM too and was killed"
        self._broke(requirement, "the server does not exit when its stdin is closed", f"it still ran {after}; {step}")

    def _broke(self, requirement: str, what: str, actual: str, ceiling: Severity | None = None) -> None:
        frames = [frame for frame in self.session.trace if frame.origin == "us"][-1:]
        self.ledger.broke(
            requirement,
            what,
            expected="the process ends by itself, with all its children",
            actual=actual,
            frames=frames,
            ceiling=ceiling,
        )
