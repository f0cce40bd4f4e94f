"""Pace: progress does not come in floods."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.budget import brief
from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Severity
from conformance.session.messages import Call, id_key
from conformance.session.session import Session

LIMITED = "progress/rate-limited"
MANY = 100
"""Notifications for one request within a second; the specification gives no number."""


@dataclass(slots=True)
class Flow:
    """The progress of one request."""

    sent: Frame
    count: int = 0
    last: Frame | None = None


class Pace(Watcher):
    """See the module. Reading late only lengthens the time measured, so a busy machine makes no flood."""

    name = "pace"
    requirements: ClassVar[tuple[str, ...]] = (LIMITED,)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._flows: dict[str, Flow] = {}

    def sent(self, frame: Frame) -> None:
        """Remember the tokens that we give."""
        message = frame.message
        params = message.get("params") if isinstance(message, dict) and "id" in message else None
        meta = params.get("_meta") if isinstance(params, dict) else None
        if isinstance(meta, dict) and "progressToken" in meta:
            self._flows[id_key(meta["progressToken"])] = Flow(frame)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Count the progress of each token."""
        message = frame.message
        if not self._flows or not isinstance(message, dict) or message.get("method") != "notifications/progress":
            return
        params = message.get("params")
        flow = self._flows.get(id_key(params.get("progressToken"))) if isinstance(params, dict) else None
        if flow is not None:
            flow.count += 1
            flow.last = brief(frame)

    def finish(self) -> None:
        """Judge what came in all."""
        for flow in self._flows.values():
            if flow.last is None:
                continue
            seconds = flow.last.at - flow.sent.at
            if flow.count <= MANY * max(seconds, 1.0):
                self.ledger.held(LIMITED)
                continue
            what = "a request causes a flood of progress notifications"
            actual = f"{flow.count} notifications within {seconds:.2f} s"
            self.breach(LIMITED, what, "a limited rate", actual, (flow.sent, flow.last), Severity.ADVICE)
