"""MCP servers over HTTP that send what no client can hold or wait for: `hostile_http.py PORT MODE`.

initialize and notifications are answered well, other requests by the mode, so that a session comes about.
"""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from typing import Any

MEGABYTE = b"x" * 1_000_000
HEAD = b"HTTP/1.1 200 OK\r\n"
KIND = b"Content-Type: application/json\r\n"
EVENTS = HEAD + b"Content-Type: text/event-stream\r\n\r\n"


@cache
def bomb(mode: str) -> bytes:
    """A small body that unpacks to a large one; made before anybody connects, since it takes seconds."""
    if mode == "gzip-twice":
        return gzip.compress(gzip.compress(MEGABYTE) * 1000)
    return gzip.compress((b"data: " if mode == "gzip-event-bomb" else b"") + 200 * MEGABYTE)


def whole(message: Any, extra: bytes = b"") -> bytes:
    """A JSON answer."""
    body = json.dumps(message).encode()
    return HEAD + KIND + extra + b"Content-Length: %d\r\n\r\n" % len(body) + body


def result(message: dict[str, Any]) -> bytes:
    """The response that is due."""
    return json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": {}}).encode()


def big_body(message: dict[str, Any]) -> Iterator[bytes]:
    """One JSON body of 200 MB."""
    yield HEAD + KIND + b'Content-Length: 200000002\r\n\r\n"'
    yield from [MEGABYTE] * 200
    yield b'"'


def endless_body(message: dict[str, Any]) -> Iterator[bytes]:
    """A body without an end."""
    yield HEAD + KIND + b'\r\n"'
    while True:
        yield MEGABYTE


def endless_event(message: dict[str, Any]) -> Iterator[bytes]:
    """One event whose data has no end."""
    yield EVENTS + b"data: "
    while True:
        yield MEGABYTE


def endless_lines(message: dict[str, Any]) -> Iterator[bytes]:
    """One event of data lines without end."""
    yield EVENTS
    while True:
        yield b"data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx\n" * 20_000


def endless_events(message: dict[str, Any]) -> Iterator[bytes]:
    """Notifications without end."""
    yield EVENTS
    told = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    while True:
        yield (b"data: " + json.dumps(told).encode() + b"\n\n") * 1000


def endless_comments(message: dict[str, Any]) -> Iterator[bytes]:
    """Keep-alives without end."""
    yield EVENTS
    while True:
        yield b": ping\n\n" * 10_000


def slow_comments(message: dict[str, Any]) -> Iterator[bytes]:
    """A keep-alive now and then, for ever."""
    yield EVENTS
    while True:
        yield b": ping\n\n"
        time.sleep(0.5)


def drip(message: dict[str, Any]) -> Iterator[bytes]:
    """A byte of the body now and then, for ever."""
    yield HEAD + KIND + b"Content-Length: 1000000\r\n\r\n"
    while True:
        yield b" "
        time.sleep(0.5)


def drip_head(message: dict[str, Any]) -> Iterator[bytes]:
    """A byte of the head now and then, for ever."""
    yield HEAD + b"X-Slow: "
    while True:
        yield b"x"
        time.sleep(0.5)


def big_header(message: dict[str, Any]) -> Iterator[bytes]:
    """A header of 10 MB."""
    yield HEAD + b"X-Big: " + 10 * MEGABYTE + b"\r\nContent-Length: 0\r\n\r\n"


def many_headers(message: dict[str, Any]) -> Iterator[bytes]:
    """100 000 headers."""
    yield HEAD + b"".join(b"X-%d: x\r\n" % n for n in range(100_000)) + b"\r\n"


def fat_heads(message: dict[str, Any]) -> Iterator[bytes]:
    """A good answer with 90 kB of headers, each time."""
    yield whole({"jsonrpc": "2.0", "id": message["id"], "result": {}}, b"X-Fat: " + b"x" * 90_000 + b"\r\n")


def endless_head(message: dict[str, Any]) -> Iterator[bytes]:
    """Headers without end."""
    yield HEAD
    while True:
        yield b"X-Header: xxxxxxxxxxxxxxxxxxxxxx\r\n" * 1000


def bad_chunks(message: dict[str, Any]) -> Iterator[bytes]:
    """What is no chunk where chunks are announced."""
    yield HEAD + KIND + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n" + b"\x00\xff" * 1000


def huge_chunk(message: dict[str, Any]) -> Iterator[bytes]:
    """A chunk of sixteen exabytes."""
    yield HEAD + KIND + b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n"
    while True:
        yield MEGABYTE


def gzip_bomb(message: dict[str, Any]) -> Iterator[bytes]:
    """200 MB in 200 kB."""
    yield from _packed(bomb("gzip-bomb"), b"gzip")


def gzip_twice(message: dict[str, Any]) -> Iterator[bytes]:
    """Two gzip encodings around 1 GB."""
    yield from _packed(bomb("gzip-twice"), b"gzip, gzip")


def gzip_event_bomb(message: dict[str, Any]) -> Iterator[bytes]:
    """An event of 200 MB in 200 kB."""
    yield HEAD + b"Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n" + bomb("gzip-event-bomb")


def gzip_honest(message: dict[str, Any]) -> Iterator[bytes]:
    """What is due, compressed though nobody asked for that."""
    yield from _packed(gzip.compress(result(message)), b"gzip")


def no_gzip(message: dict[str, Any]) -> Iterator[bytes]:
    """A body that is not compressed, and says so."""
    yield from _packed(result(message), b"gzip")


def unknown_coding(message: dict[str, Any]) -> Iterator[bytes]:
    """A coding that nobody knows."""
    yield from _packed(result(message), b"br")


def _packed(data: bytes, coding: bytes) -> Iterator[bytes]:
    yield HEAD + KIND + b"Content-Encoding: %s\r\nContent-Length: %d\r\n\r\n" % (coding, len(data)) + data


def informational(message: dict[str, Any]) -> Iterator[bytes]:
    """Interim answers for ever."""
    while True:
        yield b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 100


def http_09(message: dict[str, Any]) -> Iterator[bytes]:
    """A body without a head."""
    yield result(message) + b"\r\n"


def garbage(message: dict[str, Any]) -> Iterator[bytes]:
    """Bytes that are nothing, without end."""
    while True:
        yield bytes(range(256)) * 100


def silent(message: dict[str, Any]) -> Iterator[bytes]:
    """Nothing, for ever."""
    time.sleep(600)
    yield b""


def closing(message: dict[str, Any]) -> Iterator[bytes]:
    """Nothing, and the connection is closed."""
    yield from ()


def short_body(message: dict[str, Any]) -> Iterator[bytes]:
    """Less than was announced."""
    yield HEAD + KIND + b"Content-Length: 1000\r\n\r\n" + result(message)


def odd_length(message: dict[str, Any]) -> Iterator[bytes]:
    """A length that is none."""
    yield HEAD + KIND + b"Content-Length: -5\r\n\r\n" + result(message)


def two_lengths(message: dict[str, Any]) -> Iterator[bytes]:
    """Two lengths that differ."""
    yield HEAD + KIND + b"Content-Length: 5\r\nContent-Length: 500\r\n\r\n" + result(message)


def odd_status(message: dict[str, Any]) -> Iterator[bytes]:
    """A status that does not exist."""
    yield b"HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n"


def switching(message: dict[str, Any]) -> Iterator[bytes]:
    """Another protocol that nobody asked for."""
    yield b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
    time.sleep(600)


MODES: dict[str, Callable[[dict[str, Any]], Iterator[bytes]]] = {
    name.replace("_", "-"): function
    for name, function in list(globals().items())
    if callable(function) and getattr(function, "__annotations__", {}).get("return") == "Iterator[bytes]"
}
MODES.pop("-packed")


def serve(connection: socket.socket, mode: str) -> None:
    """Answer what comes over a connection; after the mode has had its say it is closed."""
    with suppress(OSError), connection, connection.makefile("rb") as stream:
        while line := stream.readline():
            length = 0
            method = line.split(b" ")[0]
            while (line := stream.readline()).strip():
                if line.lower().startswith(b"content-length:"):
                    length = int(line[15:])
            message = json.loads(stream.read(length) or b"{}")
            if method != b"POST" or "id" not in message:
                connection.sendall(b"HTTP/1.1 %s\r\nContent-Length: 0\r\n\r\n" % (b"202 OK" if message else b"405 No"))
            elif message.get("method") == "initialize":
                info = {"serverInfo": {"name": mode, "version": "1"}, "capabilities": {}}
                response = {"protocolVersion": message["params"]["protocolVersion"], **info}
                connection.sendall(whole({"jsonrpc": "2.0", "id": message["id"], "result": response}))
            elif message.get("method") == "server/discover":
                error = {"code": -32601, "message": "Method not found"}
                connection.sendall(whole({"jsonrpc": "2.0", "id": message["id"], "error": error}))
            else:
                for part in MODES[mode](message):
                    connection.sendall(part)
                if mode not in ("fat-heads", "gzip-honest"):
                    return


def main() -> None:
    """Listen, and treat each connection as the mode says; two modes have done with them sooner."""
    port, mode = int(sys.argv[1]), sys.argv[2]
    if mode in ("gzip-bomb", "gzip-twice", "gzip-event-bomb"):
        bomb(mode)
    listener = socket.create_server(("127.0.0.1", port))
    if mode == "never-accept":
        time.sleep(600)
    while True:
        connection = listener.accept()[0]
        if mode == "close-at-accept":
            connection.close()
        else:
            threading.Thread(target=serve, args=(connection, mode), daemon=True).start()


if __name__ == "__main__":
    main()
