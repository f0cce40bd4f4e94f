"""Plays a case on a session, step by step; what its steps judge is in the ledger afterwards."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from conformance.catalogue.cases import Case, Otherwise, Outcome, Step
from conformance.catalogue.patterns import ABSENT
from conformance.catalogue.references import Values, at
from conformance.checks.probes import Bench, Probe
from conformance.checks.probes.calls import avoided_tool
from conformance.checks.probes.lists import walk
from conformance.checks.probes.outcome import UNANSWERED, refused_by_http, succeeded, unanswered
from conformance.engine.judging import Judge, Said, Stop
from conformance.model import Frame, Json, members
from conformance.session.eras.handshake import Handshake
from conformance.session.eras.stateless import in_base64
from conformance.session.messages import is_utf8
from conformance.session.notifications import notified
from conformance.session.session import Call, How, Session
from conformance.survey.picks import KEYS, pick, picks
from conformance.survey.survey import LISTS, Unavailable


def play(case: Case, bench: Bench, probes: Mapping[str, Probe]) -> None:
    """Play `case`. What its steps judge is in `bench.ledger` afterwards; other exceptions are our own bugs."""
    player = _Player(bench, probes, case.undecided)
    if case.asks_for_life and not _answers(bench.session):
        for requirement in case.requirements:
            bench.ledger.block(requirement, UNANSWERED)
        return
    player.all(case.steps)
    for requirement, why in case.undecided.items():
        bench.ledger.inconclusive(requirement, player.values.told(why))


def _answers(session: Session) -> bool:
    """Whether the server has answered a request of this session, but for the opening, or none was to be asked yet.

    A server that answers nothing anyway has not been hurt by what the case sends.
    """
    if not session.opened or any(call.answers for call in session.calls.values() if call.method != "initialize"):
        return True
    sentinel = session.hear_out()
    return sentinel is not None and bool(sentinel.answers)


AT_ONCE = 0.05
"""Seconds in which an answer that comes at once has come over stdio, before the sentinel is sent."""
AGAIN = 1000
"""What is added to an id that is a number when its request is sent once more."""
_BRACES = re.compile(r"\{([^{}]+)\}")
"""Within a path: the name of a value that is a part of it."""


class _Player:
    def __init__(self, bench: Bench, probes: Mapping[str, Probe], undecided: Iterable[str]) -> None:
        self.bench = bench
        self.probes = probes
        self.undecided = frozenset(undecided)
        self.values = Values()
        self.proofs: dict[str, tuple[Frame, ...]] = {}
        """Name → the frames that a saved value comes from."""
        self.asked: dict[str, tuple[Step, Call]] = {}
        """Name → the request whose response was saved under it."""

    @property
    def session(self) -> Session:
        return self.bench.session

    @property
    def judge(self) -> Judge:
        return Judge(self.bench, self.values, self.proofs)

    def all(self, steps: tuple[Step, ...]) -> None:
        """Play the steps; if one is in vain, so are those that follow."""
        for number, step in enumerate(steps):
            try:
                self.step(step)
            except Unavailable as lack:
                self._give_up(steps[number:], str(lack), blocked=False)
                return
            except Stop as stop:
                self._give_up(steps[number:], str(stop), blocked=stop.blocked)
                return

    def _give_up(self, steps: Iterable[Step], why: str, blocked: bool) -> None:
        for requirement in dict.fromkeys(identifier for step in steps for identifier in step.judges):
            if blocked:
                self.bench.ledger.block(requirement, why)
            else:
                self.bench.ledger.inconclusive(requirement, why)

    def step(self, step: Step) -> None:
        """Play one step. Raises Stop, Unavailable if what follows is in vain."""
        if step.when is not None and not self.judge.applies(step.when):
            self._not_taken(step, step.otherwise)
        elif step.kind == "steps":
            self._steps(step)
        elif step.kind == "probe":
            self._observe(step)
        else:
            said = self._say(step)
            if step.like and (why := self._depends(step, said.calls[0])):
                self._give_up((step,), why, blocked=False)
                return
            if step.kind == "request" and step.wait and not (step.expect or self._heard(step, said.calls[0])):
                self._stop_at(said.calls[0])
            missing = self._save(step, said)
            for expectation in step.expect:
                self.judge.expectation(expectation, said)
            if missing:
                raise Stop(missing, blocked=True)

    def _depends(self, step: Step, call: Call) -> str:
        """Why it says nothing that a request is refused though the one that it is like was served, "" if it does.

        Some servers serve a thing once, every second time, or so often in a second.
        """
        other, served = self.asked.get(step.like, (step, call))
        if not (call.answers or refused_by_http(call)) or succeeded(call) or not succeeded(served):
            return ""
        again = step if step.id is ABSENT else replace(step, id=_another(call.id))
        if succeeded(self._say(again).calls[0]):
            return f"{call.method} is refused only now and then"
        return "" if succeeded(self._say(other).calls[0]) else f"{call.method} is refused now as it was served before"

    def _observe(self, step: Step) -> None:
        """Run a probe, and judge what it observes. Raises Unavailable."""
        self.bench.settings = step.settings
        start = self.session.position
        for seen in self.probes[step.probe].run(self.bench) or ():
            self.values[step.name] = dict(seen.values)
            calls = () if seen.call is None else (seen.call,)
            self.proofs[step.name] = seen.frames or (seen.call.proof if seen.call is not None else ())
            said = Said(step, start, calls, proof=seen.frames, actual=seen.actual)
            for expectation in step.expect:
                try:
                    self.judge.expectation(expectation, said)
                except Stop as stop:  # of this observation nothing else follows from that
                    outcome: Outcome = "blocked" if stop.blocked else "inconclusive"
                    self.judge.write(expectation.requirement, outcome, str(stop))

    def _not_taken(self, step: Step, otherwise: Otherwise | None) -> None:
        for requirement in step.judges if otherwise is not None else ():
            assert otherwise is not None
            self.judge.write(requirement, otherwise.outcome, self.values.told(otherwise.because))

    # -- steps within steps

    def _steps(self, step: Step) -> None:
        before, known = self.bench, (dict(self.values), dict(self.proofs))
        if step.another:
            shared = not self.session.transport.process_per_session
            opens = self.session.revision.era == "handshake"
            self.bench = replace(self.bench, session=self.bench.connect(open=opens, shared=shared))
            if not opens:  # what such a server declares it declares on every connection
                self.bench.session.capabilities = before.session.capabilities
        for thing in self._things(step):
            if step.each is not None:
                self.values = Values(known[0])
                self.proofs = dict(known[1])
                self.values[step.each.name] = thing
            if step.together:
                self._together(step.steps)
            else:
                self.all(step.steps)
            if not self.session.alive or self.session.deaf:
                break
        if step.each is not None:
            self.values, self.proofs = Values(known[0]), known[1]
        self.bench = before

    def _things(self, step: Step) -> Iterator[Json]:
        """What steps are played for, one after another. Raises Unavailable if there is nothing of the kind."""
        each, ledger = step.each, self.bench.ledger
        if each is None:
            yield None
            return
        things = picks(each.kind, self.bench.survey) if each.kind else each.things
        deciding = self.undecided.intersection(step.judges) or step.judges
        for thing in things[: each.most]:
            if each.until_decided and any(ledger.case in ledger.tested.get(name, ()) for name in deciding):
                return
            yield thing if each.kind else self._filled(thing)

    def _together(self, steps: tuple[Step, ...]) -> None:
        """Say all of it, then wait for all of it."""
        taken = [step for step in steps if step.when is None or self.judge.applies(step.when)]
        for step in steps:
            if step not in taken:
                self._not_taken(step, step.otherwise)
        try:
            said = [self._say(step, wait=False) for step in taken]
            self.session.wait(*(call for each in said for call in each.calls if not each.step.wait_for))
            self.session.hear_out()
            for step, each in zip(taken, said, strict=True):
                self._save(step, each)
            for step, each in zip(taken, said, strict=True):
                for expectation in step.expect:
                    self.judge.expectation(expectation, each)
        except Unavailable as lack:
            self._give_up(taken, str(lack), blocked=False)
        except Stop as stop:
            self._give_up(taken, str(stop), blocked=stop.blocked)

    # -- saying

    def _say(self, step: Step, wait: bool = True) -> Said:
        session = self.session
        if not session.alive:
            raise Stop(session.ended.reason if session.ended else "the session is closed", blocked=True)
        start = session.position
        if step.headers:
            step = replace(step, headers=self._headers(step))
        if step.kind == "request":
            return Said(step, start, (self._request(step, wait and step.wait),))
        if step.kind == "notify":
            method, params = str(self._filled(step.method)), self._filled(step.params)
            opens = method == "notifications/initialized" and not session.opened
            if opens and isinstance(session.era, Handshake):
                session.era.go_on(session)
            session.notify(method, None if params is ABSENT else params, illegal=step.illegal, headers=step.headers)
            if opens:
                session.hear_out()
        elif step.kind == "pages":
            return self._pages(step, start)
        elif step.kind == "batch":
            calls = session.batch(self._filled(list(step.batch)), illegal=step.illegal)
            session.wait(*calls)
            return Said(step, start, tuple(calls))
        elif step.kind == "close":
            session.finish_input()
        elif step.kind == "http":
            if not session.transport.has_headers:
                raise Unavailable("the step speaks HTTP, the session does not")
            return self._bytes(step)
        else:
            session.hear_out()  # what answers an earlier message is no answer to this one
            said = self._bytes(step)
            session.hear_out()
            return said
        return Said(step, start)

    def _bytes(self, step: Step) -> Said:
        """Send a frame as it is, and give it the time in which an answer comes."""
        session = self.session
        start = session.position
        data = base64.b64decode(step.raw64) if step.raw64 else step.raw.encode("utf-8", "surrogatepass")
        if not session.transport.any_bytes and not is_utf8(data):
            raise Unavailable("a message of this transport is always text in UTF-8")
        calls = session.raw(data, headers=step.headers)
        if session.transport.single_stream:
            session.listen(AT_ONCE)
        elif calls:
            session.wait(*calls)
        else:
            session.await_exchange(next(session.since(start)).exchange, session.limits.answer)
        return Said(step, start, tuple(calls))

    def _request(self, step: Step, wait: bool) -> Call:
        session = self.session
        method, params = str(self._filled(step.method)), self._filled(step.params)
        params = None if params is ABSENT else params
        if method == "tools/call" and (why := avoided_tool(session, params)):
            raise Unavailable(why)
        if method == "initialize" and step.meta and isinstance(session.era, Handshake):
            params = {**session.era.greeting(session), **params} if params else session.era.greeting(session)
        how = How(illegal=step.illegal, bare=not step.meta, headers=step.headers)
        if step.id is not ABSENT:
            how["id"] = self._filled(step.id)
        starting = session.position == 0 and not step.illegal
        call = session.send(method, params, **how)
        if step.wait_for:
            session.wait(call, until=lambda: self._heard(step, call))
            session.give_up(call)  # the answer may stay away for as long as it likes
            call.excused = session.alive or step.illegal
            if not step.illegal and not self._heard(step, call):
                self._stop_if_over()
        elif wait:
            session.wait(call, timeout=session.limits.start if starting else None)
        elif not step.wait:
            session.give_up(call)
            call.excused = True
        return call

    def _stop_if_over(self) -> None:
        """Raises Stop if nothing came since the server has ended or hangs, which is told of it by itself."""
        sentinel = self.session.hear_out()
        if self.session.ended is not None:
            raise Stop(self.session.ended.reason, blocked=True)
        if sentinel is not None and not sentinel.answers:
            raise Stop(UNANSWERED, blocked=True)

    def _heard(self, step: Step, call: Call) -> bool:
        return bool(call.answers) or self._notified(step, call) is not ABSENT

    def _notified(self, step: Step, call: Call) -> Json:
        """The notification that the step waits for, ABSENT if none has come; over HTTP, in the answer to `call`."""
        frame = notified(self.session, call, step.wait_for) if step.wait_for else None
        return ABSENT if frame is None else frame.message

    def _pages(self, step: Step, start: int) -> Said:
        method = str(self._filled(step.method))
        name = next((name for name, (known, _) in LISTS.items() if known == method), "")
        if not name:
            raise Unavailable(f"{method} is no list")
        found = walk(self.session, name)
        last, member = found.pages[-1], LISTS[name][1]
        if not last.answers:
            self._stop_at(last)
        results = [call.result for call in found.pages if isinstance(call.result, dict)]
        pages: Json = {
            "items": [item for item in found.items if KEYS[name] in item],
            "keys": list(found.keys(name)),
            "sorted-keys": sorted(found.keys(name)),
            "pages": len(found.pages),
            "results": [{key: value for key, value in result.items() if key != member} for result in results],
            "problem": found.problem,
            "cut": found.cut,
        }
        return Said(step, start, (last,), pages=pages, proof=found.proof)

    def _stop_at(self, call: Call) -> None:
        """Raises Stop, since `call` got no answer."""
        outcome, why = unanswered(self.bench, call)
        raise Stop(why or UNANSWERED, blocked=outcome != "inconclusive")

    def _filled(self, value: Json) -> Json:
        """`value` with `$pick`, `$saved` and `$in-base64` replaced by what they mean. Raises Unavailable, Stop."""
        if isinstance(value, dict):
            if set(value) == {"$in-base64"}:
                return in_base64(str(self._filled(value["$in-base64"])))
            if set(value) == {"$pick"}:
                return pick(value["$pick"], self.bench.survey)
            if set(value) == {"$saved"}:
                named = self.values[value["$saved"]]
                if named is ABSENT:
                    raise Stop(f"there is no {value['$saved']}", blocked=False)
                return named
            return {name: self._filled(member) for name, member in value.items()}
        if isinstance(value, list):
            return [self._filled(element) for element in value]
        return value

    def _headers(self, step: Step) -> dict[str, str | None]:
        """Raises Unavailable, Stop."""
        filled = members(self._filled(dict(step.headers)))
        return {name: None if value is None else str(value) for name, value in filled.items()}

    def _save(self, step: Step, said: Said) -> str:
        """Keep what the step says; what there is none of, and without which nothing can follow, "" if all is there."""
        missing = ""
        for name, path in step.save.items():
            call = said.call
            whole = {
                "pages": said.pages,
                "request": {"id": call.id, "method": call.method, "params": call.params} if call else ABSENT,
                "response": call.response if call is not None and call.answers else ABSENT,
                "notification": self._notified(step, call) if call is not None else ABSENT,
            }
            path = _BRACES.sub(lambda found: str(self.values[found[1]]), path)
            value = whole[path] if path in whole else at(call.response if call is not None else None, path)
            if value is ABSENT and path not in whole:
                missing = f"the answer to {self._filled(step.method)} has no {path}"
            self.values[name] = value
            if path == "response" and step.kind == "request" and call is not None:
                self.asked[name] = (step, call)
            self.proofs[name] = said.proof or (call.proof if call is not None else ())
        return missing


def _another(used: Json) -> Json:
    """An id of the same kind: none may be used twice."""
    if type(used) is not int:
        return f"{used} again"
    return used + AGAIN if used >= 0 else used - AGAIN
