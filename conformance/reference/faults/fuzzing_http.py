"""Faults that show only on HTTP requests which clients seldom write: for the campaign of HTTP requests."""

from __future__ import annotations

import re
import time
from threading import Lock

from conformance.reference.fault import die
from conformance.reference.http_fault import handling, over_http

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.http_fault import Row

ONCE = "jsonrpc/every-request-answered-once"
FAILED = "transport-http/request-answered-as-json-or-sse"
VERSION = "http-headers/invalid-version-header-400"
METHOD = "http-headers/method-header-mismatch-refused"
OLD = {"until": "2025-11-25"}
BOTH = {"since": "2025-11-25"}
STAYS = 60.0

_dead_lock = Lock()


def _if_header(name: str, test: Callable[[str], Any], act: Callable[[Any], Any]) -> Apply:
    """Do that where a header has such a value; what `act` does instead of the request ends it."""

    def post(handler: Any, proceed: Any, body: bytes) -> None:
        value = handler.headers.get(name)
        if value is None or not test(value) or act(handler):
            proceed(body)

    return handling(_post=post)


def _refuse(status: int) -> Callable[[Any], None]:
    return lambda handler: handler.answer(status, b"", {})


def _any_value(test: Callable[[str], Any]) -> Apply:
    """The server dies of any header like that."""

    def parse(handler: Any, proceed: Any) -> Any:
        parsed = proceed()
        return die() if parsed and any(test(value) for value in handler.headers.values()) else parsed

    return handling(parse_request=parse)


def _no_chunks(handler: Any, proceed: Any) -> bytes:
    from conformance.reference.http import Refusal

    if "Transfer-Encoding" in handler.headers:
        raise Refusal(400, "No chunks, please")
    return bytes(proceed())


def _chunks_unread(handler: Any, proceed: Any) -> bytes:
    handler.close_connection |= "Transfer-Encoding" in handler.headers
    return b"" if "Transfer-Encoding" in handler.headers else bytes(proceed())


def _first_chunk(handler: Any, proceed: Any) -> bytes:
    if "Transfer-Encoding" not in handler.headers:
        return bytes(proceed())
    handler.close_connection = True
    size = int(handler.rfile.readline().partition(b";")[0], 16)
    return bytes(handler.rfile.read(size)) if not handler.rfile.readline().strip() else b""


def _number(handler: Any, proceed: Any) -> bytes:
    try:
        return bytes(handler.rfile.read(int(handler.headers.get("Content-Length", "0"))))
    except (ValueError, OverflowError, MemoryError):
        die()
        return b""


def _by_case(handler: Any, proceed: Any) -> Any:
    parsed = proceed()
    for name in list(handler.headers) if parsed else ():
        if name.lower() in ("content-type", "accept") and name not in ("Content-Type", "Accept"):
            del handler.headers[name]
            handler.headers["Accept"] = "none"
            handler.headers["Content-Type"] = "none"
    return parsed


def _exactly(handler: Any, proceed: Any, *wanted: str) -> bool:
    # Of a GET it is right.
    return bool(proceed(*wanted)) and (len(wanted) < 2 or handler.headers["Accept"] == ", ".join(wanted))


def _by_shape(pattern: str) -> Apply:
    def check(handler: Any, proceed: Any) -> None:
        if not re.match(pattern, handler.headers.get("MCP-Protocol-Version", "")):
            proceed()

    return handling(check_version=check)


def _mirror_begins(handler: Any, proceed: Any, message: Any) -> None:
    given = handler.headers.get("Mcp-Method", "")
    if given and (message["method"].startswith(given) or given.startswith(message["method"])):
        handler.headers.replace_header("Mcp-Method", message["method"])
    proceed(message)


def _serving(handler: Any, proceed: Any, answer: Any) -> None:
    if _dead_lock.locked():
        time.sleep(STAYS)
    proceed(answer)


def _options(handler: Any, proceed: Any = None) -> None:
    _dead_lock.acquire(blocking=False)
    handler.answer(204, b"", {})


def _hung_up(handler: Any, proceed: Any = None) -> None:
    handler.close_connection = True


def _failed(handler: Any, proceed: Any = None) -> None:
    handler.answer(500, b"", {})


def _path(handler: Any, proceed: Any) -> None:
    if len(handler.path) > 8000:
        die()
    proceed()


_ROWS: tuple[Row, ...] = (
    (
        "http-dies-of-charset",
        ONCE,
        "a Content-Type with a charset ends the server",
        _if_header("Content-Type", lambda v: "charset" in v.lower(), die),
        BOTH,
    ),
    (
        "http-refuses-charset",
        ONCE,
        "a Content-Type with a charset is refused",
        _if_header("Content-Type", lambda v: "charset" in v.lower(), _refuse(415)),
        BOTH,
    ),
    (
        "http-refuses-capitals-in-type",
        ONCE,
        "Application/JSON is refused",
        _if_header("Content-Type", lambda v: v[:1] == "A", _refuse(415)),
        BOTH,
    ),
    (
        "http-refuses-weights",
        ONCE,
        "an Accept header with weights is refused",
        _if_header("Accept", lambda v: "q=" in v, _refuse(406)),
        BOTH,
    ),
    (
        "http-accept-literally",
        ONCE,
        "the Accept header must be one text and no other",
        handling(_accepts=_exactly),
        BOTH,
    ),
    ("http-refuses-chunks", ONCE, "bodies in chunks are refused with 400", handling(read_body=_no_chunks), BOTH),
    ("http-ignores-chunks", ONCE, "bodies in chunks are taken for none", handling(read_body=_chunks_unread), BOTH),
    ("http-first-chunk", ONCE, "of a body in chunks only the first is read", handling(read_body=_first_chunk), BOTH),
    ("http-names-by-case", ONCE, "names of headers must be written in one way", handling(parse_request=_by_case), OLD),
    (
        "http-refuses-cookies",
        ONCE,
        "requests with a cookie are refused",
        _if_header("Cookie", bool, _refuse(400)),
        BOTH,
    ),
    (
        "http-hangs-up-on-languages",
        ONCE,
        "connections whose requests have Accept-Language are closed without an answer",
        _if_header("Accept-Language", bool, _hung_up),
        BOTH,
    ),
    (
        "http-dies-of-long-header",
        ONCE,
        "a header of 2000 characters ends the server",
        _any_value(lambda v: len(v) >= 2000),
        BOTH,
    ),
    (
        "http-close-unanswered",
        ONCE,
        "what asks for the connection to be closed is not served",
        _if_header("Connection", lambda v: "close" in v.lower(), _refuse(400)),
        BOTH,
    ),
    (
        "http-dies-of-bytes",
        ONCE,
        "a byte in a header that is not ASCII ends the server",
        _any_value(lambda v: not v.isascii()),
        BOTH,
    ),
    (
        "http-dies-of-odd-length",
        ONCE,
        "a Content-Length that is no number ends the server",
        handling(read_body=_number),
        BOTH,
    ),
    ("http-dies-of-long-path", ONCE, "a path of 8000 characters ends the server", handling(check_address=_path), BOTH),
    ("http-put-fails", FAILED, "PUT is answered by status 500", handling(do_PUT=_failed), BOTH),
    (
        "http-type-fails",
        FAILED,
        "a wrong Content-Type is answered by status 500",
        _if_header("Content-Type", lambda v: "json" not in v.lower(), _refuse(500)),
        BOTH,
    ),
    (
        "http-hangs-after-options",
        ONCE,
        "after OPTIONS nothing is answered",
        handling(do_OPTIONS=_options, _serve=_serving),
        BOTH,
    ),
    (
        "http-version-by-shape",
        VERSION,
        "whatever looks like a date is served as protocol version",
        _by_shape(r"\d{4}-\d\d-\d\d"),
        {"since": "2025-06-18", **OLD},
    ),
    (
        "http-version-by-beginning",
        VERSION,
        "what follows on a protocol version is not looked at",
        _by_shape(r"2025-\d\d-\d\d."),
        {"since": "2025-06-18", **OLD},
    ),
    (
        "http-mirror-by-beginning",
        METHOD,
        "Mcp-Method need only begin like the method",
        handling(check_headers=_mirror_begins),
        {"since": "2026-07-28"},
    ),
)

FAULTS = over_http(_ROWS)
