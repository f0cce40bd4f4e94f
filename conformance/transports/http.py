"""Streamable HTTP: each message is an exchange of its own, in a thread; the answer is one body or a stream."""

from __future__ import annotations

import contextlib
import queue
import re
import socket
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.listening import RunningServer, is_loopback, reach
from conformance.model import Limits
from conformance.transports import Arrival, Ended, Ending, Inbox, StartError
from conformance.transports.event_stream import EventStream
from conformance.transports.redirects import onward, plain

if TYPE_CHECKING:
    from httpx2 import URL, Client

MAX_BODY = 16 * 1024 * 1024
MAX_IN_FLIGHT = 32
KEEP_ALIVE = 2.0
"""Seconds that an idle connection is kept: less than the 5 s of Node and uvicorn, so that no request meets its end."""
HEADER = re.compile(r"[\w!#$%&'*+.^`|~-]+", re.ASCII)


class HttpTransport:
    """See `conformance.transports.Transport`. `server` is ours if we started it; one that is `owned` ends with it.

    `headers` go with every message, beneath its own; they, the session's, cookies and the user in the URL are for the
    origin of `url` alone. A redirect that keeps the method (307, 308) is followed once and only within that origin, and
    why not where it is not; the head of each answer is told.
    """

    name = "http"

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: Limits,
        server: RunningServer | None = None,
        owned: bool = False,
    ) -> None:
        self.url = url
        self._server = server
        self._owned = owned
        self._limits = limits
        self._inbox = Inbox()
        self.began = 0.0
        self._changed = threading.Condition()
        self._next = 0
        self._under_way: dict[int, str] = {}
        self._work: queue.SimpleQueue[tuple[int, str, bytes, dict[str, str]] | None] = queue.SimpleQueue()
        self._workers = 0
        self._closed = False
        self._sockets: set[socket.socket] = set()
        self._url, self._client = _client_for(url, headers, limits)

    def start(self) -> None:
        """Check that somebody listens. Raises StartError."""
        self.began = time.monotonic()
        if self._server is None:
            reach(self.url)
        else:
            self._server.watch(self._server_ended)

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Begin an exchange."""
        with self._changed:
            self._next += 1
            if not self._closed:
                self._under_way[self._next] = method
                self._work.put((self._next, method, data, dict(headers or {})))
                if len(self._under_way) > self._workers and self._workers < MAX_IN_FLIGHT:
                    self._workers += 1
                    threading.Thread(target=self._serve, daemon=True).start()
            return self._next

    def write(self, data: bytes) -> None:
        """POST the bytes."""
        self.send(data)

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next head, body, payload or end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """There is no input to close: wait `limits.quiet` for exchanges under way, then say that nothing more comes.

        A GET is not waited for, since it listens for as long as the session lasts.
        """
        self._await_exchanges(self._limits.quiet, but="GET")
        self._inbox.put(Ended(time.monotonic(), "the client closed the connection"))

    def close(self, hurry: bool = False) -> Ending:
        """Break off what is still under way."""
        with self._changed:
            self._closed = True
            sockets, self._sockets = self._sockets, set()
        self._inbox.open_wide()
        if self._server is not None:
            self._server.unwatch(self._server_ended)
        for connection in sockets:
            # Closing alone does not wake a thread that reads from it.
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._await_exchanges(1.0)
        for _ in range(self._workers):
            self._work.put(None)
        with contextlib.suppress(Exception):
            self._client.close()
        # Whoever still waits for an answer must not wait in vain.
        self._inbox.put(Ended(time.monotonic(), "the client closed the connection"))
        if self._server is not None and self._owned:
            self._server.end()
        return Ending("remote")

    def unfinished(self) -> bytes:
        """There are no lines."""
        return b""

    def worked(self) -> float:
        """Unknown: the server may have others to serve."""
        return 0.0

    def stderr(self) -> str:
        """The tail of stderr of a server that we started."""
        return self._server.stderr() if self._server is not None else ""

    # -- inside

    def _server_ended(self, fate: str) -> None:
        # What it had sent before may still be on its way.
        self._await_exchanges(self._limits.quiet)
        if not self._closed:
            self._inbox.put(Ended(time.monotonic(), fate))

    def _await_exchanges(self, seconds: float, but: str = "") -> None:
        with self._changed:
            self._changed.wait_for(lambda: all(method == but for method in self._under_way.values()), seconds)

    def _serve(self) -> None:
        while (job := self._work.get()) is not None:
            exchange, method, data, headers = job
            try:
                reason = self._speak(exchange, self._url, method, data, headers)
            except Exception as error:
                reason = self._explain(error)
            with self._changed:
                del self._under_way[exchange]
                self._inbox.put(Ended(time.monotonic(), reason, exchange))
                self._changed.notify_all()

    def _speak(self, exchange: int, url: URL, method: str, data: bytes, headers: dict[str, str]) -> str:
        """One request and its answer; says how the answer ended."""
        with self._client.stream(
            method, url, content=data or None, headers=headers, extensions={"trace": self._trace}
        ) as response:
            status = response.status_code
            answered = {name.lower(): value for name, value in response.headers.items()}
            self._put(Arrival("head", b"", time.monotonic(), exchange, status, answered))
            leads, why_not = onward(url, status, answered.get("location", ""), followed=url is not self._url)
            if leads is None:
                if answered.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream":
                    self._stream(exchange, response, status, answered)
                else:
                    self._body(exchange, response, status, answered)
                return why_not or f"the HTTP answer with status {status} held no response"
        return self._speak(exchange, leads, method, data, headers)

    def _stream(self, exchange: int, response: Any, status: int, headers: dict[str, str]) -> None:
        events = EventStream()
        for part in response.iter_bytes():
            at = time.monotonic()
            for payload, omitted in events.feed(part):
                self._put(Arrival("sse", payload, at, exchange, status, headers, omitted))

    def _body(self, exchange: int, response: Any, status: int, headers: dict[str, str]) -> None:
        body = bytearray()
        omitted = 0
        try:
            for part in response.iter_bytes():
                room = MAX_BODY - len(body)
                body += part[:room]
                omitted += max(0, len(part) - room)
        finally:
            if body:
                self._put(Arrival("body", bytes(body), time.monotonic(), exchange, status, headers, omitted))

    def _put(self, arrival: Arrival) -> None:
        self._inbox.put(arrival, len(arrival.data))

    def _trace(self, event: str, info: Mapping[str, Any]) -> None:
        """Keeps the sockets that the client opens, so that closing can wake whoever reads from them."""
        if not event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            return
        connection = info["return_value"].get_extra_info("socket")
        with self._changed:
            self._sockets = {known for known in self._sockets if known.fileno() >= 0} | {connection}
            closed = self._closed
        if closed:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def _explain(self, error: Exception) -> str:
        """Why an exchange broke off, for people."""
        if self._closed:
            return "the client closed the connection"
        # A server that dies resets its connections a moment before it is gone.
        if self._server is not None and self._server.wait(self._limits.quiet) and (fate := self._server.fate()):
            return fate
        causes = [error]
        while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 10:
            causes.append(cause)  # type: ignore[arg-type]
        if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
            return f"connection refused at {plain(self._url)}"
        return f"the HTTP exchange with {plain(self._url)} broke off: {str(error) or type(error).__name__}"


def _client_for(url: str, headers: Mapping[str, str], limits: Limits) -> tuple[URL, Client]:
    """What speaks HTTP, and the URL as that understands it. Raises StartError."""
    import ssl

    import httpx2

    for name, value in headers.items():
        # Its value may be secret, and errors of the client would show it.
        if not (HEADER.fullmatch(name) and value.isascii() and value.replace("\t", "").isprintable()):
            raise StartError(f"the header {name!a} has characters that HTTP does not carry")
    try:
        parsed = httpx2.URL(url)
        encrypted = parsed.scheme == "https"
        client = httpx2.Client(
            timeout=httpx2.Timeout(None, connect=limits.start),
            follow_redirects=False,
            # That is about proxies alone; ~/.netrc is never read.
            trust_env=not is_loopback(parsed.host),
            # Loading the certificates of the authorities takes longer than a whole session without them. On loopback
            # too SSL_CERT_FILE names them.
            verify=httpx2.create_ssl_context() if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEEP_ALIVE),
        )
        # A message says itself what it accepts; bodies are to be seen as the server made them.
        del client.headers["accept"]
        client.headers.update({"Accept-Encoding": "identity", "User-Agent": "mcp-conform", **headers})
    except httpx2.InvalidURL as error:
        raise StartError(f"{url!r} is no URL: {error}") from None
    except (OSError, ValueError, ImportError) as error:
        # A proxy that cannot be, certificates that are not there.
        raise StartError(f"the HTTP client cannot be set up as the environment says: {error}") from None
    return parsed, client
