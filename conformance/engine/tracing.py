"""Tells every frame of a session as an event, for `--trace`."""

from __future__ import annotations

from collections.abc import Callable

from conformance.engine.events import FrameSeen
from conformance.model import Frame
from conformance.session.session import Session


class Tracer:
    """An observer that passes each frame on to `tell`."""

    def __init__(self, session: Session, tell: Callable[[FrameSeen], None]) -> None:
        self._session = session
        self._tell = tell

    def sent(self, frame: Frame) -> None:
        """A frame of ours."""
        self._put(frame)

    def heard(self, frame: Frame, call: object) -> None:
        """A frame of the server."""
        self._put(frame)

    def _put(self, frame: Frame) -> None:
        session = self._session
        self._tell(FrameSeen(session.revision.date, session.transport.name, session.watching.label, frame))
