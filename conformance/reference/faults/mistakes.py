"""Faults that show common mistakes."""

from __future__ import annotations

import json
import re

from conformance.reference.call import Call
from conformance.reference.fault import (
    Fault,
    instead,
    on_item,
    on_notification,
    on_response,
    sending,
    setting,
)
from conformance.reference.wire import Message, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.call import Channel
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

STDOUT = "transport-stdio/stdout-only-messages"
LETTERS = re.compile("[a-z-]+")
DOTENV = b"[dotenv@17.2.3] injecting env (0) from .env -- tip: encrypt with Dotenvx: https://dotenvx.com\n"


def _printed_at_start(line: bytes) -> Apply:
    return lambda server: server.started.append(lambda channel: _print(channel, line))


def _print(channel: Channel, line: bytes) -> None:
    channel.write(line)  # type: ignore[attr-defined]


def _log_calls(call: Call, proceed: Proceed) -> Message | None:
    _print(call.channel, b"2026-01-01 12:00:00,000 - my_server - INFO - tools/call\n")
    return proceed(call)


def _with_headers(message: Any) -> bytes:
    body = encode(message)
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


def _id_pasted(message: Any) -> bytes:
    """As made by a template: {"jsonrpc": "2.0", "id": %s, "result": %s}."""
    if not isinstance(message, dict) or "result" not in message or not LETTERS.fullmatch(str(message["id"])):
        return encode(message)
    rest = {name: value for name, value in message.items() if name not in ("jsonrpc", "id")}
    return b'{"jsonrpc":"2.0","id":%s,%s' % (message["id"].encode(), encode(rest)[1:])


def _in_two_parts(message: Message, call: Call) -> Any:
    if "content" not in message.get("result", {}):
        return message
    first = {**message, "result": {**message["result"], "_stream": {"done": False}}}
    return [first, {**message, "result": {**message["result"], "_stream": {"done": True}}}]


def _schema_as_text(item: Message) -> None:
    item["inputSchema"] = json.dumps(item["inputSchema"])


def _logged(message: Any) -> bytes:
    line = b'{"level":30,"time":1767225600000,"error":null,"msg":"response sent"}\n'
    return encode(message) if "method" in message else line + encode(message)


def _in_result(message: Message, call: Call | None) -> None:
    if "error" in message:
        message["result"] = {"error": message.pop("error")}


def _as_of_tool(message: Message, call: Call | None) -> None:
    if "error" in message:
        told = message.pop("error")["message"]
        message["result"] = {"content": [{"type": "text", "text": told}], "isError": True}


def _null_beside(message: Message, call: Call | None) -> None:
    if "method" not in message:
        message.update({name: None for name in ("result", "error") if name not in message})


def _one_higher(message: Message, call: Call | None) -> None:
    if "method" not in message and type(message.get("id")) is int:
        message["id"] += 1


def _of_the_last() -> Apply:
    def apply(server: Server) -> None:
        last: list[Any] = [1]

        def change(message: Message, call: Call | None) -> None:
            if "method" not in message and "id" in message:
                last.append(message["id"])
                message["id"] = last.pop(0)

        sending(change)(server)

    return apply


def _misnamed(message: Message, call: Call | None) -> None:
    message["method"] = "notifications/resources/changed"


FAULTS = (
    Fault(
        "greets-with-braces",
        f"jsonrpc/valid-messages {STDOUT}",
        "{} is printed to stdout when the server starts",
        _printed_at_start(b"{}\n"),
        transports="stdio",
    ),
    Fault(
        "dotenv-on-stdout",
        STDOUT,
        "a library that reads .env says so on stdout",
        _printed_at_start(DOTENV),
        transports="stdio",
    ),
    Fault(
        "logs-on-stdout",
        STDOUT,
        "each tool call is logged to stdout",
        instead("tools/call", _log_calls),
        transports="stdio",
    ),
    Fault(
        "logs-as-json-on-stdout",
        "jsonrpc/valid-messages",
        "with each response a line of a log goes to stdout, as JSON",
        setting("encode", _logged),
        transports="stdio",
    ),
    Fault(
        "errors-in-results",
        "jsonrpc/unknown-method-refused",
        "every error is a member of a result",
        sending(_in_result),
    ),
    Fault(
        "errors-as-tool-results",
        "jsonrpc/unknown-method-refused jsonrpc/result-type-present"
        " tools/unknown-tool-refused tools/malformed-call-refused",
        "every error is a result with isError, as of a tool",
        sending(_as_of_tool),
    ),
    Fault(
        "nulls-beside",
        "jsonrpc/result-xor-error",
        "every response has result and error, of which one is null",
        sending(_null_beside),
    ),
    Fault(
        "ids-one-higher",
        "jsonrpc/response-id-echoed",
        "every response has the id of the next request",
        sending(_one_higher),
        transports="stdio",
    ),
    Fault(
        "ids-of-the-last",
        "jsonrpc/response-id-echoed",
        "every response has the id of the one before",
        _of_the_last(),
        transports="stdio",
    ),
    Fault(
        "content-length-headers",
        STDOUT,
        "each message has a Content-Length header, as in the Language Server Protocol",
        setting("encode", _with_headers),
        transports="stdio",
    ),
    Fault(
        "id-pasted",
        f"{STDOUT} jsonrpc/every-request-answered-once jsonrpc/response-id-echoed",
        "an id of letters is pasted into the result without quotes",
        setting("encode", _id_pasted),
        transports="stdio",
    ),
    Fault(
        "serves-roots",
        "jsonrpc/unknown-method-refused",
        "roots/list, which only clients serve, is answered by a list",
        instead("roots/list", lambda call, proceed: {"roots": []}),
        until="2025-11-25",
    ),
    Fault(
        "streams-results",
        "jsonrpc/every-request-answered-once",
        "a tool call is answered by two responses, as parts of a stream",
        on_response(("tools/call",), _in_two_parts),
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "input-schema-text",
        "tools/input-schema-object tools/list-shape json-schema/published-schemas-valid",
        "a tool's inputSchema is JSON in a string",
        on_item("tools/list", "no_content", _schema_as_text),
        until="2025-11-25",
    ),
    Fault(
        "update-misnamed",
        "resources/update-announced",
        "changes of a subscribed resource are announced by notifications/resources/changed",
        on_notification("notifications/resources/updated", _misnamed),
        until="2025-11-25",
    ),
)
