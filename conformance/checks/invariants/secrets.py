"""Secrets: neither log messages nor outputs of tools hold what the server was given in confidence."""

from __future__ import annotations

import json
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.checks.probes.outcome import succeeded
from conformance.model import Frame, Severity, members
from conformance.session.messages import Call, encode

UNTOLD = "logging/no-secrets-logged"
SANITIZED = "tools/outputs-sanitized"
WITHHELD = "(withheld: it holds a secret)"


class Secrets(Watcher):
    """See the module. Only secrets that are known here can be found; a finding shows none of them."""

    name = "secrets"
    requirements: ClassVar[tuple[str, ...]] = (UNTOLD, SANITIZED)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Look for each secret in a log message, or in what a tool says."""
        message = members(frame.message)
        if message.get("method") == "notifications/message" and "id" not in message:
            self._logged(frame)
        elif call is not None and call.method == "tools/call" and "method" not in message and self.session.secrets:
            self._said(frame, call)

    def _logged(self, frame: Frame) -> None:
        if not self.session.secrets:
            self.ledger.inconclusive(UNTOLD, "the server was given no credentials")
        elif not self._tells(frame):
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

    def _said(self, frame: Frame, call: Call) -> None:
        if not self._tells(frame):
            self.ledger.held(SANITIZED)
            return
        failed = not succeeded(call) or members(members(frame.message).get("result")).get("isError") is True
        told = {"jsonrpc": "2.0", "id": frame.message.get("id"), "error" if failed else "result": WITHHELD}
        what = "an error" if failed else "a result"
        self.breach(
            SANITIZED,
            f"{what} of a tool holds a secret of the server's environment or of our requests",
            "outputs without credentials",
            shorten(told),
            (call.sent, frame._replace(number=-1, message=told, data=encode(told))),
            # To tell the environment may be what a tool is for; to tell it in errors is no tool for.
            Severity.WARNING if failed else Severity.ADVICE,
        )

    def _tells(self, frame: Frame) -> bool:
        text = frame.data.decode("utf-8", "replace")
        return any(json.dumps(secret)[1:-1] in text or secret in text for secret in self.session.secrets)


def _without_contents(frame: Frame) -> Frame:
    """The frame as it may be reported. Its number is none of the trace's, so that nothing brings the secret back."""
    params = frame.message.get("params")
    level = params.get("level") if isinstance(params, dict) else None
    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": shorten(level), "data": WITHHELD}}
    return frame._replace(number=-1, message=told, data=encode(told))
