"""Faults in lists that change: what comes to them, and what goes."""

from __future__ import annotations

from conformance.reference import prompts, resources, tools
from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, on_result, sending
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

OLD = {"until": "2025-11-25"}
ASKED_BY = ("tools/call", "resources/read", "prompts/get")
EXTRAS = {"tools": tools.EXTRA.name, "resources": resources.EXTRA.uri, "prompts": prompts.EXTRA.name}
"""The kind → the key of what comes and goes."""


def _shorter_later(kind: str, times: int) -> Apply:
    """Once a list was asked for so many times, it ends before the item that was the last, and no change is told."""
    asked: list[Call] = []

    def shorten(result: Message, call: Call) -> None:
        asked.append(call)
        if len(asked) > times and "nextCursor" not in result:
            result[kind].pop()

    def silence(message: Message, call: Call | None) -> Any:
        return [] if len(asked) > times and message.get("method") == f"notifications/{kind}/list_changed" else None

    def apply(server: Server) -> None:
        on_result((f"{kind}/list",), shorten)(server)
        sending(silence)(server)

    return apply


def _removal_untold(silent: str) -> Apply:
    def apply(server: Server) -> None:
        announce = server.announce

        def announced(kind: str) -> None:
            if kind != silent or EXTRAS[kind] in getattr(server, kind):
                announce(kind)

        server.announce = announced  # type: ignore[method-assign]

    return apply


def _new_unknown(kind: str) -> Apply:
    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method not in ASKED_BY or EXTRAS[kind] not in (call.params.get("name"), call.params.get("uri")):
            return proceed(call)
        listed = getattr(call.server, kind)
        with call.server.lock:
            item = listed.pop(EXTRAS[kind], None)
        try:
            return proceed(call)
        finally:
            if item is not None:
                listed[EXTRAS[kind]] = item

    return around(serve)


FAULTS = (
    Fault(
        "tools-fewer-later",
        "tools/list-change-announced",
        "after a while the list of tools has lost one, without a word",
        _shorter_later("tools", 12),
        transports="stdio",
        **OLD,
    ),
    Fault(
        "resources-fewer-later",
        "resources/list-change-announced",
        "after a while the list of resources has lost one, without a word",
        _shorter_later("resources", 10),
        transports="stdio",
        **OLD,
    ),
    Fault(
        "prompts-fewer-later",
        "prompts/list-change-announced",
        "after a while the list of prompts has lost one, without a word",
        _shorter_later("prompts", 14),
        transports="stdio",
        **OLD,
    ),
    Fault(
        "tool-removal-untold",
        "tools/list-change-announced",
        "that a tool has come to the list is announced, and that it has gone is not",
        _removal_untold("tools"),
        **OLD,
    ),
    Fault(
        "new-tool-unknown",
        "tools/methods-available",
        "a tool that has come to the list is unknown",
        _new_unknown("tools"),
        **OLD,
    ),
    Fault(
        "resource-removal-untold",
        "resources/list-change-announced",
        "that a resource has come to the list is announced, and that it has gone is not",
        _removal_untold("resources"),
        **OLD,
    ),
    Fault(
        "new-resource-unknown",
        "resources/methods-available",
        "a resource that has come to the list is unknown",
        _new_unknown("resources"),
        **OLD,
    ),
    Fault(
        "prompt-removal-untold",
        "prompts/list-change-announced",
        "that a prompt has come to the list is announced, and that it has gone is not",
        _removal_untold("prompts"),
        **OLD,
    ),
    Fault(
        "new-prompt-unknown",
        "prompts/methods-available",
        "a prompt that has come to the list is unknown",
        _new_unknown("prompts"),
        **OLD,
    ),
)
