"""Our own cost, measured in the same run: the same client, asking a server that does nothing but answer."""

from __future__ import annotations

import sys
import time

from conformance.bench import bare
from conformance.bench.answers import Answers
from conformance.bench.carriers import Carrier, TransportCarrier
from conformance.bench.client import Client
from conformance.bench.clock import Clock
from conformance.bench.http_carrier import HttpCarrier
from conformance.bench.measured import Cell
from conformance.bench.operations import FIRST_ID, PLACE, Operation
from conformance.bench.plan import Plan
from conformance.model import Target
from conformance.revisions import HTTP, STDIO
from conformance.session.messages import encode
from conformance.target.listening import RunningServer
from conformance.transports import Transport
from conformance.transports.http import HttpTransport
from conformance.transports.http_client import client_for
from conformance.transports.stdio import StdioTransport

NAME = "ping"
COMMAND = (sys.executable, "-I", "-S", bare.__file__)


class BareLoop:
    """`cells` by the number of requests in flight.

    `alike` says whether it is asked over the transport that is measured, so that the figures can be compared; over
    others than stdio and HTTP it is asked over stdio, and only tells what the machine does.
    """

    def __init__(self, transport: str, plan: Plan, clock: Clock) -> None:
        self.cells: dict[int, Cell] = {}
        self.operation = _ping()
        self.alike = transport in (STDIO, HTTP)
        self.client: Client
        self._over_http = transport == HTTP
        self._plan = plan
        self._clock = clock
        self._transport: Transport | None = None

    def open(self) -> None:
        """Start it. Raises StartError."""
        carrier = self._http() if self._over_http else self._stdio()
        self.client = Client(carrier, Answers("", False), self._clock)

    def measure(self, load: int, seconds: float) -> None:
        """A block with so many requests in flight."""
        cell = self.cells.setdefault(load, Cell(NAME, load))
        cell.blocks.append(self.client.one_by_one([self.operation], 100_000, time.monotonic() + seconds, load))

    def close(self) -> None:
        """End it. Idempotent."""
        if self._transport is not None:
            self._transport.close(hurry=True)

    # -- inside

    def _stdio(self) -> Carrier:
        transport = StdioTransport(Target(COMMAND), self._plan.options.limits)
        self._transport = transport
        transport.start()
        return TransportCarrier(transport)

    def _http(self) -> Carrier:
        limits = self._plan.options.limits
        server = RunningServer(Target((*COMMAND, "{port}"), "http://127.0.0.1:{port}/"), limits)
        try:
            server.start()
        except BaseException:
            server.end()
            raise
        url, client = client_for(server.url, {}, limits)
        client.close()
        self._transport = transport = HttpTransport(server.url, {}, limits, server, owned=True)
        return HttpCarrier(transport, url, {"Content-Type": "application/json", "Accept": "application/json"})


def _ping() -> Operation:
    message = encode({"jsonrpc": "2.0", "id": FIRST_ID, "method": NAME})
    return Operation(NAME, NAME, None, tuple(message.split(PLACE.encode())))
