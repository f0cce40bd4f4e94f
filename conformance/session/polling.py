"""Streams that the server cuts off before the response: a client asks for the rest of them later, by GET."""

from __future__ import annotations

import time
from collections.abc import Collection
from typing import NamedTuple, Protocol

from conformance.model import Frame, Json
from conformance.session.messages import Call, How
from conformance.transports import SESSION, UNFRAMED, Ended, Transport
from conformance.transports.event_stream import STREAM

RESUME = "resume"
"""The channel of a GET that asks for the rest of a stream."""
USUAL = 1.0
"""Seconds until we come back to a server that does not say when."""
MOST = 200
"""Times that we come back for one response."""
LONGEST_AWAY = 60.0
"""Seconds that we stay away for one response, at most, beyond the time for an answer."""


class Cut(NamedTuple):
    """A stream that is to be asked for again at `due`: `last` is the id of its last event, `ended` how it was cut off.

    `retry` is how many seconds the server wants us to stay away, `times` how often we have come back.
    """

    call: Call
    last: str
    ended: Ended
    retry: float = USUAL
    times: int = 0
    due: float = 0.0


class Polling:
    """What is known of the streams on which responses are to come, by the number of their HTTP exchange.

    Where streams are not `resumable`, nobody comes back.
    """

    def __init__(self, resumable: bool = True) -> None:
        self._resumable = resumable
        self._streams: dict[int, Cut] = {}
        self._cuts: list[Cut] = []
        self._first: dict[int, int] = {}

    def heard(self, call: Call, frame: Frame) -> None:
        """An event came on the stream on which the response to `call` is to come."""
        if UNFRAMED in frame.fields or (frame.channel == "sse" and not frame.readable):
            self._streams.pop(frame.exchange or 0, None)  # the rest would be no more than that again
            return
        last, retry = frame.fields.get("id"), frame.fields.get("retry", "")
        if not self._resumable or frame.exchange is None or not (last or retry):
            return
        known = self._streams.get(frame.exchange) or Cut(call, "", Ended(0.0, ""))
        if retry.isascii() and retry.isdigit():
            known = known._replace(retry=int(retry[:9]) / 1000)
        self._streams[frame.exchange] = known._replace(last=last or known.last)

    def cut(self, call: Call, ended: Ended) -> Ended | None:
        """A stream has ended without the response to `call`: how it ended, or None if there may be more of it."""
        stream = self._streams.pop(ended.exchange or 0, None)
        if stream is None:
            return ended
        first = stream.ended if stream.times else ended
        came = call.head is not None and call.head.exchange == ended.exchange and call.head.status == 200
        if not came or not stream.last or call.done or call.excused or stream.times >= MOST:
            return first
        self._cuts.append(stream._replace(ended=first, due=time.monotonic() + stream.retry))
        return None

    @property
    def due(self) -> float | None:
        """Seconds until a stream is to be asked for again, None if none is."""
        self._cuts = [cut for cut in self._cuts if not (cut.call.done or cut.call.excused)]
        return min(cut.due for cut in self._cuts) - time.monotonic() if self._cuts else None

    def extended(self, deadline: float, calls: Collection[Call], limit: float) -> float:
        """`deadline`; if it is over and we are still to stay away before one of `calls` can be answered, a later one.

        That is `limit` seconds after we come back, unless we are sent away for too long.
        """
        now = time.monotonic()
        if deadline > now:
            return deadline
        due = [cut.due for cut in self._cuts if cut.call in calls and cut.retry * (cut.times + 1) <= LONGEST_AWAY]
        return max(due) + limit if due else deadline

    def sent_away(self, call: Call) -> str:
        """Why no answer can have come yet, "" if we have not been sent away."""
        retry = max((cut.retry for cut in self._cuts if cut.call is call), default=0.0)
        return f"the server wants to be asked for it again after {retry:g} s" if retry > USUAL else ""

    def take(self) -> Cut | None:
        """The next stream that is to be asked for again now."""
        due = self.due
        if due is None or due > 0:
            return None
        self._cuts.remove(cut := min(self._cuts, key=lambda each: each.due))
        return cut

    def origin(self, exchange: int | None) -> int | None:
        """The exchange on which the stream began of which this one brings the rest, or else itself."""
        return exchange if exchange is None else self._first.get(exchange, exchange)

    def resumed(self, cut: Cut, exchange: int) -> None:
        """The rest of that stream was asked for."""
        self._first[exchange] = cut.call.sent.exchange or 0
        self._streams[exchange] = cut._replace(times=cut.times + 1)


class Speaks(Protocol):
    """What a session must have so that it can come back."""

    http_headers: dict[str, str]

    @property
    def alive(self) -> bool:
        """Whether the target still talks."""
        ...

    @property
    def requests(self) -> Asked:
        """Those of the session."""
        ...

    @property
    def transport(self) -> Transport:
        """That of the session."""
        ...

    def record_sent(self, data: bytes, message: Json, how: How, exchange: int | None, readable: bool) -> Frame:
        """Enter what was sent."""
        ...


class Asked(Protocol):
    """What it must know of its requests."""

    @property
    def polling(self) -> Polling:
        """The streams on which responses are to come."""
        ...

    @property
    def by_exchange(self) -> dict[int, Call]:
        """What was asked on which HTTP exchange."""
        ...


def come_back(session: Speaks, seconds: float) -> float:
    """Ask for the rest of the streams that are due; of the `seconds` that may be waited those until the next is."""
    requests = session.requests
    while session.alive and (cut := requests.polling.take()) is not None:
        named = {SESSION: cut.call.opens} if cut.call.opens else {}  # that session is not open yet
        headers = {**session.http_headers, **named, "Accept": STREAM, "Last-Event-ID": cut.last}
        exchange = session.transport.send(b"", headers, "GET")
        session.record_sent(b"", None, How(verb=RESUME), exchange, False)
        if exchange is not None:
            requests.by_exchange[exchange] = cut.call
            requests.polling.resumed(cut, exchange)
    due = requests.polling.due
    return seconds if due is None else max(0.0, min(seconds, due))
