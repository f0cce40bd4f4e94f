"""Faults in what the server keeps of a session over HTTP: it keeps it for all of them."""

from __future__ import annotations

from copy import copy

from conformance.reference.call import Call
from conformance.reference.fault import HANDSHAKE, Fault, instead
from conformance.reference.http_fault import handling
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed

UNDECLARED = "sampling/capability-required elicitation/capability-required roots/capability-checked"
CLIENT = "discovery/only-declared-client-capabilities"


def _for_all(method: str, *names: str) -> Apply:
    """After a request of that method all sessions have what the one has that made it, under these names."""

    def run(call: Call, proceed: Proceed) -> Message | None:
        result = proceed(call)
        one: Any = call.peer
        for peer in one.server.peers:
            for name in names:
                setattr(peer, name, copy(getattr(one, name)))
        return result

    return instead(method, run)


def _at_an_end(name: str, value: Any) -> Apply:
    """When one session is ended, all others lose what they had under that name."""

    def delete(handler: Any, proceed: Any, body: bytes) -> None:
        proceed(body)
        for peer in handler.endpoint.server.peers:
            setattr(peer, name, copy(value))

    return handling(_delete=delete)


def _fault(name: str, requirements: str, summary: str, apply: Apply) -> Fault:
    return Fault(name, requirements, summary, apply, until=HANDSHAKE[-1], transports="http")


FAULTS = (
    _fault(
        "level-of-all-sessions",
        "logging/level-filter",
        "there is one level for all sessions",
        _for_all("logging/setLevel", "level"),
    ),
    _fault(
        "subscription-of-all-sessions",
        "resources/updates-only-for-subscribed",
        "who subscribes to a resource does so for all sessions",
        _for_all("resources/subscribe", "subscribed"),
    ),
    _fault(
        "unsubscribed-in-all-sessions",
        "resources/update-announced",
        "who leaves a resource does so for all sessions",
        _for_all("resources/unsubscribe", "subscribed"),
    ),
    _fault(
        "subscriptions-ended-by-delete",
        "resources/update-announced",
        "all subscriptions end with the session of one client",
        _at_an_end("subscribed", set()),
    ),
    _fault(
        "levels-lost-by-delete",
        "logging/level-filter",
        "all levels are forgotten when one client ends its session",
        _at_an_end("level", "debug"),
    ),
    _fault(
        "capabilities-of-last-session",
        f"{UNDECLARED} {CLIENT}",
        "each client is taken for one that has what the last one declared",
        _for_all("initialize", "client"),
    ),
)
