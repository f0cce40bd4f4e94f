"""HTTP+SSE: whether the target says where messages are posted, takes them there, and answers on the stream."""

from __future__ import annotations

from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.http_answers import due
from conformance.checks.invariants.stream import shown
from conformance.checks.ledger import Ledger
from conformance.model import Frame
from conformance.session.exchanges import is_stream, media_type
from conformance.session.messages import Call, id_key, is_id, is_message, parse
from conformance.session.session import Session
from conformance.transports.event_stream import MESSAGE
from conformance.transports.sse import NO_ENDPOINT, is_uri

TWO = "transport-sse/two-endpoints"
ENDPOINT = "transport-sse/endpoint-event-sent"
EVENTS = "transport-sse/messages-as-message-events"
PROCESSED = "transport-sse/posted-messages-processed"

NOT_THERE = (404, 405, 501)
EXCUSED = (401, 403, 408, 410, 413, 421, 429, 502, 503, 504)
"""Statuses that say that somebody may not, not now or not so much: nothing about the endpoint."""
MOST = 1000
"""Posts that are under way, and answers to them, that are remembered."""


class PostsApart(Watcher):
    """See the module. Nothing to do over other transports."""

    name = "posts-apart"
    requirements: ClassVar[tuple[str, ...]] = (TWO, ENDPOINT, EVENTS, PROCESSED)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._here = session.transport.posts_apart and bool(due(session, self.requirements))
        self._stream: Frame | None = None
        self._endpoint: Frame | None = None
        self._posts: dict[int, Frame] = {}
        self._taken = False
        self._heard = False
        self._in_posts: list[tuple[Frame, Frame]] = []
        """Requests, and the bodies that answer their POSTs."""

    def sent(self, frame: Frame) -> None:
        """Note what is posted."""
        super().sent(frame)
        if self._here and frame.channel == "post" and frame.exchange is not None and len(self._posts) < MOST:
            self._posts[frame.exchange] = frame

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge what comes on the stream, and how a POST is answered."""
        if not self._here or frame.part is not None:
            return
        post = self._posts.get(frame.exchange) if frame.exchange is not None else None
        if frame.channel == "endpoint" and self._endpoint is None:
            self._announced(frame)
        elif frame.exchange is None and frame.channel == "sse":
            self._event(frame, call)
        elif frame.channel == "head":
            if post is not None:
                self._answered(post, frame)
            elif self._stream is None and frame.exchange is not None and frame.exchange < min(self._posts, default=9):
                self._stream = frame
        elif frame.channel == "reply" and post is not None:
            self._reply(post, frame)
        elif frame.channel == "end":
            self._posts.pop(frame.exchange or 0, None)

    def finish(self) -> None:
        """Judge what only the end shows: no endpoint, and responses that came nowhere else."""
        ended, head = self.session.ended, self._stream
        if (
            self._here
            and head is not None
            and is_stream(head)
            and ended is not None
            and ended.reason.startswith(NO_ENDPOINT)
        ):
            self.ledger.broke(
                ENDPOINT,
                "the stream says nowhere to post messages",
                expected="an event of the type endpoint, with a URI",
                actual=ended.reason,
                frames=(head, *(frame for frame in self.session.trace if frame.channel in ("sse", "event"))),
            )
        if not self._here:
            return
        opening = [call for call in self.session.calls.values() if call.late and not self.session.opened]
        if self._taken and opening and not self._in_posts and not self._heard:
            self.ledger.broke(
                PROCESSED,
                "messages are taken at the endpoint, and nothing comes of them",
                expected="a response on the stream",
                actual=opening[0].lost,
                frames=(opening[0].sent, *([opening[0].head] if opening[0].head is not None else [])),
            )
        for asked, reply in self._in_posts:
            call = self.session.calls.get(id_key(asked.message["id"]))
            if call is None or call.answers:
                continue
            self.ledger.broke(
                EVENTS,
                "a response comes as the answer to the POST, and not on the stream",
                expected="an event of the type message on the stream",
                actual=shown(reply),
                frames=(asked, reply),
            )

    # -- inside

    def _announced(self, frame: Frame) -> None:
        self._endpoint = frame
        if is_uri(frame.data):
            self.ledger.held(ENDPOINT)
            return
        self.ledger.broke(
            ENDPOINT,
            "the data of the endpoint event is not a URI",
            expected="a URI, which may be relative",
            actual=shown(frame),
            frames=(frame,),
        )

    def _event(self, frame: Frame, call: Call | None) -> None:
        self._heard = True
        kind = frame.fields.get("event", "")
        proof = (call.sent, frame) if call is not None else (frame,)
        if kind not in MESSAGE:
            what, actual = f"a message comes as an event of the type {kind[:50]!a}", shown(frame)
            self.ledger.broke(EVENTS, what, expected="the type message", actual=actual, frames=proof)
        else:
            self.ledger.held(EVENTS)
        if call is not None and not call.sent.illegal:
            self.ledger.held(PROCESSED)

    def _answered(self, post: Frame, head: Frame) -> None:
        status = head.status or 0
        if 200 <= status < 300:
            self._taken = True
            self.ledger.held(TWO)
        elif post.illegal or not is_message(post.message) or 300 <= status < 400 or status in EXCUSED:
            return
        elif status in NOT_THERE:
            if not self._taken:
                self.ledger.broke(
                    TWO,
                    "no messages can be posted to the endpoint that the stream tells",
                    expected="an endpoint for POST",
                    actual=f"HTTP {status} ({media_type(head) or 'no content'})",
                    frames=(*((self._endpoint,) if self._endpoint is not None else ()), post, head),
                )
        else:
            self.ledger.broke(
                PROCESSED,
                "a message is refused that was posted to the endpoint",
                expected="the message is taken, and a request answered on the stream",
                actual=f"HTTP {status} ({media_type(head) or 'no content'})",
                frames=(post, head),
            )

    def _reply(self, post: Frame, reply: Frame) -> None:
        message, readable = parse(reply.data)
        if post.illegal or not readable or not isinstance(message, dict) or not is_id(message.get("id")):
            return
        asked = isinstance(post.message, dict) and id_key(post.message.get("id")) == id_key(message["id"])
        if asked and {"result", "error"} & set(message) and len(self._in_posts) < MOST:
            self._in_posts.append((post, reply))
