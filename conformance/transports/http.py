"""Streamable HTTP: each message is an exchange of its own, in a thread; the answer is one body or a stream."""

from __future__ import annotations

import contextlib
import queue
import socket
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.budget import BYTES, MOST_BYTES, kept
from conformance.model import Limits
from conformance.target.listening import RunningServer, reach
from conformance.transports import AGAIN, AND_GONE, BROKE_OFF, OURS, SESSION, UNFRAMED, Arrival, Ended, Ending
from conformance.transports.at_url import AtUrl
from conformance.transports.bounds import TooMuch, Undecoded, decoded, kept_headers
from conformance.transports.ended_sessions import session_ended, turned_away
from conformance.transports.event_stream import MESSAGE, Event, EventStream, is_stream
from conformance.transports.exchange import Job, Over
from conformance.transports.http_client import client_for, encoded, refused, shut, socket_of, surplus
from conformance.transports.keep_alive import WAITING, of_server
from conformance.transports.pace import Pace
from conformance.transports.redirects import onward, plain
from conformance.transports.written_requests import APART, WHOLE, WrittenAnswer, completed, connected, method_of

if TYPE_CHECKING:
    from httpx2 import URL, Response

MAX_BODY = MOST_BYTES
MAX_SAID = 4096
MAX_UNHEARD = 64 * 1024 * 1024
"""Bytes of a stream without an event."""
MAX_IN_FLIGHT = 32
MAX_HANGING = 96
"""Exchanges beside those, that have waited long for an answer or have one that does not end."""
MAX_REPLACED = 100
"""Ids of a session that are known to be its own though a later answer gave another one."""

AT_ONCE = 0.05
"""Seconds in which a connection that had ended before something was written to it shows that, on this machine."""
TRIPS = 3
"""The same elsewhere, in times that it takes to connect."""


class HttpTransport(AtUrl):
    """See `conformance.transports.Transport`. `server` is ours if we started it; one that is `owned` ends with it.

    `headers` go with every message, beneath its own; they, the session's, cookies and the user in the URL are for the
    origin of `url` alone. A redirect that keeps the method (307, 308) is followed once and only within that origin, and
    why not where it is not; the head of each answer is told.
    """

    name = "http"
    frame = "body"
    body = "body"
    """The channel of bodies."""
    has_headers = True
    single_stream = False
    posts_apart = False
    any_bytes = True

    def __init__(
        self,
        url: str,
        headers: Mapping[str, str],
        limits: Limits,
        server: RunningServer | None = None,
        owned: bool = False,
    ) -> None:
        super().__init__(url, limits, server, owned)
        self._changed = threading.Condition()
        self._next = 0
        self._under_way: dict[int, Job] = {}
        self._work: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._workers = 0
        self._sockets: set[socket.socket] = set()
        self._session = ""
        self._replaced: deque[str] = deque(maxlen=MAX_REPLACED)
        self._agreed = False
        self._broke_off, self._connecting = "", 0.0
        """Seconds that it took to connect, the last time."""
        self._url, self._client = client_for(url, headers, limits)
        self._keep_alive = of_server(self._url.netloc.decode(), self._client)
        self.pace = Pace()

    def start(self) -> None:
        """Check that somebody listens. Raises StartError."""
        self.began = time.monotonic()
        if self.server is None:
            reach(self.url)
        else:
            self.server.watch(self._server_ended)

    def send(self, data: bytes, headers: Mapping[str, str] | None = None, method: str = "POST") -> int | None:
        """Begin an exchange. A request that is written out gets the headers of the target beneath its own."""
        with self._changed:
            self._next += 1
            if not self._closed:
                job = Job(self._next, method, data, dict(headers or {}))
                if method in (WHOLE, APART):
                    job = replace(job, method=method_of(data), whole=True, apart=method == APART)
                self._under_way[self._next] = job
                self._work.put(job)
                if len(self._under_way) > self._workers and self._workers < self._most_workers():
                    self._workers += 1
                    threading.Thread(target=self._serve, daemon=True).start()
                elif len(self._under_way) > self._workers:  # an answer that does not end must not hold up the next
                    ends = ((n, job) for n, job in self._under_way.items() if job.answered and job.method != "GET")
                    self.break_off(next((n for n, job in ends if not job.dropped), 0))
            return self._next

    def carry(self, headers: Mapping[str, str]) -> None:
        """From now on these go with every message, in place of those with the same names."""
        self._client.headers.update(headers)

    @property
    def away(self) -> float:
        """See `Pace`."""
        return self.pace.away

    def break_off(self, exchange: int) -> None:
        """Close the connection of an exchange, if it is under way."""
        with self._changed:
            job = self._under_way.get(exchange)
            if job is not None:
                job.dropped = True
                shut(job.speaks)
                self._changed.notify_all()

    def write(self, data: bytes) -> None:
        """POST the bytes."""
        self.send(data)

    def receive(self, timeout: float) -> Arrival | Ended | None:
        """The next head, body, payload or end."""
        return self._keep_alive.receive(self._inbox, timeout, self._kept_waiting)

    def end_input(self) -> None:
        """There is no input to close: wait `limits.quiet` for exchanges under way, then say that nothing more comes.

        A GET is not waited for, since it listens for as long as the session lasts.
        """
        self._await_exchanges(self._limits.quiet, but="GET")
        self._inbox.put(Ended(time.monotonic(), OURS))

    def close(self, hurry: bool = False) -> Ending:
        """Break off what is still under way."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
            sockets, self._sockets = self._sockets, set()
        self._inbox.open_wide()
        if self.server is not None:
            self.server.unwatch(self._server_ended)
        for connection in sockets:
            shut(connection)
        self._await_exchanges(1.0)
        for _ in range(self._workers):
            self._work.put(None)
        with contextlib.suppress(Exception):
            self._client.close()
        # Whoever still waits for an answer must not wait in vain.
        self._inbox.put(Ended(time.monotonic(), OURS))
        if self.server is not None and self._owned:
            self.server.end()
        return Ending("remote")

    # -- inside

    def _most_workers(self) -> int:
        """How many exchanges may be under way: those that hang must not keep others from being sent."""
        late = time.monotonic() - WAITING
        hang = sum(j.method == "DELETE" or j.answered or j.waits_since(late) for j in self._under_way.values())
        return MAX_IN_FLIGHT + min(hang, MAX_HANGING)

    def _kept_waiting(self, late: float) -> bool:
        with self._changed:
            return any(job.waits_since(late) for job in self._under_way.values())

    def _server_ended(self, fate: str) -> None:
        # What it had sent before may still be on its way.
        self._await_exchanges(self._limits.quiet)
        if not self._closed:
            self._inbox.put(Ended(time.monotonic(), fate))

    def _await_exchanges(self, seconds: float, but: str = "") -> None:
        with self._changed:
            self._changed.wait_for(lambda: all(job.method == but for job in self._under_way.values()), seconds)

    def _serve(self) -> None:
        while (job := self._work.get()) is not None:
            over = self._result(job)
            with self._changed:
                del self._under_way[job.number]
                at = time.monotonic()
                gone = over.refused and over.last == over.reason
                last = Ended(at, over.last, lost=over.lost, refused=gone) if over.last else None
                of_job = Ended(at, over.reason, job.number, then=last, unread=over.unread, accepted=over.accepted)
                answered = job.answered and not (job.dropped or self._closed or over.unread)
                self._inbox.put(replace(of_job, refused=over.refused, empty=over.empty, answered=answered))
                self._changed.notify_all()

    def _result(self, job: Job) -> Over:
        """Speak until an answer has come; a connection that was kept too long is no reason to give up."""
        first: Exception | None = None
        while True:
            job.connected, job.written = False, 0.0
            try:
                return self._converse(job)
            except Exception as error:
                first = first or error
                if self._closed or not job.stale(error, max(AT_ONCE, TRIPS * self._connecting)):
                    over = self._broken(job, first, refused(error))
                    first = None  # or this call and the exception would keep each other
                    return over

    def _converse(self, job: Job) -> Over:
        return self._say(job) if job.whole else self._speak(job, self._url)

    def _say(self, job: Job) -> Over:
        """A request that is written out, on a connection of its own, and what answers it."""
        ours = self._client.build_request("POST", self._url).headers
        usual = {name: value for name, value in ours.items() if name != "content-length"}
        body = b""
        with connected(self._url, self._limits.start) as connection:
            job.connected = True
            job.speaks = connection
            self._keep(connection)
            if job.dropped:
                return Over(OURS)
            connection.sendall(completed(job.data, usual))
            job.written = time.monotonic()
            response = WrittenAnswer(connection, job.method)
            job.answered = True
            status, answered = response.status_code, kept_headers(response)
            self._put(Arrival("head", b"", time.monotonic(), job.number, status, answered))
            if is_stream(answered):
                self._stream(job, response, status, answered)
            else:
                body = self._body(job, response, status, answered)
        self._broke_off = ""
        # How it is written may be why the server does not find its session, unless the server has replaced that.
        replaced = any(session.encode("latin-1", "replace") in job.data for session in self._replaced)
        if replaced and (why := session_ended(status, body)):
            return Over(why, why, lost=True)
        return Over(f"the HTTP answer with status {status} held no response", empty=True)

    def _broken(self, job: Job, error: Exception, refuses: bool) -> Over:
        """What an exchange that broke off, or was not even taken, means for those that follow."""
        if job.dropped:
            return Over(OURS)
        reason, gone = self._explain(error)
        if isinstance(error, TooMuch) and not self._closed:
            return Over(reason, unread=True)
        if self._closed or not refuses:
            self._broke_off = reason
            return Over(reason)
        # Who breaks off an exchange and then refuses connections has died of that one.
        died = f"{self._broke_off}{AND_GONE}" if self._broke_off else reason
        return Over(reason, died, refused=gone)

    def _speak(self, job: Job, url: URL, followed: bool = False) -> Over:
        """One request and its answer; says how the answer ended."""
        if not self._still_wanted(job):
            return Over(OURS)
        with self._client.stream(
            job.method,
            url,
            content=job.data or None,
            headers={**self._keep_alive.headers, **encoded(job.headers)},
            extensions={"trace": lambda event, info: self._trace(job, event, info)},
        ) as response:
            status = response.status_code
            answered = kept_headers(response)
            job.answered = True
            self._keep_alive.answered(job.written)
            job.speaks = socket_of(response)
            if job.dropped:
                return Over(OURS)
            later = job.method == "POST" and self.pace.refused(status, answered, job.again)
            if status < 300:  # before anybody hears of it and goes on
                self._agreed = True
                self._named(answered.get(SESSION.lower(), self._session))
            if not later:
                self._put(Arrival("head", b"", time.monotonic(), job.number, status, answered))
            leads, why_not = onward(url, status, answered.get("location", ""), followed=followed)
            if leads is None and not later:
                body = b""
                if is_stream(answered):
                    self._stream(job, response, status, answered)
                else:
                    body = self._body(job, response, status, answered)
                if job.dropped:
                    return Over(OURS)
                return self._concluded(job, status, body, why_not)
        job.again, job.answered = job.again + later, False
        return self._speak(job, leads or url, followed=followed or leads is not None)

    def _still_wanted(self, job: Job) -> bool:
        """Whether to send it, after the time that the server has asked for: it counts as sent after that."""
        if job.method == "POST" and (job.again or self.pace.left):
            with self._changed:
                while (left := self.pace.left) and not (self._closed or job.dropped):
                    self._changed.wait(left)
            self._put(Arrival(AGAIN, b"", time.monotonic(), job.number))
        return not (self._closed or job.dropped)

    def _concluded(self, job: Job, status: int, body: bytes, why_not: str) -> Over:
        """What an answer that has come to its end means for those that follow."""
        sent = next((value for name, value in job.headers.items() if name.lower() == SESSION.lower()), "")
        self._broke_off = ""
        if why_not:
            return Over(why_not, why_not if self._agreed else "", lost=True)
        # What answers another method, leaves the session out or comes from a web page says nothing of messages in it.
        # The session keeps the id that it was opened with, also where later answers give another one.
        page = any(name.lower() == "origin" for name in job.headers)
        ordinary = job.method == "POST" and not page and (sent == self._session or sent in self._replaced)
        if ordinary and (why := (sent and session_ended(status, body)) or turned_away(status, body)):
            return Over(why, why, lost=True)
        return Over(f"the HTTP answer with status {status} held no response", empty=True)

    def _named(self, session: str) -> None:
        with self._changed:
            if self._session not in ("", session):
                self._replaced.append(self._session)
            self._session = session

    def _stream(self, job: Job, response: Response | WrittenAnswer, status: int, headers: dict[str, str]) -> None:
        events = EventStream()
        unheard = held = 0
        told = b""
        try:
            for part in decoded(response):
                at = time.monotonic()
                unheard += len(part)
                if unheard > MAX_UNHEARD:
                    raise TooMuch(f"the server sent {MAX_UNHEARD >> 20} MiB of a stream without an event")
                for event in events.events(part):
                    unheard = 0
                    self._event(job, event, Arrival("", event.data, at, job.number, status, headers, event.omitted))
                more = events.held - held
                held += self._hold(more)
                if not told and b"{" in part and (told := events.unframed):
                    self._put(Arrival("event", told, at, job.number, status, headers, 0, {UNFRAMED: "yes"}))
        finally:
            BYTES.give(held)
            del events  # who keeps the exception keeps this call

    def _event(self, job: Job, event: Event, arrival: Arrival) -> None:
        channel = "reply" if job.apart else "sse" if event.is_message else "event"
        fields = event.fields if event.kind in MESSAGE else {**event.fields, "event": event.kind}
        self._put(arrival._replace(channel=channel, fields=fields))

    def _body(self, job: Job, response: Response | WrittenAnswer, status: int, headers: dict[str, str]) -> bytes:
        """Passes a body on, if it answers a message; its first bytes."""
        body = bytearray()
        held = omitted = 0
        try:
            for part in decoded(response):
                room = MAX_BODY - len(body)
                if len(part) > room:
                    omitted = len(part) - room
                    body += part[:room]
                    raise TooMuch(f"an answer is longer than {MAX_BODY >> 20} MiB")
                omitted = len(part)
                held += self._hold(len(part))
                body += part
                omitted = 0
        finally:
            BYTES.give(held)
            start = bytes(body[:MAX_SAID])
            if body and job.method == "POST":
                channel = "reply" if job.apart else self.body
                fields = {"surplus": str(job.surplus)} if job.surplus else {}
                self._put(Arrival(channel, kept(body), time.monotonic(), job.number, status, headers, omitted, fields))
        return start

    def _hold(self, size: int) -> int:
        """Count what is kept of answers that are not over, in all exchanges together. Raises TooMuch."""
        if size > 0 and not BYTES.take(size):
            raise TooMuch(f"answers came that are longer than the {BYTES.most // 1_000_000} MB kept of them all")
        if size < 0:
            BYTES.give(-size)
        return size

    def _put(self, arrival: Arrival) -> None:
        self._inbox.put(arrival, len(arrival.data))

    def _trace(self, job: Job, event: str, info: Mapping[str, Any]) -> None:
        """Keeps the sockets that the client opens, so that closing can wake whoever reads from them.

        A connection on which more has come than the answer is closed.
        """
        if event.endswith((".connect_tcp.started", ".send_request_body.complete")):
            job.written = time.monotonic()
        elif event.endswith((".connect_tcp.complete", ".start_tls.complete")):
            self._connecting = time.monotonic() - job.written
            job.connected = True
            self._keep(info["return_value"].get_extra_info("socket"))
        elif event.endswith(".receive_response_body.complete") and (more := surplus(self._client, job.speaks)):
            job.surplus = more
            shut(job.speaks)

    def _keep(self, connection: socket.socket) -> None:
        with self._changed:
            self._sockets = {known for known in self._sockets if known.fileno() >= 0} | {connection}
            closed = self._closed
        if closed:
            shut(connection)

    def _explain(self, error: Exception) -> tuple[str, bool]:
        """Why an exchange broke off, for people, and whether that is because there was no connection."""
        if self._closed:
            return OURS, False
        # A server that dies resets its connections a moment before it is gone.
        if self.server is not None and self.server.wait(self._limits.quiet) and (fate := self.server.fate()):
            return fate, False
        if isinstance(error, TooMuch):
            return f"{error}; the rest was not read", False
        if isinstance(error, Undecoded):
            return str(error), False
        if refused(error):
            return f"connection refused at {plain(self._url)}", True
        why = (str(error) or type(error).__name__).rstrip(".")
        return f"the HTTP exchange with {plain(self._url)} {BROKE_OFF}: {why}", False
