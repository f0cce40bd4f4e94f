"""WebSocket, a custom transport: one message a text frame, the subprotocol `mcp`."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.budget import MOST_BYTES, kept
from conformance.model import Limits
from conformance.revisions import WEBSOCKET
from conformance.target.listening import RunningServer, is_loopback, reach
from conformance.transports import OURS, Arrival, Ended, Ending
from conformance.transports.at_url import AtUrl
from conformance.transports.http_client import check_headers, shut
from conformance.transports.stdio import EACH, MAX_QUEUED

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from websockets.sync.client import ClientConnection

SUBPROTOCOL = "mcp"
SHOWN = 200
"""Characters of what is wrong that are shown."""


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
                with contextlib.suppress(Exception):
                    connection.protocol.send_close(1000)
                    for data in connection.protocol.data_to_send():
                        connection.socket.settimeout(self._limits.quiet)
                        connection.socket.sendall(data)
                shut(connection.socket)
            self._inbox.put(Ended(time.monotonic(), OURS))
            if self.server is not None and self._owned:
                self.server.end()
        return Ending("remote")

    # -- inside

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
            said = " ".join(str(error).split())[:SHOWN] or type(error).__name__
            self._finish(self._fate() or f"the WebSocket could not be opened: {said}")

    def _take(self, connection: ClientConnection) -> None:
        """Pass on what comes, until the connection is closed. Raises ConnectionClosed."""
        with self._changed:
            self._connection, closed = connection, self._closed
        if closed:
            return
        threading.Thread(target=self._write, args=(connection,), daemon=True).start()
        while True:
            data = connection.recv(decode=False)
            assert isinstance(data, bytes)
            self._inbox.put(Arrival("socket", kept(bytearray(data)), time.monotonic()), len(data))

    def _connecting(self) -> AbstractContextManager[ClientConnection]:
        from websockets.sync.client import connect
        from websockets.typing import Subprotocol

        return connect(
            self.url,
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            compression=None,
            additional_headers=dict(self._headers),
            user_agent_header="mcp-conform",
            proxy=None if is_loopback(self.host) else True,
            open_timeout=self._limits.start,
            close_timeout=self._limits.quiet,
            ping_interval=None,
            max_size=MOST_BYTES,
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
        if error.rcvd is not None:
            said = f"code {error.rcvd.code} {error.rcvd.reason[:SHOWN]}".strip()
            return f"the server has closed the WebSocket ({said})", True, False
        return "the WebSocket broke off", True, False
