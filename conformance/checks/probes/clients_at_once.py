"""The probe of two clients at a URL whose calls are under way at once. Part of the area transport-http."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Unpack

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.broken_streams import break_off
from conformance.checks.probes.cancellation import let_begin
from conformance.checks.probes.lists import hears_announcements
from conformance.checks.probes.observed import SeenCall, slow_call
from conformance.checks.probes.outcome import succeeded
from conformance.model import Frame, Json
from conformance.session.exchanges import written_out
from conformance.session.messages import How
from conformance.session.session import Call, Session, encode
from conformance.survey.survey import Unavailable
from conformance.transports.written_requests import target_of

TRIES = 2
"""So often a call must fail, and two calls at once of which nothing special can be said succeed, before that counts."""


@dataclass(slots=True)
class _Two:
    """Two clients of one server, and the slow tool that both call.

    `in_vain` says that an answer was waited for with all patience and did not come: the others get less.
    """

    first: Session
    second: Session
    slow: SeenCall
    in_vain: bool = False

    def call(self, client: Session, **how: Unpack[How]) -> Call:
        """Send the call, which may stay unanswered: the case judges that."""
        call = client.send("tools/call", self.slow.params, **how)
        call.excused = True
        return call

    def wait(self, client: Session, call: Call) -> None:
        """Wait for the answer, or long enough."""
        brief = 4 * self.slow.seconds + client.limits.quiet
        came = client.wait(call, timeout=brief if self.in_vain else max(client.limits.answer, brief))
        self.in_vain |= not came
        client.give_up(call)


Tried = tuple[Call, tuple[Frame, ...]]
"""The call that must succeed whatever becomes of the others, and all calls that were sent."""


def at_once(bench: Bench) -> Iterator[Observation]:
    """A slow call of each of two clients: both with one id, beside one whose connection breaks, and after that.

    What fails is compared with two calls at once that have nothing special. It breaks a connection off; where a client
    has one for all, it cancels a call that has the id of the other client's, and ends a session.
    """
    slow = slow_call(bench)
    two = _Two(bench.connect(shared=True), bench.connect(shared=True), slow)
    if two.first.transport.url != two.second.transport.url:
        raise Unavailable("each client has a server of its own")
    ordinary = partial(_together, two, False)
    apart = two.first.transport.single_stream
    breaking: Callable[[], Tried | None] = partial(_left, bench, two) if apart else partial(_broken_off, two)
    attempts: list[tuple[str, Callable[[], Tried | None], Callable[[], Tried] | None]] = [
        ("one id", partial(_together, two, True), ordinary),
        *([("cancelled", partial(_cancelled, two), ordinary)] if apart else []),
        ("broken off", breaking, ordinary),
        ("afterwards", partial(_afterwards, two), None),
    ]
    for about, attempt, control in attempts:
        tried = _tried(attempt, control)
        facts: dict[str, Json] = {"tool": two.slow.params["name"], "about": about, "tried": tried is not None}
        if tried is not None:
            call, sent = tried
            facts |= {"served": succeeded(call), "answered": bool(call.answers)}
            yield Observation(facts, call, (*sent, *call.answers))
        else:
            yield Observation(facts)
    _ask_for_progress(two)


def _ask_for_progress(two: _Two) -> None:
    """A call of one client that asks for its progress, while the other listens: what it hears is judged elsewhere.

    Where a client has one stream for all, then the other way round: a server may tell all to who came last.
    """
    turns = [(two.second, two.first), (two.first, two.second)]
    for caller, hearer in turns if two.first.transport.single_stream else turns[:1]:
        if hearer.revision.era == "handshake" and hears_announcements(hearer):
            meta = {"progressToken": f"mcp-conform-{secrets.token_hex(8)}"}
            call = caller.send("tools/call", {**two.slow.params, "_meta": meta})
            call.excused = True
            two.wait(caller, call)
            hearer.hear_out()


def _tried(attempt: Callable[[], Tried | None], control: Callable[[], Tried] | None) -> Tried | None:
    """The attempt that succeeded, or the last one that failed; None if that says nothing."""
    for _ in range(TRIES):
        tried = attempt()
        if tried is None or succeeded(tried[0]):
            break
        if control is not None and not succeeded(control()[0]):
            return None
    return tried


def _together(two: _Two, same: bool) -> Tried:
    """The call of the two that did not succeed, if there is one."""
    name = f"mcp-conform-{two.first.position}"
    calls = [two.call(two.first, id=name), two.call(two.second, id=name if same else f"{name}-second")]
    two.wait(two.first, calls[0])
    two.wait(two.second, calls[1])
    return min(calls, key=succeeded), tuple(call.sent for call in calls)


def _broken_off(two: _Two) -> Tried | None:
    """The second call, while the first one is under way and its connection is closed; None if that was too late."""
    broken = _written(two.first, two.slow.params)
    let_begin(two.first, broken, two.slow.seconds)
    other = two.call(two.second)
    let_begin(two.second, other, two.slow.seconds)
    two.first.listen(0.0)
    if broken.answers or other.answers:
        return None
    break_off(two.first, broken)
    two.wait(two.second, other)
    return other, (broken.sent, other.sent)


def _cancelled(two: _Two) -> Tried:
    """The second call, while the first one has the same id and is cancelled."""
    name = f"mcp-conform-{two.first.position}"
    doomed, other = two.call(two.first, id=name), two.call(two.second, id=name)
    cancelled = two.first.notify("notifications/cancelled", {"requestId": name})
    two.first.give_up(doomed)
    two.wait(two.second, other)
    return other, (doomed.sent, other.sent, cancelled)


def _left(bench: Bench, two: _Two) -> Tried | None:
    """The second call, while that of a client is under way which leaves; None if that was too late."""
    leaving = bench.connect(shared=True)
    ended, other = two.call(leaving), two.call(two.second)
    two.second.listen(two.slow.seconds / 4)
    leaving.listen(0.0)
    if ended.answers or other.answers:
        return None
    leaving.close(hurry=True)
    two.wait(two.second, other)
    return other, (ended.sent, other.sent)


def _written(client: Session, params: Json) -> Call:
    """The call on a connection of its own, which can be closed whether or not an answer has begun."""
    message: Json = {"jsonrpc": "2.0", "id": client.new_id(), "method": "tools/call"}
    body = encode({**message, "params": client.era.dress(client, params)})
    head = b"POST %s HTTP/1.1\r\nContent-Length: %d\r\n\r\n" % (target_of(client.transport.url), len(body))
    _, call = written_out(client, head + body, body, illegal=False)
    assert call is not None  # since it is legal
    call.excused = True
    return call


def _afterwards(two: _Two) -> Tried:
    """A call when the one whose connection was closed would be over; its id is 0, which is as good as any other."""
    two.second.listen(2 * two.slow.seconds)
    call = two.call(two.second, id=0)
    two.wait(two.second, call)
    return call, (call.sent,)
