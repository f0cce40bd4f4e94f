"""Servers that serve one connection at a time: one that is kept open and idle keeps all others waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet, WeakValueDictionary

from conformance.transports import Arrival, Ended, Inbox
from conformance.transports.http_client import connections, shut, socket_under

if TYPE_CHECKING:
    from httpx2 import Client

WAITING = 1.0
"""Seconds without an answer after which idle connections are closed, to see whether that is why."""
AT_ONCE = 0.25
"""Seconds within which the answer then comes, if it is."""
ENOUGH = 2
"""How often that has to be seen: a slow answer may come just then."""


class KeepAlive:
    """What the transports to one server share. From any thread.

    `headers` go with every request: once the server has answered twice as soon as idle connections were closed, they
    say that none is kept.
    """

    def __init__(self) -> None:
        self.clients: WeakSet[Client] = WeakSet()
        self.headers: dict[bytes, bytes] = {}
        self._released = 0.0
        self._seen = 0

    def receive(self, inbox: Inbox, timeout: float, waits: Callable[[float], bool]) -> Arrival | Ended | None:
        """What comes within `timeout` seconds; `waits` says whether something sent before a moment has no answer."""
        deadline = time.monotonic() + timeout
        while True:
            left = deadline - time.monotonic()
            arrival = inbox.get(min(left, WAITING))
            if arrival is not None or left <= WAITING:
                return arrival
            if waits(time.monotonic() - WAITING) and self.release():
                self._released = time.monotonic()

    def answered(self, written: float) -> None:
        """An answer begins to what was sent at that moment."""
        if written < self._released - WAITING and time.monotonic() < self._released + AT_ONCE:
            self._seen += 1
            if self._seen >= ENOUGH:
                self.headers = {b"Connection": b"close"}

    def release(self) -> bool:
        """Close the connections on which nothing is under way; whether there were any."""
        idle = [each for client in tuple(self.clients) for each in connections(client) if each.is_idle()]
        for each in idle:
            shut(socket_under(each))
        return bool(idle)


def of_server(address: str, client: Client) -> KeepAlive:
    """What is shared by all clients of that server, with `client` among them."""
    with _LOCK:
        shared = _SERVERS.get(address)
        if shared is None:
            shared = _SERVERS[address] = KeepAlive()
        shared.clients.add(client)
        return shared


_LOCK = threading.Lock()
_SERVERS: WeakValueDictionary[str, KeepAlive] = WeakValueDictionary()
