"""The Streamable HTTP transport of both eras, at one endpoint."""

from __future__ import annotations

import os
import secrets
import signal
import sys
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from urllib.parse import urlsplit

from conformance.reference import bodies
from conformance.reference import headers as mirrored
from conformance.reference.authorization import Guarded
from conformance.reference.authorization import Refusal as Refusal
from conformance.reference.handshake import Session
from conformance.reference.stateless import Connection
from conformance.reference.stdio import is_modern
from conformance.reference.streams import (
    Exchange,
    Stream,
    Unsolicited,
    handshake_status,
    hung_up,
    stateless_status,
)
from conformance.reference.wire import Message, RpcError, decode, is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from conformance.reference.server import Server

LOOPBACK = ("localhost", "127.0.0.1", "::1")
STREAMS_KEPT = 50


def new_session_id() -> str:
    """A session id that nobody can guess."""
    return secrets.token_hex(16)


class HttpSession(Session):
    """A session of the handshake era over HTTP, with its streams."""

    def __init__(self, server: Server) -> None:
        self.standing = Stream(0)
        super().__init__(server, Unsolicited(server, self.standing))
        self.name = new_session_id()
        self.streams: dict[int, Stream] = {0: self.standing}
        self.opened = 0
        self.delivered = 0
        self.listening = Lock()

    def open_stream(self) -> Stream:
        with self.server.lock:
            self.opened += 1
            stream = self.streams[self.opened] = Stream(self.opened)
            if self.opened > STREAMS_KEPT:
                del self.streams[self.opened - STREAMS_KEPT]
        return stream

    def close(self, cancelling: bool = False) -> None:
        for stream in self.streams.values():
            stream.finish()


class Endpoint:
    """What the handlers of all requests share."""

    def __init__(self, server: Server, path: str) -> None:
        self.server = server
        self.path = path
        self.sessions: dict[str, Any] = {}
        self.clients: dict[str, tuple[str, ...]] = {}


class Handler(Guarded, BaseHTTPRequestHandler):
    """One connection's requests."""

    protocol_version = "HTTP/1.1"
    server_version = "reference"
    disable_nagle_algorithm = True
    wbufsize = -1

    def __init__(self, endpoint: Endpoint, *args: Any) -> None:
        self.endpoint = endpoint
        super().__init__(*args)

    def parse_request(self) -> bool:
        """Read the head of a request; header values lose the whitespace around them (RFC 9110, 5.5)."""
        if not super().parse_request():
            return False
        # http.server strips only what is in front.
        given, self.headers = self.headers, type(self.headers)()
        for name, value in given.items():
            self.headers[name] = value.strip(" \t")
        return True

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet: stderr is for trouble."""

    def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        """Send a whole answer; a body that is not empty is JSON."""
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if body:
            self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def begin_events(self, headers: dict[str, str]) -> None:
        """Send the head of a text/event-stream answer, whose end is the end of the connection."""
        own = {"Content-Type": "text/event-stream", "Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
        self.send_response(200)
        for name, value in {**own, "Connection": "close", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.flush()

    def do_POST(self) -> None:
        self._serve(self._post)

    def do_GET(self) -> None:
        self._serve(self._get)

    def do_DELETE(self) -> None:
        self._serve(self._delete)

    def _serve(self, answer: Any) -> None:
        try:
            body = self.read_body()
            if self.endpoint.server.protected and self.serve_web(body):
                return
            self.check_address()
            if self.endpoint.server.protected:
                self.authorize(body)
            answer(body)
        except Refusal as refusal:
            data = self.endpoint.server.encode(refusal.error.response({}))
            self.answer(refusal.status, data, {"Allow": "POST"} if refusal.status == 405 else refusal.headers)
        except OSError:
            self.close_connection = True

    def read_body(self) -> bytes:
        """The body of the request. Raises Refusal, after which the connection is of no more use."""
        try:
            return bodies.read(self.rfile, self.headers)
        except bodies.Unframed as error:
            self.close_connection = True
            raise Refusal(400, str(error)) from None

    def check_address(self) -> None:
        """Raise Refusal unless the request is for the endpoint."""
        if urlsplit(self.path).path != self.endpoint.path:
            raise Refusal(404, f"There is nothing at {self.path}")
        self.check_origin()

    def check_origin(self) -> None:
        """Raise Refusal for a request that a foreign web page made."""
        origin = self.headers.get("Origin")
        if origin is not None and urlsplit(origin).hostname not in LOOPBACK:
            raise Refusal(403, "Requests from this origin are refused")

    def check_headers(self, message: Message) -> None:
        """Raise RpcError unless the headers of a stateless request repeat its body."""
        mirrored.check(self.endpoint.server, self.headers, message)

    def check_version(self) -> None:
        """Raise Refusal for a version header of the handshake era that is not served."""
        version = self.headers.get("MCP-Protocol-Version", "2025-03-26")
        if version not in self.endpoint.server.handshake_revisions:
            raise Refusal(400, f"Unsupported protocol version in MCP-Protocol-Version: {version!r}")

    def _accepts(self, *wanted: str) -> bool:
        accepted = self.headers.get("Accept", "*/*").lower()
        ranges = {each.split(";")[0].strip() for each in accepted.split(",")}
        return all(ranges & {each, each.split("/")[0] + "/*", "*/*"} for each in wanted)

    # POST

    def _post(self, body: bytes) -> None:
        server = self.endpoint.server
        if self.headers.get_content_type() != "application/json":
            raise Refusal(415, "Content-Type must be application/json")
        if not self._accepts("application/json", "text/event-stream"):
            raise Refusal(406, "Accept must list application/json and text/event-stream")
        version = self.headers.get("MCP-Protocol-Version")
        try:
            message = decode(body)
        except RpcError as error:
            identity: Message = {} if (version or "") >= "2025-11-25" else {"id": None}
            self.answer(400, server.encode(error.response(identity)), {})
            return
        modern = version in server.stateless_revisions or not server.handshake_revisions
        if modern or (server.stateless_revisions and version not in server.handshake_revisions and is_modern(message)):
            self._post_stateless(message)
        else:
            self.check_version()
            self._post_handshake(message)

    def _post_stateless(self, message: Any) -> None:
        server = self.endpoint.server
        exchange = Exchange(self, server, None)
        exchange.status = stateless_status
        is_request = isinstance(message, dict) and isinstance(message.get("method"), str) and is_id(message.get("id"))
        try:
            if is_request and message.get("jsonrpc") == "2.0":
                self.check_headers(message)
        except RpcError as error:
            server.send(exchange, error.response({"id": message["id"]}))
            return
        if isinstance(message, dict) and "method" not in message and ("result" in message or "error" in message):
            raise Refusal(400, "A stateless server asks nothing")
        peer = Connection(server)
        peer.user = self.user
        peer.receive(message, exchange)
        if isinstance(message, dict) and isinstance(message.get("method"), str) and "id" not in message:
            self.answer(202, b"", {})
        else:
            exchange.close()

    def _post_handshake(self, message: Any) -> None:
        opens = isinstance(message, dict) and message.get("method") == "initialize" and "id" in message
        new = opens and "Mcp-Session-Id" not in self.headers
        session = HttpSession(self.endpoint.server) if new else self.session()
        messages = message if isinstance(message, list) else [message]
        waiting = not messages or any(_wants_answer(each) for each in messages)
        if not waiting:
            session.receive(message, Unsolicited(session.server, session.standing))
            self.answer(202, b"", {})
            return
        exchange = Exchange(self, session.server, session.open_stream())
        exchange.status = handshake_status
        exchange.priming = session.revision == "2025-11-25"
        if new:
            session.user = self.user
            self.endpoint.sessions[session.name] = session
            exchange.headers = {"Mcp-Session-Id": session.name}
        session.receive(message, exchange)
        exchange.close()
        if new and session.revision is None:
            del self.endpoint.sessions[session.name]

    def session(self) -> HttpSession:
        """The session of the request. Raises Refusal if it names none, or none that is open."""
        name = self.headers.get("Mcp-Session-Id")
        if name is None:
            raise Refusal(400, "Mcp-Session-Id is missing")
        session: HttpSession | None = self.endpoint.sessions.get(name)
        if session is None:
            raise Refusal(404, "There is no such session")
        self.check_owner(session)
        return session

    # GET and DELETE

    def _check_standing(self) -> HttpSession:
        server = self.endpoint.server
        if not server.handshake_revisions or self.headers.get("MCP-Protocol-Version") in server.stateless_revisions:
            raise Refusal(405, f"{self.command} is not part of this revision")
        self.check_version()
        return self.session()

    def _get(self, body: bytes) -> None:
        session = self._check_standing()
        if not self._accepts("text/event-stream"):
            raise Refusal(406, "Accept must list text/event-stream")
        last = self.headers.get("Last-Event-ID")
        if last is not None:
            number, _, index = last.partition("-")
            stream = session.streams.get(int(number)) if number.isdecimal() and index.isdecimal() else None
            if stream is None:
                raise Refusal(404, "There is no such event")
            self._resume(stream, int(index) + 1)
            return
        if not session.listening.acquire(blocking=False):
            raise Refusal(409, "This session has its stream already")
        try:
            self.begin_events({})
            for position, data in session.standing.follow(session.delivered, partial(hung_up, self)):
                self.wfile.write(data)
                self.wfile.flush()
                session.delivered = position
        finally:
            session.listening.release()
        self.close_connection = True

    def _resume(self, stream: Stream, start: int) -> None:
        self.begin_events({})
        for _, data in stream.follow(start, partial(hung_up, self)):
            self.wfile.write(data)
            self.wfile.flush()
        self.close_connection = True

    def _delete(self, body: bytes) -> None:
        session = self._check_standing()
        del self.endpoint.sessions[session.name]
        if session in session.server.peers:
            session.server.peers.remove(session)
        session.close()
        self.answer(200, b"", {})


def _wants_answer(message: Any) -> bool:
    """Whether a message is neither a notification nor a response."""
    if not isinstance(message, dict):
        return True
    return (
        "id" in message if isinstance(message.get("method"), str) else not ("result" in message or "error" in message)
    )


class HttpServer(ThreadingHTTPServer):
    """The listening socket."""

    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no trouble."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]

    allow_reuse_address = True


def serve(server: Server, address: tuple[str, int], path: str, handler: type[Handler] = Handler) -> NoReturn:
    """Serve until SIGTERM or SIGINT comes; then end the process with status 0. stderr tells the URL."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    listening = HttpServer(address, partial(server.http_handler(handler), Endpoint(server, path)))
    print(f"listening on http://{address[0]}:{listening.server_port}{path}", file=sys.stderr, flush=True)
    try:
        listening.serve_forever(poll_interval=0.1)
    except _Stopped:
        for peer in list(server.peers):
            peer.close()
    os._exit(0)


class _Stopped(BaseException):
    """SIGTERM or SIGINT came."""


def _stop(number: int, frame: object) -> NoReturn:
    raise _Stopped
