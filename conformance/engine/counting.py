"""Which frames of a session belong to which case, so that a report can be audited with a trace beside it."""

from __future__ import annotations

from conformance.checks.ledger import MAX_EXCERPTS, Ledger
from conformance.model import Excerpt, Frame


class Counting:
    """An observer that notes the frames of each case, and writes them into the ledger in the end."""

    def __init__(self, session: str, ledger: Ledger) -> None:
        self._session = session
        self._ledger = ledger
        self._cases: dict[str, list[int]] = {}

    def sent(self, frame: Frame) -> None:
        """A frame of ours."""
        self._note(frame, 0)

    def heard(self, frame: Frame, call: object) -> None:
        """A frame of the server."""
        self._note(frame, 1)

    def finish(self) -> None:
        """The session is over. Idempotent."""
        for case, (sent, received, first, last) in self._cases.items():
            excerpts = self._ledger.excerpts.setdefault(case, [])
            if len(excerpts) < MAX_EXCERPTS:
                excerpts.append(Excerpt(self._session, first, last, sent, received))
        self._cases.clear()

    def _note(self, frame: Frame, side: int) -> None:
        if frame.part is not None:  # an element of an array, which was counted as a whole
            return
        known = self._cases.get(frame.case)
        if known is None:
            known = self._cases[frame.case] = [0, 0, frame.number, frame.number]
        known[side] += 1
        known[3] = frame.number
