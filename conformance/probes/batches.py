"""Probes of batches, which only 2025-03-26 has; on a process of their own. Part of the area jsonrpc."""

from __future__ import annotations

from conformance.model import Frame, Json, Severity
from conformance.probes import Bench, probe
from conformance.probes.outcome import UNANSWERED, shown, stray
from conformance.session import Call, Session

ACCEPTED = "jsonrpc/batch-accepted"
AS_ARRAY = "jsonrpc/batch-answered-as-array"
EMPTY = "jsonrpc/empty-batch-refused"
UNANSWERED_BATCH = "jsonrpc/batch-of-notifications-unanswered"
NOTE: Json = {"jsonrpc": "2.0", "method": "notifications/mcp-conform-unknown"}


@probe("jsonrpc.batches", ACCEPTED, AS_ARRAY, EMPTY, UNANSWERED_BATCH)
def batches(bench: Bench) -> None:
    """A batch of two requests and a notification, one of notifications only, and an empty one."""
    session, ledger = bench.session, bench.ledger
    pings = [{"jsonrpc": "2.0", "id": f"mcp-conform-batch-{which}", "method": "ping"} for which in "ab"]
    calls = session.batch([*pings, NOTE])
    for call in calls:
        call.excused = True  # this probe tells what became of it
    session.wait(*calls)
    if not all(isinstance(call.result, dict) for call in calls):
        fault = next(call for call in calls if not isinstance(call.result, dict))
        ledger.broke(
            ACCEPTED,
            "a batch of requests is not accepted",
            expected="a result for each of the two pings, as an array or one by one",
            actual=_reaction(session, fault),
            frames=(calls[0].sent, *(frame for call in calls for frame in call.answers)),
        )
        for requirement in (AS_ARRAY, EMPTY, UNANSWERED_BATCH):
            ledger.block(requirement, ACCEPTED)
        return
    ledger.held(ACCEPTED)
    _form_of_answers(bench, calls)
    _notifications_only(bench)
    _empty(bench)


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
        bench.ledger.block(UNANSWERED_BATCH, UNANSWERED)
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


def _empty(bench: Bench) -> None:
    session = bench.session
    start = session.position
    session.raw(b"[]")
    sentinel = session.hear_out()
    frames = [f for f in session.since(start) if sentinel is None or _empty_answer(f, sentinel)]
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
