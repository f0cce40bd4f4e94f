"""Sessions on demand: one process each over stdio, started ahead; one server shared over HTTP."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace

from conformance.model import Json, Limits, Target
from conformance.revisions import Revision
from conformance.session.answers import Given
from conformance.session.eras import era_of
from conformance.session.patience import Patience
from conformance.session.session import Observer, Session
from conformance.system.processes import strays_ended
from conformance.target.listening import RunningServer
from conformance.target.process import LEFT_BEHIND, left_behind
from conformance.target.secrets import secrets_of
from conformance.transports import StartError, Transport
from conformance.transports.http import HttpTransport
from conformance.transports.stdio import StdioTransport

IMPATIENT = 1.0
"""Seconds to wait for the end of a server that is known not to end by itself."""

QUIET_STARTS = 4
"""A window of silence lasts that many times as long as the target takes to start, at most `limits.quiet`."""

SHUTDOWN_STARTS = 3
"""The end of a server is waited for that many times as long as it takes to start, at least `limits.shutdown`."""

LATER_STARTS = 10
"""Once it is known how long the target takes to start, further starts are waited for so many times as long, and at
least as long as an answer."""

MOST_SLOW = 3.0
"""Where a target takes more than a second to start, tools count as slow that many times later, at most."""

AT_ONCE = os.cpu_count() or 1
"""How many targets may be starting at the same time: a start is work, and more of them only hold each other up."""

GIVE_WAY = 0.05
"""Seconds after which a target is started ahead, if somebody waited for one just now."""

Watch = Callable[[Session], Observer | None]


class Connections:
    """Starts transports and wraps them into sessions; closes all of them, from any thread.

    While one process works, the next ones are started: `expect(n)` says how many more will be needed. Whoever waits for
    one comes before those that are started ahead.
    `answers` is what is answered to the target's questions.
    `started` counts the processes started, `requests` the requests made in sessions that are over.
    """

    def __init__(self, target: Target, limits: Limits, spares: int, watch: Watch | None = None) -> None:
        self.target = target
        self.limits = limits
        self.answers = Given()
        self.patience = Patience()
        self._secrets = secrets_of(target)
        self.started = 0
        self.requests = 0
        self._left = ""
        """What a server at a URL left behind when it was ended, for people."""
        self._patient = limits
        self._hurried = True
        self._spares = spares
        self._watch = watch
        self._lock = threading.Lock()
        self._turn = threading.Condition(self._lock)
        self._ready: deque[StdioTransport] = deque()
        self._wanted = 0
        self._coming = 0
        self._queue: deque[object] = deque()
        self._work = 0.0
        self._begun: deque[float] = deque(maxlen=AT_ONCE)
        self._alarm: threading.Timer | None = None
        self._open: set[Transport] = set()
        self._servers: list[RunningServer] = []
        self._shared: RunningServer | None = None
        self._starting = threading.Lock()
        self._closed = False

    def adapt(self, startup: float) -> None:
        """The target takes `startup` seconds to start: let the waits for it, silence, slow tools and its end fit that.

        From now on no more targets start within the time that one has been at work so far than there are cores.
        """
        with self._lock:
            open_ones = tuple(self._open)
        self._work = max((each.worked() for each in open_ones), default=0.0)
        quiet = min(self.limits.quiet, max(0.1, QUIET_STARTS * startup))
        shutdown = max(self.limits.shutdown, SHUTDOWN_STARTS * startup)
        longer = min(MOST_SLOW, max(1.0, startup))
        slow, late = self.limits.slow * longer, self.limits.late * longer
        start = min(self.limits.start, max(self.limits.answer, LATER_STARTS * startup))
        adapted = replace(self.limits, start=start, quiet=quiet, shutdown=shutdown, slow=slow, late=late)
        self.limits = self._patient = adapted

    def be_patient(self) -> None:
        """From now on every server gets the full time to end: what was found is put to the test again."""
        with self._lock:
            self.limits, self._hurried = self._patient, False
        self.patience.renew()

    def begin_with(self, started: StdioTransport | None) -> None:
        """Take over a target that was started already."""
        if started is not None:
            self._ready.append(started)
            self.started += 1

    def expect(self, processes: int) -> None:
        """`processes` more sessions will be asked for, so that they may be started ahead."""
        with self._lock:
            self._wanted += processes
        self._top_up()

    def session(
        self, revision: Revision, client: Json = None, *, own_process: bool = True, urgent: bool = False
    ) -> Session:
        """A session that has said nothing yet. Over HTTP it shares one server unless it needs its own process.

        What is `urgent` comes before what others wait for. Raises StartError.
        """
        transport = self._http(own_process) if self.target.url else self._stdio(urgent)
        session = Session(transport, era_of(revision), revision, client=client, limits=self.limits)
        session.secrets = self._secrets
        session.requests.patience = self.patience
        session.answers.given = self.answers
        if self._watch is not None and (observer := self._watch(session)) is not None:
            session.observers.append(observer)
        return session

    def bare(self) -> Connections:
        """Connections of their own to the same target, which is given neither variables nor headers."""
        return Connections(replace(self.target, env={}, headers={}), self.limits, 0, self._watch)

    def release(self, session: Session) -> None:
        """The session is closed and forgotten. Once an idle server had to be ended, the next ones get less time."""
        with self._lock:
            idle = self._hurried and session.opened and not session.spent and not any(session.pending)
            if idle and session.ending is not None and session.ending.how in ("terminated", "killed"):
                self.limits = replace(self.limits, shutdown=min(self.limits.shutdown, IMPATIENT), impatient=True)
            self._open.discard(session.transport)
            self.requests += len(session.calls)

    def forget(self, session: Session) -> None:
        """The session is closed, by whomever."""
        with self._lock:
            self._open.discard(session.transport)

    def refuse(self) -> None:
        """Begin no session from now on; those that are open go on."""
        with self._lock:
            self._closed = True
            self._turn.notify_all()
            if self._alarm is not None:
                self._alarm.cancel()

    def close(self, hurry: bool = False) -> None:
        """End everything that was ever started, in a `hurry` without waiting for any to go by itself.

        Sessions that still run see their target end.
        """
        self.refuse()
        with self._lock:
            # Nobody has spoken to those that are ready, so nobody minds how they end.
            transports = [(each, hurry) for each in self._open] + [(each, True) for each in self._ready]
            servers, self._servers = self._servers, []
            self._ready.clear()
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
        with self._lock:
            self._wanted = max(0, self._wanted - 1)
            self._await_turn(urgent)
            transport = self._ready.popleft() if self._ready else None
            if transport is None:
                self._begun.append(time.monotonic())
        if transport is None:
            transport = StdioTransport(self.target, self.limits)
            transport.start()
            self.started += 1
        transport.hold_to(self.limits)
        self._adopt(transport)
        self._top_up()
        return transport

    def _await_turn(self, urgent: bool) -> None:
        """Wait until a target is ready or may be started, one after another. To be called with the lock held."""
        me = object()
        if urgent:
            self._queue.appendleft(me)
        else:
            self._queue.append(me)
        while not self._closed and (self._queue[0] is not me or not (self._ready or self._until_turn() <= 0)):
            self._turn.wait(self._until_turn() if self._queue[0] is me else None)
        self._queue.remove(me)
        self._turn.notify_all()
        self._refuse_if_closed()

    def _until_turn(self) -> float:
        """Seconds until one more target may start. To be called with the lock held."""
        if len(self._begun) < AT_ONCE:
            return 0.0
        return self._begun[0] + self._work - time.monotonic()

    def _top_up(self) -> None:
        """Start ahead what will be needed, now or when it is its turn."""
        while not self.target.url:
            with self._lock:
                enough = len(self._ready) + self._coming >= min(self._spares, self._wanted)
                if self._closed or enough or self._alarm is not None:
                    return
                if (left := self._until_turn()) > 0 or self._queue:
                    self._alarm = threading.Timer(max(left, GIVE_WAY), self._again)
                    self._alarm.daemon = True
                    self._alarm.start()
                    return
                self._coming += 1
                self._begun.append(time.monotonic())
            if not self._start_spare():
                return

    def _again(self) -> None:
        with self._lock:
            self._alarm = None
        self._top_up()

    def _start_spare(self) -> bool:
        """Whether it could be started; if not, whoever needs it will be told."""
        transport = StdioTransport(self.target, self.limits)
        try:
            transport.start()
        except StartError:
            return False
        finally:
            with self._lock:
                self._coming -= 1
        with self._lock:
            self.started += 1
            if not self._closed:
                self._ready.append(transport)
                self._turn.notify_all()
                return True
        transport.close(hurry=True)
        return False

    def _http(self, own_process: bool) -> Transport:
        server = self._server(own_process)
        url = server.url if server is not None else self.target.url
        transport = HttpTransport(url, self.target.headers, self.limits, server, owned=own_process)
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
                self._shared = self._start_server()
            return self._shared

    def _start_server(self) -> RunningServer:
        # Not under the lock: starting takes long, and closing must not wait for it.
        server = RunningServer(self.target, self.limits)
        with self._lock:
            self._refuse_if_closed()
            self._servers.append(server)
            self.started += 1
        server.start()
        if self._closed:
            server.end()
        self._refuse_if_closed()
        return server

    def _adopt(self, transport: Transport) -> None:
        with self._lock:
            self._open.add(transport)
            closed = self._closed
        if closed:
            transport.close()
            raise StartError("the run was stopped")

    def _refuse_if_closed(self) -> None:
        if self._closed:
            raise StartError("the run was stopped")
