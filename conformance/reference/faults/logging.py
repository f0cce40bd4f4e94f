"""Faults in logging."""

from __future__ import annotations

import os

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, drop, failing, forgiving, instead, on_notification
from conformance.reference.shape import LEVELS
from conformance.reference.wire import INVALID_PARAMS, LOG_LEVEL, METHOD_NOT_FOUND, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from conformance.reference.fault import Proceed

LOG = "notifications/message"


def _bad_level(call: Call) -> bool:
    return call.method == "logging/setLevel"


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


def _every_level(call: Call, proceed: Proceed) -> Message | None:
    if call.meta.get(LOG_LEVEL) in LEVELS:
        call.meta = {**call.meta, LOG_LEVEL: "debug"}
    return proceed(call)


FAULTS = (
    Fault(
        "set-level-unknown",
        "logging/set-level-answered logging/invalid-level-refused logging/level-filter",
        "logging/setLevel is an unknown method although logging is declared",
        failing("logging/setLevel", METHOD_NOT_FOUND),
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
        "log-level-key-unheeded",
        "logging/level-filter",
        "a request that asks for logs gets all of them, whatever level it names",
        around(_every_level),
        since="2026-07-28",
    ),
    Fault(
        "logs-environment",
        "logging/no-secrets-logged",
        "log messages hold the environment of the process",
        on_notification(LOG, lambda message, call: message["params"].update(data=dict(os.environ))),
    ),
)
