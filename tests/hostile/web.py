"""The small correct server over Streamable HTTP. Imported only where it is needed: http.server takes long to load."""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer, ThreadingHTTPServer
from typing import Any

from hostile.base import Server

OF_THIS_MACHINE = re.compile(r"https?://(localhost|127\.0\.0\.1|\[::1\])(:\d+)?")
SPOKEN = ("2025-06-18", "2025-11-25")


class Gathering(Server):
    """The server of one request; what it tells meanwhile is gathered for the stream of the answer."""

    def __init__(self) -> None:
        super().__init__()
        self.known = SPOKEN
        self.meanwhile: list[Any] = []

    def send_now(self, message: Any) -> None:
        """Keep the message for the stream."""
        self.meanwhile.append(message)


class Web:
    """An endpoint; what is hostile changes one of its attributes."""

    def __init__(self, play: Callable[[Server], None] | None = None) -> None:
        self.play = play
        self.posts = 0
        self.post: Callable[[Exchange, Any, Any], None] = lambda exchange, request, reply: exchange.answer(reply)
        """What is done with a POST: the exchange, the message, and the reply, None for a notification."""
        self.get: Callable[[Exchange], None] = lambda exchange: exchange.bare(405)
        self.delete: Callable[[Exchange], None] = lambda exchange: exchange.bare(405)
        self.server = Gathering()

    def fresh(self) -> Gathering:
        """A server for one request."""
        server = Gathering()
        if self.play is not None:
            self.play(server)
        return server

    def serve(self, port: int, one_at_a_time: bool = False) -> None:
        """Serve until the end."""
        web = self

        class Handler(Exchange):
            endpoint = web

        ThreadingHTTPServer.daemon_threads = True
        HTTPServer.request_queue_size = 128
        listening = HTTPServer if one_at_a_time else ThreadingHTTPServer
        listening(("127.0.0.1", port), Handler).serve_forever()


class Exchange(BaseHTTPRequestHandler):
    """One connection's requests."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    endpoint: Web

    def do_POST(self) -> None:
        """Take a message."""
        body = self._body()
        if refused := self._refused():
            self.bare(refused)
            return
        self.server_of_this = self.endpoint.fresh()
        self.server_of_this.version = self.headers.get("MCP-Protocol-Version", SPOKEN[0])
        reply = self.server_of_this.about(body)
        self.endpoint.posts += 1
        self.endpoint.post(self, self.server_of_this.asked, reply)

    def do_GET(self) -> None:
        """No stream of its own, unless the target is about that."""
        self.endpoint.get(self)

    def do_DELETE(self) -> None:
        """No sessions, so none to end, unless the target has some."""
        self.endpoint.delete(self)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while (size := int(self.rfile.readline().partition(b";")[0], 16)) > 0:
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _refused(self) -> int:
        origin = self.headers.get("Origin")
        if origin is not None and OF_THIS_MACHINE.fullmatch(origin) is None:
            return 403
        version = self.headers.get("MCP-Protocol-Version")
        return 400 if version is not None and version.strip() not in (*SPOKEN, "2025-03-26") else 0

    def answer(self, reply: Any) -> None:
        """Answer as the correct server does: JSON, or a stream if something was told meanwhile."""
        if reply is None:
            self.bare(202)
        elif self.server_of_this.meanwhile:
            self.stream()
            for message in (*self.server_of_this.meanwhile, reply):
                self.event(message)
            self.close_connection = True
        else:
            text = self.server_of_this.text(reply).encode()
            self.whole(400 if "error" in reply and reply["id"] is None else 200, text)

    def whole(self, status: int, body: bytes, kind: str = "application/json", **headers: str) -> None:
        """Send a whole answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.raw(body)

    def bare(self, status: int) -> None:
        """Send a status without a body."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()
        self.wfile.flush()

    def stream(self, kind: str = "text/event-stream") -> None:
        """Begin an answer that ends with the connection."""
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.flush()

    def event(self, message: Any) -> None:
        """Send a message as an event."""
        self.raw(b"event: message\ndata: " + self.server_of_this.text(message).encode() + b"\n\n")

    def raw(self, data: bytes) -> None:
        """Write bytes; a connection that is gone ends the exchange."""
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            self.close_connection = True
            raise SystemExit from None

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


class Page(BaseHTTPRequestHandler):
    """Answers everything with a page of HTML."""

    def do_POST(self) -> None:
        """The same for every request."""
        body = b"<html><body>Hello</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def serve_page(port: int) -> None:
    """Serve the page."""
    HTTPServer(("127.0.0.1", port), Page).serve_forever()


def dies_after(exchange: Exchange, seconds: float) -> None:
    """End the whole process a little later, once the answer is on its way."""
    del exchange
    threading.Timer(seconds, lambda: os._exit(3)).start()


def as_text(message: Any) -> bytes:
    """A message as JSON."""
    return json.dumps(message).encode()
