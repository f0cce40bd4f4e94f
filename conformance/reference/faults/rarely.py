"""Faults that show in few of the requests that they could show in: the second one, the empty one, one lacking half."""

from __future__ import annotations

import json
import threading
from itertools import count

from conformance.reference.call import Call, Cancelled
from conformance.reference.fault import Fault, around, forgiving, instead, on_error, on_result, sending
from conformance.reference.http_fault import handling
from conformance.reference.methods import METHODS
from conformance.reference.wire import INTERNAL_ERROR, INVALID_REQUEST, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Peer
    from conformance.reference.fault import Apply, Proceed

NEW = "2026-07-28"
UNKNOWN = "jsonrpc/unknown-method-refused jsonrpc/unknown-method-code transport-http/method-not-found-404"
TOGETHER = 0.05
"""Seconds in which requests count as coming at the same time."""


def _cut_in_half() -> Apply:
    answers = count(1)

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        cut = b'"result"' in body and next(answers) % 3 == 0
        proceed(status, body[: len(body) // 2] if cut else body, headers)

    return handling(answer=answer)


def _colour_is_read(call: Call) -> bool:
    uri = call.params.get("uri") if isinstance(call.params, dict) else None
    return call.method == "resources/read" and isinstance(uri, str) and uri.startswith("reference://colours/")


def _colour_fails(message: Message, call: Call | None) -> None:
    if call is not None and _colour_is_read(call):
        message["error"].update(code=INTERNAL_ERROR)


def _cached_as_empty() -> Apply:
    """Remember of a resource that does not exist that it holds nothing."""
    held: dict[str, Message] = {}

    def read(call: Call, proceed: Proceed) -> Message | None:
        uri = str(call.params.get("uri"))
        if uri in held:
            return held[uri]
        try:
            return proceed(call)
        except RpcError:
            held[uri] = {"contents": []} | ({"ttlMs": 0, "cacheScope": "private"} if call.revision == NEW else {})
            raise

    return instead("resources/read", read)


def _errors_of_the_last() -> Apply:
    """Give the errors of reads that come together the id of the last one."""
    due: list[Message] = []

    def send(call: Call) -> None:
        together, due[:] = due[:], []
        for message in together:
            call.channel.send({**message, "id": together[-1]["id"]})

    def mixed(message: Message, call: Call | None) -> Any:
        if call is None or call.method != "resources/read" or "error" not in message:
            return None
        due.append(message)
        if len(due) == 1:
            threading.Timer(TOGETHER, send, (call,)).start()
        return []

    return sending(mixed)


def _succeeding(areas: tuple[str, ...]) -> Apply:
    """Answer unknown methods of some areas by an empty result."""

    def serve(call: Call, proceed: Proceed) -> Message | None:
        return {} if call.method not in METHODS and call.method.startswith(areas) else proceed(call)

    return around(serve)


def _null(result: Message, call: Call) -> None:
    if not result["completion"]["values"]:
        result["completion"]["values"] = None


def _empty_is_none(call: Call, proceed: Proceed) -> Message | None:
    if not call.params.get("task"):
        call.params.pop("task", None)
    return proceed(call)


def _first_only(call: Call, proceed: Proceed) -> Message | None:
    """Look whether the first required argument is there, and take 0 for the others."""
    arguments = call.params.get("arguments")
    if call.params.get("name") == "add" and isinstance(arguments, dict) and "a" in arguments:
        arguments.setdefault("b", 0)
    return proceed(call)


def _listed(peer: Peer, method: str, channel: Any) -> None:
    if method in METHODS and not method.startswith("notifications/"):
        channel.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "An id is missing"}})


def _constructor(call: Call, proceed: Proceed) -> Message | None:
    if call.id == "constructor":
        raise RpcError(INVALID_REQUEST, "The id is in use")
    return proceed(call)


def _silent_by_name(call: Call, proceed: Proceed) -> Message | None:
    if call.method.startswith("notifications/"):
        raise Cancelled
    return proceed(call)


def _fewer_once(method: str, member: str) -> Apply:
    """Leave out one thing in a list, on connections on which that method was asked for."""

    def remember(handler: Any, proceed: Any) -> Any:
        body = proceed()
        handler.has_called = getattr(handler, "has_called", False) or f'"{method}"'.encode() in body
        return body

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        if getattr(handler, "has_called", False) and f'"{member}":['.encode() in body:
            message = json.loads(body)
            message["result"][member].pop()
            body = json.dumps(message).encode()
        proceed(status, body, headers)

    return handling(read_body=remember, answer=answer)


def _leave_all(call: Call, proceed: Proceed) -> Message | None:
    result = proceed(call)
    call.peer.subscribed.clear()
    return result


def _updates_told_once() -> Apply:
    told: set[str] = set()

    def send(message: Message, call: Call | None) -> Any:
        if message.get("method") != "notifications/resources/updated":
            return None
        uri = message["params"]["uri"]
        known = uri in told
        told.add(uri)
        return [] if known else message

    return sending(send)


def _refused_barely(peer: Any, method: str, channel: Any) -> None:
    if method == "notifications/cancelled":
        channel.send({"jsonrpc": "2.0", "error": {"code": -32602, "message": "Invalid params: _meta is needed"}})


FAULTS = (
    Fault(
        "unsubscribe-ends-all",
        "resources/update-announced",
        "who leaves one resource is told of no other one any more",
        instead("resources/unsubscribe", _leave_all),
        until="2025-11-25",
    ),
    Fault(
        "updates-told-once",
        "resources/update-announced",
        "only the first change of a subscribed resource is announced",
        _updates_told_once(),
        until="2025-11-25",
    ),
    Fault(
        "second-unknown-read-empty",
        "resources/not-found-32002",
        "a resource that does not exist is refused once, and holds nothing from then on",
        _cached_as_empty(),
        until="2025-11-25",
    ),
    Fault(
        "second-unknown-read-empty-stateless",
        "resources/not-found-never-empty-contents resources/not-found-32602",
        "a resource that does not exist is refused once, and holds nothing from then on (stateless)",
        _cached_as_empty(),
        since="2026-07-28",
    ),
    Fault(
        "unknown-behind-template-empty",
        "resources/not-found-never-empty-contents",
        "what one of several templates makes of an unknown value has empty contents",
        forgiving(_colour_is_read, lambda call: {"contents": []}),
        since="2026-07-28",
    ),
    Fault(
        "unknown-behind-template-internal",
        "resources/not-found-32602",
        "what one of several templates makes of an unknown value gives -32603",
        on_error("", _colour_fails),
        since="2026-07-28",
    ),
    Fault(
        "errors-of-reads-together-mixed",
        "jsonrpc/response-id-echoed jsonrpc/every-request-answered-once",
        "the errors of reads that come together all have the id of the last one",
        _errors_of_the_last(),
        transports="stdio",
    ),
    Fault(
        "unknown-methods-of-areas-succeed",
        UNKNOWN,
        "unknown methods that begin with tools/ or prompts/ are answered by an empty result",
        _succeeding(("tools/", "prompts/")),
    ),
    Fault(
        "unknown-methods-of-tasks-succeed",
        UNKNOWN,
        "unknown methods that begin with tasks/, logging/ or completion/ are answered by an empty result",
        _succeeding(("tasks/", "logging/", "completion/")),
    ),
    Fault(
        "no-match-null",
        "completion/result-shape",
        "values is null where nothing matches",
        on_result(("completion/complete",), _null),
        since="2025-03-26",
    ),
    Fault(
        "empty-task-ignored",
        "tasks/create-result-returned",
        "a call as a task that says nothing of its ttl is a plain call",
        instead("tools/call", _empty_is_none),
        only="2025-11-25",
    ),
    Fault(
        "second-argument-not-needed",
        "tools/inputs-validated",
        "the tool add does without its second argument, which is required",
        instead("tools/call", _first_only),
    ),
    Fault(
        "cancellations-refused-without-id",
        "jsonrpc/notification-never-answered",
        "a cancellation without _meta is refused by an error without id",
        lambda server: server.notified.append(_refused_barely),
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "requests-without-id-answered",
        "jsonrpc/notification-never-answered",
        "what has the method of a request and no id is answered by an error",
        lambda server: server.notified.append(_listed),
        transports="stdio",
    ),
    Fault(
        "requests-named-as-notifications-ignored",
        "jsonrpc/every-request-answered-once",
        "a request whose method begins with notifications/ is not answered",
        around(_silent_by_name),
    ),
    Fault(
        "id-constructor-refused",
        "jsonrpc/response-id-echoed",
        "the id constructor is refused",
        around(_constructor),
    ),
    Fault(
        "every-third-result-cut-in-half",
        "transport-http/json-answer-is-one-object",
        "the body of every third result ends in its middle",
        _cut_in_half(),
        since="2025-03-26",
        transports="http",
    ),
    Fault(
        "tools-fewer-once-called-on-connection",
        "tools/list-independent-of-connection",
        "a connection on which a tool was called sees fewer tools",
        _fewer_once("tools/call", "tools"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "resources-fewer-once-called-on-connection",
        "resources/list-independent-of-connection",
        "a connection on which a tool was called sees fewer resources",
        _fewer_once("tools/call", "resources"),
        since=NEW,
        transports="http",
    ),
    Fault(
        "prompts-fewer-once-filled-on-connection",
        "prompts/list-independent-of-connection",
        "a connection on which a prompt was filled sees fewer prompts",
        _fewer_once("prompts/get", "prompts"),
        since=NEW,
        transports="http",
    ),
)
