"""Faults in messages, errors and batches."""

from __future__ import annotations

import json
import struct
from itertools import repeat

from conformance.reference.call import Call, Cancelled
from conformance.reference.faults.base import (
    LISTS,
    UNKNOWN_METHOD,
    UNKNOWN_TOOL,
    Fault,
    around,
    code,
    die,
    failing,
    forgiving,
    on_error,
    on_notification,
    on_response,
    sending,
    setting,
    several,
    without,
)
from conformance.reference.methods import METHODS
from conformance.reference.wire import INVALID_PARAMS, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Channel
    from conformance.reference.faults.base import Proceed
    from conformance.reference.peer import Peer
    from conformance.reference.server import Server

UNKNOWN = "jsonrpc/unknown-method-refused jsonrpc/unknown-method-code jsonrpc/method-names-case-sensitive"
UNKNOWN += " jsonrpc/undeclared-feature-refused versioning/removed-methods-unknown transport-http/method-not-found-404"
TEMPLATES = "resources/templates-list-available resources/templates-list-shape pagination/cursor-accepted"
TEMPLATES += " jsonrpc/every-request-answered-once jsonrpc/valid-messages"


def _wrapped(message: Message) -> None:
    if type(message["id"]) is int:
        message["id"] = struct.unpack("i", struct.pack("I", message["id"] & 0xFFFFFFFF))[0]


def _digits_become_numbers(message: Message, call: Call | None) -> None:
    if isinstance(message.get("id"), str) and message["id"].isdecimal() and "method" not in message:
        message["id"] = int(message["id"])


def _zero_becomes_null(message: Message, call: Call | None) -> None:
    if "method" not in message:
        message["id"] = message.get("id") or None


def _wrapped_responses(message: Message, call: Call | None) -> None:
    if "method" not in message and "id" in message:
        _wrapped(message)


def _answer_notifications(body: Message) -> Any:
    def hook(peer: Peer, method: str, channel: Channel) -> None:
        if method != "notifications/initialized":
            channel.send({"jsonrpc": "2.0", "id": None, **body})

    return lambda server: server.notified.append(hook)


def _unknown_method(outcome: Any) -> Any:
    def serve(call: Call, proceed: Proceed) -> Message | None:
        return proceed(call) if call.method in METHODS else outcome()

    return around(serve)


def _never() -> None:
    raise Cancelled


def _any_case(call: Call, proceed: Proceed) -> Message | None:
    names = {name.lower(): name for name in METHODS}
    call.method = names.get(call.method.lower(), call.method)
    return proceed(call)


def _empty_result(call: Call) -> Message:
    empty: dict[str, Message] = {
        "resources/read": {"contents": []},
        "prompts/get": {"messages": []},
        "tools/call": {"content": []},
        "completion/complete": {"completion": {"values": []}},
    }
    return empty[call.method]


def _lacks_params(call: Call) -> bool:
    needed = {"resources/read": "uri", "prompts/get": "name", "tools/call": "name", "completion/complete": "ref"}
    return call.method in needed and needed[call.method] not in call.params


def _params_demanded(call: Call, proceed: Proceed) -> Message | None:
    if call.method == "resources/templates/list" and "params" not in call.message:
        raise RpcError(INVALID_PARAMS, "Invalid params: params is required")
    return proceed(call)


def _latin_1(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode("latin-1", "replace")


def _batch_refused(server: Server, responses: list[Message], channel: Channel) -> None:
    channel.send(RpcError(-32600, "Invalid request: no batches").response({"id": None}))


def _batch_answered_singly(server: Server, responses: list[Message], channel: Channel) -> None:
    for response in responses:
        channel.send(response)


def _ping_client(message: Message, call: Call) -> list[Any]:
    return [{"jsonrpc": "2.0", "id": f"ping-{call.id}", "method": "ping"}, message]


def _last_word(message: Message, call: Call) -> list[Any]:
    return [message, {"jsonrpc": "2.0", "hello": True}]


def _consent_by_error(message: Message, call: Call) -> None:
    if call.params.get("name") == "ask_consent":
        message.pop("result", None)
        message["error"] = {"code": -32042, "message": "Consent is needed", "data": {"elicitations": []}}


def _notification_with_id(message: Message, call: Call | None) -> None:
    message["id"] = None


FAULTS = (
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
        on_response(LISTS, lambda message, call: message.pop("jsonrpc") and None),
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
        "id-wrapped",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "ids go through a 32-bit integer",
        sending(_wrapped_responses),
    ),
    Fault(
        "result-and-error",
        f"jsonrpc/result-xor-error {UNKNOWN}",
        "the error for an unknown method comes with a result as well",
        on_error(UNKNOWN_METHOD, lambda message, call: message.update(result={})),
    ),
    Fault(
        "error-null",
        "jsonrpc/result-xor-error",
        "the result of prompts/list comes with error: null",
        on_response(("prompts/list",), lambda message, call: message.update(error=None)),
    ),
    Fault(
        "result-array",
        f"jsonrpc/result-is-object {TEMPLATES} jsonrpc/result-type-present caching/hints-present",
        "the result of resources/templates/list is an array",
        on_response(("resources/templates/list",), lambda message, call: message.update(result=[])),
    ),
    Fault(
        "error-without-message",
        "jsonrpc/error-has-code-and-message",
        "errors have no message",
        on_error("", lambda message, call: message["error"].pop("message") and None),
    ),
    Fault(
        "error-without-code",
        f"jsonrpc/error-has-code-and-message jsonrpc/error-code-integer {UNKNOWN}",
        "the error for an unknown method has no code",
        on_error(UNKNOWN_METHOD, lambda message, call: message["error"].pop("code") and None),
    ),
    Fault(
        "error-code-text",
        f"jsonrpc/error-code-integer {UNKNOWN}",
        "the code of the error for an unknown method is text",
        code(UNKNOWN_METHOD, "-32601"),
    ),
    Fault(
        "invented-code",
        "jsonrpc/no-invented-reserved-codes tools/unknown-tool-refused",
        "an unknown tool gives -32300",
        code(UNKNOWN_TOOL, -32300),
        until="2025-11-25",
    ),
    Fault(
        "answers-notifications",
        "jsonrpc/notification-never-answered jsonrpc/valid-messages",
        "notifications but initialized are answered by an error",
        _answer_notifications({"error": {"code": -32601, "message": "Method not found"}}),
        transports="stdio",
    ),
    Fault(
        "acknowledges-notifications",
        "jsonrpc/notification-never-answered jsonrpc/valid-messages jsonrpc/result-type-present",
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
        "unknown-method-succeeds", UNKNOWN, "an unknown method has an empty result", _unknown_method(lambda: {})
    ),
    Fault(
        "unknown-method-ignored",
        f"{UNKNOWN} jsonrpc/every-request-answered-once",
        "a request of an unknown method is not answered",
        _unknown_method(_never),
        transports="stdio",
    ),
    Fault(
        "unknown-method-code",
        "jsonrpc/unknown-method-code jsonrpc/method-names-case-sensitive jsonrpc/undeclared-feature-refused"
        " versioning/removed-methods-unknown transport-http/method-not-found-404",
        "an unknown method gives -32603",
        code(UNKNOWN_METHOD, -32603),
    ),
    Fault(
        "undeclared-feature-internal-error",
        "jsonrpc/undeclared-feature-refused",
        "without prompts, prompts/list gives -32603",
        several(without("prompts"), failing("prompts/list", -32603)),
    ),
    Fault(
        "missing-params-accepted",
        "jsonrpc/invalid-params-refused tools/malformed-call-refused completion/missing-arguments-refused",
        "requests without their required params have empty results",
        forgiving(_lacks_params, _empty_result),
    ),
    Fault(
        "missing-params-code",
        "jsonrpc/invalid-params-refused tools/malformed-call-refused completion/missing-arguments-refused",
        "requests without their required params give -32603",
        code("Invalid params: params.", -32603),
    ),
    Fault(
        "parse-error-code",
        "jsonrpc/parse-error-code",
        "what is not JSON gives -32603",
        code("Parse error", -32603),
    ),
    Fault(
        "parse-error-kills",
        "jsonrpc/parse-error-code jsonrpc/every-request-answered-once",
        "what is not JSON ends the process",
        on_error("Parse error", die),
        transports="stdio",
    ),
    Fault(
        "invalid-request-code",
        "jsonrpc/invalid-request-code",
        "JSON that is no message gives -32603",
        code("Invalid request", -32603),
    ),
    Fault(
        "params-demanded",
        "jsonrpc/optional-params-may-be-absent resources/templates-list-available",
        "resources/templates/list is refused without params",
        around(_params_demanded),
        until="2025-11-25",
    ),
    Fault(
        "method-case-ignored",
        "jsonrpc/method-names-case-sensitive",
        "methods are found whatever their case",
        around(_any_case),
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
            ("prompts/list", "prompts/get"), lambda message, call: message.get("result", {}).pop("resultType", "") and None
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
        "legacy-code",
        "jsonrpc/legacy-code-band-unused tools/unknown-tool-refused",
        "an unknown tool gives -32001",
        code(UNKNOWN_TOOL, -32001),
        since="2026-07-28",
    ),
    Fault(
        "spec-code-invented",
        "jsonrpc/spec-code-band-only-defined tools/unknown-tool-refused",
        "an unknown tool gives -32050",
        code(UNKNOWN_TOOL, -32050),
        since="2026-07-28",
    ),
    Fault(
        "spec-code-misused",
        "jsonrpc/spec-codes-as-specified tools/unknown-tool-refused",
        "an unknown tool gives -32020, without a header in sight",
        code(UNKNOWN_TOOL, -32020),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "retired-code-32002",
        "jsonrpc/retired-code-32002-unused resources/not-found-32602 jsonrpc/legacy-code-band-unused"
        " resources/uri-inputs-validated",
        "a resource that does not exist gives -32002",
        code("Resource not found", -32002),
        since="2026-07-28",
    ),
    Fault(
        "retired-code-32042",
        "jsonrpc/retired-code-32042-unused jsonrpc/spec-code-band-only-defined",
        "the tool ask_consent gives -32042",
        on_response(("tools/call",), _consent_by_error),
        since="2026-07-28",
    ),
    Fault(
        "application-code-reserved",
        "jsonrpc/application-codes-outside-reserved tools/unknown-tool-refused",
        "an unknown tool gives -32300",
        code(UNKNOWN_TOOL, -32300),
        since="2026-07-28",
    ),
)
