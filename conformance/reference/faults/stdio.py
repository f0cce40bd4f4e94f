"""Faults in the stdio transport."""

from __future__ import annotations

import json
import os
import signal
import time
from collections import deque

from conformance.reference.call import Call
from conformance.reference.fault import Fault, around, die, on_response, sending, setting, several
from conformance.reference.wire import INTERNAL_ERROR, METHOD_NOT_FOUND, Message, RpcError, encode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any, BinaryIO

    from conformance.reference.call import Channel
    from conformance.reference.fault import Apply, Proceed
    from conformance.reference.server import Server

ONCE = "jsonrpc/every-request-answered-once"
STDIO = {"transports": "stdio", "only": "2025-11-25"}
ONLY = "transport-stdio/stdout-only-messages"
LINES = "transport-stdio/no-embedded-newlines"
CHUNKS = "transport-stdio/reads-lines-however-chunked jsonrpc/every-request-answered-once"
CHUNKS += " lifecycle/ping-answered-promptly versioning/interleaved-requests-handled"


class Raw(bytes):
    """Bytes that go out as they are."""


def raw(server: Server) -> None:
    server.encode = lambda message: message if isinstance(message, Raw) else encode(message)


def _more_than(number: int, method: str, then: Callable[[], Any]) -> Apply:
    """Once that many requests of a method have come within a quarter of a second, each further one has it."""
    begun: deque[float] = deque(maxlen=number)

    def change(message: Message, call: Call) -> Any:
        now = time.monotonic()
        if len(begun) == number and now - begun[0] < 0.25:
            return then()
        begun.append(now)
        return message

    return on_response((method,), change)


def _logged(call: Call, proceed: Proceed) -> Message | None:
    os.write(2, b"DEBUG " + b"." * 20_000 + b"\n")
    return proceed(call)


def _traced(message: Message, call: Call | None) -> None:
    if "error" in message and message["error"]["code"] == METHOD_NOT_FOUND:
        os.write(2, b"Traceback " + b"." * 100_000 + b"\n")


def _pretty(message: Message, call: Call) -> Any:
    return Raw(json.dumps(message, indent=2).encode()) if call.params.get("name") == "poem" else message


def _embedded(message: Message, call: Call) -> Any:
    return Raw(encode(message).replace(b"\\n", b"\n")) if call.params.get("name") == "poem" else message


def _printing(message: Message, call: Call) -> Any:
    return [Raw(f"called {call.params.get('name')}".encode()), message]


def _banner(server: Server) -> None:
    raw(server)
    server.started.append(lambda channel: channel.send(Raw(b"Reference server is ready")))


def _farewell(server: Server) -> None:
    raw(server)
    server.input_ended.append(lambda channel: channel.send(Raw(b"Goodbye")))


def _at_any_separator(stream: BinaryIO) -> Iterator[bytes]:
    """The lines that `str.splitlines` makes of what comes."""
    for line in stream:
        yield from (part.encode() for part in line.decode("utf-8", "replace").splitlines(keepends=True))


def _whole_chunks(stream: BinaryIO) -> Iterator[bytes]:
    """Every read is taken to be whole lines: what is left over of a line is lost."""
    while chunk := os.read(stream.fileno(), 1 << 20):
        yield from (line for line in chunk.split(b"\n") if line)


def _three_pieces(stream: BinaryIO) -> Iterator[bytes]:
    rest, pieces = b"", 0
    while chunk := os.read(stream.fileno(), 1 << 20):
        *lines, rest = (rest + chunk).split(b"\n")
        pieces = 0 if lines else pieces + 1
        rest = b"" if pieces > 3 else rest
        yield from lines


def _until_empty(stream: BinaryIO) -> Iterator[bytes]:
    for line in stream:
        if not line.strip():
            return
        yield line


def _first_of_twins(stream: BinaryIO) -> Iterator[bytes]:
    """Of two requests of one method that arrive together only the first is seen."""
    for lines in _chunks(stream):
        seen = []
        for line in lines:
            method = line.partition(b'"method"')[2].lstrip(b": ")[:20]
            if method not in seen:
                yield line
            seen.append(method if method else line)


def _chunks(stream: BinaryIO) -> Iterator[list[bytes]]:
    rest = b""
    while chunk := os.read(stream.fileno(), 1 << 20):
        *lines, rest = (rest + chunk).split(b"\n")
        yield lines


def _one_at_a_time(server: Server) -> None:
    """Requests that come while one is served are refused; serving takes a while, so that it shows."""
    busy: list[bytes] = []

    def lines(stream: BinaryIO) -> Iterator[bytes]:
        rest = b""
        while chunk := os.read(stream.fileno(), 1 << 20):
            time.sleep(0.03)
            os.set_blocking(stream.fileno(), False)
            try:
                chunk += os.read(stream.fileno(), 1 << 20)
            except BlockingIOError:
                pass
            finally:
                os.set_blocking(stream.fileno(), True)
            *whole, rest = (rest + chunk).split(b"\n")
            busy[:] = whole[1:]
            yield from whole

    def refuse(message: Message, call: Call | None) -> Any:
        own = call is not None and "method" not in message and encode(call.message)
        if own and any(json.loads(line) == call.message for line in busy if call):
            return RpcError(INTERNAL_ERROR, "Internal error: busy").response({"id": message["id"]})
        return message

    server.lines = lines
    sending(refuse)(server)


def _stays(server: Server) -> None:
    def stay(channel: Channel) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        time.sleep(3600)

    server.input_ended.append(stay)


def _uncancellable() -> Apply:
    return setting("cancel", lambda call: None)


def _ordered_otherwise(line: bytes) -> bool:
    return line.startswith(b'{"') and b'"method"' in line and b'"jsonrpc"' in line and line[2:9] != b"jsonrpc"


FAULTS = (
    Fault(
        "blocks-on-stderr",
        ONCE,
        "each request is written to stderr with 20 kB of what was going on",
        around(_logged),
        **STDIO,
    ),
    Fault(
        "blocks-on-traceback",
        ONCE,
        "unknown methods are written to stderr with 100 kB of what was going on",
        sending(_traced),
        **STDIO,
    ),
    Fault(
        "calls-dropped-above-eight",
        ONCE,
        "of many calls at once only eight are answered",
        _more_than(8, "tools/call", list),
        **STDIO,
    ),
    Fault(
        "dies-of-twelve-calls", ONCE, "twelve calls at once end the process", _more_than(12, "tools/call", die), **STDIO
    ),
    Fault(
        "pretty-printed",
        f"{LINES} {ONLY} jsonrpc/every-request-answered-once",
        "the result of the tool poem is printed over several lines",
        several(raw, on_response(("tools/call",), _pretty)),
        transports="stdio",
    ),
    Fault(
        "newline-unescaped",
        f"{LINES} {ONLY} jsonrpc/every-request-answered-once",
        "newlines in the text of the tool poem are not escaped",
        several(raw, on_response(("tools/call",), _embedded)),
        transports="stdio",
    ),
    Fault("banner", ONLY, "a banner is printed to stdout", _banner, transports="stdio"),
    Fault(
        "prints-in-tools",
        ONLY,
        "every tool call prints a line to stdout",
        several(raw, on_response(("tools/call",), _printing)),
        transports="stdio",
    ),
    Fault("prints-goodbye", ONLY, "a line is printed to stdout at the end of input", _farewell, transports="stdio"),
    Fault(
        "split-message-lost",
        CHUNKS,
        "a message that comes in two writes is lost",
        setting("lines", _whole_chunks),
        transports="stdio",
    ),
    Fault(
        "fourth-piece-lost",
        CHUNKS,
        "of a message that comes in more than three writes the rest is lost",
        setting("lines", _three_pieces),
        transports="stdio",
    ),
    Fault(
        "carriage-return-refused",
        CHUNKS,
        "a line that ends in CR LF is lost",
        setting("lines", lambda stream: (line for line in stream if not line.endswith(b"\r\n"))),
        transports="stdio",
    ),
    Fault(
        "other-order-lost",
        "jsonrpc/every-request-answered-once",
        "a request that does not begin with jsonrpc is lost",
        setting("lines", lambda stream: (line for line in stream if not _ordered_otherwise(line))),
        transports="stdio",
    ),
    Fault(
        "blanks-in-a-message-lost",
        "jsonrpc/every-request-answered-once",
        "a request with blanks around its colons is lost",
        setting("lines", lambda stream: (line for line in stream if b'" : ' not in line)),
        transports="stdio",
    ),
    Fault(
        "lines-end-at-any-separator",
        "jsonrpc/every-request-answered-once",
        "a message is cut where a text has U+2028 or another line separator",
        setting("lines", _at_any_separator),
        transports="stdio",
    ),
    Fault(
        "empty-line-is-the-end",
        CHUNKS,
        "an empty line is taken for the end of the input",
        setting("lines", _until_empty),
        transports="stdio",
    ),
    Fault(
        "second-message-lost",
        CHUNKS,
        "of two like requests in one write the second is lost",
        setting("lines", _first_of_twins),
        transports="stdio",
    ),
    Fault(
        "interleaved-refused",
        "versioning/interleaved-requests-handled",
        "requests that come while one is served are refused",
        _one_at_a_time,
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "stays-after-input",
        "transport-stdio/exits-on-stdin-close-implied",
        "the process stays when its input is closed, and ignores SIGTERM",
        _stays,
        until="2025-11-25",
        transports="stdio",
    ),
    Fault(
        "stays-after-input-stateless",
        "transport-stdio/exits-on-stdin-close",
        "the process stays when its input is closed, and ignores SIGTERM",
        _stays,
        since="2026-07-28",
        transports="stdio",
    ),
    Fault(
        "cancellation-ignored",
        "transport-stdio/silent-after-cancel cancellation/stops-processing cancellation/no-response-after-cancel"
        " subscriptions/client-cancel-stops",
        "a cancelled request goes on as if nothing had happened",
        _uncancellable(),
        since="2026-07-28",
        transports="stdio",
    ),
)
