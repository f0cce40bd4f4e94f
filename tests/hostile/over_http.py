"""Targets at a URL: streams without end, HTTP that is none, sessions that go away."""

from __future__ import annotations

import sys
import time

from hostile import bounds
from hostile.processes import LEFT, start_daemon
from hostile.registry import TARGETS, add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message
    from hostile.registry import Play
    from hostile.web import Exchange, Web

    Post = Callable[[Exchange, Message, Any], None]

HTTP: dict[str, Any] = {"transport": "http", "whole": True}


def _web() -> Web:
    from hostile.web import Web

    return Web()


def _serve(web: Web) -> None:
    web.serve(int(sys.argv[2]))


def _posting(post: Post, *methods: str) -> Play:
    """Answer requests of these methods, or all, as `post` does, the others correctly."""

    def play(_server: Any) -> None:
        def chosen(exchange: Exchange, request: Message, reply: Any) -> None:
            if reply is not None and (not methods or request.get("method") in methods):
                post(exchange, request, reply)
            else:
                exchange.answer(reply)

        web = _web()
        web.post = chosen
        _serve(web)

    return play


def _without_end(exchange: Exchange, data: bytes, pause: float = 0.0) -> None:
    written = 0
    while True:
        exchange.raw(data)
        written += len(data)
        bounds.spent(written)
        time.sleep(pause)


def _body(data: bytes, pause: float = 0.0) -> Post:
    def post(exchange: Exchange, _request: Message, _reply: Any) -> None:
        exchange.stream("application/json")
        _without_end(exchange, data, pause)

    return post


def _events(data: bytes, pause: float = 0.0) -> Post:
    def post(exchange: Exchange, _request: Message, _reply: Any) -> None:
        exchange.stream()
        _without_end(exchange, data, pause)

    return post


LOG = b'data: {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}\n\n'
PING = b'data: {"jsonrpc": "2.0", "id": "p", "method": "ping"}\n\n'
for _name, _what, _post in (
    ("body", "a body of JSON", _body(b"[" + b"0," * 10_000)),
    ("blank-body", "a body of blanks", _body(b" " * 10_000)),
    ("events", "events with log messages", _events(LOG)),
    ("pings", "events with pings", _events(PING)),
    ("comments", "comments", _events(b": still here\n\n")),
    ("slow-comments", "a comment every half second", _events(b": still here\n\n", 0.5)),
    ("event", "one event", _events(b"data: " + b"x" * 10_000 + b"\n")),
    ("event-line", "one line of an event", _events(b"x" * 10_000)),
    ("event-ids", "ids of events", _events(b"id: " + b"9" * 1000 + b"\n")),
    (
        "slow-body",
        "a byte of the body every half second",
        _body(b" ", pause=0.5),
    ),
):
    add(
        f"http-{_name}-without-end",
        f"Answers tools/list with {_what} without end.",
        _posting(_post, "tools/list"),
        **HTTP,
    )
add(
    "http-body-without-end-at-once",
    "Answers initialize with a body without end.",
    _posting(_body(b" " * 10_000)),
    statuses=(1, 3),
    **HTTP,
)
add(
    "http-events-without-end-at-once",
    "Answers initialize with log messages without end.",
    _posting(_events(LOG)),
    statuses=(1, 3),
    **HTTP,
)


def _stay_silent(exchange: Exchange) -> None:
    exchange.stream()
    bounds.wait()


def _head(lines: bytes, body: bytes = b"") -> Post:
    """Write the head of the answer as it is here."""

    def post(exchange: Exchange, _request: Message, _reply: Any) -> None:
        exchange.close_connection = True
        exchange.raw(lines + b"\r\n\r\n" + body)

    return post


def _bytes(data: bytes) -> Post:
    """Write bytes and close the connection."""

    def post(exchange: Exchange, _request: Message, _reply: Any) -> None:
        exchange.close_connection = True
        exchange.raw(data)

    return post


_OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
for _name, _what, _post in (
    ("huge-header", "a header of 1 MB", _head(_OK + b"X-Long: " + b"x" * 1_000_000, b"{}")),
    ("many-headers", "10 000 headers", _head(_OK + b"X-Many: x\r\n" * 10_000 + b"X-Last: x", b"{}")),
    ("length-too-long", "a Content-Length above what comes", _head(_OK + b"Content-Length: 1000000", b"{}")),
    ("length-of-terabytes", "a Content-Length of 10^15", _head(_OK + b"Content-Length: 1000000000000000", b"{}")),
    ("length-too-short", "a Content-Length below what comes", _head(_OK + b"Content-Length: 1", b'{"jsonrpc": "2.0"}')),
    ("length-of-words", "a Content-Length that is no number", _head(_OK + b"Content-Length: many", b"{}")),
    ("length-below-zero", "a Content-Length below 0", _head(_OK + b"Content-Length: -5", b"{}")),
    (
        "bad-chunks",
        "chunks whose sizes are no numbers",
        _head(_OK + b"Transfer-Encoding: chunked", b"zz\r\n{}\r\n0\r\n\r\n"),
    ),
    ("huge-chunk", "a chunk of 2^60 bytes", _head(_OK + b"Transfer-Encoding: chunked", b"1000000000000000\r\n{}")),
    ("unknown-encoding", "an encoding that does not exist", _head(_OK + b"Content-Encoding: zip42", b"{}")),
    ("bad-gzip", "what says that it is gzip and is not", _head(_OK + b"Content-Encoding: gzip", b"{}")),
    ("garbage", "bytes that are no HTTP", _bytes(b"\x16\x03\x01\x02" * 20)),
    ("ssh", "the greeting of SSH", _bytes(b"SSH-2.0-OpenSSH_9.6\r\n")),
    ("status-999", "the status 999", _head(b"HTTP/1.1 999 Odd\r\nContent-Length: 0")),
    ("status-100", "the status 100 and nothing else", _head(b"HTTP/1.1 100 Continue")),
    ("status-204", "the status 204", _head(b"HTTP/1.1 204 No Content")),
    ("empty-body", "200 and an empty body", _head(_OK + b"Content-Length: 0")),
    ("nothing", "nothing, and closes the connection", _bytes(b"")),
    ("redirect-to-itself", "a redirect to itself", _head(b"HTTP/1.1 307 No\r\nLocation: /mcp\r\nContent-Length: 0")),
    (
        "redirect-to-file",
        "a redirect to file:///etc/hosts",
        _head(b"HTTP/1.1 302 No\r\nLocation: file:///etc/hosts\r\nContent-Length: 0"),
    ),
    (
        "unauthorized",
        "401 with a link to metadata",
        _head(
            b'HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer resource_metadata="http://127.0.0.1:1/x"\r\nContent-Length: 0'
        ),
    ),
    (
        "too-many-requests",
        "429 and Retry-After: 86400",
        _head(b"HTTP/1.1 429 No\r\nRetry-After: 86400\r\nContent-Length: 0"),
    ),
    (
        "error-page",
        "500 and a page of HTML of 1 MB",
        _head(b"HTTP/1.1 500 No\r\nContent-Type: text/html", b"<p>" * 350_000),
    ),
):
    add(f"http-{_name}", f"Answers initialize with {_what}.", _posting(_post), statuses=(1, 3), **HTTP)
    add(
        f"http-{_name}-later",
        f"Answers tools/list with {_what}.",
        _posting(_post, "tools/list"),
        statuses=(0, 1, 3),
        **HTTP,
    )


@target(**HTTP)
def http_gzip_bomb(_server: Any) -> None:
    """Answers tools/list with 1 MB of gzip that holds 1 GB of blanks."""
    import zlib

    blanks, packer = b" " * 1_000_000, zlib.compressobj(9, zlib.DEFLATED, 31)
    first = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
    again = packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)
    packed = first + again * 1000

    def post(exchange: Exchange, _request: Message, _reply: Any) -> None:
        exchange.whole(200, packed, Content_Encoding="gzip")

    _posting(post, "tools/list")(_server)


@target(**HTTP)
def http_event_of_100_mb(_server: Any) -> None:
    """Answers tools/list with one event of 100 MB."""

    def post(exchange: Exchange, request: Message, reply: Any) -> None:
        exchange.stream()
        exchange.raw(b'data: {"jsonrpc": "2.0", "id": %d, "result": {"x": "' % request["id"])
        for _ in range(100):
            exchange.raw(b"y" * 1_000_000)
        exchange.raw(b'"}}\n\n')

    _posting(post, "tools/list")(_server)


@target(**HTTP)
def http_never_answers(_server: Any) -> None:
    """Takes tools/list and never answers it."""
    _posting(lambda exchange, request, reply: bounds.wait(), "tools/list")(_server)


@target(**{**HTTP, "statuses": (3, 1), "says": "(?i)no answer|not answer|answers neither"})
def http_never_answers_at_all(_server: Any) -> None:
    """Takes requests and never answers any."""
    _posting(lambda exchange, request, reply: bounds.wait())(_server)


@target(**HTTP)
def http_stream_without_answer(_server: Any) -> None:
    """Opens a stream for tools/call and says nothing on it."""
    _posting(lambda exchange, request, reply: _stay_silent(exchange), "tools/call")(_server)


@target(**HTTP)
def http_stream_that_ends_early(_server: Any) -> None:
    """Ends the stream of tools/call before the answer."""

    def post(exchange: Exchange, _request: Message, _reply: Any) -> None:
        exchange.stream()
        exchange.raw(b": bye\n\n")
        exchange.close_connection = True

    _posting(post, "tools/call")(_server)


@target(**HTTP)
def http_get_without_end(_server: Any) -> None:
    """Floods the stream that GET opens with log messages."""
    web = _web()
    web.get = lambda exchange: _events(LOG)(exchange, {}, None)
    _serve(web)


@target(**{**HTTP, "statuses": (0, 1)})
def http_get_says_nothing(_server: Any) -> None:
    """Opens a stream for GET and says nothing on it, as it may."""
    web = _web()
    web.get = _stay_silent
    _serve(web)


def _dies(at: int) -> Play:
    def play(_server: Any) -> None:
        import os

        web = _web()
        web.post = lambda exchange, request, reply: exchange.answer(reply) if web.posts < at else os._exit(9)
        _serve(web)

    return play


for _at in (1, 5, 20):
    add(f"http-dies-at-post-{_at}", f"Ends at POST {_at}, without an answer.", _dies(_at), statuses=(1, 3), **HTTP)


@target(says="wrong ends the server", **HTTP)
def http_ends_in_order_after_a_wrong_type(_server: Any) -> None:
    """Refuses a body of another type, and at the next message closes its port, breaks off and ends a second later."""
    import os
    import threading

    web = _web()
    refused: list[str] = []

    def post(exchange: Exchange, _request: Message, reply: Any) -> None:
        if refused:
            exchange.server.server_close()
            threading.Timer(1, os._exit, (9,)).start()
            exchange.close_connection = True
        elif exchange.headers.get_content_type() == "application/json":
            exchange.answer(reply)
        else:
            refused.append(exchange.headers.get_content_type())
            exchange.bare(415)

    web.post = post
    _serve(web)


def _sessions(name: str, lasts: int, delete: Callable[[Exchange], None] | None = None) -> Play:
    """Have sessions of a name that are forgotten after so many requests."""

    def play(_server: Any) -> None:
        left: dict[str, int] = {}

        def post(exchange: Exchange, request: Message, reply: Any) -> None:
            given = exchange.headers.get("Mcp-Session-Id", "")
            if request.get("method") == "initialize" and reply is not None:
                own = name.replace("N", str(len(left)))
                left[own] = lasts
                exchange.whole(200, exchange.server_of_this.text(reply).encode(), Mcp_Session_Id=own)
                return
            left[given] = left.get(given, 0) - 1
            if left[given] < 0:
                lost = b'{"jsonrpc": "2.0", "id": null, "error": {"code": -32001, "message": "Session not found"}}'
                exchange.whole(404, lost)
                return
            exchange.answer(reply)

        web = _web()
        web.post = post
        web.delete = delete or web.delete
        _serve(web)

    return play


add("http-session-lost-at-once", "Forgets each session at once (404).", _sessions("s-N", 0), **HTTP)
add("http-session-lost-after-5", "Forgets each session after five requests (404).", _sessions("s-N", 5), **HTTP)
add("http-session-id-of-20-kb", "Gives sessions ids of 20 kB.", _sessions("s-N" + "x" * 20_000, 10**6), **HTTP)
add(
    "http-session-id-odd",
    "Gives sessions ids with letters that no header may have.",
    _sessions("s-N-\xe4\x7f", 10**6),
    **HTTP,
)
add(
    "http-session-shared", "Gives all sessions one id, and forgets it after 50 requests.", _sessions("same", 50), **HTTP
)


@target(**{**HTTP, "statuses": (0,)})
def http_delete_hangs(server: Any) -> None:
    """Has sessions, and never answers a DELETE."""
    _sessions("s-N", 10**6, delete=lambda _exchange: bounds.wait())(server)


@target(**{**HTTP, "statuses": (1,), "says": "a notification is not answered"})
def http_notifications_hang(_server: Any) -> None:
    """Never answers the POST of a notification."""
    web = _web()
    web.post = lambda exchange, _request, reply: bounds.wait() if reply is None else exchange.answer(reply)
    _serve(web)


@target(**{**HTTP, "statuses": (0,)})
def http_one_connection_at_a_time(_server: Any) -> None:
    """Takes the next connection when the one before is closed, and keeps each open."""
    _web().serve(int(sys.argv[2]), one_at_a_time=True)


def _over_http(name: str) -> Play:
    """A target over stdio, over HTTP."""

    def play(_server: Any) -> None:
        from hostile.web import Web

        Web(TARGETS[name].play).serve(int(sys.argv[2]))

    return play


for _name in (
    "tool-result-of-200-mb",
    "pages-of-1-mb-for-ever",
    "5000-digits-in-sum",
    "nan-in-meta",
    "100000-levels-in-ping",
    "slow-pattern-in-output",
    "doubles-40-times-arrays",
    "lone-surrogate-in-tool",
    "ids-null",
    "errors-with-ids-none",
    "wrong-at-random-always",
    "version-1.0",
):
    _plain = TARGETS[_name]
    add(
        f"http-{_name}",
        f"{_plain.what[:-1]}, over HTTP.",
        _over_http(_name),
        statuses=_plain.statuses,
        says=_plain.says,
        **HTTP,
    )


@target(**{**HTTP, "statuses": (3,), "says": "(?i)refused|listen(s|ed)? |could not be reached"})
def http_never_listens(_server: Any) -> None:
    """Runs and listens nowhere."""
    bounds.wait()


@target(**HTTP)
def http_listens_after_5_s(_server: Any) -> None:
    """Listens after five seconds."""
    time.sleep(5)
    _serve(_web())


@target(**{**HTTP, "statuses": (3, 1)})
def http_accepts_and_is_deaf(_server: Any) -> None:
    """Accepts connections and never reads."""
    import socket

    listening = socket.create_server(("127.0.0.1", int(sys.argv[2])))
    kept = []
    while True:
        kept.append(listening.accept())


@target(**{**HTTP, "statuses": (0, 1)})
def http_writes_to_stdout(_server: Any) -> None:
    """Serves, and writes to its own stdout without end."""
    import threading

    def shout() -> None:
        written = 0
        while True:
            written += sys.stdout.write("a log line of a web server\n" * 1000)
            bounds.spent(written)

    threading.Thread(target=shout, daemon=True).start()
    _serve(_web())


@target(**{**HTTP, "statuses": (0, 1), "says": LEFT})
def http_daemon(_server: Any) -> None:
    """Serves, and leaves a daemon behind."""
    start_daemon()
    _serve(_web())


@target(**{**HTTP, "statuses": (0, 1), "says": LEFT})
def http_daemon_at_sigterm(_server: Any) -> None:
    """Serves, and starts a daemon when it gets a SIGTERM."""
    import os
    import signal

    def hand_over(_number: int, _frame: object) -> None:
        start_daemon()
        os._exit(0)

    signal.signal(signal.SIGTERM, hand_over)
    _serve(_web())


@target(**HTTP)
def http_serves_from_a_daemon(server: Any) -> None:
    """Goes into the background and serves there."""
    TARGETS["serves-from-a-daemon"].play(server)
    server.moment("start")
    _serve(_web())


vary(
    "over_http",
    """
    http-body-without-end http-events-without-end http-slow-comments-without-end http-body-without-end-at-once
    http-event-of-100-mb
    http-huge-header http-garbage http-redirect-to-itself http-nothing-later http-gzip-bomb http-never-answers
    http-stream-without-answer http-get-without-end http-dies-at-post-5 http-session-lost-after-5
    http-ends-in-order-after-a-wrong-type
    http-session-id-odd http-pages-of-1-mb-for-ever http-slow-pattern-in-output http-accepts-and-is-deaf http-daemon
    """,
)
