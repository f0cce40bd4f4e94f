"""HTTP answers: with which status, type and body a POST is answered, and which session ids are given out."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from conformance.catalogue.requirements import load
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.stream import shown
from conformance.checks.ledger import Ledger
from conformance.codes import HEADER_MISMATCH, METHOD_NOT_FOUND, MISSING_CAPABILITY, UNSUPPORTED_VERSION
from conformance.model import Frame, Json, Severity
from conformance.session.exchanges import STREAM, media_type
from conformance.session.messages import Call, id_key, is_id, is_message
from conformance.session.patience import NO_ANSWER
from conformance.session.session import Session
from conformance.transports import EMPTY, SESSION

NOTIFICATION = "transport-http/notification-accepted-202"
RESPONSE = "transport-http/response-accepted-202"
RESPONSES = "transport-http/response-batch-accepted-202"
REFUSED = "transport-http/refused-with-http-error"
TYPE = "transport-http/request-answered-as-json-or-sse"
ONE_OBJECT = "transport-http/json-answer-is-one-object"
NO_OBJECT = "a request is answered by a JSON body that is not JSON, or not one object"
NO_RESPONSE = "a request is answered by a JSON body that is not a response"
ENDPOINT = "transport-http/post-endpoint"
VISIBLE = "transport-http/session-id-visible-ascii"
ECHOED = "jsonrpc/response-id-echoed"
READ = (METHOD_NOT_FOUND, HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION)
"""Codes of errors that show that the request, and so its id, was read; unless a header is refused before the body."""

JSON = "application/json"
_VISIBLE = re.compile(r"[\x21-\x7e]+")
NO_POST = {405: "Method Not Allowed", 501: "Not Implemented"}

Kind = Literal["request", "notification", "response", "responses", ""]
NAMES = {"notification": "a notification", "response": "a response", "responses": "a batch of responses"}
ACCEPTED = {"notification": NOTIFICATION, "response": RESPONSE, "responses": RESPONSES}


def kind_of(message: Json) -> Kind:
    """What a POST of the message is: any request makes it one, and "" is something else than messages."""
    parts = message if isinstance(message, list) else [message]
    if not parts or not all(map(is_message, parts)):
        return ""
    if any("method" in part and "id" in part for part in parts):
        return "request"
    if all("method" in part for part in parts):
        return "notification"
    if any("method" in part for part in parts):
        return ""
    return "responses" if isinstance(message, list) else "response"


def due(session: Session, requirements: Iterable[str]) -> frozenset[str]:
    """Those that hold in the revision of the session."""
    known = load()
    return frozenset(each for each in requirements if session.revision.date in known[each].levels)


def _is_error(frame: Frame) -> bool:
    return isinstance(frame.message, dict) and isinstance(frame.message.get("error"), dict)


@dataclass(slots=True)
class _Post:
    """A POST that is under way: what it is, and what came of it."""

    sent: Frame
    kind: Kind
    head: Frame | None = None
    said: list[Frame] = field(default_factory=list)


class HttpAnswers(Watcher):
    """See the module."""

    name = "http-answers"
    requirements: ClassVar[tuple[str, ...]] = (
        NOTIFICATION,
        RESPONSE,
        RESPONSES,
        REFUSED,
        TYPE,
        ONE_OBJECT,
        ENDPOINT,
        VISIBLE,
        ECHOED,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._posts: dict[int, _Post] = {}
        self._asked: dict[int, Frame] = {}
        self._due = due(session, self.requirements)
        self._latest = 0

    def sent(self, frame: Frame) -> None:
        """Note what is posted."""
        super().sent(frame)
        if frame.channel == "post" and frame.exchange is not None:
            if self.session.revision.era == "stateless" and frame.readable and is_message(frame.message):
                self._asked[frame.exchange] = frame
            kind = kind_of(frame.message) if frame.readable else ""
            if kind and not (frame.illegal and kind not in ("notification", "response")):
                self._posts[frame.exchange] = _Post(frame, kind)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the head of an answer, or the whole at its end."""
        self._named(frame)
        self._latest = max(self._latest, frame.exchange or 0)
        post = self._posts.get(frame.exchange) if frame.exchange is not None else None
        if post is None or frame.part is not None:
            return
        if frame.channel == "head":
            post.head = frame
            self._head(post, frame)
        elif frame.channel == "end":
            del self._posts[post.sent.exchange or 0]
            if post.head is not None and not 300 <= (post.head.status or 0) < 400:
                self._end(post, post.head, EMPTY in frame.fields)
        elif len(post.said) < 2:
            post.said.append(frame)

    def finish(self) -> None:
        """Judge the notifications whose POST went unanswered while the server answered a later one."""
        for exchange, post in self._posts.items():
            seconds = self.session.posts.unanswered.get(exchange)
            if post.kind == "notification" and seconds is not None and post.head is None and self._latest > exchange:
                what, given = "a notification is not answered over HTTP", f"{NO_ANSWER} {seconds:.3g} s"
                ceiling = Severity.WARNING if post.sent.illegal else None
                self._broke(NOTIFICATION, what, "HTTP 202 without a body", given, post, ceiling)

    def _named(self, frame: Frame) -> None:
        """An error that shows that the request was read repeats its id, be the request wrong in other ways."""
        sent = self._asked.get(frame.exchange) if frame.exchange is not None else None
        if frame.channel == "end" and frame.exchange is not None:
            self._asked.pop(frame.exchange, None)
        message = frame.message
        if sent is None or not isinstance(message, dict) or "method" in message or message.get("id") is not None:
            return
        error = message.get("error")
        if is_id(sent.message.get("id")) and isinstance(error, dict) and error.get("code") in READ:
            what = "an error does not repeat the id of its request, which was read"
            expected = f"id {sent.message['id']!r}"
            unread = sent.illegal or error["code"] == HEADER_MISMATCH
            softer = self.softened(Severity.WARNING if unread else None)
            self.breach(ECHOED, what, expected, message, (sent, frame), softer)

    def _head(self, post: _Post, head: Frame) -> None:
        status = head.status or 0
        if status in NO_POST and not post.sent.illegal:
            what = f"a POST of a message is answered by {status}, as if the URL were not for POST"
            self._broke(ENDPOINT, what, "an answer to the message", f"HTTP {status} {NO_POST[status]}", post, None)
        elif status < 300:
            self.ledger.held(ENDPOINT)
        if status < 300 and (identifier := head.headers.get(SESSION.lower())) is not None:
            self._session_id(post, head, identifier)

    def _session_id(self, post: _Post, head: Frame, identifier: str) -> None:
        if _VISIBLE.fullmatch(identifier):
            self.ledger.held(VISIBLE)
        else:
            what = "the session id has characters that are not visible ASCII"
            self._broke(VISIBLE, what, "only characters from 0x21 to 0x7E", repr(identifier), post, None)

    def _end(self, post: _Post, head: Frame, empty: bool) -> None:
        if post.kind == "request":
            if (head.status or 0) < 300:
                self._request(post, head)
                if empty and not post.said and media_type(head) == JSON and not self._excused(post.sent.message):
                    self._broke(ONE_OBJECT, NO_OBJECT, "one JSON object: the response", "an empty body", post, None)
            elif any(isinstance(f.message, dict) and "result" in f.message for f in post.said):
                what = "a request is answered by a result, while the HTTP status says that it failed"
                given = f"HTTP {head.status}"
                self._broke(TYPE, what, "HTTP 200 with the result", given, post, self.softened(Severity.WARNING))
            elif media_type(head) not in (JSON, STREAM) and any(map(_is_error, post.said)):
                # Refusals may have any type, but clients that go by it do not see the error.
                what = "a JSON-RPC error is labelled as something else"
                given = head.headers.get("content-type", "no Content-Type")
                self._broke(TYPE, what, f"Content-Type: {JSON}", given, post, Severity.ADVICE)
        else:
            self._accepted(post, head)

    def _excused(self, message: Json) -> bool:
        """Whether no answer is due: it was cancelled, or given up."""
        parts = message if isinstance(message, list) else [message]
        calls = [self.session.calls.get(id_key(part["id"])) for part in parts if "id" in part]
        return any(call is None or call.excused for call in calls)

    def _accepted(self, post: _Post, head: Frame) -> None:
        """Judge the answer to what asks for none."""
        status, name = head.status or 0, NAMES[post.kind]
        if status >= 400:
            self.ledger.held(REFUSED)
            return
        if any(map(_is_error, post.said)):
            what = f"{name} is refused by an error in the body, while the HTTP status {status} says that all is well"
            self._broke(REFUSED, what, "an HTTP error status", f"HTTP {status}", post, self.softened())
        elif post.sent.illegal:
            return
        elif status != 202:
            what = f"{name} is answered by HTTP status {status} instead of 202"
            self._broke(ACCEPTED[post.kind], what, "HTTP 202 without a body", f"HTTP {status}", post, None)
        elif post.said:
            blank = not any(frame.data.strip() for frame in post.said)
            what = f"the answer 202 to {name} has a body"
            ceiling = Severity.WARNING if blank else None
            self._broke(ACCEPTED[post.kind], what, "HTTP 202 without a body", shown(post.said[0]), post, ceiling)
        else:
            self.ledger.held(ACCEPTED[post.kind])

    def _request(self, post: _Post, head: Frame) -> None:
        """Judge an answer whose status is a good one."""
        kind = media_type(head)
        if kind not in (JSON, STREAM):
            if not self.session.opened and not any(b'"jsonrpc"' in frame.data for frame in post.said):
                return  # a web page and the like: no server of MCP, so nothing to judge
            given = head.headers.get("content-type", "no Content-Type")
            what = f"a request is answered by HTTP status {head.status} with neither JSON nor a stream of events"
            self._broke(TYPE, what, f"Content-Type: {JSON} or {STREAM}", given, post, None)
            return
        self.ledger.held(TYPE)
        if kind == JSON and post.said and not post.said[0].unread:
            self._json(post, post.said[0])

    def _json(self, post: _Post, body: Frame) -> None:
        message, batch = body.message, isinstance(post.sent.message, list)
        if more := body.fields.get("surplus"):
            # Clients drop them, or take them for the next answer.
            what = "bytes come after the end of a JSON body, which its Content-Length does not count"
            ceiling = Severity.WARNING if body.readable else None
            self._broke(ONE_OBJECT, what, "a Content-Length of the whole body in bytes", f"{more} more", post, ceiling)
            return
        if not body.readable:
            what = NO_OBJECT
        elif isinstance(message, list):
            if batch or self.session.revision.batches:
                self.ledger.held(ONE_OBJECT)
            else:
                self.ledger.block(ONE_OBJECT, "jsonrpc/no-batch-emitted")
            return
        elif isinstance(message, dict) and "method" not in message and message.keys() & {"result", "error"}:
            self.ledger.held(ONE_OBJECT)
            return
        else:
            what = NO_RESPONSE
        self._broke(ONE_OBJECT, what, "one JSON object: the response", shown(body), post, None)

    def _broke(
        self, requirement: str, what: str, expected: str, actual: str, post: _Post, ceiling: Severity | None
    ) -> None:
        proof = tuple(frame for frame in (post.sent, post.head, *post.said[:1]) if frame is not None)
        if requirement in self._due:
            self.breach(requirement, what, expected, actual, proof, ceiling)
