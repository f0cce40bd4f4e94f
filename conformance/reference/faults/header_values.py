"""Faults in how the values, and the names, of the headers of 2026-07-28 are read."""

from __future__ import annotations

from conformance.reference.http_fault import handling, over_http
from conformance.reference.wire import HEADER_MISMATCH, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row
    from conformance.reference.server import Server

    Decode = Callable[[str, str], str]

NEW = "2026-07-28"
NAME = "http-headers/name-header-mismatch-refused"
PARAM = "http-headers/param-header-mismatch-refused"
MARKER = "=?base64?"


def _decoding(which: str, read: Callable[[str, str, Decode], str]) -> Apply:
    """Read values of headers that begin with `which` otherwise; `read` gets value, header, and the right way."""

    def apply(server: Server) -> None:
        from conformance.reference import headers

        correct = headers.decoded

        def decoded(given: str, header: str) -> str:
            return read(given, header, correct) if header.startswith(which) else correct(given, header)

        headers.decoded = decoded

    return apply


def _as_latin_1(given: str, header: str, correct: Decode) -> str:
    plain = correct(given, header)
    return plain if plain == given else plain.encode().decode("latin-1")


def _of_ascii(given: str, header: str, correct: Decode) -> str:
    plain = correct(given, header)
    if not plain.isascii():
        raise RpcError(HEADER_MISMATCH, f"Header mismatch: {header} is not base64 of ASCII")
    return plain


def _any_marker(given: str, header: str, correct: Decode) -> str:
    marked = given.lower().startswith(MARKER)
    return correct(MARKER + given[len(MARKER) :] if marked else given, header)


def _unreadable_ignored(handler: Any, proceed: Any, message: Any) -> None:
    try:
        proceed(message)
    except RpcError as error:
        if "is not base64" not in error.message:
            raise


def _method_decoded(handler: Any, proceed: Any, message: Any) -> None:
    from conformance.reference import headers

    given = handler.headers.get("Mcp-Method")
    if given is not None:
        handler.headers.replace_header("Mcp-Method", headers.decoded(given, "Mcp-Method"))
    proceed(message)


def _params_spelled(handler: Any, proceed: Any, message: Any) -> None:
    """Know Mcp-Param headers only where their names begin so."""
    for name in list(handler.headers):
        if name.lower().startswith("mcp-param-") and not name.startswith("Mcp-Param-"):
            del handler.headers[name]
    proceed(message)


def _params_of_calls_known(handler: Any, proceed: Any, message: Any) -> None:
    """Refuse calls with a header that no argument is annotated with."""
    if message["method"] == "tools/call" and "Mcp-Param-X-Conform" in handler.headers:
        raise RpcError(HEADER_MISMATCH, "Header mismatch: Mcp-Param-X-Conform repeats nothing in the body")
    proceed(message)


def _booleans_in_capitals(server: Server) -> None:
    from conformance.reference import headers

    correct = headers._equal
    headers._equal = lambda given, value: given == str(value) if isinstance(value, bool) else correct(given, value)


_ROWS: tuple[Row, ...] = (
    (
        "param-header-of-booleans-in-capitals",
        PARAM,
        "booleans in headers are compared with True and False",
        _booleans_in_capitals,
        {"since": NEW},
    ),
    (
        "name-header-decoded-as-ascii",
        "http-headers/name-header-base64-decoded",
        "names in base64 are refused unless they are of ASCII alone",
        _decoding("Mcp-Name", _of_ascii),
        {"since": NEW},
    ),
    (
        "param-header-decoded-as-latin-1",
        "http-headers/param-header-base64-decoded",
        "Mcp-Param headers in base64 are read as Latin-1",
        _decoding("Mcp-Param-", _as_latin_1),
        {"since": NEW},
    ),
    (
        "method-header-in-base64",
        "http-headers/method-header-mismatch-refused",
        "Mcp-Method may be in base64",
        handling(check_headers=_method_decoded),
        {"since": NEW},
    ),
    (
        "name-header-any-marker",
        NAME,
        "the marker of base64 in Mcp-Name may be in capital letters",
        _decoding("Mcp-Name", _any_marker),
        {"since": NEW},
    ),
    (
        "param-header-any-marker",
        PARAM,
        "the marker of base64 in Mcp-Param headers may be in capital letters",
        _decoding("Mcp-Param-", _any_marker),
        {"since": NEW},
    ),
    (
        "unreadable-headers-ignored",
        f"{NAME} {PARAM}",
        "headers with base64 that cannot be read are not compared with the body",
        handling(check_headers=_unreadable_ignored),
        {"since": NEW},
    ),
    (
        "param-header-names-exact",
        "http-headers/names-case-insensitive",
        "names of Mcp-Param headers are matched case-sensitively",
        handling(check_headers=_params_spelled),
        {"since": NEW},
    ),
    (
        "unknown-param-header-refused-by-calls",
        "http-headers/unknown-param-header-ignored",
        "a call with an Mcp-Param header that no argument has is refused",
        handling(check_headers=_params_of_calls_known),
        {"since": NEW},
    ),
)

FAULTS = over_http(_ROWS)
