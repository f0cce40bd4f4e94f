"""Probes of requests that are under way at once, each for another thing. Part of the areas jsonrpc and tools."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import islice, permutations

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import callable_tools
from conformance.checks.probes.in_flight import APART, QUICK
from conformance.checks.probes.observed import seen, slow_call
from conformance.checks.probes.outcome import complete, succeeded, uris_of
from conformance.model import Json, members
from conformance.session.patience import CONFUSED
from conformance.session.session import Call, Session, encode
from conformance.survey.completions import completions
from conformance.survey.survey import LISTS, Unavailable

SUBSCRIBE = "resources/subscribe"
FEW = 4
"""Things of a kind that are asked for at once."""
BEFORE = 3
"""So often each is asked for alone before: only what always gives the same says whose answer came."""
ROUNDS = 5
TELLING = 2
"""So many of the rounds must show that answers are mixed up; one while a tool runs, which may be over soon."""

OF_HANDSHAKE: tuple[tuple[str, str, Json], ...] = (
    ("logging", "logging/setLevel", {"level": "debug"}),
    ("tasks.list", "tasks/list", {}),
    ("tasks", "tasks/get", {"taskId": "mcp-conform-no-such-task"}),
)
"""What may be asked for of a server with which capability. That a task does not exist is an answer, too."""

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
        raise Unavailable(CONFUSED)
    for kind in _kinds(bench, _calls(bench)):
        if (known := _known(session, kind)) is not None:
            tried = True
            yield _told(session, *known, [mixed for _ in range(ROUNDS) for mixed in _round(session, *known)])
    if not tried:
        raise Unavailable(
            "no two resources, prompts, completions or tools each give something of their own that is always the same"
        )


def beside_a_call(bench: Bench) -> Iterator[Observation]:
    """What else the server offers, asked for while a slow tool runs: one of each kind, and then several of each kind.

    It finds out which tool is slow; a server may finish it first. Missing, surplus and mistaken answers are the
    invariants' to judge.
    """
    session = bench.session
    slow = slow_call(bench)
    quick = [each.params for each in seen(bench) if each.seconds < QUICK]
    kinds = [] if session.patience.confused else [_known(session, kind) for kind in _kinds(bench, quick)]
    busy = session.send("tools/call", slow.params)
    calls = [busy, *(session.send(method, params) for method, params in _one_of_each(bench))]
    found = [(known, list[Mixed]()) for known in kinds if known is not None]
    with suppress(Unavailable):  # what is not answered is told below
        for known, shown in found * ROUNDS:
            if not busy.done:
                shown += _round(session, *known)
    session.wait(*calls)
    for params in [call.params for call in calls if call.method == SUBSCRIBE]:
        session.request("resources/unsubscribe", params)
    session.hear_out()
    yield Observation({"answers": [len(call.answers) for call in calls]})
    for known, shown in found:
        yield _told(session, *known, shown, telling=1)


def _one_of_each(bench: Bench) -> Iterator[tuple[str, Json]]:
    """Every list, the first that can be read, got and completed, what else is declared, and the sentinel."""
    session, survey = bench.session, bench.survey
    for name in survey.declared_lists:
        yield LISTS[name][0], None
    features = [("resources/read", {"uri": uri}) for uri in survey.readable[:1]]
    features += [("prompts/get", params) for params in _prompts(bench)[:1]]
    features += [("completion/complete", params) for params in _completions(bench)[:1]]
    if not survey.versions:
        features += [(method, params) for needs, method, params in OF_HANDSHAKE if survey.declares(needs)]
        uris = survey.readable[:1] if survey.declares("resources.subscribe") else []
        features += [(SUBSCRIBE, {"uri": uri}) for uri in uris]
    yield from [(method, params) for method, params in features if not session.patience.features.avoids(method, params)]
    yield session.sentinel()


Kind = tuple[str, list[Json], tuple[Mark, ...]]
"""A method, params for several things, and the marks by which its answers may be told apart."""


def _kinds(bench: Bench, calls: list[Json]) -> list[Kind]:
    return [
        ("resources/read", [{"uri": uri} for uri in bench.survey.readable], (_content, _uris)),
        ("prompts/get", _prompts(bench), (_content,)),
        ("completion/complete", _completions(bench), (_content,)),
        ("tools/call", calls, (_content,)),
    ]


def _known(session: Session, kind: Kind) -> tuple[list[Known], Mark] | None:
    """Those that always give the same, at least two, and the mark that tells them apart; None if there are none."""
    method, asked, marks = kind
    for mark in marks:
        known = _always(session, [(method, params) for params in asked[:FEW]], mark)
        if len({said for _, _, said in known}) > 1:
            return known, mark
    return None


def _prompts(bench: Bench) -> list[Json]:
    survey = bench.survey
    return [{"name": each["name"], "arguments": survey.prompt_arguments(each)} for each in survey.named_prompts]


def _completions(bench: Bench) -> list[Json]:
    return list(completions(bench.survey)) if bench.survey.declares("completions") else []


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


Mixed = tuple[Call, Json, str]
"""A call that got the answer of another one, its params, and what it always gets."""


def _round(session: Session, known: list[Known], mark: Mark) -> list[Mixed]:
    """Ask for all of that at once; what is mixed up first, if anything. Raises Unavailable if an answer stays away."""
    others = {said for _, _, said in known}
    calls: list[Call] = []
    for method, params, _ in known:
        calls.append(session.send(method, params))
        if session.transport.has_headers:
            session.listen(APART)
    session.wait(*calls)
    if not all(call.answers for call in calls):
        raise Unavailable(f"not all of {len(calls)} requests of {known[0][0]} at once are answered")
    return [
        (call, params, said)
        for call, (_, params, said) in zip(calls, known, strict=True)
        if mark(call) != said and mark(call) in others
    ][:1]


def _told(session: Session, known: list[Known], mark: Mark, shown: list[Mixed], telling: int = TELLING) -> Observation:
    """What the rounds have shown, if at least `telling` of them have shown it."""
    facts: dict[str, Json] = {"method": known[0][0], "mixed": False}
    if len(shown) >= telling and _whatever_came_before(session, known, mark):
        call, params, _ = shown[0]
        owner = next(params for _, params, said in known if said == mark(call))
        facts |= {"mixed": True, "asked": _name(params), "got": _name(owner), "rounds": len(shown)}
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
    ref = members(params.get("ref"))
    return params.get("uri", params.get("name")) or ref.get("uri", ref.get("name"))


def _content(call: Call) -> str:
    """The result without what may be different each time."""
    if not (succeeded(call) and complete(call)):
        return ""
    return encode({name: value for name, value in call.result.items() if name != "_meta"}).decode("utf-8", "replace")


def _uris(call: Call) -> str:
    """The URIs of the contents."""
    return " ".join(str(uri) for uri in uris_of(call) if uri is not None) if succeeded(call) else ""
