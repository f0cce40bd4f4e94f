"""Targets at a URL that answer, but slowly, in pieces, with too much around it, or each time in another way."""

from __future__ import annotations

import threading
import time

from hostile import bounds
from hostile.over_http import HTTP, _posting, _serve, _web
from hostile.registry import TARGETS, add, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hostile.base import Message
    from hostile.web import Exchange

OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


def _text(exchange: Exchange, reply: Any) -> bytes:
    return exchange.server_of_this.text(reply).encode()


def _slow_headers(exchange: Exchange, _request: Message, reply: Any) -> None:
    body = _text(exchange, reply)
    for line in (*OK.splitlines(keepends=True), b"Content-Length: %d\r\n\r\n" % len(body)):
        exchange.raw(line)
        time.sleep(0.3)
    exchange.raw(body)


def _endless_headers(exchange: Exchange, _request: Message, _reply: Any) -> None:
    exchange.raw(OK)
    written = 0
    while True:
        exchange.raw(b"X-More: x\r\n" * 1000)
        written += 11_000
        bounds.spent(written)


def _slow_endless_headers(exchange: Exchange, _request: Message, _reply: Any) -> None:
    exchange.raw(OK)
    while True:
        exchange.raw(b"X-More: x\r\n")
        time.sleep(0.3)


def _cookies(exchange: Exchange, _request: Message, reply: Any) -> None:
    exchange.close_connection = True
    body = _text(exchange, reply)
    cookies = b"".join(b"Set-Cookie: c%d=%s\r\n" % (n, b"x" * 100) for n in range(90))
    exchange.raw(OK + cookies + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def _bytes_as_chunks(exchange: Exchange, _request: Message, reply: Any) -> None:
    exchange.raw(OK + b"Transfer-Encoding: chunked\r\n\r\n")
    for byte in _text(exchange, reply):
        exchange.raw(b"1;extension=%s\r\n%c\r\n" % (b"x" * 50, byte))
    exchange.raw(b"0\r\nX-Trailer: x\r\n\r\n")


def _reset(exchange: Exchange, _request: Message, reply: Any) -> None:
    import socket
    import struct

    body = _text(exchange, reply)
    exchange.raw(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body[: len(body) // 2])
    exchange.close_connection = True
    exchange.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    exchange.connection.close()
    raise SystemExit


def _redirects(exchange: Exchange, _request: Message, _reply: Any) -> None:
    number = exchange.endpoint.posts
    exchange.raw(b"HTTP/1.1 308 On\r\nLocation: /mcp?n=%d\r\nContent-Length: 0\r\n\r\n" % number)


def _answers_after_the_events(exchange: Exchange, _request: Message, reply: Any) -> None:
    exchange.stream()
    for _ in range(5000):
        exchange.raw(b": still here\n\n")
    exchange.event(reply)
    exchange.close_connection = True


def _stays_open(exchange: Exchange, _request: Message, reply: Any) -> None:
    threading.stack_size(256 * 1024)  # hundreds of threads
    exchange.stream()
    exchange.event(reply)
    while True:
        exchange.raw(b": still here\n\n")  # which ends this once the connection is gone
        time.sleep(0.5)


def _every_second_fails(exchange: Exchange, _request: Message, reply: Any) -> None:
    if exchange.endpoint.posts % 2 and reply is not None:
        exchange.whole(500, b"oops", "text/plain")
    else:
        exchange.answer(reply)


def _a_new_session_each_time(exchange: Exchange, _request: Message, reply: Any) -> None:
    exchange.whole(200, _text(exchange, reply), Mcp_Session_Id=f"session-{exchange.endpoint.posts}")


def _continues(exchange: Exchange, _request: Message, reply: Any) -> None:
    exchange.raw(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" * 2000)
    exchange.answer(reply)


LATER = ("tools/list", "tools/call", "ping")
for _name, _what, _post, _methods in (
    ("slow-headers-each-time", "Takes 0.3 s for each line of the head of an answer.", _slow_headers, ()),
    ("endless-headers", "Answers tools/list with headers without end.", _endless_headers, ("tools/list",)),
    ("endless-headers-at-once", "Answers initialize with headers without end.", _endless_headers, ("initialize",)),
    ("slow-endless-headers", "Answers lists and calls with a header each 0.3 s.", _slow_endless_headers, LATER),
    ("ninety-cookies", "Sets 90 cookies with each answer.", _cookies, ()),
    ("a-chunk-for-each-byte", "Sends each byte as a chunk, with an extension.", _bytes_as_chunks, ()),
    ("reset-in-the-middle", "Resets the connection in the middle of answers to calls and lists.", _reset, LATER),
    ("reset-in-each-answer", "Resets the connection in the middle of every answer.", _reset, ()),
    ("redirects-without-end", "Redirects tools/list to another URL each time.", _redirects, ("tools/list",)),
    ("five-thousand-comments-first", "Sends 5000 comments before each answer.", _answers_after_the_events, ()),
    ("streams-stay-open", "Answers in a stream, and never ends it.", _stays_open, ()),
    ("every-second-fails", "Fails with 500 at every second request.", _every_second_fails, ()),
    ("another-session-each-time", "Names another session with each answer.", _a_new_session_each_time, ()),
    ("two-thousand-hints", "Sends 2000 interim responses (103) before each answer.", _continues, LATER),
):
    add(f"http-{_name}", _what, _posting(_post, *_methods), **HTTP)
TARGETS["http-streams-stay-open"].expecting(statuses=(0,))  # which is a warning


def _many_streams(_server: Any) -> None:
    web = _web()

    def get(exchange: Exchange) -> None:
        exchange.stream()
        while True:
            exchange.raw(b"id: 1\nretry: 0\n\n")
            time.sleep(0.01)

    web.get = get
    _serve(web)


def _get_ends_at_once(_server: Any) -> None:
    web = _web()

    def get(exchange: Exchange) -> None:
        exchange.stream()
        exchange.raw(b"id: 1\nretry: 0\ndata:\n\n")
        exchange.close_connection = True

    web.get = get
    _serve(web)


add("http-get-with-ids-without-end", "Sends ids and retry: 0 without end on GET.", _many_streams, **HTTP)
add("http-get-asks-to-come-again", "Ends each GET at once and asks to come again at once.", _get_ends_at_once, **HTTP)

vary("burdens_over_http", "http-endless-headers http-streams-stay-open http-every-second-fails")
