"""The HTTP+SSE transport of 2024-11-05: a GET opens a session, whose messages are posted to the endpoint it is told."""

from __future__ import annotations

from functools import partial
from threading import Thread
from urllib.parse import parse_qs, urlsplit

from conformance.reference.handshake import Session
from conformance.reference.http import Handler, Refusal, new_session_id
from conformance.reference.streams import Stream, hung_up
from conformance.reference.wire import RpcError, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.server import Server

MESSAGES = "/messages"


class Events:
    """The channel of a session: all that the server says, in one stream of events."""

    def __init__(self, server: Server, stream: Stream) -> None:
        self.server = server
        self.stream = stream

    def send(self, message: Any) -> None:
        self.stream.add(self.server.encode(message))

    def run(self, work: Callable[[], None]) -> None:
        Thread(target=work, daemon=True).start()

    def hold(self, call: Call) -> None:
        """Nothing to do: the stream does not end with a request."""

    def closed(self) -> bool:
        return self.stream.done


class SseSession(Session):
    """A session: it lasts as long as its stream."""

    def __init__(self, server: Server) -> None:
        self.stream = Stream(0)
        self.channel = Events(server, self.stream)
        super().__init__(server, self.channel)
        self.name = new_session_id()

    def close(self, cancelling: bool = False) -> None:
        self.stream.finish()


class SseHandler(Handler):
    """One connection's requests."""

    def check_address(self) -> None:
        """Raise Refusal unless the request is for one of the two endpoints."""
        path, streams = urlsplit(self.path).path, self.command == "GET"
        if path not in (self.endpoint.path, MESSAGES):
            raise Refusal(404, f"There is nothing at {self.path}")
        if streams != (path == self.endpoint.path):
            raise Refusal(405, f"{self.command} is not for {path}")
        self.check_origin()

    def announced(self, session: SseSession) -> bytes:
        """The event that tells where messages are posted."""
        return b"event: endpoint\ndata: " + self.address(session).encode() + b"\n\n"

    def address(self, session: SseSession) -> str:
        """Where messages are posted."""
        return f"{MESSAGES}?session_id={session.name}"

    def event(self, data: bytes) -> bytes:
        """The event of a message."""
        return b"event: message\n" + data

    def accepted(self, session: SseSession, message: Any) -> None:
        """Deal with a message, and say that it was taken."""
        session.receive(message, session.channel)
        self.answer(202, b"", {})

    def _get(self, body: bytes) -> None:
        if not self._accepts("text/event-stream"):
            raise Refusal(406, "Accept must list text/event-stream")
        session = SseSession(self.endpoint.server)
        self.endpoint.sessions[session.name] = session
        try:
            self.begin_events({})
            self.wfile.write(self.announced(session))
            self.wfile.flush()
            self.stream(session)
        finally:
            self.close_connection = True
            session.close()
            del self.endpoint.sessions[session.name]
            if session in session.server.peers:
                session.server.peers.remove(session)

    def stream(self, session: SseSession) -> None:
        """Send what there is to be said, as long as somebody hears it."""
        for position, data in session.stream.follow(0, partial(hung_up, self)):
            for each in data.split(b"\n\n")[:-1]:
                self.wfile.write((each if each.startswith(b":") else self.event(each)) + b"\n\n")
            self.wfile.flush()
            session.stream.forget(position)

    def _post(self, body: bytes) -> None:
        if self.headers.get_content_type() != "application/json":
            raise Refusal(415, "Content-Type must be application/json")
        name = parse_qs(urlsplit(self.path).query).get("session_id", [""])[0]
        session = self.endpoint.sessions.get(name)
        if session is None:
            raise Refusal(404, "There is no such session")
        try:
            message = decode(body)
        except RpcError as error:
            session.server.send(session.channel, error.response(session.no_identity()))
            self.answer(202, b"", {})
            return
        self.accepted(session, message)

    def _delete(self, body: bytes) -> None:
        raise Refusal(405, "There is nothing to delete")
