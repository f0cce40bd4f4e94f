"""Probes of the area transport-stdio."""

from __future__ import annotations

import time
from collections.abc import Iterator

from conformance.checks.probes import Bench, Observation
from conformance.model import Json
from conformance.session.messages import Unavailable
from conformance.session.session import Call, Session, encode
from conformance.transports.stdio import stderr_unread, stderr_waiting

PIECES = 6
APART = 0.05
"""Seconds between pieces that are written one after another."""
CRLF = "a line that ends in CR LF"
VOLLEYS = 5
VOLLEY = 20
"""So many requests, for each of which a server may write lines, of which a pipe holds 64 KiB."""
UNREAD = 3.0
"""Seconds that an answer is waited for while stderr is not read; a server that is slow answers some within them."""
MUCH = 16384
"""Bytes of stderr that wait where a server is held up by them: the least that a pipe holds anywhere."""
EMPTY = "a message after an empty line"


def chunks(bench: Bench) -> Iterator[Observation]:
    """Messages that share a write, or take several; lines that end otherwise: a case has no pieces of frames."""
    session = bench.session
    alone = _request(session, "mcp-conform 世 alone")
    if not all(call.answers for call in _written(session, [alone], [encode(alone) + b"\n"])):
        raise Unavailable("the same message is not answered either when it is written alone")
    if not session.patience.confused:  # else nobody knows which of the two an answer is for
        first, second = _request(session), _request(session)
        calls = _written(session, [first, second], [encode(first) + b"\n" + encode(second) + b"\n"])
        yield _observed("two messages in one write", calls)
    if not session.alive:
        return
    third = _request(session, "mcp-conform 世 in two writes")  # what the answer gives back would be garbled, too
    data = encode(third) + b"\n"
    middle = data.index("世".encode()) + 1
    calls = _written(session, [third], [data[:middle], data[middle:]])
    yield _observed("one message in two writes, cut inside a character", calls)
    if not session.alive:
        return
    fourth = _request(session)
    data = encode(fourth) + b"\n"
    size = len(data) // PIECES + 1
    calls = _written(session, [fourth], [data[i : i + size] for i in range(0, len(data), size)])
    yield _observed("one message in many writes", calls)
    if session.alive:
        fifth = _request(session)
        yield _observed(CRLF, _written(session, [fifth], [encode(fifth) + b"\r\n"]))
    if session.alive:
        session.raw(b"")
        sixth = _request(session)
        yield _observed(EMPTY, _written(session, [sixth], [encode(sixth) + b"\n"]))


def unread_stderr(bench: Bench) -> Iterator[Observation]:
    """Whether a server that finds nobody to read its stderr goes on answering: some write to it for each request."""
    session = bench.session
    calls: list[Call] = []
    with stderr_unread(session.transport):
        for _ in range(VOLLEYS):
            calls = [session.send(*session.sentinel()) for _ in range(VOLLEY)]
            calls.append(session.send("mcp-conform/no-such-method", illegal=True))
            for call in calls:
                call.excused = True
            _await(session, calls)
            if not (session.alive and all(call.answers for call in calls)):
                break
        waiting = [call for call in calls if not call.answers]
        if waiting:
            _await(session, waiting[:1])
        stuck = stderr_waiting(session.transport) >= MUCH and not any(call.answers for call in waiting)
    _await(session, waiting)
    told = stuck and bool(waiting) and all(call.answers for call in waiting)
    proof = waiting[0].proof if waiting else ()
    came = f"nothing for {UNREAD:g} s, and the answer once stderr was read"
    yield Observation({"answered": not waiting, "answered-then": told}, frames=proof, actual=came)


def _await(session: Session, calls: list[Call]) -> None:
    session.listen(min(session.limits.answer, UNREAD), until=lambda: all(call.done for call in calls))


def _request(session: Session, identity: Json = None) -> dict[str, Json]:
    """A harmless request with a character of several bytes in it."""
    method, params = session.era.sentinel(session)
    meta = {"com.example/mcp-conform": "hé世😀"}
    dressed = session.era.dress(session, {**(params or {}), "_meta": meta})
    return {"jsonrpc": "2.0", "id": identity or session.new_id(), "method": method, "params": dressed}


def _written(session: Session, messages: list[dict[str, Json]], pieces: list[bytes]) -> list[Call]:
    calls = [session.record(message, encode(message)) for message in messages]
    for call in calls:
        call.excused = True  # the case tells of silence
    for piece in pieces:
        session.write(piece)
        # So that the pieces do not meet in the pipe. What the server asks meanwhile must not be answered within a line.
        time.sleep(APART)
    session.wait(*calls)
    return calls


def _observed(what: str, calls: list[Call]) -> Observation:
    lost = [call for call in calls if not call.answers]
    proof = tuple(frame for call in calls for frame in call.proof)
    return Observation({"of": what, "all-answered": not lost}, frames=proof, actual=lost[0].lost if lost else "")
