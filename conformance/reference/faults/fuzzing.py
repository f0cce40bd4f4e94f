"""Faults that show only on lines and messages which nobody writes by hand: for the campaigns."""

from __future__ import annotations

import json
import re
import time

from conformance.reference.fault import Fault, die, sending, several
from conformance.reference.faults.stdio import Raw, raw
from conformance.reference.wire import Message, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply
    from conformance.reference.server import Server

    Act = Callable[[bytes, BinaryIO], bytes | None]

PARSE = "jsonrpc/parse-error-code"
INVALID = "jsonrpc/invalid-request-code"
ECHOED = "jsonrpc/response-id-echoed"
ONCE = "jsonrpc/every-request-answered-once"
BOTH = "2025-11-25 2026-07-28"

_BROKEN_ESCAPE = re.compile(rb"\\u(?![0-9a-fA-F]{4})")
_SURROGATE = re.compile(rb"\\ud[89a-f]", re.IGNORECASE)
_FRACTION = re.compile(rb'"id":(-?[0-9]+)\.([0-9]+)')
_WHOLE = rb'"id":\1'
_ROUND = re.compile(rb'"id":(-?[0-9]+)\.0+[,}]')


def on_line(test: Callable[[bytes], Any], act: Act) -> Apply:
    """Treat the lines for which `test` is true otherwise: `act` gives the line to read instead, None for none."""

    def apply(server: Server) -> None:
        before = server.lines

        def lines(stream: BinaryIO) -> Iterator[bytes]:
            given = before(stream)
            for line in given:
                instead = act(line, stream) if test(line.rstrip(b"\n")) else line
                if instead is not None:
                    yield instead

        server.lines = lines

    return apply


def on_message(test: Callable[[Any], Any], act: Act) -> Apply:
    """The same for lines that are JSON; `test` gets the value."""

    def reads(line: bytes) -> Any:
        try:
            return test(json.loads(line))
        except (ValueError, RecursionError):
            return False

    return on_line(reads, act)


def unreadable(test: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """Whether a line is not JSON, and `test` is true."""

    def check(line: bytes) -> Any:
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return line.strip() and test(line)
        return False

    return check


def hang(line: bytes, stream: BinaryIO) -> bytes | None:
    """Read nothing any more."""
    while True:
        time.sleep(3600)


def swallow_next(line: bytes, stream: BinaryIO) -> bytes | None:
    """Read on to the end of the next line."""
    stream.readline()
    return line


def _rounded(line: bytes, stream: BinaryIO) -> bytes | None:
    return _FRACTION.sub(_WHOLE, line)


def _rounded_late(server: Server) -> None:
    """What has a fraction as its id is served after the two lines that follow it, as may be where each has a thread."""
    before = server.lines

    def lines(stream: BinaryIO) -> Iterator[bytes]:
        held, more = b"", 0
        for line in before(stream):
            if not held and _FRACTION.search(line):
                held, more = _FRACTION.sub(_WHOLE, line), 2
                continue
            yield line
            more -= 1
            if held and not more:
                time.sleep(0.005)
                yield held
                held = b""

    server.lines = lines


def _as_text(line: bytes, stream: BinaryIO) -> bytes | None:
    return _FRACTION.sub(rb'"id":"\1.\2"', line)


def _accepted(line: bytes, stream: BinaryIO) -> bytes | None:
    message = json.loads(line)
    return json.dumps({**message, "jsonrpc": "2.0"}).encode() + b"\n"


def has(name: str, kind: type | tuple[type, ...]) -> Callable[[Any], bool]:
    """Whether a message has a member of that type."""
    return lambda message: isinstance(message, dict) and isinstance(message.get(name), kind)


def _complaining(message: Message, call: Call | None) -> Any:
    error = message.get("error")
    spoken = isinstance(error, dict) and error["code"] == -32700 and "Invalid control" in error["message"]
    return [Raw(b"SyntaxError: invalid control character"), message] if spoken else message


def _trailing(message: Message, call: Call | None) -> None:
    error = message.get("error")
    if isinstance(error, dict) and "Extra data" in error["message"]:
        error["code"] = -32603


def _array_method(message: Message, call: Call | None) -> None:
    error = message.get("error")
    if isinstance(error, dict) and "method must be a string" in error["message"]:
        error["code"] = -32603


def _id_of_error(server: Server) -> None:
    """After a line that is no JSON the next response repeats the id of that error."""
    last: list[Any] = []

    def change(message: Message, call: Call | None) -> None:
        if message.get("error", {}).get("code") == -32700:
            last.append(None)
        elif last and "method" not in message:
            message["id"] = last.pop()

    sending(change)(server)


def _id_of_earlier(server: Server) -> None:
    """A line that is no JSON is answered with the id of the last response."""
    last: list[Any] = [0]

    def change(message: Message, call: Call | None) -> None:
        if message.get("error", {}).get("code") == -32700:
            message["id"] = last[0]
        elif "method" not in message and message.get("id") is not None:
            last[0] = message["id"]

    sending(change)(server)


def _deep(value: Any, depth: int) -> bool:
    level = [value]
    for _ in range(depth):
        level = [
            inner
            for each in level
            if isinstance(each, (dict, list))
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    return bool(level)


def _third_cancellation(server: Server) -> None:
    seen: list[str] = []

    def hook(peer: Any, method: str, channel: Any) -> None:
        if method == "notifications/cancelled":
            seen.append(method)
            if len(seen) == 3:
                die()

    server.notified.append(hook)


def _changed_ids(change: Callable[[str], Any]) -> Apply:
    def changed(message: Message, call: Call | None) -> None:
        if "method" not in message and isinstance(message.get("id"), str):
            message["id"] = change(message["id"])

    return sending(changed)


def _cancelled(test: Callable[[Message], Any]) -> Callable[[Any], Any]:
    return lambda m: isinstance(m, dict) and m.get("method") == "notifications/cancelled" and test(m["params"])


def _answered_cancellation(server: Server) -> None:
    def hook(peer: Any, method: str, channel: Any) -> None:
        if method == "notifications/cancelled" and not peer.running:
            channel.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Nothing to cancel"}})

    server.notified.append(hook)


def _meta_value(message: Any) -> Any:
    params = message.get("params") if isinstance(message, dict) else None
    meta = params.get("_meta") if isinstance(params, dict) else None
    return meta.get("com.example/mcp-conform", 0) if isinstance(meta, dict) else 0


def _line(name: str, requirements: str, summary: str, *applies: Apply) -> Fault:
    return Fault(name, requirements, summary, several(*applies), only=BOTH, transports="stdio")


FAULTS = (
    _line("escape-x-kills", PARSE, "the escape \\x ends the process", on_line(lambda line: rb"\x" in line, die)),
    _line(
        "short-escape-kills",
        PARSE,
        "a \\u escape that is too short ends the process",
        on_line(_BROKEN_ESCAPE.search, die),
    ),
    _line("nul-kills", PARSE, "a NUL byte ends the process", on_line(lambda line: b"\x00" in line, die)),
    _line(
        "overlong-kills",
        PARSE,
        "an overlong form of UTF-8 ends the process",
        on_line(lambda line: b"\xc0" in line, die),
    ),
    _line(
        "open-brackets-kill",
        PARSE,
        "512 arrays that are never closed end the process",
        on_line(unreadable(lambda line: line.count(b"[") >= 512), die),
    ),
    _line(
        "long-garbage-kills",
        PARSE,
        "a line of a megabyte that is not JSON ends the process",
        on_line(unreadable(lambda line: len(line) > 1_000_000), die),
    ),
    _line(
        "truncated-swallows",
        PARSE,
        "a line that ends within a message swallows the next one",
        on_line(unreadable(lambda line: line.startswith(b"{") and line.count(b"{") > line.count(b"}")), swallow_next),
    ),
    _line(
        "open-string-hangs",
        PARSE,
        "after a string that is never closed nothing is read any more",
        on_line(unreadable(lambda line: line.startswith(b"{") and line.count(b'"') % 2), hang),
    ),
    _line(
        "two-on-a-line-hang", PARSE, "two requests on a line hang the server", on_line(lambda line: b"}{" in line, hang)
    ),
    _line(
        "prints-syntax-errors",
        "transport-stdio/stdout-only-messages",
        "a control character in a string prints a line to stdout",
        raw,
        sending(_complaining),
    ),
    _line("trailing-bytes-code", PARSE, "bytes behind a message give -32603", sending(_trailing)),
    _line("surrogate-kills", PARSE, "the escape of a surrogate ends the process", on_line(_SURROGATE.search, die)),
    _line(
        "content-length-swallows",
        PARSE,
        "a header of the Language Server Protocol swallows the next message",
        on_line(lambda line: line.lower().startswith(b"content-length"), swallow_next),
    ),
    _line("nan-kills", PARSE, "NaN ends the process", on_line(lambda line: b"NaN" in line, die)),
    _line(
        "utf-16-kills", PARSE, "the mark of UTF-16 ends the process", on_line(lambda line: line[:2] == b"\xff\xfe", die)
    ),
    _line("id-of-parse-error", PARSE, "after a parse error the next response has its id", _id_of_error),
    _line("parse-error-with-earlier-id", PARSE, "what is not JSON is answered with an earlier id", _id_of_earlier),
    _line(
        "methodless-kills",
        INVALID,
        "a message that is neither request nor response ends the process",
        on_message(lambda m: isinstance(m, dict) and not m.keys() & {"method", "result", "error"}, die),
    ),
    _line("empty-array-kills", INVALID, "an empty array ends the process", on_message(lambda m: m == [], die)),
    _line("null-kills", INVALID, "the line null ends the process", on_message(lambda m: m is None, die)),
    _line("id-object-hangs", INVALID, "an object as id hangs the server", on_message(has("id", dict), hang)),
    _line(
        "id-null-swallows",
        INVALID,
        "the id null swallows the next message",
        on_message(lambda m: isinstance(m, dict) and m.get("id", 0) is None and "params" not in m, swallow_next),
        on_message(lambda m: isinstance(m, dict) and "method" in m and m.get("id", 0) is None, swallow_next),
    ),
    _line("fraction-rounded", ECHOED, "the fraction of an id is cut off", on_line(_FRACTION.search, _rounded)),
    _line("fraction-rounded-late", ECHOED, "the fraction of an id is cut off, in a late answer", _rounded_late),
    _line("round-id-as-text", ECHOED, "an id with .0 comes back as text", on_line(_ROUND.search, _as_text)),
    _line("bad-method-code", INVALID, "a method that is not a string gives -32603", sending(_array_method)),
    _line(
        "jsonrpc-number-accepted",
        INVALID,
        "jsonrpc: 2.0, the number, is good enough",
        on_message(lambda m: isinstance(m, dict) and m.get("jsonrpc") == 2 and "id" in m, _accepted),
    ),
    _line("params-text-kills", INVALID, "params that are text end the process", on_message(has("params", str), die)),
    _line(
        "deep-message-kills", ONCE, "a message nested 63 deep ends the process", on_message(lambda m: _deep(m, 63), die)
    ),
    _line(
        "megabyte-kills",
        f"{ONCE} {PARSE}",
        "a line of a megabyte ends the process",
        on_line(lambda line: len(line) > 10**6, die),
    ),
    _line(
        "meta-null-ignored",
        ONCE,
        "a request with null under an unknown key of _meta is not answered",
        on_message(lambda m: _meta_value(m) is None, lambda line, stream: None),
    ),
    _line("third-cancellation-kills", ONCE, "the third cancellation ends the process", _third_cancellation),
    _line("id-blanks-lost", f"{ECHOED} {ONCE}", "blanks in an id are lost", _changed_ids(lambda i: i.replace(" ", ""))),
    _line("long-id-cut", f"{ECHOED} {ONCE}", "an id is cut off after 255 characters", _changed_ids(lambda i: i[:255])),
    _line(
        "id-loses-script",
        f"{ECHOED} {ONCE}",
        "an id loses what is not ASCII",
        _changed_ids(lambda i: i.encode("ascii", "replace").decode()),
    ),
    _line(
        "id-zeros-lost",
        f"{ECHOED} {ONCE}",
        "zeros in front of an id are lost",
        _changed_ids(lambda i: i.lstrip("0") or "0"),
    ),
    _line(
        "cancelled-text-kills",
        ONCE,
        "the cancellation of a request that never was, with text as id, ends the process",
        on_message(_cancelled(lambda params: params["requestId"] == "mcp-conform-none"), die),
    ),
    _line(
        "long-reason-hangs",
        ONCE,
        "a long reason of a cancellation hangs the server",
        on_message(_cancelled(lambda params: len(params.get("reason", "")) > 4000), hang),
    ),
    _line(
        "late-cancellation-answered",
        "jsonrpc/notification-never-answered",
        "a cancellation that comes too late is answered by an error",
        _answered_cancellation,
    ),
)

__all__ = ["FAULTS", "encode", "hang", "on_line", "on_message"]
