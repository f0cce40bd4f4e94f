"""Subscriptions: what comes on a subscription of 2026-07-28 carries its id, in order, and was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity, members
from conformance.session.messages import Call, id_key, is_id
from conformance.session.notifications import SUBSCRIPTION
from conformance.session.session import Session

FIRST = "subscriptions/acknowledged-first"
WITHIN = "subscriptions/acknowledgment-within-request"
TYPES = "subscriptions/requested-types-only"
URIS = "subscriptions/requested-uris-only"
PRESENT = "subscriptions/subscription-id-present"
EQUALS = "subscriptions/subscription-id-equals-request-id"
SCOPED = "subscriptions/no-request-scoped-notifications"
STOPS = "subscriptions/client-cancel-stops"
RESULT = "subscriptions/graceful-result-shape"

LISTEN = "subscriptions/listen"
ACKNOWLEDGED = "notifications/subscriptions/acknowledged"
UPDATED = "notifications/resources/updated"
OF_TASKS = "notifications/tasks"
MEMBER = {
    "notifications/tools/list_changed": "toolsListChanged",
    "notifications/prompts/list_changed": "promptsListChanged",
    "notifications/resources/list_changed": "resourcesListChanged",
    UPDATED: "resourceSubscriptions",
}
"""Notification → the member of the filter that asks for it."""
OF_REQUESTS = ("notifications/progress", "notifications/message")
"""Notifications that belong to the request that they are about."""


@dataclass(slots=True)
class Subscription:
    """A subscription that we asked for. `after` is the position from which nothing may come any more, if there is."""

    sent: Frame
    acknowledged: bool = False
    granted: Json = None
    cancelled: int | None = None
    after: int | None = None

    @property
    def id(self) -> Json:
        """That of the request."""
        return self.sent.message["id"]

    @property
    def wanted(self) -> dict[str, Json]:
        """The filter that was asked for."""
        return members(members(self.sent.message.get("params")).get("notifications"))

    @property
    def uris(self) -> list[str]:
        """The resources that were asked for."""
        uris = self.wanted.get("resourceSubscriptions")
        return uris if isinstance(uris, list) else []


class Subscriptions(Watcher):
    """See the module. What comes of a request that was wrong on purpose is left alone."""

    name = "subscriptions"
    requirements: ClassVar[tuple[str, ...]] = (FIRST, WITHIN, TYPES, URIS, PRESENT, EQUALS, SCOPED, STOPS, RESULT)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._known: dict[str, Subscription] = {}

    def sent(self, frame: Frame) -> None:
        """Note subscriptions, and what cancels them."""
        super().sent(frame)
        message = frame.message
        if not isinstance(message, dict):
            return
        if message.get("method") == LISTEN and is_id(message.get("id")):
            self._known[id_key(message["id"])] = Subscription(frame)
        elif self._known and message.get("method") == "notifications/cancelled" and frame.exchange is None:
            ended = self._known.get(id_key(members(message.get("params")).get("requestId")))
            if ended is not None and ended.cancelled is None:
                ended.cancelled = frame.number

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge one message."""
        message = frame.message
        if not isinstance(message, dict):
            return
        if not self._known:
            if message.get("method") == OF_TASKS and "id" not in message:
                what = f"{OF_TASKS} comes, and nothing was subscribed to"
                self.breach(TYPES, what, "nothing that was not asked for", message, (frame,), self.softened())
            return
        if "method" not in message:
            self._answered(frame, call)
        elif "id" not in message and isinstance(message["method"], str):
            self._told(frame, message["method"], members(message.get("params")))

    # -- answers

    def _answered(self, frame: Frame, call: Call | None) -> None:
        if call is None:
            return
        for each in self._known.values():
            # What was sent before the server read the cancellation has come before the answer to a later request.
            if each.cancelled is not None and each.after is None and call.sent.number > each.cancelled:
                each.after = frame.number
        found = self._known.get(id_key(call.id)) if call.method == LISTEN else None
        if found is None or found.sent.illegal:
            return
        if found.after is not None and frame.number > found.after:
            what = "a subscription that the client has cancelled is answered"
            self.breach(STOPS, what, "nothing", frame.message, (found.sent, frame), Severity.WARNING)
        result = frame.message.get("result")
        if isinstance(result, dict):
            meta = members(result.get("_meta"))
            named = SUBSCRIPTION in meta and id_key(meta[SUBSCRIPTION]) == id_key(found.id)
            kind = result.get("resultType")
            if named and not isinstance(kind, str):
                return  # what lacks it is the same in all results
            if named and kind == "complete":
                self.ledger.held(RESULT)
                return
            wrong = "is not complete" if named else "does not name the subscription that it ends"
            what = f"the result of subscriptions/listen {wrong}"
            expected = f'resultType "complete" and _meta[{SUBSCRIPTION}] {found.id!r}'
            # Where nothing was granted there is hardly a subscription.
            softer = None if found.granted else Severity.WARNING
            self.breach(RESULT, what, expected, result, (found.sent, frame), self.softened(softer))

    # -- notifications

    def _told(self, frame: Frame, method: str, params: dict[str, Json]) -> None:
        meta = members(params.get("_meta"))
        found = self._belongs(frame, method, meta)
        if found is None or found.sent.illegal:
            return
        proof = (found.sent, frame)
        if method in OF_REQUESTS:
            own = members(members(found.sent.message.get("params")).get("_meta")).get("progressToken")
            if method == OF_REQUESTS[0] and own is not None and params.get("progressToken") == own:
                return  # it is about the subscription itself
            what = f"{method} comes on a subscription"
            soft = Severity.WARNING if method == OF_REQUESTS[0] else None  # of progress a page says it without keyword
            self.breach(SCOPED, what, "change notifications only", method, proof, soft)
            return
        if found.after is not None and frame.number > found.after:
            what = f"{method} comes on a subscription that the client has cancelled"
            self.breach(STOPS, what, "nothing", frame.message, proof, None)
            return
        if not found.acknowledged:
            if method == ACKNOWLEDGED:
                self.ledger.held(FIRST)
            else:
                what = f"{method} comes on a subscription before {ACKNOWLEDGED}"
                self.breach(FIRST, what, ACKNOWLEDGED, method, proof, None)
            found.acknowledged = True
        if method == ACKNOWLEDGED:
            found.granted = members(params.get("notifications"))
            self._granted(found, found.granted, proof)
        elif method in MEMBER:
            self._change(found, method, params, proof)

    def _belongs(self, frame: Frame, method: str, meta: dict[str, Json]) -> Subscription | None:
        """The subscription on which a notification comes: over HTTP by its stream, else by the id that it carries."""
        of_stream = next((s for s in self._known.values() if s.sent.exchange == frame.exchange is not None), None)
        changes = method in (ACKNOWLEDGED, OF_TASKS) or method in MEMBER
        if SUBSCRIPTION not in meta:
            if changes and (of_stream is not None or (frame.exchange is None and self._open)):
                last = of_stream or self._open[-1]
                if not last.sent.illegal:
                    what = "a notification does not carry the id of its subscription"
                    # The extension's own example of it has no id.
                    soft = Severity.WARNING if method == OF_TASKS else None
                    self.breach(PRESENT, what, f"_meta[{SUBSCRIPTION}]", frame.message, (last.sent, frame), soft)
                if method == ACKNOWLEDGED and of_stream is None:  # of which is unknown, so that none is without one
                    for each in self._open:
                        each.acknowledged = True
            return of_stream
        identifier = meta[SUBSCRIPTION]
        by_id = self._known.get(id_key(identifier)) if is_id(identifier) else None
        right = by_id is not None and of_stream in (None, by_id)
        if changes and (of_stream or by_id or self._open) and not any(s.sent.illegal for s in (of_stream, by_id) if s):
            self.ledger.held(PRESENT)
            if right:
                self.ledger.held(EQUALS)
            else:
                meant = of_stream or next((s for s in self._known.values() if str(s.id) == str(identifier)), None)
                what = "a notification carries an id that is not that of its subscriptions/listen request"
                if meant is not None and str(meant.id) == str(identifier):
                    what = "a notification carries the id of its subscriptions/listen request in another type"
                asked = meant or self._open[-1]
                expected = f"_meta[{SUBSCRIPTION}] {asked.id!r}"
                self.breach(EQUALS, what, expected, {method: identifier}, (asked.sent, frame), None)
                return of_stream
        return of_stream or by_id

    @property
    def _open(self) -> list[Subscription]:
        return [each for each in self._known.values() if each.cancelled is None]

    def _granted(self, found: Subscription, granted: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        more = [name for name in list(MEMBER.values())[:3] if granted.get(name) is True and not found.wanted.get(name)]
        uris = granted.get("resourceSubscriptions")
        more += [uri for uri in (uris if isinstance(uris, list) else []) if uri not in found.uris]
        if more:
            what = "a subscription is granted more than was asked for"
            self.breach(WITHIN, what, f"at most {found.wanted}", granted, proof, None)
        else:
            self.ledger.held(WITHIN)

    def _change(self, found: Subscription, method: str, params: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        if not found.wanted.get(MEMBER[method]):
            what = f"{method} comes on a subscription that did not ask for it"
            self.breach(TYPES, what, f"what was asked for: {found.wanted}", method, proof, None)
        elif method == UPDATED:
            uri = params.get("uri")
            # A sub-resource of what was asked for is legal, and what is one only the server knows.
            if isinstance(uri, str) and not any(uri.startswith(asked) for asked in found.uris):
                what = f"{method} comes for a resource that the subscription did not ask for"
                self.breach(URIS, what, f"one of {found.uris}", uri, proof, Severity.WARNING)
