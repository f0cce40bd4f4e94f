"""How long a session has been open."""

from __future__ import annotations

from conformance.model import Frame, members
from conformance.session.session import Session


def opened_for(session: Session, since: Frame | None = None) -> float:
    """Seconds from the opening by a handshake, or from a frame after it, to the last message of the session."""
    began = since or next((frame for frame in session.trace if _opens(frame)), None)
    return 0.0 if began is None else max(frame.at for frame in session.since(began.number)) - began.at


def _opens(frame: Frame) -> bool:
    return frame.origin == "us" and members(frame.message).get("method") == "notifications/initialized"
