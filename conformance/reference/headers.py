"""The HTTP headers of 2026-07-28, which repeat parts of the body."""

from __future__ import annotations

import base64
from math import isfinite

from conformance.reference.wire import HEADER_MISMATCH, VERSION, Message, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from email.message import Message as Headers
    from typing import Any

    from conformance.reference.server import Server

NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    "tasks/get": "taskId",
    "tasks/update": "taskId",
    "tasks/cancel": "taskId",
}


def check(server: Server, headers: Headers, message: Message) -> None:
    """Raise RpcError -32020 unless the headers of a request repeat what its body says."""
    params = message.get("params")
    if headers.get("MCP-Protocol-Version") is None and message["method"] != "initialize":
        raise RpcError(HEADER_MISMATCH, "Header mismatch: MCP-Protocol-Version is missing")
    if not isinstance(params, dict) or not isinstance(params.get("_meta"), dict):
        return  # The body is refused for that.
    version = params["_meta"].get(VERSION)
    if isinstance(version, str):
        _compare(headers, "MCP-Protocol-Version", version)
    _compare(headers, "Mcp-Method", message["method"])
    name = params.get(NAMED_BY.get(message["method"], ""))
    if isinstance(name, str):
        _compare(headers, "Mcp-Name", name, decode=True)
    if message["method"] == "tools/call" and name in server.tools:
        _compare_arguments(headers, server.tools[name].input, params.get("arguments", {}))


def _compare_arguments(headers: Headers, schema: Message, given: Any) -> None:
    for name, property in schema.get("properties", {}).items():
        value = given.get(name) if isinstance(given, dict) else None
        if "x-mcp-header" in property:
            _compare(headers, f"Mcp-Param-{property['x-mcp-header']}", value, decode=True)
        _compare_arguments(headers, property, value)


def _compare(headers: Headers, header: str, value: Any, decode: bool = False) -> None:
    given = headers.get(header)
    if value is None:
        if given is not None:
            raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} repeats nothing in the body")
        return
    if given is None:
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} is missing")
    if not all(" " <= character <= "~" for character in given):
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} has an invalid character")
    plain = decoded(given, header) if decode else given
    if not _equal(plain, value):
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} differs from the body")


def decoded(given: str, header: str) -> str:
    """The value of a header that may be wrapped in base64. Raises RpcError -32020 if it cannot be unwrapped."""
    if not (given.startswith("=?base64?") and given.endswith("?=")):
        return given
    try:
        return base64.b64decode(given[9:-2], validate=True).decode()
    except ValueError:
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} is not base64 of UTF-8") from None


def _equal(given: str, value: Any) -> bool:
    if isinstance(value, bool):
        return given == ("true" if value else "false")
    if isinstance(value, (int, float)):
        try:
            return isfinite(float(given)) and (given == str(value) or float(given) == value)
        except (ValueError, OverflowError):
            return False
    return bool(given == value)
