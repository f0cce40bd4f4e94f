"""HTTP+SSE of 2024-11-05: a GET opens a stream of events, whose first one says where messages are posted."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING

from conformance.model import Limits
from conformance.revisions import HTTP_SSE
from conformance.target.listening import RunningServer
from conformance.transports import OURS, Arrival, Ended
from conformance.transports.ended_sessions import turned_away
from conformance.transports.event_stream import STREAM, Event
from conformance.transports.exchange import Job, Over
from conformance.transports.http import HttpTransport
from conformance.transports.redirects import origin, plain

if TYPE_CHECKING:
    from httpx2 import URL, Response

    from conformance.transports.written_requests import WrittenAnswer

ACCEPT = {"Accept": STREAM, "Cache-Control": "no-store"}
POST = {"Content-Type": "application/json"}
NO_ENDPOINT = "no endpoint event came"
MOST_BEFORE = 10_000
"""Events that may come before it: who sends more of them does not tell it to a client that connects."""
LONGEST = 8000
"""Bytes of a URI: servers need not take longer ones (RFC 9110, 4.1)."""
IN_TURN = 0.5
"""Seconds that a message waits for the answer to the POST before it. Some servers answer when they are done with it."""
LEAST_TIME = 0.2
"""Seconds before the time limit at which the stream is given up, so that it is this that is told."""
URI = re.compile(r"(?:[A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})++")


class SseTransport(HttpTransport):
    """See `conformance.transports.Transport`. The stream of events is the session: it ends with it.

    Messages are posted one after another. An endpoint of another origin is not used: it would get the credentials.
    """

    name = HTTP_SSE
    body = "reply"
    has_headers = False
    single_stream = True
    posts_apart = True

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: Limits,
        server: RunningServer | None = None,
        owned: bool = False,
    ) -> None:
        super().__init__(url, headers, limits, server, owned)
        self._standing = 0
        self._endpoint: URL | None = None
        self._before = 0
        self._silent = ""
        """Why nothing can be posted (any more)."""
        self._order: deque[int] = deque()
        """The POSTs that have not begun."""
        self._last = 0
        """The POST that has begun last, 0 if it is over."""
        self._last_at = 0.0
        self._streams = False
        self._taken = False

    def start(self) -> None:
        """Check that somebody listens, and ask for the stream. Raises StartError."""
        super().start()
        self._standing = self.send(b"", ACCEPT, "GET") or 0

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Post a message, or ask for another stream."""
        if method != "POST":
            return super().send(data, headers, method)
        number = super().send(data, {**POST, **(headers or {})})
        with self._changed:
            self._order.append(number or 0)
            self._changed.notify_all()
        return number

    # -- inside

    def _await_exchanges(self, seconds: float, but: str = "") -> None:
        """A stream is not waited for but when it is closed."""
        super()._await_exchanges(seconds, but if self._closed else "GET")

    def _converse(self, job: Job) -> Over:
        if job.method != "POST":
            return self._speak(job, self._url)
        with self._changed:
            wait = max(0.0, self.began + self._limits.start - LEAST_TIME - time.monotonic())
            self._changed.wait_for(lambda: self._endpoint or self._silent or self._closed, wait)
            self._await_turn(job.number)
            if self._endpoint is None and not self._silent:
                self._silent = f"{NO_ENDPOINT} within {self._limits.start:g} s"
            why, endpoint = self._silent, self._endpoint
        try:
            if why or endpoint is None:
                return Over(why, why)
            return self._speak(job, endpoint)
        finally:
            with self._changed:
                self._last = 0 if self._last == job.number else self._last
                self._changed.notify_all()

    def _await_turn(self, number: int) -> None:
        """Let the POST begin after those before it. To be called with `_changed` held."""
        self._changed.wait_for(lambda: self._silent or self._closed or (self._order and self._order[0] == number))
        self._changed.wait_for(
            lambda: self._silent or self._closed or not self._last,
            max(0.0, self._last_at + IN_TURN - time.monotonic()),
        )
        if number in self._order:
            self._order.remove(number)
        self._last, self._last_at = number, time.monotonic()
        self._changed.notify_all()

    def _broken(self, job: Job, error: Exception, refuses: bool) -> Over:
        over = super()._broken(job, error, refuses)
        return self._stream_over(over.reason, over) if job.number == self._standing else over

    def _stream_over(self, why: str, over: Over) -> Over:
        """The stream has ended, and the session with it."""
        with self._changed:
            self._silent = self._silent or why
            self._changed.notify_all()
        return over._replace(reason=why, last=why)

    def _concluded(self, job: Job, status: int, body: bytes, why_not: str) -> Over:
        if self._closed:  # a stream has no other end than that of its connection
            return Over(OURS)
        if job.number == self._standing:
            return self._stream_over(*self._end_of_stream(status, why_not))
        if job.method != "POST":
            return Over("the stream was not read")
        if why_not:
            return Over(why_not, why_not if self._taken else "", lost=True)
        if why := turned_away(status, body):
            return Over(why, why, lost=True)
        if status in (404, 410) and self._taken:
            why = f"the server has ended the session (HTTP status {status})"
            return Over(why, why, lost=True)
        if status < 300:
            self._taken = True
            return Over("", accepted=True)
        return Over(f"the POST is answered by HTTP status {status}")

    def _end_of_stream(self, status: int, why_not: str) -> tuple[str, Over]:
        if why_not or self._silent:
            return why_not or self._silent, Over("")
        if status >= 300 or not self._streams:
            what = f"HTTP status {status}" if status >= 300 else "something else than a stream of events"
            return f"GET {plain(self._url)} is answered by {what}", Over("")
        if self.server is not None and self.server.wait(self._limits.quiet) and (fate := self.server.fate()):
            return fate, Over("")
        if self._endpoint is None:
            return f"{NO_ENDPOINT} before the stream ended", Over("")
        return "the server has ended the stream of events", Over("", lost=True)

    def _stream(self, job: Job, response: Response | WrittenAnswer, status: int, headers: dict[str, str]) -> None:
        if job.number == self._standing and status < 300:
            self._streams = True
            super()._stream(job, response, status, headers)

    def _event(self, job: Job, event: Event, arrival: Arrival) -> None:
        """What comes on the stream belongs to no exchange."""
        fields = {**event.fields, "event": event.kind} if event.kind else event.fields
        told = arrival._replace(exchange=None, status=None, headers={}, fields=fields)
        if event.kind == "endpoint":
            self._put(told._replace(channel="endpoint"))
            self._announced(event)
        else:
            self._put(told._replace(channel="sse" if event.is_message else "event"))
            self._before += 1
            if self._before == MOST_BEFORE:
                self._settle(None, f"{NO_ENDPOINT} before {MOST_BEFORE} others")

    def _announced(self, event: Event) -> None:
        """Post to the first endpoint that is told, if it can be used."""
        if self._endpoint is None:
            self._settle(*self._resolved(event))

    def _settle(self, endpoint: URL | None, silent: str) -> None:
        """Where messages are posted, or why they cannot be, unless that is known."""
        with self._changed:
            if self._endpoint is None and not self._silent:
                self._endpoint, self._silent = endpoint, silent
            self._changed.notify_all()
            silent = self._silent
        if silent:
            self._inbox.put(Ended(time.monotonic(), silent))

    def _resolved(self, event: Event) -> tuple[URL | None, str]:
        import httpx2

        if len(event.data) + event.omitted > LONGEST:
            size = len(event.data) + event.omitted
            return None, f"the endpoint event has {size} bytes, which is too long for a URI to post to"
        told = event.data.decode("utf-8", "replace")
        if not is_uri(event.data):
            return None, f"the data of the endpoint event is not a URI: {told[:100]!a}"
        try:
            endpoint = self._url.join(told)
        except (httpx2.InvalidURL, ValueError):
            return None, f"the data of the endpoint event is not a URI: {told[:100]!a}"
        if not endpoint.raw_host or origin(endpoint) != origin(self._url):
            why = "which is of another origin than the stream: not used, since it would get the credentials"
            return None, f"the endpoint event names {plain(endpoint)}, {why}"
        return endpoint.copy_with(userinfo=self._url.userinfo, fragment=None), ""


def is_uri(data: bytes) -> bool:
    """Whether that can be a URI, or a reference to one (RFC 3986)."""
    return bool(URI.fullmatch(data.decode("latin-1").strip()))
