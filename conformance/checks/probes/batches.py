"""Probes of batches, which only 2025-03-26 has; on a process of their own. Part of the area jsonrpc."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.calls import late, soon
from conformance.checks.probes.outcome import shown, stray
from conformance.model import Frame, Json, Severity
from conformance.session.session import Call, Session

ACCEPTED = "jsonrpc/batch-accepted"
AS_ARRAY = "jsonrpc/batch-answered-as-array"
EMPTY = "jsonrpc/empty-batch-refused"
UNANSWERED_BATCH = "jsonrpc/batch-of-notifications-unanswered"
NOTE: Json = {
    "jsonrpc": "2.0",
    "method": "notifications/cancelled",
    "params": {"requestId": "mcp-conform-none", "reason": "there is no such request"},
}


@probe("jsonrpc.batches", ACCEPTED, AS_ARRAY, EMPTY, UNANSWERED_BATCH)
def batches(bench: Bench) -> None:
    """Two requests; two requests and a notification; notifications only; nothing.

    Whether answers come as an array shows in the frames and not in the messages, and a busy server is given its time.
    """
    alone = _accepted(bench, _pings("ab"), "a batch of two requests is not answered")
    if alone is None:
        for requirement in (AS_ARRAY, EMPTY, UNANSWERED_BATCH):
            bench.ledger.block(requirement, ACCEPTED)
        return
    _form_of_answers(bench, alone)
    _accepted(bench, [*_pings("cd"), NOTE], "a batch of two requests and a notification is not answered")
    _notifications_only(bench)
    _empty(bench)


def _pings(names: str) -> list[Json]:
    return [{"jsonrpc": "2.0", "id": f"mcp-conform-batch-{name}", "method": "ping"} for name in names]


def _accepted(bench: Bench, messages: list[Json], otherwise: str) -> list[Call] | None:
    """The calls of a batch each of whose requests got a result; None, and a finding, if not."""
    calls = bench.session.batch(messages)
    for call in calls:
        call.excused = True  # this probe tells what became of it
    if not bench.session.wait(*calls, timeout=soon(bench.session)):
        bench.session.hear_out()  # a server that is busy gets the time it needs
        bench.session.wait(*calls, timeout=late(bench.session))
    failed = next((call for call in calls if not isinstance(call.result, dict)), None)
    if failed is None:
        bench.ledger.held(ACCEPTED)
        return calls
    bench.ledger.broke(
        ACCEPTED,
        otherwise,
        expected="a result for each of the two pings, as an array or one by one",
        actual=_reaction(bench.session, failed),
        frames=(calls[0].sent, *(frame for call in calls for frame in call.answers)),
    )
    return None


def _reaction(session: Session, call: Call) -> str:
    if call.answers:
        return shown(call)
    heard = [f for f in session.since(call.sent.number) if f.origin == "target" and isinstance(f.message, dict)]
    errors = [f for f in heard if "error" in f.message]
    return errors[0].data.decode("utf-8", "replace")[:300] if errors else call.lost


def _form_of_answers(bench: Bench, calls: list[Call]) -> None:
    answers = [call.answers[0] for call in calls]
    if all(frame.part is not None or frame.channel == "sse" for frame in answers):
        bench.ledger.held(AS_ARRAY)
        return
    bench.ledger.broke(
        AS_ARRAY,
        "the answers to a batch come one by one",
        expected="an array with one response for each request",
        actual=" ".join(frame.data.decode("utf-8", "replace")[:100] for frame in answers),
        frames=(calls[0].sent, *answers),
    )


def _notifications_only(bench: Bench) -> None:
    session = bench.session
    start = session.position
    session.batch([NOTE, NOTE])
    sentinel = session.hear_out()
    if sentinel is None or not sentinel.answers:
        _killed(bench, ACCEPTED, "the server does not survive a batch of notifications", start, sentinel)
        bench.ledger.block(UNANSWERED_BATCH, ACCEPTED)
        return
    responses = [f for f in session.since(start) if _answers_notifications(f, sentinel)]
    if not responses:
        bench.ledger.held(UNANSWERED_BATCH)
        return
    bench.ledger.broke(
        UNANSWERED_BATCH,
        "a batch of notifications is answered",
        expected="no response",
        actual=responses[0].data.decode("utf-8", "replace")[:300],
        frames=(*(f for f in session.since(start) if f.origin == "us"), responses[0]),
    )


def _answers_notifications(frame: Frame, sentinel: Call) -> bool:
    # A single object answers no batch: it is the matter of jsonrpc/notification-never-answered.
    array = frame.message == [] or (frame.part is not None and stray(frame, sentinel))
    refused = frame.status is not None and frame.status >= 400  # HTTP: an error, not a response to a notification
    return frame.origin == "target" and array and not refused


def _killed(bench: Bench, requirement: str, what: str, start: int, sentinel: Call | None) -> None:
    if sentinel is not None:
        sentinel.excused = True  # it is unanswered for this very cause
    ended = bench.session.ended
    bench.ledger.broke(
        requirement,
        what,
        expected="the next request is answered",
        actual=ended.reason if ended else "the next request is not answered",
        frames=(f for f in bench.session.since(start) if f.origin == "us"),
        ceiling=Severity.WARNING if requirement == EMPTY else None,
    )


def _empty(bench: Bench) -> None:
    session = bench.session
    if not session.alive:
        bench.ledger.block(EMPTY, ACCEPTED)
        return
    start = session.position
    session.raw(b"[]")
    sent = next(iter(session.since(start)))
    session.await_exchange(sent.exchange, session.limits.answer)
    sentinel = session.hear_out()
    if sentinel is None or not sentinel.answers:
        _killed(bench, EMPTY, "the server does not survive an empty batch", start, sentinel)
        return
    frames = [f for f in session.since(start) if _empty_answer(f, sentinel)]
    if not frames:
        bench.ledger.inconclusive(EMPTY, "the server stays silent on an empty batch")
        return
    message = frames[0].message
    error = message.get("error") if isinstance(message, dict) else None
    if isinstance(error, dict) and error.get("code") == -32600:
        bench.ledger.held(EMPTY)
        return
    bench.ledger.broke(
        EMPTY,
        "an empty batch is answered otherwise",
        expected="one error object with code -32600",
        actual=frames[0].data.decode("utf-8", "replace")[:300],
        frames=(*(f for f in session.since(start) if f.origin == "us"), frames[0]),
        ceiling=Severity.WARNING,
    )


def _empty_answer(frame: Frame, sentinel: Call) -> bool:
    return frame.origin == "target" and (isinstance(frame.message, list) or stray(frame, sentinel))
