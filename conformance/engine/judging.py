"""Compares what came with what a case expects, and writes down what follows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

from conformance.catalogue.cases import Condition, Expectation, Outcome, Step
from conformance.catalogue.patterns import ABSENT, match, render, shorten
from conformance.catalogue.references import Values, root
from conformance.checks.invariants.base import is_integer
from conformance.checks.probes import Bench
from conformance.checks.probes.outcome import (
    UNANSWERED,
    UNKNOWN_STOPS,
    behind_gateway,
    life,
    refused_by_http,
    shown,
    turned_away,
    unanswered,
)
from conformance.model import Finding, Frame, Json, Silence, members
from conformance.revisions import holds
from conformance.session.messages import is_id, is_reply, loosely
from conformance.session.patience import NEXT_UNANSWERED
from conformance.session.session import Call, Session, encode
from conformance.validation.wire_schemas import for_revision

ECHOED = "jsonrpc/response-id-echoed"
CODES, INTEGER = "jsonrpc/error-has-code-and-message", "jsonrpc/error-code-integer"
"""What is broken if an error has no code: nothing follows of what the code should be."""


class Stop(Exception):
    """The rest of the steps is pointless; the text says why. `blocked` tells a failure from a lack."""

    def __init__(self, why: str, blocked: bool) -> None:
        super().__init__(why)
        self.blocked = blocked


@dataclass(frozen=True, slots=True)
class Said:
    """A step that was taken: the position of its first frame, and its requests.

    Of a list that was read `pages` is what was found. `proof` are the frames that show that, or what a probe observed;
    `actual` is what a probe says that came.
    """

    step: Step
    start: int
    calls: tuple[Call, ...] = ()
    pages: Json = ABSENT
    proof: tuple[Frame, ...] = ()
    actual: str = ""

    @property
    def call(self) -> Call | None:
        """Its first request."""
        return self.calls[0] if self.calls else None

    @property
    def asks_nothing(self) -> bool:
        """Whether it is an observation of something else than a request."""
        return self.step.kind == "probe" and not self.calls


class Judge:
    """Judges on a bench, with what was picked and saved so far and the frames that it comes from."""

    def __init__(self, bench: Bench, values: Values, proofs: Mapping[str, tuple[Frame, ...]]) -> None:
        self.bench = bench
        self.session: Session = bench.session
        self.ledger = bench.ledger
        self.values = values
        self.proofs = proofs

    def write(self, requirement: str, outcome: Outcome, because: str) -> None:
        """Write down what is no finding."""
        if outcome == "held":
            self.ledger.held(requirement)
        elif outcome == "inconclusive":
            self.ledger.inconclusive(requirement, because)
        elif outcome == "not-applicable":
            self.ledger.not_applicable(requirement, because)
        else:
            self.ledger.block(requirement, because)

    # -- conditions

    def applies(self, condition: Condition, said: Said | None = None) -> bool:
        """Whether all of the condition is so; what it asks of a response is not without one."""
        revision, survey = self.session.revision, self.bench.survey
        return (
            all(survey.declares(self._text(name)) for name in condition.declares)
            and not any(survey.declares(self._text(name)) for name in condition.lacks)
            and holds(revision.date, condition.since, condition.until)
            and condition.era in ("", revision.era)
            and condition.transport in ("", self.session.transport.name)
            and all(match(pattern, self.values[path], self.values) is None for path, pattern in condition.saved.items())
            and self._came(condition, said)
            and (condition.alive is None or self._lives() is condition.alive)
        )

    def _came(self, condition: Condition, said: Said | None) -> bool:
        response = self._answer(said)[0] if said is not None else ABSENT
        head = self._head(said) if said is not None and condition.status is not ABSENT else None
        status: Json = head.status if head is not None else ABSENT
        return (condition.response is ABSENT or match(condition.response, response, self.values) is None) and (
            condition.status is ABSENT or match(condition.status, status, self.values) is None
        )

    def _text(self, name: Json) -> str:
        return str(self.values[name["$saved"]]) if isinstance(name, dict) else str(name)

    # -- expectations

    def expectation(self, expectation: Expectation, said: Said) -> None:
        """Judge what came of a step. Raises Stop if nothing came that could be judged."""
        if expectation.when is not None and not self.applies(expectation.when, said):
            if expectation.otherwise is not None:
                because = self.values.told(expectation.otherwise.because)
                self.write(expectation.requirement, expectation.otherwise.outcome, because)
            return
        if expectation.subject == "alive":
            self._alive(expectation, said)
        elif expectation.subject == "nothing":
            self._silence(expectation, said)
        elif expectation.subject == "answered":
            self._answered(expectation, said)
        elif expectation.subject == "response":
            self._response(expectation, said)
        elif expectation.subject == "judge":
            self._rows(expectation, said)
        elif expectation.subject == "saved":
            self._saved(expectation, said)
        elif expectation.subject == "notifications":
            self.session.hear_out()
            heard = [f for f in self._heard(said.start) if isinstance(f.message, dict) and "method" in f.message]
            self._compare(expectation, [frame.message for frame in heard], self._frames(said.start))
        else:
            head = self._head(said)
            if head is None:
                raise Stop("there was no HTTP answer", blocked=True)
            value: Json = head.status if expectation.subject == "status" else dict(head.headers)
            self._compare(expectation, value, (*self._ours(said.start), head))

    def _response(self, expectation: Expectation, said: Said) -> None:
        response, proof = self._answer(said)
        if response is not ABSENT:
            self._compare(expectation, response, proof)
        elif match(expectation.pattern, ABSENT, self.values) is None or expectation.silence == "allowed":
            self.ledger.held(expectation.requirement)
        else:
            self._no_response(expectation, said)

    def _no_response(self, expectation: Expectation, said: Said) -> None:
        call = said.call
        if call is not None and call.sent.illegal and self._is_unserved(call.method) and not self._lives():
            # Whoever waits for the next answer waits in vain, whatever the answer to this one should have been.
            expected, actual = "an error, and the server lives on", self._why_dead()
            self.ledger.broke(
                UNANSWERED, UNKNOWN_STOPS, expected=expected, actual=actual, frames=call.proof, ceiling=None
            )
            raise Stop(self._why_dead(), blocked=True)
        if expectation.silence == "inconclusive":
            lost = call.lost if call is not None else "no answer came"
            self.ledger.inconclusive(expectation.requirement, f"the server did not answer ({lost})")
        elif call is not None:
            outcome, why = unanswered(self.bench, call)
            if outcome != "broken":
                raise Stop(why, blocked=outcome == "blocked")
            if not expectation.message:
                expectation = replace(expectation, message=f"{call.method} is not answered")
            self._broke(expectation, "an error", shown(call), call.proof, silence="request")
        elif not self.session.alive:
            raise Stop(self._why_over(), blocked=True)
        else:
            self._broke(expectation, "a response", "silence", self._frames(said.start))

    def _is_unserved(self, method: str) -> bool:
        """Whether the server need not know a method: none of the revision, or of what it does not declare."""
        kind = method.partition("/")[0]
        declared = kind in ("initialize", "ping", "server", "subscriptions") or self.bench.survey.declares(
            "completions" if kind == "completion" else kind
        )
        return not (declared and method in for_revision(self.session.revision.date).methods)

    def _rows(self, expectation: Expectation, said: Said) -> None:
        call = said.call
        response, proof = self._answer(said)
        patterns = [row.when.response for row in expectation.rows if row.when.response is not ABSENT]
        # A row that is about silence has the rows decide it.
        silent = any(match(pattern, ABSENT, self.values) is None for pattern in patterns)
        if response is ABSENT and patterns and not (silent or said.asks_nothing):
            self._no_response(expectation, said)
            return
        row = next((row for row in expectation.rows if self.applies(row.when, said)), None)
        if row is None:
            return
        sentence = self.values.told(row.message)
        if row.outcome != "broken":
            self.write(expectation.requirement, row.outcome, sentence)
            return
        by_silence = response is ABSENT and row.when.response is not ABSENT and row.when.status is ABSENT
        if call is not None and by_silence and turned_away(call):  # which is neither silence nor success
            raise Stop(unanswered(self.bench, call)[1], blocked=False)
        if (rule := _code_rule(response)) and any(_asks_for_code(pattern) for pattern in patterns):
            self.ledger.block(expectation.requirement, rule)
            return
        good = next((each.when.response for each in expectation.rows if each.outcome == "held"), ABSENT)
        dead = row.when.alive is False  # which is shown by what came after the answer, or did not
        frames = () if dead else said.proof or proof or (call.proof if call is not None else ())
        self.ledger.broke(
            expectation.requirement,
            sentence,
            expected=self.values.told(row.expected)
            or ("another answer" if good is ABSENT else render(good, self.values)),
            actual=self.values.told(row.actual) or (self._why_dead() if dead else self._shown(said, response)),
            frames=frames or self._frames(said.start),
            ceiling=row.severity or expectation.severity,
        )

    def _saved(self, expectation: Expectation, said: Said) -> None:
        for path, pattern in expectation.pattern.items():
            mismatch = match(pattern, self.values[path], self.values)
            if mismatch is not None:
                where = f"{path}.{mismatch.path}" if mismatch.path else path
                proof = self.proofs.get(root(path), ())
                actual = said.actual or f"{where}: {mismatch.actual}"
                self._broke(expectation, render(pattern, self.values), actual, proof)
                return
        self.ledger.held(expectation.requirement)

    def _answered(self, expectation: Expectation, said: Said) -> None:
        call = said.call
        if call is not None and call.answers:
            self.ledger.held(expectation.requirement)
            return
        if call is not None and behind_gateway(call):
            raise Stop(unanswered(self.bench, call)[1], blocked=False)
        if call is not None:
            call.excused = True  # silence is told here, with its cause
        actual = shown(call) if call is not None else "silence"
        self._broke(expectation, "an answer", actual, call.proof if call is not None else self._frames(said.start))

    def _alive(self, expectation: Expectation, said: Said) -> None:
        if self._lives():
            self.ledger.held(expectation.requirement)
        else:
            self._broke(expectation, "the server still answers", self._why_dead(), self._frames(said.start))

    def _lives(self) -> bool:
        """Whether the server still answers. Raises Stop if only one request was lost, which is told elsewhere."""
        found = life(self.session)
        if found != "goes on" and self.session.alive and self.session.patience.confused:
            raise Stop(ECHOED, blocked=True)  # it may well have answered the next request
        if found == "lost a request":
            raise Stop(UNANSWERED, blocked=True)
        return found == "goes on"

    def _silence(self, expectation: Expectation, said: Said) -> None:
        sentinel = self.session.hear_out()
        # What answers another message, late perhaps, does not answer this one; what HTTP refuses is no response.
        own = {call.sent.number for call in said.calls}
        others = {loosely(call.id) for call in self.session.calls.values() if call.sent.number not in own}
        responses = [
            frame
            for frame in self._heard(said.start)
            if is_reply(frame.message)
            and self._tells(frame, others)
            and not (frame.channel == "body" and (frame.status or 200) >= 400)
        ]
        if responses and all(each.message.get("id") is None for each in responses) and self._owed(said.start):
            raise Stop("an answer without an id came, which may be one to what was sent before", blocked=False)
        if responses:
            actual = encode(responses[0].message).decode("utf-8", "replace")[:300]
            self._broke(expectation, "no response", actual, (*self._ours(said.start)[:1], *responses))
        elif sentinel is not None and not sentinel.answers:
            raise Stop(UNANSWERED, blocked=True)
        elif self.session.ended is not None and said.step.kind != "close":
            raise Stop(self._why_over(), blocked=True)
        else:
            self.ledger.held(expectation.requirement)

    def _owed(self, start: int) -> bool:
        """Whether something sent before that frame may still be answered by an error that names no request."""
        before = [frame for frame in self.session.trace if frame.number < start]
        sent = [f for f in before if f.origin == "us" and f.illegal and _is_nameless(f.message)]
        return len(sent) > sum(f.origin == "target" and _is_nameless_answer(f.message) for f in before)

    def _compare(self, expectation: Expectation, value: Json, proof: tuple[Frame, ...]) -> None:
        mismatch = match(expectation.pattern, value, self.values)
        if mismatch is None:
            self.ledger.held(expectation.requirement)
            return
        if (rule := _code_rule(value)) and _asks_for_code(expectation.pattern):
            self.ledger.block(expectation.requirement, rule)
            return
        where = f"{mismatch.path}: " if mismatch.path else ""
        actual = where + mismatch.actual
        if mismatch.path == "result" and "error" in members(value):  # that there is no result would tell little
            actual = f"error: {shorten(members(value)['error'])}"
        self._broke(expectation, render(expectation.pattern, self.values), actual, proof)

    def _broke(
        self, expectation: Expectation, expected: str, actual: str, proof: tuple[Frame, ...], silence: Silence = ""
    ) -> None:
        message = self.values.told(expectation.message) or f"{expectation.subject} is not as expected"
        told = Finding(expectation.requirement, "", message, expected, actual, proof, expectation.severity)
        self.ledger.tell(replace(told, silence=silence))

    # -- looking back

    def _why_over(self) -> str:
        return self.session.ended.reason if self.session.ended else "the session is closed"

    def _why_dead(self) -> str:
        return self._why_over() if self.session.ended else NEXT_UNANSWERED

    def _shown(self, said: Said, response: Json) -> str:
        if said.actual:
            return said.actual
        if response is ABSENT and not self.session.alive:
            return self._why_over()
        if said.call is not None and (said.call.answers or said.call.turned_down or response is ABSENT):
            return shown(said.call)
        if response is not ABSENT:
            return encode(response).decode("utf-8", "replace")[:300]
        head = self._head(said)
        return "silence" if head is None else f"HTTP {head.status}, without a response"

    def _answer(self, said: Said) -> tuple[Json, tuple[Frame, ...]]:
        """The response to a step and the frames that show it; ABSENT and none if there was none."""
        call = said.call
        if call is not None and call.answers:
            return call.response, call.proof
        if said.asks_nothing:
            return ABSENT, ()
        refused = call is not None and call.head is not None and said.step.may_be_sent and refused_by_http(call)
        if call is None or refused or said.step.kind in ("raw", "http"):  # the answer may well lack an id
            stray = self._stray(said.start)
            if stray is not None:
                return stray.message, (*self._ours(said.start)[:1], stray)
        if call is not None and call.head is not None and refused:
            return {"error": {"code": call.head.status, "message": "refused by HTTP"}}, (call.sent, call.head)
        return ABSENT, ()

    def _stray(self, start: int) -> Frame | None:
        """The response to a frame that is no request as far as we can tell: one with the id of no other."""
        others = {loosely(call.id) for call in self.session.calls.values()}
        for frame in self._heard(start):
            message = frame.message
            response = isinstance(message, dict) and bool(message.keys() & {"result", "error"})
            if response and self._tells(frame, others):
                return frame
        return None

    def _tells(self, frame: Frame, others: Collection[str]) -> bool:
        """Whether a response answers something else than the requests with the ids of `others`, as far as ids tell."""
        identifier = frame.message.get("id")
        if loosely(identifier) in others or frame.number in self.session.requests.adopted:
            return False
        return identifier is None or not self.session.patience.confused

    def _heard(self, start: int) -> list[Frame]:
        return [frame for frame in self.session.since(start) if frame.origin == "target"]

    def _ours(self, start: int) -> list[Frame]:
        return [frame for frame in self.session.since(start) if frame.origin == "us"]

    def _frames(self, start: int) -> tuple[Frame, ...]:
        return tuple(self.session.since(start))

    def _head(self, said: Said) -> Frame | None:
        call = said.call
        if call is not None and call.head is not None:
            return call.head
        return next((frame for frame in self._heard(said.start) if frame.channel == "head"), None)


def _code_rule(response: Json) -> str:
    """The rule that an error without an integer as its code breaks; "" for any other response."""
    error = members(response).get("error")
    if error is None or is_integer(members(error).get("code")):
        return ""
    return INTEGER if "code" in members(error) else CODES


def _asks_for_code(pattern: Json) -> bool:
    """Whether a pattern of responses tells errors by their codes."""
    parts = members(pattern)
    return "code" in members(parts.get("error")) or any(_asks_for_code(each) for each in parts.get("$any", ()))


def _is_nameless(message: Json) -> bool:
    """Whether it is no notification, and has no id that an answer could have: an empty batch, or no JSON."""
    if isinstance(message, list):
        return not any(isinstance(each, dict) and is_id(each.get("id")) for each in message)
    return not isinstance(message, dict) or ("id" in message and not is_id(message["id"]))


def _is_nameless_answer(message: Json) -> bool:
    return is_reply(message) and message.get("id") is None
