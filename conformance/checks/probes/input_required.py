"""Probes of the area input-required: tools that answer by asking for input, and what becomes of the retry."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_each, without_meta
from conformance.checks.probes.forged_states import forgeries
from conformance.checks.probes.outcome import succeeded
from conformance.model import Json, members
from conformance.session.session import Call, Session
from conformance.survey.survey import Unavailable

MAX_ROUNDS = 5
FEW = 5
EXTRA: Json = {"mcp-conform-extra": {"action": "accept", "content": {}}}


def asks(call: Call) -> bool:
    """Whether the answer asks for input."""
    return isinstance(call.result, dict) and call.result.get("resultType") == "input_required"


def can_be_retried(call: Call) -> bool:
    """Whether the state that the server gave, if any, is one that a client can send back."""
    return isinstance(call.result.get("requestState", ""), str)


def retried(call: Call, responses: Json) -> Json:
    """The params of `call` again, with `responses` and the state that the server gave."""
    params = {name: value for name, value in call.params.items() if name not in ("_meta", "requestState")}
    params["inputResponses"] = responses
    if "requestState" in call.result:
        params["requestState"] = call.result["requestState"]
    return params


def responses_to(session: Session, call: Call) -> dict[str, Json]:
    """A plausible answer to each request for input."""
    requests = call.result.get("inputRequests")
    return {
        key: session.answers.plausible(str(request.get("method")), request.get("params"))
        for key, request in (requests.items() if isinstance(requests, dict) else ())
        if isinstance(request, dict)
    }


def retry(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called, by a client with every capability; those that ask get answers of several kinds.

    It finds out which tools ask, and makes up the answers to what they ask for.
    """
    asking = [call for _, call in call_each(bench, talkative=True) if asks(call)]
    if not asking:
        raise Unavailable("no tool that was called asks for input")
    session = bench.session
    for first in asking[:FEW]:
        if not can_be_retried(first):
            yield Observation({"responses": "impossible"}, first)
            continue
        asked, done = _answered(session, first)
        yield Observation({"responses": "all"}, done, (*first.proof, *done.proof))
        if not done.answers or done.error is not None:
            continue  # there is nothing to compare with
        anew = session.request("tools/call", without_meta(first.params))
        yield Observation({"responses": "not a retry"}, anew, (*first.proof, *anew.proof))
        if (other := asked_anew(session, first)) is not None:
            call = session.request("tools/call", retried(other, {**responses_to(session, other), **EXTRA}))
            yield Observation({"responses": "more"}, call, (*other.proof, *call.proof))
        for number in range(len(asked)):  # none of the first ones, and none of the later ones
            if (other := _asked_again(session, first, number)) is not None and "inputRequests" in other.result:
                call = session.request("tools/call", retried(other, {}))
                yield Observation({"responses": "none"}, call, (*other.proof, *call.proof))


def _asked_again(session: Session, first: Call, number: int) -> Call | None:
    """The same request once more, and so many answers; None if the last one does not ask."""
    call = asked_anew(session, first)
    for _ in range(number):
        if call is not None:
            reply = session.request(call.method, retried(call, responses_to(session, call)))
            call = reply if asks(reply) and can_be_retried(reply) else None
    return call


def asked_anew(session: Session, first: Call) -> Call | None:
    """The same request once more, since a state may be good for one retry; None if that does not ask."""
    if not has_state(first):
        return first
    call = session.request(first.method, without_meta(first.params))
    return call if asks(call) and can_be_retried(call) else None


def full_retry(session: Session, first: Call) -> Call:
    """The last request when all that is asked is answered, again and again."""
    return _answered(session, first)[1]


def _answered(session: Session, first: Call) -> tuple[list[Call], Call]:
    """The requests that asked, and the last request when all that is asked is answered."""
    asked = [first]
    while True:
        call = session.request(first.method, retried(asked[-1], responses_to(session, asked[-1])))
        if len(asked) == MAX_ROUNDS or not (asks(call) and can_be_retried(call)):
            return asked, call
        asked.append(call)


FOREIGN = {
    "an empty text": "",
    "a letter": "x",
    "10 kB of one letter": "A" * 10_000,
    "base64 of an empty object": base64.b64encode(b"{}").decode(),
}
"""States that no server has given."""


def those_that_ask(bench: Bench) -> list[Call]:
    """The calls of tools that ask for input and can be retried; those with a state come first. Raises Unavailable."""
    asking = [call for _, call in call_each(bench, talkative=True) if asks(call) and can_be_retried(call)]
    if not asking:
        raise Unavailable("no tool that was called asks for input that a client could give")
    return sorted(asking, key=lambda call: not isinstance(call.result.get("requestState"), str))[:FEW]


def has_state(call: Call) -> bool:
    return isinstance(call.result.get("requestState"), str)


def _retry(session: Session, first: Call, responses: Json, *, state: Json = None, **headers: str) -> Call:
    """`first` again, as no client should: with other `responses`, `headers`, or `state`, None for the server's own."""
    params = retried(first, responses)
    if state is not None:
        params["requestState"] = state
    return session.request("tools/call", params, illegal=True, headers=headers)


def _is_done(call: Call) -> bool:
    """Whether the tool has done what it was called for."""
    return bool(call.answers) and succeeded(call) and not asks(call)


def foreign_state(bench: Bench) -> Iterator[Observation]:
    """Each tool that asks for input with a state gets the answers with states that no server has given.

    It finds out which tools ask, and makes up the answers to what they ask for.
    """
    session = bench.session
    stateful = [call for call in those_that_ask(bench) if has_state(call)]
    if not stateful:
        raise Unavailable("no tool that was called asks for input with requestState")
    for name, state in FOREIGN.items():
        if not session.alive:
            return
        first = stateful[0]
        call = _retry(session, first, responses_to(session, first), state=state)
        yield Observation({"state": name, "tool": first.params["name"]}, call)


def tampered(bench: Bench) -> Iterator[Observation]:
    """Tools that ask for input get what no client should send: changed states, answers of the wrong kind.

    It changes the state that the server gave, and finds out whether the tool goes by it at all. Of a tool that asks
    several times the last question counts.
    """
    session = bench.session
    asking = those_that_ask(bench)
    for first in asking:
        (*_, last), done = _answered(session, first)
        answers = responses_to(session, last)
        if not _is_done(done) or not (answers or has_state(last)):
            continue  # it fails anyway: there is nothing to compare with
        if has_state(last):
            seen = list(_states(session, last, answers, asking))
            yield from seen
            if not any(each.values["accepted"] for each in seen):  # else it is known that nobody looks
                yield from _forged(session, last, answers, done)
        if answers:
            yield from _responses(session, last, answers)
            yield from _headers(session, last, answers)


def _headers(session: Session, first: Call, answers: Json) -> Iterator[Observation]:
    """What comes of answers whose headers do not repeat the body."""
    for header, other in (("Mcp-Name", "mcp-conform-no-such-tool"), ("Mcp-Method", "tools/list")):
        if session.transport.has_headers:
            call = _retry(session, first, answers, **{header: other})
            yield Observation({"about": header, "tool": first.params["name"], "accepted": _is_done(call)}, call)


def _states(session: Session, first: Call, answers: Json, asking: list[Call]) -> Iterator[Observation]:
    """Whether the state is one that counts, and if so what comes of changed ones, and of that of another tool."""
    state = first.result["requestState"]
    bare = retried(first, answers)
    del bare["requestState"]
    if _is_done(session.request("tools/call", bare, illegal=True)):
        return  # it does the same without, so that the state decides nothing
    tool = first.params["name"]
    tries = [_retry(session, first, answers, state=changed) for changed in _changed(state)]
    if tries:
        accepted = all(map(_is_done, tries))
        frames = (*first.proof, *tries[0].proof)
        yield Observation({"about": "changed state", "tool": tool, "accepted": accepted}, tries[0], frames)
        if not accepted:  # a signature that nobody looks at may stand in front of what is read
            call = _retry(session, first, answers, state=_changed_at(state, 0))
            frames = (*first.proof, *call.proof)
            yield Observation({"about": "state's beginning", "tool": tool, "accepted": _is_done(call)}, call, frames)
    for other in asking:
        if has_state(other) and other.params["name"] != tool:
            call = _retry(session, first, answers, state=other.result["requestState"])
            facts: dict[str, Json] = {"about": "state of another", "tool": tool, "of": other.params["name"]}
            yield Observation({**facts, "accepted": _is_done(call)}, call, (*other.proof, *call.proof))
            return


def _forged(session: Session, last: Call, answers: Json, done: Call) -> Iterator[Observation]:
    """What comes of states that say something else in one place, where they can be read at all.

    Only what changes what the tool returns counts, of a tool that returns the same for the same state.
    """
    forged = forgeries(last.result["requestState"])
    if not forged or _told(session.request("tools/call", retried(last, answers))) != _told(done):
        return
    taken: Call | None = None
    for state in forged:
        call = _retry(session, last, answers, state=state)
        if taken is None and _is_done(call) and _told(call) != _told(done):
            taken = call
        tried = call
    again = session.request("tools/call", retried(last, answers))
    if _told(again) == _told(done):
        facts = {"about": "forged state", "tool": last.params["name"], "accepted": taken is not None}
        call = taken or tried
        yield Observation(facts, call, (*last.proof, *call.proof))


def _told(call: Call) -> Json:
    """What a tool returned, without what is said of the server."""
    return {name: value for name, value in members(call.result).items() if name != "_meta"}


def _changed_at(state: str, place: int) -> str:
    return state[:place] + ("A" if state[place] != "A" else "B") + state[place + 1 :]


def _changed(state: str) -> list[str]:
    """The state with one letter or digit changed, at three places: the last ones may count for nothing."""
    places = [i for i, sign in enumerate(state) if sign.isascii() and sign.isalnum()]
    if len(places) < 8:
        return []
    chosen = {places[len(places) * part // 4] for part in (1, 2, 3)}
    return [_changed_at(state, place) for place in sorted(chosen)]


def _responses(session: Session, first: Call, answers: dict[str, Json]) -> Iterator[Observation]:
    """What comes of answers that cannot be read, of which the tool cannot do without."""
    tool = first.params["name"]
    if not _is_done(_retry(session, first, {})):
        for wrong in (12345, "mcp-conform"):
            call = _retry(session, first, dict.fromkeys(answers, wrong))
            yield Observation({"about": "wrong answer", "tool": tool, "accepted": _is_done(call)}, call)
    for kind, malformed in (("an array", []), ("a text", "mcp-conform")):
        call = _retry(session, first, malformed)
        done = "asks again" if asks(call) else "succeeds" if _is_done(call) else "fails"
        yield Observation({"about": "malformed answers", "tool": tool, "sent": kind, "outcome": done}, call)
