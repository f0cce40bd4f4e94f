"""Probes of batches, which only 2025-03-26 has; on a process of their own. Part of the area jsonrpc."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import late, soon
from conformance.checks.probes.outcome import shown, stray
from conformance.model import Frame, Json
from conformance.session.patience import NEXT_UNANSWERED
from conformance.session.session import Call, Session

NOTE: Json = {
    "jsonrpc": "2.0",
    "method": "notifications/cancelled",
    "params": {"requestId": "mcp-conform-none", "reason": "there is no such request"},
}


def batches(bench: Bench) -> Iterator[Observation]:
    """Two requests; two requests and a notification; one request; notifications only; nothing.

    Whether answers come as an array shows in the frames and not in the messages, and a busy server is given its time.
    """
    calls = _sent(bench.session, _pings("ab"))
    yield _of_requests("two requests", bench.session, calls)
    if not all(isinstance(call.result, dict) for call in calls):
        return
    calls = _sent(bench.session, [*_pings("cd"), NOTE])
    yield _of_requests("two requests and a notification", bench.session, calls)
    yield _of_requests("one request", bench.session, _sent(bench.session, _pings("e")))
    yield _of_notifications(bench.session)
    if bench.session.alive:
        yield _of_nothing(bench.session)


def _pings(names: str) -> list[Json]:
    return [{"jsonrpc": "2.0", "id": f"mcp-conform-batch-{name}", "method": "ping"} for name in names]


def _sent(session: Session, messages: list[Json]) -> list[Call]:
    """The calls of a batch, as far as they are answered in time."""
    calls = session.batch(messages)
    for call in calls:
        call.excused = True  # the case tells what became of it
    if not session.wait(*calls, timeout=soon(session)):
        session.hear_out()  # a server that is busy gets the time it needs
        session.wait(*calls, timeout=late(session))
    return calls


def _of_requests(what: str, session: Session, calls: list[Call]) -> Observation:
    answers = [frame for call in calls for frame in call.answers[:1]]
    failed = next((call for call in calls if not isinstance(call.result, dict)), None)
    values: dict[str, Json] = {
        "of": what,
        "results": failed is None,
        "as-array": all(frame.part is not None or frame.channel == "sse" for frame in answers),
    }
    came = " ".join(frame.data.decode("utf-8", "replace")[:100] for frame in answers)
    actual = came if failed is None else _reaction(session, failed)
    return Observation(values, frames=(calls[0].sent, *answers), actual=actual)


def _reaction(session: Session, call: Call) -> str:
    if call.answers:
        return shown(call)
    heard = [f for f in session.since(call.sent.number) if f.origin == "target" and isinstance(f.message, dict)]
    errors = [f for f in heard if "error" in f.message]
    return errors[0].data.decode("utf-8", "replace")[:300] if errors else call.lost


def _of_notifications(session: Session) -> Observation:
    start = session.position
    session.batch([NOTE, NOTE])
    sentinel = session.hear_out()
    answers = [f for f in session.since(start) if _answers(f, sentinel)]
    return _seen("notifications", session, start, sentinel, answers)


def _answers(frame: Frame, sentinel: Call | None) -> bool:
    """Whether that answers a batch of notifications."""
    # A single object answers no batch: it is the matter of jsonrpc/notification-never-answered.
    array = frame.message == [] or (frame.part is not None and (sentinel is None or stray(frame, sentinel)))
    refused = frame.status is not None and frame.status >= 400  # HTTP: an error, not a response to a notification
    return frame.origin == "target" and array and not refused


def _of_nothing(session: Session) -> Observation:
    start = session.position
    session.raw(b"[]")
    sent = next(iter(session.since(start)))
    session.await_exchange(sent.exchange, session.limits.answer)
    sentinel = session.hear_out()
    answers = [f for f in session.since(start) if f.origin == "target" and _answers_nothing(f, sentinel)]
    return _seen("nothing", session, start, sentinel, answers)


def _answers_nothing(frame: Frame, sentinel: Call | None) -> bool:
    return isinstance(frame.message, list) or (sentinel is not None and stray(frame, sentinel))


def _seen(what: str, session: Session, start: int, sentinel: Call | None, answers: list[Frame]) -> Observation:
    """What came of a batch to which `answers` came, if any did, before the sentinel's."""
    again = session.hear_out(other=True) if sentinel is not None and not sentinel.answers else sentinel
    survived = again is not None and bool(again.answers)
    for call in (sentinel, again):
        if call is not None:
            call.excused |= not survived  # it is unanswered for this very cause
    ours = (frame for frame in session.since(start) if frame.origin == "us")
    values: dict[str, Json] = {"of": what, "survived": survived, "session-over": not session.alive}
    if not survived:
        actual = session.ended.reason if session.ended else NEXT_UNANSWERED
        return Observation(values, frames=tuple(ours), actual=actual)
    if answers:
        values["answer"] = answers[0].message
    actual = answers[0].data.decode("utf-8", "replace")[:300] if answers else "silence"
    return Observation(values, frames=(*ours, *answers[:1]), actual=actual)
