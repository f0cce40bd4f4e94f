"""Secrets: log messages do not hold what the server was given in confidence."""

from __future__ import annotations

import json
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.model import Frame, Severity
from conformance.session.messages import Call, encode

UNTOLD = "logging/no-secrets-logged"
WITHHELD = "(withheld: it holds a secret)"


class Secrets(Watcher):
    """See the module. Only secrets that are known here can be found; a finding shows none of them."""

    name = "secrets"
    requirements: ClassVar[tuple[str, ...]] = (UNTOLD,)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Look for each secret in a log message."""
        message = frame.message
        if not isinstance(message, dict) or message.get("method") != "notifications/message" or "id" in message:
            return
        text = frame.data.decode("utf-8", "replace")
        if not self.session.secrets:
            self.ledger.inconclusive(UNTOLD, "the server was given no credentials")
        elif not any(json.dumps(secret)[1:-1] in text or secret in text for secret in self.session.secrets):
            self.ledger.held(UNTOLD)
        else:
            shown = _without_contents(frame)
            self.breach(
                UNTOLD,
                "a log message holds a secret of the server's environment or of our requests",
                "log messages without credentials",
                shorten(shown.message),
                (shown,),
                Severity.WARNING,  # that nobody else could ever see the message is possible
            )


def _without_contents(frame: Frame) -> Frame:
    """The frame as it may be reported. Its number is none of the trace's, so that nothing brings the secret back."""
    params = frame.message.get("params")
    level = params.get("level") if isinstance(params, dict) else None
    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": shorten(level), "data": WITHHELD}}
    return frame._replace(number=-1, message=told, data=encode(told))
