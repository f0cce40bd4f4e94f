"""Streamable HTTP: each message is an exchange of its own, served by a thread; the answer comes as JSON or as a stream."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from conformance.model import Limits
from conformance.target import RunningServer, reach
from conformance.transports import Arrival, Ended, Ending, Inbox
from conformance.transports.event_stream import EventStream

MAX_BODY = 16 * 1024 * 1024
MAX_IN_FLIGHT = 32
LOOPBACK = ("127.0.0.1", "localhost", "::1")
REDIRECTS = (307, 308)


class HttpTransport:
    """See `conformance.transports.Transport`. `server` is ours if we started it; it outlives the transport.

    Redirects that keep the method (307, 308) are followed once; the head of each answer is told.
    """

    name = "http"

    def __init__(
        self, url: str, headers: Mapping[str, str], limits: Limits, server: RunningServer | None = None
    ) -> None:
        import httpx2

        self.url = url
        self._server = server
        self._limits = limits
        self._inbox = Inbox()
        self._lock = threading.Lock()
        self._next = 0
        self._closed = False
        self._open: set[Any] = set()
        self._slots = threading.Semaphore(MAX_IN_FLIGHT)
        self._threads: set[threading.Thread] = set()
        self._errors = httpx2.HTTPError
        self._client = httpx2.Client(
            headers=dict(headers),
            timeout=httpx2.Timeout(None, connect=limits.start),
            follow_redirects=False,
            trust_env=urlsplit(url).hostname not in LOOPBACK,
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=MAX_IN_FLIGHT),
        )

    def start(self) -> None:
        """Check that somebody listens. Raises StartError."""
        if self._server is None:
            reach(self.url)

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Begin an exchange."""
        with self._lock:
            self._next += 1
            exchange = self._next
            if self._closed:
                return exchange
            thread = threading.Thread(
                target=self._exchange, args=(exchange, method, data, dict(headers or {})), daemon=True
            )
            self._threads.add(thread)
        thread.start()
        return exchange

    def write(self, data: bytes) -> None:
        """POST the bytes."""
        self.send(data)

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next head, body, payload or end."""
        return self._inbox.get(timeout)

    def end_input(self) -> None:
        """There is no input to close: wait for the exchanges that are under way, then nothing more will come."""
        deadline = time.monotonic() + self._limits.shutdown
        for thread in list(self._threads):
            thread.join(max(0.0, min(0.5, deadline - time.monotonic())))
        self._inbox.put(Ended(time.monotonic(), "the client closed the connection"), 0)

    def close(self) -> Ending:
        """Break off what is still under way."""
        with self._lock:
            self._closed = True
            responses = list(self._open)
        self._inbox.open_wide()
        for response in responses:
            with contextlib.suppress(Exception):
                response.close()
        with contextlib.suppress(Exception):
            self._client.close()
        return Ending("remote")

    def stderr(self) -> str:
        """The tail of stderr of a server that we started."""
        return self._server.stderr() if self._server is not None else ""

    # -- inside

    def _exchange(self, exchange: int, method: str, data: bytes, headers: dict[str, str]) -> None:
        reason = ""
        try:
            with self._slots:
                reason = self._speak(exchange, self.url, method, data, headers)
        except self._errors as error:
            reason = self._explain(error)
        except Exception as error:
            reason = f"the HTTP exchange failed: {error}"
        finally:
            self._inbox.put(Ended(time.monotonic(), reason, exchange), 0)
            if self._server is not None and not self._server.running and not self._closed:
                self._inbox.put(Ended(time.monotonic(), self._server.fate()), 0)
            self._threads.discard(threading.current_thread())

    def _speak(self, exchange: int, url: str, method: str, data: bytes, headers: dict[str, str]) -> str:
        with self._client.stream(method, url, content=data or None, headers=headers) as response:
            with self._lock:
                self._open.add(response)
            try:
                status = response.status_code
                answered = {name.lower(): value for name, value in response.headers.items()}
                self._put(Arrival("head", b"", time.monotonic(), exchange, status, answered))
                location = answered.get("location")
                if status in REDIRECTS and location and url == self.url:
                    return self._speak(exchange, str(response.url.join(location)), method, data, headers)
                if answered.get("content-type", "").partition(";")[0].strip().lower() == "text/event-stream":
                    self._stream(exchange, response, status, answered)
                else:
                    self._body(exchange, response, status, answered)
                return f"the HTTP answer with status {status} held no response"
            finally:
                with self._lock:
                    self._open.discard(response)

    def _stream(self, exchange: int, response: Any, status: int, headers: dict[str, str]) -> None:
        events = EventStream()
        for part in response.iter_bytes():
            for payload in events.feed(part):
                self._put(Arrival("sse", payload, time.monotonic(), exchange, status, headers))

    def _body(self, exchange: int, response: Any, status: int, headers: dict[str, str]) -> None:
        body = bytearray()
        omitted = 0
        for part in response.iter_bytes():
            room = MAX_BODY - len(body)
            body += part[:room]
            omitted += max(0, len(part) - room)
        if body:
            self._put(Arrival("body", bytes(body), time.monotonic(), exchange, status, headers, omitted))

    def _put(self, arrival: Arrival) -> None:
        self._inbox.put(arrival, len(arrival.data))

    def _explain(self, error: Exception) -> str:
        if self._server is not None and (fate := self._server.fate()):
            return fate
        cause = str(error) or type(error).__name__
        return f"the HTTP exchange with {self.url} broke off: {cause}"
