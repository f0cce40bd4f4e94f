"""One revision of one server, tested by the engine when the first of its items is due."""

from __future__ import annotations

import contextlib
import gc
import hashlib
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace

from conformance.catalogue.selection import Selection, narrowed
from conformance.checks.registry import judged_by_invariants
from conformance.engine import events
from conformance.engine.runner import Runner
from conformance.engine.supervision import Supervisor
from conformance.engine.verdicts import outcome, weight
from conformance.model import Judged, Report, Requirement, UsageError, Verdict
from conformance.pytest_plugin.options import Server
from conformance.pytest_plugin.sharing import shared
from conformance.reporters.masking import masked
from conformance.reporters.words import finding_text, headline, lines, shortened, visible
from conformance.revisions import CHOSEN
from conformance.system.github_actions import harmless
from conformance.target.mask import Mask

FIRST, MORE = 10, 5
"""Requirements that are put to the test at first, if the first failure ends the session; then MORE times as many.

Each time costs the start of the session, the survey, and a wait for the slowest case, so that it must not be often.
"""
COLLECT = 100_000
"""Objects made since the last garbage collection that lead to the next, while the engine runs."""
PATIENCE = 5.0
"""Seconds in which the engine, once interrupted, comes to its end."""
SHORT = 100
"""Characters of a problem that has been told before."""


@dataclass(frozen=True, slots=True)
class Row:
    """What an item tells: plain data, so that processes can hand it on. `weight` is that of `verdicts.weight`.

    `outcome` is passed, failed, skipped or error, `text` what there is to say about it, `summary` one line of that.
    """

    outcome: str
    verdict: str = ""
    revision: str = ""
    severity: str = ""
    text: str = ""
    summary: str = ""
    weight: int = -1


@dataclass(slots=True)
class Part:
    """What one run of the engine told. `problem` is why nothing was tested, in full; `absent` why there was no run."""

    rows: dict[str, Row]
    revision: str = ""
    transport: str = ""
    problem: str = ""
    absent: str = ""


class Trouble:
    """Why a server cannot be tested, "" if it can, as far as is known; what all that is tested of it have in common."""

    def __init__(self, why: str) -> None:
        self.why = why
        self._told: set[str] = set()

    def told(self, why: str) -> str:
        """A problem in words, in full once."""
        if why not in self._told:
            self._told.add(why)
            return f"Not tested: {why}"
        first = why.splitlines()[0]
        return f"Not tested: {first if len(first) <= SHORT else first[:SHORT] + '…'} (as above)"


class SlotRun:
    """The runs of the engine on one slot of a server, one if all goes well."""

    def __init__(self, name: str, server: Server, dates: Sequence[str], catalogue: Runner, trouble: Trouble) -> None:
        """`catalogue` knows what is selected, and is never run. `dates` are the revisions of which one may be tested.

        `folder` is where processes that share the work leave results for each other, "" if this one is alone.
        """
        self.name = name
        self.server = server
        self.dates = dates
        self.folder = ""
        self._catalogue = catalogue
        self._trouble = trouble
        self._rows: dict[str, Row] = {}
        self._expected: list[str] = []
        self._hasty = False
        self._tested: set[str] = set()
        self._played: set[str] = set()
        self._size = FIRST
        self._revision = self._transport = ""
        self._noted = False
        self._absent = ""
        self._problem = ""

    def reportable(self) -> list[Requirement]:
        """What may be put to the test in one of the revisions."""
        transport = self.server.target.transport
        found = {each.id: each for date in self.dates for each in self._catalogue.reportable(date, transport)}
        return [each for identifier, each in self._catalogue.requirements.items() if identifier in found]

    def expect(self, requirements: Sequence[str], hasty: bool) -> None:
        """What will be asked for; in parts if that is `hasty`, since much of it may never be."""
        self._expected = list(requirements)
        self._hasty = hasty and not self.folder

    def row(self, requirement: str) -> Row:
        """What is known of a requirement; it is put to the test now, if it was not. Raises KeyboardInterrupt."""
        problem = self._problem or self._trouble.why
        if not (problem or self._absent) and requirement not in self._tested:
            self._test(requirement)
            problem = self._problem
        row = self._rows.get(requirement)
        if row is not None and not (problem and row.verdict == Verdict.BLOCKED):
            return row
        if problem:
            return Row("error", text=self._trouble.told(problem))
        elsewhere = f"the rule does not hold in {self._revision} over {self._transport}"
        return Row("skipped", revision=self._revision, text=self._absent or elsewhere)

    def note(self) -> str:
        """What the user ought to know of the server, once; "" if there is nothing."""
        expected, found = self.server.target.transport, self._transport
        if self._noted or found in ("", expected):
            return ""
        self._noted = True
        word = next(word for word, name in CHOSEN.items() if name == found)
        return f"the server speaks {found}: its rules are put to the test with --mcp-transport {word}"

    # -- inside

    def _test(self, requirement: str) -> None:
        wanted = self._next(requirement)
        self._tested.update(wanted)
        part = shared(self.folder, self._key(wanted), lambda: asdict(self._run(wanted)))
        rows = {identifier: Row(**row) for identifier, row in part["rows"].items()}
        for identifier, row in rows.items():
            # Of reasons the last one: a part that was not about the rule gives one, too.
            if row.weight >= self._rows.get(identifier, Row("")).weight:
                self._rows[identifier] = row
        self._revision = part["revision"] or self._revision
        self._transport = part["transport"] or self._transport
        self._problem, self._absent = part["problem"], part["absent"]
        if self._problem and not self._rows and self.server.options.within:
            self._trouble.why = self._problem  # it was asked for all revisions

    def _next(self, requirement: str) -> list[str]:
        """What is put to the test together with this one."""
        waiting = [each for each in self._expected if each not in self._tested]
        if requirement not in waiting:
            return [requirement]
        if not self._hasty:
            return waiting
        start, size = waiting.index(requirement), self._size
        self._size *= MORE
        return waiting[start : start + size]

    def _key(self, wanted: Iterable[str]) -> str:
        return hashlib.sha256("\n".join([self.name, *sorted(wanted)]).encode()).hexdigest()

    def _run(self, wanted: Sequence[str]) -> Part:
        selection = narrowed(self._catalogue.selection, wanted, judged_by_invariants())
        cases = tuple(case for case in selection.cases if case.id not in self._played)
        if not cases and self._played:
            return Part({})  # what is judged on every frame has been judged
        self._played.update(case.id for case in cases)
        # What was found of others on the way is kept for their turn.
        reported = self._catalogue.selection.requirements & {*wanted, *self._expected}
        options = replace(self.server.options, selected=Selection(cases, frozenset(reported)))
        mask = Mask(self.server.target.secrets)
        engine = Runner(self.server.target, options)
        engine.teach(mask.learn)
        absent: dict[str, str] = {}

        def hear(event: events.Event) -> None:
            if isinstance(event, events.RevisionAbsent):
                absent[event.revision] = event.why

        try:
            with _rarely_collected(), warnings.catch_warnings(), Supervisor(engine) as supervisor:
                warnings.simplefilter("ignore")  # of regular expressions in the server's schemas
                report = supervisor.run(hear)
                if supervisor.interrupted:
                    # pytest shows where it was interrupted, and Python 3.11 cannot read source in two threads at once.
                    supervisor.wait(PATIENCE)
        except UsageError as error:
            return Part({}, problem=_shown(mask.text(str(error))))
        if supervisor.interrupted:
            raise KeyboardInterrupt
        if supervisor.bugs:
            return Part({}, problem=f"mcp-conform itself failed\n{lines(mask.text(supervisor.bugs[0]))}")
        why = next((f"{date} is not spoken: {absent[date]}" for date in reversed(self.dates) if date in absent), "")
        return self._learned(masked(mask, report), _shown(mask.text(why)))

    def _learned(self, report: Report, absent: str) -> Part:
        rows: dict[str, Row] = {}
        runs = [run for run in report.runs if run.revision in self.dates]
        if not (runs or self.server.options.within):
            runs = list(report.runs)  # of the revision that was offered instead: what was found in its opening
        for run in runs:
            for judged in run.verdicts:
                row = _row(judged, run.revision, self.server.options.fail_on)
                if row.weight > rows.get(judged.requirement.id, Row("")).weight:
                    rows[judged.requirement.id] = row
        told = [_shown(part) for part in (report.problem, report.diagnosis, report.hint) if part]
        # A failure of its own tells why nothing else could be tested.
        problem = "" if any(row.outcome == "failed" for row in rows.values()) else "\n".join(told)
        if not runs:
            over = f"{' and '.join(self.dates)} cannot be spoken over {report.target.transport}"
            return Part(rows, problem=problem, absent=absent or over)
        return Part(rows, runs[-1].revision, runs[-1].transport, problem)


@contextlib.contextmanager
def _rarely_collected() -> Iterator[None]:
    """Garbage is collected as rarely as on the command line: the catalogue and the items of pytest are none."""
    before = gc.get_threshold()
    gc.set_threshold(COLLECT)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def _row(judged: Judged, revision: str, fail_on: str) -> Row:
    result = outcome(judged, fail_on)
    text, summary = "", ""
    if judged.verdict is Verdict.FAILED:
        text = harmless(finding_text(judged))
        summary = f"{headline(judged)}: {visible(shortened(judged.findings[0].message, 300))}"
    elif result == "error":
        text = f"mcp-conform itself failed: {lines(shortened(judged.reason, 4000))}"
    elif result == "skipped":
        text = f"{judged.verdict}: {_shown(judged.reason)}"
    severity = str(judged.severity or "")
    return Row(result, str(judged.verdict), revision, severity, text, summary, weight(judged))


def _shown(text: str) -> str:
    """`text`, in which a server may have its say, on one line."""
    return harmless(visible(shortened(text, 1600)))
