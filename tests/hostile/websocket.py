"""The small correct server over WebSocket, frame by frame. Imported only where it is needed."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import os
import socket
import struct
import sys
import threading
from collections.abc import Callable

from hostile import bounds
from hostile.base import Server

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
LONGEST = 64 * 1024 * 1024
"""Bytes of a frame that are taken."""


def head(opcode: int, size: int, fin: bool = True, reserved: int = 0) -> bytes:
    """The head of a frame that is not masked; `reserved` are the three bits RSV1 to RSV3."""
    first = fin << 7 | reserved << 4 | opcode
    if size < 126:
        return struct.pack("!BB", first, size)
    return struct.pack("!BBH", first, 126, size) if size < 65536 else struct.pack("!BBQ", first, 127, size)


def frame(opcode: int, data: bytes = b"", fin: bool = True, reserved: int = 0) -> bytes:
    """A frame that is not masked."""
    return head(opcode, len(data), fin, reserved) + data


class Connection:
    """One connection; `server` answers what comes on it."""

    def __init__(self, site: Site, sock: socket.socket) -> None:
        self.site = site
        self.socket = sock
        self.file = sock.makefile("rb")
        self.headers: dict[str, str] = {}
        self.written = 0
        self.writing = threading.Lock()
        self.server = Server()
        self.said: Callable[[bytes], object] = lambda reply: None
        """How an answer to what was heard last is sent, where that depends on it."""
        self.server.write = lambda data: self.text(data.rstrip(b"\n"))

    def raw(self, data: bytes) -> None:
        """Write bytes; a connection that is gone ends the thread."""
        with self.writing:
            self.written += len(data)
            bounds.spent(self.written)
            try:
                self.socket.sendall(data)
            except OSError:
                raise SystemExit from None

    def text(self, data: bytes) -> None:
        """Send a message."""
        self.site.say(self, data)

    def status(self, line: str, *headers: str, body: bytes = b"") -> None:
        """Answer the request for an upgrade with something else."""
        lines = [f"HTTP/1.1 {line}", *headers, f"Content-Length: {len(body)}", "Connection: close"]
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def upgrade(self, *headers: str, protocol: str = "mcp") -> None:
        """Agree to speak WebSocket."""
        key = self.headers.get("sec-websocket-key", "").encode()
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        lines += [f"Sec-WebSocket-Accept: {accept}", *headers]
        lines += [f"Sec-WebSocket-Protocol: {protocol}"] if protocol else []
        self.raw("\r\n".join(lines).encode() + b"\r\n\r\n")

    def request(self) -> None:
        """Read the request for an upgrade."""
        self.file.readline(65536)
        while (line := self.file.readline(65536)) not in (b"\r\n", b"\n", b""):
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.strip().lower()] = value.strip()

    def take(self) -> bool:
        """Take one frame and answer it; false at the end."""
        start = self.file.read(2)
        if len(start) < 2:
            return False
        size = start[1] & 127
        if size > 125:
            kind, long = ("!H", 2) if size == 126 else ("!Q", 8)
            (size,) = struct.unpack(kind, self.file.read(long))
        mask = self.file.read(4)
        if size > LONGEST:
            return False
        data = self.file.read(size)
        opcode = start[0] & 15
        plain = _unmasked(data, mask)
        if opcode == CLOSE:
            self.site.closing(self, plain)
            return False
        if opcode == PING:
            self.raw(frame(PONG, plain))
        elif opcode in (TEXT, BINARY):
            self.site.message(self, plain)
        return True

    def gone(self, reset: bool = False) -> None:
        """End the connection without a close frame; `reset` it, so that what is on its way is lost."""
        if reset:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.suppress(OSError):
            self.file.close()
            if not reset:
                self.socket.shutdown(socket.SHUT_RDWR)
            self.socket.close()
        raise SystemExit


def _unmasked(data: bytes, mask: bytes) -> bytes:
    if not data:
        return data
    whole = (mask * (len(data) // 4 + 1))[: len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(whole, "big")).to_bytes(len(data), "big")


class Site:
    """A server at a port; what is hostile changes one of its attributes."""

    def __init__(self) -> None:
        self.connections: list[Connection] = []
        self.opening: Callable[[Connection], object] = lambda connection: connection.upgrade()
        """What is done with a request for an upgrade."""
        self.opened: Callable[[Connection], object] = lambda connection: None
        """What is done before anything is read."""
        self.message: Callable[[Connection, bytes], object] = lambda connection, text: connection.server.line(text)
        """What is done with a message."""
        self.say: Callable[[Connection, bytes], object] = lambda connection, text: connection.raw(frame(TEXT, text))
        """How a message is sent."""
        self.closing: Callable[[Connection, bytes], object] = lambda connection, data: connection.raw(
            frame(CLOSE, data[:2])
        )
        """What is done with the close frame of the client."""
        self.admitted: Callable[[int], bool] = lambda number: True
        """Whether the connection of this number, from 1, is accepted; otherwise it waits and gets no answer."""

    def serve(self, port: int = 0) -> None:
        """Serve at a port, by default that of the command line, until the end."""
        listening = socket.create_server(("127.0.0.1", port or int(sys.argv[2])), backlog=100)
        while True:
            sock, _ = listening.accept()
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._one, args=(sock,), daemon=True).start()

    def _one(self, sock: socket.socket) -> None:
        connection = Connection(self, sock)
        with contextlib.suppress(OSError, ValueError, struct.error, SystemExit), sock:
            connection.request()
            if not connection.headers:  # somebody looks whether anybody listens
                return
            self.connections.append(connection)
            if not self.admitted(len(self.connections)):
                bounds.wait()
            self.opening(connection)
            self.opened(connection)
            while connection.take():
                pass


def asks(text: bytes, *methods: str) -> bool:
    """Whether a message is a request of one of these methods, or of any."""
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return False
    asked = isinstance(message, dict) and "id" in message and "method" in message
    return asked and (not methods or message["method"] in methods)


def die(_connection: Connection) -> None:
    """End the whole process."""
    os._exit(3)
