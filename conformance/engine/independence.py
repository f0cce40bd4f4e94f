"""Whether a server at a URL keeps its clients apart, found out before anything is tested that needs that."""

from __future__ import annotations

from dataclasses import replace

from conformance.engine.connections import Connections
from conformance.model import Finding, Frame
from conformance.revisions import HANDSHAKE
from conformance.session.eras.handshake import Handshake
from conformance.session.session import NotSpoken, Session
from conformance.transports import StartError, Transport

REQUIREMENT = "transport-sse/clients-served-independently"
PATIENCE = 5.0
"""Seconds for each answer. A server that takes longer shows nothing."""
ASKED = "mcp-conform-first"


def mixes_clients(connections: Connections, case: str, fresh: bool = False) -> Finding | None:
    """What shows that a server gives one client what is another's, or serves only one; None if nothing does.

    Two clients begin a session each, with the same id; then the first one asks for something. With `fresh` they do so
    with a server of their own.
    """
    opened: list[Session] = []
    try:
        first = _begun(connections, opened, fresh)
        first.hear_out()
        if _foreign(first):
            return None  # it answers twice, whoever else is there
        second = _begun(connections, opened, beside=first.transport)
    except (StartError, NotSpoken):
        return _ended_by_another(connections, opened, case) or _refused_beside(connections, opened, case)
    else:
        call = first.send("ping", id=ASKED)
        first.listen(PATIENCE, until=lambda: call.done)
        second.listen(connections.limits.quiet, until=lambda: bool(_foreign(second)))
        strays = _foreign(first) or _foreign(second)
        if not strays:
            return _ended_by_another(connections, opened, case) or _ends_with(connections, first, second, case)
        what = "a client gets responses to the requests of another client"
        return _finding(case, what, "responses to its own requests alone", strays)
    finally:
        for session in opened:
            session.close(hurry=True)
            connections.forget(session)


def _begun(
    connections: Connections, opened: list[Session], own_process: bool = False, beside: Transport | None = None
) -> Session:
    session = connections.session(HANDSHAKE[-1], own_process=own_process, beside=beside)
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
    if len(opened) < 2 or not _lost(first := opened[0]):
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


def _refused_beside(connections: Connections, opened: list[Session], case: str) -> Finding | None:
    """What shows that no second client can begin, None where we have no server of our own to see that it is that."""
    served = bool(opened) and any(isinstance(call.result, dict) for call in opened[0].calls.values())
    if not served or _lost(opened[0]) or not connections.target.command:
        return None
    frames = list(opened[-1].since(0))[-1:] if len(opened) > 1 else []
    for session in opened:
        session.close(hurry=True)
    try:
        _begun(connections, opened, own_process=True)
    except (StartError, NotSpoken):
        return None
    what = "while a client has a session, or after that, another one cannot begin its own"
    return _finding(case, what, "a session for each client", frames)


def _ends_with(connections: Connections, first: Session, second: Session, case: str) -> Finding | None:
    """What shows that the second session ends with the first, once the server has noticed the end of that."""
    first.close(hurry=True)
    second.listen(connections.limits.quiet, until=lambda: _lost(second))
    call = second.send("ping")
    second.listen(PATIENCE, until=lambda: call.done)
    if not _lost(second):
        return None
    what = "the session of a client ends when another one ends its own"
    return _finding(case, what, "the other one goes on", [call.sent])


def _lost(session: Session) -> bool:
    return session.ended is not None and session.ended.lost


def _finding(case: str, what: str, expected: str, frames: list[Frame]) -> Finding:
    actual = frames[0].data.decode("utf-8", "replace")[:300] if frames else "the end of the stream"
    return Finding(REQUIREMENT, case, what, expected, actual, tuple(frames[:3]), confirmed=True)
