"""How long an answer is worth waiting for, as this run has learned; shared by all sessions of a run."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Collection

from conformance.model import Json
from conformance.session.features import OURS, Features
from conformance.session.messages import MAY_TAKE_LONG, Call, Unavailable

NO_ANSWER = "no answer within"
NEXT_UNANSWERED = "the next request is not answered"
"""Words by which findings say that a server is silent."""
CONFUSED = "answers come with wrong ids, so that requests at once cannot be told apart"

GENEROUS = 20
"""A request is waited for that many times as long as the slowest answer so far took, once its kind went unanswered."""
TRIAL = 2.0
"""Seconds that a refusal is waited for at first, at least."""
SLACK = 2.0
"""But no more seconds beyond that: one slow answer is no reason to wait long for each that will not come."""
LEAST = 0.5
"""Seconds that any request is waited for."""
CHANCES = 2
"""How many requests of one kind are waited for in full; one where an author's own code may have to run for long."""
GRACE = 0.25
"""Seconds in which the right answer may still follow one with a wrong id."""
SHORT_GRACE = 0.02
"""The same, once answers with wrong ids have turned out to be all that comes."""
SOON = 0.1
"""Seconds, beside twice the way, that an HTTP exchange without a response is waited for once others did not end."""
IN_VAIN = 1.5
"""Once a run has waited in vain for that many times as long as for one answer, no silence is waited for in full."""
NOTABLE = 0.4
"""Seconds that an answer must take to count as waiting: what is quicker comes to an end by itself."""
MOST, MOST_ANSWERS = 30.0, 3
"""A run spends so many seconds in waiting for silence and slow answers before the rest of it is left out, or so many
times as long as there is for one answer, if that is more."""
USUAL, EACH = 2, 0.5
"""Revisions that a run has by itself, and the part of that time that each further one adds."""
SPOILT = 0.7
"""This part of it, once no silence is waited for in full: what is left tells little."""
FRAMES = 0.5
"""After this part of it no more frames are generated: the cases, each about a rule of its own, come first."""
FLOOD = 100_000
"""Messages and lines that nobody asked for, in all sessions of a run, before the rest of it is left out."""
FLOOD_BYTES = 500_000_000
"""Bytes of them, likewise."""

TEDIOUS = 4.0
"""Seconds that the opening of a session may take before another request is the sentinel."""
SLOW_OPENING = 2
"""What opens a session may be asked later, too: it is waited for that many times as long as when it opened one."""

IN_TURN = 2
"""Several requests at once are waited for at most that many times as long as one."""

LASTING = "subscriptions/listen"
"""It is answered when we end it, so how long that takes says nothing."""

_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri", "tasks/result": "taskId"}


class NotWaitedFor(Unavailable):
    """An answer did not come at once, and was not waited for: too much had gone unanswered. So nobody is to blame."""


class _Clock:
    """Seconds that at least one session has spent waiting: what several spend at the same time counts once."""

    def __init__(self) -> None:
        self.seconds = 0.0
        self._until = 0.0

    def add(self, began: float, ended: float) -> None:
        self.seconds += max(0.0, ended - max(began, self._until))
        self._until = max(self._until, ended)


def kind_of(method: str, params: Json) -> str:
    """What requests have in common that a server that does not answer one will not answer either."""
    if OURS in method:
        return "a method that does not exist"
    member = _NAMES.get(method, "ref")
    if method in MAY_TAKE_LONG and isinstance(params, dict):
        return f"{method} {params.get(member)!r:.200}"
    return method


class Patience:
    """Learns what goes unanswered while the target answers other requests, and how long it usually takes.

    That a request went unanswered counts once something that was asked later has been answered. From any thread.
    `slowest` is how many seconds the slowest answer took so far; `way` what the quickest to a sentinel took,
    since that is how far away the target is. `revisions` is in how many the target is tested.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._missed: Counter[str] = Counter()
        self._openings: dict[str, float] = {}
        self.slowest = 0.0
        self._quickest = math.inf
        self.revisions = 1
        self.confirms = False
        """Whether what is found is put to the test again before it counts."""
        self._chances = CHANCES
        self._strays = 0
        self.repeats = False
        """Whether requests are answered twice: then a second answer is not taken for that to another request."""
        self._deaf = self._posts_missed = 0
        self._in_vain = _Clock()
        self._waited = _Clock()
        self._over = ""
        self._short_of_time = ""
        self._confirming = False
        self._unasked = self._unasked_bytes = 0
        self.features = Features()

    def limit(self, calls: Collection[Call], full: float) -> float:
        """Seconds to wait for answers, `full` unless all requests are of kinds that are known to go unanswered."""
        with self._lock:
            if not calls or any(map(self._promising, calls)):
                return full
            beyond = min(self._missed[kind_of(call.method, call.params)] - self._tries(call) for call in calls)
            return max(min(LEAST, full), self._short(full) / (1 + beyond))

    def limits(self, calls: Collection[Call], full: float, stuck: bool, opening: bool) -> tuple[float, bool]:
        """Seconds to wait for answers, and whether that is too short to prove anything.

        It is long enough for kinds of requests that others have waited for in full.
        """
        full = self._enough(calls, full)
        known = self.limit(calls, full)
        if not (opening or stuck) and self._on_trial(calls):
            return min(known, max(TRIAL, GENEROUS * self.slowest), self.hurried(full, stuck)), False
        limit = known if opening else min(known, self.hurried(full, stuck))
        return limit, limit < known

    def _on_trial(self, calls: Collection[Call]) -> bool:
        """Whether silence need not be waited for in full: no author's own code is asked, and a finding is confirmed."""
        if self._confirming or not self.confirms:
            return False
        return bool(calls) and all(call.sent.illegal and call.method not in MAY_TAKE_LONG for call in calls)

    def sentinel_limit(self, call: Call, full: float, stuck: bool = False) -> float:
        """Seconds to wait for the answer to `call` that shows that the target lives; less once that was in vain.

        Less as well if the target is `stuck`: it has been silent for all the time that it is given for an answer.
        """
        with self._lock:
            return self._short(full) if self._deaf or stuck or self._vainly(full) else self._enough([call], full)

    def hurried(self, full: float, stuck: bool) -> float:
        """Seconds to wait for what may well be answered, which is `full` unless so much went unanswered before."""
        with self._lock:
            return self._short(full) if stuck or self._vainly(full) else full

    def post_limit(self, seconds: float) -> float:
        """Seconds to wait for the end of an HTTP exchange that brings no response; less once that was in vain."""
        with self._lock:
            return min(seconds, SOON + 2 * self.way) if self._posts_missed else seconds

    def post_missed(self, began: float, ended: float, full: float, *, patient: bool) -> None:
        """Such an exchange did not end while it was waited for, `patient` if as long as there are `full` seconds."""
        with self._lock:
            self._posts_missed += 1
        self.waited(began, ended, full, answered=False, patient=patient)

    def waited(self, began: float, ended: float, full: float, *, answered: bool, patient: bool) -> None:
        """A session has waited between two moments of the monotonic clock; `patient` if as long as anybody waits.

        There are `full` seconds for an answer.
        """
        if ended - began < NOTABLE:
            return
        with self._lock:
            self._waited.add(began, ended)
            if patient and not answered:
                self._in_vain.add(began, ended)
            most = max(MOST, MOST_ANSWERS * full) * (SPOILT if self._vainly(full) else 1)
            most *= 1 + EACH * max(0, self.revisions - USUAL)
            if self._waited.seconds > FRAMES * most and not self._short_of_time:
                self._short_of_time = self._why_over()
            if self._waited.seconds > most and not self._over:
                self._over = self._why_over()

    def unasked(self, messages: int, size: int) -> None:
        """A session has heard so many more messages or lines that nobody asked for, of so many bytes."""
        with self._lock:
            self._unasked += messages
            self._unasked_bytes += size
            if (self._unasked >= FLOOD or self._unasked_bytes >= FLOOD_BYTES) and not self._over:
                much = f"{self._unasked} messages or lines, {self._unasked_bytes // 1_000_000} MB,"
                self._over = f"the server sent {much} that nobody asked for or that cannot be read"

    @property
    def over(self) -> str:
        """Why no further cases are worth their time, "" if they are."""
        return self._over

    @property
    def short_of_time(self) -> str:
        """Why no further generated frames are worth their time, "" if they are."""
        return self._over or self._short_of_time

    @property
    def way(self) -> float:
        """Seconds that an answer takes though nothing has to be done for it."""
        return 0.0 if self._quickest == math.inf else self._quickest

    @property
    def grace(self) -> float:
        """Seconds in which the right answer may still follow one with a wrong id."""
        return SHORT_GRACE if self.confused else GRACE

    @property
    def confused(self) -> bool:
        """Whether answers come with wrong ids, so that requests under way at once cannot be told apart."""
        return self._strays >= CHANCES

    def tedious(self, method: str) -> bool:
        """Whether requests of that kind are known to go unanswered, or took long when they opened a session."""
        with self._lock:
            return self._missed[method] >= CHANCES or self._openings.get(method, 0.0) > TEDIOUS

    def admit(self, method: str, params: Json, who: object, *, waited: bool) -> bool:
        """Whether `who` may send a request now; not while another session finds out whether that returns, unless `who`
        has `waited` long enough for it.

        Raises NotWaitedFor if that is not worth its time, NotAskedAgain.
        """
        if self._over and not self._confirming:
            raise NotWaitedFor(self._over)
        return self.features.admit(method, params, who, waited=waited)

    def answered(self, call: Call, seconds: float) -> None:
        """An answer took so long, 0 if it was not waited for any more: it may have come only because of what followed.

        The first of a session may have had to wait for the target to start.
        """
        if call.result is not None or not call.sent.illegal:  # a refusal of what is wrong is no return
            self.features.returned(call)
        if call.sent.number == 0:
            self._openings[call.method] = max(seconds, self._openings.get(call.method, 0.0))
        if call.method not in (*MAY_TAKE_LONG, LASTING) and call.sent.number > 0:
            with self._lock:
                self.slowest = max(self.slowest, seconds)
                if call.awaited and seconds:  # other requests may be meant to confuse
                    self._quickest = min(self._quickest, seconds)
                self._missed.pop(kind_of(call.method, call.params), None)

    def missed(self, call: Call) -> None:
        """A request went unanswered for as long as it was waited for, and a later one was answered."""
        with self._lock:
            self._missed[kind_of(call.method, call.params)] += 1

    def adopted(self, number: int = 1) -> None:
        """So many more answers with wrong ids were taken for those of the only requests under way."""
        with self._lock:
            self._strays += number

    def deaf(self) -> None:
        """The target did not even answer the sentinel in time."""
        with self._lock:
            self._deaf += 1

    def in_turn(self, seconds: float, full: float, requests: int) -> float:
        """That many seconds, or more for so many requests that the server answers one after another."""
        return max(seconds, min(requests * self.slowest, IN_TURN * full))

    def _why_over(self) -> str:
        vain = self._in_vain.seconds
        of_them = f", {vain:.0f} s of them without an answer" if vain else ""
        return f"waiting for answers took {self._waited.seconds:.0f} s{of_them}; a longer --timeout allows more"

    def _enough(self, calls: Collection[Call], full: float) -> float:
        """`full` seconds, or more for several at once, and for requests that took longer when they opened a session."""
        full = self.in_turn(full, full, len(calls)) if len(calls) > 1 else full
        return max([full, *(SLOW_OPENING * self._openings.get(call.method, 0.0) for call in calls)])

    def renew(self) -> None:
        """What was found is put to the test again: each kind is waited for in full once more, but only once."""
        self.features.renew()
        with self._lock:
            self._missed.clear()
            self._deaf = self._posts_missed = 0
            self._chances = 1
            self._in_vain, self._waited = _Clock(), _Clock()
            self._over = self._short_of_time = ""
            self._unasked = self._unasked_bytes = 0
            self._confirming = True

    def _vainly(self, full: float) -> bool:
        """Whether so much has gone unanswered that no silence is worth all the patience any more."""
        return self._in_vain.seconds > IN_VAIN * full

    def _promising(self, call: Call) -> bool:
        return self._missed[kind_of(call.method, call.params)] < self._tries(call)

    def _tries(self, call: Call) -> int:
        return 1 if call.method in MAY_TAKE_LONG else self._chances

    def _short(self, full: float) -> float:
        return min(full, max(LEAST, min(GENEROUS * self.slowest, self.slowest + SLACK)))
