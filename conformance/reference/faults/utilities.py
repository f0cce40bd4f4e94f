"""Faults in completion, logging, progress, cancellation and in what a server knows of JSON Schema."""

from __future__ import annotations

import os

from conformance.reference.call import Call, Cancelled
from conformance.reference.faults.base import (
    HANDSHAKE,
    Fault,
    around,
    die,
    forgiving,
    instead,
    on_error,
    on_notification,
    on_result,
    sending,
    setting,
    several,
    without,
)
from conformance.reference.schema import problem
from conformance.reference.shape import LEVELS
from conformance.reference.tool import Tool, answer
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError, decode, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    from conformance.reference.call import Channel
    from conformance.reference.faults.base import Apply, Proceed
    from conformance.reference.server import Server

PROGRESS = "notifications/progress"
LOG = "notifications/message"
CANCELLED = "notifications/cancelled"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
IGNORED = "cancellation/invalid-cancellation-ignored"
LIMIT = "completion/at-most-100-values"
LATE = "cancellation/late-cancellation-harmless"
NEWER = ("prefixItems", "dependentRequired", "dependentSchemas")


def _uncut(result: Message, call: Call) -> None:
    completion = result["completion"]
    if completion["hasMore"]:
        more = [f"value {number}" for number in range(completion["total"] - 100)]
        completion["values"] = [*completion["values"], *more]


def _of_no_type(call: Call) -> bool:
    reference = call.params.get("ref") if isinstance(call.params, dict) else None
    return isinstance(reference, dict) and reference.get("type") not in ("ref/prompt", "ref/resource")


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


def _flood(message: Message, call: Call | None) -> list[Message]:
    done = message["params"]["progress"]
    return [
        {**message, "params": {**message["params"], "progress": done + number / 1000 if number else done}}
        for number in range(200)
    ]


def _answered_all_the_same(call: Call, proceed: Proceed) -> Message | None:
    try:
        return proceed(call)
    except Cancelled:
        if all(task.call is not call for task in call.peer.tasks.values()):  # those are answered already
            call.send(RpcError(0, "Request cancelled").response({"id": call.id}))
        raise


def _works_on() -> Apply:
    cancelled: set[Any] = set()

    def silent(message: Message, call: Call | None) -> Any:
        return [] if call and call.id in cancelled and "method" not in message else message

    return several(setting("cancel", lambda call: cancelled.add(call.id)), sending(silent))


def _told(test: Callable[[Message, set[Any]], bool], act: Callable[[Channel], object]) -> Apply:
    """Do `act` when a message comes in for which `test`, given also the ids that we have answered, is true."""

    def apply(server: Server) -> None:
        answered: set[Any] = set()
        channels: list[Channel] = []

        def lines(stream: BinaryIO) -> Iterator[bytes]:
            for line in stream:
                try:
                    message = decode(line)
                except RpcError:
                    message = None
                if isinstance(message, dict) and test(message, answered):
                    act(channels[0])
                yield line

        def outgoing(message: Message, call: Call | None) -> list[Any]:
            if "method" not in message or message["method"] == CANCELLED:
                given = message["params"].get("requestId") if "method" in message else message.get("id")
                answered.add(given) if is_id(given) else None
            return [message]

        server.lines = lines
        server.started.append(channels.append)
        server.outgoing.append(outgoing)

    return apply


def _named(message: Message) -> Any:
    params = message.get("params") if message.get("method") == CANCELLED else None
    return params.get("requestId") if isinstance(params, dict) else None


def _names_answered(message: Message, answered: set[Any]) -> bool:
    given = _named(message)
    return is_id(given) and given in answered


def _names_nothing(message: Message, answered: set[Any]) -> bool:
    return message.get("method") == CANCELLED and not is_id(_named(message))


def _comes_late(message: Message, answered: set[Any]) -> bool:
    return "method" not in message and is_id(message.get("id")) and message["id"] in answered


def _refuse(channel: Channel) -> None:
    channel.send(RpcError(INVALID_PARAMS, "Invalid params: requestId").response({"id": None}))


def _old_vocabulary(concerns: Callable[[Message], bool]) -> Apply:
    """Check arguments without the words of 2020-12, where the schema `concerns` us."""

    def check(value: Any, schema: Message) -> str | None:
        return problem(value, _without_newer(schema) if concerns(schema) else schema)

    return setting("problem", check)


def _without_newer(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_newer(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    known = {name: _without_newer(value) for name, value in schema.items() if name not in NEWER}
    if "prefixItems" in schema:
        known.pop("items", None)
    return known


def _draft_07(server: Server) -> None:
    schema: Message = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "type": "object",
        "properties": {"colour": {"type": "string"}, "size": {"type": "integer"}},
        "dependencies": {"colour": ["size"]},
    }
    server.tools["paint"] = Tool("paint", "Paint nothing", lambda call, given: answer("Painted."), input=schema)


FAULTS = (
    Fault(
        "completion-unsupported-code",
        "completion/unsupported-refused jsonrpc/undeclared-feature-refused",
        "without completion, completion/complete gives -32603",
        several(
            without("completions"),
            on_error("Method not found: completion/", lambda message, call: message["error"].update(code=-32603)),
        ),
        since="2025-03-26",
    ),
    Fault(
        "completion-uncut",
        LIMIT,
        "where there are more than 100 values, all of them come",
        on_result(("completion/complete",), _uncut),
    ),
    Fault(
        "completion-of-nonsense",
        "completion/inputs-validated",
        "a reference of a type that does not exist is completed",
        forgiving(_of_no_type, lambda call: {"completion": {"values": ["anything"]}}),
    ),
    Fault(
        "completion-failure-text",
        "completion/internal-error-32603",
        "a completion that fails gives -32000",
        on_error("Internal error: this completion", lambda message, call: message["error"].update(code=-32000)),
        since="2025-03-26",
        until="2025-11-25",
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
    Fault(
        "progress-floods",
        "progress/rate-limited",
        "each step is reported two hundred times",
        on_notification(PROGRESS, _flood),
    ),
    Fault(
        "cancelled-answered",
        "cancellation/no-response-after-cancel transport-stdio/silent-after-cancel",
        "a request that was cancelled is answered by an error",
        around(_answered_all_the_same),
        transports="stdio",
    ),
    Fault(
        "cancelled-works-on",
        "cancellation/stops-processing transport-stdio/silent-after-cancel",
        "a request that was cancelled goes on, and only its response is withheld",
        _works_on(),
        transports="stdio",
    ),
    Fault(
        "late-cancellation-kills",
        f"{LATE} {IGNORED}",
        "the cancellation of a request that is answered ends the process",
        _told(_names_answered, die),
        transports="stdio",
    ),
    Fault(
        "malformed-cancellation-kills",
        IGNORED,
        "a cancellation without a proper id ends the process",
        _told(_names_nothing, die),
        transports="stdio",
    ),
    Fault(
        "malformed-cancellation-answered",
        IGNORED,
        "a cancellation without a proper id is answered by an error",
        _told(_names_nothing, _refuse),
        transports="stdio",
    ),
    Fault(
        "late-response-kills",
        "cancellation/late-response-ignored",
        "a response to a request that the server has cancelled ends the process",
        _told(_comes_late, die),
        until=HANDSHAKE[-1],
        transports="stdio",
    ),
    Fault(
        "dialect-default-old",
        "json-schema/dialect-2020-12-supported",
        "words of JSON Schema 2020-12 are not known where a schema names no dialect",
        _old_vocabulary(lambda schema: "$schema" not in schema),
        since="2025-11-25",
    ),
    Fault(
        "dialect-named-in-vain",
        "json-schema/validated-by-declared-dialect",
        "words of JSON Schema 2020-12 are not known although the schema names it",
        _old_vocabulary(lambda schema: "$schema" in schema),
        since="2025-11-25",
    ),
    Fault(
        "dialect-draft-07-unknown",
        "json-schema/validated-by-declared-dialect json-schema/dialect-2020-12-preferred"
        " tools/no-parameter-schema-recommended",
        "a schema names draft-07, and words that only draft-07 knows are not heeded",
        _draft_07,
        since="2025-11-25",
    ),
)
