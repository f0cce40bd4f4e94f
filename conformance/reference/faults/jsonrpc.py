"""Faults in messages, ids, notifications and batches."""

from __future__ import annotations

import json
import struct
from itertools import repeat

from conformance.reference import server as correct
from conformance.reference.call import Call, Cancelled
from conformance.reference.fault import (
    LISTS,
    Fault,
    around,
    drop,
    on_error,
    on_notification,
    on_response,
    on_result,
    sending,
    setting,
)
from conformance.reference.shape import text
from conformance.reference.wire import Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Channel
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.peer import Peer
    from conformance.reference.server import Server

ONCE = "jsonrpc/every-request-answered-once"
STDIO = {"transports": "stdio", "only": "2025-11-25"}
"""What does not return is told once in a run, so in one revision of it."""
ECHOED = "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once"
UTF8 = "jsonrpc/messages-utf8"
TEMPLATES = "resources/templates-list-available resources/templates-list-shape pagination/cursor-accepted"
TEMPLATES += " jsonrpc/every-request-answered-once jsonrpc/valid-messages"


def _wrapped(message: Message) -> None:
    if type(message["id"]) is int:
        message["id"] = struct.unpack("i", struct.pack("I", message["id"] & 0xFFFFFFFF))[0]


def _digits_become_numbers(message: Message, call: Call | None) -> None:
    if isinstance(message.get("id"), str) and message["id"].isdecimal() and "method" not in message:
        message["id"] = int(message["id"])


def _digits_become_numbers_in_errors(message: Message, call: Call | None) -> None:
    if "error" in message:
        _digits_become_numbers(message, call)


def _zero_becomes_null(message: Message, call: Call | None) -> None:
    if "method" not in message:
        message["id"] = message.get("id") or None


def _wrapped_responses(message: Message, call: Call | None) -> None:
    if "method" not in message and "id" in message:
        _wrapped(message)


def _empty_array(message: Message, call: Call) -> None:
    if "result" in message:
        message["result"] = []


def _answer_notifications(body: Message, but: str = "notifications/initialized") -> Any:
    def hook(peer: Peer, method: str, channel: Channel) -> None:
        if not method.startswith(but):
            channel.send({"jsonrpc": "2.0", "id": None, **body})

    return lambda server: server.notified.append(hook)


def _latin_1(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("latin-1", "replace")


def _batch_refused(server: Server, responses: list[Message], channel: Channel) -> None:
    channel.send(RpcError(-32600, "Invalid request: no batches").response({"id": None}))


def _batch_answered_singly(server: Server, responses: list[Message], channel: Channel) -> None:
    for response in responses:
        channel.send(response)


def _of_one(answer: Callable[[Server, list[Message], Channel], None]) -> Apply:
    """Answer batches of one request so."""
    return setting("answer_batch", lambda *batch: (answer if len(batch[1]) == 1 else correct.answer_batch)(*batch))


def _ping_client(message: Message, call: Call) -> list[Any]:
    return [{"jsonrpc": "2.0", "id": f"ping-{call.id}", "method": "ping"}, message]


def _last_word(message: Message, call: Call) -> list[Any]:
    return [message, {"jsonrpc": "2.0", "hello": True}]


def _notification_with_id(message: Message, call: Call | None) -> None:
    message["id"] = None


def _never(method: str, member: str, value: str) -> Apply:
    """Requests of the method whose params name that are heard, and never answered."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        if call.method == method and isinstance(call.params, dict) and value in str(call.params.get(member)):
            raise Cancelled
        return proceed(call)

    return around(serve)


def _id(concerns: Callable[[Any], bool], change: Callable[[Any], Any], errors_only: bool = False) -> Apply:
    """Change the ids of responses that `concerns` is true of."""

    def change_id(message: Message, call: Call | None) -> None:
        if "method" not in message and ("error" in message or not errors_only) and concerns(message.get("id")):
            message["id"] = change(message["id"])

    return sending(change_id)


def _ascii(words: str) -> str:
    return words.encode("ascii", "replace").decode()


def _echo_in_ascii(result: Message, call: Call) -> None:
    if call.params.get("name") == "echo":
        result["content"] = [text(_ascii(block["text"])) for block in result["content"]]


def _prompt_in_ascii(result: Message, call: Call) -> None:
    if call.params.get("name") == "greet":
        result["messages"] = [
            {**message, "content": text(_ascii(message["content"]["text"]))} for message in result["messages"]
        ]


def _id_stuck_after_an_error() -> Apply:
    failed: list[Any] = []

    def change(message: Message, call: Call | None) -> None:
        if "error" in message and call and isinstance(call.id, int):
            failed.append(call.id)
        elif "result" in message and len(failed) == 1:
            message["id"] = failed[0]
            failed.append(None)

    return sending(change)


FAULTS = (
    Fault(
        "tool-never-returns", ONCE, "the tool version never returns", _never("tools/call", "name", "version"), **STDIO
    ),
    Fault(
        "resource-never-returns",
        ONCE,
        "one of the resources is never read to the end",
        _never("resources/read", "uri", "counter"),
        **STDIO,
    ),
    Fault("prompt-never-returns", ONCE, "a prompt never comes", _never("prompts/get", "name", "hello"), **STDIO),
    Fault(
        "completion-never-returns",
        ONCE,
        "the variables of templates are never completed",
        _never("completion/complete", "ref", "ref/resource"),
        **STDIO,
    ),
    Fault(
        "message-of-no-kind",
        "jsonrpc/valid-messages transport-stdio/stdout-only-messages",
        "after the answer to tools/list comes a message that is no request, notification or response",
        on_response(("tools/list",), _last_word),
        transports="stdio",
    ),
    Fault(
        "version-member-missing",
        "jsonrpc/version-member jsonrpc/valid-messages",
        "the answers to list requests lack jsonrpc",
        on_response(LISTS, lambda message, call: drop(message, "jsonrpc")),
    ),
    Fault(
        "version-member-number",
        "jsonrpc/version-member jsonrpc/valid-messages",
        "the answers to list requests say jsonrpc: 2.0, the number",
        on_response(LISTS, lambda message, call: message.update(jsonrpc=2.0)),
    ),
    Fault(
        "answers-twice",
        "jsonrpc/every-request-answered-once jsonrpc/response-id-echoed",
        "tools/list is answered twice",
        on_response(("tools/list",), lambda message, call: [message, message]),
        transports="stdio",
    ),
    Fault(
        "templates-unanswered",
        f"jsonrpc/every-request-answered-once {TEMPLATES} jsonrpc/optional-params-may-be-absent",
        "resources/templates/list is never answered",
        on_response(("resources/templates/list",), lambda message, call: []),
        transports="stdio",
    ),
    Fault(
        "id-as-text",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "the answers to prompts/get carry their id as text",
        on_response(("prompts/get",), lambda message, call: message.update(id=str(message["id"]))),
    ),
    Fault(
        "id-zero-null",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "the id 0 is answered as null",
        sending(_zero_becomes_null),
    ),
    Fault(
        "id-text-as-number",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "an id of digits is answered as a number",
        sending(_digits_become_numbers),
    ),
    Fault(
        "id-text-as-number-in-errors",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "an id of digits is answered as a number where the answer is an error",
        sending(_digits_become_numbers_in_errors),
    ),
    Fault(
        "id-wrapped",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "ids go through a 32-bit integer",
        sending(_wrapped_responses),
    ),
    Fault(
        "result-array",
        f"jsonrpc/result-is-object {TEMPLATES} jsonrpc/result-type-present caching/hints-present",
        "the result of resources/templates/list is an array",
        on_response(("resources/templates/list",), _empty_array),
    ),
    Fault(
        "answers-notifications",
        "jsonrpc/notification-never-answered jsonrpc/valid-messages jsonrpc/batch-of-notifications-unanswered",
        "notifications but initialized are answered by an error",
        _answer_notifications({"error": {"code": -32601, "message": "Method not found"}}),
        transports="stdio",
    ),
    Fault(
        "answers-notifications-of-other-names",
        "jsonrpc/notification-never-answered jsonrpc/valid-messages jsonrpc/batch-of-notifications-unanswered",
        "notifications whose method does not begin with notifications/ are answered by an error",
        _answer_notifications({"error": {"code": -32601, "message": "Method not found"}}, but="notifications/"),
        transports="stdio",
    ),
    Fault(
        "acknowledges-notifications",
        "jsonrpc/notification-never-answered jsonrpc/valid-messages jsonrpc/result-type-present"
        " jsonrpc/batch-of-notifications-unanswered",
        "notifications but initialized are answered by a result",
        _answer_notifications({"result": {}}),
        transports="stdio",
    ),
    Fault(
        "notification-with-id",
        "jsonrpc/notification-without-id jsonrpc/no-server-requests jsonrpc/server-request-id-valid",
        "notifications have id: null",
        on_notification("notifications/", _notification_with_id),
    ),
    Fault(
        "server-request-id-null",
        "jsonrpc/server-request-id-valid cancellation/shape jsonrpc/server-request-id-not-reused",
        "the server's own requests have id: null",
        setting("ids", repeat(None)),
        until="2025-11-25",
    ),
    Fault(
        "server-request-id-reused",
        "jsonrpc/server-request-id-not-reused",
        "the server's own requests all have the same id",
        setting("ids", repeat("question")),
        until="2025-11-25",
    ),
    Fault(
        "pings-client",
        "jsonrpc/no-server-requests",
        "every tool call sends the client a ping",
        on_response(("tools/call",), _ping_client),
        since="2026-07-28",
    ),
    Fault(
        "latin-1",
        "jsonrpc/messages-utf8 transport-stdio/stdout-only-messages jsonrpc/every-request-answered-once",
        "messages are encoded in Latin-1",
        setting("encode", _latin_1),
        since="2025-03-26",
    ),
    Fault(
        "batch-refused",
        "jsonrpc/batch-accepted jsonrpc/batch-answered-as-array jsonrpc/every-request-answered-once"
        " jsonrpc/batch-of-notifications-unanswered",
        "a batch gives an error",
        setting("answer_batch", _batch_refused),
        only="2025-03-26",
    ),
    Fault(
        "batch-answered-singly",
        "jsonrpc/batch-answered-as-array",
        "the answers to a batch come one by one",
        setting("answer_batch", _batch_answered_singly),
        only="2025-03-26",
        transports="stdio",
    ),
    Fault(
        "batch-of-one-answered-by-object",
        "jsonrpc/batch-answered-as-array",
        "the answer to a batch of one request is no array",
        _of_one(_batch_answered_singly),
        only="2025-03-26",
    ),
    Fault(
        "batch-of-one-refused",
        "jsonrpc/batch-accepted",
        "a batch of one request gives an error",
        _of_one(_batch_refused),
        only="2025-03-26",
    ),
    Fault(
        "empty-batch-answered-by-array",
        "jsonrpc/empty-batch-refused",
        "an empty batch is answered by an empty array",
        on_error("Invalid request: a batch is not empty", lambda message, call: [[]]),
        only="2025-03-26",
    ),
    Fault(
        "notification-batch-answered",
        "jsonrpc/batch-of-notifications-unanswered",
        "a batch of notifications is answered by an empty array",
        setting("answer_batch", lambda server, responses, channel: channel.send(responses)),
        only="2025-03-26",
        transports="stdio",
    ),
    Fault(
        "array-emitted",
        f"jsonrpc/no-batch-emitted {TEMPLATES} transport-http/json-answer-is-one-object",
        "the answer to resources/templates/list is wrapped in an array",
        on_response(("resources/templates/list",), lambda message, call: [[message]]),
        only="2024-11-05 2025-06-18 2025-11-25 2026-07-28",
    ),
    Fault(
        "result-type-missing",
        "jsonrpc/result-type-present prompts/list-shape prompts/get-shape prompts/methods-available",
        "results of prompts/list and prompts/get lack resultType",
        on_response(
            ("prompts/list", "prompts/get"), lambda message, call: drop(message.get("result", {}), "resultType")
        ),
        since="2026-07-28",
    ),
    Fault(
        "result-type-unknown",
        "jsonrpc/result-type-known prompts/get-shape",
        "the resultType of prompts/get is done",
        on_response(("prompts/get",), lambda message, call: message.get("result", {}).update(resultType="done")),
        since="2026-07-28",
    ),
    Fault(
        "id-negative-null",
        ECHOED,
        "a negative id is answered as null",
        _id(lambda given: type(given) is int and given < 0, lambda given: None),
    ),
    Fault(
        "id-in-ascii",
        ECHOED,
        "an id with characters beyond ASCII comes back without them",
        _id(lambda given: isinstance(given, str) and not given.isascii(), _ascii),
    ),
    Fault(
        "id-trimmed",
        ECHOED,
        "an id that is text comes back without the blanks around it",
        _id(lambda given: isinstance(given, str), str.strip),
    ),
    Fault(
        "id-in-lower-case",
        ECHOED,
        "an id that is text comes back in lower case",
        _id(lambda given: isinstance(given, str), str.lower),
    ),
    Fault(
        "id-text-lost-in-errors",
        ECHOED,
        "an error has the id null where the id of the request is text",
        _id(lambda given: isinstance(given, str), lambda given: None, errors_only=True),
    ),
    Fault(
        "tool-text-in-ascii",
        UTF8,
        "the tool echo loses characters beyond ASCII",
        on_result(("tools/call",), _echo_in_ascii),
        since="2025-03-26",
    ),
    Fault(
        "prompt-text-in-ascii",
        UTF8,
        "the prompt greet loses characters beyond ASCII",
        on_result(("prompts/get",), _prompt_in_ascii),
        since="2025-03-26",
    ),
    Fault(
        "id-stuck-after-error",
        f"{ECHOED} jsonrpc/every-request-answered-once resources/read-shape tasks/task-shape tasks/id-is-string",
        "the answer that follows the first error has the id of the request that failed",
        _id_stuck_after_an_error(),
        transports="stdio",
    ),
)
