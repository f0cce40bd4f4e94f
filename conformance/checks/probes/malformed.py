"""Probes of frames that are no JSON-RPC message; each on a process of its own. Part of the area jsonrpc."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.outcome import answers_frame
from conformance.model import Frame, Severity

MALFORMED = "jsonrpc/parse-error-code"
INVALID = "jsonrpc/invalid-request-code"


@probe("jsonrpc.not-json", MALFORMED)
def not_json(bench: Bench) -> None:
    """HTTP: a body that is not JSON. Over stdio the fuzz campaign does it."""
    _wrong_frame(bench, MALFORMED, b'{"jsonrpc": "2.0", "id": 900001,', (-32700, -32600), 900001)


@probe("jsonrpc.invalid-requests", INVALID)
def invalid_requests(bench: Bench) -> None:
    """JSON that is no JSON-RPC message."""
    for identifier, data in (
        (900001, b'{"id":900001,"method":"ping"}'),
        (900002, b'{"jsonrpc":"2.0","id":900002,"method":7}'),
    ):
        _wrong_frame(bench, INVALID, data, (-32600,), identifier)
        if not bench.session.alive:
            return


def _wrong_frame(bench: Bench, requirement: str, data: bytes, codes: tuple[int, ...], identifier: int) -> None:
    session = bench.session
    session.hear_out()  # what answers an earlier message, as a notification must not be, is no answer to this one
    start = session.position
    calls = session.raw(data)
    if session.transport.name == "http":
        session.wait(*calls)
        while session.alive and not any(f.channel == "head" for f in session.since(start)):
            before = session.position
            session.listen(session.limits.quiet)
            if session.position == before:
                break
    else:
        session.listen(0.05)  # an answer that comes at once should come before the sentinel is sent
    sentinel = session.hear_out()
    frames = tuple(session.since(start))
    if sentinel is None or not sentinel.answers:
        ended = session.ended
        if sentinel is not None:
            sentinel.excused = True  # it is unanswered for this very cause
        bench.ledger.broke(
            requirement,
            "the server did not survive a frame that is no request",
            expected="silence or an error, and the server lives on",
            actual=ended.reason if ended else "the next request is not answered",
            frames=frames[:2],
            ceiling=Severity.WARNING,
        )
        return
    statuses = [f.status for f in frames if f.channel == "head" and f.exchange == frames[0].exchange]
    answers = [f for f in frames if answers_frame(f, sentinel, identifier)]
    if statuses and statuses[0] is not None and statuses[0] >= 500:
        _wrong_answer(bench, requirement, frames, f"HTTP status {statuses[0]}", codes)
    elif not answers and statuses:
        bench.ledger.held(requirement)
    elif not answers:
        bench.ledger.inconclusive(requirement, "the server stays silent, which is allowed over stdio")
    for frame in answers:
        error = frame.message.get("error")
        code = error.get("code") if isinstance(error, dict) else None
        if code in codes:
            bench.ledger.held(requirement)
        else:
            actual = f"error {code}" if error is not None else "a result"
            ceiling = Severity.ADVICE if error is not None else Severity.WARNING
            _wrong_answer(bench, requirement, (frames[0], frame), actual, codes, ceiling)


def _wrong_answer(
    bench: Bench,
    requirement: str,
    frames: tuple[Frame, ...],
    actual: str,
    codes: tuple[int, ...],
    ceiling: Severity = Severity.WARNING,
) -> None:
    bench.ledger.broke(
        requirement,
        "a frame that is no request is answered otherwise",
        expected=f"error {codes[0]}",
        actual=actual,
        frames=frames,
        ceiling=ceiling,
    )
