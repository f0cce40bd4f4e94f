"""Another client of the same server, in a session of its own: what one client says is nothing to the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.lists import contents_of, heard_to_the_end, hears_announcements, is_update
from conformance.model import Json, members
from conformance.session.session import Session
from conformance.transports import SESSION


def another_client(bench: Bench, client: Json = None) -> Session | None:
    """A session beside that of the bench, None if the server would have no way to tell both clients apart."""
    session = bench.session
    transport = session.transport
    if session.revision.era != "handshake" or transport.process_per_session:
        return None
    if transport.has_headers and SESSION not in session.http_headers:
        return None
    other = bench.connect(client=client, shared=True)
    return other if other.transport.url == transport.url else None


def subscribers(bench: Bench, uri: str, trigger: Json) -> Iterator[Observation]:
    """A resource that a tool changes: two clients subscribe to it by turns, and each is told only when it did.

    The client of the bench has unsubscribed: what it is told then is the invariants' to judge. It finds out by the
    same call of a tool, for the client of the bench alone, whether a silence counts.
    """
    session = bench.session
    other = another_client(bench)
    if other is None or not hears_announcements(other) or not _subscribed(other, uri):
        return
    told = told_by_change(bench, trigger, other, uri)
    session.hear_out()  # whatever was sent at the same time has come as well
    if told is None or (not told and not _told_alone(bench, trigger, uri)):
        return
    yield _observed(uri, "another client that subscribes", told, other)
    if told and _subscribed(session, uri):
        leave = partial(other.request, "resources/unsubscribe", {"uri": uri})
        ways: tuple[tuple[str, Callable[[], object]], ...] = (
            ("unsubscribes", leave),
            ("has ended its session", other.close),
        )
        for who, leaves in ways:
            leaves()
            told = told_by_change(bench, trigger, session, uri)
            if told or (told is False and _told_alone(bench, trigger, uri)):
                yield _observed(uri, f"a client beside one that {who}", told, session)
            if not told:
                break
    session.request("resources/unsubscribe", {"uri": uri})


def _observed(uri: str, who: str, told: bool, hearer: Session) -> Observation:
    asked = [frame for frame in hearer.trace if members(frame.message).get("method") == "resources/subscribe"]
    return Observation({"uri": uri, "who": who, "told": told}, None, tuple(asked[-1:]), "silence")


def _subscribed(client: Session, uri: str) -> bool:
    return isinstance(client.request("resources/subscribe", {"uri": uri}).result, dict)


def _told_alone(bench: Bench, trigger: Json, uri: str) -> bool:
    """Whether the client of the bench hears of it that subscribes anew, so that there was something to be told."""
    return _subscribed(bench.session, uri) and told_by_change(bench, trigger, bench.session, uri) is True


def told_by_change(bench: Bench, trigger: Json, hearer: Session, uri: str) -> bool | None:
    """Whether the hearer is told that the resource has changed when the client of the bench calls the tool.

    None if it cannot be known: nothing has changed for the hearer, as where each client has a server of its own, or the
    server has closed the stream on which it would be told.
    """
    view, start = replace(bench, session=hearer), hearer.position

    def told() -> bool:
        return any(is_update(frame, uri) for frame in hearer.since(start))

    before = contents_of(view, uri)
    restless = contents_of(view, uri) != before
    bench.session.request("tools/call", trigger)
    hearer.listen(hearer.limits.quiet, until=told)
    if told():
        return True
    changed = not restless and None not in (before, after := contents_of(view, uri)) and after != before
    return told() if heard_to_the_end(hearer) and changed else None
