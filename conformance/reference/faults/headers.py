"""Faults in how the headers of 2026-07-28 are checked."""

from __future__ import annotations

from conformance.reference.fault import code, modern_only, several
from conformance.reference.http_fault import handling, over_http, status
from conformance.reference.wire import HEADER_MISMATCH, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

NEW = "2026-07-28"
REJECTED = "http-headers/header-rejection-400-32020"


def _lenient(*words: str) -> Apply:
    """Do not reject requests for header faults whose message contains all of the words."""

    def check(handler: Any, proceed: Any, message: Any) -> None:
        try:
            proceed(message)
        except RpcError as error:
            if not all(word in error.message for word in words):
                raise

    return handling(check_headers=check)


def _any_case(handler: Any, proceed: Any, message: Any) -> None:
    given = handler.headers.get("Mcp-Method")
    if given and given.lower() == message["method"].lower():
        handler.headers.replace_header("Mcp-Method", message["method"])
    proceed(message)


def _exact_names(handler: Any, proceed: Any, message: Any) -> None:
    if "Mcp-Method" not in list(handler.headers.keys()):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Method is missing")
    proceed(message)


def _name_demanded(handler: Any, proceed: Any, message: Any) -> None:
    if "Mcp-Name" not in handler.headers:
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Name is missing")
    proceed(message)


def _known_params_only(handler: Any, proceed: Any, message: Any) -> None:
    if message["method"] != "tools/call" and any(n.lower().startswith("mcp-param-") for n in handler.headers):
        raise RpcError(HEADER_MISMATCH, "Header mismatch: unknown Mcp-Param header")
    proceed(message)


def _not_decoded(server: Server) -> None:
    from conformance.reference import headers

    headers.decoded = lambda given, header: given


_ROWS: tuple[Row, ...] = (
    (
        "header-mismatch-200",
        f"{REJECTED} http-headers/method-header-mismatch-refused http-headers/missing-method-header-refused"
        " http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused"
        " http-headers/values-case-sensitive http-headers/version-header-mismatch-refused",
        "a header mismatch has status 200",
        status(400, 200, b"-32020"),
        {"since": NEW},
    ),
    (
        "header-mismatch-code",
        f"{REJECTED} http-headers/method-header-mismatch-refused http-headers/missing-method-header-refused"
        " http-headers/name-header-mismatch-refused http-headers/missing-name-header-refused"
        " http-headers/values-case-sensitive http-headers/version-header-mismatch-refused",
        "a header mismatch gives -32600",
        code("Header mismatch", -32600),
        {"since": NEW},
    ),
    (
        "version-header-unchecked",
        "http-headers/version-header-mismatch-refused",
        "MCP-Protocol-Version is not compared with the body",
        _lenient("MCP-Protocol-Version", "differs"),
        {"since": NEW},
    ),
    (
        "version-header-not-needed",
        "http-headers/missing-version-header-refused",
        "the server is modern only, and needs no MCP-Protocol-Version",
        several(modern_only, _lenient("MCP-Protocol-Version", "missing")),
        {"since": NEW},
    ),
    (
        "method-header-not-needed",
        f"http-headers/missing-method-header-refused {REJECTED}",
        "Mcp-Method may be missing",
        _lenient("Mcp-Method", "missing"),
        {"since": NEW},
    ),
    (
        "method-header-unchecked",
        f"http-headers/method-header-mismatch-refused http-headers/values-case-sensitive {REJECTED}",
        "Mcp-Method is not compared with the body",
        _lenient("Mcp-Method", "differs"),
        {"since": NEW},
    ),
    (
        "method-header-any-case",
        "http-headers/values-case-sensitive",
        "Mcp-Method is compared whatever its case",
        handling(check_headers=_any_case),
        {"since": NEW},
    ),
    (
        "header-names-exact",
        "http-headers/names-case-insensitive",
        "header names are matched case-sensitively",
        handling(check_headers=_exact_names),
        {"since": NEW},
    ),
    (
        "name-header-not-needed",
        "http-headers/missing-name-header-refused",
        "Mcp-Name may be missing",
        _lenient("Mcp-Name", "missing"),
        {"since": NEW},
    ),
    (
        "name-header-unchecked",
        "http-headers/name-header-mismatch-refused http-headers/name-header-base64-decoded",
        "Mcp-Name is not compared with the body",
        _lenient("Mcp-Name", "differs"),
        {"since": NEW},
    ),
    (
        "name-header-demanded",
        "http-headers/name-header-not-demanded-elsewhere",
        "every request needs Mcp-Name",
        handling(check_headers=_name_demanded),
        {"since": NEW},
    ),
    (
        "name-header-not-decoded",
        "http-headers/name-header-base64-decoded http-headers/param-header-base64-decoded",
        "header values in base64 are not decoded",
        _not_decoded,
        {"since": NEW},
    ),
    (
        "param-header-unchecked",
        "http-headers/param-header-mismatch-refused",
        "Mcp-Param headers are not compared with the arguments",
        _lenient("Mcp-Param", "differs"),
        {"since": NEW},
    ),
    (
        "param-header-not-needed",
        "http-headers/missing-param-header-refused",
        "Mcp-Param headers may be missing",
        _lenient("Mcp-Param", "missing"),
        {"since": NEW},
    ),
    (
        "unknown-param-header-refused",
        "http-headers/unknown-param-header-ignored",
        "an Mcp-Param header that nothing needs is refused",
        handling(check_headers=_known_params_only),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
