"""One client's conversation with a target in one revision: ids, matching, the trace, hearing out."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Unpack

from conformance.budget import LARGE
from conformance.model import Frame, Json, Limits
from conformance.revisions import Revision
from conformance.session.answers import Answers
from conformance.session.delays import Delays
from conformance.session.era import Era
from conformance.session.messages import MAY_TAKE_LONG, Call, How, NotSpoken, Observer, encode, id_key, is_id, parse
from conformance.session.patience import GRACE, NO_ANSWER, Patience
from conformance.session.polling import come_back
from conformance.session.posts import Posts
from conformance.session.reading import HUGE, read
from conformance.session.requests import Backlog, Requests, is_response, may_answer
from conformance.session.trace import Trace
from conformance.session.watching import Watching
from conformance.transports import BARE, Arrival, Ended, Ending, Transport, replaced

__all__ = ["MAY_TAKE_LONG", "Call", "How", "NotSpoken", "Observer", "Session", "encode", "id_key", "parse"]

TURN = 0.02
"""Seconds between two looks at whether another session has found out what this one waits for."""


class Session:
    """Used by one thread; the transport has threads of its own.

    `capabilities`, `server` (name, version) and `opening` (the result of the opening request) are set once it is open.
    `slow_tools` took so long that they are not worth another call. `unasked` is whether what the server sends of its
    own accord can arrive, and the GET of its stream, None as long as nobody has seen to it. `deaf`: the sentinel was
    not answered in time. `secrets` are what the target got and must not tell; `anonymous`: nothing that it got says who
    we are. `heard`: something came. `spent`: generated frames were sent, so that nobody judges how the session ends.
    `finished`: the target's input is closed, and nothing can be said any more.
    """

    def __init__(
        self, transport: Transport, era: Era[Session], revision: Revision, *, client: Json = None, limits: Limits
    ) -> None:
        self.transport = transport
        self.era = era
        self.revision = revision
        self.client: Json = client or {}
        self.limits = limits
        self.answers = Answers(self.client, revision)
        self.watching = Watching()
        self.observers = self.watching.observers
        self.trace = Trace()
        self.requests = Requests(resumable=revision.era == "handshake")
        self._case = ""
        self.secrets: tuple[str, ...] = ()
        self.capabilities: Json = {}
        self.server: dict[str, str] = {}
        self.opening: Json = {}
        self.http_headers: dict[str, str] = {}
        self.header_arguments: dict[str, dict[tuple[str, ...], str]] = {}
        self.structured_tools: dict[str, Json] = {}
        self.slow_tools: set[str] = set()
        self.unasked: tuple[bool, Frame | None] | None = None
        self.heard = self.finished = self.opened = self.spent = self.deaf = self.anonymous = False
        self.ended: Ended | None = None
        self.ending: Ending | None = None
        self._began, self._next_id = time.monotonic(), 0
        self._delays, self.posts = Delays(transport), Posts(self.requests, limits.answer)

    @property
    def case(self) -> str:
        """The case to which what happens from now on belongs."""
        return self._case

    @case.setter
    def case(self, name: str) -> None:
        self.judge()
        self.requests.lighten()
        self._case = name

    def judge(self) -> None:
        """Show the observers what they have not seen yet: see `Watching`."""
        self.watching.judge()

    # -- opening and closing

    def open(self) -> None:
        """Open the session as its era does. Raises NotSpoken."""
        self.era.open(self)
        self.opened = True

    @property
    def alive(self) -> bool:
        """Whether the target still talks, as far as is known."""
        return self.ended is None and self.ending is None

    def hear_out(self, other: bool = False) -> Call | None:
        """Ask the sentinel, or an `other` one, and wait for its answer: all that came before it has been heard then."""
        if not (self.opened and self.alive) or self.finished:
            return None
        call = self._send(*self.sentinel(other), {})
        call.awaited = True
        if not self.wait(call, timeout=self.patience.sentinel_limit(call, self._patience(), self.requests.stuck)):
            self.deaf = True
            self.patience.deaf()
        return call

    def sentinel(self, other: bool = False) -> tuple[str, Json]:
        """A harmless request: the era's own, or an `other` one, a list that is declared, if that is slow or silent."""
        method, params = self.era.sentinel(self)
        lists = [f"{name}/list" for name in ("tools", "prompts", "resources") if name in self.capabilities]
        return (lists[0], None) if lists and (other or self.requests.tedious(method)) else (method, params)

    def finish_input(self) -> bool:
        """Close the target's input and read its output to the end; whether the end came within the time limit."""
        self.transport.end_input()
        self.finished = self.transport.process_per_session
        self.listen(self.limits.shutdown)
        return self.ended is not None

    def close(self, hurry: bool = False) -> Ending:
        """Say farewell, close (in a `hurry` without waiting), hear what still comes, leave no process. Idempotent."""
        if self.ending is None:
            if self.opened and self.alive:
                self.era.farewell(self)
            # Nobody waits for the end of a tool whose result is of no use any more, nor of a server that hangs.
            hurry |= self.deaf or self.requests.stuck or self.requests.at_work
            if self.alive and not (hurry or self.finished):
                self.finish_input()
            for call in self.pending:
                call.excused |= not call.lost  # it is we who do not wait for the answer
            ending = self.transport.close(hurry=hurry)
            while (event := self._receive(0)) is not None:
                self._take(event)
            self.ending = ending
        return self.ending

    def drop(self) -> Ending:
        """End the target at once and unheard: it may hang, and how it goes says nothing. Idempotent."""
        self.ending = self.ending or self.transport.close(hurry=True)
        return self.ending

    # -- sending

    def request(self, method: str, params: Json = None, **how: Unpack[How]) -> Call:
        """Send a request and wait for its answer, at most `limits.answer` seconds."""
        call = self.send(method, params, **how)
        self.wait(call)
        return call

    def send(self, method: str, params: Json = None, **how: Unpack[How]) -> Call:
        """Send a request without waiting. Raises NotAskedAgain, NotWaitedFor."""
        end = time.monotonic() + min(self.limits.slow, self.limits.answer)
        # What the server asks meanwhile is answered.
        while self._begun and not self.patience.admit(
            method, params, self.requests, waited=time.monotonic() >= end or not self.alive
        ):
            self.listen(TURN)
        return self._send(method, params, how)

    def _send(self, method: str, params: Json, how: How) -> Call:
        identifier = how["id"] if "id" in how else self.new_id()
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": identifier, "method": method}
        params = params if how.get("bare") else self.era.dress(self, params)
        if params is not None:
            message["params"] = params
        return self.expect(message, self._write(encode(message), message, how))

    def notify(self, method: str, params: Json = None, **how: Unpack[How]) -> Frame:
        """Send a notification."""
        message: Json = {"jsonrpc": "2.0", "method": method} | ({} if params is None else {"params": params})
        frame = self._write(encode(message), message, how)
        self.await_exchange(frame.exchange, self.patience.hurried(self.limits.answer, self.requests.stuck))
        return frame

    def batch(self, messages: list[Json], **how: Unpack[How]) -> list[Call]:
        """Send an array of messages; the calls of its requests, in order."""
        frame = self._write(encode(messages), messages, how)
        return [self.expect(m, frame) for m in messages if "id" in m and "method" in m]

    def raw(self, data: bytes, *, illegal: bool = True, headers: Mapping[str, str | None] | None = None) -> list[Call]:
        """Send one frame as it is written. If it is JSON with ids, an answer to each is expected and may stay away."""
        message, readable = parse(data)
        frame = self._write(data, message, How(illegal=illegal, headers=headers or {}), readable=readable)
        parts = message if isinstance(message, list) else [message]
        asking = (each for each in parts if isinstance(each, dict) and "method" in each and is_id(each.get("id")))
        calls = [self.expect(each, frame) for each in asking]
        for call in calls:
            call.excused = illegal
        return calls

    def write(self, data: bytes) -> None:
        """Write bytes without framing, as a piece of a frame (stdio); the frame is recorded by `record`."""
        self.transport.write(data)

    def record(self, message: Json, data: bytes) -> Call:
        """Enter a request whose bytes were sent with `write`."""
        return self.expect(message, self.record_sent(data, message, How(), None, readable=True))

    def wait(self, *calls: Call, timeout: float | None = None, until: Callable[[], bool] = lambda: False) -> bool:
        """Wait until each call has an answer or can have none; whether that came within `timeout` seconds.

        If what has come makes `until` true, that will do.
        Raises Unread if an answer may have come that is too large to be read, NotWaitedFor. An answer with a wrong id
        is taken for that of the only request under way, if the right one does not follow.
        """
        usual = self.patience.limits(calls, self._patience(), self.requests.stuck, opening=not self._begun)
        limit, hurried = usual if timeout is None else (timeout, False)
        deadline, away = time.monotonic() + limit, self.transport.away
        backlog = Backlog(self.requests, limit)
        for call in calls:
            call.revive()
        while waiting := [] if until() else [call for call in calls if not call.done]:
            if not hurried:
                deadline = backlog.extended(self.requests.polling.extended(deadline, waiting, limit))
            left, due = deadline + self.transport.away - away - time.monotonic(), self.requests.due
            if due is not None and (due <= 0 or left <= 0):
                self.requests.adopt()
                continue
            if self.ended is None and left > 0:
                self._take(self._receive(left if due is None else min(left, due)))
                continue
            for call in waiting:  # one may have been waited for before, in turn with others
                waited = max(limit, math.floor(time.monotonic() - self._began - call.sent.at))
                self.requests.end(call, self.ended, f"{NO_ANSWER} {waited:.3g} s")
            break
        now, full = time.monotonic(), self.limits.answer
        for call in calls:
            # The end of an answer that refuses says whether the session is over with it.
            if call.turned_down and call.answers and call.sent.exchange in self.requests.by_exchange:
                self.await_exchange(call.sent.exchange, self.limits.quiet)
        if self._begun:  # else it may be the start of the target that takes long
            began = deadline - limit - backlog.extra + self.transport.away - away
            began = began if waiting else self._delays.shifted(began, now)
            self.patience.waited(began, now, full, answered=not waiting, patient=limit >= full)
        begun = self.transport.unfinished() if waiting and self.ended is None else b""
        self.requests.check_read(waiting or calls, unfinished=len(begun) >= LARGE and may_answer(begun))
        if waiting and self.ended is None:
            for call in self.requests.lose(waiting, hurried, now - self._began - full):
                if all(frame.readable for frame in self.since(call.sent.number)):  # else that may be its answer
                    self._cancel(call)
        return not waiting or self.ended is not None

    def _cancel(self, call: Call) -> None:
        """Give up a call that hangs. What does not end by that either is not asked for again."""
        self.notify("notifications/cancelled", {"requestId": call.id, "reason": "no answer in time"})
        self.listen(GRACE, until=lambda: bool(call.answers))
        call.hung = not call.answers and self.alive
        if call.hung:
            self.patience.features.silent(call, self.limits.answer)

    @property
    def _begun(self) -> bool:
        """Whether it was opened or, where that takes nothing, has had an answer."""
        return self.opened or (self.era.name == "stateless" and self.requests.answered_at > 0)

    def _patience(self) -> float:
        """Seconds for an answer. A process that has said nothing yet may still be starting."""
        if self.heard or not self.transport.process_per_session:
            return self.limits.answer
        return max(self.limits.answer, self.transport.began + self.limits.start - time.monotonic())

    def await_exchange(self, exchange: int | None, seconds: float) -> bool:
        """Wait until that HTTP exchange is over; whether it was within `seconds`. Over stdio there is none.

        Two POSTs may overtake each other: what is to come after a notification must be sent after it.
        """
        if exchange is None:
            return True
        limit = self.posts.begin(exchange, seconds)
        self.listen(limit, until=lambda: not (self.alive and self.posts.awaits(exchange)))
        return self.posts.end(exchange, limit, self.alive)

    def listen(self, seconds: float, until: Callable[[], bool] = lambda: False) -> None:
        """Take in whatever comes for `seconds`, or until what has come makes that true."""
        deadline = time.monotonic() + seconds
        while self.ended is None and not until() and (left := deadline - time.monotonic()) > 0:
            self._take(self._receive(left))

    def give_up(self, call: Call) -> None:
        """We have cancelled `call`: an answer may come or not, and the server counts as free again."""
        call.excused = True
        self.requests.give_up(call)

    def new_id(self) -> int:
        """An id not used yet in this session."""
        self._next_id += 1
        return self._next_id

    # -- the trace

    def since(self, number: int) -> Iterator[Frame]:
        """The frames kept from frame `number` on."""
        return self.trace.since(number)

    @property
    def position(self) -> int:
        """The number of the next frame."""
        return self.trace.position

    @property
    def pending(self) -> Iterable[Call]:
        """Calls without an answer."""
        return self.requests.waiting.values()

    @property
    def calls(self) -> dict[str, Call]:
        """All requests that were not forgotten, by `id_key`."""
        return self.requests.calls

    @property
    def patience(self) -> Patience:
        """What the run has learned about waiting."""
        return self.requests.patience

    # -- inside

    def _receive(self, seconds: float) -> Arrival | Ended | None:
        self.judge()
        return self.transport.receive(come_back(self, seconds))

    def expect(self, message: Json, frame: Frame) -> Call:
        """Enter a request that was sent in that frame."""
        self.requests.register(call := Call(message["id"], str(message["method"]), message.get("params"), frame))
        return call

    def _write(self, data: bytes, message: Json, how: How, readable: bool = True) -> Frame:
        usual = self.era.headers(self, message) if self.transport.has_headers else {}
        exchange = self.transport.send(data, replaced(usual, how.get("headers")))
        return self.record_sent(data, message, how, exchange, readable)

    def record_sent(self, data: bytes, message: Json, how: How, exchange: int | None, readable: bool) -> Frame:
        """Enter what was sent."""
        channel = "stdin" if exchange is None else how.get("verb", "post")
        number, at = self.trace.position, time.monotonic() - self._began
        illegal, given = how.get("illegal", False), how.get("headers", {}) if exchange is not None else {}
        headers = {name: value for name, value in given.items() if value is not None}
        frame = Frame(
            number, "us", channel, at, data, message, readable, self.case, illegal, exchange=exchange, headers=headers
        )
        self._observe(frame, None)
        return frame

    def _take(self, event: Arrival | Ended | None) -> None:
        if isinstance(event, Arrival):
            if not self.requests.sent_again(event, self._began):
                self._hear(event)
        elif isinstance(event, Ended):
            if event.arrival is not None:
                self._hear(event.arrival)
            if event.exchange is None:
                self.ended = self.ended or event
                return
            self.posts.over(event.exchange)
            self.requests.over(event)
            self._take(event.then)

    def _hear(self, arrival: Arrival) -> None:
        self.heard = True
        bare = arrival.channel in BARE
        message, readable, unread = (None, False, "") if bare else read(arrival.data, arrival.omitted)
        frame = Frame(
            number=self.trace.position,
            origin="target",
            channel=arrival.channel,
            at=arrival.at - self._began,
            data=arrival.data,
            message=message,
            readable=readable,
            case=self.case,
            exchange=arrival.exchange,
            status=arrival.status,
            headers=arrival.headers,
            unread=unread,
            fields=arrival.fields,
        )
        if arrival.exchange is not None and (asked := self.requests.by_exchange.get(arrival.exchange)) is not None:
            frame = frame._replace(case=asked.sent.case)
            self.requests.heard(asked, frame)
        if isinstance(message, list):
            self._observe(frame, None)
            for part, element in enumerate(message):
                self._dispatch(frame._replace(message=element, part=part, number=self.trace.position))
        else:
            self._dispatch(frame)
            if unread:
                self.requests.not_read(frame)
            elif not (readable or bare) and len(frame.data) < HUGE and frame.data.strip():
                self.requests.guess(frame)
                self.patience.features.left(self.requests)  # it may be the answer
        if len(frame.data) >= HUGE:
            self.watching.judge_alone()

    def _dispatch(self, frame: Frame) -> None:
        message = frame.message
        if not isinstance(message, dict):
            self._observe(frame, None)
            return
        if "method" in message:
            self._observe(frame, None)
            if "id" in message:
                self._answer(message)
            else:
                self.requests.tell(frame)
            return
        call = self.requests.answered_by(message.get("id"))
        response = is_response(message)
        if response and self.requests.set_aside(frame, call):
            call = None
        if call is not None and call.sent.case != frame.case:
            frame = frame._replace(case=call.sent.case)
        self._observe(frame, call)
        if response and call is not None:
            self.requests.answer(call, frame)

    def _observe(self, frame: Frame, call: Call | None) -> None:
        self.trace.keep(frame)
        self.watching.see(frame, call)
        self.requests.count_unasked(frame, call)

    def _answer(self, message: Json) -> None:
        reply = self.answers.reply(message["method"], message.get("params"))
        if reply is not None and self.alive and not self.finished:  # no answer gets into an input that is closed
            answer = {"jsonrpc": "2.0", "id": message["id"], **reply}
            # The answer to a request that was itself wrong (id null, say) cannot be right.
            self._write(encode(answer), answer, How(illegal=self.answers.illegal or not is_id(message["id"])))
