"""Faults in what subscribers are told: who hears of which changes, and how subscriptions end."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, drop, instead, on_notification, on_response, on_result, several
from conformance.reference.stateless import Connection
from conformance.reference.wire import SUBSCRIPTION, Message, notification

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Server as Offering
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

NEW = "2026-07-28"


def _listeners(server: Offering) -> list[tuple[Call, Message]]:
    """All subscriptions, each with what was granted."""
    return [each for peer in server.peers if isinstance(peer, Connection) for each in peer.listeners.values()]


def _tell(call: Call, method: str, **params: Any) -> None:
    call.notify(method, {"_meta": {SUBSCRIPTION: call.id}, **params})


def _announcing(tell: Callable[[Server, str], None]) -> Apply:
    """Announce changes of lists otherwise."""

    def apply(server: Server) -> None:
        server.announce = lambda kind: tell(server, kind)  # type: ignore[method-assign]

    return apply


def _updating(tell: Callable[[Server, str], None]) -> Apply:
    """Tell of changed resources otherwise."""

    def apply(server: Server) -> None:
        server.update = lambda uri: tell(server, uri)  # type: ignore[method-assign]

    return apply


def _to_everybody(server: Server, kind: str) -> None:
    for call, _ in _listeners(server):
        _tell(call, f"notifications/{kind}/list_changed")


def _to_the_first(server: Server, kind: str) -> None:
    for call, granted in _listeners(server):
        if granted.get(f"{kind}ListChanged"):
            _tell(call, f"notifications/{kind}/list_changed")
            return


def _to_the_last(server: Server, kind: str) -> None:
    for call, granted in reversed(_listeners(server)):
        if granted.get(f"{kind}ListChanged"):
            _tell(call, f"notifications/{kind}/list_changed")
            return


def _who_hears_of(server: Server, uri: str) -> list[Call]:
    return [call for call, granted in _listeners(server) if uri in granted.get("resourceSubscriptions", ())]


def _update_to_the_first(server: Server, uri: str) -> None:
    for call in _who_hears_of(server, uri)[:1]:
        _tell(call, "notifications/resources/updated", uri=uri)


def _update_under_the_last_id(server: Server, uri: str) -> None:
    hearing = _who_hears_of(server, uri)
    for call in hearing:
        call.notify("notifications/resources/updated", {"_meta": {SUBSCRIPTION: hearing[-1].id}, "uri": uri})


def _to_all_resources(server: Server, uri: str) -> None:
    for call, granted in _listeners(server):
        if "resourceSubscriptions" in granted:
            _tell(call, "notifications/resources/updated", uri=uri)


def _another_uri(server: Server, uri: str) -> None:
    for call in _who_hears_of(server, uri):
        _tell(call, "notifications/resources/updated", uri="reference://other")


def _to_listeners_too(method: str) -> Apply:
    """Send the notifications of tool calls to subscribers as well."""

    def change(message: Message, call: Call | None) -> Any:
        if call is None or call.method != "tools/call":
            return None
        for listening, _ in _listeners(call.server):
            params = {**message["params"], "_meta": {SUBSCRIPTION: listening.id}}
            listening.channel.send(notification(method, params))
        return None

    return on_notification(method, change)


def _never_forgotten(cancelled: Callable[[Connection, object], None]) -> Apply:
    """Keep subscriptions that are cancelled."""

    def apply(server: Server) -> None:
        def cancel(self: Connection, request_id: object) -> None:
            kept = dict(self.listeners)
            cancelled(self, request_id)
            self.listeners.update(kept)
            if kept and self not in server.peers:
                server.peers.append(self)

        Connection.cancel = cancel  # type: ignore[method-assign]

    return apply


def _forget_all(server: Server) -> None:
    correct = Connection.cancel

    def cancel(self: Connection, request_id: object) -> None:
        correct(self, request_id)
        self.listeners.clear()

    Connection.cancel = cancel  # type: ignore[method-assign]


def _answer_cancelled(server: Server) -> None:
    """Answer what was cancelled when the next change comes."""
    correct, cancelled = Connection.cancel, list[Call]()

    def cancel(self: Connection, request_id: object) -> None:
        if isinstance(request_id, (str, int)) and request_id in self.listeners:
            cancelled.append(self.listeners[request_id][0])
        correct(self, request_id)

    def late(call: Call, proceed: Proceed) -> Message | None:
        while call.method == "tools/call" and cancelled:
            each = cancelled.pop()
            result = {"resultType": "complete", "_meta": {SUBSCRIPTION: each.id}}
            each.send({"jsonrpc": "2.0", "id": each.id, "result": result})
        return proceed(call)

    Connection.cancel = cancel  # type: ignore[method-assign]
    around(late)(server)


def _answered_at_once(call: Call, proceed: Proceed) -> Message | None:
    """Acknowledge, and end the subscription."""
    call.channel.hold = lambda call: None  # type: ignore[method-assign]
    proceed(call)
    call.peer.cancel(call.id)
    call.cancelled.clear()
    return {"_meta": {SUBSCRIPTION: call.id}}


def _cut_off(call: Call, proceed: Proceed) -> Message | None:
    """Acknowledge, and close the stream."""
    call.channel.hold = lambda call: None  # type: ignore[method-assign]
    return proceed(call)


def _cancelled_only(change: Callable[[Message], Any]) -> Apply:
    """Of the words at the end of a subscription leave out the result, and change notifications/cancelled."""

    def on_cancelled(message: Message, call: Call | None) -> Any:
        return change(message)

    silent = on_response(("subscriptions/listen",), lambda message, call: [] if "result" in message else None)
    return several(silent, on_notification("notifications/cancelled", on_cancelled))


def _another_id(message: Message) -> Any:
    message["params"]["requestId"] = "none"
    return None


def _restored(server: Server) -> None:
    """Keep subscriptions beyond the end of the process, for the next one of the same parent."""
    place = Path(tempfile.gettempdir()) / f"mcp-conform-reference-{os.getppid()}"
    old = place.read_text() if place.exists() else ""
    place.unlink(missing_ok=True)

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method == "subscriptions/listen" and isinstance(call.id, str):
            place.write_text(call.id)
        if call.method == "tools/call" and old:
            call.server.send(
                call.channel, notification("notifications/tools/list_changed", {"_meta": {SUBSCRIPTION: old}})
            )
        return proceed(call)

    around(serve)(server)


def _kept_silent(silent: str) -> Apply:
    """Do not announce changes of one list."""

    def apply(server: Server) -> None:
        correct = server.announce

        def announce(kind: str) -> None:
            if kind != silent:
                correct(kind)

        server.announce = announce  # type: ignore[method-assign]

    return apply


ENDS = "subscriptions/graceful-result-sent"
TEARDOWN = "subscriptions/teardown-sends-cancelled"
CONCURRENT = "subscriptions/concurrent-subscriptions-independent"
STOPS = "subscriptions/client-cancel-stops"
RESULT = "subscriptions/graceful-result-shape"
SCOPED = "subscriptions/no-request-scoped-notifications"
ANNOUNCED = "list-change-announced-to-subscribers"


def _one_an_id(call: Call, proceed: Proceed) -> Message | None:
    """Keep subscriptions by their ids alone, whosever they are."""
    for other, _ in _listeners(call.server):
        if other.id == call.id and isinstance(other.peer, Connection):
            del other.peer.listeners[other.id]
    return proceed(call)


FAULTS = (
    Fault(
        "changes-to-all-subscribers",
        "subscriptions/requested-types-only",
        "who listens for one list hears of the others as well",
        _announcing(_to_everybody),
        since=NEW,
    ),
    Fault(
        "updates-to-all-subscribers",
        "subscriptions/requested-uris-only",
        "who listens for one resource hears of the others as well",
        _updating(_to_all_resources),
        since=NEW,
    ),
    Fault(
        "updates-of-another-uri",
        "subscriptions/requested-uris-only resources/update-announced-to-subscribers",
        "an update names another resource than the one that was asked for",
        _updating(_another_uri),
        since=NEW,
    ),
    Fault(
        "changes-to-the-first-subscriber",
        CONCURRENT,
        "of several subscriptions to a list only the first hears of a change",
        _announcing(_to_the_first),
        since=NEW,
    ),
    Fault(
        "subscriptions-by-their-ids",
        "tools/list-change-announced-to-subscribers",
        "who subscribes takes the place of another client whose subscription has the same id",
        instead("subscriptions/listen", _one_an_id),
        transports="http",
        since=NEW,
    ),
    Fault(
        "changes-to-the-last-subscriber",
        CONCURRENT,
        "of several subscriptions to a list only the last hears of a change",
        _announcing(_to_the_last),
        since=NEW,
    ),
    Fault(
        "updates-to-the-first-subscriber",
        CONCURRENT,
        "of several subscriptions to a resource only the first hears of a change",
        _updating(_update_to_the_first),
        since=NEW,
    ),
    Fault(
        "updates-under-the-last-id",
        f"{CONCURRENT} subscriptions/subscription-id-equals-request-id",
        "updates that go to several subscriptions all carry the id of the last one",
        _updating(_update_under_the_last_id),
        since=NEW,
    ),
    Fault(
        "cancelling-one-cancels-all",
        CONCURRENT,
        "when one subscription is cancelled all of the connection end",
        _forget_all,
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "subscription-ends-at-once",
        "subscriptions/http-stream-stays-open"
        " resources/update-announced-to-subscribers tools/list-change-announced-to-subscribers"
        " resources/list-change-announced-to-subscribers prompts/list-change-announced-to-subscribers",
        "the stream of a subscription ends after its acknowledgment",
        instead("subscriptions/listen", _answered_at_once),
        since=NEW,
        transports="http",
    ),
    Fault(
        "subscription-cut-off",
        "subscriptions/http-stream-stays-open"
        " resources/update-announced-to-subscribers tools/list-change-announced-to-subscribers"
        " resources/list-change-announced-to-subscribers prompts/list-change-announced-to-subscribers",
        "the stream of a subscription is cut off after its acknowledgment",
        instead("subscriptions/listen", _cut_off),
        since=NEW,
        transports="http",
    ),
    Fault(
        "logs-to-subscribers",
        f"{SCOPED} logging/same-stream-only logging/no-log-without-level",
        "log messages of calls go to subscribers as well",
        _to_listeners_too("notifications/message"),
        since=NEW,
    ),
    Fault(
        "progress-to-subscribers",
        f"{SCOPED} progress/known-token-only progress/value-increases progress/stops-after-completion",
        "progress of calls goes to subscribers as well",
        _to_listeners_too("notifications/progress"),
        since=NEW,
    ),
    Fault(
        "cancelled-subscription-goes-on",
        STOPS,
        "a subscription that the client has cancelled goes on",
        _never_forgotten(Connection.cancel),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "cancelled-subscription-answered",
        STOPS,
        "a subscription that the client has cancelled is answered later",
        _answer_cancelled,
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "subscription-result-unnamed",
        RESULT,
        "the result of a subscription does not carry its id",
        on_result(("subscriptions/listen",), lambda result, call: drop(result["_meta"], SUBSCRIPTION)),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "subscription-result-of-another",
        RESULT,
        "the result of a subscription carries another id",
        on_result(("subscriptions/listen",), lambda result, call: result["_meta"].update({SUBSCRIPTION: "another"})),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "ends-without-a-word",
        f"{ENDS} {TEARDOWN}",
        "the server ends without a word to its subscribers",
        _cancelled_only(lambda message: []),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "cancels-another-id",
        f"{TEARDOWN} {ENDS}",
        "when the server ends it cancels a request that is no subscription",
        _cancelled_only(_another_id),
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "subscription-outlives-connection",
        "subscriptions/not-restored-after-reconnect subscriptions/no-unsolicited-changes"
        " subscriptions/subscription-id-equals-request-id",
        "a subscription goes on in the next process",
        _restored,
        since=NEW,
        transports="stdio",
    ),
    Fault(
        "tool-changes-not-told",
        f"tools/{ANNOUNCED}",
        "subscribers do not hear of changes of the list of tools",
        _kept_silent("tools"),
        since=NEW,
    ),
    Fault(
        "resource-changes-not-told",
        f"resources/{ANNOUNCED}",
        "subscribers do not hear of changes of the list of resources",
        _kept_silent("resources"),
        since=NEW,
    ),
    Fault(
        "prompt-changes-not-told",
        f"prompts/{ANNOUNCED}",
        "subscribers do not hear of changes of the list of prompts",
        _kept_silent("prompts"),
        since=NEW,
    ),
    Fault(
        "updates-not-told",
        "resources/update-announced-to-subscribers",
        "subscribers do not hear of changed resources",
        _updating(lambda server, uri: None),
        since=NEW,
    ),
)
