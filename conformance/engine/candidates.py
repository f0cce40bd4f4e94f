"""Which revisions a target is asked for, and in what order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import Executor, Future, wait
from dataclasses import replace

from conformance.engine.detection import PATIENCE, Attempt, Begin, attempt, discard
from conformance.model import Limits
from conformance.revisions import ALL, BY_DATE, HANDSHAKE, NEWEST, Revision


def usual(transport: str) -> tuple[str, ...]:
    """What is tested where the user chooses no revision: the newest ones, and the one that defines the transport."""
    defining = [r.date for r in HANDSHAKE if transport in r.transports]
    newest = max(r.date for r in HANDSHAKE)
    return (NEWEST, *defining) if defining and newest not in defining else ()


def attempts(
    wanted: tuple[str, ...], transport: str, begin: Begin, limits: Limits, pool: Executor
) -> Iterator[Attempt]:
    """One attempt for each candidate, as they end; those that are spoken and not `wanted` are among them.

    `wanted` is as in Options. A server that is silent to both eras is not asked again.
    """
    candidates = [r for r in BY_DATE.values() if r.carried_by(transport)]
    if wanted and not {NEWEST, ALL} & set(wanted):
        candidates = [r for r in candidates if r.date in wanted]
        yield from _first_then_rest(candidates, begin, limits, pool)
        return
    newest = max((r for r in HANDSHAKE if r.carried_by(transport)), key=lambda r: r.date)
    opening = pool.submit(attempt, newest, begin, limits)
    # What else is asked in any case is waited for at the same time, if the first is: the other era, and what is named.
    done, _ = wait([opening], timeout=PATIENCE)
    stateless = [r for r in candidates if r.era == "stateless"]
    older = [r for r in candidates if r.era == "handshake" and r is not newest]
    named = [] if ALL in wanted else [r for r in older if r.date in wanted]
    ahead = {} if done else {r.date: pool.submit(attempt, r, begin, limits) for r in (*stateless, *named)}
    first = opening.result()
    if first.fatal:
        for job in ahead.values():
            discard(job.result())
        yield first
        return
    other_limits = limits
    if not first.silent:
        other_limits = replace(limits, start=min(limits.start, PATIENCE + 3 * first.seconds))
    if NEWEST in wanted and ALL not in wanted:
        asked: list[str] = []
        for found in _newest(first, stateless, begin, (other_limits, limits), ahead):
            asked.append(found.revision.date)
            yield found
        for date in (r.date for r in named if r.date in ahead):
            if date in asked:
                discard(ahead[date].result())
            else:
                asked.append(date)
                yield ahead[date].result()
        rest = [r for r in candidates if r.date in wanted and r.date not in asked]
        yield from _first_then_rest(rest, begin, limits, pool)
        return
    jobs = list(ahead.values()) or [pool.submit(attempt, r, begin, other_limits) for r in stateless]
    if first.silent:
        others = [job.result() for job in jobs]
        first = _once_more(first, others, begin, limits)
        yield first
        yield from others
        jobs = []
    else:
        yield first
    if ALL in wanted:
        rest = older
    elif first.offered in BY_DATE:
        rest = [r for r in older if r.date == first.offered]
    else:
        rest = [] if first.spoken else older
    yield from (_alone(job.result(), first, begin, other_limits) for job in jobs)
    more = [pool.submit(attempt, r, begin, limits) for r in rest if not first.silent]
    ended = sorted((job.result() for job in more), key=lambda tried: tried.revision.date)
    spoken = [tried for tried in ended if tried.spoken]
    for tried in ended:
        if ALL not in wanted and tried in spoken[:-1]:
            discard(tried)
        else:
            yield tried


def _once_more(silent: Attempt, others: Iterable[Attempt], begin: Begin, limits: Limits) -> Attempt:
    """The handshake once more, if the server has answered meanwhile: the first start of a package may take long."""
    answered = [tried for tried in others if not tried.silent]
    if not answered:
        return silent
    again = attempt(silent.revision, begin, replace(limits, start=min(limits.start, PATIENCE)))
    if again.silent:
        discard(again)
        return silent
    discard(silent)
    return again


def _alone(silent: Attempt, other: Attempt, begin: Begin, limits: Limits) -> Attempt:
    """The attempt once more, if it was silent while a server of no use was there: some run only one at a time."""
    if not silent.silent or silent.fatal or other.silent or other.spoken or other.stage is None:
        return silent
    if not other.stage.session.transport.process_per_session:
        return silent
    other.stage.close()
    discard(silent)
    return attempt(silent.revision, begin, limits)


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


def _newest(
    first: Attempt,
    stateless: Iterable[Revision],
    begin: Begin,
    limits: tuple[Limits, Limits],
    ahead: Mapping[str, Future[Attempt]],
) -> Iterator[Attempt]:
    """The newest revision spoken, or why there is none; `ahead` are attempts that have begun already."""
    for revision in stateless:
        modern = ahead[revision.date].result() if revision.date in ahead else attempt(revision, begin, limits[0])
        modern = _alone(modern, first, begin, limits[0])
        if modern.spoken:
            discard(first)
            yield modern
            return
        if first.silent:
            first = _once_more(first, (modern,), begin, limits[1])
        if first.spoken:
            discard(modern)
            yield first
            return
        yield modern
    yield first
    if first.offered in BY_DATE:
        yield attempt(BY_DATE[first.offered], begin, limits[1])
