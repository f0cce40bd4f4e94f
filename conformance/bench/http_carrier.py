"""Requests over Streamable HTTP for load: keep-alive connections in one thread, and nothing that is not needed.

The transport of the suite has a thread for each exchange and tells all that HTTP says: that costs more than most
servers need for an answer, and 32 exchanges are the most that it has under way.
"""

from __future__ import annotations

import contextlib
import selectors
import socket
import ssl
import time
import urllib.request
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.bench.answers import number_in
from conformance.bench.carriers import TransportCarrier
from conformance.bench.operations import Operation
from conformance.session.session import Session
from conformance.target.urls import is_loopback
from conformance.transports import Arrival, Transport
from conformance.transports.at_url import AtUrl
from conformance.transports.event_stream import EventStream
from conformance.transports.written_requests import connected

if TYPE_CHECKING:
    from httpx2 import URL

PART = 65536
MOST_HEAD = 65536
"""Bytes of the head of an answer."""
MOST_BODY = 16 * 1024 * 1024
"""Bytes of an answer that are kept."""
MOST_HELD = 96 * 1024 * 1024
"""Bytes of all answers that are kept at once."""
LINGERING = 32
"""Streams that go on after their answer and are still listened to."""
IDLE = 2.0
"""Seconds that an idle connection is used again: less than the 5 s of Node and uvicorn."""
REFUSED = 20
"""Connections in a row that are refused, after which nobody is asked any more."""
FATE = 0.5
"""Seconds in which a server that refuses connections may turn out to have ended."""
CONNECT = 5.0
"""Seconds that a connection, or the sending of a request, may take."""
END = "end"


def proxied(host: str) -> bool:
    """Whether the environment names a proxy, which may be between us and a host."""
    return not is_loopback(host) and bool(urllib.request.getproxies())


@dataclass(slots=True, eq=False)
class Exchange:
    """One request on its connection, and what has come of its answer so far."""

    number: int
    request: bytes
    connection: socket.socket
    fresh: bool
    held: bytearray = field(default_factory=bytearray)
    begun: bool = False
    """Whether the head of the answer is complete."""
    length: int = -1
    """Bytes of the body that are to come; -1 up to the end of the connection."""
    chunked: bool = False
    chunk: int = 0
    """Bytes of the chunk that are to come."""
    stays: bool = True
    events: EventStream | None = None
    body: bytearray = field(default_factory=bytearray)
    omitted: int = 0
    """Bytes of the body that were not kept."""
    kept: int = 0
    """Bytes of it, or of the event that has begun, that are kept."""
    status: int = 0
    """Of HTTP, once its head is complete."""
    answered: bool = False
    gone: bool = False
    """Whether its connection is closed."""


class HttpCarrier(TransportCarrier):
    """See `Carrier`. `sessions` are the headers that name each session; requests take turns among them.

    `opened` counts connections so far.
    """

    def __init__(
        self,
        transport: Transport,
        url: URL,
        headers: Mapping[str, str],
        sessions: Sequence[Mapping[str, str]] = ({},),
        session: Session | None = None,
    ) -> None:
        super().__init__(transport, session)
        self.opened = 0
        self.sessions = list(sessions)
        self._url = url
        self._headers = {**headers, "Host": url.netloc.decode("ascii"), "Accept-Encoding": "identity"}
        self._heads: dict[tuple[str, int], bytes] = {}
        self._turn = 0
        self._chooser = selectors.DefaultSelector()
        self._idle: deque[tuple[socket.socket, float]] = deque()
        self._ready: deque[Arrival] = deque()
        self._refused = 0
        self._held = 0
        self._lingering: deque[Exchange] = deque()

    def send(self, operation: Operation, number: int) -> None:
        """See `Carrier`. A connection is opened if none is idle, within the time that is measured."""
        turn = self._turn = (self._turn + 1) % len(self.sessions)
        body = operation.message(b"%d" % number)
        head = self._heads.get((operation.name, turn))
        if head is None:
            head = self._heads[operation.name, turn] = self._head(operation, turn, len(body))
        self._begin(number, head + body, again=True)

    def receive(self, seconds: float) -> Arrival | None:
        """See `Carrier`. The end of an answer without a message comes on the channel `end`."""
        if not self._ready:
            for key, _ in self._chooser.select(seconds):
                self._read(key.data)
        return self._ready.popleft() if self._ready else None

    def give_up(self, number: int) -> None:
        """See `Carrier`: its connection is closed, or an answer without end would be read for ever."""
        for key in list(self._chooser.get_map().values()):
            if key.data.number == number:
                self._part(key.data)

    def rest(self) -> None:
        """See `Carrier`: connections on which nothing is under way are closed."""
        while self._idle:
            self._idle.pop()[0].close()
        while self._lingering:
            self._part(self._lingering.popleft())

    # -- inside

    def _head(self, operation: Operation, turn: int, length: int) -> bytes:
        given = {**self._headers, **operation.headers, **self.sessions[turn], "Content-Length": str(length)}
        lines = [f"POST {self._url.raw_path.decode('ascii')} HTTP/1.1", *(f"{k}: {v}" for k, v in given.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1")

    def _begin(self, number: int, request: bytes, again: bool) -> None:
        connection, fresh = self._connection() if again else (None, True)
        try:
            if connection is None:
                connection = connected(self._url, CONNECT)
                connection.settimeout(CONNECT)
                self.opened += 1
            connection.sendall(request)
        except OSError as error:
            if connection is not None:
                connection.close()
            if not fresh:
                self._begin(number, request, again=False)
                return
            self._refused += 1
            if self._refused >= REFUSED:
                self.lost = self.lost or self._fate() or f"no connection can be opened any more: {error}"
            self._end(number)
            return
        self._refused = 0
        exchange = Exchange(number, request, connection, fresh)
        self._chooser.register(connection, selectors.EVENT_READ, exchange)

    def _fate(self) -> str:
        """How a server that we started has ended, "" if it has not."""
        server = self._transport.server if isinstance(self._transport, AtUrl) else None
        return server.fate() if server is not None and server.wait(FATE) else ""

    def _connection(self) -> tuple[socket.socket | None, bool]:
        """An idle one, and whether it is fresh: then there is none."""
        while self._idle:
            connection, since = self._idle.pop()
            if time.monotonic() - since < IDLE:
                return connection, False
            connection.close()
        return None, True

    def _read(self, exchange: Exchange) -> None:
        try:
            part = exchange.connection.recv(PART)
        except (ssl.SSLWantReadError, TimeoutError, InterruptedError):
            return
        except OSError:
            part = b""
        at = time.monotonic()
        if not part:
            self._ended(exchange, at)
            return
        exchange.held += part
        if not exchange.begun and not self._take_head(exchange):
            return
        before = exchange.answered
        if self._take_body(exchange, at):
            self._conclude(exchange, at)
        elif exchange.answered and not before:
            self._linger(exchange)
        elif isinstance(exchange.connection, ssl.SSLSocket) and exchange.connection.pending():
            self._read(exchange)

    def _take_head(self, exchange: Exchange) -> bool:
        """Whether the head is complete."""
        end = exchange.held.find(b"\r\n\r\n")
        if end < 0:
            if len(exchange.held) > MOST_HEAD:
                self._ended(exchange, time.monotonic())
            return False
        first, *lines = bytes(exchange.held[:end]).lower().split(b"\r\n")
        del exchange.held[: end + 4]
        status = first.split(b" ")[1:2]
        if status and status[0].startswith(b"1"):  # an interim answer
            return self._take_head(exchange)
        exchange.status = int(status[0]) if status and status[0].isdigit() else 0
        headers = {name.strip(): value.strip() for name, _, value in (line.partition(b":") for line in lines)}
        exchange.begun = True
        exchange.chunked = b"chunked" in headers.get(b"transfer-encoding", b"")
        length = headers.get(b"content-length", b"")
        exchange.length = int(length) if length.isdigit() else -1
        if status and status[0] in (b"204", b"304"):
            exchange.length = 0
        framed = exchange.chunked or exchange.length >= 0
        exchange.stays = framed and b"close" not in headers.get(b"connection", b"") and first.startswith(b"http/1.1")
        if headers.get(b"content-type", b"").startswith(b"text/event-stream"):
            exchange.events = EventStream()
        return True

    def _take_body(self, exchange: Exchange, at: float) -> bool:
        """Take in what there is of the body; whether it is complete."""
        if exchange.chunked:
            return self._take_chunks(exchange, at)
        part = bytes(exchange.held)
        exchange.held.clear()
        self._give(exchange, part, at)
        if exchange.length >= 0:
            exchange.length -= len(part)
            return exchange.length <= 0
        return False

    def _take_chunks(self, exchange: Exchange, at: float) -> bool:
        held = exchange.held
        while held:
            if exchange.chunk:
                part = bytes(held[: exchange.chunk])
                del held[: len(part)]
                exchange.chunk -= len(part)
                self._give(exchange, part, at)
                continue
            if held.startswith(b"\r\n"):  # the end of the last chunk
                del held[:2]
                continue
            end = held.find(b"\r\n")
            if end < 0 and len(held) <= MOST_HEAD:
                return False
            try:
                exchange.chunk = int(bytes(held[: max(0, end)]).partition(b";")[0], 16)
            except ValueError:
                exchange.chunk = -1
            if exchange.chunk < 0:
                self._ended(exchange, at)
                return False
            if not exchange.chunk:
                return held.find(b"\r\n\r\n", end) >= 0
            del held[: end + 2]
        return False

    def _give(self, exchange: Exchange, part: bytes, at: float) -> None:
        """Bytes of the body: each event is a message, any other body is one."""
        if exchange.gone:
            return
        if exchange.events is None:
            room = max(0, min(MOST_BODY - len(exchange.body), MOST_HELD - self._held))
            exchange.body += part[:room]
            exchange.omitted += max(0, len(part) - room)
            self._count(exchange, len(exchange.body))
            return
        for data, omitted in exchange.events.feed(part):
            exchange.answered |= number_in(data) == exchange.number
            self._ready.append(Arrival("sse", data, at, exchange.number, omitted=omitted))
        self._count(exchange, exchange.events.held)
        if self._held > MOST_HELD:
            self._ready.append(Arrival("body", b"too much", at, exchange.number, omitted=exchange.kept))
            self._part(exchange)

    def _count(self, exchange: Exchange, kept: int) -> None:
        self._held += kept - exchange.kept
        exchange.kept = kept

    def _linger(self, exchange: Exchange) -> None:
        """The answer has come, and its stream goes on."""
        self._lingering.append(exchange)
        if len(self._lingering) > LINGERING:
            self._part(self._lingering.popleft())

    def _conclude(self, exchange: Exchange, at: float) -> None:
        """The answer is complete."""
        self._let_go(exchange)
        if exchange.stays:
            self._idle.append((exchange.connection, at))
        else:
            exchange.connection.close()
        self._tell(exchange, at)

    def _ended(self, exchange: Exchange, at: float) -> None:
        """The server has closed the connection."""
        self._part(exchange)
        if not (exchange.begun or exchange.held or exchange.fresh):
            self._begin(exchange.number, exchange.request, again=False)  # it had been idle for too long
        elif exchange.begun and exchange.length < 0 and not exchange.chunked:
            self._tell(exchange, at)
        elif not exchange.answered:
            self._end(exchange.number, exchange.status)

    def _tell(self, exchange: Exchange, at: float) -> None:
        if exchange.events is None and exchange.body:
            data = bytes(exchange.body)
            omitted = exchange.omitted
            self._ready.append(Arrival("body", data, at, exchange.number, exchange.status, omitted=omitted))
        elif not exchange.answered:
            self._end(exchange.number, exchange.status)

    def _end(self, number: int, status: int = 0) -> None:
        self._ready.append(Arrival(END, b"", time.monotonic(), number, status))

    def _let_go(self, exchange: Exchange) -> None:
        """Read it no more. Idempotent."""
        with contextlib.suppress(KeyError, ValueError):
            self._chooser.unregister(exchange.connection)
            self._count(exchange, 0)
        with contextlib.suppress(ValueError):
            self._lingering.remove(exchange)

    def _part(self, exchange: Exchange) -> None:
        self._let_go(exchange)
        exchange.gone, exchange.stays = True, False
        exchange.connection.close()
