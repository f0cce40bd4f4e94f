"""The requests of a session: which of them are under way, and which one a response answers."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Collection, Iterable

from conformance.budget import KEPT_BYTES, LARGE, brief, cost, curtailed
from conformance.codes import PARSE_ERROR
from conformance.model import Frame, Json
from conformance.session.features import feature_of, reports_progress, tells_progress
from conformance.session.messages import MAY_TAKE_LONG, ROOM, Call, Unread, id_key, is_id, is_reply, is_utf8, parse
from conformance.session.patience import NotWaitedFor, Patience
from conformance.session.polling import Polling
from conformance.transports import AGAIN, SESSION, Arrival, Ended
from conformance.transports.event_stream import media_type

LONGEST_NAME = 200
"""Characters of a method, which may be made up, that are named."""
AT_LEAST = 20
"""Notifications that are kept for each request, however many came before."""
MOST_ANSWERS = 10
"""Answers to one request that are kept."""
COUNTED, COUNTED_BYTES = 1000, 10_000_000
"""So many messages that nobody asked for, or so many bytes of them, are told at once."""
_ID = re.compile(rb'"id"\s*:\s*("(?:[^"\\]|\\.){0,200}"|-?[0-9]{1,30})')


def may_answer(part: bytes) -> bool:
    """Whether that can be the beginning, or the end, of a response."""
    return b'"result"' in part or b'"error"' in part


def is_response(message: Json) -> bool:
    """Whether it is a response by what it holds; `is_reply` has those that lack it, too."""
    return is_reply(message) and ("result" in message or "error" in message)


def _legible(identifier: str) -> str:
    """What every encoding leaves of an id: some write ? for a character that they lack."""
    return "".join(each for each in identifier if each.isascii() and each != "?")


MOST_EXTRA = 6.0
"""Seconds by which a wait becomes longer at most because other requests are still being answered."""


class Backlog:
    """A wait of so many seconds: a server that answers one request after another is not silent meanwhile."""

    def __init__(self, requests: Requests, seconds: float) -> None:
        self._requests, self._seconds = requests, seconds
        self.extra = 0.0
        """Seconds by which the wait became longer."""

    def extended(self, deadline: float) -> float:
        """The deadline or, once it has passed, one that is as long after another answer that came meanwhile.

        Raises NotWaitedFor once that has gone on for too long.
        """
        more = self._requests.answered_at + self._seconds - deadline
        if more <= 0 or time.monotonic() < deadline:
            return deadline
        self.extra += more
        if self.extra > MOST_EXTRA:
            self._requests.overloaded = True
            raise NotWaitedFor("the server takes long for what was asked before, one request after another")
        return deadline + more


class Requests:
    """All requests of ours, by `id_key`; `waiting` are those without an answer.

    A response whose id is that of no request under way may be the answer to the only one that is. It is taken for that
    if the right answer does not follow at once; `adopted` has these frames by their number. `unread` is the last
    message that was too large to be read, if it may answer any of them.
    """

    def __init__(self, resumable: bool = True) -> None:
        self.patience = Patience()
        self.polling = Polling(resumable)
        self.calls: dict[str, Call] = {}
        self.waiting: dict[str, Call] = {}
        self.by_exchange: dict[int, Call] = {}
        self.adopted: dict[int, Call] = {}
        self.stuck = False
        """Whether the target has let pass the time for an answer, and has answered nothing since."""
        self.overloaded = False
        """Whether it answers one request after another and is so far behind that nothing else is to be learned soon."""
        self.answered_at = 0.0
        """When the last answer came."""
        self.unread: Frame | None = None
        self._large: list[list[Frame]] = []
        self._told: list[Call] = []
        self._room = ROOM
        self._forgotten: set[int] = set()
        self._stray: Frame | None = None
        self._stray_at = 0.0
        self._unasked = self._unasked_bytes = 0

    def register(self, call: Call) -> None:
        """A request was sent."""
        key = id_key(call.id)
        self.calls[key] = self.waiting[key] = call
        if call.sent.exchange is not None:
            self.by_exchange[call.sent.exchange] = call

    def end(self, call: Call, ended: Ended | None, late: str = "") -> None:
        """No answer to `call` is waited for any more: all has `ended`, or its exchange has, or else it is `late`."""
        if ended is None:
            call.lost, call.late = late, True
            return
        call.lost = ended.reason or "the HTTP answer held no response"
        call.unread, call.refused, call.empty = call.unread or ended.unread, ended.refused, ended.empty

    def heard(self, call: Call, frame: Frame) -> None:
        """Something came on the HTTP exchange of that request."""
        if frame.channel == "head":
            call.head = frame
            call.opens = call.opens or (frame.headers.get(SESSION.lower(), "") if call.method == "initialize" else "")
        self.polling.heard(call, frame)

    def sent_again(self, arrival: Arrival, began: float) -> bool:
        """Whether it only says that a request counts as sent by now, in a session that `began` then."""
        if arrival.channel != AGAIN:
            return False
        if (call := self.by_exchange.get(arrival.exchange or 0)) is not None:
            call.sent = call.sent._replace(at=arrival.at - began)
        return True

    def over(self, ended: Ended) -> None:
        """An HTTP exchange is over. What it asked gets no answer any more, unless we can come back for that."""
        asked = self.by_exchange.pop(ended.exchange or 0, None)
        cut = self.polling.cut(asked, ended) if asked is not None else None
        if asked is not None and cut is not None and not (asked.done or ended.accepted):
            self.end(asked, cut)

    def tedious(self, method: str) -> bool:
        """Whether another sentinel than `method` does better: that is slow or silent, while another was answered.

        Before, a server of both eras may not have settled for one, which no message of ours is to decide.
        """
        return self.patience.tedious(method) and any(c.answers and c.method != method for c in self.calls.values())

    def give_up(self, call: Call) -> None:
        """It is not waited for any more."""
        self.waiting.pop(id_key(call.id), None)

    def forget(self, calls: Iterable[Call]) -> None:
        """Nothing more will be asked about `calls`: a session of thousands of requests must not keep them all."""
        forgotten = set()
        for call in calls:
            key = id_key(call.id)
            self.calls.pop(key, None)
            self.waiting.pop(key, None)
            self._forgotten.add(hash(key))
            self.by_exchange.pop(call.sent.exchange or 0, None)
            forgotten.add(id(call.answers))
        self._large = [answers for answers in self._large if id(answers) not in forgotten]

    def has_forgotten(self, identifier: Json) -> bool:
        """Whether a request with this id was made that was forgotten; what answers it is late, or one answer more."""
        return is_id(identifier) and hash(id_key(identifier)) in self._forgotten

    def has_made(self, identifier: Json) -> bool:
        """Whether a request with this id was ever made, forgotten or not."""
        return is_id(identifier) and (id_key(identifier) in self.calls or self.has_forgotten(identifier))

    def answered_by(self, identifier: Json) -> Call | None:
        """The request that a response with this id answers.

        An id that comes back as text, or text as a number, is told from another id so that the session can go on.
        Invariants judge the id itself.
        """
        if not is_id(identifier):
            return None
        exact = id_key(identifier)
        for key in (exact, id_key(str(identifier)), str(identifier)):
            if key in self.waiting:
                return self.waiting[key]
        return self.calls.get(exact)

    def answered_before(self, response: Frame) -> Call | None:
        """The request that a response names, if it had been answered before by another one."""
        identifier = response.message.get("id")
        call = self.calls.get(id_key(identifier)) if is_id(identifier) else None
        return call if call is not None and call.answers and call.answers[0].number < response.number else None

    def answer(self, call: Call, frame: Frame) -> None:
        """Enter a response to `call`, and learn from how long it took and what it overtook."""
        if len(call.answers) < MOST_ANSWERS:
            call.answers.append(brief(frame) if call.answers or call.awaited else curtailed(frame))
        if len(frame.data) >= LARGE:
            self._large.append(call.answers)
        self.waiting.pop(id_key(call.id), None)
        self.answered_at = time.monotonic()
        self._stray = None
        self.stuck = False
        if len(call.answers) > 1:
            return
        for earlier in self.waiting.values():
            if earlier.late and not earlier.counted and earlier.sent.number < call.sent.number:
                earlier.counted = True
                self.patience.missed(earlier)
        self.patience.answered(call, 0.0 if call.lost else frame.at - call.sent.at)

    def guess(self, frame: Frame) -> None:
        """What cannot be read may be an answer: one in another encoding than UTF-8 is, so that it is not waited for."""
        if is_utf8(frame.data):
            asked = self.by_exchange.get(frame.exchange or 0)
            if asked is not None and frame.channel == "body" and media_type(frame.headers) == "application/json":
                asked.garbled = True
            return
        message, readable = parse(frame.data.decode("utf-8", "replace").encode())
        identifier = message.get("id") if readable and isinstance(message, dict) else None
        call = self.waiting.get(id_key(identifier)) if is_id(identifier) else None
        if call is None and isinstance(identifier, str):
            texts = (each for each in self.waiting.values() if isinstance(each.id, str))
            call = next((each for each in texts if _legible(each.id) == _legible(identifier)), None)
        if call is not None and message.keys() & {"result", "error"}:
            self.answer(call, frame._replace(message=message, case=call.sent.case))

    def lose(self, calls: Collection[Call], hurried: bool, since: float) -> list[Call]:
        """No answer to `calls` came; those that hang, having been asked at `since` or before. Raises NotWaitedFor.

        That a request was not waited for, in a hurry, proves nothing.
        """
        if hurried:
            for call in calls:
                call.excused = True
            first = next(iter(calls))
            raise NotWaitedFor(f"{first.method}: {first.lost}; it was not waited for, since so much went unanswered")
        answered = max((other.sent.number for other in self.calls.values() if other.answers), default=-1)
        had_time = [call for call in calls if call.sent.at <= since]
        self.stuck |= any(call.sent.number > answered for call in had_time)
        # What was answered since shows that those before it hang by themselves, and keep no other one waiting.
        since_then = [call.sent.number for call in self.waiting.values() if call.sent.number > answered]
        earliest = min(since_then, default=-1)
        return [
            call
            for call in had_time
            if feature_of(call.method, call.params) is not None
            and (call.sent.number < answered or call.sent.number == earliest)
            and not (call.hung or call.excused or call.sent.illegal or reports_progress(call))
        ]

    def not_read(self, frame: Frame) -> None:
        """A message was too large to be read; the request that it answers, if that can be told, gets no other one."""
        self.unread = brief(frame)
        whole = frame.channel == "body" and frame.exchange is not None
        call = self.by_exchange.get(frame.exchange or 0) if whole else self._named_in(frame.data)
        if call is not None and not call.done:
            call.unread, call.lost = True, f"a message that {frame.unread}"
            self.waiting.pop(id_key(call.id), None)

    def _named_in(self, data: bytes) -> Call | None:
        """The request whose id stands at the beginning or the end, or the only one that waits."""
        head = data[:KEPT_BYTES]
        for text in (head, data[-KEPT_BYTES:]):
            for found in _ID.finditer(text):
                with contextlib.suppress(ValueError):
                    if (call := self.waiting.get(id_key(json.loads(found[1])))) is not None:
                        return call
        only = len(self.waiting) == 1 and (may_answer(head) or may_answer(data[-KEPT_BYTES:]))
        return next(iter(self.waiting.values())) if only else None

    def check_read(self, calls: Iterable[Call], unfinished: bool = False) -> None:
        """Raises Unread if one of `calls` may have an answer that is too large to be read.

        `unfinished` means that their time is up in the middle of a large message, which may answer any of them.
        """
        for call in calls:
            why = call.lost if call.unread else self.polling.sent_away(call)
            if unfinished and not why:
                why = f"a large message was not over in time ({call.lost})"
            if self.unread is not None and not why and self.unread.number > call.sent.number:
                why = f"a message that {self.unread.unread}"
            if why and not call.answers:
                call.unread, call.lost = True, why
                raise Unread(f"the answer to {call.method[:LONGEST_NAME]} is open: {why}", call=call)

    @property
    def at_work(self) -> bool:
        """Whether the server may still run a tool for us, though we may have given it up."""
        return any(call.method in MAY_TAKE_LONG and not call.answers for call in self.calls.values())

    def count_unasked(self, frame: Frame, call: Call | None) -> None:
        """A message or a line came that nobody asked for, or one more answer to `call`."""
        if call is not None and len(call.answers) < MOST_ANSWERS:
            return
        self._unasked += 1
        self._unasked_bytes += len(frame.data)
        if self._unasked == COUNTED or self._unasked_bytes >= COUNTED_BYTES:
            self.patience.unasked(self._unasked, self._unasked_bytes)
            self._unasked = self._unasked_bytes = 0

    def tell(self, notification: Frame) -> None:
        """A notification came while the requests that wait were under way."""
        for call in self.waiting.values():
            if self._room > 0 or len(call.notifications) < AT_LEAST:
                self._told += [] if call.notifications else [call]
                call.hear(notification)
                if tells_progress(notification, call):
                    self.patience.features.returned(call)
        self._room -= cost(notification)

    def lighten(self) -> None:
        """Keep of long answers what is kept of other frames, and nothing of what came before them."""
        for call in self._told:
            if call.done:
                call.notifications.clear()
        self._told = [call for call in self._told if not call.done]
        self._room = ROOM
        for answers in self._large:
            answers[:] = [each._replace(message=None) if len(each.data) >= LARGE else each for each in answers]
        self._large.clear()

    # -- responses with wrong ids

    def set_aside(self, frame: Frame, call: Call | None) -> bool:
        """Whether a response may be meant for another request than the `call` that its id names, if any.

        What it is meant for is decided by `adopt`, when `due` seconds have passed without the right answer.
        """
        if call is not None:
            self._put_right(call)
        if call is not None and (not call.answers or curtailed(frame).data == call.answers[0].data):
            return False
        if (self.patience.repeats and self._is_again(frame)) or self._only_one_under_way(frame) is None:
            return False
        self._stray, self._stray_at = frame, time.monotonic()
        return True

    def _put_right(self, call: Call) -> None:
        """An answer names `call`, and can be meant for no other: what was set aside, or adopted for it, was none.

        So requests are answered twice here, and that is what other adopted answers were, too, that named answered ones.
        """
        if any(each is not call and not each.lost for each in self.waiting.values()):
            return
        aside = self._stray is not None and self._is_again(self._stray) and not call.done
        if not aside and not any(frame.number in self.adopted for frame in call.answers):
            return
        for number, other in list(self.adopted.items()):
            for wrong in [frame for frame in other.answers if frame.number == number and self._is_again(frame)]:
                self.patience.repeats = True
                self.patience.adopted(-1)
                other.answers.remove(wrong)
                del self.adopted[number]
        self.patience.repeats |= aside

    @property
    def due(self) -> float | None:
        """Seconds until what was set aside is to be adopted, None if there is nothing."""
        if self._stray is None:
            return None
        return self._stray_at + self.patience.grace - time.monotonic()

    def adopt(self) -> None:
        """Take what was set aside for the answer to the only request under way.

        A parse error is none: JSON-RPC has it answer bytes, and so the request was not heard.
        """
        frame, self._stray = self._stray, None
        call = self._only_one_under_way(frame) if frame is not None else None
        if frame is None or call is None or call.sent.number > frame.number:
            return
        error = frame.message.get("error")
        if isinstance(error, dict) and error.get("code") == PARSE_ERROR:
            call.lost, call.late = "the server says that it cannot parse what it got (-32700)", False
        else:
            self.adopted[frame.number] = call
            self.patience.adopted()
            self.answer(call, frame._replace(case=call.sent.case))

    def _is_again(self, frame: Frame) -> bool:
        """Whether a response names a request that has been answered."""
        identifier = frame.message.get("id")
        forgotten = self.has_forgotten(identifier) and id_key(identifier) not in self.calls
        return forgotten or self.answered_before(frame) is not None

    def _only_one_under_way(self, frame: Frame) -> Call | None:
        """What a response can be meant for: over HTTP what its exchange asked, else the only request that waits."""
        if frame.exchange is not None:
            call = self.by_exchange.get(frame.exchange)
            return call if call is not None and not call.done else None
        under_way = [call for call in self.waiting.values() if not call.lost]
        return under_way[0] if len(under_way) == 1 else None
