"""Who watches a session: observers see each frame, in order, though not at once."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from conformance.budget import ONE_AT_A_TIME, cost
from conformance.model import Frame
from conformance.session.messages import Call, Observer

ENOUGH = 4 * 1024 * 1024
"""Bytes of our memory that what nobody asked for takes, about 3000 messages; more of it shows nothing new."""


class Watching:
    """The observers of a session, and the frames that they have not seen yet.

    `mishap`, if there is one, is called with an observer that raised, and what it raised; else that is raised.
    `replayed` are the HTTP exchanges on which the rest of another stream comes: what was said before is no new message,
    and nobody sees it. `witnesses` are those of the observers that judge nothing: they see also what goes beside the
    session. `label` is what the session is called in traces and reports.
    """

    def __init__(self) -> None:
        self.label = ""
        self.observers: list[Observer] = []
        self.witnesses: list[Observer] = []
        self.replayed: set[int] = set()
        self.mishap: Callable[[Observer, Exception], None] | None = None
        self._unseen: deque[tuple[Frame, Call | None]] = deque()
        self._unasked = 0

    def see(self, frame: Frame, call: Call | None) -> None:
        """A frame for the observers, unless it is part of a flood; `call` is the request that it answers."""
        if frame.origin == "target" and frame.exchange in self.replayed:
            return
        if frame.origin == "us":
            ours = frame.message
            if self._unasked > ENOUGH and isinstance(ours, dict) and "method" not in ours:
                return  # it answers a request that nobody has judged
        elif (call is None or call.answers) and frame.channel not in ("head", "end"):
            if self._unasked > ENOUGH:
                return
            self._unasked += cost(frame)
        self._unseen.append((frame, call))

    def tell(self, frame: Frame) -> None:
        """A frame that went beside the session, for the witnesses."""
        for witness in self.witnesses:
            if frame.origin == "us":
                witness.sent(frame)
            else:
                witness.heard(frame, None)

    def judge(self) -> None:
        """Show the observers what they have not seen yet.

        That is done while we wait for the target, so that it costs nothing: before each reading, and whenever the case
        changes. Raises what an observer raises, unless `mishap` takes it.
        """
        while self._unseen:
            frame, call = self._unseen.popleft()
            for observer in self.observers:
                try:
                    if frame.origin == "us":
                        observer.sent(frame)
                    else:
                        observer.heard(frame, call)
                except Exception as error:
                    if self.mishap is None:
                        raise
                    self.mishap(observer, error)

    def judge_alone(self) -> None:
        """The same for what is huge, while no other session does."""
        with ONE_AT_A_TIME:
            self.judge()

    def unwatch(self) -> None:
        """Show what is left, and from now on nobody watches."""
        self.judge()
        self.observers.clear()

    def part(self) -> None:
        """The session is over: hold nobody any more."""
        self.observers.clear()
        self._unseen.clear()
        self.mishap = None
