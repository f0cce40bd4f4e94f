"""Whether a server at a URL keeps its clients apart, found out before anything is tested that needs that."""

from __future__ import annotations

from dataclasses import replace

from conformance.engine.connections import Connections
from conformance.model import Finding, Frame
from conformance.revisions import HANDSHAKE
from conformance.session.eras.handshake import Handshake
from conformance.session.session import NotSpoken, Session
from conformance.transports import StartError

REQUIREMENT = "transport-sse/clients-served-independently"
PATIENCE = 5.0
"""Seconds for each answer. A server that takes longer shows nothing."""
ASKED = "mcp-conform-first"


def mixes_clients(connections: Connections, case: str) -> Finding | None:
    """What shows that a server gives one client what is another's, None if nothing does.

    Two clients begin a session each, with the same id; then the first one asks for something.
    """
    opened: list[Session] = []
    try:
        first, second = (_begun(connections, opened) for _ in range(2))
    except (StartError, NotSpoken):
        return None if len(opened) < 2 else _ended_by_another(connections, opened, case)
    else:
        call = first.send("ping", id=ASKED)
        first.listen(PATIENCE, until=lambda: call.done)
        second.listen(connections.limits.quiet, until=lambda: bool(_foreign(second)))
        strays = _foreign(first) or _foreign(second)
        if not strays:
            return _ended_by_another(connections, opened, case)
        what = "a client gets responses to the requests of another client"
        return _finding(case, what, "responses to its own requests alone", strays)
    finally:
        for session in opened:
            session.close(hurry=True)
            connections.forget(session)


def _begun(connections: Connections, opened: list[Session]) -> Session:
    session = connections.session(HANDSHAKE[-1], own_process=False)
    opened.append(session)
    session.limits = replace(session.limits, start=min(PATIENCE, session.limits.start), quiet=0.1)
    Handshake().greet(session)
    session.notify("notifications/initialized")
    return session


def _foreign(session: Session) -> list[Frame]:
    """Responses to nothing that the session has asked for, or to what was answered before."""
    heard = [each for each in session.since(0) if each.origin == "target" and isinstance(each.message, dict)]
    responses = [each for each in heard if {"result", "error"} & each.message.keys() and "id" in each.message]
    own = {frame.number for call in session.calls.values() for frame in call.answers[:1]}
    return [each for each in responses if each.number not in own]


def _ended_by_another(connections: Connections, opened: list[Session], case: str) -> Finding | None:
    first = opened[0]
    if not _lost(first):
        return None
    for session in opened:
        session.close(hurry=True)
    try:
        alone = _begun(connections, opened)
    except (StartError, NotSpoken):
        return None
    call = alone.send("ping", id=ASKED)
    alone.listen(PATIENCE, until=lambda: call.done)
    if _lost(alone):  # whatever ends it, it is not another client
        return None
    frames = list(first.since(0))[-1:]
    return _finding(case, "the session of a client ends when another one begins its own", "both go on", frames)


def _lost(session: Session) -> bool:
    return session.ended is not None and session.ended.lost


def _finding(case: str, what: str, expected: str, frames: list[Frame]) -> Finding:
    actual = frames[0].data.decode("utf-8", "replace")[:300] if frames else "the end of the stream"
    return Finding(REQUIREMENT, case, what, expected, actual, tuple(frames[:3]), confirmed=True)
