"""What cases, invariants and campaigns write down about requirements during one unit of work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from conformance.budget import HISTORIES, brief, cost
from conformance.checks.rate_limits import limited
from conformance.model import Excerpt, Finding, FindingKind, Frame, Severity, Tally
from conformance.session.patience import NO_ANSWER

MAX_FINDINGS_EACH = 5
"""Findings kept for one requirement in one unit; further ones only raise the count of the last."""
MAX_EXCERPTS = 20
"""Sessions of which one case tells its frames."""
LONGEST = 4_000
"""Characters of what a finding says."""


def is_silence(finding: Finding) -> bool:
    """Whether what it tells is that no answer came in time."""
    return finding.actual.startswith(NO_ANSWER)


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


class History:
    """What was said in a session that is over: its frames, or none if there is no room for them."""

    __slots__ = ("_cost", "frames")

    def __init__(self, frames: Iterable[Frame]) -> None:
        self.frames = tuple(frames)
        self._cost = sum(map(cost, self.frames))
        if not HISTORIES.take(self._cost):
            self.frames, self._cost = (), 0

    def __del__(self) -> None:
        if HISTORIES:  # at the end of the process names are gone
            HISTORIES.give(self._cost)


class Mark(NamedTuple):
    """What a ledger held at one moment."""

    findings: tuple[Finding, ...]
    tested: dict[str, dict[str, int]]
    open: dict[str, str]
    blocked: dict[str, str]
    absent: dict[str, str]


class Ledger:
    """Collects held requirements, findings and reasons. Not thread-safe: each unit of work has its own."""

    def __init__(self, case: str = "") -> None:
        self.case = case
        self.sealed = False
        """Whether nothing more is written down: what happens to a server that is being ended says nothing."""
        self.findings: list[Finding] = []
        self.tested: dict[str, dict[str, int]] = {}
        """Requirement → the cases in which it was put to the test, and how often."""
        self.open: dict[str, str] = {}
        self.blocked: dict[str, str] = {}
        self.absent: dict[str, str] = {}
        self.broken: dict[str, str] = {}
        self.histories: list[History] = []
        self.tallies: list[Tally] = []
        self.flaky: list[Finding] = []
        self.excerpts: dict[str, list[Excerpt]] = {}
        """Case → its frames, session by session."""
        self.signs: set[int] = set()
        """The signs of SDKs that were seen, by their numbers in the catalogue."""
        self.served: set[str] = set()
        """The methods that were answered with a result at least once."""
        self.unknown: set[str] = set()
        """The methods that were refused as unknown at least once."""
        self.codes: set[int] = set()
        """The codes of the errors with which requests were refused."""
        self.ends: set[str] = set()
        """Why servers ended, by themselves or in the end."""
        self.sessions: list[list[str]] = []
        """The cases that were played in each session of the unit, one session after another."""

    def held(self, requirement: str) -> None:
        """`requirement` was put to the test in the present case and held."""
        if self.sealed:
            return
        self._count(requirement, self.case)

    def broke(
        self,
        requirement: str,
        message: str,
        *,
        expected: str,
        actual: str,
        frames: Iterable[Frame | None] = (),
        ceiling: Severity | None = None,
    ) -> None:
        """`requirement` was broken. `frames` prove it, in order; None is skipped.

        The finding belongs to the case of the first frame that has one, so that an answer that comes
        late is not blamed on the case that happened to be running.
        """
        proof = tuple(frame for frame in frames if frame is not None)
        self.tell(Finding(requirement, self.case, message, expected, actual, proof, ceiling))

    def tell(self, finding: Finding) -> None:
        """The same, for a finding as a whole."""
        if self.sealed or self._excused(finding):
            return
        requirement, ceiling, proof = finding.requirement, finding.ceiling, finding.frames
        message, expected, actual = map(_clipped, (finding.message, finding.expected, finding.actual))
        case = next((frame.case for frame in proof if frame.case), self.case)
        self._count(requirement, case)
        same = [i for i, each in enumerate(self.findings) if each.requirement == requirement]
        for i in same:
            known = self.findings[i]
            if known.kind == (requirement, message, ceiling):
                self.findings[i] = replace(known, occurrences=known.occurrences + 1)
                return
        if len(same) >= MAX_FINDINGS_EACH:
            last = self.findings[same[-1]]
            self.findings[same[-1]] = replace(last, occurrences=last.occurrences + 1)
            return
        # A report has the beginning of a long frame, and a run may have hundreds of findings.
        proof = tuple(map(brief, proof))
        clipped = replace(finding, case=case, message=message, expected=expected, actual=actual, frames=proof)
        self.findings.append(clipped)

    def found(self, finding: Finding) -> None:
        """A finding that is complete already, confirmed or not."""
        if not (self.sealed or self._excused(finding)):
            self._count(finding.requirement, finding.case)
            self.findings.append(finding)

    def _excused(self, finding: Finding) -> bool:
        """Whether all that it shows is that the server was asked too often, which leaves the requirement open."""
        why = limited(finding.frames)
        if why:
            self.inconclusive(finding.requirement, why)
        return bool(why)

    def _count(self, requirement: str, case: str, times: int = 1) -> None:
        cases = self.tested.setdefault(requirement, {})
        cases[case] = cases.get(case, 0) + times

    def take(self, known: int) -> list[Finding]:
        """Take out the findings after the first `known`: the caller writes down what is to be said of them."""
        taken, self.findings = self.findings[known:], self.findings[:known]
        return taken

    def inconclusive(self, requirement: str, why: str) -> None:
        """`requirement` was claimed but could not be put to the test; `why` says what would let it."""
        if not self.sealed:
            self.open.setdefault(requirement, why)

    def not_applicable(self, requirement: str, why: str) -> None:
        """`requirement` does not concern this target."""
        if not self.sealed:
            self.absent.setdefault(requirement, why)

    def block(self, requirement: str, cause: str) -> None:
        """An earlier failure, named by `cause`, made the test of `requirement` pointless."""
        if not self.sealed:
            self.blocked.setdefault(requirement, cause)

    def break_ours(self, requirement: str, why: str) -> None:
        """The suite itself failed while testing `requirement`."""
        if not self.sealed:
            self.broken.setdefault(requirement, why)

    def keep(self, requirements: Collection[str]) -> None:
        """Forget what was learned of all requirements but these."""
        self.findings = [finding for finding in self.findings if finding.requirement in requirements]
        for known in (self.tested, self.open, self.blocked, self.absent):
            for requirement in [each for each in known if each not in requirements]:
                known.pop(requirement)

    def confirm(
        self,
        case: str,
        back: Callable[[Finding], bool],
        kinds: Collection[FindingKind],
        silent: Mapping[FindingKind, str],
    ) -> None:
        """The case was put to the test again, and `back` says which findings it has shown again; it had shown `kinds`.

        What other cases have shown of the same kind comes back with it. What did not come back gets all that led to it
        as its frames. `silent` has how long was waited for what stayed away, which is longer now.
        """
        if self.sealed:
            return
        for i, finding in enumerate(self.findings):
            again = back(finding)
            if finding.confirmed is None and (finding.case == case or (again and finding.kind in kinds)):
                frames = finding.frames if again else self.led_to(finding)
                tries = finding.tries if again else (1, 2)
                actual = finding.actual
                if again and finding.kind in silent and is_silence(finding):
                    actual = actual.replace(actual.partition(";")[0], silent[finding.kind], 1)
                self.findings[i] = replace(finding, confirmed=again, frames=frames, tries=tries, actual=actual)

    def settle(self, finding: Finding, after: tuple[str, ...], tries: tuple[int, int], *, shown: bool) -> None:
        """What did not come back alone was tried again, `after` the cases before it; whether that has shown it."""
        if self.sealed or finding not in self.findings:
            return
        settled = replace(finding, confirmed=shown, after=after, tries=tries)
        if shown:
            self.findings[self.findings.index(finding)] = settled
        else:
            self.findings.remove(finding)
            self.doubt(settled)

    def doubt(self, finding: Finding) -> None:
        """A finding that did not show itself twice: it fails nobody."""
        if not (self.sealed or self._excused(finding)):
            self.flaky.append(finding)

    def give_way(self, told: Callable[[Finding], bool], why: str) -> None:
        """Forget the findings that are `told` by another one: what was put to the test by nothing else is blocked."""
        if self.sealed:
            return
        for finding in [finding for finding in (*self.findings, *self.flaky) if told(finding)]:
            (self.findings if finding in self.findings else self.flaky).remove(finding)
            cases = self.tested.get(finding.requirement, {})
            cases.pop(finding.case, None)
            if not cases:
                self.tested.pop(finding.requirement, None)
            if finding.requirement != why:
                self.blocked.setdefault(finding.requirement, why)

    def obscure(self, requirement: str, why: str) -> None:
        """What the requirement was put to the test by tells nothing: it is blocked, wherever it seemed to hold."""
        if not self.sealed and self.tested.pop(requirement, None) is not None:
            self.blocked.setdefault(requirement, why)

    def history(self, case: str) -> tuple[str, ...]:
        """The cases that were played in the session of `case`, up to it; if it was played in none, all of the last."""
        for played in self.sessions:
            if case in played:
                return tuple(played[: played.index(case) + 1])
        return tuple(self.sessions[-1]) if self.sessions else ()

    def mark(self) -> Mark:
        """What is written down so far, for `unlearn` and `new_since`."""
        tested = {requirement: dict(cases) for requirement, cases in self.tested.items()}
        return Mark(tuple(self.findings), tested, dict(self.open), dict(self.blocked), dict(self.absent))

    def new_since(self, mark: Mark) -> list[Finding]:
        """The findings of kinds that there were none of at `mark`."""
        known = {finding.kind for finding in mark.findings}
        return [finding for finding in self.findings if finding.kind not in known]

    def unlearn(self, mark: Mark, keeps: Callable[[Finding], bool]) -> None:
        """Forget what was written down since `mark`, but for new findings that `keeps` is true of."""
        if self.sealed:
            return
        kept = [finding for finding in self.new_since(mark) if keeps(finding)]
        self.findings = [*mark.findings, *kept]
        self.tested = {requirement: dict(cases) for requirement, cases in mark.tested.items()}
        for finding in kept:
            self._count(finding.requirement, finding.case)
        self.open, self.blocked, self.absent = dict(mark.open), dict(mark.blocked), dict(mark.absent)

    def led_to(self, finding: Finding) -> tuple[Frame, ...]:
        """All that was said in the session up to the last frame that proves `finding`, as far as it was kept."""
        if finding.frames:
            last = finding.frames[-1]
            for frames in (history.frames for history in self.histories):
                if any((f.number, f.at, f.origin) == (last.number, last.at, last.origin) for f in frames):
                    return tuple(frame for frame in frames if frame.number <= last.number)
        return finding.frames

    def arrange(self, cases: Sequence[str]) -> None:
        """Put the findings into the order of their `cases`, whatever order threads have written them down in."""
        places = {case: place for place, case in enumerate(cases)}
        self.findings.sort(key=lambda finding: places.get(finding.case, len(places)))

    def merge(self, other: Ledger) -> None:
        """Take over all that `other` has written down; like findings become one."""
        self.tallies += other.tallies
        self.signs |= other.signs
        self.served |= other.served
        self.unknown |= other.unknown
        self.codes |= other.codes
        self.flaky += [each for each in other.flaky if each.kind not in {mine.kind for mine in self.flaky}]
        for theirs in other.findings:
            for i, mine in enumerate(self.findings):
                if mine.kind == theirs.kind:
                    self.findings[i] = replace(mine, occurrences=mine.occurrences + theirs.occurrences)
                    break
            else:
                self.findings.append(theirs)
        for requirement, cases in other.tested.items():
            for case, times in cases.items():
                self._count(requirement, case, times)
        for case, excerpts in other.excerpts.items():
            mine_too = self.excerpts.setdefault(case, [])
            mine_too += excerpts[: MAX_EXCERPTS - len(mine_too)]
        for known, further in (
            (self.open, other.open),
            (self.blocked, other.blocked),
            (self.absent, other.absent),
            (self.broken, other.broken),
        ):
            for requirement, why in further.items():
                known.setdefault(requirement, why)
