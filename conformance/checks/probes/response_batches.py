"""The probe of responses that a client sends together, as the revision with batches lets it."""

from __future__ import annotations

from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.askers import find_askers, is_question
from conformance.model import Frame, Json
from conformance.session.session import Session
from conformance.survey.survey import Unavailable


def responses(bench: Bench) -> Iterator[Observation]:
    """Two calls of a tool that asks the client at the same time, and both its questions answered by one array.

    It holds answers back until both questions are there. How the array is answered the invariants judge.
    """
    session = bench.session
    asker = next(iter(find_askers(bench)), None)
    if asker is None:
        raise Unavailable("no tool that was called asks the client")
    start = session.position
    session.answers.held |= {method for method, _ in asker.asked}
    calls = [session.send("tools/call", asker.params) for _ in range(2)]
    session.listen(session.limits.answer, until=lambda: len(_questions(session, start)) >= len(calls))
    session.answers.held.clear()
    questions = _questions(session, start)
    replies: list[Json] = []
    for question in questions:
        reply = session.answers.reply(question.message["method"], question.message.get("params"))
        if reply is not None:
            replies.append({"jsonrpc": "2.0", "id": question.message["id"], **reply})
    if replies:
        session.batch(replies)
    session.wait(*calls)
    yield Observation({"together": len(replies)}, frames=tuple(questions[:2]))


def _questions(session: Session, start: int) -> list[Frame]:
    return [frame for frame in session.since(start) if is_question(frame)]
