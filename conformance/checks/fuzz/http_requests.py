"""HTTP requests that nobody's client writes: legal ones are to be answered, and the others survived.

The message in them is a good one; it is the request line, the headers, the framing of the body that vary.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar
from urllib.parse import urlsplit

from conformance.checks.fuzz.choices import Choices, one_of
from conformance.checks.fuzz.example import DIED, MARK, WIDE_MARK, Breach, Example, Reply
from conformance.checks.fuzz.http_values import (
    ACCEPTS,
    BAD_LINES,
    BOTH,
    CAPITALS,
    CHUNKS,
    FIELDS,
    FLOODS,
    LENGTHS,
    LINES,
    METHODS,
    NAMES,
    NO_VERSIONS,
    OTHER_LENGTHS,
    PATHS,
    TYPES,
    UNKNOWN,
    VALUES,
    WRONG_ACCEPTS,
    WRONG_TYPES,
)
from conformance.checks.fuzz.requests import ID
from conformance.checks.probes import Bench
from conformance.checks.probes.outcome import BADLY_WRITTEN
from conformance.model import Frame, Json, Severity
from conformance.session.messages import Unavailable, encode
from conformance.target.urls import is_loopback
from conformance.transports.written_requests import LEFT_OUT, USUAL, target_of

ONCE = "jsonrpc/every-request-answered-once"
ANSWERED = "transport-http/request-answered-as-json-or-sse"
VERSION = "http-headers/invalid-version-header-400"
METHOD = "http-headers/method-header-mismatch-refused"
SPELT = "capitals in a media type"
Built = tuple[bytes, str]
"""A request and what is special about it."""
Build = Callable[[Choices], Built]


class HttpRequests:
    """See the module."""

    name: ClassVar[str] = "http-requests"
    requirements: ClassVar[tuple[str, ...]] = (ONCE, ANSWERED, VERSION, METHOD)
    share = 2.0

    def __init__(self, bench: Bench) -> None:
        session = bench.session
        url = urlsplit(session.transport.url)
        if not is_loopback(session.transport.host) and _behind_proxy(url.scheme):
            raise Unavailable("requests that are written out go to the server itself, and the environment has a proxy")
        self._target = target_of(session.transport.url)
        self._stateless = session.revision.era == "stateless"
        method, params = session.era.sentinel(session)
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": ID, "method": method}
        params = session.era.dress(session, params)
        if params is not None:
            message["params"] = params
        self._method = method.encode()
        self._body = encode(message).replace(MARK, WIDE_MARK)
        own = [header.lower() for header in session.era.headers(session, message)]
        names = tuple(name for name in NAMES if name.decode().lower() in own)
        self._legal: tuple[tuple[str, Build], ...] = (
            ("chunked body", self._chunked),
            ("spelling of Accept", self._header(b"Accept", ACCEPTS)),
            ("spelling of Content-Type", self._header(b"Content-Type", TYPES)),
            (SPELT, self._capitals),
            ("unknown header", self._unknown),
            ("case of a header's name", self._renamed(names)),
            ("space around a value", self._spaced),
            ("connection closed afterwards", self._closing),
        )
        self._illegal: tuple[tuple[str, Build], ...] = (
            ("method", self._other_method),
            ("path", self._path),
            ("request line", self._line),
            ("Content-Type", self._header(b"Content-Type", (*WRONG_TYPES, LEFT_OUT.encode()))),
            ("Accept", self._header(b"Accept", (*WRONG_ACCEPTS, LEFT_OUT.encode()))),
            ("header value", self._value),
            ("header line", self._bad_line),
            ("many headers", self._flood),
            ("Content-Length", self._header(b"Content-Length", LENGTHS)),
            ("two lengths", self._two_lengths),
            ("body cut off", self._cut),
            ("chunk", self._bad_chunk),
        )
        versions = session.revision.date in _since_version()
        date = session.revision.date.encode()
        none = (date + b"x", date[:-1], *NO_VERSIONS)
        self._mirrored: tuple[tuple[str, Build], ...] = (
            *((("protocol version", self._header(b"MCP-Protocol-Version", none)),) if versions else ()),
            *((("Mcp-Method", self._other_mirror),) if self._stateless else ()),
        )
        self._kinds = (*self._legal, *self._mirrored, *self._illegal)

    @property
    def kinds(self) -> int:
        """Legal ones, those whose headers contradict the body, and illegal ones."""
        return len(self._kinds)

    def make(self, choices: Choices) -> Example:
        """A request."""
        number = choices.below(len(self._kinds))
        kind, build = self._kinds[number]
        data, wrong = build(choices)
        legal = number < len(self._legal)
        about: dict[str, Json] = {"mirrored": kind in dict(self._mirrored)}
        cut = kind in ("body cut off", "chunk", "two lengths")
        return Example(data, kind, wrong, due=legal, illegal=not legal, about=about, inner=self._body, cut=cut)

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """Whether a legal one is answered, one that contradicts itself refused, and the server lives on."""
        if reply.fate:
            return self._fate(example, reply)
        if example.about["mirrored"]:
            return self._contradicting(example, reply)
        if not example.illegal:
            return self._due(example, reply)
        if reply.status is not None and reply.status >= 500 and reply.status not in (501, 502, 503, 504, 505):
            return Breach(
                ANSWERED,
                "an HTTP request that is wrong is answered as if the server itself had failed",
                "a status from 400 to 499, or 501 or 505",
                f"HTTP status {reply.status}",
                _proof(reply),
                Severity.ADVICE,
            )
        return ONCE

    def _fate(self, example: Example, reply: Reply) -> Breach:
        what = "a legal HTTP request" if not example.illegal else "an HTTP request that is wrong"
        then = "ends the server" if reply.fate == DIED else "keeps the server from answering the next one"
        ceiling = Severity.WARNING if example.illegal or reply.fate != DIED else None
        return Breach(ONCE, f"{what} {then}", "the server lives on", reply.why, _proof(reply), ceiling)

    def _due(self, example: Example, reply: Reply) -> Breach | str:
        if reply.succeeded:
            return ONCE
        if reply.status in (401, 403, 411, 429) or (reply.status or 0) >= 502 or 300 <= (reply.status or 0) < 400:
            return ""  # who asks for a length, has too much to do, lets nobody in, or is to be found elsewhere, says so
        came = f"HTTP status {reply.status}" if reply.status is not None else "no answer"
        return Breach(
            ONCE,
            f"{BADLY_WRITTEN} ({example.kind})",
            "a response with the result",
            came + (f", error {reply.code}" if reply.answers else ""),
            _proof(reply),
            Severity.ADVICE if example.kind == SPELT else Severity.WARNING,
        )

    def _contradicting(self, example: Example, reply: Reply) -> Breach | str:
        requirement = METHOD if example.kind == "Mcp-Method" else VERSION
        if reply.status is None or reply.status >= 400:
            return requirement
        if reply.status >= 300 or any(b'"error"' in frame.data for frame in reply.frames if frame.channel == "reply"):
            return ""  # refused, if not as is due, which other rules are about
        return Breach(
            requirement,
            f"a request with a wrong {example.kind} header is served",
            "HTTP status 400",
            f"HTTP status {reply.status}",
            _proof(reply),
        )

    # -- making

    def _request(self, *headers: bytes, line: bytes = b"", body: bytes | None = None) -> bytes:
        body = self._body if body is None else body
        named = {header.partition(b":")[0].lower() for header in headers}
        framed = {b"content-length", b"transfer-encoding"} & named
        length = () if framed else (b"Content-Length: %d" % len(body),)
        first = line or b"POST " + self._target + b" HTTP/1.1"
        return b"\r\n".join([first, *headers, *length]) + b"\r\n\r\n" + body

    def _header(self, name: bytes, values: tuple[bytes, ...]) -> Build:
        def build(choices: Choices) -> Built:
            value = one_of(choices, values)
            shown = "none" if value == LEFT_OUT.encode() else _shown(value)
            return self._request(name + b": " + value), f"{name.decode()}: {shown}"

        return build

    def _chunked(self, choices: Choices) -> Built:
        count = 1 + choices.below(4)
        size = -(-len(self._body) // count)
        parts = [self._body[at : at + size] for at in range(0, len(self._body), size)]
        written = one_of(choices, (b"%x\r\n", b"%X\r\n", b"000%x\r\n", b"%x;a=b\r\n"))
        # The mark for the id must not be cut in two.
        parts = [self._body] if not any(WIDE_MARK in part for part in parts) else parts
        body = b"".join(written % len(part) + part + b"\r\n" for part in parts) + b"0\r\n\r\n"
        return self._request(b"Transfer-Encoding: chunked", body=body), f"a body in {len(parts)} chunks"

    def _capitals(self, choices: Choices) -> Built:
        header = one_of(choices, CAPITALS)
        return self._request(header), header.decode()

    def _unknown(self, choices: Choices) -> Built:
        given = [one_of(choices, UNKNOWN) for _ in range(1 + choices.below(5))]
        given = list(dict.fromkeys(given))
        return self._request(*given), f"headers that the protocol does not know: {_shown(b', '.join(given))}"

    def _renamed(self, names: tuple[bytes, ...]) -> Build:
        def build(choices: Choices) -> Built:
            name = one_of(choices, names)
            return self._request(name + b": " + USUAL.encode()), f"the name {name.decode()}"

        return build

    def _spaced(self, choices: Choices) -> Built:
        before, after = one_of(choices, ((b"", b""), (b"  ", b" "), (b"\t", b""), (b" ", b"\t")))
        return self._request(b"Accept:" + before + BOTH + after), f"Accept:{_shown(before + BOTH + after)}"

    def _closing(self, choices: Choices) -> Built:
        value = one_of(choices, (b"close", b"Close", b"close, TE", b"keep-alive"))
        return self._request(b"Connection: " + value), f"Connection: {value.decode()}"

    def _other_mirror(self, choices: Choices) -> Built:
        method = self._method
        values = (b"tools/list", method.upper(), method + b"x", method[:-1], method.replace(b"/", b"%2F"), b"x", b"*")
        value = one_of(choices, values)
        return self._request(b"Mcp-Method: " + value), f"Mcp-Method: {_shown(value)} for {method.decode()}"

    def _other_method(self, choices: Choices) -> Built:
        method = one_of(choices, METHODS)
        body = one_of(choices, (self._body, b""))
        return self._request(line=method + b" " + self._target + b" HTTP/1.1", body=body), f"method {_shown(method)}"

    def _path(self, choices: Choices) -> Built:
        path = one_of(choices, PATHS).replace(b"@", self._target)
        return self._request(line=b"POST " + path + b" HTTP/1.1"), f"path {_shown(path)}"

    def _line(self, choices: Choices) -> Built:
        line = one_of(choices, LINES).replace(b"@", self._target) or b" "
        return self._request(line=line), f"request line {_shown(line)}"

    def _value(self, choices: Choices) -> Built:
        value, name = one_of(choices, VALUES), one_of(choices, FIELDS)
        return self._request(name + b": " + value), f"{name.decode()}: {_shown(value)}"

    def _bad_line(self, choices: Choices) -> Built:
        line = one_of(choices, BAD_LINES)
        return self._request(line), f"the header line {_shown(line)}"

    def _flood(self, choices: Choices) -> Built:
        count, size = one_of(choices, FLOODS), one_of(choices, (1, 20, 200))
        return self._request(*(b"X-%d: " % i + b"x" * size for i in range(count))), f"{count} headers"

    def _two_lengths(self, choices: Choices) -> Built:
        own = b"Content-Length: %d" % len(self._body)
        other = one_of(choices, (*OTHER_LENGTHS, own))
        pair = (own, other) if choices.below(2) else (other, own)
        return self._request(*pair), f"{pair[0].decode()} and {pair[1].decode()}"

    def _cut(self, choices: Choices) -> Built:
        more = one_of(choices, (1, 100, 1_000_000, 2**31, 2**40))
        body = self._body[: len(self._body) * choices.below(3) // 2]
        return self._request(b"Content-Length: %d" % (len(self._body) + more), body=body), f"{more} bytes of it missing"

    def _bad_chunk(self, choices: Choices) -> Built:
        chunk = one_of(choices, CHUNKS)
        before = one_of(choices, (b"", b"%x\r\n%s\r\n" % (len(self._body), self._body)))
        return self._request(b"Transfer-Encoding: chunked", body=before + chunk), f"the chunk {_shown(chunk)}"


def _since_version() -> frozenset[str]:
    from conformance.catalogue.requirements import load

    return frozenset(load()[VERSION].levels)


def _behind_proxy(scheme: str) -> bool:
    from urllib.request import getproxies

    return bool({scheme, "all"} & getproxies().keys())


def _shown(data: bytes) -> str:
    text = repr(data)[2:-1]
    return text if len(text) <= 60 else f"{text[:40]} … ({len(data)} bytes)"


def _proof(reply: Reply) -> tuple[Frame, ...]:
    heads = [frame for frame in reply.frames if frame.channel == "head" and frame.exchange == reply.sent.exchange]
    return (reply.sent, *heads[:1])
