"""Stream: what comes out of the server is messages, one a line, in UTF-8."""

from __future__ import annotations

import json
import re
from typing import ClassVar

from conformance.budget import KEPT_BYTES, brief
from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Severity
from conformance.session.messages import Call, parse, too_deep
from conformance.session.session import Session
from conformance.transports import BARE

STDOUT = "transport-stdio/stdout-only-messages"
NEWLINES = "transport-stdio/no-embedded-newlines"
UTF8 = "jsonrpc/messages-utf8"
SSE = "transport-http/sse-data-is-message"
VALID = "jsonrpc/valid-messages"
ALONE = ("sse", "socket")
"""Channels on which each frame is to be a message: message events of HTTP+SSE, and frames of WebSocket."""
BOM = b"\xef\xbb\xbf"
_CONTENT_LENGTH = re.compile(rb"(?i)^content-(length|type)\s*:")
_BEGINS = re.compile(rb"(\xef\xbb\xbf)?\s*+(\[\s*+)?+(\{\s*+([\"}]|\Z)|\Z)")
"""How a message or a batch of them begins: what begins otherwise is none, however it goes on."""
MAX_SERIES = 200
"""Lines of one pretty-printed message that are put together again."""
MAX_SERIES_BYTES = 1024 * 1024


class Stream(Watcher):
    """Lines of stdout and payloads of HTTP that are no JSON. One cause is one finding."""

    name = "stream"
    requirements: ClassVar[tuple[str, ...]] = (STDOUT, NEWLINES, UTF8, SSE, VALID)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._series: list[Frame] = []
        self._framed = False

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the bytes of one frame."""
        if frame.part is not None or frame.channel in BARE:
            return
        if frame.readable:
            if frame.data.startswith(BOM):
                self._broke_utf8(frame, "a message begins with a byte order mark", Severity.WARNING)
            self._readable(frame)
            return
        if frame.unread and (frame.channel != "stdout" or _BEGINS.match(frame.data)):
            self._too_large(frame)
            return
        if not self._utf8(frame):
            return
        if frame.channel == "stdout":
            self._unreadable_line(frame)
        elif frame.channel == "sse" and frame.exchange is not None:
            self.ledger.broke(
                SSE,
                "the data of an SSE event is not JSON",
                expected="one JSON-RPC message",
                actual=shown(frame),
                frames=(call.sent if call else None, frame),
            )
        elif frame.channel in ALONE:
            self._broke_valid(frame, "what comes as a message is not JSON")

    def _too_large(self, frame: Frame) -> None:
        if frame.channel == "stdout" or (frame.channel == "sse" and frame.exchange is not None):
            requirement = STDOUT if frame.channel == "stdout" else SSE
            self.ledger.inconclusive(requirement, f"a message {frame.unread}")

    def finish(self) -> None:
        """Judge a last series of unreadable lines; half a message of a server that was ended is none of its faults."""
        ending = self.session.ending
        cut = ending is not None and ending.how in ("died", "terminated", "killed")
        last = self._series[0].data if len(self._series) == 1 else b""
        ended = self.session.ended
        unended = ended is not None and ended.partial.startswith(last)
        if last and ((cut and unended) or len(last) >= KEPT_BYTES):
            self.ledger.inconclusive(STDOUT, "the server ended in the middle of a line")
        else:
            self._settle()

    def _readable(self, frame: Frame) -> None:
        held = self.ledger.held
        if frame.channel == "stdout":
            if self._series and self._belongs(frame):
                return
            self._settle()
            held(STDOUT)
            held(NEWLINES)
            if not isinstance(frame.message, (dict, list)):
                self._no_message(frame)
        elif frame.channel == "sse" and frame.exchange is not None:
            self._typed(frame)
        elif frame.channel in ALONE and not isinstance(frame.message, (dict, list)):
            self._broke_valid(frame, "what comes as a message is JSON, but neither an object nor an array")
        held(UTF8)

    def _broke_valid(self, frame: Frame, what: str) -> None:
        self.ledger.broke(VALID, what, expected="one JSON-RPC message", actual=shown(frame), frames=(frame,))

    def _typed(self, frame: Frame) -> None:
        kind = frame.fields.get("event")
        if not isinstance(frame.message, (dict, list)):
            what = "the data of an SSE event is JSON, but neither an object nor an array"
            self.ledger.broke(SSE, what, expected="one JSON-RPC message", actual=shown(frame), frames=(frame,))
            return
        if kind is None or not isinstance(frame.message, dict):
            self.ledger.held(SSE)
            return
        # No sentence of the specification names the type; clients that go by the SSE standard pass over others.
        what = "a message comes in an SSE event of another type than message, where the clients of SDKs miss it"
        expected, actual = "no event field, or event: message", f"event: {kind[:100]}"
        self.ledger.broke(SSE, what, expected=expected, actual=actual, frames=(frame,), ceiling=Severity.ADVICE)

    def _belongs(self, frame: Frame) -> bool:
        """Whether a line that is JSON by itself continues a pretty-printed message, like `}` does not but `1` does."""
        if isinstance(frame.message, dict) and "jsonrpc" in frame.message:
            return False
        self._series.append(frame)
        self._try_series()
        return True

    def _utf8(self, frame: Frame) -> bool:
        data = frame.data
        try:
            data.decode("utf-8")
            if frame.channel == "stdout" and _is_wide(data):
                self._broke_utf8(frame, "a message is not encoded in UTF-8; it looks like UTF-16", None)
                return False
        except UnicodeDecodeError as error:
            if frame.channel in ("body", "sse") and (frame.status or 200) >= 400:
                return False
            if frame.channel == "stdout" and not (_is_wide(data) or parse(data.decode("utf-8", "replace").encode())[1]):
                return True  # no message in any encoding
            what = "a message is not encoded in UTF-8"
            if b"\x00" in data[:8]:
                what += "; it looks like UTF-16"
            # Findings that say the same are one: where it is wrong is no part of what is wrong.
            self._broke_utf8(frame, what, None, f"{error.reason} at byte {error.start}: {shown(frame)}")
            return False
        return True

    def _broke_utf8(self, frame: Frame, what: str, ceiling: Severity | None, actual: str = "") -> None:
        self.ledger.broke(
            UTF8,
            what,
            expected="UTF-8 without a byte order mark",
            actual=actual or shown(frame),
            frames=(frame,),
            ceiling=ceiling,
        )

    def _unreadable_line(self, frame: Frame) -> None:
        if not frame.data.strip():
            if self._framed or any(_CONTENT_LENGTH.match(line.data) for line in self._series):
                return
            self.ledger.broke(
                STDOUT,
                "an empty line stands between the messages",
                expected="nothing but messages on stdout",
                actual=f"a line of {len(frame.data)} blanks" if frame.data else "an empty line",
                frames=(frame,),
                ceiling=Severity.WARNING,
            )
            return
        self._series.append(frame if len(frame.data) <= MAX_SERIES_BYTES else brief(frame))
        if self._series[0].data.lstrip()[:1] in (b"{", b"["):
            self._try_series()
        else:
            self._settle()

    def _try_series(self) -> None:
        """Put lines together that are one message only together: pretty-printed JSON, or a newline in a string."""
        text = b"\n".join(frame.data for frame in self._series)
        if len(self._series) > 1 and _is_object(text):
            series, self._series = self._series, []
            self.ledger.broke(
                NEWLINES,
                "a message is spread over several lines (pretty-printed JSON)",
                expected="one message a line, without newlines inside",
                actual=f"{len(series)} lines: " + text[:160].decode("utf-8", "replace"),
                frames=series[:6],
            )
        elif len(self._series) > MAX_SERIES or (len(self._series) > 1 and len(text) > MAX_SERIES_BYTES):
            self._settle()

    def _settle(self) -> None:
        """The lines gathered are no message, alone or together."""
        series, self._series = self._series, []
        for frame in series:
            framed = _CONTENT_LENGTH.match(frame.data)
            self._framed = self._framed or bool(framed)
            what = "stdout carries something that is not a message"
            if framed:
                what = "messages are framed with Content-Length headers, as in the Language Server Protocol"
            elif frame.data.lstrip()[:1] == b"{":
                what = "a line on stdout looks like a message but is not JSON"
            self.ledger.broke(
                STDOUT, what, expected="nothing but messages, one a line", actual=shown(frame), frames=(frame,)
            )

    def _no_message(self, frame: Frame) -> None:
        # A bare value is JSON but no message: for the author it is a stray print, not a wrong message.
        self.ledger.broke(
            STDOUT,
            "stdout carries a JSON value that is not a message",
            expected="nothing but messages, one a line",
            actual=shown(frame),
            frames=(frame,),
        )


def _is_wide(line: bytes) -> bool:
    """Whether a line is a message in UTF-16, of whose newline one byte may be left."""
    if b"\x00" not in line[:8]:
        return False
    even = line[: len(line) // 2 * 2]
    for data, encoding in ((even, "utf-16"), (even, "utf-16-be"), (line[1 : len(line) // 2 * 2 + 1], "utf-16-le")):
        text = data.decode(encoding, "replace").strip("\ufeff\x00 \r")
        if text[:1] in ("{", "[") and parse(text.encode("utf-8", "surrogatepass"))[1]:
            return True
    return False


def _is_object(text: bytes) -> bool:
    """Whether lines together are an object or an array, line breaks in strings allowed."""
    try:
        read = text.decode(json.detect_encoding(text), "surrogatepass")
        return not too_deep(read) and isinstance(json.loads(read, strict=False), (dict, list))
    except ValueError:
        return False


def shown(frame: Frame, limit: int = 200) -> str:
    """The bytes of a frame for people: what is no UTF-8 escaped, long ones shortened."""
    text = frame.data[:limit].decode("utf-8", "backslashreplace")
    return text if len(frame.data) <= limit else f"{text}… ({len(frame.data)} bytes)"
