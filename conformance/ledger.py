"""What cases, invariants and campaigns write down about requirements during one unit of work."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from conformance.model import Finding, Frame, Kind, Severity, Tally

MAX_FINDINGS_EACH = 5
"""Findings kept for one requirement in one unit; further ones only raise the count of the last."""


KEPT_BYTES = 64 * 1024
"""A longer frame is kept by its beginning only."""
LONGEST = 4_000
"""Characters of what a finding says."""


def _clipped(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text)} characters)"


def brief(frame: Frame) -> Frame:
    """The frame, or its beginning if it is long; what it says is then left out."""
    if len(frame.data) <= KEPT_BYTES:
        return frame
    return frame._replace(data=frame.data[:KEPT_BYTES], message=None)


class Ledger:
    """Collects held requirements, findings and reasons. Not thread-safe: each unit of work has its own."""

    def __init__(self, case: str = "") -> None:
        self.case = case
        self.sealed = False
        """Whether nothing more is written down: what happens to a server that is being ended says nothing."""
        self.findings: list[Finding] = []
        self.tested: dict[str, set[str]] = {}
        self.open: dict[str, str] = {}
        self.blocked: dict[str, str] = {}
        self.absent: dict[str, str] = {}
        self.broken: dict[str, str] = {}
        self.histories: list[tuple[Frame, ...]] = []
        self.tallies: list[Tally] = []

    def held(self, requirement: str) -> None:
        """`requirement` was put to the test in the present case and held."""
        if self.sealed:
            return
        cases = self.tested.get(requirement)
        if cases is None:
            self.tested[requirement] = {self.case}
        else:
            cases.add(self.case)

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
        if self.sealed:
            return
        message, expected, actual = (_clipped(text) for text in (message, expected, actual))
        proof = tuple(frame for frame in frames if frame is not None)
        case = next((frame.case for frame in proof if frame.case), self.case)
        self.tested.setdefault(requirement, set()).add(case)
        same = [i for i, finding in enumerate(self.findings) if finding.requirement == requirement]
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
        self.findings.append(Finding(requirement, case, message, expected, actual, proof, ceiling))

    def found(self, finding: Finding) -> None:
        """A finding that is complete already, confirmed or not."""
        if not self.sealed:
            self.tested.setdefault(finding.requirement, set()).add(finding.case)
            self.findings.append(finding)

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

    def confirm(
        self, case: str, back: Collection[str], kinds: Collection[Kind], stands: Callable[[Finding], bool]
    ) -> None:
        """The case was put to the test again and broke the requirements `back`; it had shown findings of `kinds`.

        What other cases have shown of the same kind comes back with it. What did not come back gets all that led to it
        as its frames; if it does not stand so, it is inconclusive.
        """
        if self.sealed:
            return
        kept: list[Finding] = []
        for finding in self.findings:
            again = finding.requirement in back
            if finding.confirmed is None and (finding.case == case or (again and finding.kind in kinds)):
                frames = finding.frames if again else self.led_to(finding)
                finding = replace(finding, confirmed=again, frames=frames)
            if stands(finding):
                kept.append(finding)
                continue
            self.tested.pop(finding.requirement, None)
            self.inconclusive(finding.requirement, f"it happened once and did not come back: {finding.actual}")
        self.findings = kept

    def led_to(self, finding: Finding) -> tuple[Frame, ...]:
        """All that was said in the session up to the last frame that proves `finding`, as far as it was kept."""
        if finding.frames:
            last = finding.frames[-1]
            for history in self.histories:
                if any((f.number, f.at, f.origin) == (last.number, last.at, last.origin) for f in history):
                    return tuple(frame for frame in history if frame.number <= last.number)
        return finding.frames

    def merge(self, other: Ledger) -> None:
        """Take over all that `other` has written down; like findings become one."""
        self.tallies += other.tallies
        for theirs in other.findings:
            for i, mine in enumerate(self.findings):
                if mine.kind == theirs.kind:
                    first = mine if mine.confirmed is not False or theirs.confirmed is False else theirs
                    self.findings[i] = replace(first, occurrences=mine.occurrences + theirs.occurrences)
                    break
            else:
                self.findings.append(theirs)
        for requirement, cases in other.tested.items():
            self.tested.setdefault(requirement, set()).update(cases)
        for known, further in (
            (self.open, other.open),
            (self.blocked, other.blocked),
            (self.absent, other.absent),
            (self.broken, other.broken),
        ):
            for requirement, why in further.items():
                known.setdefault(requirement, why)
