"""A server that is correct until so many tools were called, and then turns bad: `turning.py KIND CALLS [PORT]`.

Over stdio, or over HTTP at a port. Only load brings out what it does.
"""

from __future__ import annotations

import os
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hostile import bounds
from hostile.base import Server
from hostile.processes import start_daemon
from hostile.web import Exchange, Web

LINE = b'{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}\n'
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def for_ever(write: Callable[[bytes], object], data: bytes) -> None:
    """Write the same again and again."""
    while True:
        write(data)


def die() -> None:
    """End without a word."""
    os._exit(7)


def close_output() -> None:
    """Say nothing any more, and stay."""
    os.close(1)
    bounds.wait()


def slow_down() -> None:
    """Take a second."""
    time.sleep(1.0)


def on_stdio(server: Server) -> dict[str, Callable[[], object]]:
    """Kind → what is done with each call of a tool before it is answered."""

    def wrong_ids() -> None:
        server.edit = lambda _request, reply: {**reply, "id": f"not-{reply['id']}"}

    def huge() -> None:
        server.edit = lambda _request, reply: {**reply, "result": {**reply["result"], "_meta": {"x": "y" * 30_000_000}}}

    def garbage() -> None:
        server.write(b"\xff\xfe{]\n" * 20)

    return {
        "dies": die,
        "hangs": bounds.wait,
        "closes": close_output,
        "slow": slow_down,
        "wrong-ids": wrong_ids,
        "huge": huge,
        "garbage": garbage,
        "flood": lambda: for_ever(server.write, LINE * 100),
        "line-without-end": lambda: for_ever(server.write, b"x" * 10_000),
        "daemon": start_daemon,
    }


def stream(exchange: Exchange, data: bytes) -> None:
    """Begin a stream of events and write the same to it again and again."""
    exchange.stream()
    for_ever(exchange.raw, data)


def answered(exchange: Exchange, reply: Any) -> None:
    """Answer on a stream that never ends."""
    exchange.stream()
    exchange.event(reply)
    for_ever(exchange.raw, b": still here\n\n" * 100)


OVER_HTTP: dict[str, Callable[[Exchange, Any], object]] = {
    "dies": lambda exchange, reply: die(),
    "hangs": lambda exchange, reply: bounds.wait(),
    "breaks-off": lambda exchange, reply: exchange.connection.shutdown(socket.SHUT_RDWR),
    "garbage": lambda exchange, reply: exchange.raw(b"\x16\x03\x01\x02" * 20),
    "body-without-end": lambda exchange, reply: for_ever(exchange.raw, HEAD + b"\r\n[" + b"0," * 10_000),
    "events-without-end": lambda exchange, reply: stream(exchange, b"data: " + LINE + b"\n"),
    "event-without-end": lambda exchange, reply: stream(exchange, b"data: " + b"x" * 10_000 + b"\n"),
    "comments-without-end": lambda exchange, reply: stream(exchange, b": still here\n\n" * 100),
    "stays-after-the-answer": answered,
    "huge-chunk": lambda exchange, reply: for_ever(
        exchange.raw, HEAD + b"Transfer-Encoding: chunked\r\n\r\n1000000000000000\r\n" + b"x" * 100_000
    ),
    "length-of-terabytes": lambda exchange, reply: for_ever(
        exchange.raw, HEAD + b"Content-Length: 1000000000000000\r\n\r\n" + b"x" * 100_000
    ),
    "huge-header": lambda exchange, reply: for_ever(exchange.raw, HEAD + b"X-Long: " + b"x" * 100_000),
}
"""Kind → what is done instead of the answer to the call of a tool."""


def main(kind: str, calls: int, port: int) -> None:
    """Serve."""
    bounds.keep()
    called = 0

    def is_time() -> bool:
        nonlocal called
        called += 1
        return called > calls

    if not port:
        server = Server()
        bad = on_stdio(server)[kind]
        server.before["tools/call"] = lambda: bad() if is_time() else None
        server.run()
        return
    web = Web()

    def post(exchange: Exchange, request: Any, reply: Any) -> None:
        if request.get("method") == "tools/call" and is_time():
            OVER_HTTP[kind](exchange, reply)
        else:
            exchange.answer(reply)

    web.post = post
    web.serve(port)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) if len(sys.argv) > 3 else 0)
