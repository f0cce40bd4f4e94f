"""Plays a campaign: examples in volleys, trouble looked into one by one, each cause shrunk, confirmed and told once."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from conformance.checks.fuzz import waits
from conformance.checks.fuzz.choices import Drawn
from conformance.checks.fuzz.example import DIED, Breach, Campaign, Example, Reply
from conformance.checks.fuzz.hurtful import Hurtful
from conformance.checks.fuzz.limits import extreme, tamed
from conformance.checks.fuzz.partner import GIVEN_UP, Partner, Tired
from conformance.checks.fuzz.saved import replay
from conformance.checks.fuzz.shrinking import smallest
from conformance.checks.probes import Bench
from conformance.model import Finding, Frame, Severity, Tally
from conformance.revisions import BY_DATE
from conformance.session.messages import parse

MOST_RESTARTS = 12
LEAST_RESTARTS = 4
RESTART_SECONDS = 4.0
"""Servers started anew while a campaign looks for defects: as many as take that long to start, within limits."""
SHRINK_RESTARTS = 20
"""Servers started anew while the examples of one cause are made smaller."""
SHRINK_TRIES = 150
SHRINK_SECONDS = 5.0
MOST_SILENCES = 4
"""Times that the server stops answering before a campaign looks no further."""
MOST_CAUSES = 8
REPORT_SECONDS = 12.0
"""After that no further cause is made smaller and put to the test again; those that showed most often come first."""
TRIES = 5
"""Times that what did not come back alone is tried with all that was said before it."""
SHOWN = 2
"""Times of these that it has to show itself, or it is flaky."""
TRY_SECONDS = 20.0
"""After that no further try is begun."""
REDRAWN = 4
"""Times an example that was there before is drawn again."""


@dataclass(slots=True)
class _Cause:
    """The smallest example so far of one cause; `trace` is what was said until the first one showed it."""

    example: Example
    breach: Breach
    row: tuple[int, ...]
    fate: str
    trace: tuple[Frame, ...]
    count: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def play(bench: Bench, build: Callable[[Bench], Campaign]) -> None:
    """Play the campaign that `build` makes for this target. Raises Unavailable if there is nothing to try it with."""
    campaign = build(bench)
    player = _Player(bench, campaign)
    try:
        player.generate()
        player.report()
    finally:
        player.conclude()


Drawing = tuple[Example, tuple[int, ...]]
"""An example and the row of numbers that it is made of."""


class _Player:
    def __init__(self, bench: Bench, campaign: Campaign) -> None:
        self.bench = bench
        self.campaign = campaign
        # On a busy machine there is longer: what is found is not to depend on what else runs there.
        self.pace = bench.session.limits.pace
        restarts = round(self.pace * RESTART_SECONDS / max(bench.startup, 0.01))
        self.partner = Partner(bench, max(LEAST_RESTARTS, min(MOST_RESTARTS, restarts)))
        if campaign.name == "tool-arguments":
            self.partner.areas |= {"tools", "content"}
        newest = max((date for date in bench.spoken if BY_DATE[date].era == bench.session.revision.era), default="")
        share = campaign.share / (1 if newest in ("", bench.session.revision.date) else 4)
        share /= 1 if bench.session.transport.single_stream else 3
        wanted = bench.fuzzing.examples
        self.planned = min(max(campaign.kinds, round(wanted * share)), round(wanted * max(1.0, campaign.share)))
        self.causes: dict[tuple[str, str], _Cause] = {}
        self.held: Counter[str] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.hurtful = Hurtful()
        self.sent = 0
        self._silences = 0
        self._unexplained: tuple[list[Example], Reply] | None = None
        self._waiting: list[Drawing] = []
        self._later: list[Drawing] = []
        """Those that ask for what has not returned yet."""
        self._size = 4
        self.note = ""
        self.began = time.monotonic()
        self.seconds = 0.0

    # -- generating

    def generate(self) -> None:
        """Send what the budget allows, if that can tell anything."""
        self.note = self.partner.unfit()
        if self.note:
            return
        drawn = Drawn(f"{self.bench.fuzzing.seed} {self.campaign.name}")
        seen: set[int] = set()
        try:
            for number in range(1, self.planned + 1):
                example = self._next(drawn, seen)
                if not self.hurtful.leaves_out(example.kind) and self._admitted(example):
                    (self._later if self._spared(example) else self._waiting).append((example, tuple(drawn.row)))
                if not self._send(last=number == self.planned):
                    return
            # Which frames a target gets is not to depend on how long others wait for one of its tools.
            while self._later and self.partner.session.patience.features.busy and self.partner.session.alive:
                self.partner.session.listen(waits.GLANCE)
                self._take_up()
                if not self._send(last=True) or self._late():
                    return
            if self._later:
                self.note = f"{len(self._later)} frames left out: they ask for what has not returned so far"
        except GIVEN_UP as reason:
            self.note = f"{reason}, so no more frames were sent"
        finally:
            self.seconds = time.monotonic() - self.began

    def _send(self, last: bool) -> bool:
        """Send what waits, as many at once as fit, and the rest if nothing follows; whether there is time for more."""
        while len(self._waiting) >= self._size or (last and self._waiting):
            self._volley(self._waiting[: self._size])
            if self._silences >= MOST_SILENCES:
                raise Tired(f"the server stopped answering {self._silences} times")
            if self._late():
                return False
            self.partner.session.patience.features.landed()
            self._waiting = self._waiting[self._size :]
            self._take_up()
            self._size = self.partner.fitting
        return True

    def _take_up(self) -> None:
        """What asks for something that has returned meanwhile can be sent."""
        ready = [each for each in self._later if not self._spared(each[0])]
        self._waiting += ready
        self._later = [each for each in self._later if each not in ready]

    def _next(self, drawn: Drawn, seen: set[int]) -> Example:
        for _ in range(1 + REDRAWN):
            drawn.begin()
            example = self.campaign.make(drawn)
            key = hash(example.data)
            if key not in seen:
                break
        seen.add(key)
        return example

    def _admitted(self, example: Example) -> bool:
        admits = getattr(self.campaign, "admits", None)
        return admits is None or admits(example)

    def _forgone(self, example: Example) -> bool:
        """Whether the campaign does without the example, after what came of those before it."""
        forgoes = getattr(self.campaign, "forgoes", None)
        return forgoes is not None and forgoes(example)

    def _spared(self, example: Example) -> bool:
        """Whether it asks for a tool or the like that does not return."""
        lines = example.lines(range(example.numbers)) if example.script else [example.data]
        messages = [parse(line)[0] for line in lines]
        requests = [(str(each.get("method")), each.get("params")) for each in messages if isinstance(each, dict)]
        return self.partner.session.patience.features.spares(requests, example.illegal)

    def _late(self) -> bool:
        if over := self.partner.session.patience.short_of_time:
            self.note = over
            return True
        spent = time.monotonic() - self.began
        if spent < self.pace * self.bench.fuzzing.seconds:
            return False
        self.note = f"the server answered {self.sent} frames in {spent:.0f} s; --fuzz-time gives it longer"
        return self.sent < self.planned

    def _volley(self, waiting: list[Drawing]) -> None:
        replies = self.partner.volley([example for example, _ in waiting])
        death, causes = self.partner.death, len(self.causes)
        hurt: list[Drawing] = []
        for (example, row), reply in zip(waiting, replies, strict=True):
            if reply is None:
                if self.hurtful.leaves_out(example.kind) or self._forgone(example):
                    continue
                reply = self.partner.alone(example, fresh=bool(hurt) or not self.partner.session.alive)
                hurt = [(example, row)] if reply.fate else []
                self._trouble(example, reply)
            self._count(example, reply, row)
        if death is not None and not hurt and len(self.causes) == causes and self._unexplained is None:
            self._unexplained = ([example for example, _ in waiting], death)

    def _trouble(self, example: Example, reply: Reply) -> None:
        """One silence of a kind is enough, since each is waited for; too many end the campaign."""
        if not reply.fate:
            return
        self.hurtful.hurt(example.kind, reply.fate)
        self._silences += reply.fate != DIED

    def _count(self, example: Example, reply: Reply, row: tuple[int, ...]) -> None:
        self.sent += 1
        for outcome in reply.outcomes:
            self.outcomes[outcome] += 1
        for breach in self._breaches(example, reply):
            if isinstance(breach, str):
                self.held[breach] += bool(breach)
                continue
            if breach.cause not in self.causes:
                self.causes[breach.cause] = _Cause(example, breach, row, reply.fate, reply.history)
            cause = self.causes[breach.cause]
            cause.count += 1
            cause.kinds[example.kind] += 1
            # The heaviest of a cause stands for it, and of those the shortest.
            if (-breach.weight, len(example.data)) < (-cause.breach.weight, len(cause.example.data)):
                cause.example, cause.breach, cause.row = example, breach, row

    def _breaches(self, example: Example, reply: Reply) -> list[Breach | str]:
        """What the campaign and the invariants say."""
        if reply.lost:
            return []
        found: list[Breach | str] = [self.campaign.judge(example, reply)]
        for f in reply.findings:
            proof = f.frames if reply.sent in f.frames else (reply.sent, *f.frames)
            found.append(Breach(f.requirement, f.message, f.expected, f.actual, proof, f.ceiling))
        return found

    # -- telling

    def report(self) -> None:
        """Make the example of each cause smaller, put it to the test again, and write the finding down."""
        self.partner.reporting = True
        causes = sorted(self.causes.values(), key=lambda cause: -cause.count)
        began = time.monotonic()
        for cause in causes[:MOST_CAUSES]:
            if time.monotonic() - began < self.pace * REPORT_SECONDS:
                self._report(cause)
            else:
                self._tell(cause, cause.example, cause.breach, (1, 1), confirmed=False)
        if self._unexplained is not None:
            self._report_volley(*self._unexplained)

    def _report_volley(self, examples: list[Example], death: Reply) -> None:
        """The server died of several frames and of none of them alone: the same again, several times."""
        breach = self.campaign.judge(examples[-1], death)
        if not isinstance(breach, Breach) or breach.requirement in {requirement for requirement, _ in self.causes}:
            return
        began = time.monotonic()
        tries, shown = 0, 0
        try:
            while shown < SHOWN and self._tries_again(tries, TRIES, began):
                self.partner.most = self.partner.restarts + 2
                self.partner.renew()
                tries += 1
                self.partner.volley(examples)
                shown += self.partner.death is not None
        except GIVEN_UP as reason:
            self.note = str(reason)
        ledger = self.bench.ledger
        confirmed = shown >= SHOWN
        tell = ledger.found if confirmed else ledger.doubt
        tell(
            Finding(
                breach.requirement,
                ledger.case,
                f"of {len(examples)} frames at once, and of none of them alone: {breach.message}",
                breach.expected,
                breach.actual,
                death.frames or breach.proof,
                Severity.ADVICE if breach.ceiling is Severity.ADVICE else Severity.WARNING,
                confirmed=confirmed,
                tries=(1 + shown, 1 + tries),
            )
        )

    def _tries_again(self, tries: int, most: int, began: float) -> bool:
        """Whether one more try is allowed, and there is time for it: the first one always gets that."""
        return tries < most and (not tries or time.monotonic() - began < self.pace * TRY_SECONDS)

    def _report(self, cause: _Cause) -> None:
        self.partner.most = self.partner.restarts + SHRINK_RESTARTS
        self.partner.hurried = True
        example = self._shrunk(cause)
        self.partner.hurried = False
        self.partner.most = self.partner.restarts + 4
        for candidate in (example,) if example is cause.example else (example, cause.example):
            weighty = cause.breach.ceiling is not Severity.ADVICE  # for advice the server that is there will do
            again = self._again(candidate, cause.breach, fresh=weighty, full=True)
            if again is not None:
                self._tell(cause, *self._within_limits(cause, candidate, again))
                return
        self._tell_doubtful(cause)

    def _within_limits(self, cause: _Cause, example: Example, again: Breach) -> tuple[Example, Breach]:
        """The same within what every JSON parser takes, if that shows it too; else it is a warning at most."""
        if not extreme(example):
            return example, again
        small = tamed(example)
        if small is None or not self._admitted(small):
            return example, _at_most_a_warning(again)
        self.partner.most = self.partner.restarts + 4
        try:
            reply = self.partner.alone(small, fresh=True, full=True)
        except GIVEN_UP:
            return example, _at_most_a_warning(again)
        for breach in self._breaches(small, reply):
            if isinstance(breach, Breach) and breach.cause == cause.breach.cause:
                return small, breach
        passed = "; with smaller values, shorter and less deep, it passes"
        proof = (reply.sent, *reply.answers[:1], *again.proof)
        return example, replace(_at_most_a_warning(again), actual=again.actual + passed, proof=proof)

    def _tell_doubtful(self, cause: _Cause) -> None:
        """What did not come back alone is tried with all that was said before it: it has to come back twice."""
        began = time.monotonic()
        tries, shown = 0, 0
        proof = cause.trace
        breach = cause.breach
        most = 0 if cause.example.inner else TRIES  # what was said before is known as messages
        while shown < SHOWN and self._tries_again(tries, most, began):
            tries += 1
            self.partner.most = self.partner.restarts + 4
            again = self._after_history(cause)
            if again is not None:
                shown, breach, proof = shown + 1, again, tuple(self.partner.session.trace) or proof
        breach = replace(breach, proof=proof)
        if extreme(cause.example):
            breach = _at_most_a_warning(breach)
        # The campaign has shown it once.
        self._tell(cause, cause.example, breach, (1 + shown, 1 + tries), shown >= SHOWN)

    def _tell(
        self, cause: _Cause, example: Example, breach: Breach, tries: tuple[int, int] = (0, 0), confirmed: bool = True
    ) -> None:
        more_frames = f"{cause.count - 1} other frame{'s' if cause.count > 2 else ''}"
        several = f"; so did {more_frames}" if cause.count > 1 else ""
        kinds = ", ".join(kind for kind, _ in cause.kinds.most_common(6))
        more = f" ({kinds})" if several and len(cause.kinds) > 1 else ""
        tell = self.bench.ledger.found if confirmed else self.bench.ledger.doubt
        tell(
            Finding(
                requirement=breach.requirement,
                case=self.bench.ledger.case,
                message=breach.message,
                expected=breach.expected,
                actual=f"{breach.actual}; what was sent: {example.wrong}{several}{more}",
                frames=breach.proof,
                ceiling=breach.ceiling,
                confirmed=confirmed,
                occurrences=cause.count,
                tries=tries,
                replay=replay(self.campaign.name, self.bench.session.revision.date, example, breach),
            )
        )

    def _after_history(self, cause: _Cause) -> Breach | None:
        """The breach, if it comes back after all that was said before it."""
        try:
            lived = self.partner.repeat([frame.data for frame in cause.trace if frame.origin == "us"])
            if not lived and cause.fate == DIED:
                return cause.breach
            return self._again(cause.example, cause.breach, full=True)
        except GIVEN_UP:
            return None

    def _shrunk(self, cause: _Cause) -> Example:
        deadline = time.monotonic() + self.pace * SHRINK_SECONDS
        known: dict[bytes, bool] = {}

        def still(example: Example) -> bool:
            if example.data not in known:
                late = len(known) >= SHRINK_TRIES or time.monotonic() > deadline or not self._admitted(example)
                known[example.data] = not late and self._again(example, cause.breach) is not None
            return known[example.data]

        known[cause.example.data] = True
        return smallest(self.campaign.make, cause.row, still, cause.example)

    def _again(self, example: Example, known: Breach, *, fresh: bool = False, full: bool = False) -> Breach | None:
        """A breach of the same cause that weighs no less than what is `known`, if the example shows it, alone."""
        try:
            reply = self.partner.alone(example, fresh=fresh, full=full)
        except GIVEN_UP:
            return None
        for breach in self._breaches(example, reply):
            if isinstance(breach, Breach) and breach.cause == known.cause and breach.weight >= known.weight:
                return breach
        return None

    def conclude(self) -> None:
        """Write down what was learned, and end the servers."""
        ledger = self.bench.ledger
        self.partner.close()
        broken = {requirement for requirement, _ in self.causes} | {each.requirement for each in ledger.flaky}
        for requirement in self.campaign.requirements:
            if requirement in broken:
                continue
            if self.held[requirement]:
                ledger.held(requirement)
            elif self.note and (self.outcomes[DIED] or not self.sent):
                ledger.block(requirement, self.note)
            else:
                ledger.inconclusive(requirement, "the server answered no frame of the campaign that could show it")
        self.note = "; ".join(filter(None, (self.note, self.hurtful.note)))
        ledger.tallies.append(
            Tally(
                self.campaign.name,
                self.sent,
                self.planned,
                dict(self.outcomes.most_common()),
                self.partner.restarts,
                self.bench.fuzzing.seed,
                self.seconds,
                self.note,
            )
        )


def _at_most_a_warning(breach: Breach) -> Breach:
    return breach if breach.ceiling is Severity.ADVICE else replace(breach, ceiling=Severity.WARNING)
