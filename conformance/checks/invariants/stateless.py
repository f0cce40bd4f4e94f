"""Stateless: rules of 2026-07-28 about results and notifications as such."""

from __future__ import annotations

import re
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json
from conformance.session.messages import Call
from conformance.session.session import Session

SERVER_INFO = "discovery/server-info-in-results"
EXTENSION_NAME = "discovery/extension-identifier-format"
REMOVED = "versioning/removed-notifications-not-sent"
UNSOLICITED = "subscriptions/no-unsolicited-changes"
SUPPORTED = "input-required/supported-methods-only"
MARKED = "input-required/result-type-marked"
NO_LOG = "logging/no-log-without-level"
NOT_MINTED = "transport-http/session-id-not-minted"

ASKING = ("prompts/get", "resources/read", "tools/call")
CHANGES = (
    "notifications/tools/list_changed",
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
)
GONE = ("notifications/elicitation/complete", "notifications/tasks/status", "notifications/roots/list_changed")
"""Notifications of 2025-11-25 that this revision no longer has."""

_META = "io.modelcontextprotocol/"
_LABEL = r"[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?"
_EXTENSION = re.compile(rf"{_LABEL}(?:\.{_LABEL})*+/(?:[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)?")


class Stateless(Watcher):
    """See the module. A connection on which we sent a request without the modern `_meta` is judged no longer."""

    name = "stateless"
    requirements: ClassVar[tuple[str, ...]] = (
        SERVER_INFO,
        EXTENSION_NAME,
        REMOVED,
        UNSOLICITED,
        SUPPORTED,
        MARKED,
        NO_LOG,
        NOT_MINTED,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._modern = session.revision.era == "stateless"
        self._served = False
        self._listening = self._logging = False

    def sent(self, frame: Frame) -> None:
        """Note subscriptions, log levels, and requests of the other era."""
        message = frame.message
        if not self._modern or not isinstance(message, dict) or "method" not in message or "id" not in message:
            return
        params = message.get("params")
        meta = params.get("_meta") if isinstance(params, dict) else None
        if not isinstance(meta, dict) or _META + "protocolVersion" not in meta:
            self._modern = False
            return
        self._listening = self._listening or message["method"] == "subscriptions/listen"
        self._logging = self._logging or _META + "logLevel" in meta

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge one message, or the head of an HTTP answer."""
        if not self._modern:
            return
        if frame.channel == "head":
            self._head(frame)
            return
        message = frame.message
        if not isinstance(message, dict):
            return
        if isinstance(message.get("method"), str):
            if "id" not in message and self._served:
                self._notification(frame, message["method"])
        elif (
            call is not None
            and not call.sent.illegal
            and isinstance(message.get("result"), dict)
            and "error" not in message
        ):
            self._served = True
            self._result(frame, message["result"], call)

    def _head(self, frame: Frame) -> None:
        if "mcp-session-id" in frame.headers:
            what = "an answer has the header Mcp-Session-Id"
            self._broke(NOT_MINTED, what, "no protocol-level session", frame.headers["mcp-session-id"], (frame,))
        else:
            self.ledger.held(NOT_MINTED)

    def _notification(self, frame: Frame, method: str) -> None:
        if method in GONE:
            self._broke(REMOVED, f"the server sends {method}", "notifications of this revision", method, (frame,))
            return
        self.ledger.held(REMOVED)
        if method in CHANGES and not self._listening:
            what = f"the server sends {method}, although nobody subscribed"
            self._broke(UNSOLICITED, what, "changes on subscriptions only", method, (frame,))
        elif method == "notifications/message" and not self._logging:
            what = "a log message is sent, although no request asked for logs"
            self._broke(NO_LOG, what, "none without io.modelcontextprotocol/logLevel", frame.message, (frame,))

    def _result(self, frame: Frame, result: dict[str, Json], call: Call) -> None:
        proof = (call.sent, frame)
        self.ledger.held(REMOVED)
        if not self._listening:
            self.ledger.held(UNSOLICITED)
        if not self._logging and call.method == "tools/call":
            self.ledger.held(NO_LOG)
        if call.method == "server/discover":
            self._extensions(result, proof)
        self._server_info(result, proof)
        kind = result.get("resultType")
        if kind == "input_required":
            if call.method in ASKING:
                self.ledger.held(SUPPORTED)
                self.ledger.held(MARKED)
            else:
                what = f"{call.method} is answered by an input_required result"
                self._broke(SUPPORTED, what, f"such results for {', '.join(ASKING)} only", result, proof)
            return
        self.ledger.held(SUPPORTED)
        asked = result.get("inputRequests") if call.method != "tasks/get" else None  # a task has such as well
        if isinstance(asked, dict) and any(isinstance(one, dict) and "method" in one for one in asked.values()):
            what = "a result asks for input without saying so"
            self._broke(MARKED, what, 'resultType "input_required"', kind, proof)

    def _server_info(self, result: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        meta = result.get("_meta")
        if isinstance(meta, dict) and _META + "serverInfo" in meta:
            self.ledger.held(SERVER_INFO)
            return
        what = "a result does not name the server"
        if "serverInfo" in result:
            what += "; serverInfo stands in the body, where drafts had it"
        self._broke(SERVER_INFO, what, f"_meta[{_META}serverInfo]", meta, proof)

    def _extensions(self, result: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        capabilities = result.get("capabilities")
        extensions = capabilities.get("extensions") if isinstance(capabilities, dict) else None
        for name in extensions if isinstance(extensions, dict) else ():
            if _EXTENSION.fullmatch(name):
                self.ledger.held(EXTENSION_NAME)
            else:
                what = "an extension is advertised under a malformed name"
                self._broke(EXTENSION_NAME, what, "prefix/name", name, proof)

    def _broke(self, requirement: str, what: str, expected: str, actual: Json, proof: tuple[Frame, ...]) -> None:
        self.ledger.broke(requirement, what, expected=expected, actual=shorten(actual), frames=proof)
