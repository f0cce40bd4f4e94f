"""WebSocket, a custom transport: one message a text frame, the subprotocol `mcp`."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.budget import MOST_BYTES, kept
from conformance.model import Limits
from conformance.revisions import WEBSOCKET
from conformance.target.listening import RunningServer, reach
from conformance.target.urls import is_loopback
from conformance.transports import BROKE_OFF, OURS, Arrival, Ended, Ending
from conformance.transports.at_url import AtUrl
from conformance.transports.http_client import check_headers, shut
from conformance.transports.redirects import ADVICE, LEADING
from conformance.transports.stdio import EACH, MAX_QUEUED

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from websockets.sync.client import ClientConnection

SUBPROTOCOL = "mcp"
SHOWN = 200
"""Characters of what is wrong that are shown."""
SOONER = 0.5
"""Seconds before the time limit at which the opening is given up, so that it is this that is told."""
MOST_FRAGMENTS = 100_000
"""Fragments of one message that are read: empty ones would never reach any number of bytes."""


class WebSocketTransport(AtUrl):
    """See `conformance.transports.Transport`. `server` is ours if we started it; one that is `owned` ends with it.

    One thread connects and reads, another writes. Nobody says that a server has to agree on the subprotocol.
    """

    name = WEBSOCKET
    frame = "message"
    has_headers = False
    single_stream = True
    posts_apart = False
    any_bytes = False

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: Limits,
        server: RunningServer | None = None,
        owned: bool = False,
    ) -> None:
        super().__init__(url, limits, server, owned)
        self._headers = headers
        self._work: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._changed = threading.Condition()
        self._queued = 0
        self._connection: ClientConnection | None = None
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._over = False

    def start(self) -> None:
        """Check that somebody listens, and connect meanwhile. Raises StartError."""
        check_headers(self._headers)
        self.began = time.monotonic()
        if self.server is None:
            reach(self.url)
        else:
            self.server.watch(self._server_ended)
        self._reader.start()

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Send one text frame."""
        with self._changed:
            if not self._closed and (not self._queued or self._queued + len(data) + EACH <= MAX_QUEUED):
                self._queued += len(data) + EACH
                self._work.put(data)
        return None

    def break_off(self, exchange: int) -> None:
        """There are no exchanges."""

    def write(self, data: bytes) -> None:
        """Send the bytes as a text frame."""
        self.send(data)

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next message or the end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """Wait until all is written, at most `limits.quiet` seconds, then say that nothing more comes."""
        with self._changed:
            self._changed.wait_for(lambda: not self._queued or self._over, self._limits.quiet)
        self._inbox.put(Ended(time.monotonic(), OURS))

    def close(self, hurry: bool = False) -> Ending:
        """Close the connection, without waiting for the target to agree."""
        with self._changed:
            first, self._closed = not self._closed, True
            connection = self._connection
        self._inbox.open_wide()
        if first:
            if self.server is not None:
                self.server.unwatch(self._server_ended)
            self._work.put(None)
            if connection is not None:
                self._say_goodbye(connection)
                shut(connection.socket)
            self._inbox.put(Ended(time.monotonic(), OURS))
            if self.server is not None and self._owned:
                self.server.end()
        return Ending("remote")

    # -- inside

    def _say_goodbye(self, connection: ClientConnection) -> None:
        """Send a close frame, if nobody is in the way who writes to a target that does not read."""
        if not connection.protocol_mutex.acquire(timeout=self._limits.quiet):
            return
        try:
            with contextlib.suppress(Exception):
                connection.protocol.send_close(1000)
                for data in connection.protocol.data_to_send():
                    connection.socket.settimeout(self._limits.quiet)
                    connection.socket.sendall(data)
        finally:
            connection.protocol_mutex.release()

    def _server_ended(self, fate: str) -> None:
        self._reader.join(self._limits.quiet)  # what it had sent before may still be on its way
        self._finish(fate)

    def _finish(self, reason: str, lost: bool = False, unread: bool = False) -> None:
        """Tell the end, once."""
        with self._changed:
            first, self._over = not self._over, True
            self._changed.notify_all()
        if first:
            self._inbox.put(Ended(time.monotonic(), OURS if self._closed else reason, lost=lost, unread=unread))

    def _read(self) -> None:
        from websockets.exceptions import ConnectionClosed

        try:
            with self._connecting() as connection:
                try:
                    self._take(connection)
                except ConnectionClosed as error:
                    self._finish(*self._why_closed(error))
                finally:
                    shut(connection.socket)
        except Exception as error:
            self._finish(self._fate() or f"the WebSocket could not be opened: {_said(error)}")

    def _take(self, connection: ClientConnection) -> None:
        """Pass on what comes, until a message has no end. Raises ConnectionClosed."""
        with self._changed:
            self._connection, closed = connection, self._closed
        if closed:
            return
        threading.Thread(target=self._write, args=(connection,), daemon=True).start()
        while True:
            data = bytearray()
            for fragment, part in enumerate(connection.recv_streaming(decode=False)):
                data += part
                if fragment >= MOST_FRAGMENTS:
                    why = f"a message has more than {MOST_FRAGMENTS} fragments; the rest was not read"
                    self._finish(why, unread=True)
                    return
            size = len(data)
            self._inbox.put(Arrival("socket", kept(data), time.monotonic()), size)

    def _connecting(self) -> AbstractContextManager[ClientConnection]:
        from websockets.exceptions import InvalidStatus
        from websockets.sync.client import ClientConnection, connect
        from websockets.typing import Subprotocol

        start, quiet = self._limits.start, self._limits.quiet

        class Connection(ClientConnection):
            """Follows no redirect, as clients need not (RFC 6455, 4.1): the headers are for this server only.

            What it has given up is closed soon, whether the server agrees or not.
            """

            given_up = False

            def send_data(self) -> None:
                """Called whenever something has come, or is to be sent."""
                super().send_data()
                if self.protocol.close_expected() and not self.given_up:
                    self.given_up = True
                    late = threading.Timer(quiet, shut, (self.socket,))
                    late.daemon = True
                    late.start()

            def handshake(self, *words: Any, **more: Any) -> None:
                """Raises OSError where the server leads elsewhere."""
                try:
                    super().handshake(*words, **more)
                except InvalidStatus as error:
                    status, leads = error.response.status_code, error.response.headers.get_all("Location")
                    if status not in LEADING or not leads:
                        raise
                    to = leads[0].partition("?")[0][:SHOWN]
                    raise OSError(f"the server redirects to {to!a}: not followed; {ADVICE}") from None

        return connect(
            self.url,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            additional_headers=dict(self._headers),
            user_agent_header="mcp-conform",
            proxy=None if is_loopback(self.host) else True,
            open_timeout=max(start / 2, start - quiet - SOONER),
            close_timeout=self._limits.quiet,
            ping_interval=None,
            max_size=MOST_BYTES,
            logger=_silent(),
            create_connection=Connection,
        )

    def _write(self, connection: ClientConnection) -> None:
        # That the connection has ended whoever reads from it will tell.
        with contextlib.suppress(Exception):
            while (data := self._work.get()) is not None:
                connection.send(data, text=True)
                with self._changed:
                    self._queued -= len(data) + EACH
                    self._changed.notify_all()

    def _fate(self) -> str:
        """How a server that we started has ended, "" if it has not."""
        if self._closed or self.server is None or not self.server.wait(self._limits.quiet):
            return ""
        return self.server.fate()

    def _why_closed(self, error: Exception) -> tuple[str, bool, bool]:
        """Why no message comes any more; whether that is the session alone; whether one was too large."""
        from websockets.exceptions import ConnectionClosed

        if fate := self._fate():
            return fate, False, False
        assert isinstance(error, ConnectionClosed)
        if error.sent is not None and error.sent.code == 1009 and not error.rcvd_then_sent:
            return f"a message is longer than {MOST_BYTES >> 20} MiB; the rest was not read", False, True
        if error.sent is not None and error.sent.code in (1002, 1007) and not error.rcvd_then_sent:
            return f"the server sends what WebSocket does not allow: {error.sent.reason[:SHOWN]}", True, False
        if error.rcvd is not None:
            said = f"code {error.rcvd.code} {error.rcvd.reason[:SHOWN]}".strip()
            return f"the server has closed the WebSocket ({said})", True, False
        return f"the WebSocket {BROKE_OFF}", True, False


def _silent() -> logging.Logger:
    """What a logger writes of connections that break off is nothing that the user could use."""
    logger = logging.Logger("conformance.websocket")
    logger.disabled = True
    return logger


def _said(error: BaseException) -> str:
    """What is wrong, with the causes that the library found."""
    told: list[str] = []
    causes: BaseException | None = error
    while causes is not None and len(told) < 3:
        told.append(" ".join(str(causes).split())[:SHOWN] or type(causes).__name__)
        causes = causes.__cause__
    return ": ".join(dict.fromkeys(told))
