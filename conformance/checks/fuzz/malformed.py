"""Bytes that are not JSON. A server may stay silent; if it answers, it says parse error; it lives on."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import ClassVar

from conformance.checks.fuzz.choices import Choices, one_of
from conformance.checks.fuzz.example import DIED, HUNG, SWALLOWED, Breach, Example, Reply
from conformance.checks.probes import Bench
from conformance.checks.probes.outcome import UNKNOWN_STOPS
from conformance.codes import INVALID_REQUEST, PARSE_ERROR
from conformance.model import Frame, Json, Severity
from conformance.session.messages import is_message, parse

REQUIREMENT = "jsonrpc/parse-error-code"
ONCE = "jsonrpc/every-request-answered-once"
ACCEPTED = (PARSE_ERROR, INVALID_REQUEST)

METHOD = "ping"
_TEXT = f'{{"jsonrpc":"2.0","id":"@id","method":"{METHOD}","params":{{"a":["x",1]}}}}'
_LINE = _TEXT.encode()
PLACES = (METHOD.encode(), b"2.0", b"method", b'"x"')
"""Where something is put in: into the name of the method, another string, the name of a member, a value."""

ESCAPES = (b"\\x", b"\\u12", b"\\", b"\\u", b"\\u{41}", b"\\'", b"\\0", b"\\a", b"\\U0001F600", b"\\ud8", b"\\v")
CONTROLS = tuple(bytes([number]) for number in (9, 1, 0, 31, 27, 8, 12, 13))
BAD_UTF8 = (
    b"\xff",
    b"\xc3",
    b"\x80",
    b"\xed\xa0\x80",
    b"\xf5\x80\x80\x80",
    b"\xc0\xaf",
    b"\xe2\x82",
    b"\xfe",
    b"\xf0\x9f",
)
NUMBERS = (
    b"01",
    b"1.",
    b".5",
    b"+1",
    b"-",
    b"0x10",
    b"1e",
    b"1e+",
    b"--1",
    b"1_000",
    b"0b1",
    b"1,5",
    b"NaN",
    b"Infinity",
)
WORDS = (b"undefined", b"True", b"None", b"nul", b"tru", b"NULL", b"'x'", b"`x`", b"x", b"<a/>", b'b"x"', b"nil")
TAILS = (b"}", b"]", b",", b" x", b"{}", b"\x00", b";", b"//", b"/**/", b"null", b'"', b"1")
HEADS = (b",", b"}", b"x", b"\x00", b"\xff\xfe", b"data: ", b"\x1b[0m", b"#", b"\x1e", b")]}',", b"0x1e", b"[")
PROTOCOLS = (
    b"Content-Length: 52\r",
    b"GET / HTTP/1.1\r",
    b"<?xml version='1.0'?>",
    b"ping",
    b"\x16\x03\x01\x02\x00\x01\x00",
    b"--boundary",
    b"PRI * HTTP/2.0\r",
    b"{'jsonrpc': '2.0'}",
    b"\xff\xfe{\x00}\x00",
    b"jsonrpc: 2.0",
    b"\x00\x00\x00\x02{}",
    b"\x83\xa7jsonrpc\xa32.0",
)
LONES = (b"\\ud800", b"\\udc00", b"\\udfff\\ud800", b"\\ud83d", b"\\ud800\\ud800")
DEPTHS = (1, 2, 10, 64, 100, 512, 1000, 10_000, 100_000)
LENGTHS = (1, 100, 5_000, 70_000, 1_100_000)


def _put_in(choices: Choices, parts: tuple[bytes, ...]) -> tuple[bytes, bytes]:
    part, place = one_of(choices, parts), one_of(choices, PLACES)
    at = _LINE.index(place) + (len(place) + 1) // 2
    return part, _LINE[:at] + part + _LINE[at:]


def _truncated(choices: Choices) -> tuple[bytes, str]:
    length = 1 + choices.below(len(_LINE) - 1)
    return _LINE[:length], f"a request cut off after {length} bytes"


def _escape(choices: Choices) -> tuple[bytes, str]:
    part, line = _put_in(choices, ESCAPES)
    return line, f"the escape {part.decode()} in a string"


def _control(choices: Choices) -> tuple[bytes, str]:
    part, line = _put_in(choices, CONTROLS)
    return line, f"the control character U+{part[0]:04X} in a string"


def _encoding(choices: Choices) -> tuple[bytes, str]:
    part, line = _put_in(choices, BAD_UTF8)
    return line, f"the bytes {part.hex(' ')}, which are not UTF-8"


def _surrogate(choices: Choices) -> tuple[bytes, str]:
    part, line = _put_in(choices, LONES)
    return line, f"the lone surrogate {part.decode()} in a string (JSON allows it)"


def _tail(choices: Choices) -> tuple[bytes, str]:
    tail = one_of(choices, TAILS) * (1 + choices.below(3))
    return _LINE + tail, f"{tail!r} after the end of the request"


def _head(choices: Choices) -> tuple[bytes, str]:
    head = one_of(choices, HEADS)
    return head + _LINE, f"{head!r} before the request"


def _value(choices: Choices, values: tuple[bytes, ...]) -> bytes:
    value = one_of(choices, values)
    spot = one_of(choices, (b"1]", b'"2.0"', b'{"a"'))
    return value if choices.below(3) == 0 else _LINE.replace(spot, value + (b"]" if spot == b"1]" else b""), 1)


def _number(choices: Choices) -> tuple[bytes, str]:
    return _value(choices, NUMBERS), "a number that JSON does not know"


def _word(choices: Choices) -> tuple[bytes, str]:
    return _value(choices, WORDS), "a word that JSON does not know"


def _comma(choices: Choices) -> tuple[bytes, str]:
    spot = one_of(choices, (b"1]", b"]}", b"}}", b'"a":', b",", b":", b'"x"'))
    extra = one_of(choices, (b",", b",,", b":", b" "))
    line = _LINE.replace(spot, spot[:1].join([b"", b""]) + extra + spot, 1)
    return line, f"a stray {extra.decode()!r} before {spot.decode()}"


def _two(choices: Choices) -> tuple[bytes, str]:
    between = one_of(choices, (b"", b" ", b",", b"\r", b"\t", b"\x1e"))
    return _LINE + between + _LINE.replace(b"none", b"nine"), f"two requests on a line, {between!r} between"


def _deep(choices: Choices) -> tuple[bytes, str]:
    depth, opening = one_of(choices, DEPTHS), one_of(choices, (b"[", b'{"a":', b"[{"))
    if opening == b'{"a":' and depth > 20_000:
        depth = 20_000
    return opening * depth, f"{opening.decode()} opened {depth} times and never closed"


def _long(choices: Choices) -> tuple[bytes, str]:
    length, filler = one_of(choices, LENGTHS), one_of(choices, (b"x", b" x", b'"', b"\x00", b"9", b"\\"))
    start = one_of(choices, (b"", b'{"jsonrpc":"2.0","method":"'))
    return start + (filler * length)[:length], f"{length} bytes of {filler!r}"


def _protocol(choices: Choices) -> tuple[bytes, str]:
    line = one_of(choices, PROTOCOLS)
    return line, f"a line of something else, {line!r}"


def _random(choices: Choices) -> tuple[bytes, str]:
    length = 1 + choices.below(24)
    data = bytes(choices.below(256) for _ in range(length))
    return data.replace(b"\n", b"?").replace(b"\r", b"?"), "arbitrary bytes"


def _flipped(choices: Choices) -> tuple[bytes, str]:
    at = choices.below(len(_LINE))
    byte = one_of(choices, b"x{}[]\",:\\ 0\x00\xff'")
    return _LINE[:at] + bytes([byte]) + _LINE[at + 1 :], f"byte {at} of a request replaced by {bytes([byte])!r}"


KINDS: tuple[tuple[str, Callable[[Choices], tuple[bytes, str]]], ...] = (
    ("truncated", _truncated),
    ("bad escape", _escape),
    ("control character", _control),
    ("not UTF-8", _encoding),
    ("lone surrogate", _surrogate),
    ("trailing bytes", _tail),
    ("leading bytes", _head),
    ("bad number", _number),
    ("bad word", _word),
    ("stray separator", _comma),
    ("two on a line", _two),
    ("deep nesting", _deep),
    ("long line", _long),
    ("another protocol", _protocol),
    ("arbitrary bytes", _random),
    ("one byte changed", _flipped),
)


class Malformed:
    """See the module."""

    name: ClassVar[str] = "malformed"
    requirements: ClassVar[tuple[str, ...]] = (REQUIREMENT,)
    share = 1.0

    def __init__(self, bench: Bench) -> None:
        self._frame = bench.session.transport.frame
        self._any_bytes = bench.session.transport.any_bytes

    @property
    def kinds(self) -> int:
        """Of KINDS."""
        return len(KINDS)

    def make(self, choices: Choices) -> Example:
        """A line. What is JSON after all is judged only by whether it is survived."""
        kind, build = KINDS[choices.below(len(KINDS))]
        data, wrong = build(choices)
        data = data.replace(b"\n", b" ").strip() or b"x"
        if not self._any_bytes:
            data = data.decode("utf-8", "replace").encode()
        # A lenient decoder makes JSON of a line whose only fault is its encoding; JSON-RPC does not forbid that.
        readable = parse(data.decode("utf-8", "replace").encode())[1] or data.startswith(b"\xef\xbb\xbf")
        return Example(data, kind, wrong, about={"json": readable})

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """Whether the target lives on, and says nothing but parse error."""
        if reply.fate:
            return self._fate(reply)
        if example.about["json"]:
            return ""
        if reply.status is not None and reply.status >= 500:
            return self._wrong(reply, f"HTTP status {reply.status}")
        if not reply.answers:
            return REQUIREMENT if reply.status is not None and reply.status >= 400 else ""
        if reply.code in ACCEPTED:
            return REQUIREMENT
        if reply.codeless:
            return ""
        if reply.message.get("id") is not None:
            return ""  # it read a request out of it: "a JSON parser MAY accept non-JSON forms" (RFC 8259)
        return self._wrong(reply, "a result" if reply.succeeded else f"error {json.dumps(reply.code)}")

    def _fate(self, reply: Reply) -> Breach:
        proof = (reply.sent, *reply.frames[1:4])
        if reply.fate in (DIED, HUNG) and _asks_otherwise(reply.sent):
            expected = "an error, and the server lives on"
            return Breach(ONCE, UNKNOWN_STOPS, expected, reply.why, proof, None, {"alive": True})
        what = {
            DIED: f"a {self._frame} that is not JSON ends the server",
            HUNG: f"after a {self._frame} that is not JSON the server stops answering",
            SWALLOWED: f"a {self._frame} that is not JSON swallows the message after it",
        }[reply.fate if reply.fate in (DIED, HUNG) else SWALLOWED]
        expected = "silence or error -32700, and the server lives on"
        return Breach(REQUIREMENT, what, expected, reply.why, proof, Severity.WARNING, {"alive": True})

    def _wrong(self, reply: Reply, actual: str) -> Breach:
        accepted: list[Json] = [{"error": {"code": code}} for code in ACCEPTED]
        return Breach(
            REQUIREMENT,
            f"a {self._frame} that is not JSON is answered wrongly",
            "silence or error -32700",
            actual,
            reply.proof,
            Severity.WARNING,
            {"response": {"$any": accepted}, "silence": "allowed"},
        )


def _asks_otherwise(sent: Frame) -> bool:
    """Whether a request became one for another method, and is no less a request for that."""
    if not (sent.readable and is_message(sent.message)):
        return False
    method = sent.message.get("method", METHOD)
    return "id" in sent.message and method != METHOD and method.isascii()
