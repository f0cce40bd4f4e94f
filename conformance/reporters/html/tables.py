"""The tables of the page: runs, areas, requirements, campaigns, times, and what was not tested by its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from conformance.model import Judged, Report, Run, Verdict
from conformance.reporters.grouping import left_out, named
from conformance.reporters.html.findings import BASES, LONGEST, rule, source, told
from conformance.reporters.html.kinds import KINDS, NOT_APPLICABLE, PASSED, Count, Kind, Labels, counts, kind_of, label
from conformance.reporters.words import covered, visible

SLOWEST = 10
QUICK = 0.05
"""Seconds; what takes less is not slow."""
REASONS, TOOLS, RULES = 200, 200, 3000
"""Rows of a table at most; how many are left out is told."""
NAME = 100
"""Characters of a name that a server gives itself, or a tool."""


@dataclass(frozen=True, slots=True)
class RunView:
    """One revision over one transport."""

    label: str
    era: str
    server: str
    counts: list[Count]
    covered: str
    seconds: str


@dataclass(frozen=True, slots=True)
class Cell:
    """What came out in an area in a run, the worst first; `words` says it without signs."""

    run: int
    label: str
    counts: list[Count]
    words: str

    @property
    def kind(self) -> Kind:
        """The worst."""
        return self.counts[0].kind if self.counts else PASSED

    @property
    def shown(self) -> list[Count]:
        """What there is room for: what is not applicable only if nothing else is there."""
        return [count for count in self.counts if count.kind is not NOT_APPLICABLE] or self.counts


@dataclass(frozen=True, slots=True)
class AreaRow:
    """An area over all runs. `worst` is the kind of the worst cell, `href` the first place where more is said."""

    area: str
    cells: list[Cell]
    green: bool
    href: str


@dataclass(frozen=True, slots=True)
class Reason:
    """Requirements that were not tested for one reason."""

    reason: str
    requirements: list[str]
    areas: str
    on: str


@dataclass(frozen=True, slots=True)
class RuleRow:
    """A requirement, and what came out in each run; None where it does not hold."""

    id: str
    area: str
    text: str
    level: str
    basis: str
    url: str
    place: str
    kinds: list[Kind | None]
    on: str


def run_views(runs: Iterable[Run]) -> list[RunView]:
    """A row for each run."""
    return [
        RunView(label(run), run.era, said(run), counts(run.verdicts), covered(run.extent), f"{run.seconds:.1f} s")
        for run in runs
    ]


def said(run: Run) -> str:
    """What the server calls itself, "" if it does not say."""
    parts = (told(str(run.server.get(name, "")), NAME) for name in ("name", "version"))
    return " ".join(part for part in parts if part)


def area_rows(report: Report, labels: Labels, places: dict[str, str]) -> list[AreaRow]:
    """The areas, the worst first; `places` has where the first finding of an area is told."""
    by_area: dict[str, list[list[Judged]]] = {}
    for number, run in enumerate(report.runs):
        for judged in run.verdicts:
            columns = by_area.setdefault(judged.requirement.area, [[] for _ in report.runs])
            columns[number].append(judged)
    rows = []
    for area, columns in sorted(by_area.items()):
        cells = [_cell(run, verdicts, labels) for run, verdicts in zip(report.runs, columns, strict=True)]
        green = all(cell.shown[0].kind in (PASSED, NOT_APPLICABLE) for cell in cells if cell.counts)
        rows.append(AreaRow(area, cells, green, places.get(area, f"rules/{area}")))
    return sorted(rows, key=lambda row: min(KINDS.index(cell.kind) for cell in row.cells))


def _cell(run: Run, verdicts: list[Judged], labels: Labels) -> Cell:
    found = counts(verdicts)
    words = ", ".join(kind.words(number) for kind, number in found) or "nothing"
    return Cell(labels.number(run), label(run), found, words)


def reasons(report: Report, kind: Kind, labels: Labels, without: Iterable[str] = ()) -> list[Reason]:
    """The requirements of this kind under their reasons, the commonest first; those `without` are told elsewhere."""
    found: dict[str, dict[str, list[str]]] = {}
    for run in report.runs:
        for judged in run.verdicts:
            if kind_of(judged) is kind and judged.reason not in without:
                why = judged.known or judged.reason
                found.setdefault(why, {}).setdefault(judged.requirement.id, []).append(named(run))
    views = []
    for reason, runs in found.items():
        areas = dict.fromkeys(identifier.rpartition("/")[0] for identifier in runs)
        everywhere = dict.fromkeys(name for names in runs.values() for name in names)
        views.append(Reason(told(reason, LONGEST), list(runs), " ".join(areas), labels.on(kind, everywhere)))
    return sorted(views, key=lambda view: -len(view.requirements))


def rule_rows(report: Report, labels: Labels) -> list[RuleRow]:
    """Each requirement of the report; of several servers only what it says, since each has its own verdicts."""
    several = bool(report.target.config)
    found: dict[str, list[Judged | None]] = {}
    for number, run in enumerate(report.runs):
        for judged in run.verdicts:
            identifier = judged.requirement.id
            found.setdefault(identifier, [None] * (0 if several else len(report.runs)))
            if several:
                found[identifier][:] = [judged]
            else:
                found[identifier][number] = judged
    return [_rule_row(identifier, row, report, labels) for identifier, row in sorted(found.items())]


def _rule_row(identifier: str, row: list[Judged | None], report: Report, labels: Labels) -> RuleRow:
    newest = next(judged for judged in reversed(row) if judged is not None)
    kinds = [None if judged is None else kind_of(judged) for judged in row]
    url, place = source(newest)
    several = bool(report.target.config)
    pairs = [] if several else zip(kinds, report.runs, strict=True)
    return RuleRow(
        identifier,
        newest.requirement.area,
        rule(newest),
        newest.level.value,
        BASES[newest.basis],
        url,
        place,
        [] if several else kinds,
        " ".join(f"{kind.key}@{labels.number(run)}" for kind, run in pairs if kind is not None),
    )


@dataclass(frozen=True, slots=True)
class Passed:
    """The requirements of an area that passed wherever they apply, by the last parts of their ids."""

    area: str
    names: list[str]
    on: str


def passed_by_area(report: Report, labels: Labels) -> list[Passed]:
    """A row for each area in which something passed."""
    kinds: dict[str, set[Kind]] = {}
    runs: dict[str, dict[str, None]] = {}
    for run in report.runs:
        for judged in run.verdicts:
            kinds.setdefault(judged.requirement.id, set()).add(kind_of(judged))
            if judged.verdict is Verdict.PASSED:
                runs.setdefault(judged.requirement.area, {})[named(run)] = None
    fine = {PASSED, NOT_APPLICABLE}
    found: dict[str, list[str]] = {}
    for identifier in sorted(name for name, of in kinds.items() if PASSED in of and of <= fine):
        area, _, name = identifier.rpartition("/")
        found.setdefault(area, []).append(name)
    return [Passed(area, names, labels.on(PASSED, runs[area])) for area, names in found.items()]


@dataclass(frozen=True, slots=True)
class TallyView:
    """What one campaign did in one run."""

    run: str
    campaign: str
    frames: str
    answers: str
    restarts: int
    seed: int
    seconds: str
    note: str


def tally_views(report: Report) -> list[TallyView]:
    """A row for each campaign of each run."""
    return [
        TallyView(
            label(run),
            tally.campaign,
            f"{tally.frames} of {tally.planned}",
            told(", ".join(f"{number} {answer}" for answer, number in tally.answers.items())) or "none sent",
            tally.restarts,
            tally.seed,
            f"{tally.seconds:.1f} s",
            told(tally.note),
        )
        for run in report.runs
        for tally in run.tallies
    ]


@dataclass(frozen=True, slots=True)
class SlowView:
    """The time that the cases of one requirement took in one run."""

    requirement: str
    run: str
    seconds: str


def slowest(report: Report) -> list[SlowView]:
    """The requirements whose cases took longest."""
    times = [
        (judged.seconds, judged.requirement.id, label(run))
        for run in report.runs
        for judged in run.verdicts
        if judged.seconds >= QUICK
    ]
    times.sort(key=lambda row: (-row[0], *row[1:]))
    return [SlowView(requirement, run, f"{seconds:.2f} s") for seconds, requirement, run in times[:SLOWEST]]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Tools that were not called for one reason; `more` have no name here."""

    reason: str
    tools: list[str]
    more: int


def tools_left_out(report: Report) -> list[LeftOut]:
    """Why tools were not called."""
    return [
        LeftOut(told(why), [visible(tool) for tool in tools[:TOOLS]], max(0, len(tools) - TOOLS))
        for why, tools in left_out(report).items()
    ]
