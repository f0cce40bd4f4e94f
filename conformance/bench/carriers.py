"""How requests get to a server under load: whole messages in bytes, through a transport that is open already."""

from __future__ import annotations

from typing import Protocol

from conformance.bench.operations import Operation
from conformance.model import members
from conformance.session.messages import encode, parse
from conformance.session.session import Session
from conformance.transports import Arrival, Ended, Transport


class Carrier(Protocol):
    """Sends requests and tells what comes back; used by one thread. `lost` says why nothing can be sent any more."""

    lost: str

    def send(self, operation: Operation, number: int) -> None:
        """Send a request with the id `number`. Does not wait."""

    def receive(self, seconds: float) -> Arrival | None:
        """The next message, or None if none came within `seconds`, or `lost` says why none will."""

    def reply(self, data: bytes) -> None:
        """Answer a message of the server's own, if it is a request."""

    def give_up(self, number: int) -> None:
        """Nobody waits for the answer to request `number` any more."""

    def rest(self) -> None:
        """Let go of what is only needed under load. More may be sent later."""


class TransportCarrier:
    """Over any transport of the suite. `session`, if there is one, has opened it and answers the server's requests."""

    def __init__(self, transport: Transport, session: Session | None = None) -> None:
        self.lost = ""
        self._transport = transport
        self._session = session

    def send(self, operation: Operation, number: int) -> None:
        """See `Carrier`."""
        self._transport.send(operation.message(b"%d" % number), operation.headers)

    def receive(self, seconds: float) -> Arrival | None:
        """See `Carrier`."""
        event = self._transport.receive(seconds)
        if isinstance(event, Ended):
            if event.exchange is None or event.then is not None:
                self.lost = (event.then or event).reason
            return event.arrival if event.arrival is not None and event.arrival.data else None
        return event if event is not None and event.data else None

    def give_up(self, number: int) -> None:
        """See `Carrier`. It may still come."""

    def rest(self) -> None:
        """See `Carrier`."""

    def reply(self, data: bytes) -> None:
        """See `Carrier`."""
        session, message = self._session, members(parse(data)[0])
        if session is None or "method" not in message or "id" not in message:
            return
        reply = session.answers.reply(message["method"], message.get("params"))
        if reply is not None:
            headers = session.era.headers(session, None) if self._transport.has_headers else None
            self._transport.send(encode({"jsonrpc": "2.0", "id": message["id"], **reply}), headers)
