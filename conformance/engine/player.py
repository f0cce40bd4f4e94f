"""Plays a case on a session, step by step, and writes what its expectations say into the ledger."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Mapping

from conformance.catalogue.cases import Case, Expectation, Step
from conformance.catalogue.patterns import ABSENT, Mismatch, match, render
from conformance.checks.probes import Bench, Probe
from conformance.checks.probes.outcome import UNANSWERED
from conformance.model import Frame, Json
from conformance.session.session import MAY_TAKE_LONG, Call, How, Session, encode, id_key
from conformance.survey.survey import Unavailable, pick


class Stop(Exception):
    """The rest of the case is pointless; the text says why. `blocked` tells a failure from a lack."""

    def __init__(self, why: str, blocked: bool) -> None:
        super().__init__(why)
        self.blocked = blocked


def play(case: Case, bench: Bench, probes: Mapping[str, Probe]) -> None:
    """Play `case`. What its steps judge is in `bench.ledger` afterwards; other exceptions are our own bugs."""
    player = _Player(bench, probes)
    for number, step in enumerate(case.steps):
        try:
            player.step(step)
        except Unavailable as lack:
            _give_up(case.steps[number:], bench, str(lack), blocked=False)
            return
        except Stop as stop:
            _give_up(case.steps[number:], bench, str(stop), blocked=stop.blocked)
            return


def _give_up(steps: Iterable[Step], bench: Bench, why: str, blocked: bool) -> None:
    for requirement in {identifier for step in steps for identifier in step.judges}:
        if blocked:
            bench.ledger.block(requirement, why)
        else:
            bench.ledger.inconclusive(requirement, why)


class _Player:
    def __init__(self, bench: Bench, probes: Mapping[str, Probe]) -> None:
        self.bench = bench
        self.session: Session = bench.session
        self.probes = probes
        self.saved: dict[str, Json] = {}
        self.closing: Call | None = None
        """The sentinel that closed a step of raw bytes."""

    def step(self, step: Step) -> None:
        start = self.session.position
        if step.kind == "probe":
            self._probe(step)
            return
        if not self.session.alive:
            reason = self.session.ended.reason if self.session.ended else "the session is closed"
            raise Stop(reason, blocked=True)
        call = self._say(step)
        self._save(step, call)
        for expectation in step.expect:
            self._judge(expectation, step, call, start)

    def _probe(self, step: Step) -> None:
        bench = self.bench
        bench.settings = step.settings
        self.probes[step.probe].run(bench)

    # -- saying

    def _say(self, step: Step) -> Call | None:
        session = self.session
        if step.kind == "request":
            how = How(illegal=step.illegal, bare=not step.meta, headers=step.headers)
            if step.id is not ABSENT:
                how["id"] = step.id
            return session.request(step.method, self._fill(step.params), **how)
        if step.kind == "notify":
            session.notify(step.method, self._fill(step.params), illegal=step.illegal, headers=step.headers)
        elif step.kind == "batch":
            calls = session.batch(self._fill(list(step.batch)), illegal=step.illegal)
            session.wait(*calls)
            return calls[0] if calls else None
        elif step.kind == "close":
            session.finish_input()
        elif step.kind == "http":
            return self._http(step)
        else:
            calls = session.raw(_bytes(step.raw, step.raw64), headers=step.headers)
            self.closing = session.hear_out()
            return calls[0] if calls else None
        return None

    def _http(self, step: Step) -> Call | None:
        if self.session.transport.name != "http":
            raise Unavailable("the step speaks HTTP, the session does not")
        calls = self.session.raw(_bytes(step.raw, step.raw64), headers=step.headers)
        self.session.wait(*calls)
        return calls[0] if calls else None

    def _fill(self, value: Json) -> Json:
        """`value` with `$pick` and `$saved` replaced by what they name."""
        if value is ABSENT:
            return None
        if isinstance(value, dict):
            if set(value) == {"$pick"}:
                return pick(value["$pick"], self.bench.survey)
            if set(value) == {"$saved"}:
                return self.saved[value["$saved"]]
            return {name: self._fill(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._fill(element) for element in value]
        return value

    def _save(self, step: Step, call: Call | None) -> None:
        for name, path in step.save.items():
            value: Json = call.response if call is not None else None
            for part in path.split("."):
                if isinstance(value, dict) and part in value:
                    value = value[part]
                elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
                    value = value[int(part)]
                else:
                    raise Stop(f"the answer to {step.method} has no {path}", blocked=True)
            self.saved[name] = value

    # -- judging

    def _judge(self, expectation: Expectation, step: Step, call: Call | None, start: int) -> None:
        if expectation.subject == "alive":
            self._judge_alive(expectation, start)
            return
        if expectation.subject == "nothing":
            self._judge_silence(expectation, start)
            return
        if expectation.subject == "response":
            self._judge_response(expectation, step, call, start)
            return
        if expectation.subject == "notifications":
            self.session.hear_out()
            heard = [f for f in self._heard(start) if isinstance(f.message, dict) and "method" in f.message]
            self._compare(expectation, [frame.message for frame in heard], self._frames(start))
            return
        head = self._head(call, start)
        if head is None:
            raise Stop("there was no HTTP answer", blocked=True)
        value: Json = head.status if expectation.subject == "status" else dict(head.headers)
        self._compare(expectation, value, (*self._ours(start), head))

    def _judge_response(self, expectation: Expectation, step: Step, call: Call | None, start: int) -> None:
        if call is not None and call.answers:
            self._compare(expectation, call.response, call.proof)
            return
        if call is None and (stray := self._stray(start)) is not None:
            self._compare(expectation, stray.message, (*self._ours(start)[:1], stray))
            return
        proof = self._frames(start) if call is None else call.proof
        status = call.head.status if call is not None and call.head is not None else None
        if match(expectation.pattern, ABSENT, self.saved) is None or expectation.silence == "allowed":
            self.bench.ledger.held(expectation.requirement)
        elif expectation.silence == "inconclusive":
            lost = call.lost if call is not None else "no answer came"
            self.bench.ledger.inconclusive(expectation.requirement, f"the server did not answer ({lost})")
        elif status is not None and status >= 400:
            why = f"{step.method} is refused with HTTP status {status} and no JSON-RPC response"
            self.bench.ledger.inconclusive(expectation.requirement, why)
        elif call is not None and call.redirected:
            self.bench.ledger.inconclusive(expectation.requirement, f"{call.method}: {call.lost}")
        elif step.illegal and not self.session.alive:
            raise Stop(self.session.ended.reason if self.session.ended else "the session is closed", blocked=True)
        elif step.illegal:
            self._broke(expectation, "a response", call.lost if call is not None else "silence", proof)
        elif call is not None and call.method in MAY_TAKE_LONG and self.session.alive:
            raise Stop(f"{call.method}: {call.lost}; --timeout gives it longer", blocked=False)
        else:
            raise Stop(UNANSWERED, blocked=True)

    def _judge_alive(self, expectation: Expectation, start: int) -> None:
        sentinel = self.session.hear_out()
        if sentinel is not None and sentinel.answers:
            self.bench.ledger.held(expectation.requirement)
            return
        ended = self.session.ended
        actual = ended.reason if ended else (sentinel.lost if sentinel else "no answer")
        self._broke(expectation, "the server still answers", actual, self._frames(start))

    def _judge_silence(self, expectation: Expectation, start: int) -> None:
        sentinel = self.session.hear_out()
        key = sentinel.sent.number if sentinel else self.session.position
        closing = {answer.number for answer in self.closing.answers} if self.closing else set()
        responses = [
            frame
            for frame in self._heard(start)
            if isinstance(frame.message, dict)
            and "method" not in frame.message
            and frame.number not in closing
            and (sentinel is None or frame.number not in {answer.number for answer in sentinel.answers})
            and (frame.number < key or frame.message.get("id") != (sentinel.id if sentinel else None))
        ]
        if responses:
            actual = encode(responses[0].message).decode("utf-8", "replace")[:300]
            self._broke(expectation, "no response", actual, (*self._ours(start)[:1], *responses))
        elif sentinel is not None and not sentinel.answers:
            raise Stop(UNANSWERED, blocked=True)
        else:
            self.bench.ledger.held(expectation.requirement)

    def _compare(self, expectation: Expectation, value: Json, proof: tuple[Frame, ...]) -> None:
        mismatch: Mismatch | None = match(expectation.pattern, value, self.saved)
        if mismatch is None:
            self.bench.ledger.held(expectation.requirement)
            return
        where = f"{mismatch.path}: " if mismatch.path else ""
        self._broke(expectation, render(expectation.pattern), where + mismatch.actual, proof)

    def _broke(self, expectation: Expectation, expected: str, actual: str, proof: tuple[Frame, ...]) -> None:
        self.bench.ledger.broke(
            expectation.requirement,
            expectation.message or f"{expectation.subject} is not as expected",
            expected=expected,
            actual=actual,
            frames=proof,
            ceiling=expectation.severity,
        )

    # -- looking back

    def _stray(self, start: int) -> Frame | None:
        """The response to a frame that is no request as far as we can tell: one with the id of no other."""
        for frame in self._heard(start):
            message = frame.message
            response = isinstance(message, dict) and bool(message.keys() & {"result", "error"})
            if response and id_key(message.get("id")) not in self.session.calls:
                return frame
        return None

    def _heard(self, start: int) -> list[Frame]:
        return [frame for frame in self.session.since(start) if frame.origin == "target"]

    def _ours(self, start: int) -> list[Frame]:
        return [frame for frame in self.session.since(start) if frame.origin == "us"]

    def _frames(self, start: int) -> tuple[Frame, ...]:
        return tuple(self.session.since(start))

    def _head(self, call: Call | None, start: int) -> Frame | None:
        if call is not None and call.head is not None:
            return call.head
        return next((frame for frame in self._heard(start) if frame.channel == "head"), None)


def _bytes(text: str, encoded: str) -> bytes:
    return base64.b64decode(encoded) if encoded else text.encode("utf-8", "surrogatepass")
