"""HTTP streams: what comes on which stream of events, how each begins and ends, and the ids of events."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.http_answers import TYPE, due, kind_of
from conformance.checks.invariants.stream import shown
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity, members
from conformance.session.exchanges import is_stream
from conformance.session.messages import Call, id_key, is_id
from conformance.session.session import Session
from conformance.target.urls import is_loopback
from conformance.transports import OURS, SESSION, UNFRAMED

DELIVERS = "transport-http/sse-delivers-response"
NOT_CLOSED = "transport-http/sse-not-closed-before-response"
ENDS = "transport-http/sse-ends-after-response"
PRIMING = "transport-http/sse-priming-event"
RETRY = "transport-http/sse-retry-before-close"
BUFFERING = "transport-http/sse-no-buffering-header"
NO_RESPONSES = "transport-http/get-stream-without-responses"
UNRELATED = "transport-http/get-stream-messages-unrelated"
ONE_STREAM = "transport-http/no-broadcast"
UNIQUE = "transport-http/event-ids-unique"

NO_EVENT = "an answer with the type of a stream of events has a message that is no event"
EARLY = "the stream of a request ends before the response"
NO_RETRY = "the connection of a stream is closed before the response, and nothing says when to come back"
QUESTIONS = ("elicitation/create", "sampling/createMessage")
"""Requests that come of what a client asked for; a server may want to know of roots by itself."""
MOST = 5_000
"""Event ids and messages that are remembered."""
PROXIES = ("via", "x-cache", "cf-ray", "x-served-by")


@dataclass(slots=True)
class _Stream:
    """A stream of events: what we `asked`, the requests that are `open`, by `id_key`, and what came on it so far.

    `owner` is the id of the server's session that it belongs to, if there is one.
    """

    asked: Frame
    open: set[str]
    head: Frame | None = None
    owner: str = ""
    begun: bool = False
    answered: bool = False
    identified: bool = False
    retry: bool = False
    garbled: bool = False


class HttpStreams(Watcher):
    """See the module. One object knows all streams of a session."""

    name = "http-streams"
    requirements: ClassVar[tuple[str, ...]] = (
        DELIVERS,
        NOT_CLOSED,
        ENDS,
        PRIMING,
        RETRY,
        BUFFERING,
        NO_RESPONSES,
        UNRELATED,
        ONE_STREAM,
        UNIQUE,
        TYPE,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._streams: dict[int, _Stream] = {}
        self._closed_early: list[_Stream] = []
        self._ids: dict[tuple[str, str], tuple[Frame, bytes]] = {}
        self._said: dict[str, Frame] = {}
        self._tokens: dict[str, int] = {}
        self._cancelled: set[str] = set()
        self._apart: list[tuple[Frame, Frame]] = []
        """Requests of ours, each with what was asked elsewhere while nothing else was under way."""
        self._replied: dict[str, int] = {}
        self._streamed = False
        self._due = due(session, self.requirements)

    def sent(self, frame: Frame) -> None:
        """Note what may be answered by a stream."""
        super().sent(frame)
        if frame.exchange is None or frame.illegal:
            return
        message = members(frame.message)
        if frame.channel == "post" and "method" not in message and len(self._replied) < MOST:
            self._replied[id_key(message.get("id"))] = frame.number
        if message.get("method") == "notifications/cancelled" and len(self._cancelled) < MOST:
            self._cancelled.add(id_key(members(message.get("params")).get("requestId")))
        if frame.channel == "get":
            self._streams[frame.exchange] = _Stream(frame, set())
        elif frame.channel == "post" and kind_of(frame.message) == "request":
            parts = frame.message if isinstance(frame.message, list) else [frame.message]
            requests = [part for part in parts if "method" in part and "id" in part]
            self._streams[frame.exchange] = _Stream(frame, {id_key(part["id"]) for part in requests})
            for part in requests:
                token = members(members(part.get("params")).get("_meta")).get("progressToken")
                if is_id(token) and len(self._tokens) < MOST:
                    self._tokens[id_key(token)] = frame.exchange

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge what comes on a stream of events."""
        stream = self._streams.get(frame.exchange) if frame.exchange is not None else None
        if stream is None:
            return
        if frame.channel == "head":
            stream.head = frame
            stream.owner = self._owner(stream.asked, frame)
            if is_stream(frame) and (frame.status or 0) < 300:
                self._streamed |= stream.asked.channel == "post"
                self._buffering(stream, frame)
        elif UNFRAMED in frame.fields:
            proof = (stream.asked, *([stream.head] if stream.head is not None else []), frame)
            self._broke(TYPE, NO_EVENT, "data: and the message, then a blank line", shown(frame), proof)
        elif frame.channel in ("sse", "event"):
            if frame.part is None:
                self._event(stream, frame)
            if isinstance(frame.message, dict):
                self._message(stream, frame, frame.message)
        elif frame.channel == "body" and call is not None:
            self._answered_by_post()
        elif frame.channel == "end":
            del self._streams[frame.exchange or 0]
            if stream.head is not None and is_stream(stream.head) and (stream.head.status or 0) < 300:
                self._end(stream)

    def finish(self) -> None:
        """Judge streams that ended without a response, which may have come elsewhere or later, and questions apart."""
        for asked, question in self._apart:
            self._apart_from(asked, question)
        ended = self.session.ended
        if ended is None or ended.reason == OURS:
            for stream in self._closed_early:
                self._early(stream)

    # -- events

    def _buffering(self, stream: _Stream, head: Frame) -> None:
        value = head.headers.get("x-accel-buffering", "")
        if value.strip().lower() == "no":
            self.ledger.held(BUFFERING)
        elif not value and not self._direct(head):
            self.ledger.inconclusive(BUFFERING, "a proxy may have taken X-Accel-Buffering out of the answer")
        else:
            what = "a stream of events does not forbid that proxies buffer it"
            self._broke(BUFFERING, what, "X-Accel-Buffering: no", value or "no such header", (stream.asked, head))

    def _direct(self, head: Frame) -> bool:
        """Whether the answer surely comes from the server itself."""
        return is_loopback(self.session.transport.host) and not any(name in head.headers for name in PROXIES)

    def _event(self, stream: _Stream, frame: Frame) -> None:
        identifier = frame.fields.get("id", "")
        # A block with neither data nor an id is no event: it only says when to come back.
        if identifier or frame.data:
            if not stream.begun and stream.asked.channel == "post":
                self._first(stream, frame, bool(identifier))
            stream.begun = True
        stream.identified |= bool(identifier)
        stream.retry |= "retry" in frame.fields
        stream.garbled |= bool(frame.data) and not frame.readable
        if identifier:
            self._unique(stream, frame, identifier)

    def _first(self, stream: _Stream, frame: Frame, identified: bool) -> None:
        if identified and frame.channel == "event":
            self.ledger.held(PRIMING)
            return
        asked = members(stream.asked.message)
        if (
            members(asked.get("params")).get("protocolVersion", self.session.revision.date)
            != self.session.revision.date
        ):
            return  # a client of another revision, which may not know such events
        what = "a stream of events does not begin with an event that has an id and no data"
        proof = (stream.asked, frame)
        actual = f"first {shown(frame)}" if frame.data else "first an event without an id"
        # Who has no ids does not offer to resume the stream, and then it is of no use.
        ceiling = None if identified else Severity.ADVICE
        self._broke(PRIMING, what, "an event with an id and empty data", actual, proof, ceiling)

    def _unique(self, stream: _Stream, frame: Frame, identifier: str) -> None:
        digest = hashlib.sha256(frame.data).digest()
        known = self._ids.get((stream.owner, identifier))
        if known is None:
            if len(self._ids) < MOST:
                self._ids[stream.owner, identifier] = (frame, digest)
            if len(self._ids) > 1:
                self.ledger.held(UNIQUE)
        elif known[1] != digest or not self._replayed(known[0], frame):
            what = "two events of a session have the same id"
            self._broke(UNIQUE, what, "an id for each event", f"id {identifier[:100]!r} again", (known[0], frame))

    def _owner(self, asked: Frame, head: Frame) -> str:
        # Each initialize that a case repeats is answered in a session of its own.
        given = head.headers.get(SESSION.lower()) or asked.headers.get(SESSION)
        return given or self.session.http_headers.get(SESSION, "")

    def _replayed(self, *frames: Frame) -> bool:
        """Whether one of them came again on purpose, on the rest of a stream that was broken off."""
        return any(frame.exchange in self.session.watching.replayed for frame in frames)

    # -- messages

    def _message(self, stream: _Stream, frame: Frame, message: dict[str, Json]) -> None:
        posted = stream.asked.channel == "post"
        response = "method" not in message and bool(message.keys() & {"result", "error"})
        if posted and stream.answered:
            what = "a stream of events goes on after the response"
            self._broke(ENDS, what, "the end of the stream", shown(frame), (stream.asked, frame))
        if not posted:
            if response:
                what = "a response comes on a stream that was opened by GET"
                self._broke(NO_RESPONSES, what, "responses on the streams of their requests", shown(frame), (frame,))
            else:
                self._related(frame, message)
        elif posted and response and is_id(message.get("id")):
            stream.open.discard(id_key(message["id"]))
            stream.answered = not stream.open
            self._answered_by_post()
        self._once(frame, message, response)

    def _answered_by_post(self) -> None:
        heads = [each.head for each in self._streams.values() if each.asked.channel == "get"]
        if any(head is not None and is_stream(head) for head in heads):
            self.ledger.held(NO_RESPONSES)

    def _related(self, frame: Frame, message: dict[str, Json]) -> None:
        token = members(message.get("params")).get("progressToken")
        if message.get("method") in QUESTIONS and is_id(message.get("id")):
            calls = [each.asked for each in self._streams.values() if each.asked.channel == "post" and each.open]
            if len(calls) == 1 and len(self._apart) < MOST:
                self._apart.append((calls[0], frame))
            return
        if message.get("method") != "notifications/progress" or not is_id(token):
            self.ledger.held(UNRELATED)
            return
        exchange = self._tokens.get(id_key(token))
        running = self._streams.get(exchange) if exchange is not None else None
        if running is None:
            return
        if running.head is None or not is_stream(running.head):
            self.ledger.inconclusive(UNRELATED, "progress of a request has no stream but that of GET")
            return
        what = "progress of a running request comes on a stream that was opened by GET"
        proof = (running.asked, frame)
        self._broke(UNRELATED, what, "progress on the stream of the request", shown(frame), proof)

    def _apart_from(self, asked: Frame, question: Frame) -> None:
        """Judge a question on a stream of GET while one request was under way, which waited for the reply."""
        call = self.session.calls.get(id_key(members(asked.message).get("id")))
        replied = self._replied.get(id_key(question.message["id"]))
        if call is None or not call.answers or replied is None or replied > call.answers[0].number:
            return
        if not self._streamed:
            self.ledger.inconclusive(UNRELATED, "questions of a request have no stream but that of GET")
            return
        what = "what a running request asks the client comes on a stream that was opened by GET"
        self._broke(UNRELATED, what, "the question on the stream of the request", shown(question), (asked, question))

    def _once(self, frame: Frame, message: dict[str, Json], response: bool) -> None:
        """Judge a message that there can be only once: a request, a response, one step of progress."""
        params = members(message.get("params"))
        if response or "id" in message:
            key = f"{'response' if response else 'request'} {id_key(message.get('id'))}"
        elif message.get("method") == "notifications/progress":
            key = f"progress {id_key(params.get('progressToken'))} {params.get('progress')!r}"
        else:
            return
        known = self._said.get(key)
        if known is None:
            if len(self._said) < MOST:
                self._said[key] = frame
            if len(self._streams) > 1:
                self.ledger.held(ONE_STREAM)
        elif known.exchange != frame.exchange and known.exchange in self._streams and known.data == frame.data:
            what = "the same message comes on two streams"
            self._broke(ONE_STREAM, what, "each message on one stream", shown(frame), (known, frame))

    # -- ends

    def _end(self, stream: _Stream) -> None:
        if stream.asked.channel != "post":
            return
        if stream.answered:
            self.ledger.held(DELIVERS)
            self.ledger.held(NOT_CLOSED)
            self.ledger.held(ENDS)
        elif len(self._closed_early) < MOST and not stream.garbled:  # what is garbled may be the response
            self._closed_early.append(stream)

    def _retry(self, stream: _Stream) -> None:
        if stream.retry:
            self.ledger.held(RETRY)
            return
        self._broke(RETRY, NO_RETRY, "an event with a retry field", "no retry field", self._proof(stream))

    def _early(self, stream: _Stream) -> None:
        """The stream ended, and at least one response did not come on it."""
        calls = [self.session.calls.get(key) for key in stream.open]
        if stream.open & self._cancelled or any(call is None or call.excused for call in calls):
            return
        if stream.identified:
            self._retry(stream)
        elsewhere = [call for call in calls if call is not None and call.answers]
        if elsewhere and elsewhere[0].answers[0].exchange in (None, stream.asked.exchange):
            return
        if elsewhere and not stream.identified:
            what = "the response comes on another stream than that of its request"
            proof = (*self._proof(stream), elsewhere[0].answers[0])
            self._broke(DELIVERS, what, "the response on the stream", "the end of the stream", proof)
            return
        if elsewhere:
            self.ledger.held(DELIVERS)
        what = EARLY
        self._broke(NOT_CLOSED, what, "the response, then the end", "the end", self._proof(stream))
        if not stream.identified:
            self._broke(DELIVERS, what, "the response on the stream", "the end of the stream", self._proof(stream))

    def _proof(self, stream: _Stream) -> tuple[Frame, ...]:
        return tuple(frame for frame in (stream.asked, stream.head) if frame is not None)

    def _broke(
        self,
        requirement: str,
        what: str,
        expected: str,
        actual: str,
        proof: tuple[Frame, ...],
        ceiling: Severity | None = None,
    ) -> None:
        if requirement in self._due:
            self.breach(requirement, what, expected, actual, proof, ceiling)
