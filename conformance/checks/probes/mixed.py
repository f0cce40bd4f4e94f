"""The probe of requests of one method that are under way at once, each for another thing. Part of the area jsonrpc."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice, permutations

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.in_flight import APART, QUICK
from conformance.checks.probes.outcome import complete, succeeded, uris_of
from conformance.model import Json
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable

FEW = 4
"""Things of a kind that are asked for at once."""
BEFORE = 3
"""So often each is asked for alone before: only what always gives the same says whose answer came."""
ROUNDS = 5
TELLING = 2
"""So many of the rounds must show that answers are mixed up."""

Mark = Callable[[Call], str]
"""What tells an answer from those to requests for other things, "" if nothing does."""
Known = tuple[str, Json, str]
"""A method and params, and the mark of what always comes."""


def told_apart(bench: Bench) -> Iterator[Observation]:
    """Reads, prompts and calls, each kind at once: whether one gets what another one always gets when it comes alone.

    What always comes alone takes asking for it several times; it is asked for again in the end, after each other one.
    """
    session, tried = bench.session, False
    if session.patience.confused:
        raise Unavailable("answers come with wrong ids, so that requests at once cannot be told apart")
    kinds: list[tuple[str, list[Json], tuple[Mark, ...]]] = [
        ("resources/read", [{"uri": uri} for uri in bench.survey.readable], (_content, _uris)),
        ("prompts/get", _prompts(bench), (_content,)),
        ("tools/call", _calls(bench), (_content,)),
    ]
    for method, asked, marks in kinds:
        for mark in marks:
            known = _always(session, [(method, params) for params in asked[:FEW]], mark)
            if len({said for _, _, said in known}) < 2:
                continue
            tried = True
            yield _at_once(session, known, mark)
            break
    if not tried:
        raise Unavailable("no two resources, prompts or tools each give something of their own that is always the same")


def _prompts(bench: Bench) -> list[Json]:
    survey = bench.survey
    return [{"name": each["name"], "arguments": survey.prompt_arguments(each)} for each in survey.named_prompts]


def _calls(bench: Bench) -> list[Json]:
    try:
        return [params for _, params in islice(callable_tools(bench), FEW)]
    except Unavailable:
        return []


def _always(session: Session, requests: list[tuple[str, Json]], mark: Mark) -> list[Known]:
    """Those that are answered quickly, one after another, and always by the same."""
    known: list[Known] = []
    for method, params in requests:
        if session.patience.features.avoids(method, params):
            continue
        said = _alone(session, method, params, mark)
        if said and all(_alone(session, method, params, mark) == said for _ in range(BEFORE - 1)):
            known.append((method, params, said))
    return known


def _alone(session: Session, method: str, params: Json, mark: Mark) -> str:
    """The mark of what comes, "" if that takes long."""
    began = time.monotonic()
    call = session.send(method, params)
    session.wait(call, timeout=session.limits.slow)
    if not call.answers:
        session.give_up(call)
    return mark(call) if time.monotonic() - began < QUICK else ""


def _at_once(session: Session, known: list[Known], mark: Mark) -> Observation:
    """Ask for all of that at once, several times. Raises Unavailable if an answer stays away."""
    others = {said for _, _, said in known}
    method = known[0][0]
    shown: list[tuple[Call, Json, str]] = []
    for _ in range(ROUNDS):
        calls: list[Call] = []
        for _, params, _ in known:
            calls.append(session.send(method, params))
            if session.transport.has_headers:
                session.listen(APART)
        session.wait(*calls)
        if not all(call.answers for call in calls):
            raise Unavailable(f"not all of {len(calls)} requests of {method} at once are answered")
        mixed = [
            (call, params, said)
            for call, (_, params, said) in zip(calls, known, strict=True)
            if mark(call) != said and mark(call) in others
        ]
        shown += mixed[:1]
    facts: dict[str, Json] = {"method": method, "mixed": False}
    if len(shown) >= TELLING and _whatever_came_before(session, known, mark):
        call, params, _ = shown[0]
        owner = next(params for _, params, said in known if said == mark(call))
        facts = {"method": method, "mixed": True, "asked": _name(params), "got": _name(owner), "rounds": len(shown)}
        return Observation(facts, call)
    return Observation(facts)


def _whatever_came_before(session: Session, known: list[Known], mark: Mark) -> bool:
    """Whether each still gives the same alone, after each of the others: some tell what was asked for last."""
    return all(
        _alone(session, method, params, mark) == said
        for pair in permutations(known, 2)
        for method, params, said in pair
    )


def _name(params: Json) -> Json:
    return params.get("uri", params.get("name"))


def _content(call: Call) -> str:
    """The result without what may be different each time."""
    if not (succeeded(call) and complete(call)):
        return ""
    return encode({name: value for name, value in call.result.items() if name != "_meta"}).decode("utf-8", "replace")


def _uris(call: Call) -> str:
    """The URIs of the contents."""
    return " ".join(str(uri) for uri in uris_of(call) if uri is not None) if succeeded(call) else ""
