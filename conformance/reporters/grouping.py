"""One cause told once: findings of several runs put together, blocked and inconclusive verdicts under their reasons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from conformance.model import Finding, Judged, Report, Run, Severity, Verdict
from conformance.reporters.words import shortened, visible

LONGEST_NAME = 64
"""Characters of the name of a tool that are shown."""


@dataclass(slots=True)
class Item:
    """A finding, the runs in which the same one came up, and the other cases that showed it too."""

    finding: Finding
    runs: list[str]
    others: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Block:
    """A requirement that is broken, with its findings of all runs. `judged` is the verdict of the newest run."""

    judged: Judged
    runs: list[str]
    items: list[Item] = field(default_factory=list)


def named(run: Run) -> str:
    """How a run is called: `2025-11-25 stdio`, after the name of the server if there are several."""
    return " ".join(part for part in (visible(run.name), run.revision, run.transport) if part)


def by_server(report: Report) -> list[Report]:
    """The report, or of several servers one for each with runs, since what they break is not the same thing."""
    if not report.target.config:
        return [report]
    names = dict.fromkeys(run.name for run in report.runs)
    return [replace(report, runs=tuple(run for run in report.runs if run.name == name)) for name in names]


def blocks(report: Report, severity: Severity) -> list[Block]:
    """The requirements that are broken with this severity, in the order of the runs' verdicts; not what is known."""
    return _blocks(report, lambda judged: judged.findings if judged.severity is severity and not judged.known else None)


def flaky(report: Report) -> list[Block]:
    """The requirements with findings that did not show themselves twice, in the order of the runs' verdicts."""
    return _blocks(report, lambda judged: judged.flaky or None)


def _blocks(report: Report, told: Callable[[Judged], tuple[Finding, ...] | None]) -> list[Block]:
    """A block for each requirement of which there is something `told`, which may be nothing but that."""
    found: dict[str, Block] = {}
    for run in reversed(report.runs):
        for judged in run.verdicts:
            if (findings := told(judged)) is not None:
                block = found.setdefault(judged.requirement.id, Block(judged, []))
                block.runs.insert(0, named(run))
                for finding in findings:
                    _add(block, finding, named(run))
    return list(found.values())


def _add(block: Block, finding: Finding, run: str) -> None:
    for item in block.items:
        if item.finding.message == finding.message:
            if run not in item.runs:
                item.runs.insert(0, run)
            if finding.case not in (item.finding.case, *item.others):
                item.others.append(finding.case)
            return
    block.items.append(Item(finding, [run]))


def known(report: Report) -> Mapping[str, list[str]]:
    """Reason → requirements whose failure is accepted for it, each once."""
    return _under(report, lambda judged: judged.known or None)


def by_reason(report: Report, verdict: Verdict) -> Mapping[str, list[str]]:
    """Reason → requirements with this verdict for it, each once."""
    # What is flaky is told with its trace.
    return _under(report, lambda judged: judged.reason if judged.verdict is verdict and not judged.flaky else None)


def blocked_by_others(report: Report) -> Mapping[str, list[str]]:
    """Reason → requirements blocked for it; without those blocked by a broken one, which are told with that."""
    broken = {judged.requirement.id for run in report.runs for judged in run.verdicts if judged.severity}
    return {why: ids for why, ids in by_reason(report, Verdict.BLOCKED).items() if why not in broken}


def _under(report: Report, reason: Callable[[Judged], str | None]) -> Mapping[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for run in report.runs:
        for judged in run.verdicts:
            if (why := reason(judged)) is not None:
                found.setdefault(why, {})[judged.requirement.id] = None
    return {why: list(identifiers) for why, identifiers in found.items()}


def left_out(report: Report) -> Mapping[str, list[str]]:
    """Reason → tools that were left out for it, each once, with names that are shortened."""
    found: dict[str, dict[str, None]] = {}
    for run in report.runs:
        for name, why in run.left_out.items():
            found.setdefault(why, {})[shortened(name, LONGEST_NAME)] = None
    return {why: list(names) for why, names in found.items()}


def areas(report: Report) -> list[str]:
    """All areas in which anything but blocked is a verdict: what blocks the others is told once."""
    verdicts = [judged for run in report.runs for judged in run.verdicts]
    return sorted({judged.requirement.area for judged in verdicts if judged.verdict is not Verdict.BLOCKED})
