"""Sessions on demand: one process each over stdio, started ahead; one server shared over HTTP."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace

import psutil

from conformance.engine.starting import Starts
from conformance.model import AUTHORIZATION, Client, Json, Limits, Target
from conformance.revisions import Revision
from conformance.session.answers import Given
from conformance.session.eras import era_of
from conformance.session.messages import Unavailable
from conformance.session.patience import Patience
from conformance.session.session import Observer, Session
from conformance.system.processes import strays_ended
from conformance.target.listening import RunningServer
from conformance.target.process import LEFT_BEHIND, left_behind
from conformance.target.secrets import secrets_of
from conformance.transports import Arrival, Ended, StartError, Transport
from conformance.transports.at_url import AtUrl
from conformance.transports.http import HttpTransport
from conformance.transports.pace import Pace
from conformance.transports.sse import SseTransport
from conformance.transports.stdio import StdioTransport
from conformance.transports.web import Web
from conformance.transports.websocket import WebSocketTransport

IMPATIENT = 1.0
"""Seconds to wait for the end of a server that is known not to end by itself."""

QUIET_STARTS = 4
"""A window of silence lasts that many times as long as the target takes to start, at most `limits.quiet`."""

SHUTDOWN_STARTS = 3
"""The end of a server is waited for that many times as long as it takes to start, at least `limits.shutdown`."""

LATER_STARTS = 10
"""Once it is known how long the target takes to start, further starts are waited for so many times as long, and at
least as long as an answer."""

MUTE, LEAST_START = 3, 2.0
"""After so many sessions in a row in which it says nothing the answer counts no more: then it is so many seconds at
least."""

MOST_SLOW = 3.0
"""Where a target takes more than a second to start, tools count as slow that many times later, at most."""

MOST_PACE = 4.0
"""On a busy machine the later starts and the end of a server, and campaigns, get so many times as long, at most."""

LONG_START = 2.0
"""Seconds that a start may take before as many as allowed are made ahead, though it is not known what will come."""

IDLE = 0.25
"""The part of such a start that is work, at most, where more servers at once cost nothing but memory."""
TIMES = 4
"""So many times as many servers run at once then, if they need no more than MEMORY."""
MEMORY = 0.25
"""The part of the free memory that these servers, and those started ahead, may need."""

AT_URLS: dict[str, type[HttpTransport] | type[WebSocketTransport]] = {
    each.name: each for each in (HttpTransport, SseTransport, WebSocketTransport)
}
GRANTED = "access_token"
"""Stands in reports for a token that the authorization server gave us."""

Watch = Callable[[Session], Observer | None]


class Connections:
    """Starts transports and wraps them into sessions; closes all of them, from any thread.

    While one process works, the next ones are started: `expect(n)` says how many more will be needed.
    `answers` is what is answered to the target's questions. `requests` counts those made in sessions that are over.
    """

    def __init__(self, target: Target, limits: Limits, spares: int, watch: Watch | None = None) -> None:
        self.target = target
        self.limits = limits
        self.learn: Callable[[Mapping[str, str]], None] = lambda secrets: None
        """Is told of each secret that we get in the course of the run: value → name."""
        self.grants: list[str] = []
        """Where tokens have come from, one sentence each."""
        self._granted: dict[str, tuple[Target, float]] = {}
        """Of each URL the target with the token for it, and when another one is asked for, by the monotonic clock."""
        self._granting = threading.Lock()
        self.answers = Given()
        self.patience = Patience()
        self.pace = Pace()
        self._secrets = secrets_of(target)
        self.requests = 0
        self._listened_after = 0.0
        """Seconds that a server of ours took until it listened, at most; they are no part of its first answer."""
        self.at_once = spares
        """How many may be used at the same time: more than are started ahead if that takes long and is no work."""
        self.alone = False
        """Whether each session gets a server of its own at a URL, too: it does not keep its clients apart."""
        self._left = ""
        """What a server at a URL left behind when it was ended, for people."""
        self._patient = limits
        self._hurried = True
        self.short_start = limits.start
        """Seconds in which a server starts that is like those before."""
        self._mute = 0
        """Sessions in a row in which nothing came from the server."""
        self._watch = watch
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._starts = Starts(lambda: StdioTransport(target, self.limits), 0 if target.url else spares)
        self._open_ones: set[Transport] = set()
        self._servers: list[RunningServer] = []
        self._shared: RunningServer | None = None
        self._starting = threading.Lock()
        self._served = 0
        self._waited_in_vain = ""
        """Why no server came to serve the URL in all the time that there is, "" if one did: nobody waits once more."""
        self._closed = False

    @property
    def started(self) -> int:
        """How many processes were started so far."""
        return self._starts.started + self._served

    def adapt(self, startup: float) -> None:
        """The target takes `startup` seconds to start: let the waits for it, silence, slow tools and its end fit that.

        From now on no more targets start within the time that one has been at work so far than there are cores.
        """
        with self._lock:
            open_ones = tuple(self._open_ones)
        used = [each.used() for each in open_ones]
        work = max((each.seconds for each in used), default=0.0)
        self._starts.adapt(work)
        # On a busy machine a start takes long as it waits for a core: more at once would make that worse.
        held_up = max((each.held_up() for each in open_ones), default=0.0)
        if startup - held_up > LONG_START:
            self._starts.hoard()
            memory = max((each.memory for each in used), default=0)
            if memory and work + held_up < IDLE * startup:
                fit = int(MEMORY * psutil.virtual_memory().available / memory) - self.at_once
                self.at_once = max(self.at_once, min(TIMES * self.at_once, fit))
        quiet = min(self.limits.quiet, max(0.1, QUIET_STARTS * startup))
        pace = min(MOST_PACE, (work + held_up) / work) if work else 1.0
        shutdown = max(pace * self.limits.shutdown, SHUTDOWN_STARTS * startup)
        longer = min(MOST_SLOW, max(1.0, startup))
        slow, late = self.limits.slow * longer, self.limits.late * longer
        usual = LATER_STARTS * max(startup, self._listened_after)
        start = min(self.limits.start, pace * max(self.limits.answer, usual))
        self.short_start = min(start, max(LEAST_START, usual))
        adapted = replace(self.limits, start=start, quiet=quiet, shutdown=shutdown, slow=slow, late=late, pace=pace)
        self.limits = self._patient = adapted

    @property
    def mute(self) -> bool:
        """Whether nothing came from the server in the last sessions."""
        return self._hurried and self._mute >= MUTE

    def be_patient(self) -> None:
        """From now on every server gets the full time to end: what was found is put to the test again."""
        with self._lock:
            self.limits, self._hurried = self._patient, False
        self.patience.renew()

    def begin_with(self, started: StdioTransport | None) -> None:
        """Take over a target that was started already."""
        if started is not None:
            self._starts.begin_with(started)

    def expect(self, processes: int) -> None:
        """`processes` more sessions will be asked for, so that they may be started ahead."""
        self._starts.expect(processes)

    def session(
        self,
        revision: Revision,
        client: Json = None,
        *,
        own_process: bool = True,
        urgent: bool = False,
        beside: Transport | None = None,
    ) -> Session:
        """A session that has said nothing yet. At a URL it shares one server unless it needs its own process.

        It shares that of the session `beside` it, if there is one. What is `urgent` comes before what others wait for.
        Raises StartError.
        """
        transport = self._at_url(own_process, beside) if self.target.url else self._stdio(urgent)
        session = Session(transport, era_of(revision), revision, client=client, limits=self.limits)
        session.watching.label = f"{transport.name}-{next(self._numbers)}"
        session.secrets = self._secrets
        session.anonymous = bool(self.target.url) and not self.target.headers and "@" not in self.target.url
        session.requests.patience = self.patience
        session.answers.given = self.answers
        if self._watch is not None and (observer := self._watch(session)) is not None:
            session.observers.append(observer)
            session.watching.witnesses.append(observer)
        return session

    @property
    def one_stream_at_url(self) -> bool:
        """Whether clients at the URL get all that they hear in one stream each."""
        return bool(self.target.url) and AT_URLS[self.target.transport].single_stream

    def carry_by(self, transport: str) -> None:
        """From now on sessions go over this transport."""
        self.target = replace(self.target, via=transport)

    def tells_endpoint(self) -> bool:
        """Whether GET opens a stream that tells where to post messages: that is how HTTP+SSE is recognized."""
        try:
            transport = self._open(SseTransport, owned=False, server=self._server(False))
        except StartError:
            return False
        deadline, told = time.monotonic() + self.limits.answer, False
        while not told and (left := deadline - time.monotonic()) > 0:
            event = transport.receive(left)
            told = isinstance(event, Arrival) and event.channel == "endpoint"
            if isinstance(event, Ended):
                break
        transport.close(hurry=True)
        with self._lock:
            self._open_ones.discard(transport)
        return told

    def kept_away(self) -> str:
        """How often the server had us come back later, for people, "" if it never did."""
        times = self.pace.times
        often = f"{times} messages were refused by" if times > 1 else "1 message was refused by"
        return f"{often} HTTP status 429 or 503 with Retry-After, and sent again then" if times else ""

    def bare(self) -> Connections:
        """Connections of their own to the same target, which is given neither variables nor headers."""
        return Connections(replace(self.target, env={}, headers={}), self.limits, 0, self._watch)

    def target_at(self, url: str) -> Target:
        """The target as it is served at a URL: with the token that its authorization server gives us for that.

        After half of the time for which that is good there is another one, for open sessions too. Raises StartError.
        """
        client = self.target.oauth
        if client is None or not url or self.target.token:
            return self.target
        with self._granting:
            known, until = self._granted.get(url, (None, 0.0))
            if known is not None and time.monotonic() < until:
                return known
            began = time.monotonic()
            try:
                found, seconds = self._with_grant(url, client)
            except StartError:
                if known is None:
                    raise
                return known  # what it is good for no more will be said
            self._granted[url] = found, began + seconds / 2
            for transport in [each for each in self._open_ones if isinstance(each, HttpTransport) and each.url == url]:
                transport.carry({"Authorization": found.headers["Authorization"]})
            return found

    def _with_grant(self, url: str, client: Client) -> tuple[Target, float]:
        """The target with a new token, and the seconds for which that is good. Raises StartError."""
        from conformance.engine.oauth import AUDIENCE, granted

        grant = granted(url, self.target.headers, client, self.limits)
        self.learn({each: GRANTED for each in (grant.token, grant.foreign) if each})
        headers = {**self.target.headers, "Authorization": f"Bearer {grant.token}"}
        foreign = {AUDIENCE: grant.foreign} if grant.foreign else {}
        self.grants += [] if self.grants else [grant.note]
        return replace(self.target, headers=headers, tokens={**foreign, **self.target.tokens}), grant.seconds

    def grant(self, url: str, client: Client, scope: str) -> str:
        """A token with that scope for the server at a URL. Raises Unavailable."""
        from conformance.engine.oauth import granted

        try:
            token = granted(url, self._without_token(), replace(client, scope=scope), self.limits).token
        except StartError as reason:
            raise Unavailable(str(reason)) from None
        self.learn({token: GRANTED})
        return token

    def _without_token(self) -> dict[str, str]:
        return {name: value for name, value in self.target.headers.items() if name.lower() != AUTHORIZATION}

    def web(self, session: Session) -> Web:
        """A client for single requests to the server of a session, which go without what proves who we are."""
        web = Web(session.transport.url, self._without_token(), self.limits)
        web.pace = self.pace
        return web

    def release(self, session: Session) -> None:
        """The session is closed and forgotten. Once an idle server had to be ended, the next ones get less time.

        Once no server says a word any more, so do the next ones to start, until one does.
        """
        with self._lock:
            idle = self._hurried and session.opened and not session.spent and not any(session.pending)
            if idle and session.ending is not None and session.ending.how in ("terminated", "killed"):
                self.limits = replace(self.limits, shutdown=min(self.limits.shutdown, IMPATIENT), impatient=True)
            self._open_ones.discard(session.transport)
            self.requests += len(session.calls)
            self._mute = self._mute + 1 if session.position > 0 and not session.heard else 0
            self.limits = replace(self.limits, start=self.short_start if self.mute else self._patient.start)

    def forget(self, session: Session) -> None:
        """The session is closed, by whomever."""
        with self._lock:
            self._open_ones.discard(session.transport)

    def refuse(self) -> None:
        """Begin no session from now on; those that are open go on."""
        with self._lock:
            self._closed = True
        self._starts.refuse()

    def close(self, hurry: bool = False) -> None:
        """End everything that was ever started, in a `hurry` without waiting for any to go by itself.

        Sessions that still run see their target end.
        """
        self.refuse()
        self.pace.end()
        with self._lock:
            # Nobody has spoken to those that are ready, so nobody minds how they end.
            transports = [(each, hurry) for each in self._open_ones] + [(each, True) for each in self._starts.leave()]
            servers, self._servers = self._servers, []
        threads = [threading.Thread(target=each.close, kwargs={"hurry": unused}) for each, unused in transports]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for server in servers:
            server.end()
            self._left = self._left or server.left

    def left_behind(self) -> str:
        """What the servers left behind that can be said of no session, since the last call; one line, or "".

        Those at URLs have no end that a session sees, and of strays nobody knows whose they are.
        """
        strays, at_urls, self._left = left_behind(strays_ended()), self._left, ""
        if at_urls:
            return f"{LEFT_BEHIND} when it gets a SIGTERM, which were ended: {at_urls}"
        return f"{LEFT_BEHIND}, which were ended: {strays}" if strays else ""

    # -- inside

    def _stdio(self, urgent: bool) -> Transport:
        transport = self._starts.take(urgent)
        transport.hold_to(self.limits)
        self._adopt(transport)
        return transport

    def _at_url(self, own_process: bool, beside: Transport | None) -> Transport:
        own_process |= self.alone
        server = self._server(own_process) if self.alone or not isinstance(beside, AtUrl) else beside.server
        return self._open(AT_URLS[self.target.transport], server, own_process)

    def _open(
        self, kind: type[HttpTransport] | type[WebSocketTransport], server: RunningServer | None, owned: bool
    ) -> Transport:
        url = server.url if server is not None else self.target.url
        transport = kind(url, self.target_at(url).headers, self.limits, server, owned=owned)
        if isinstance(transport, HttpTransport):
            transport.pace = self.pace
        transport.start()
        self._adopt(transport)
        return transport

    def _server(self, own_process: bool) -> RunningServer | None:
        if not self.target.command:
            return None
        if own_process:
            return self._start_server()
        with self._starting:
            if self._shared is not None and self._shared.refuses():
                self._shared.end()  # it lives and does not listen any more
            if self._shared is None or not self._shared.running:
                if self._waited_in_vain:
                    raise StartError(self._waited_in_vain)
                began = time.monotonic()
                try:
                    self._shared = self._start_server()
                except StartError as reason:
                    if self._shared is None and time.monotonic() - began >= self.limits.start:
                        self._waited_in_vain = str(reason)
                    raise
            return self._shared

    def _start_server(self) -> RunningServer:
        # Not under the lock: starting takes long, and closing must not wait for it.
        server = RunningServer(self.target, self.limits)
        with self._lock:
            self._refuse_if_closed()
            self._servers.append(server)
            self._served += 1
        began = time.monotonic()
        server.start()
        self._listened_after = max(self._listened_after, time.monotonic() - began)
        if self._closed:
            server.end()
        self._refuse_if_closed()
        return server

    def _adopt(self, transport: Transport) -> None:
        with self._lock:
            self._open_ones.add(transport)
            closed = self._closed
        if closed:
            transport.close()
            raise StartError("the run was stopped")

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StartError("the run was stopped")
