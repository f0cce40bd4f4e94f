"""The probe of what tools do beside returning a result: they ask the client, and change lists and resources."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.invariants.subscriptions import UPDATED
from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.another_client import subscribers, told_by_change
from conformance.checks.probes.askers import hear_unasked
from conformance.checks.probes.calls import call_each, late
from conformance.checks.probes.listed import newly_listed
from conformance.checks.probes.lists import (
    Watch,
    changes,
    contents_of,
    forget_restless,
    heard_to_the_end,
    hears_announcements,
    look,
)
from conformance.checks.probes.subscriptions import call_again, cause
from conformance.model import Frame, Json, members
from conformance.session.session import Session
from conformance.survey.survey import list_changed

TRIES = 3
"""How often another stream is opened, and a resource changed, until the server has noticed that the first is closed."""


def _is_request(frame: Frame) -> bool:
    message = frame.message
    return frame.origin == "target" and isinstance(message, dict) and "method" in message and "id" in message


def effects(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called, by a client with every capability, between two looks at lists and resources.

    It compares what both have seen. What the server asks of the client meanwhile is the invariants' to judge.
    """
    session = bench.session
    hear_unasked(session)
    start = session.position
    uris = _subscribe(bench)
    before = look(bench, uris)
    listening = hears_announcements(session)
    session.slow_tools.clear()  # what they tell on the way counts here
    proof = [frame for _, call in call_each(bench, talkative=True, seconds=late(session)) for frame in call.proof]
    session.hear_out()
    after = look(bench, uris)
    if after != before:
        session.listen(session.limits.quiet)
        forget_restless(bench, before, after)
        _hear_of(session, [name for name, keys in after.lists.items() if keys != before.lists.get(name, keys)], start)
    hears = listening and heard_to_the_end(session)
    if hears:
        yield from changes(bench, before, after, start, proof)
        yield from _changed_again(bench, before, after, start)
    yield from _afterwards(bench, uris, start, hears)
    asks = "asks only once" if any(map(_is_request, session.trace)) else "asks the client for nothing"
    yield Observation({"asks": asks})


def _changed_again(bench: Bench, before: Watch, after: Watch, start: int) -> Iterator[Observation]:
    """Ask for what came to each list whose change was told, and have it change once more, by the same call.

    Over HTTP that may be the call before: what is told takes another way than what is answered.
    """
    session = bench.session
    for name, keys in after.lists.items():
        told = next((frame for frame in session.since(start) if _says(frame, list_changed(name))), None)
        trigger = cause(session, told, start) if told is not None and keys != before.lists.get(name, keys) else None
        if trigger is None or not session.alive:
            continue
        yield from newly_listed(bench, name, set(keys) - set(before.lists[name]))
        earlier, here = look(bench, []).lists.get(name), session.position
        call = session.request("tools/call", trigger)
        session.hear_out()
        now = look(bench, [])
        if earlier is not None and now.lists.get(name, earlier) != earlier:
            _hear_of(session, [name], here)
        if earlier is not None and heard_to_the_end(session):
            yield from changes(bench, Watch({name: earlier}, {}), now, here, list(call.proof))


def _hear_of(session: Session, lists: list[str], start: int) -> None:
    """Listen until a change of each of the lists was told since frame `start`; over HTTP that may take another way."""

    def told() -> bool:
        return all(any(_says(frame, list_changed(name)) for frame in session.since(start)) for name in lists)

    session.listen(late(session), until=told)


def _says(frame: Frame, method: str) -> bool:
    return frame.origin == "target" and isinstance(frame.message, dict) and frame.message.get("method") == method


def _afterwards(bench: Bench, uris: list[str], start: int, hears: bool) -> Iterator[Observation]:
    """Have the resource change again that has changed: after others were left, and after it was left itself.

    An update of what was left is the invariants' to judge.
    """
    session = bench.session
    first = next((frame for frame in session.since(start) if _is_update(frame, uris)), None)
    trigger = cause(session, first, start) if first is not None else None
    if first is None or trigger is None:
        _leave(bench, uris)
        return
    kept = first.message["params"]["uri"]
    others = [uri for uri in uris if uri != kept]
    _leave(bench, others[:-1])
    if hears and session.alive:
        yield from _still_told(bench, kept, trigger)
        yield from _on_another_stream(bench, kept, trigger)
    _leave(bench, [kept])
    session.hear_out()  # what was sent before it was left has come
    if session.alive:
        here = call_again(session, trigger)
        if session.alive and not any(_is_update(frame, uris) for frame in session.since(here)):
            yield from subscribers(bench, kept, trigger)
    _leave(bench, others[-1:])  # late: to leave one may take effect only if it was the last


def _leave(bench: Bench, uris: list[str]) -> None:
    for uri in uris:
        bench.session.request("resources/unsubscribe", {"uri": uri})


def _still_told(bench: Bench, uri: str, trigger: Json) -> Iterator[Observation]:
    """A resource that changes once more, now that others were left: whether that is still announced."""
    session, here = bench.session, bench.session.position
    before = contents_of(bench, uri)
    call = session.request("tools/call", trigger)
    after = contents_of(bench, uri)
    changed = None not in (before, after) and before != after
    patience = late(session) if changed else 0.0
    session.listen(patience, until=lambda: any(_is_update(frame, [uri]) for frame in session.since(here)))
    told = any(_is_update(frame, [uri]) for frame in session.since(here))
    yield Observation({"uri": uri, "changed": changed, "told": told, "instead": "silence"}, frames=call.proof)


def _on_another_stream(bench: Bench, uri: str, trigger: Json) -> Iterator[Observation]:
    """The resource changes again, after the stream on which that was told is closed by us and another one is open.

    What is sent at once may go to the one that is closed, and be lost.
    """
    session = bench.session
    _, opened = session.unasked or (False, None)
    if opened is None or not session.alive:
        return
    session.transport.break_off(opened.exchange or 0)
    for _ in range(TRIES):
        session.unasked = None
        if hears_announcements(session):
            break
        session.listen(session.limits.quiet)
    else:
        return
    told: bool | None = False
    for _ in range(TRIES):
        told = told_by_change(bench, trigger, session, uri)
        if told is not False:
            break
    if told is not None:
        facts: dict[str, Json] = {"uri": uri, "who": "a client that has opened another stream", "told": told}
        _, again = session.unasked or (False, None)
        yield Observation(facts, frames=(opened, *([again] if again is not None else [])), actual="silence")


def _is_update(frame: Frame, uris: list[str]) -> bool:
    return _says(frame, UPDATED) and members(frame.message.get("params")).get("uri") in uris


def _subscribe(bench: Bench) -> list[str]:
    if not bench.survey.declares("resources.subscribe") or bench.session.revision.era != "handshake":
        return []
    uris = [item["uri"] for item in bench.survey.resources if isinstance(item.get("uri"), str)][:10]
    calls = [bench.session.request("resources/subscribe", {"uri": uri}) for uri in uris]
    return [uri for uri, call in zip(uris, calls, strict=True) if isinstance(call.result, dict)]
