"""Probes of the area transport-stdio."""

from __future__ import annotations

from conformance.checks.probes import Bench, probe
from conformance.model import Json
from conformance.session.session import Call, Session, encode

CHUNKS = "transport-stdio/reads-lines-however-chunked"


@probe("transport-stdio.chunks", CHUNKS)
def chunks(bench: Bench) -> None:
    """Two messages in one write; one message in two writes, cut inside a character: a case has no pieces of frames."""
    session = bench.session
    first, second = _request(session), _request(session)
    calls = _written(session, [first, second], [encode(first) + b"\n" + encode(second) + b"\n"])
    _judge(bench, calls, "of two messages in one write not both are answered")
    if not session.alive:
        return
    third = _request(session)
    data = encode(third) + b"\n"
    middle = data.index("世".encode()) + 1
    calls = _written(session, [third], [data[:middle], data[middle:]])
    _judge(bench, calls, "a message that comes in two writes, cut inside a character, is not answered")


def _request(session: Session) -> dict[str, Json]:
    """A harmless request with a character of several bytes in it."""
    method, params = session.era.sentinel(session)
    meta = {"com.example/mcp-conform": "hé世😀"}
    dressed = session.era.dress(session, {**(params or {}), "_meta": meta})
    return {"jsonrpc": "2.0", "id": session.new_id(), "method": method, "params": dressed}


def _written(session: Session, messages: list[dict[str, Json]], pieces: list[bytes]) -> list[Call]:
    calls = [session.record(message, encode(message)) for message in messages]
    for call in calls:
        call.excused = True  # silence is told here, with its cause
    for piece in pieces:
        session.write(piece)
        session.listen(0.05)  # so that the pieces do not meet in the pipe
    session.wait(*calls)
    return calls


def _judge(bench: Bench, calls: list[Call], message: str) -> None:
    lost = [call for call in calls if not call.answers]
    if not lost:
        bench.ledger.held(CHUNKS)
        return
    bench.ledger.broke(
        CHUNKS,
        message,
        expected="an answer to each message",
        actual=lost[0].lost,
        frames=[frame for call in calls for frame in call.proof],
    )
