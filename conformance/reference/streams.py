"""The ways of messages over HTTP: one JSON body or server-sent events for a POST, event streams that can be resumed."""

from __future__ import annotations

import select
import socket
from threading import Condition, Lock

from conformance.reference.wire import INTERNAL_ERROR, METHOD_NOT_FOUND, Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from io import BufferedIOBase
    from typing import Any, Protocol

    from conformance.reference.call import Call
    from conformance.reference.server import Server

    class Handler(Protocol):
        """One connection's requests, as far as their answers go; `http.py` says what each method does."""

        connection: socket.socket
        wfile: BufferedIOBase
        close_connection: bool

        def answer(self, status: int, body: bytes, headers: dict[str, str]) -> None: ...

        def begin_events(self, headers: dict[str, str]) -> None: ...


KEEPALIVE = 10.0
POLL = 0.1
COMMENT = b": still here\n\n"


class Stream:
    """The events of one stream of a session, kept so that a client that lost it can have the rest."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.events: list[bytes] = []
        self.forgotten = 0
        self.done = False
        self.condition = Condition()

    def add(self, data: bytes) -> bytes:
        """Keep an event; returns it as it goes over the wire."""
        with self.condition:
            text = event(data, f"{self.number}-{len(self.events)}")
            self.events.append(text)
            self.condition.notify_all()
        return text

    def finish(self) -> None:
        with self.condition:
            self.done = True
            self.condition.notify_all()

    def forget(self, position: int) -> None:
        """Nobody asks again for the events before `position`, which were sent."""
        with self.condition:
            for index in range(self.forgotten, position):
                self.events[index] = b""
            self.forgotten = max(self.forgotten, position)

    def follow(self, position: int, gone: Callable[[], bool]) -> Iterator[tuple[int, bytes]]:
        """The events from `position` on as they come, each time with the position after them.

        A comment comes whenever there was nothing for KEEPALIVE seconds; the end comes when the stream is finished
        or the reader `gone`.
        """
        idle = 0.0
        while not gone():
            with self.condition:
                if position >= len(self.events):
                    if self.done:
                        return
                    idle += POLL
                    self.condition.wait(POLL)
                fresh = self.events[position:]
            position += len(fresh)
            if fresh:
                idle = 0.0
                yield position, b"".join(fresh)
            elif idle >= KEEPALIVE:
                idle = 0.0
                yield position, COMMENT


class Unsolicited:
    """The channel of a session's messages that belong to no request: they wait for the GET stream."""

    def __init__(self, server: Server, stream: Stream) -> None:
        self.server = server
        self.stream = stream

    def send(self, message: Any) -> None:
        self.stream.add(self.server.encode(message))

    def run(self, work: Callable[[], None]) -> None:
        work()

    def hold(self, call: Call) -> None:
        """Nothing to do: the stream does not end with a request."""

    def closed(self) -> bool:
        return self.stream.done


class Exchange:
    """The channel of one POST: a JSON body if the response comes first, else server-sent events.

    `stream` keeps the events for resumption (handshake era); without it a client that closes the connection
    cancels its request (stateless era).
    """

    def __init__(self, handler: Handler, server: Server, stream: Stream | None) -> None:
        self.handler = handler
        self.server = server
        self.stream = stream
        self.headers: dict[str, str] = {}
        self.priming = False
        self.status: Callable[[Message], int] = lambda error: 200
        self.begun = False
        self.answered = False
        self.parted = False
        self.lock = Lock()

    def send(self, message: Any) -> None:
        data = self.server.encode(message)
        final = isinstance(message, list) or "method" not in message
        with self.lock:
            if final and not self.begun:
                self._answer_json(message, data)
            else:
                self._begin_events()
                self._write(event(data) if self.stream is None else self.stream.add(data))
            self.answered = self.answered or final

    def run(self, work: Callable[[], None]) -> None:
        work()

    def hold(self, call: Call) -> None:
        waited = 0.0
        while not call.cancelled.wait(POLL):
            if self.closed():
                call.peer.cancel(call.id)
                return
            waited += POLL
            if waited >= KEEPALIVE:
                waited = 0.0
                with self.lock:
                    self._write(COMMENT)

    def closed(self) -> bool:
        return self.stream is None and hung_up(self.handler)

    def part(self, retry: int) -> None:
        """End the body before the response, if the client can have the rest by GET after `retry` milliseconds."""
        if self.stream is None or not self.priming:
            return
        with self.lock:
            self._begin_events()
            self._write(f"retry: {retry}\n\n".encode())
            self.parted = True
            self.handler.connection.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """End the body. Call it once, after everything was sent."""
        if self.stream is not None:
            self.stream.finish()
        if self.begun or not self.answered:
            self.handler.close_connection = True

    def _answer_json(self, message: Any, data: bytes) -> None:
        error = message.get("error") if isinstance(message, dict) else None
        self.handler.answer(self.status(message) if error else 200, data, self.headers)

    def _begin_events(self) -> None:
        if not self.begun:
            self.begun = True
            self.handler.begin_events(self.headers)
            if self.priming and self.stream is not None:
                self._write(self.stream.add(b""))

    def _write(self, data: bytes) -> None:
        if self.parted:
            return
        try:
            self.handler.wfile.write(data)
            self.handler.wfile.flush()
        except OSError:
            # The client has gone: what is said from now on is kept in the stream or not wanted.
            self.handler.close_connection = True


def event(data: bytes, identity: str = "") -> bytes:
    """One server-sent event; a message of several lines takes several data fields."""
    lines = [b"id: " + identity.encode()] if identity else []
    lines += [b"data: " + line for line in data.split(b"\n")]
    return b"\n".join(lines) + b"\n\n"


def hung_up(handler: Handler) -> bool:
    """Whether the client has closed the connection."""
    if not select.select([handler.connection], [], [], 0)[0]:
        return False
    try:
        return not handler.connection.recv(1, socket.MSG_PEEK)
    except OSError:
        return True


def stateless_status(response: Message) -> int:
    """The HTTP status of an error response of 2026-07-28."""
    code = response["error"]["code"]
    return 404 if code == METHOD_NOT_FOUND else 200 if code == INTERNAL_ERROR else 400


def handshake_status(response: Message) -> int:
    """The HTTP status of an error response before: 400 for what is no request, 200 for what a method answers."""
    return 400 if response["error"]["code"] in (-32700, -32600) else 200
