"""The target as a campaign sees it: examples go out in volleys, and a server that was hurt is replaced."""

from __future__ import annotations

import contextlib
import itertools
import time
from collections import Counter
from collections.abc import Iterable, Sequence

from conformance.checks.fuzz import waits
from conformance.checks.fuzz.example import DIED, HUNG, MARK, SWALLOWED, Example, Reply
from conformance.checks.fuzz.scripts import answered_later, responses, say, strays
from conformance.checks.fuzz.sorting import sort_out
from conformance.checks.probes import Bench
from conformance.model import Finding
from conformance.session.exchanges import written_out
from conformance.session.features import Feature, feature_of
from conformance.session.messages import MAY_TAKE_LONG, Unavailable, Unread, id_key
from conformance.session.patience import NEXT_UNANSWERED, NO_ANSWER
from conformance.session.session import Call, NotSpoken, Session
from conformance.survey.survey import size_of
from conformance.transports import StartError

VOLLEY = 24
"""Examples that are on their way at once over stdio."""
VOLLEY_BYTES = 4 * 1024 * 1024
"""Bytes of our memory that the answers to them may take, as far as the largest one so far tells."""
KEPT = 2000
"""Frames that the trace of such a session keeps."""
FAR = 10_000_000
"""Beyond the ids of all requests of a session."""
USUAL = 40
"""Times that an invariant may find the same before it is the server's way of doing things, which others tell."""


class Tired(Exception):
    """The target was replaced too often; the text says so."""


GIVEN_UP = (Tired, NotSpoken, StartError, Unavailable)
"""What ends a campaign; each says why."""


class Partner:
    """See the module. `restarts` counts the servers started anew, `most` limits them; Tired is raised beyond.

    `fitting` is how many examples make a volley, fewer where answers are large.
    `patience` is how long an answer is waited for while many examples are tried; what is reported was waited for as
    long as anything else: `reporting` says that it is put to the test again. `areas` are those of the requirements of
    which invariants are heard.
    """

    def __init__(self, bench: Bench, most: int) -> None:
        self.bench = bench
        self.session: Session = bench.session
        self.restarts = 0
        self.most = most
        self.slowest = 0.0
        self.fitting = VOLLEY
        self.hurried = False
        self.reporting = False
        self._in_vain = 0
        self._lame: set[Feature | None] = set()
        """What was once waited for in vain: it is not waited for so long again, except for what is reported."""
        self._lasting = 0  # HTTP exchanges that brought their answer and did not end
        self._unanswered = 0
        """Scripts of which something went unanswered, though what came after it was answered."""
        self._listened = 0.0  # seconds since anything came after the answer to what followed a frame
        self._stalled = False  # whether the server stopped answering before, and more patience was in vain
        self.areas = frozenset({"jsonrpc", "transport-stdio", "transport-http"})
        self._usual: Counter[tuple[str, str]] = Counter()
        self.death: Reply | None = None
        """What came of the last example of a volley that the server did not survive."""
        before = {frame.case for frame in bench.session.trace}
        self._fresh = all(case == bench.ledger.case or case.startswith("session/") for case in before)
        self._ours = [bench.session]
        self._bound()

    @property
    def patience(self) -> float:
        """See the class."""
        measured = waits.SLOWER * max(self.slowest, self.bench.startup / 5)
        most = waits.HURRIED if self.hurried else waits.MOST_PATIENCE
        usual = 2 * self.session.patience.slowest
        return min(self.session.limits.answer, max(most, usual), max(waits.LEAST_PATIENCE, measured, usual))

    def unfit(self) -> str:
        """Why generated frames would tell nothing about this target, "" if they would."""
        self.session.hear_out()
        if self.session.patience.confused:
            return "answers have ids that no request has, so it is unclear which frame they answer"
        if self.session.deaf and self.session.alive:
            return "the server no longer answers ordinary requests"
        return ""

    def close(self) -> None:
        """End all servers but the first, if that was not hurt: the next campaign may go on with it.

        Nobody judges how they go, after what they were sent.
        """
        for session in self._ours:
            if session is not self.bench.session:
                session.drop()

    def renew(self) -> None:
        """Replace the server, unless it is a fresh one. Raises Tired, NotSpoken, StartError."""
        if self._fresh and self.session.alive:
            return
        if self.restarts >= self.most:
            raise Tired(f"the server had to be replaced {self.restarts} times")
        self.restarts += 1
        self.session.drop()
        self._ours = [each for each in self._ours if each is not self.session]
        self.session = self.bench.connect()
        self._ours.append(self.session)
        self._fresh = True
        self._bound()

    def volley(self, examples: Sequence[Example]) -> Iterable[Reply | None]:
        """Send them together; what came of each. None where trouble leaves that open: `alone` tells.

        What cannot be sent together is sent one by one as the replies are taken, so that none has to be kept.
        """
        self.death = None
        if not self.session.alive:
            self.renew()
        if not self.session.transport.single_stream or any(example.script for example in examples):
            return (self.alone(example) for example in examples)
        replies = self._send(examples, self.patience)
        self.death = replies[-1] if replies[-1].fate == DIED else None
        trouble = any(reply.fate or reply.findings or reply.lost for reply in replies)
        lacking = any(example.due and not reply.answers for example, reply in zip(examples, replies, strict=True))
        return [None] * len(replies) if trouble or lacking else list(replies)

    def alone(self, example: Example, *, fresh: bool = False, full: bool = False) -> Reply:
        """Send one and see what comes of it, on a fresh server or the one there is; with `full` patience."""
        if fresh or not self.session.alive:
            self.renew()
        full = full and self._in_vain < waits.FULL_WAITS
        patience = self.session.limits.answer if full else self.patience
        reply = self._alone(example, patience)
        if reply.lost:  # the server ends sessions as it likes, which says nothing about the example
            self.renew()
            reply = self._alone(example, patience)
        self._in_vain += full and not reply.answers
        return reply

    def _alone(self, example: Example, patience: float) -> Reply:
        if example.script:
            return self._converse(example, patience)
        if not self.session.transport.single_stream:
            return self._exchange(example, patience)
        return self._send([example], patience)[0]

    def repeat(self, lines: Sequence[bytes]) -> bool:
        """Say all that again to a fresh server, whatever it answers; whether it lives on.

        Raises Tired, NotSpoken, StartError.
        """
        self._fresh = False
        self.renew()
        self._fresh = False
        session = self.session
        skip = sum(frame.origin == "us" for frame in session.trace)  # how the session begins is said already
        for line in lines[skip:] if len(lines) > skip else lines:
            if not session.alive:
                return False
            session.requests.forget(session.raw(line))
            session.listen(0)
        if session.alive:
            # The ids of that session are in use again.
            session.request(*session.sentinel(), id=FAR + session.position)
        return session.alive

    # -- inside

    def _bound(self) -> None:
        self.session.spent = True
        self.session.trace.most = KEPT
        self.session.header_arguments = self.bench.survey.header_arguments
        # What is answered to the opening, as a notification must not be, shall not pass for an answer to an example.
        sentinel = self.session.send(*self.session.sentinel())
        sentinel.excused = sentinel.awaited = True
        patience = self.session.patience.hurried(self.session.limits.answer, self.session.deaf)
        with contextlib.suppress(Unread):
            self.session.wait(sentinel, timeout=min(patience, waits.MOST_PATIENCE))

    def _send(self, examples: Sequence[Example], patience: float) -> list[Reply]:
        session = self.session
        self._fresh = False
        if len(examples) == 1:
            patience = self._in_turn(patience, 2)
        start, known = session.position, len(self.bench.ledger.findings)
        replies: list[Reply] = []
        sentinels: list[Call] = []
        method, params = session.sentinel()
        began = time.monotonic()
        identifiers: dict[int, int] = {}
        for example in examples:
            sent, identifier = session.position, session.new_id()
            identifiers[identifier] = len(replies)
            calls = session.raw(example.written(identifier), illegal=example.illegal)
            frame = next(iter(session.since(sent)))
            replies.append(Reply(frame, calls[0] if calls else None, session=session))
            if not example.due:
                # Silence is told by the answer to what follows; which frame swallows what follows, by its absence.
                sentinels.append(session.send(method, params))
        sentinels.append(session.send(method, params))
        for call in sentinels:
            call.awaited = True
        due = [r.call for e, r in zip(examples, replies, strict=True) if e.due and r.call is not None]
        if self._answered(sentinels[-1], patience, began):
            self._wait_for_all(sentinels, due, patience)
            if len(due) < len(replies):
                self._hear_late(start, len(sentinels) + sum(MARK in example.data for example in examples))
        if session.alive:
            self._cancel([call for call in due if not call.answers])
        largest = max((size_of(call) for call in due), default=0)
        self.fitting = max(1, min(self.fitting, VOLLEY_BYTES // max(1, largest)))
        session.judge()
        heard = tuple(session.since(start))
        sort_out(replies, identifiers, sentinels, [not example.due for example in examples], heard)
        if session.transport.posts_apart and session.ended is not None and session.ended.lost:
            for reply in replies:  # a session may end with a POST that is refused: the server lives on
                reply.lost = True
            session.drop()
        else:
            self._judge_fate(replies, sentinels, patience)
        found = self._found(known)
        for reply in replies:
            reply.findings = found  # in a volley of all, since they are tried alone then
        if len(replies) == 1:
            replies[0].frames = heard
        session.requests.forget([*sentinels, *(reply.call for reply in replies if reply.call is not None)])
        return replies

    def _soon(self) -> float:
        """Seconds that are enough for what has been waited for in vain before."""
        return max(waits.SOON, waits.SLOWER * self.slowest)

    def _wait_for_all(self, sentinels: list[Call], due: list[Call], patience: float) -> None:
        """Wait for what is due: behind a tool an author's own code runs, so that it proves nothing that it is slow."""
        long = [call for call in due if call.method in MAY_TAKE_LONG]
        lame = [call for call in long if not self.reporting and feature_of(call.method, call.params) in self._lame]
        rest = [call for call in due if call not in lame]
        self._wait([*sentinels, *rest], min(patience, waits.LEAST_PATIENCE) if long else patience)
        if lame:
            self._wait(lame, min(patience, self._soon()))
        self._lame |= {feature_of(call.method, call.params) for call in long if not call.answers}

    def _wait(self, calls: list[Call], patience: float) -> bool:
        """Whether all of them were answered."""
        return self.session.wait(*calls, timeout=patience) and all(call.answers for call in calls)

    def _hear_late(self, start: int, most: int) -> None:
        """Who answers several requests at once may answer a frame after what follows it; `most` answers can come."""
        before = responses(self.session, start)
        seconds = max(waits.LATE, 2 * self.slowest)
        if before < most and (self.reporting or self._listened < waits.LISTENED) and self.session.alive:
            self.session.listen(seconds, lambda: responses(self.session, start) >= most)
            quiet = responses(self.session, start) == before and self.session.alive
            self._listened = self._listened + seconds if quiet else 0.0

    def _answered(self, sentinel: Call, patience: float, began: float) -> bool:
        """Whether it is answered in time, or at least after all: on a busy machine anything may take long once."""
        full = self.session.limits.answer
        if not (self._wait([sentinel], patience) or answered_later(self.session, sentinel, patience)):
            if self.hurried or patience >= full or self._stalled or not self.session.alive:
                return False
            longer = self.session.patience.hurried(full, self.session.requests.stuck) / 2
            self._stalled = not self._wait([sentinel], longer)
            if self._stalled:
                return False
        self.slowest = max(self.slowest, time.monotonic() - began)
        return True

    def _in_turn(self, seconds: float, requests: int) -> float:
        """That many seconds, or more for a server that answers so many requests one after another."""
        return self.session.patience.in_turn(seconds, self.session.limits.answer, requests)

    def _cancel(self, calls: list[Call]) -> None:
        """Let the target forget what is not waited for any more."""
        for call in calls:
            if call.method in MAY_TAKE_LONG:
                self.session.notify("notifications/cancelled", {"requestId": call.id, "reason": "no answer in time"})
                self.session.give_up(call)

    def _found(self, known: int) -> list[Finding]:
        """What the invariants found meanwhile, taken out of the ledger.

        What is not about messages as such they find as well where nothing was generated.
        """
        taken = self.bench.ledger.take(known)
        found = [finding for finding in taken if finding.requirement.partition("/")[0] in self.areas]
        for finding in found:
            self._usual[finding.requirement, finding.message] += 1
        return [f for f in found if self.reporting or self._usual[f.requirement, f.message] <= USUAL]

    def _judge_fate(self, replies: list[Reply], sentinels: list[Call], patience: float) -> None:
        session = self.session
        if all(call.answers for call in sentinels):
            return
        if session.ended is None and sentinels[-1].answers:
            fate, why = SWALLOWED, "the message after it is not answered, the next one is"
        else:
            fate, why = self._fate(sentinels[-1], _silent(patience))
        for reply in replies:
            reply.fate, reply.why = fate, why
        for call in sentinels:
            call.excused = True
        if fate == HUNG:
            session.drop()

    def _fate(self, sentinel: Call | None, silent: str) -> tuple[str, str]:
        """What became of a server that did not answer `sentinel`, and why that is known; `silent` says how it hangs."""
        session = self.session
        broke_off = sentinel.lost if sentinel is not None and not sentinel.late else ""
        # Over HTTP, who breaks off an exchange and then takes no connection has died.
        asks = bool(broke_off) and session.transport.has_headers and session.ended is None
        if asks and (again := session.hear_out()) is not None:
            again.excused = True
        if session.ended is not None and not session.ended.lost:
            return DIED, session.ended.reason
        return HUNG, broke_off or silent

    # -- scripts

    def _converse(self, example: Example, patience: float) -> Reply:
        session = self.session
        self._fresh = False
        start, known = session.position, len(self.bench.ledger.findings)
        identifiers = [session.new_id() for _ in range(example.numbers)]
        lines = example.lines(identifiers)
        calls = say(session, lines, together=bool(example.about.get("together")))
        requests = [i for i, line in enumerate(lines) if b'"notifications/' not in line]
        for call, i in zip(calls, requests, strict=False):
            call.excused |= bool(example.about.get("extreme") and example.about["extreme"][i])
        for frame in session.since(start):
            message = frame.message
            if isinstance(message, dict) and message.get("method") == "notifications/cancelled":
                wanted = id_key(message["params"]["requestId"])
                for call in calls:
                    call.excused |= id_key(call.id) == wanted
        for call in calls:
            call.excused |= call.method == "subscriptions/listen"
        sentinel = session.send(*session.sentinel())
        sentinel.awaited = True
        patience = self._in_turn(patience, 1 + len(calls))
        if self._answered(sentinel, patience, time.monotonic()):
            due = [call for call in calls if not call.excused]
            session.wait(*due, timeout=self._limit(due, patience))
            self._unanswered += not all(call.answers for call in due)
        session.judge()
        heard = tuple(session.since(start))
        reply = Reply(heard[0], calls=calls, frames=heard, findings=self._found(known), session=session)
        reply.answers = [frame for call in calls for frame in call.answers]
        reply.strays = strays(session, heard, (*calls, sentinel))
        if session.ended is not None and session.ended.lost:
            reply.lost = True
            session.drop()
        elif not sentinel.answers:
            reply.fate, reply.why = self._fate(sentinel, _silent(patience))
            sentinel.excused = True
            session.drop()
        elif session.alive:
            self._cancel([call for call in calls if not call.answers])
        session.requests.forget([*calls, sentinel])
        return reply

    def _limit(self, due: Sequence[Call], patience: float) -> float:
        """Seconds to wait for what is `due`, once the message after it was answered."""
        limit = patience
        if any(call.method in MAY_TAKE_LONG for call in due):
            limit = min(limit, self._in_turn(waits.LEAST_PATIENCE, 1 + len(due)))
        if self._unanswered >= waits.ENOUGH_UNANSWERED and patience < self.session.limits.answer:
            limit = min(limit, self._soon())
        return limit

    # -- HTTP

    def _exchange(self, example: Example, patience: float) -> Reply:
        session = self.session
        self._fresh = False
        start, known = session.position, len(self.bench.ledger.findings)
        began = time.monotonic()
        identifier = session.new_id()
        data = example.written(identifier)
        if example.inner:
            sent, call = written_out(session, data, example.message(identifier), illegal=example.illegal)
        else:
            call = next(iter(session.raw(data, illegal=example.illegal)), None)
            sent = next(iter(session.since(start)))
        reply = Reply(sent, call, session=session)
        if self._lasting >= waits.ENOUGH_UNANSWERED and not self.reporting:
            patience = min(patience, self._soon())
        over = session.await_exchange(sent.exchange, waits.CUT if example.cut else patience)
        if not over and example.inner:
            session.transport.break_off(sent.exchange or 0)
        sentinel = session.hear_out()
        if over and sentinel is not None and sentinel.answers:
            self.slowest = max(self.slowest, time.monotonic() - began)
        heard = tuple(itertools.islice(session.since(start), 200))
        for frame in heard:
            if frame.exchange != sent.exchange or frame.origin == "us":
                continue
            if frame.channel == "head":
                reply.status = frame.status
            elif reply.call is None and isinstance(frame.message, dict) and frame.message.keys() & {"result", "error"}:
                reply.answers.append(frame)
        reply.answers += reply.call.answers if reply.call is not None else []
        self._lasting += bool(reply.answers) and not (over or example.cut)
        if session.ended is not None and session.ended.lost:
            # Where it was the sentinel that did not get through, the answer to the example counts.
            reply.lost = sentinel is None
            session.drop()
        elif sentinel is None or not sentinel.answers:
            reply.fate, reply.why = self._fate(sentinel, NEXT_UNANSWERED)
            if sentinel is not None:
                sentinel.excused = True
            session.drop()
        session.judge()
        reply.findings = self._found(known)
        reply.frames = heard
        session.requests.forget([c for c in (sentinel, reply.call) if c is not None])
        return reply


def _silent(patience: float) -> str:
    return f"{NO_ANSWER} {patience:g} s to the messages after it"
