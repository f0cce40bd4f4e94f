"""Logs: log messages come from servers that declare logging."""

from __future__ import annotations

from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame
from conformance.session.messages import Call
from conformance.session.session import Session

DECLARED = "logging/capability-declared"


class Logs(Watcher):
    """See the module."""

    name = "logs"
    requirements: ClassVar[tuple[str, ...]] = (DECLARED,)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._illegal = False

    def sent(self, frame: Frame) -> None:
        """Some servers report unreadable input by a log message; after that nothing is judged."""
        self._illegal = self._illegal or frame.illegal

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge a log message."""
        message = frame.message
        if not isinstance(message, dict) or message.get("method") != "notifications/message" or "id" in message:
            return
        if self._illegal or not self.session.opened:
            return
        if "logging" in self.session.capabilities:
            self.ledger.held(DECLARED)
        else:
            self.ledger.broke(
                DECLARED,
                "a log message is sent, yet the server does not declare logging",
                expected="the server capability logging",
                actual=f"server capabilities {shorten(self.session.capabilities)}",
                frames=(frame,),
            )
