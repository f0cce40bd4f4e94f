"""HTTP exchanges that bring no response, and are waited for all the same: that of a notification, say."""

from __future__ import annotations

import time

from conformance.session.requests import Requests


class Posts:
    """Which are waited for, and which did not end: `unanswered` is exchange → the seconds of the wait.

    Only what was waited for in full counts as that; later ones get less time, see `Patience.post_limit`, which is
    then enough.
    """

    def __init__(self, requests: Requests, full: float) -> None:
        self._requests, self._full = requests, full
        self._awaited: dict[int, float] = {}
        self.unanswered: dict[int, float] = {}

    def begin(self, exchange: int, seconds: float) -> float:
        """The exchange is waited for; for how many seconds, at most `seconds`."""
        self._awaited[exchange] = time.monotonic()
        return self._requests.patience.post_limit(seconds)

    def awaits(self, exchange: int) -> bool:
        """Whether it is not over."""
        return exchange in self._awaited

    def over(self, exchange: int) -> None:
        """Its end has come."""
        self._awaited.pop(exchange, None)

    def end(self, exchange: int, limit: float, alive: bool) -> bool:
        """It is not waited for any more, after at most `limit` seconds; whether it is over."""
        began, patience = self._awaited.pop(exchange, None), self._requests.patience
        if began is not None and alive and limit >= patience.post_limit(self._full):
            self.unanswered[exchange] = limit
            patience.post_missed(began, time.monotonic(), self._full, patient=limit >= self._full)
        return began is None
