"""How long an answer is worth waiting for, as this run has learned; shared by all sessions of a run."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection

from conformance.messages import MAY_TAKE_LONG, Call
from conformance.model import Json

GENEROUS = 20
"""A request is waited for that many times as long as the slowest answer so far took, once its kind went unanswered."""
LEAST = 0.5
"""Seconds that any request is waited for."""
CHANCES = 2
"""How many requests of one kind are waited for in full; one where an author's own code may have to run for long."""
GRACE = 0.25
"""Seconds in which the right answer may still follow one with a wrong id."""
SHORT_GRACE = 0.02
"""The same, once answers with wrong ids have turned out to be all that comes."""

_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/result": "taskId"}


def kind_of(method: str, params: Json) -> str:
    """What requests have in common that a server that does not answer one will not answer either."""
    member = _NAMES.get(method, "ref")
    if method in MAY_TAKE_LONG and isinstance(params, dict):
        return f"{method} {params.get(member)!r:.200}"
    return method


class Patience:
    """Learns what goes unanswered while the target answers other requests, and how long it usually takes.

    That a request went unanswered counts once something that was asked later has been answered. From any thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._missed: Counter[str] = Counter()
        self._slowest = 0.0
        self._chances = CHANCES
        self._strays = 0
        self._deaf = 0

    def limit(self, calls: Collection[Call], full: float) -> float:
        """Seconds to wait for answers, `full` unless all requests are of kinds that are known to go unanswered."""
        with self._lock:
            return full if not calls or any(map(self._promising, calls)) else self._short(full)

    def sentinel_limit(self, full: float) -> float:
        """Seconds to wait for the answer that shows that the target lives; less once that was in vain."""
        with self._lock:
            return self._short(full) if self._deaf else full

    @property
    def grace(self) -> float:
        """Seconds in which the right answer may still follow one with a wrong id."""
        return SHORT_GRACE if self.confused else GRACE

    @property
    def confused(self) -> bool:
        """Whether answers come with wrong ids, so that requests under way at once cannot be told apart."""
        return self._strays >= CHANCES

    def mute(self, method: str) -> bool:
        """Whether requests of that kind are known to go unanswered."""
        with self._lock:
            return self._missed[method] >= CHANCES

    def answered(self, call: Call, seconds: float) -> None:
        """An answer took so long."""
        if call.method not in MAY_TAKE_LONG:
            with self._lock:
                self._slowest = max(self._slowest, seconds)
                self._missed.pop(kind_of(call.method, call.params), None)

    def missed(self, call: Call) -> None:
        """A request went unanswered for as long as it was waited for, and a later one was answered."""
        with self._lock:
            self._missed[kind_of(call.method, call.params)] += 1

    def adopted(self) -> None:
        """An answer with a wrong id was taken for that of the only request under way."""
        with self._lock:
            self._strays += 1

    def deaf(self) -> None:
        """The target did not even answer the sentinel in time."""
        with self._lock:
            self._deaf += 1

    def renew(self) -> None:
        """What was found is put to the test again: each kind is waited for in full once more, but only once."""
        with self._lock:
            self._missed.clear()
            self._deaf = 0
            self._chances = 1

    def _promising(self, call: Call) -> bool:
        chances = 1 if call.method in MAY_TAKE_LONG else self._chances
        return self._missed[kind_of(call.method, call.params)] < chances

    def _short(self, full: float) -> float:
        return min(full, max(LEAST, GENEROUS * self._slowest))
