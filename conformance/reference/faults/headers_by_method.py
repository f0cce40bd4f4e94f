"""Faults in how the headers of 2026-07-28 are checked that only requests of some methods show."""

from __future__ import annotations

from conformance.reference.http_fault import handling, over_http
from conformance.reference.wire import RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row

NEW = "2026-07-28"


def _lenient(header: str, word: str, methods: tuple[str, ...]) -> Apply:
    """Do not reject requests of these methods where what is wrong with the header has that word in its message."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        try:
            proceed(message)
        except RpcError as error:
            if header not in error.message or word not in error.message or message["method"] not in methods:
                raise

    return handling(check_headers=check)


_ROWS: tuple[Row, ...] = (
    (
        "version-header-unchecked-by-completion",
        "http-headers/version-header-mismatch-refused",
        "completion/complete does not compare MCP-Protocol-Version with the body",
        _lenient("MCP-Protocol-Version", "differs", ("completion/complete",)),
        {"since": NEW},
    ),
    (
        "method-header-not-needed-by-reads",
        "http-headers/missing-method-header-refused",
        "resources/read and prompts/get are served without Mcp-Method",
        _lenient("Mcp-Method", "missing", ("resources/read", "prompts/get")),
        {"since": NEW},
    ),
    (
        "method-header-unchecked-by-calls",
        "http-headers/method-header-mismatch-refused",
        "tools/call does not compare Mcp-Method with the body",
        _lenient("Mcp-Method", "differs", ("tools/call",)),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
