"""Targets of WebSocket that do not come to speak: upgrades that fail, connections that lead nowhere."""

from __future__ import annotations

import time

from hostile import bounds
from hostile.processes import LEFT, start_daemon
from hostile.registry import TARGETS, add, target, vary
from hostile.websocket_frames import (
    CLOSE,
    CONTINUATION,
    FRAME_OF_LOG,
    PING,
    TEXT,
    WEBSOCKET,
    answering,
    make_frame,
    without_end,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.registry import Play
    from hostile.websocket import Connection, Site

    Say = Callable[[Connection, bytes], object]

OPENED = "(?i)could not be opened"


def _site() -> Site:
    from hostile.websocket import Site

    return Site()


# -- the upgrade


def _opening(opening: Callable[[Connection], object]) -> Play:
    def play(_server: Any) -> None:
        site = _site()
        site.opening = opening
        site.serve()

    return play


def _status(line: str, *headers: str, body: bytes = b"") -> Play:
    def opening(connection: Connection) -> None:
        connection.status(line, *headers, body=body)
        connection.gone()

    return _opening(opening)


def _saying(data: bytes) -> Play:
    def opening(connection: Connection) -> None:
        connection.raw(data)
        connection.gone()

    return _opening(opening)


def _trickle(data: bytes, pause: float = 0.5, after: bytes = b"") -> Callable[[Connection], None]:
    """Write `after`, and then the same bytes without end."""

    def opening(connection: Connection) -> None:
        connection.raw(after)
        while True:
            connection.raw(data)
            time.sleep(pause)

    return opening


def _agreeing(protocol: str, *headers: str) -> Play:
    return _opening(lambda connection: connection.upgrade(*headers, protocol=protocol))


_HEAD = b"HTTP/1.1 101 Switching Protocols\r\n"
for _name, _what, _play, _says in (
    ("200", "a web page", _status("200 OK", "Content-Type: text/html", body=b"<html>Hello</html>"), "HTTP 200"),
    ("401", "401", _status("401 Unauthorized", "WWW-Authenticate: Bearer"), "HTTP 401"),
    ("404", "404", _status("404 Not Found"), "HTTP 404"),
    ("426", "426", _status("426 Upgrade Required", "Upgrade: h2c"), "HTTP 426"),
    ("500-of-2-mb", "500 and 2 MB of HTML", _status("500 No", body=b"<p>" * 700_000), "too large|HTTP 500"),
    ("redirect-to-itself", "a redirect to itself", _status("307 No", "Location: /"), "redirects to"),
    (
        "redirect-elsewhere",
        "a redirect to another host",
        _status("302 No", "Location: ws://mcp-conform.invalid/"),
        "redirects to .*: not followed",
    ),
    ("redirect-to-file", "a redirect to a file", _status("302 No", "Location: file:///etc/hosts"), "redirects to"),
    ("wrong-accept", "101 without what proves that it speaks WebSocket", _saying(_HEAD + b"\r\n"), OPENED),
    ("garbage", "bytes that are no HTTP", _saying(b"\x16\x03\x01\x02" * 20), OPENED),
    ("nothing", "nothing, and closes the connection", _opening(lambda connection: connection.gone()), OPENED),
    ("reset", "nothing, and resets the connection", _opening(lambda connection: connection.gone(True)), OPENED),
    ("dies", "the end of the process", _opening(lambda connection: _die()), "exited with code 3"),
    ("silence", "nothing", _opening(lambda connection: bounds.wait()), OPENED),
    ("a-header-for-ever", "a header that does not end", _opening(_trickle(b"x" * 8000, 0, _HEAD + b"X: ")), OPENED),
    ("headers-for-ever", "headers without end", _opening(_trickle(b"X-Many: x\r\n" * 100, 0, _HEAD)), OPENED),
    ("slow-headers", "a byte of a header every half second", _opening(_trickle(b"x", 0.5, _HEAD + b"X: ")), OPENED),
):
    add(
        f"websocket-upgrade-{_name}",
        f"Answers the request for an upgrade with {_what}.",
        _play,
        statuses=(1, 3),
        says=_says,
        **WEBSOCKET,
    )


def _die() -> None:
    import os

    os._exit(3)


for _name, _what, _protocol, _headers, _statuses in (
    ("no-subprotocol", "Names no subprotocol.", "", (), (0, 1)),
    ("other-subprotocol", "Names another subprotocol than mcp.", "graphql-ws", (), (1, 3)),
    ("two-subprotocols", "Names two subprotocols.", "mcp", ("Sec-WebSocket-Protocol: mcp",), (1, 3)),
    (
        "unasked-compression",
        "Agrees to a compression that nobody asked for.",
        "mcp",
        ("Sec-WebSocket-Extensions: permessage-deflate",),
        (1, 3),
    ),
):
    add(
        f"websocket-{_name}",
        _what,
        _agreeing(_protocol, *_headers),
        statuses=_statuses,
        says="" if 0 in _statuses else OPENED,
        **WEBSOCKET,
    )


# -- connections


@target(**{**WEBSOCKET, "statuses": (0, 1, 3)})
def websocket_closes_after_every_answer(_server: Any) -> None:
    """Closes the connection, as it may, after every answer."""

    def say(connection: Connection, reply: bytes) -> None:
        connection.raw(make_frame(TEXT, reply) + make_frame(CLOSE, (1000).to_bytes(2, "big")))
        connection.gone()

    answering(say)(_server)


@target(**{**WEBSOCKET, "statuses": (0, 1)})
def websocket_never_agrees_to_close(_server: Any) -> None:
    """Takes the close frame of the client, says nothing and keeps the connection."""
    site = _site()
    site.closing = lambda connection, data: bounds.wait()
    site.serve()


@target(**{**WEBSOCKET, "statuses": (0, 1)})
def websocket_talks_after_the_close(_server: Any) -> None:
    """Answers the close frame of the client with log messages without end."""
    site = _site()
    site.closing = lambda connection, data: without_end(FRAME_OF_LOG)(connection, b"")
    site.serve()


@target(**{**WEBSOCKET, "statuses": (0, 1)})
def websocket_sends_no_pong(_server: Any) -> None:
    """Pings at once, in the middle of answers too, and answers no ping."""

    def say(connection: Connection, reply: bytes) -> None:
        half = len(reply) // 2
        ping = make_frame(PING, b"are you there?")
        connection.raw(
            ping + make_frame(TEXT, reply[:half], fin=False) + ping + make_frame(CONTINUATION, reply[half:]) + ping
        )

    answering(say)(_server)


@target(**WEBSOCKET)
def websocket_answers_elsewhere(_server: Any) -> None:
    """Answers on the connection that was opened last, whichever asked."""

    def play(connection: Connection, reply: bytes) -> None:
        connection.site.connections[-1].raw(make_frame(TEXT, reply))

    answering(play)(_server)


@target(**WEBSOCKET)
def websocket_answers_everybody(_server: Any) -> None:
    """Sends every answer on every connection."""

    def play(connection: Connection, reply: bytes) -> None:
        import contextlib

        for each in connection.site.connections:
            with contextlib.suppress(SystemExit):
                each.raw(make_frame(TEXT, reply))

    answering(play)(_server)


def _admitting(most: int, refuse: bool) -> Play:
    def play(_server: Any) -> None:
        site = _site()

        def admit(connection: Connection) -> None:
            if len(site.connections) <= most:
                connection.upgrade()
            else:
                connection.status("503 Service Unavailable")
                connection.gone()

        if refuse:
            site.opening = admit
        else:
            site.admitted = lambda number: number <= most
        site.serve()

    return play


for _most in (1, 4):
    add(
        f"websocket-refuses-after-{_most}",
        f"Takes {_most} connections, then 503.",
        _admitting(_most, True),
        **WEBSOCKET,
    )
    add(
        f"websocket-deaf-after-{_most}",
        f"Takes {_most} connections and leaves others waiting.",
        _admitting(_most, False),
        **WEBSOCKET,
    )


@target(**WEBSOCKET)
def websocket_never_reads(_server: Any) -> None:
    """Agrees to the upgrade and never reads."""
    site = _site()
    site.opened = lambda connection: bounds.wait()
    site.serve()


@target(**WEBSOCKET)
def websocket_stops_reading(_server: Any) -> None:
    """Reads nothing any more once a tool was called."""
    site = _site()

    def message(connection: Connection, text: bytes) -> None:
        connection.server.line(text)
        if b'"tools/call"' in text:
            bounds.wait()

    site.message = message
    site.serve()


@target(**WEBSOCKET)
def websocket_says_something_first(_server: Any) -> None:
    """Sends log messages without end before anybody asks, and does not answer."""
    site = _site()
    site.opened = lambda connection: without_end(FRAME_OF_LOG)(connection, b"")
    site.serve()


@target(**{**WEBSOCKET, "statuses": (3,), "says": "(?i)refused|listen(s|ed)? |could not be reached"})
def websocket_never_listens(_server: Any) -> None:
    """Runs and listens nowhere."""
    bounds.wait()


@target(**{**WEBSOCKET, "statuses": (0, 1), "says": LEFT})
def websocket_daemon(_server: Any) -> None:
    """Serves, and leaves a daemon behind."""
    start_daemon()
    _site().serve()


def _over_websocket(name: str) -> Play:
    """A target over stdio, over WebSocket."""

    def play(_server: Any) -> None:
        site = _site()
        site.opened = lambda connection: TARGETS[name].play(connection.server)
        site.serve()

    return play


for _name in (
    "pages-of-1-mb-for-ever",
    "100000-levels-in-ping",
    "slow-pattern-in-output",
    "lone-surrogate-in-tool",
    "ids-null",
    "wrong-at-random-always",
    "version-1.0",
):
    _plain = TARGETS[_name]
    add(
        f"websocket-{_name}",
        f"{_plain.what[:-1]}, over WebSocket.",
        _over_websocket(_name),
        statuses=_plain.statuses,
        says=_plain.says,
        **WEBSOCKET,
    )

vary(
    "over_websocket",
    """
    websocket-upgrade-404 websocket-upgrade-redirect-elsewhere websocket-upgrade-silence
    websocket-upgrade-a-header-for-ever websocket-no-subprotocol websocket-never-agrees-to-close
    websocket-answers-elsewhere websocket-deaf-after-4 websocket-never-reads websocket-daemon
    websocket-pages-of-1-mb-for-ever
    """,
)
