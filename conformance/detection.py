"""Which revisions does the target speak? Found out on a fresh process for each, as the compatibility rules say."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from dataclasses import dataclass, replace

from conformance.expect import shorten
from conformance.ledger import Ledger
from conformance.messages import parse
from conformance.model import Limits
from conformance.revisions import BY_DATE, HANDSHAKE, STATELESS, Revision
from conformance.session import Call, NotSpoken
from conformance.target import ending
from conformance.transports import StartError
from conformance.units import Stage

PATIENCE = 5.0
"""Seconds that a server which has answered in one era is given for its first answer in the other."""


@dataclass(slots=True)
class Attempt:
    """One try to open a session in a revision.

    `stage` is open if `spoken`. `silent` means that no answer of any kind came, and `lost` why. `fatal` means that
    the target could not be started.
    """

    revision: Revision
    stage: Stage | None
    spoken: bool = False
    reason: str = ""
    offered: str = ""
    silent: bool = False
    fatal: bool = False
    lost: str = ""
    call: Call | None = None
    seconds: float = 0.0


FRAMING = 1.0
"""Seconds in which a silent server may show that it speaks with Content-Length headers."""

HELD_BACK = "the answer came when stdin was closed, and not before"

Begin = Callable[[Revision], Stage]


def attempt(revision: Revision, begin: Begin, limits: Limits) -> Attempt:
    """Try to open a session in `revision` on a fresh stage."""
    try:
        stage = begin(revision)
    except StartError as reason:
        return Attempt(revision, None, reason=str(reason), silent=True, fatal=True)
    stage.session.limits = limits
    try:
        took = stage.open()
    except NotSpoken as reason:
        call = reason.call
        silent = call is None or (not call.answers and (call.head is None or call.head.status is None))
        if call is not None:
            call.excused = True  # a server that does not open cannot be tested; that is no finding
            _modern_without_discover(stage, call)
        lost = call.lost + _circumstances(stage) if silent and call is not None else ""
        why = f"{call.method} is not answered: {lost}" if silent and call is not None else str(reason)
        return Attempt(revision, stage, reason=why, offered=reason.offered, silent=silent, lost=lost, call=call)
    transport = stage.session.transport
    # A target that was started ahead may have been ready long before it was asked.
    seconds = min(time.monotonic() - transport.began, took + transport.worked())
    return Attempt(revision, stage, spoken=True, seconds=seconds)


def _modern_without_discover(stage: Stage, refused: Call) -> None:
    """A server that refuses server/discover and serves another request of the stateless era lacks what it must have."""
    if refused.method != "server/discover" or refused.error is None:
        return
    call = stage.session.request("tools/list")
    if isinstance(call.result, dict) and isinstance(call.result.get("resultType"), str):
        stage.ledger.broke(
            "discovery/discover-implemented",
            "server/discover is refused by a server that serves other requests of the stateless era",
            expected="a result",
            actual=shorten(refused.error),
            frames=(*refused.proof, *call.proof),
        )


def judge_offers(failed: Iterable[Attempt]) -> None:
    """No version at all was echoed, not even one that the server itself had offered."""
    answered = {attempt.revision.date: attempt for attempt in failed if attempt.offered and attempt.stage is not None}
    for first in answered.values():
        second = answered.get(first.offered)
        if second is None or second.call is None or first.call is None or second.stage is None:
            continue
        second.stage.ledger.broke(
            "versioning/supported-version-echoed",
            "the server answers no version by itself, not even one that it offers",
            expected=f"{first.offered}, which it offered before",
            actual=second.offered,
            frames=second.call.proof,
        )
        return


def _circumstances(stage: Stage) -> str:
    """What else can be said about a server that does not answer its opening request."""
    session = stage.session
    if not session.alive or session.transport.name != "stdio":
        return ""
    heard = _heard(stage)
    begun = session.transport.unfinished()
    if begun and not heard and isinstance(parse(begun)[0], dict):
        return "; it wrote a whole message without a newline at its end"
    if begun:
        return f"; it began a line and did not end it: {begun[:100].decode('utf-8', 'backslashreplace')}"
    said = ending(session.transport.stderr())
    if not heard and _reads_content_length(stage):
        return (
            "; it wants Content-Length headers, as the Language Server Protocol does: MCP frames messages by newlines"
        )
    return f"; its stderr ends with: {said}" if said else "; its stderr is empty"


def _heard(stage: Stage) -> bool:
    return any(frame.origin == "target" for frame in stage.session.trace)


def _reads_content_length(stage: Stage) -> bool:
    """Whether the server, silent to lines, answers a ping that is framed by headers."""
    session = stage.session
    session.unwatch()  # what comes of it is a hint, no finding
    start = session.position
    body = b'{"jsonrpc":"2.0","id":"framed","method":"ping"}'
    session.raw(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
    session.listen(FRAMING)
    heard = b"\n".join(frame.data for frame in session.since(start) if frame.origin == "target")
    return b"content-length:" in heard.lower()


def attempts(
    wanted: tuple[str, ...], transport: str, begin: Begin, limits: Limits, pool: Executor
) -> Iterator[Attempt]:
    """One attempt for each candidate, as they end.

    `wanted` are dates, `("newest",)`, or empty for all. A server that is silent to both eras is not asked again.
    """
    candidates = [r for r in BY_DATE.values() if transport in r.transports]
    if wanted and wanted != ("newest",):
        candidates = [r for r in candidates if r.date in wanted]
        yield from _first_then_rest(candidates, begin, limits, pool)
        return
    newest = max((r for r in HANDSHAKE if transport in r.transports), key=lambda r: r.date)
    first = attempt(newest, begin, limits)
    if first.fatal:
        yield first
        return
    other_limits = limits
    if not first.silent:
        other_limits = replace(limits, start=min(limits.start, PATIENCE + 3 * first.seconds))
    if wanted == ("newest",):
        yield from _newest(first, begin, (other_limits, limits))
        return
    yield first
    rest = [r for r in candidates if r.era == "handshake" and r is not newest] if not first.silent else []
    jobs: list[Future[Attempt]] = [pool.submit(attempt, r, begin, other_limits) for r in STATELESS]
    jobs += [pool.submit(attempt, r, begin, limits) for r in rest]
    for job in jobs:
        yield job.result()


def _first_then_rest(candidates: Iterable[Revision], begin: Begin, limits: Limits, pool: Executor) -> Iterator[Attempt]:
    candidates = list(candidates)
    if not candidates:
        return
    first = attempt(candidates[-1], begin, limits)
    yield first
    if first.fatal:
        return
    rest = candidates[:-1]
    if not first.spoken and first.offered in BY_DATE and BY_DATE[first.offered] not in rest:
        rest.append(BY_DATE[first.offered])  # is at least its own offer echoed?
    for job in [pool.submit(attempt, r, begin, limits) for r in rest]:
        yield job.result()


def _newest(first: Attempt, begin: Begin, limits: tuple[Limits, Limits]) -> Iterator[Attempt]:
    """The newest revision spoken, or why there is none."""
    for revision in STATELESS:
        modern = attempt(revision, begin, limits[0])
        if modern.spoken:
            discard(first)
            yield modern
            return
        if first.spoken:
            discard(modern)
            yield first
            return
        yield modern
    yield first
    if first.offered in BY_DATE:
        yield attempt(BY_DATE[first.offered], begin, limits[1])


def discard(failed: Attempt, begin: Begin | None = None) -> Ledger:
    """Close the attempt's session; what its invariants wrote down.

    With `begin`, a server whose answer came only now, at the end, is started again to see whether that is why.
    """
    if failed.stage is None:
        return Ledger()
    failed.stage.close()
    call = failed.call
    if begin is not None and failed.silent and call is not None and call.answers and _holds_back(failed, call, begin):
        failed.lost = f"{call.lost}; {HELD_BACK}"
        failed.reason = f"{call.method} is not answered: {failed.lost}"
    return failed.stage.ledger


def _holds_back(failed: Attempt, call: Call, begin: Begin) -> bool:
    """Whether a server answers only when its input is closed, however long it is given before.

    A server that starts slowly, or did so the first time only, does not pass for one: with its input closed at once
    it shows how long it needs; the next time it is given three times as long with its input open.
    """
    began = time.monotonic()
    if failed.stage is None or failed.stage.session.transport.name != "stdio":
        return False
    return _answers_at_end(failed, call, begin, 0.0) and _answers_at_end(
        failed, call, begin, FRAMING + 3 * (time.monotonic() - began)
    )


def _answers_at_end(failed: Attempt, asked: Call, begin: Begin, patience: float) -> bool:
    """Whether a fresh server is silent for `patience` seconds and answers once its input is closed."""
    try:
        stage = begin(failed.revision)
    except StartError:
        return False
    session = stage.session
    session.unwatch()
    call = session.send(asked.method, asked.params)
    session.listen(patience, until=lambda: call.done)
    early = call.done or session.transport.unfinished() or _heard(stage)
    stage.close()
    return bool(call.answers) and not early


def untestable(failed: list[Attempt]) -> str:
    """Why no session could be opened in any revision; one line."""
    if not failed:
        return "no revision of the specification was selected that this transport carries"
    fatal = next((tried for tried in failed if tried.fatal), None)
    if fatal is not None:
        return fatal.reason
    if len(failed) > 1 and all(tried.silent for tried in failed):
        return f"the server answers neither initialize nor server/discover: {failed[0].lost}"
    if len({tried.reason for tried in failed}) == 1:
        return failed[0].reason
    return "; ".join(f"{tried.revision.date}: {tried.reason}" for tried in failed[:2])
