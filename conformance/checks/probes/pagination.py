"""Probes of the area pagination."""

from __future__ import annotations

from conformance.catalogue.patterns import shorten
from conformance.checks.probes import Bench, probe
from conformance.checks.probes.lists import declared, walk
from conformance.checks.probes.outcome import INVALID_PARAMS, answered, code_of, shown
from conformance.model import Json, Severity
from conformance.session.session import Call
from conformance.survey.survey import LISTS

ACCEPTED = "pagination/cursor-accepted"
SCOPE = "caching/scope-uniform-across-pages"
STABLE = "pagination/stable-cursors"
REFUSED = "pagination/invalid-cursor-refused"
SURVIVED = "pagination/invalid-cursor-survived"


@probe("pagination.walk", ACCEPTED)
def every_page(bench: Bench) -> None:
    """Each list to its end."""
    for name in declared(bench):
        found = walk(bench.session, name)
        if len(found.pages) < 2:
            continue
        if found.cut:
            bench.ledger.inconclusive(ACCEPTED, found.cut)
        elif not found.problem:
            bench.ledger.held(ACCEPTED)
        elif answered(bench, found.pages[-1], ACCEPTED):
            bench.ledger.broke(
                ACCEPTED,
                f"page {len(found.pages)} of the list of {name} leads nowhere: {found.problem}",
                expected="a page for each nextCursor, and an end",
                actual=shown(found.pages[-1]),
                frames=found.proof,
            )
    bench.ledger.inconclusive(ACCEPTED, "no list is longer than a page")


@probe("pagination.cache-scope", SCOPE)
def cache_scope(bench: Bench) -> None:
    """All pages of a list have the same cacheScope."""
    for name in declared(bench):
        pages = [call for call in walk(bench.session, name).pages if isinstance(call.result, dict)]
        scopes = [call.result.get("cacheScope") for call in pages]
        other = next((i for i, scope in enumerate(scopes) if scope != scopes[0]), None)
        if other is not None:
            bench.ledger.broke(
                SCOPE,
                f"pages of the list of {name} differ in cacheScope",
                expected=shorten(scopes[0]),
                actual=f"{shorten(scopes[other])} on page {other + 1}",
                frames=(*pages[0].proof, *pages[other].proof),
            )
        elif len(pages) > 1:
            bench.ledger.held(SCOPE)
    bench.ledger.inconclusive(SCOPE, "no list is longer than a page")


@probe("pagination.stable", STABLE)
def stable(bench: Bench) -> None:
    """The same cursor twice gives the same items; a difference must show twice, since lists may change."""
    for name in declared(bench):
        method, member = LISTS[name]
        for attempt in range(2):
            cursor = _first_cursor(bench, method)
            if cursor is None:
                break
            calls = [bench.session.request(method, {"cursor": cursor}) for _ in range(2)]
            if not all(answered(bench, call, STABLE) for call in calls):
                break
            pages = [_items(call, member) for call in calls]
            if pages[0] is not None and calls[1].error is not None:
                _broke_stability(bench, calls, "is refused the second time")
                break
            if None in pages:
                bench.ledger.block(STABLE, ACCEPTED)
                break
            if pages[0] == pages[1]:
                bench.ledger.held(STABLE)
                break
            if attempt:
                _broke_stability(bench, calls, "gives other items the second time")
    bench.ledger.inconclusive(STABLE, "no list is longer than a page")


def _broke_stability(bench: Bench, calls: list[Call], what: str) -> None:
    bench.ledger.broke(
        STABLE,
        f"the same cursor of {calls[0].method} {what}",
        expected="the same items",
        actual=shown(calls[1]),
        frames=(*calls[0].proof, *calls[1].proof),
    )


def _first_cursor(bench: Bench, method: str) -> Json:
    call = bench.session.request(method)
    cursor = call.result.get("nextCursor") if isinstance(call.result, dict) else None
    return cursor if isinstance(cursor, str) else None


def _items(call: Call, member: str) -> Json:
    return call.result.get(member) if isinstance(call.result, dict) else None


@probe("pagination.invalid-cursor", REFUSED, SURVIVED)
def invalid_cursor(bench: Bench) -> None:
    """A cursor that the server never gave, then the list without a cursor."""
    pages = dict(bench.survey.pages)
    for name in declared(bench):
        method, _ = LISTS[name]
        before = bench.session.request(method)
        if not answered(bench, before, REFUSED, SURVIVED):
            continue
        call = bench.session.request(method, {"cursor": "mcp-conform-invalid-cursor"})
        call.excused = True  # silence is told here, with its cause
        after = bench.session.request(method) if bench.session.alive else None
        _judge_survival(bench, call, after)
        if not call.answers:
            bench.ledger.block(REFUSED, SURVIVED)
        elif before.error is not None:
            bench.ledger.inconclusive(REFUSED, f"{method} is refused with and without a cursor")
        else:
            _judge_refusal(bench, call, paged=pages.get(name, 0) > 1)
        if not bench.session.alive:
            return


def _judge_survival(bench: Bench, call: Call, after: Call | None) -> None:
    status = call.head.status if call.head is not None else None
    crashed = status is not None and status >= 500
    if call.answers and after is not None and after.answers and not crashed:
        bench.ledger.held(SURVIVED)
        return
    bench.ledger.broke(
        SURVIVED,
        f"{call.method} does not get over an invalid cursor",
        expected="an answer, and an answer to the next request as well",
        actual=f"HTTP status {status}" if crashed else shown(call if not call.answers or after is None else after),
        frames=(*call.proof, *(after.proof if after is not None else ())),
    )


def _judge_refusal(bench: Bench, call: Call, paged: bool) -> None:
    if code_of(call) == INVALID_PARAMS:
        bench.ledger.held(REFUSED)
    elif call.error is None and not paged:
        why = "accepted, which harms nobody while the server gives out no cursors: each list fits one page"
        bench.ledger.inconclusive(REFUSED, why)
    else:
        bench.ledger.broke(
            REFUSED,
            f"{call.method} {'accepts' if call.error is None else 'refuses with another code'} an invalid cursor",
            expected=f"error {INVALID_PARAMS}",
            actual=shown(call),
            frames=call.proof,
            ceiling=None if paged else Severity.ADVICE,
        )
