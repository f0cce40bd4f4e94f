"""The report as the page has it. All texts are made visible and short here; the templates only place them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from conformance.engine.verdicts import EXIT_CLEAN, EXIT_VIOLATIONS, exit_status
from conformance.model import Extent, Report, Run, Severity, Target, Verdict
from conformance.reporters.grouping import blocks, by_reason, by_server, flaky
from conformance.reporters.html import kinds
from conformance.reporters.html.findings import Findings, FindingView, told
from conformance.reporters.html.kinds import Count, Kind, Labels
from conformance.reporters.html.tables import (
    NAME,
    REASONS,
    AreaRow,
    LeftOut,
    Passed,
    Reason,
    RuleRow,
    RunView,
    SlowView,
    TallyView,
    area_rows,
    passed_by_area,
    reasons,
    rule_rows,
    run_views,
    said,
    slowest,
    tally_views,
    tools_left_out,
)
from conformance.reporters.meaning import meaning
from conformance.reporters.words import address, covered, diagnosis_of, visible

NOTES = 100
TARGET = 300
"""Characters of a command line."""
FEW = 3
"""Servers of one page that are unfolded."""
MANY = 40
"""Requirements that were not tested; more of one kind are folded."""
ALONE = 2
"""Findings of one server that are so few that the first one is unfolded; of more, all are to be seen at a glance."""


@dataclass(frozen=True, slots=True)
class Status:
    """Whether a server, or all of them, passed: a word, a sign, and what it means."""

    key: str
    word: str
    sign: str
    meaning: str


def status(exit: int, meaning: str, runs: Iterable[Run]) -> Status:
    """The status that goes with an exit status, for what these runs have tested."""
    sentence = meaning[:1].upper() + meaning[1:]
    if exit == EXIT_CLEAN:
        return Status("passed", "Passed", kinds.PASSED.sign, sentence)
    if exit == EXIT_VIOLATIONS:
        return Status("failed", "Failed", kinds.VIOLATION.sign, sentence)
    verdicts = {judged.verdict for run in runs for judged in run.verdicts}
    tested = bool(verdicts & {Verdict.PASSED, Verdict.FAILED})
    return Status("untested", "Incomplete" if tested else "Not tested", kinds.INCONCLUSIVE.sign, sentence)


@dataclass(frozen=True, slots=True)
class Group:
    """All of one kind that is told in the same way: requirements that are broken, or reasons."""

    kind: Kind
    findings: list[FindingView]
    reasons: list[Reason]
    number: int
    more: int = 0
    unfolded: bool = True


@dataclass(frozen=True, slots=True)
class ServerView:
    """All about one server; `name` is "" if it is the only one."""

    id: str
    name: str
    status: Status
    problem: str
    said: str
    runs: list[RunView]
    areas: list[AreaRow]
    counts: list[Count]
    findings: list[Group]
    untested: list[Group]
    passed: list[Passed]
    left_out: list[LeftOut]
    tallies: list[TallyView]
    slow: list[SlowView]
    unfolded: bool

    @property
    def first(self) -> FindingView | None:
        """What is to be mended first: a cause comes before what follows from it, and violations before all else."""
        return next((finding for group in self.findings for finding in group.findings), None)

    @property
    def opened(self) -> str:
        """The id of the finding that is unfolded, "" if none is."""
        found = [finding for group in self.findings for finding in group.findings]
        return found[0].id if 0 < len(found) <= ALONE else ""

    def number(self, kind: Kind) -> int:
        """How many verdicts of this kind there are."""
        return next((number for each, number in self.counts if each is kind), 0)


@dataclass(frozen=True, slots=True)
class Page:
    """The whole page. `labels` are the runs by which it can be filtered; `summary` are words for the counts."""

    title: str
    version: str
    status: Status
    exit: int
    summary: str
    interrupted: bool
    problem: str
    advice: list[tuple[str, str]]
    facts: list[tuple[str, str]]
    notes: list[str]
    notes_left: int
    several: bool
    servers: list[ServerView]
    rules: list[RuleRow]
    labels: list[str]
    areas: list[str]
    counts: list[Count]

    @property
    def overview(self) -> list[ServerView]:
        """The servers, the worst first."""
        return _worst_first(self.servers)

    @property
    def foldable(self) -> bool:
        """Whether there are findings."""
        return any(server.first is not None for server in self.servers)

    @property
    def first(self) -> FindingView | None:
        """What is to be mended first in the first server."""
        return self.servers[0].first if self.servers else None


def page_of(report: Report, unwritten: bool) -> Page:
    """What the page shows of a report; `unwritten` says that another report could not be written."""
    several = bool(report.target.config)
    labels, findings = Labels(report), Findings(Labels(report))
    parts = {part.runs[0].name if part.runs else "": part for part in by_server(report)}
    names = list(dict.fromkeys([*parts, *report.problems])) if several else [""]
    servers = [
        _server(number, name, _part(report, parts, name), labels, findings)
        for number, name in enumerate(names, 1 if several else 0)
    ]
    verdicts = [judged for run in report.runs for judged in run.verdicts]
    means = "not every report could be written" if unwritten else meaning(report)
    return Page(
        title=_title(report, servers),
        version=visible(report.version),
        status=status(report.exit, means, report.runs),
        exit=report.exit,
        summary=_summary(report, servers),
        interrupted=not report.complete and not report.problem,
        problem=told(report.problem),
        advice=[(label, told(text)) for label, text in diagnosis_of(report)],
        facts=_facts(report),
        notes=[told(note) for note in report.notes[:NOTES]],
        notes_left=max(0, len(report.notes) - NOTES),
        several=several,
        servers=servers,
        rules=rule_rows(report, labels),
        labels=labels.all,
        areas=sorted({judged.requirement.area for judged in verdicts}),
        counts=kinds.counts(verdicts),
    )


def _part(report: Report, parts: Mapping[str, Report], name: str) -> Report:
    """What the report says of one server."""
    part = parts.get(name, replace(report, runs=()))
    if not report.target.config:
        return part
    return replace(part, problem=report.problems.get(name, ""), problems={}, complete=True)


def _server(number: int, name: str, part: Report, labels: Labels, findings: Findings) -> ServerView:
    prefix = f"server-{number}/" if part.target.config else ""
    groups = _findings(part, prefix, findings)
    places: dict[str, str] = {}
    for group in groups:
        for finding in group.findings:
            places.setdefault(finding.area, finding.id)
    verdicts = [judged for run in part.runs for judged in run.verdicts]
    exit = exit_status(part, part.fail_on)
    broken = {judged.requirement.id for judged in verdicts if judged.severity}
    return ServerView(
        id=prefix.rstrip("/") or "server",
        name=told(name, NAME),
        status=status(exit, meaning(replace(part, exit=exit, target=Target())), part.runs),
        problem=told(part.problem) if part.target.config else "",
        said=", ".join(dict.fromkeys(filter(None, map(said, part.runs)))),
        runs=run_views(part.runs),
        areas=area_rows(part, labels, places),
        counts=kinds.counts(verdicts),
        findings=groups,
        untested=[
            _untested(part, kind, labels, broken) for kind in (kinds.BLOCKED, kinds.INCONCLUSIVE, kinds.NOT_APPLICABLE)
        ],
        passed=passed_by_area(part, labels) if part.target.config else [],
        left_out=tools_left_out(part),
        tallies=tally_views(part),
        slow=slowest(part),
        unfolded=number <= FEW,
    )


def _findings(part: Report, prefix: str, findings: Findings) -> list[Group]:
    """The groups of what was found, the worst first; what is broken by us comes last."""
    blocked = by_reason(part, Verdict.BLOCKED)
    found = [
        (kind, blocks(part, severity))
        for kind, severity in (
            (kinds.VIOLATION, Severity.VIOLATION),
            (kinds.WARNING, Severity.WARNING),
            (kinds.ADVICE, Severity.ADVICE),
        )
    ]
    found.append((kinds.FLAKY, flaky(part)))
    groups = []
    for kind, broken in found:
        views = [findings.of(block, kind, prefix, blocked.get(block.judged.requirement.id, [])) for block in broken]
        groups.append(Group(kind, views, [], len(views)))
    for kind in (kinds.KNOWN, kinds.BROKEN):
        why = reasons(part, kind, findings.labels)
        groups.append(Group(kind, [], why, len(why)))
    return groups


def _untested(part: Report, kind: Kind, labels: Labels, broken: set[str]) -> Group:
    """What was not tested, by reason; what a broken requirement blocks is told with that."""
    found = reasons(part, kind, labels, broken)
    number = len({identifier for reason in found for identifier in reason.requirements})
    unfolded = kind is not kinds.NOT_APPLICABLE and number <= MANY and not part.target.config
    return Group(kind, [], found[:REASONS], number, max(0, len(found) - REASONS), unfolded)


def _title(report: Report, servers: list[ServerView]) -> str:
    target = report.target
    if target.config:
        return f"{len(servers)} server{'s' * (len(servers) != 1)} of {told(target.config, NAME)}"
    return servers[0].said or told(address(target), NAME)


def _facts(report: Report) -> list[tuple[str, str]]:
    """What was tested, when and with what: label and text."""
    target, known = report.target, report.known
    what = (
        ("Configuration", told(target.config, TARGET)) if target.config else ("Server", told(address(target), TARGET))
    )
    found = [
        what,
        ("Tested", f"{visible(report.started).replace('T', ' ').replace('+00:00', ' UTC')}, in {report.seconds:.1f} s"),
        *((f"In {text}", covered(extent)) for text, extent in _extents(report).items()),
        ("With", f"mcp-conform {visible(report.version)}"),
        ("Baseline", told("; ".join((known.path, *known.stale)), TARGET * 4) if known else ""),
        ("Fails on", f"{report.fail_on} and worse" if report.fail_on != "violation" else ""),
        (
            "Not tried",
            f"{', '.join(report.untried)}; --revision all tests them, as far as the server speaks them"
            if report.untried
            else "",
        ),
    ]
    return [(label, text) for label, text in found if text]


def _worst_first(servers: list[ServerView]) -> list[ServerView]:
    """Those that failed first, then those that could not be tested."""
    ranks = {"failed": 0, "untested": 1}
    return sorted(servers, key=lambda server: ranks.get(server.status.key, 2))


def _extents(report: Report) -> dict[str, Extent]:
    """How much of the specification is checked, by what the runs are called."""
    return {f"{run.revision} over {run.transport}": run.extent for run in report.runs}


def _summary(report: Report, servers: list[ServerView]) -> str:
    """`3 violations of 2 requirements, 1 warning, 484 passed`; of several servers how many of them passed."""
    if report.target.config:
        statuses = Counter(server.status.word for server in _worst_first(servers))
        return ", ".join(f"{number} {word.lower()}" for word, number in statuses.items()) or "there is no server"
    verdicts = [judged for run in report.runs for judged in run.verdicts]
    words = []
    for kind, number in kinds.counts(verdicts):
        severity = next((each for each in Severity if each.value == kind.key), None)
        if severity is None:
            words.append(kind.words(number))
            continue
        of = sum(len(blocks(part, severity)) for part in by_server(report))
        distinct = "" if of == number else f" of {of} requirement{'s' * (of != 1)}"
        words.append(kind.words(number) + distinct)
    return ", ".join(words) or "nothing was tested"
