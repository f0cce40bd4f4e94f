"""Probes of the area subscriptions: what subscribers are told while tools work, and how subscriptions end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Unpack

from conformance.checks.invariants.subscriptions import ACKNOWLEDGED, LISTEN, MEMBER, OF_REQUESTS, UPDATED
from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_each, late
from conformance.checks.probes.lists import Watch, forget_restless, look
from conformance.checks.probes.observed import slow_call
from conformance.model import Frame, Json, members
from conformance.session.exchanges import media_type
from conformance.session.messages import How, id_key, loosely
from conformance.session.notifications import SUBSCRIPTION, notified
from conformance.session.session import Call, Session
from conformance.survey.picks import picks
from conformance.survey.survey import Unavailable, capability_of

MOST_URIS = 10
TRIES = 2
"""So often a subscription is not acknowledged while a tool runs, and another one is afterwards, before that counts."""
AT_ONCE = 0.1
"""Seconds: what ends so soon after its beginning was never meant to stay open."""
LISTS_CHANGED = {member: method for method, member in MEMBER.items() if method != UPDATED}


@dataclass(frozen=True, slots=True)
class Subscription:
    """One that was acknowledged: its request, what was asked for, and what was granted."""

    session: Session
    call: Call
    wanted: dict[str, Json]
    granted: dict[str, Json]

    def told(self, since: int = 0) -> list[Frame]:
        """The change notifications that came on it since frame `since`."""
        return [frame for frame in _told(self.session, since) if self._is_mine(frame)]

    def _is_mine(self, frame: Frame) -> bool:
        if frame.exchange is not None:
            return frame.exchange == self.call.sent.exchange
        meta = members(members(frame.message.get("params")).get("_meta"))
        if SUBSCRIPTION not in meta:  # that it names none is the invariants' to judge
            return bool(self.wanted.get(MEMBER[frame.message["method"]]))
        return loosely(meta[SUBSCRIPTION]) == loosely(self.call.id)  # the type is theirs to judge as well

    @property
    def granted_uris(self) -> list[str]:
        """The resources of which it hears."""
        uris = self.granted.get("resourceSubscriptions")
        return [uri for uri in uris if isinstance(uri, str)] if isinstance(uris, list) else []


def _told(session: Session, since: int) -> Iterator[Frame]:
    for frame in session.since(since):
        message = frame.message
        told = frame.origin == "target" and isinstance(message, dict) and "id" not in message
        if told and message.get("method") in MEMBER:
            yield frame


def listen(session: Session, wanted: dict[str, Json], **how: Unpack[How]) -> Subscription | None:
    """Subscribe, and wait for the acknowledgment; None if there was none."""
    call = session.send(LISTEN, {"notifications": wanted}, **how)
    found = _acknowledged(session, call)
    if found is None:
        return None
    granted = members(members(found.message.get("params")).get("notifications"))
    return Subscription(session, call, wanted, granted)


def _acknowledged(session: Session, call: Call, patience: float | None = None) -> Frame | None:
    """The acknowledgment, once it has come; the answer may stay away for as long as it likes."""
    session.wait(call, timeout=patience, until=lambda: notified(session, call, ACKNOWLEDGED) is not None)
    session.give_up(call)
    call.excused = session.alive
    return notified(session, call, ACKNOWLEDGED)


def changes(bench: Bench) -> Iterator[Observation]:
    """Each tool that may be called, while one subscription hears of each kind of change that the server announces.

    Over HTTP, another client has a subscription with the same id meanwhile. It compares lists and resources before and
    after, and finds the tool that can change one of them again.
    """
    session = bench.session
    subscriptions = [found for wanted in _filters(bench) if (found := listen(session, wanted)) is not None]
    if not subscriptions:
        raise Unavailable("no subscription is acknowledged")
    if session.transport.has_headers:  # the id is that of another client, who has nothing to do with this one
        listen(bench.connect(shared=True), subscriptions[0].wanted, id=subscriptions[0].call.id)
    uris = [uri for each in subscriptions for uri in each.granted_uris]
    before = look(bench, uris)
    start = session.position
    try:
        proof = [frame for _, call in call_each(bench, talkative=True) for frame in call.proof]
    finally:  # whether or not a tool may be called
        session.hear_out()
        if session.transport.has_headers:
            yield from map(_stream, (each for each in subscriptions if any(each.granted.values())))
    after = look(bench, uris)
    forget_restless(bench, before, after)
    session.listen(late(session), until=lambda: _all_told(subscriptions, before, after))
    # A server may end a subscription, and tells nothing from then on (patterns/subscriptions, Graceful Closure).
    subscriptions = [each for each in subscriptions if not each.call.done]
    yield from _lists(subscriptions, before, after, proof)
    yield from _resources(subscriptions, before, after, proof)
    yield from _beside(session, subscriptions, start)
    yield from _several(session, subscriptions, start)
    with suppress(Unavailable):
        yield _while_busy(bench)


def _while_busy(bench: Bench) -> Observation:
    """A subscription that is asked for while a slow tool runs, and one after that: a server may do things in turn.

    Raises Unavailable if no tool is slow.
    """
    session = bench.session
    (wanted,) = picks("announced-changes", bench.survey)
    slow = slow_call(bench).params
    lost = 0
    while lost < TRIES:
        busy = session.send("tools/call", slow)
        call = session.send(LISTEN, {"notifications": wanted})
        session.wait(busy)
        # What was asked for later is acknowledged later: that is waited for with all patience.
        heard = _acknowledged(session, call, late(session)) is not None
        if heard or not busy.done or listen(session, wanted) is None:
            break
        if heard := notified(session, call, ACKNOWLEDGED) is not None:
            break
        lost += 1
    facts: dict[str, Json] = {"about": "while busy", "tool": slow["name"], "heard": heard, "lost": lost == TRIES}
    return Observation(facts, frames=(busy.sent, call.sent, *call.answers, *busy.answers))


def _filters(bench: Bench) -> list[dict[str, Json]]:
    """One for each list whose changes are announced, and two for resources, which they share.

    Each but the first says of the lists before that it is not for them.
    """
    survey = bench.survey
    kinds = [member.removesuffix("ListChanged") for member in LISTS_CHANGED]
    announced = [f"{kind}ListChanged" for kind in kinds if survey.declares(f"{kind}.listChanged")]
    filters: list[dict[str, Json]] = [
        {member: True, **dict.fromkeys(announced[:number], False)} for number, member in enumerate(announced)
    ]
    if survey.declares("resources.subscribe"):
        uris = [item["uri"] for item in survey.resources if isinstance(item.get("uri"), str)][:MOST_URIS]
        filters += [{"resourceSubscriptions": some} for some in (uris[::2], uris[1::2]) if some]
    return filters


def _hears(subscriptions: list[Subscription], kind: str) -> Subscription | None:
    """Who hears of changes of the list."""
    member = f"{kind}ListChanged"
    return next((each for each in subscriptions if each.granted.get(member) is True and each.wanted.get(member)), None)


def _is_told(subscription: Subscription, method: str, uri: str = "") -> bool:
    """Whether it was; of a resource, or of one within it."""
    messages = [frame.message for frame in subscription.told()]
    params = [members(message.get("params")) for message in messages if message["method"] == method]
    return any(str(each.get("uri", "")).startswith(uri) for each in params)


def _all_told(subscriptions: list[Subscription], before: Watch, after: Watch) -> bool:
    """Whether nothing more is to come, as far as can be seen."""
    for name, keys in before.lists.items():
        hearing = _hears(subscriptions, capability_of(name))
        changed = keys != after.lists.get(name, keys)
        if changed and hearing and not _is_told(hearing, LISTS_CHANGED[f"{capability_of(name)}ListChanged"]):
            return False
    changed_uris = {uri for uri, contents in before.contents.items() if contents != after.contents.get(uri, contents)}
    return all(
        _is_told(each, UPDATED, uri) for each in subscriptions for uri in each.granted_uris if uri in changed_uris
    )


def _lists(subscriptions: list[Subscription], before: Watch, after: Watch, proof: list[Frame]) -> Iterator[Observation]:
    for name, keys in before.lists.items():
        if name not in after.lists:
            continue  # it cannot be read to its end, which is judged elsewhere
        kind = capability_of(name)
        hearing = _hears(subscriptions, kind)
        changed = sorted(set(keys) ^ set(after.lists[name]))
        facts: dict[str, Json] = {"about": "list", "list": name, "kind": kind, "granted": hearing is not None}
        facts |= {"changed": keys != after.lists[name], "difference": ", ".join(changed[:5])}
        told = hearing is not None and _is_told(hearing, LISTS_CHANGED[f"{kind}ListChanged"])
        frames = (*((hearing.call.sent,) if hearing else ()), *proof[-4:])
        yield Observation({**facts, "told": told}, frames=frames)


def _resources(
    subscriptions: list[Subscription], before: Watch, after: Watch, proof: list[Frame]
) -> Iterator[Observation]:
    for each in subscriptions:
        for uri in each.granted_uris:
            contents = before.contents.get(uri)
            changed = contents is not None and contents != after.contents.get(uri, contents)
            told = _is_told(each, UPDATED, uri)
            facts: dict[str, Json] = {"about": "resource", "uri": uri, "changed": changed, "told": told}
            yield Observation(facts, frames=(each.call.sent, *proof[-4:]))


def _beside(session: Session, subscriptions: list[Subscription], start: int) -> Iterator[Observation]:
    """What there was that was not for all of them."""
    told = [frame.message["method"] for each in subscriptions for frame in each.told()]
    hearers = [each for each in subscriptions if each.told() and "resourceSubscriptions" in each.wanted]
    both = sum("resourceSubscriptions" in each.wanted for each in subscriptions) > 1
    heard = [f.message.get("method") for f in session.since(start) if isinstance(f.message, dict)]
    yield Observation(
        {
            "about": "others",
            "kinds": bool(told) and len(subscriptions) > 1,
            "resources": bool(hearers) and both,
            "of-requests": any(method in OF_REQUESTS for method in heard),
        }
    )


def _stream(subscription: Subscription) -> Observation:
    call = subscription.call
    head = call.head
    kind = media_type(head) if head is not None else ""
    found = notified(subscription.session, call, ACKNOWLEDGED)
    later = isinstance(call.result, dict) and found is not None and call.answers[0].at - found.at > AT_ONCE
    facts: dict[str, Json] = {"about": "stream", "type": kind, "open": not call.done, "torn-down": later}
    frames = (call.sent, *((head,) if head is not None else ()), *call.answers)
    return Observation(facts, frames=frames, actual="" if not call.done else call.lost or "a response")


def _several(session: Session, subscriptions: list[Subscription], start: int) -> Iterator[Observation]:
    """Subscriptions to the same twice: to lists and to resources, which servers tell of in different places."""
    told = {"resourceSubscriptions" in each.wanted: each for each in reversed(subscriptions) if each.told()}
    for first in told.values():
        if session.alive:
            yield from _two(session, first, start)


def _two(session: Session, first: Subscription, start: int) -> Iterator[Observation]:
    """A second subscription to the same, what both are told, and over stdio what comes when one is cancelled."""
    trigger = cause(session, first.told()[0], start)
    second = listen(session, first.wanted)
    if trigger is None or second is None:
        return
    here = _again(session, trigger, [first, second])
    told = [bool(each.told(here)) for each in (first, second)]
    proof = (first.call.sent, second.call.sent, *first.told(here)[:1], *second.told(here)[:1])
    if any(told):
        yield Observation({"about": "two", "both": all(told)}, frames=proof)
    if not (all(told) and session.transport.single_stream):
        return
    session.notify("notifications/cancelled", {"requestId": first.call.id, "reason": "mcp-conform has heard enough"})
    session.hear_out()
    here = _again(session, trigger, [second])
    goes_on = bool(second.told(here))
    yield Observation({"about": "one cancelled", "other": goes_on}, frames=(*proof, *second.told(here)[:1]))


def cause(session: Session, told: Frame, start: int) -> Json:
    """Params of the call that was under way, or just over, when something was told."""
    calls = [call for call in session.calls.values() if call.method == "tools/call"]
    before = [call for call in calls if start <= call.sent.number < told.number]
    if not before:
        return None
    last = max(before, key=lambda call: call.sent.number)
    return {name: value for name, value in last.params.items() if name in ("name", "arguments")}


def call_again(session: Session, trigger: Json) -> int:
    """Call the tool once more, and hear what is said for a while; the position from which that was."""
    here = session.position
    session.request("tools/call", trigger)
    session.hear_out()
    session.listen(session.limits.quiet)
    return here


def _again(session: Session, trigger: Json, expecting: list[Subscription]) -> int:
    """Call the tool once more, until all of them have heard of it; the position from which that was."""
    here = session.position
    session.request("tools/call", trigger)
    session.hear_out()
    session.listen(late(session), until=lambda: all(each.told(here) for each in expecting))
    return here


def ends(bench: Bench) -> Iterator[Observation]:
    """A subscription is open while the input is closed; what the server says of it before it ends."""
    session = bench.session
    (wanted,) = picks("announced-changes", bench.survey)
    subscription = listen(session, wanted)
    if subscription is None:
        raise Unavailable("no subscription is acknowledged")
    here = session.position
    ended = session.finish_input()
    call = subscription.call
    named = [f for f in session.since(here) if f.origin == "target" and _cancels(f.message, call)]
    result = isinstance(call.result, dict)
    words = {"result": result, "cancelled": bool(named), "error": bool(call.answers) and not result}
    said = [word for word, came in words.items() if came]
    yield Observation({"said": said or ["nothing"], "ended": ended}, frames=(call.sent, *named, *call.answers))


def _cancels(message: Json, call: Call) -> bool:
    if not isinstance(message, dict) or message.get("method") != "notifications/cancelled":
        return False
    return id_key(members(message.get("params")).get("requestId")) == id_key(call.id)
