"""Targets of WebSocket that speak: frames that are none, messages without end, and all that closes a connection."""

from __future__ import annotations

import os
import time

from hostile.registry import add, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.registry import Play
    from hostile.websocket import Connection

    Say = Callable[[Connection, bytes], object]

WEBSOCKET: dict[str, Any] = {"transport": "websocket", "whole": True}
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
LOG = b'{"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}'
FRAME_OF_LOG = bytes((0x81, len(LOG))) + LOG


def make_frame(opcode: int, data: bytes = b"", fin: bool = True, reserved: int = 0) -> bytes:
    """A frame that is not masked."""
    from hostile.websocket import frame

    return frame(opcode, data, fin, reserved)


def answering(say: Say, *methods: str) -> Play:
    """Answer requests of these methods, or all, as `say` does, the others correctly."""

    def play(_server: Any) -> None:
        from hostile.websocket import Site, asks, frame

        site = Site()

        def message(connection: Connection, text: bytes) -> None:
            special = asks(text, *methods)
            connection.said = lambda reply: say(connection, reply) if special else connection.raw(frame(TEXT, reply))
            connection.server.line(text)

        site.message = message
        site.say = lambda connection, reply: connection.said(reply)
        site.serve()

    return play


def without_end(data: bytes, pause: float = 0.0, begin: bytes = b"") -> Say:
    """Answer by bytes, and others without end."""

    def say(connection: Connection, _reply: bytes) -> None:
        connection.raw(begin)
        while True:
            connection.raw(data)
            time.sleep(pause)

    return say


def _in_fragments(size: int) -> Say:
    def say(connection: Connection, reply: bytes) -> None:
        parts = [reply[at : at + size] for at in range(0, len(reply), size)] if size else []
        parts = parts or [b""] * 20_000 + [reply]
        frames = [
            make_frame(CONTINUATION if number else TEXT, part, number == len(parts) - 1)
            for number, part in enumerate(parts)
        ]
        connection.raw(b"".join(frames))

    return say


def _closing_with(code: int, reason: bytes = b"") -> Say:
    def say(connection: Connection, _reply: bytes) -> None:
        connection.raw(make_frame(CLOSE, code.to_bytes(2, "big") + reason))
        connection.gone()

    return say


def _sending(make: Callable[[bytes], bytes]) -> Say:
    return lambda connection, reply: connection.raw(make(reply))


def _masked(reply: bytes) -> bytes:
    whole = bytearray(make_frame(TEXT, reply))
    head = len(whole) - len(reply)
    whole[1] |= 128
    return bytes(whole[:head]) + bytes(4) + reply


def _of_100_mb(connection: Connection, _reply: bytes) -> None:
    from hostile.websocket import head

    connection.raw(head(TEXT, 100_000_000))
    for _ in range(100):
        connection.raw(b"x" * 1_000_000)


def _of_100_mb_in_fragments(connection: Connection, _reply: bytes) -> None:
    for number in range(100):
        connection.raw(make_frame(CONTINUATION if number else TEXT, b"x" * 1_000_000, number == 99))


def _of_terabytes(connection: Connection, reply: bytes) -> None:
    from hostile.websocket import head

    connection.raw(head(TEXT, 1 << 45) + reply)


def _packed() -> bytes:
    """1 MB of permessage-deflate that holds 1 GB of blanks."""
    import zlib

    blanks, packer = b" " * 1_000_000, zlib.compressobj(9, zlib.DEFLATED, -15)
    packer.compress(blanks)
    packer.flush(zlib.Z_FULL_FLUSH)
    return (packer.compress(blanks) + packer.flush(zlib.Z_FULL_FLUSH)) * 1000


def _split(reply: bytes) -> bytes:
    """A message whose second half comes on its own."""
    half = len(reply) // 2
    return make_frame(TEXT, reply[:half]) + make_frame(TEXT, reply[half:])


_MANY_PINGS = b"\x89\x00" * 1000
_MANY_PONGS = b"\x8a\x00" * 1000
_EMPTY = b"\x00\x00" * 1000
_MESSAGES: tuple[tuple[str, str, Say, tuple[int, ...], str], ...] = (
    ("binary-frames", "in binary frames", _sending(lambda reply: make_frame(BINARY, reply)), (0, 1), ""),
    ("fragments-of-a-byte", "in fragments of one byte", _in_fragments(1), (0, 1), ""),
    ("empty-fragments", "after 20 000 empty fragments", _in_fragments(0), (0, 1), ""),
    ("fragments-without-end", "with fragments without end", without_end(b"\x00\x01x" * 1000, 0, b"\x01\x01["), (), ""),
    ("empty-fragments-without-end", "with empty fragments without end", without_end(_EMPTY, 0, b"\x01\x01["), (), ""),
    ("slow-fragments", "with a fragment every half second", without_end(b"\x00\x01x", 0.5, b"\x01\x01["), (), ""),
    ("slow-frame", "with a byte of a frame every half second", without_end(b" ", 0.5, b"\x81\x7e\xff\xff"), (), ""),
    ("half-a-message", "with the first half as a message, and the second", _sending(_split), (), ""),
    ("100-mb", "with a message of 100 MB", _of_100_mb, (), "longer than 16 MiB"),
    ("100-mb-in-fragments", "with 100 fragments of 1 MB", _of_100_mb_in_fragments, (), "longer than 16 MiB"),
    ("terabytes", "with a frame that is said to have 2^45 bytes", _of_terabytes, (), "longer than 16 MiB"),
    ("messages-without-end", "with log messages without end", without_end(FRAME_OF_LOG * 10), (), ""),
    ("empty-messages", "with empty messages without end", without_end(b"\x81\x00" * 1000), (), ""),
    ("pings-without-end", "with pings without end", without_end(_MANY_PINGS), (), ""),
    ("pongs-without-end", "with pongs without end", without_end(_MANY_PONGS), (), ""),
    ("no-utf-8", "with bytes that are no UTF-8", _sending(lambda reply: make_frame(TEXT, b"\xff\xfe" + reply)), (), ""),
    ("no-json", "with text that is no JSON", _sending(lambda reply: make_frame(TEXT, b"<html>" + reply)), (), ""),
    ("reserved-opcode", "with a frame of opcode 3", _sending(lambda reply: make_frame(3, reply)), (), ""),
    ("reserved-bits", "with RSV bits", _sending(lambda reply: make_frame(TEXT, reply, reserved=3)), (), ""),
    ("masked", "with a masked frame", _sending(_masked), (), ""),
    ("long-ping", "with a ping of 200 bytes", _sending(lambda reply: make_frame(PING, b"x" * 200)), (), ""),
    ("continuation", "with a continuation of nothing", _sending(lambda reply: make_frame(0, reply)), (), ""),
    (
        "bomb",
        "with 1 MB of permessage-deflate that holds 1 GB",
        _sending(lambda reply: make_frame(TEXT, _packed(), reserved=4)),
        (),
        "",
    ),
    ("closes-1002", "by closing (1002)", _closing_with(1002, b"protocol error"), (), "1002"),
    ("closes-1011", "by closing (1011)", _closing_with(1011, b"oops"), (), "1011"),
    ("closes-9999", "by closing with a code that is none", _closing_with(9999), (), ""),
    ("closes-in-garbage", "by closing for a reason that is no UTF-8", _closing_with(1011, b"\xff\xfe"), (), ""),
    ("closes-barely", "by closing without a code", _sending(lambda reply: make_frame(CLOSE)), (), ""),
    ("breaks-off", "by the end of the connection", lambda connection, reply: connection.gone(), (), "broke off"),
    ("resets", "by a reset", lambda connection, reply: connection.gone(True), (), "broke off"),
    ("dies", "by the end of the process", lambda connection, reply: os._exit(3), (), "exited with code 3"),
    ("nothing", "by nothing", lambda connection, reply: None, (), ""),
)
_ILLEGAL = "what WebSocket does not allow"
_AT_ONCE = {
    **dict.fromkeys(("half-a-message", "no-json"), "what came is no JSON"),
    "no-utf-8": "not encoded in UTF-8",
    **dict.fromkeys(("reserved-opcode", "reserved-bits", "masked", "long-ping", "continuation", "bomb"), _ILLEGAL),
}
"""What is said where nothing else is ever answered; otherwise these are among many that are inconclusive."""
for _name, _what, _say, _statuses, _says in _MESSAGES:
    add(
        f"websocket-{_name}",
        f"Answers tools/list {_what}.",
        answering(_say, "tools/list"),
        statuses=_statuses or (0, 1, 3),
        says=_says,
        **WEBSOCKET,
    )
    add(
        f"websocket-{_name}-at-once",
        f"Answers every request {_what}.",
        answering(_say),
        statuses=(0, 1) if _statuses == (0, 1) else (1, 3),
        says=_AT_ONCE.get(_name, _says),
        **WEBSOCKET,
    )

vary(
    "websocket_frames",
    """
    websocket-fragments-of-a-byte websocket-empty-fragments-without-end websocket-100-mb-at-once
    websocket-pings-without-end websocket-masked-at-once websocket-bomb-at-once websocket-closes-1011 websocket-resets
    """,
)
