"""Envelope: each message is a well-formed request, notification or response; each request is answered once."""

from __future__ import annotations

from collections import deque
from functools import partial
from typing import Any, ClassVar

from conformance.budget import brief
from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher, is_integer
from conformance.checks.invariants.http_answers import ONE_OBJECT
from conformance.checks.invariants.strays import as_double, code, may_name, meant, outlined
from conformance.checks.ledger import Ledger
from conformance.codes import PARSE_ERROR
from conformance.model import Finding, Frame, Json, Severity
from conformance.session.features import HUNG, named, takes_long
from conformance.session.messages import DEEPEST, Shallow, is_id
from conformance.session.requests import is_response
from conformance.session.session import MAY_TAKE_LONG, Call, Session, id_key

VALID = "jsonrpc/valid-messages"
VERSION = "jsonrpc/version-member"
ONCE = "jsonrpc/every-request-answered-once"
ECHOED = "jsonrpc/response-id-echoed"
XOR = "jsonrpc/result-xor-error"
OBJECT = "jsonrpc/result-is-object"
MEMBERS = "jsonrpc/error-has-code-and-message"
CODE = "jsonrpc/error-code-integer"
SILENT = "jsonrpc/notification-never-answered"
NO_ID = "jsonrpc/notification-without-id"
REQUEST_ID = "jsonrpc/server-request-id-valid"
REUSED = "jsonrpc/server-request-id-not-reused"
NO_BATCH = "jsonrpc/no-batch-emitted"
NO_REQUESTS = "jsonrpc/no-server-requests"
UNREAD = "jsonrpc/parse-error-code"


MOST_REMEMBERED = 1000
"""Requests of the server, and responses to nothing, that are remembered: a flood of them must not fill our memory."""
MOST_ILLEGAL, LONGEST_KEPT = 20, 4096
"""Illegal frames that are remembered, and bytes of each."""


class Envelope(Watcher):
    """See the module."""

    name = "envelope"
    requirements: ClassVar[tuple[str, ...]] = (
        VALID,
        VERSION,
        ONCE,
        ECHOED,
        XOR,
        OBJECT,
        MEMBERS,
        CODE,
        SILENT,
        NO_ID,
        REQUEST_ID,
        REUSED,
        NO_BATCH,
        NO_REQUESTS,
        UNREAD,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._notifications: list[Frame] = []
        self._illegal: Frame | None = None
        self._batched = self._illegal_array = False
        self._server_ids: dict[str, Frame] = {}
        self._strays: list[tuple[Frame, Call | None]] = []
        """Responses that answer no request under way, and the one that each names, if that was answered before."""
        self._unreadable: deque[bytes] = deque(maxlen=MOST_ILLEGAL)
        """How the last illegal frames begin, some of which a server cannot read: there it may find an id."""
        self._accepted: set[int] = set()

    def sent(self, frame: Frame) -> None:
        """Remember what could be answered wrongly."""
        super().sent(frame)
        if (
            isinstance(frame.message, dict)
            and frame.exchange is not None
            and not {"method", "id"} <= frame.message.keys()
        ):
            self._accepted.add(frame.exchange)
        if frame.illegal:
            self._illegal = self._illegal or frame
            self._unreadable.append(frame.data[:LONGEST_KEPT])
            self._illegal_array |= isinstance(frame.message, list)
        elif isinstance(frame.message, list):
            self._batched = True
        elif isinstance(frame.message, dict) and "method" in frame.message and "id" not in frame.message:
            self._notifications.append(frame)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge one message."""
        message = frame.message
        if isinstance(message, list) and frame.part is None:
            if not self._illegal_array:  # else it answers one: no text says what a server makes of that
                self._broke(NO_BATCH, "an array of messages was sent", "single messages", "an array", frame)
            return
        if not isinstance(message, dict) or (frame.channel == "body" and (frame.status or 200) >= 400 and not call):
            return
        self.ledger.held(NO_BATCH)
        if "method" not in message and not is_response(message):
            if frame.exchange not in self._accepted:  # how HTTP takes what is no request is judged elsewhere
                what = "a message is neither request, notification nor response"
                self._broke(VALID, what, "method, result or error", shorten(message), frame)
            return
        if isinstance(message, Shallow):
            self.ledger.broke(
                VALID,
                f"a message is nested more than {DEEPEST} levels deep, which many clients cannot read",
                expected="fewer levels",
                actual=shorten(message),
                frames=(frame,),
                ceiling=Severity.ADVICE,  # RFC 8259 lets who reads JSON set limits, but forbids no depth
            )
        if message.get("jsonrpc") == "2.0":
            self.ledger.held(VERSION)
        else:
            said = message.get("jsonrpc")
            actual = shorten(said) if "jsonrpc" in message else "no jsonrpc member"
            actual += "" if said is None or isinstance(said, str) else ", which is no string"
            self._broke(VERSION, 'a message does not say jsonrpc "2.0"', '"2.0"', actual, frame)
        if "method" in message:
            self._asked(frame, message)
        else:
            self._answered(frame, message, call)

    # -- what the server asks and tells

    def _asked(self, frame: Frame, message: dict[str, Any]) -> None:
        method, identifier = message["method"], message.get("id")
        if not isinstance(method, str):
            self._broke(VALID, "the method of a message is not a string", "a string", shorten(method), frame)
            return
        if "params" in message and not isinstance(message["params"], dict):
            self._broke(
                VALID, "the params of a message are not an object", "an object", shorten(message["params"]), frame
            )
        else:
            self.ledger.held(VALID)
        if "result" in message or "error" in message:
            self._broke(VALID, "a message is request and response at once", "one of them", shorten(message), frame)
        if method.startswith("notifications/"):
            if "id" in message:
                self._broke(NO_ID, "a notification has an id", "no id member", f"id {shorten(identifier)}", frame)
            else:
                self.ledger.held(NO_ID)
        elif "id" in message:
            self._server_request(frame, identifier)

    def _server_request(self, frame: Frame, identifier: Json) -> None:
        calls = self.session.calls.values()
        # With that a server of both eras has changed to the other one.
        negotiated = any(call.method == "initialize" and isinstance(call.result, dict) for call in calls)
        if self.session.revision.era == "stateless" and not negotiated:
            self._broke(NO_REQUESTS, "the server sends a request", "no requests", shorten(frame.message), frame)
            return
        if not is_id(identifier):
            self._broke(
                REQUEST_ID,
                "a request of the server has no valid id",
                "a string or an integer",
                shorten(identifier),
                frame,
            )
            return
        self.ledger.held(REQUEST_ID)
        key = id_key(identifier)
        told = brief(frame)
        known = self._server_ids.get(key, told)
        if len(self._server_ids) < MOST_REMEMBERED:
            self._server_ids.setdefault(key, told)
        if known is not told and known.data != told.data:
            self.ledger.broke(
                REUSED,
                "the server uses the id of an earlier request again",
                expected="an id not used before",
                actual=f"id {key} again",
                frames=(known, frame),
                ceiling=self.softened(),
            )
        elif len(self._server_ids) > 1:
            self.ledger.held(REUSED)

    # -- what the server answers

    def _cancellation(self, call: Call) -> Frame | None:
        """Where we cancelled the call, if we did."""
        for frame in self._notifications:
            params = frame.message.get("params")
            if frame.message["method"] == "notifications/cancelled" and isinstance(params, dict):
                identifier = params.get("requestId")
                if is_id(identifier) and id_key(identifier) == id_key(call.id):
                    return frame
        return None

    def _answered(self, frame: Frame, message: dict[str, Any], call: Call | None) -> None:
        self._content(frame, message, call)
        if call is None:
            self._stray(frame, message)
            return
        held = self.ledger.held
        if call.answers and call.answers[0].number < frame.number:
            broke = self._broke_unread if self._misnames(message) else self._broke_once
            broke(call, frame)
        elif not call.excused:
            held(ONCE)
        self._echoed(frame, message, call)
        if self.session.revision.era == "stateless":
            held(NO_REQUESTS)

    def _broke_unread(self, call: Call | None, again: Frame) -> None:
        self.ledger.broke(
            UNREAD,
            "what cannot be read is answered with the id of an earlier request",
            expected="id null, or none",
            actual=f"id {shorten(again.message['id'])}, which is in nothing that was wrong",
            frames=(call.sent if call else None, self._illegal, again),
            ceiling=Severity.WARNING,
        )

    def _broke_once(self, call: Call, again: Frame) -> None:
        cancelled = self._cancellation(call)
        self.ledger.broke(
            ONCE,
            f"{call.method} is answered twice" + (", having been cancelled" if cancelled else ""),
            expected="exactly one response",
            actual="a second response with the same id",
            frames=(call.sent, call.answers[0], cancelled, again),
            # No text says in so many words what a cancellation makes of a response that is under way.
            ceiling=self.softened(Severity.WARNING if cancelled else None),
        )

    def _echoed(self, frame: Frame, message: dict[str, Any], call: Call) -> None:
        identifier = message.get("id")
        known = is_id(identifier)
        # How a number is written is no part of its value: 2.0 may come back as 2.0 and as 2.
        same = known and id_key(identifier) == id_key(call.id)
        if same and isinstance(identifier, float) <= isinstance(call.id, float):
            self.ledger.held(ECHOED)
            return
        # RFC 8259, section 6: doubles miss integers beyond 2**53.
        rounded = not same and as_double(identifier, call)
        what = "a response does not repeat the id of its request"
        if same or rounded:
            what = "an integer id comes back as a float" if same else "an integer id beyond 2**53 comes back rounded"
        self.ledger.broke(
            ECHOED,
            what,
            expected=f"id {shorten(call.id)}",
            actual=f"id {shorten(identifier)}" if "id" in message else "no id",
            frames=(call.sent, frame),
            ceiling=self.softened(Severity.WARNING if same or rounded else None),
        )

    def _content(self, frame: Frame, message: dict[str, Any], call: Call | None) -> None:
        proof = (call.sent if call else None, frame)
        held, broke = self.ledger.held, partial(self.ledger.broke, ceiling=self.softened())
        if "result" in message and "error" in message:
            nulled = next((name for name in ("error", "result") if message[name] is None), "")
            both = "a response has result and error"
            what = f'{both}, of which "{nulled}" is null' if nulled else both
            broke(XOR, what, expected="exactly one of result and error", actual=shorten(message), frames=proof)
            if nulled != "error":
                return
        else:
            held(XOR)
        if "error" not in message or (message["error"] is None and "result" in message):
            if isinstance(message.get("result"), dict):
                held(OBJECT)
                held(VALID)
            else:  # what is given for a request that had to be refused has no shape
                broke = partial(broke, ceiling=Severity.WARNING) if call is not None and call.sent.illegal else broke
                given = shorten(message.get("result"))
                broke(OBJECT, "a result is not an object", expected="an object", actual=given, frames=proof)
            return
        self._error(message["error"], proof)

    def _error(self, error: Json, proof: tuple[Frame | None, Frame]) -> None:
        lacking = [name for name in ("code", "message") if not isinstance(error, dict) or name not in error]
        if lacking or not isinstance(error["message"], str):
            absent = f"an error has no {' and no '.join(lacking)}"
            what = absent if lacking else "the message of an error is not a string"
            self.ledger.broke(
                MEMBERS,
                what,
                expected="an integer code and a string message",
                actual=shorten(error),
                frames=proof,
                ceiling=self.softened(),
            )
        else:
            self.ledger.held(MEMBERS)
        if "code" in lacking:
            return
        if is_integer(error["code"]):
            self.ledger.held(CODE)
            self.ledger.held(VALID)
        else:
            self.ledger.broke(
                CODE,
                "an error code is not an integer",
                expected="an integer",
                actual=shorten(error["code"]),
                frames=proof,
                ceiling=self.softened(),
            )

    def _stray(self, frame: Frame, message: dict[str, Any]) -> None:
        """A response whose id is that of no request of ours: what it answers is told at the end."""
        twice = self.session.requests.answered_before(frame)
        forgotten = self.session.requests.has_forgotten(message.get("id"))
        if (forgotten or twice is not None) and self._misnames(message):
            self._broke_unread(twice, frame)
        nameless = message.get("id") is None and "error" in message
        to_unread = self._illegal is not None or (nameless and (self._batched or frame.exchange is not None))
        known = to_unread or forgotten  # as JSON-RPC has it, or late
        if not known and len(self._strays) < MOST_REMEMBERED:
            self._strays.append((outlined(frame), twice))

    def _misnames(self, error: dict[str, Any]) -> bool:
        """Whether an error says that something cannot be read, and has an id that is in nothing that may be meant."""
        unread = code(error) == PARSE_ERROR and self._illegal is not None
        return unread and not any(may_name(error["id"], text) for text in self._unreadable)

    def finish(self) -> None:
        """Judge what only the end shows: requests without an answer, answers without a request."""
        waiting = [call for call in self.session.calls.values() if not call.answers and not call.excused]
        for stray, twice in self._strays:
            if (call := self.session.requests.adopted.get(stray.number)) is not None:
                self._broke_id(f"a response has the id of no request under way; it answers {call.method}", call, stray)
                continue
            if twice is not None:
                self._broke_once(twice, stray)
                continue
            call = meant(stray, waiting)
            told = [frame for frame in self._notifications if frame.number < stray.number]
            if call is not None:
                waiting.remove(call)
                what = f"a response has an id that no request has; it answers {call.method}"
                self._broke_id(what, call, stray)
            elif stray.message.get("id") is None and code(stray.message) == PARSE_ERROR:
                continue  # it is about bytes, not about a message
            elif stray.message.get("id") is None and told:
                self.ledger.broke(
                    SILENT,
                    "a notification is answered",
                    expected="no response to a notification",
                    actual=shorten(stray.message),
                    frames=(told[-1], stray),
                    ceiling=self.softened(),
                )
            else:
                self._broke_id("a response has an id that no request has", None, stray)
        if self._notifications and not self._strays and self.session.opened:
            self.ledger.held(SILENT)
        for call in waiting:
            self._unanswered(call)

    def _broke_id(self, what: str, call: Call | None, stray: Frame) -> None:
        self.ledger.broke(
            ECHOED,
            what,
            expected=f"id {shorten(call.id)}" if call else "the id of a request",
            actual=f"id {shorten(stray.message['id'])}" if "id" in stray.message else "no id",
            frames=(call.sent if call else None, stray),
            ceiling=self.softened(Severity.WARNING if call and as_double(stray.message.get("id"), call) else None),
        )

    def _unanswered(self, call: Call) -> None:
        if call.hung:
            self._broke_hung(call)
            return
        unread = self.session.requests.unread
        if call.unread or (call.lost and unread is not None and unread.number > call.sent.number):
            why = call.lost if call.unread or unread is None else f"a message that {unread.unread}"
            self.ledger.inconclusive(ONCE, f"{call.method}: {why}")
            return
        if not call.lost or (self._illegal is not None and self._illegal.number <= call.sent.number):
            return  # nothing is said about what a server does after it was sent something wrong
        if call.late and (takes_long(call) or self._busy(call)):
            self.ledger.inconclusive(ONCE, f"{call.method}: {call.lost}; --timeout gives it longer")
            return
        if call.redirected or call.refused:
            self.ledger.inconclusive(ONCE, f"{call.method}: {call.lost}")
            return  # it was not taken at all
        if call.head is not None and (call.head.status or 200) >= 400:
            return  # refused by HTTP: no JSON-RPC answer is due
        if call.garbled:
            self.ledger.block(ONCE, ONE_OBJECT)
            return
        what = f"{call.method} is not answered"
        self.ledger.tell(Finding(ONCE, "", what, "exactly one response", call.lost, (call.sent,), silence="request"))

    def _broke_hung(self, call: Call) -> None:
        """A warning: what an author's own code does may take long, and no text says how long."""
        self.ledger.tell(
            Finding(
                ONCE,
                "",
                f"{named(call.method, call.params)} did not answer within {self.session.limits.answer:g} s{HUNG}",
                "a response, if only an error that says that it takes too long",
                call.lost,
                tuple(filter(None, (call.sent, self._cancellation(call)))),
                Severity.WARNING,
                silence="feature",
            )
        )

    def _busy(self, call: Call) -> bool:
        """Whether the server may still be at work on an earlier request that may take long, one thing at a time.

        It does not keep others of that method waiting if one of them, asked meanwhile, has been answered.
        """
        alike = (each for each in self.session.calls.values() if each.answers and each.method == call.method)
        meanwhile = max((n for each in alike if (n := each.sent.number) < call.sent.number), default=-1)
        return any(
            earlier.method in MAY_TAKE_LONG and meanwhile < earlier.sent.number < call.sent.number
            for earlier in self.session.pending
        )

    def _broke(self, requirement: str, what: str, expected: str, actual: str, frame: Frame) -> None:
        self.ledger.broke(requirement, what, expected=expected, actual=actual, frames=(frame,), ceiling=self.softened())
