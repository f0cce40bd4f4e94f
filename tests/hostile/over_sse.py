"""Targets of HTTP+SSE: streams that say nothing of use, lead elsewhere, end, or do not end."""

from __future__ import annotations

import os
import sys
import time
from queue import SimpleQueue

from hostile import bounds
from hostile.registry import add

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message
    from hostile.registry import Play
    from hostile.web import Exchange

SSE: dict[str, Any] = {"transport": "http+sse", "whole": True}
ENDPOINT = b"event: endpoint\ndata: /messages\n\n"
NOTHING = (3,)
LOG = b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}\n\n'


class _Site:
    """A server with one session; `opening` is what its stream begins with, `then` what becomes of replies."""

    def __init__(self, opening: Callable[[Exchange], None], then: Callable[[Exchange, Any], None]) -> None:
        from hostile.base import Server
        from hostile.web import Web

        self.replies: SimpleQueue[bytes] = SimpleQueue()
        self.server = Server()
        self.web = Web()
        self.web.get = self.stream
        self.web.post = self.post
        self.opening, self.then = opening, then

    def stream(self, exchange: Exchange) -> None:
        """A stream: its beginning, then the replies."""
        exchange.stream()
        self.opening(exchange)
        while reply := self.replies.get():
            self.then(exchange, reply)

    def post(self, exchange: Exchange, request: Message, reply: Any) -> None:
        """Take a message."""
        exchange.bare(202)
        if reply is not None:
            self.replies.put(exchange.server_of_this.text(reply).encode())


def _say(data: bytes) -> Callable[[Exchange], None]:
    return lambda exchange: exchange.raw(data)


def _message(exchange: Exchange, reply: bytes) -> None:
    exchange.raw(b"event: message\ndata: " + reply + b"\n\n")


def _without_end(data: bytes, pause: float = 0.0) -> Callable[[Exchange], None]:
    def go_on(exchange: Exchange) -> None:
        written = 0
        while True:
            exchange.raw(data)
            written += len(data)
            bounds.spent(written)
            time.sleep(pause)

    return go_on


def _end(exchange: Exchange) -> None:
    raise ConnectionAbortedError


def _in_turn(*steps: Callable[[Exchange], None]) -> Callable[[Exchange], None]:
    def do(exchange: Exchange) -> None:
        for step in steps:
            step(exchange)

    return do


def _playing(opening: Callable[[Exchange], None], then: Callable[[Exchange, Any], None] = _message) -> Play:
    def play(_server: Any) -> None:
        _Site(opening, then).web.serve(int(sys.argv[2]))

    return play


def _flood(exchange: Exchange, reply: bytes) -> None:
    _message(exchange, reply)
    _without_end(LOG)(exchange)


for _name, _what, _play, _statuses, _says in (
    (
        "other-origin",
        "The endpoint is of another origin.",
        _playing(_say(ENDPOINT.replace(b"/messages", b"http://mcp-conform.invalid/messages"))),
        NOTHING,
        "another origin",
    ),
    ("no-endpoint", "The stream says nothing.", _playing(_say(b": hello\n\n")), (1, 3), "no endpoint event came"),
    (
        "comments-only",
        "The stream begins with comments without end.",
        _playing(_without_end(b": still here\n\n")),
        (1, 3),
        "without an event|no endpoint event",
    ),
    (
        "messages-only",
        "The stream begins with messages without end, and none of them is the endpoint.",
        _playing(_without_end(LOG)),
        (1, 3),
        "",
    ),
    (
        "slow-line",
        "The stream begins with a line that does not end, a byte every half second.",
        _playing(_without_end(b"e", 0.5)),
        (1, 3),
        "no endpoint event",
    ),
    ("ends-at-once", "The stream ends at once.", _playing(_end), (1, 3), "no endpoint event|stream"),
    (
        "ends-after-endpoint",
        "The stream ends after the endpoint.",
        _playing(_in_turn(_say(ENDPOINT), _end)),
        NOTHING,
        "ended the stream|broke off",
    ),
    (
        "endpoint-of-16-mb",
        "The endpoint event has 16 MB.",
        _playing(_say(b"event: endpoint\ndata: /" + b"x" * 16_000_000 + b"\n\n")),
        NOTHING,
        "too long",
    ),
    (
        "endpoint-is-nonsense",
        "The endpoint is no URI.",
        _playing(_say(b"event: endpoint\ndata: \xff\xfe http://[\n\n")),
        (1, 3),
        "not a URI",
    ),
    (
        "endless",
        "After the first response come log messages without end.",
        _playing(_say(ENDPOINT), _flood),
        (0, 1, 3),
        "",
    ),
    (
        "accepts-and-is-deaf",
        "Messages are taken and never answered.",
        _playing(_say(ENDPOINT), lambda _exchange, _reply: None),
        (0, 1, 3),
        "no answer within|nothing comes of them",
    ),
    (
        "dies-at-first-reply",
        "The first response is the end of the process.",
        _playing(_say(ENDPOINT), lambda _exchange, _reply: os._exit(1)),
        (1, 3),
        "exited with code 1",
    ),
):
    add(f"sse-{_name}", _what, _play, statuses=_statuses, says=_says, **SSE)
