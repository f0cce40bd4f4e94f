"""JSON-RPC 2.0 as MCP uses it: messages, errors, encoding."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Message = dict[str, Any]
else:
    Message = dict

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
METHOD_NOT_FOUND = -32601
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
RESOURCE_NOT_FOUND = -32002
HEADER_MISMATCH = -32020
MISSING_CAPABILITY = -32021
UNSUPPORTED_VERSION = -32022

CLIENT = "io.modelcontextprotocol/clientCapabilities"
VERSION = "io.modelcontextprotocol/protocolVersion"
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
SERVER_INFO = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"
"""Keys of `_meta` in 2026-07-28."""


class RpcError(Exception):
    """An error response: integer code, message, and data that is left out when None."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.data = data

    def response(self, identity: Message) -> Message:
        """The error response; `identity` is `{"id": …}`, or empty where the request's id could not be read."""
        error: Message = {"code": self.code, "message": self.message}
        if self.data is not None:
            error["data"] = self.data
        return {"jsonrpc": "2.0", **identity, "error": error}


def decode(line: bytes) -> Any:
    """The JSON value of `line`. Raises RpcError -32700 for anything that is not one JSON text in UTF-8."""
    try:
        return json.loads(line.decode("utf-8"), parse_constant=_not_json)
    except (ValueError, RecursionError) as error:
        raise RpcError(PARSE_ERROR, f"Parse error: {error}") from None


def _not_json(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def encode(message: Any) -> bytes:
    """One line of UTF-8 without newline; lone surrogates stay escaped, because UTF-8 has no form for them."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:
        return json.dumps(message, separators=(",", ":")).encode()


def is_id(value: Any) -> bool:
    """Whether `value` may be the id of a request: a string or an integer, never null or a boolean."""
    return type(value) is int or isinstance(value, str)


def notification(method: str, params: Message | None = None) -> Message:
    message: Message = {"jsonrpc": "2.0", "method": method}
    if params is not None:
        message["params"] = params
    return message
