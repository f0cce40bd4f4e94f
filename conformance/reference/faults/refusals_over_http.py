"""Faults in how requests of 2026-07-28 are refused over HTTP: another code, another status, for some requests only."""

from __future__ import annotations

import json

from conformance.reference.fault import modern_only, several, without
from conformance.reference.http_fault import handling, over_http
from conformance.reference.wire import RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row

NEW = "2026-07-28"
REJECTED = "http-headers/header-rejection-400-32020"
MISMATCH = b"-32020"
UNKNOWN = b"-32601"
INVALID = b"-32602"


def _mismatch_as(number: int, header: str, word: str, *methods: str) -> Apply:
    """Give another code to header faults whose message has both texts, of requests of some methods, or of all."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        try:
            proceed(message)
        except RpcError as error:
            named = header in error.message and word in error.message
            if named and (not methods or message["method"] in methods):
                raise RpcError(number, error.message) from None
            raise

    return handling(check_headers=check)


def _with_200(*having: bytes) -> Apply:
    """Give the status 200 where the body has all of these texts."""

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        proceed(200 if all(text in body for text in having) else status, body, headers)

    return handling(answer=answer)


def _status_of(now: int, having: bytes, *methods: str) -> Apply:
    """Refuse requests of some methods with another status, where the body has that text."""

    def post(handler: Any, proceed: Any, message: Any) -> None:
        handler.asked = message.get("method") if isinstance(message, dict) else None
        try:
            proceed(message)
        finally:
            handler.asked = None

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        meant = status >= 400 and having in body and getattr(handler, "asked", None) in methods
        proceed(now if meant else status, body, headers)

    return several(handling(_post_stateless=post), handling(answer=answer))


def _without_id(having: bytes) -> Apply:
    """Refuse without the id of the request, where the body has that text."""

    def answer(handler: Any, proceed: Any, status: int, body: bytes, headers: dict[str, str]) -> None:
        refused = status >= 400 and having in body
        said = json.loads(body) if refused else {}
        said.pop("id", None)
        proceed(status, json.dumps(said).encode() if refused else body, headers)

    return handling(answer=answer)


_ROWS: tuple[Row, ...] = (
    (
        "name-header-mismatch-code",
        REJECTED,
        "another name in Mcp-Name gives -32602",
        _mismatch_as(-32602, "Mcp-Name", "differs"),
        {"since": NEW},
    ),
    (
        "name-header-missing-code",
        REJECTED,
        "a missing Mcp-Name gives -32602",
        _mismatch_as(-32602, "Mcp-Name", "missing"),
        {"since": NEW},
    ),
    (
        "name-header-mismatch-code-of-reads",
        REJECTED,
        "another URI in Mcp-Name gives -32600",
        _mismatch_as(-32600, "Mcp-Name", "differs", "resources/read"),
        {"since": NEW},
    ),
    (
        "param-header-mismatch-code",
        REJECTED,
        "an Mcp-Param header with another value gives -32602",
        _mismatch_as(-32602, "Mcp-Param", "differs"),
        {"since": NEW},
    ),
    (
        "param-header-missing-code",
        REJECTED,
        "a missing Mcp-Param header gives -32602",
        _mismatch_as(-32602, "Mcp-Param", "missing"),
        {"since": NEW},
    ),
    (
        "param-header-missing-200",
        REJECTED,
        "a missing Mcp-Param header has status 200",
        _with_200(MISMATCH, b"Mcp-Param", b"missing"),
        {"since": NEW},
    ),
    (
        "version-header-mismatch-code",
        REJECTED,
        "a body in another version than MCP-Protocol-Version gives -32600",
        _mismatch_as(-32600, "MCP-Protocol-Version", "differs"),
        {"since": NEW},
    ),
    (
        "version-header-mismatch-200",
        REJECTED,
        "a body in another version than MCP-Protocol-Version has status 200",
        _with_200(MISMATCH, b"MCP-Protocol-Version"),
        {"since": NEW},
    ),
    (
        "method-header-missing-code-of-reads",
        REJECTED,
        "resources/read and prompts/get without Mcp-Method give -32602",
        _mismatch_as(-32602, "Mcp-Method", "missing", "resources/read", "prompts/get"),
        {"since": NEW},
    ),
    (
        "method-header-mismatch-code-of-calls",
        REJECTED,
        "tools/call with another Mcp-Method gives -32601",
        _mismatch_as(-32601, "Mcp-Method", "differs", "tools/call"),
        {"since": NEW},
    ),
    (
        "header-mismatch-200-of-completion",
        REJECTED,
        "a header mismatch of completion/complete has status 200",
        _status_of(200, MISMATCH, "completion/complete"),
        {"since": NEW},
    ),
    (
        "header-mismatch-without-id",
        "jsonrpc/response-id-echoed http-headers/header-rejection-400-32020",
        "the error for a header mismatch has no id",
        _without_id(MISMATCH),
        {"since": NEW},
    ),
    (
        "unsupported-version-without-id",
        "jsonrpc/response-id-echoed versioning/unsupported-version-refused",
        "the error for an unsupported version has no id",
        _without_id(b"-32022"),
        {"since": NEW},
    ),
    (
        "unsupported-version-200-of-reads",
        "versioning/unsupported-version-http-400",
        "resources/read and prompts/get in an unsupported version have status 200",
        _status_of(200, b"-32022", "resources/read", "prompts/get"),
        {"since": NEW},
    ),
    (
        "version-header-missing-code",
        "http-headers/missing-version-header-refused",
        "the server is modern only, and a missing MCP-Protocol-Version gives -32602",
        several(modern_only, _mismatch_as(-32602, "MCP-Protocol-Version", "missing")),
        {"since": NEW},
    ),
    (
        "version-header-missing-200",
        REJECTED,
        "the server is modern only, and the error for a missing MCP-Protocol-Version has status 200",
        several(
            modern_only,
            _with_200(b"MCP-Protocol-Version is missing"),
        ),
        {"since": NEW},
    ),
    (
        "removed-ping-200",
        "transport-http/method-not-found-404",
        "ping is refused as an unknown method with status 200",
        _status_of(200, UNKNOWN, "ping"),
        {"since": NEW},
    ),
    (
        "removed-levels-400",
        "transport-http/method-not-found-404",
        "logging/setLevel and resources/subscribe are refused as unknown methods with status 400",
        _status_of(400, UNKNOWN, "logging/setLevel", "resources/subscribe"),
        {"since": NEW},
    ),
    (
        "undeclared-prompts-200",
        "transport-http/method-not-found-404",
        "prompts are not declared, and prompts/list is refused as an unknown method with status 200",
        several(without("prompts"), _status_of(200, UNKNOWN, "prompts/list")),
        {"since": NEW},
    ),
    (
        "undeclared-completion-200",
        "transport-http/method-not-found-404",
        "completion is not declared, and refused as an unknown method with status 200",
        several(without("completions"), _status_of(200, UNKNOWN, "completion/complete")),
        {"since": NEW},
    ),
    (
        "missing-meta-200-of-reads",
        "meta/missing-field-http-400",
        "resources/read and prompts/get without what _meta must have are refused with status 200",
        _status_of(200, INVALID, "resources/read", "prompts/get"),
        {"since": NEW},
    ),
    (
        "missing-version-200-of-completion",
        "meta/missing-field-http-400",
        "completion/complete without a protocol version is refused with status 200",
        _with_200(INVALID, b"protocolVersion"),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
