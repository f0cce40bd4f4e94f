"""Faults in logging."""

from __future__ import annotations

import os
import threading

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, drop, failing, forgiving, instead, on_notification, sending
from conformance.reference.shape import LEVELS
from conformance.reference.stateless import Connection
from conformance.reference.wire import INVALID_PARAMS, LOG_LEVEL, METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

LOG = "notifications/message"
SEVERE = LEVELS[LEVELS.index("error") :]


def _bad_level(call: Call) -> bool:
    return call.method == "logging/setLevel"


def _no_level(call: Call) -> bool:
    return _bad_level(call) and not call.params.get("level")


def _level_forgotten(call: Call, proceed: Proceed) -> Message | None:
    level = call.peer.level
    result = proceed(call)
    call.peer.level = level
    return result


def _five_levels(call: Call, proceed: Proceed) -> Message | None:
    if call.params.get("level") in ("notice", "alert", "emergency"):
        raise RpcError(INVALID_PARAMS, "Invalid params: unknown level")
    return proceed(call)


def _one_level_lower(call: Call, proceed: Proceed) -> Message | None:
    result = proceed(call)
    call.peer.level = LEVELS[max(0, LEVELS.index(call.peer.level) - 1)]
    return result


def _taken_for(right: str, wrong: str) -> Apply:
    """Take one level for another."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.meta.get(LOG_LEVEL) == right:
            call.meta = {**call.meta, LOG_LEVEL: wrong}
        result = proceed(call)
        if call.method == "logging/setLevel" and call.params.get("level") == right:
            call.peer.level = wrong
        return result

    return around(serve)


def _later(call: Call, proceed: Proceed) -> Message | None:
    """Log once more when the call is over for a while."""
    result = proceed(call)
    if LOG_LEVEL in call.meta:
        call.afterwards = threading.Timer(0.1, lambda: call.log("emergency", "This comes late.")).start
    return result


def _every_level(call: Call, proceed: Proceed) -> Message | None:
    if call.meta.get(LOG_LEVEL) in LEVELS:
        call.meta = {**call.meta, LOG_LEVEL: "debug"}
    return proceed(call)


def _to_listeners(message: Message, call: Call | None) -> Any:
    if call is None or call.method == "subscriptions/listen":
        return message
    peers = [peer for peer in call.server.peers if isinstance(peer, Connection)]
    listening = [listener for peer in peers for listener, _ in list(peer.listeners.values())]
    for listener in listening:
        listener.send(message)
    return [] if listening else message


def _after_response(server: Server) -> None:
    held: dict[Any, list[Message]] = {}

    def hold(message: Message, call: Call | None) -> Any:
        if call is None:
            return message
        if message.get("method") == LOG and message["params"]["level"] in SEVERE:
            held.setdefault(call.id, []).append(message)
            return []
        return [message, *held.pop(call.id, [])] if "method" not in message else message

    sending(hold)(server)


def _null_for_levels(message: Message, call: Call | None) -> None:
    if call is not None and call.method == "logging/setLevel" and "result" in message:
        message["result"] = None


FAULTS = (
    Fault(
        "set-level-unknown",
        "logging/set-level-answered logging/invalid-level-refused logging/level-filter",
        "logging/setLevel is an unknown method although logging is declared",
        failing("logging/setLevel", METHOD_NOT_FOUND),
        until="2025-11-25",
    ),
    Fault(
        "levels-answered-null",
        "jsonrpc/result-is-object",
        "the result of logging/setLevel is null",
        sending(_null_for_levels),
        until="2025-11-25",
    ),
    Fault(
        "bad-level-accepted",
        "logging/invalid-level-refused",
        "an unknown log level is accepted",
        forgiving(_bad_level, lambda call: {}),
        until="2025-11-25",
    ),
    Fault(
        "no-level-accepted",
        "logging/invalid-level-refused",
        "null and empty text are accepted as log levels",
        forgiving(_no_level, lambda call: {}),
        until="2025-11-25",
    ),
    Fault(
        "level-forgotten",
        "logging/level-filter",
        "the log level that was set has no effect",
        instead("logging/setLevel", _level_forgotten),
        until="2025-11-25",
    ),
    Fault(
        "log-level-unknown",
        "logging/message-shape",
        "log messages have the level verbose",
        on_notification(LOG, lambda message, call: message["params"].update(level="verbose")),
    ),
    Fault(
        "log-without-data",
        "logging/message-shape",
        "log messages have no data",
        on_notification(LOG, lambda message, call: drop(message["params"], "data")),
    ),
    Fault(
        "five-levels-only",
        "logging/set-level-answered logging/invalid-level-refused",
        "of the eight levels three are refused",
        instead("logging/setLevel", _five_levels),
        until="2025-11-25",
    ),
    Fault(
        "level-off-by-one",
        "logging/level-filter",
        "messages one level below the one that was set are sent as well",
        instead("logging/setLevel", _one_level_lower),
        until="2025-11-25",
    ),
    Fault(
        "level-notice-taken-for-info",
        "logging/level-filter",
        "with the level notice, messages of level info are sent as well",
        _taken_for("notice", "info"),
    ),
    Fault(
        "level-emergency-taken-for-error",
        "logging/level-filter",
        "with the level emergency, messages of level error are sent as well",
        _taken_for("emergency", "error"),
    ),
    Fault(
        "log-a-while-after-the-response",
        "logging/same-stream-only",
        "a tenth of a second after its response a call logs once more",
        instead("tools/call", _later),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "log-level-key-unheeded",
        "logging/level-filter",
        "a request that asks for logs gets all of them, whatever level it names",
        around(_every_level),
        since="2026-07-28",
    ),
    Fault(
        "log-on-subscription",
        "logging/same-stream-only subscriptions/no-request-scoped-notifications",
        "log messages go to those who listen for changes",
        on_notification(LOG, _to_listeners),
        since="2026-07-28",
        transports="http",
    ),
    Fault(
        "log-after-response",
        "logging/same-stream-only",
        "severe log messages are sent after the response",
        _after_response,
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "logs-environment",
        "logging/no-secrets-logged",
        "log messages hold the environment of the process",
        on_notification(LOG, lambda message, call: message["params"].update(data=dict(os.environ))),
    ),
)
