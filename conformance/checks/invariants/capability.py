"""Capability: the server uses what the client declared, sends what itself declared, and waits for its turn."""

from __future__ import annotations

from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.catalogue.requirements import load
from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Level, Severity
from conformance.session.session import Call, Session
from conformance.validation.wire_schemas import for_revision

CLIENT = "discovery/only-declared-client-capabilities"
ELICITATION = "elicitation/capability-required"
SAMPLING = "sampling/capability-required"
ROOTS = "roots/capability-checked"
NOTIFICATIONS = "discovery/only-declared-notifications"
BEFORE_INITIALIZE = "lifecycle/silent-before-initialize"
BEFORE_INITIALIZED = "lifecycle/no-requests-before-initialized"
SUBSCRIBED = "resources/updates-only-for-subscribed"
RESPECTED = "versioning/negotiated-version-respected"

ASKED_OF = {
    "roots/list": ("roots",),
    "sampling/createMessage": ("sampling",),
    "elicitation/create": ("elicitation",),
    "tasks/get": ("tasks",),
    "tasks/result": ("tasks",),
    "tasks/list": ("tasks", "list"),
    "tasks/cancel": ("tasks", "cancel"),
}
"""Request of the server → the client capability it needs."""


MAY_BE_EARLY = ("ping", "notifications/message")
"""Pings and logging are excepted where the same page says what a server should not send before it is initialized."""


def undeclared_use(method: str, revision: str) -> str:
    """The requirement that is broken by asking for `method` undeclared: one for each cause, the most special one.

    The one about roots says SHOULD, also where the general rule says MUST.
    """
    if method == "roots/list" and load()[CLIENT].levels[revision] is not Level.MUST:
        return ROOTS
    return {"elicitation/create": ELICITATION, "sampling/createMessage": SAMPLING}.get(method, CLIENT)


DECLARED_BY = {
    "notifications/tools/list_changed": ("tools", "listChanged"),
    "notifications/resources/list_changed": ("resources", "listChanged"),
    "notifications/prompts/list_changed": ("prompts", "listChanged"),
    "notifications/resources/updated": ("resources", "subscribe"),
}
"""Notification of the server → the server capability that announces it."""


def declared(capabilities: Json, path: tuple[str, ...]) -> bool:
    """Whether the capability at `path` is there and not false."""
    for step in path:
        if not isinstance(capabilities, dict) or capabilities.get(step) in (None, False):
            return False
        capabilities = capabilities[step]
    return True


class Capability(Watcher):
    """See the module."""

    name = "capability"
    requirements: ClassVar[tuple[str, ...]] = (
        CLIENT,
        ELICITATION,
        SAMPLING,
        ROOTS,
        NOTIFICATIONS,
        BEFORE_INITIALIZE,
        BEFORE_INITIALIZED,
        SUBSCRIBED,
        RESPECTED,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._handshake = session.revision.era == "handshake"
        self._illegal = False
        self._begun = self._greeted = self._initialized = False
        self._subscribed: dict[str, Frame] = {}
        self._left: dict[str, Frame] = {}
        self._settled: set[str] = set()

    def sent(self, frame: Frame) -> None:
        """Follow the handshake and the subscriptions."""
        message = frame.message
        method = message.get("method") if isinstance(message, dict) else None
        self._begun = True
        self._illegal = self._illegal or frame.illegal
        if method == "notifications/initialized":
            self._initialized = True
        elif method == "resources/subscribe" and isinstance(message.get("params"), dict):
            self._subscribed[str(message["params"].get("uri"))] = frame
            self._left.pop(str(message["params"].get("uri")), None)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge what the server asks and tells."""
        message = frame.message
        if not isinstance(message, dict) or not self._handshake:
            return
        if not self._begun:
            if message.keys() & {"jsonrpc", "method", "result", "error"}:  # else it is none, which is told as that
                self._too_early(frame)
            return
        if call is not None and call.method == "initialize":
            self._greeted = True
            self.ledger.held(BEFORE_INITIALIZE)
        if call is not None and (self._left or call.method == "resources/unsubscribe"):
            self._unsubscribed(frame, call)
        if not isinstance(message.get("method"), str):
            return
        if "id" in message:
            self._asked(frame, message["method"])
        elif message["method"] in DECLARED_BY:
            self._told(frame, message["method"])

    def _too_early(self, frame: Frame) -> None:
        self.ledger.broke(
            BEFORE_INITIALIZE,
            "the server sends a message before it has received initialize",
            expected="silence until initialize",
            actual=shorten(frame.message),
            frames=(frame,),
            ceiling=Severity.WARNING if frame.message.get("method") in MAY_BE_EARLY else None,
        )

    def _asked(self, frame: Frame, method: str) -> None:
        if method == "ping":
            return
        if not self._initialized:
            self.ledger.broke(
                BEFORE_INITIALIZED,
                f"the server sends {method} before notifications/initialized",
                expected="no request but ping",
                actual=method,
                frames=(frame,),
            )
        if method not in ASKED_OF:
            return
        if for_revision(self.session.revision.date).method(method) is None:
            self.ledger.broke(
                RESPECTED,
                f"the server sends {method}, which the negotiated revision does not have",
                expected=f"the methods of {self.session.revision}",
                actual=method,
                frames=(frame,),
            )
            return
        if declared(self.session.client, ASKED_OF[method]) or self._empty(ASKED_OF[method]):
            self.ledger.held(CLIENT)
            return
        requirement = undeclared_use(method, self.session.revision.date)
        if method == "roots/list" and requirement == CLIENT:
            self.ledger.block(ROOTS, CLIENT)
        self.ledger.broke(
            requirement,
            f"the server sends {method}, although the client did not declare {'.'.join(ASKED_OF[method])}",
            expected="only capabilities that the client declared",
            actual=f"client capabilities {shorten(self.session.client)}",
            frames=(frame,),
        )

    def _empty(self, path: tuple[str, ...]) -> bool:
        """A capability declared as {} is declared."""
        return len(path) == 1 and path[0] in self.session.client

    def _told(self, frame: Frame, method: str) -> None:
        path = DECLARED_BY[method]
        if declared(self.session.capabilities, path) or (len(path) == 1 and path[0] in self.session.capabilities):
            self.ledger.held(NOTIFICATIONS)
        elif self._greeted:
            self.ledger.broke(
                NOTIFICATIONS,
                f"the server sends {method} without having declared {'.'.join(path)}",
                expected=f"the server capability {'.'.join(path)}",
                actual=f"server capabilities {shorten(self.session.capabilities)}",
                frames=(frame,),
                # What listChanged indicates is said, not that its absence forbids the notification; and what a
                # server may log about a message that was wrong is nowhere said.
                ceiling=Severity.WARNING if method.endswith("list_changed") or self._illegal else None,
            )
        if method == "notifications/resources/updated":
            self._updated(frame)

    def _unsubscribed(self, frame: Frame, call: Call) -> None:
        """Note what was left, and what was sent before that can have come since a later request was answered."""
        self._settled |= {uri for uri, answered in self._left.items() if call.sent.number > answered.number}
        uri = call.params.get("uri") if isinstance(call.params, dict) else None
        done = isinstance(frame.message.get("result"), dict)
        if call.method == "resources/unsubscribe" and done and self._subscribed.pop(str(uri), None) is not None:
            self._left[str(uri)] = frame
            self._settled.discard(str(uri))

    def _updated(self, frame: Frame) -> None:
        params = frame.message.get("params")
        uri = str(params.get("uri")) if isinstance(params, dict) else ""
        if any(uri.startswith(known) for known in self._subscribed):
            self.ledger.held(SUBSCRIBED)
            return
        left = [known for known in self._left if uri.startswith(known)]
        if left and not self._settled & set(left):
            return  # it may have been sent before
        if left:
            what = "an update is sent for a resource that the client has unsubscribed from"
            proof = (self._left[left[0]], frame)
            self.breach(SUBSCRIBED, what, "no updates after resources/unsubscribe", uri, proof, Severity.WARNING)
            return
        self.ledger.broke(
            SUBSCRIBED,
            "an update is sent for a resource that the client did not subscribe to",
            expected="updates of subscribed resources only",
            actual=f"{shorten(uri)}; subscribed: {', '.join(self._subscribed) or 'nothing'}",
            frames=(*list(self._subscribed.values())[:1], frame),
        )
