"""Items from the catalogue: server, revision, requirement. Nothing is started to make them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from conformance.checks.registry import judged_by_invariants
from conformance.engine.candidates import usual
from conformance.engine.runner import Runner
from conformance.model import Level, Requirement, UsageError
from conformance.pytest_plugin.ids import ROOT, chosen, meant, missing
from conformance.pytest_plugin.options import Server, servers
from conformance.pytest_plugin.runs import Row, SlotRun, Trouble
from conformance.pytest_plugin.warning import ConformanceWarning
from conformance.reporters.words import visible
from conformance.revisions import ALL, BY_DATE, CHOICES, HANDSHAKE, NEWEST, REVISIONS, STATELESS

ERAS = {"handshake": HANDSHAKE, "stateless": STATELESS}


@dataclass(frozen=True, slots=True)
class Slot:
    """Which revision is tested, as far as that is known before the server is asked.

    `label` is a date, `newest`, or an era: the newest revision of it that the server speaks. It may be one of `dates`.
    `revisions` and `within` are those of Options.
    """

    label: str
    dates: tuple[str, ...]
    revisions: tuple[str, ...] = ()
    within: frozenset[str] = frozenset()


def slots(revisions: Iterable[str], transport: str) -> list[Slot]:
    """The slots for what the user chose, as Options has it."""
    there = [r.date for r in REVISIONS if r.carried_by(transport)]
    wanted = tuple(dict.fromkeys(revisions)) or usual(transport)
    if not wanted:
        return [slot for era in ERAS if (slot := _slot(era, there)) is not None]
    if ALL in wanted:
        return [Slot(date, (date,), (ALL,), frozenset((date,))) for date in there]
    return [slot for label in wanted if (slot := _slot(label, there)) is not None]


def _slot(label: str, there: list[str]) -> Slot | None:
    """The slot of that label; None if it cannot be one, or there is none over the transport with the dates `there`."""
    if label in ERAS:
        dates = tuple(r.date for r in ERAS[label] if r.date in there)
        return Slot(label, dates, (), frozenset(dates)) if dates else None
    if label == NEWEST:
        return Slot(label, tuple(there), (NEWEST,))
    return Slot(label, (label,), (label,)) if label in BY_DATE else None


class Plan:
    """All that there is to test. Raises pytest.UsageError for what the user got wrong."""

    def __init__(self, config: pytest.Config, folder: str = "") -> None:
        """`folder` is where processes that share the work leave results for each other, "" if this one is alone."""
        self.config = config
        self.servers, self.notes = servers(config)
        self.notes = [visible(note) for note in self.notes]
        """What is left out of the tests, and why; one line each."""
        self.chosen = chosen(config)
        self.runs: list[SlotRun] = []
        self._requirements: dict[str, list[Requirement]] = {}
        for server in self.servers if self.chosen is not None else ():
            self._add(server, folder)
        there = [f"{run.name}::{each.id}" for run in self.runs for each in self._requirements[run.name]]
        if lost := missing(self.chosen or (), there):
            raise pytest.UsageError("\n".join(f"not found: {visible(each)}" for each in lost))

    def _add(self, server: Server, folder: str) -> None:
        unknown = [date for date in server.options.revisions if date not in CHOICES]
        if unknown:
            raise pytest.UsageError(
                f"mcp-conform: unknown revision {visible(unknown[0])}; there are {', '.join(CHOICES)}"
            )
        try:
            runner = Runner(server.target, server.options)
        except UsageError as error:
            raise pytest.UsageError(f"mcp-conform: {visible(str(error))}") from None
        self.notes += [visible(f"{server.name}: {note}" if server.name else note) for note in runner.report().notes]
        transport = server.target.transport
        found = slots(server.options.revisions, transport)
        there = [r.date for r in REVISIONS if r.carried_by(transport)]
        prefix = f"{ROOT}::{_plain(server.name)}" if server.name else ROOT
        # An id that is pasted back names its revision, whatever the options say now.
        labels = [each.removeprefix(f"{prefix}::").split("::")[0] for each in self.chosen or ()]
        for label in dict.fromkeys(labels):
            if label not in {slot.label for slot in found} and (slot := _slot(label, there)) is not None:
                found.append(slot)
        trouble = Trouble(server.problem)
        for slot in found:
            name = f"{prefix}::{slot.label}::{transport}"
            options = replace(server.options, revisions=slot.revisions, within=slot.within)
            run = SlotRun(name, replace(server, options=options), slot.dates, runner, trouble)
            run.folder = folder
            self.runs.append(run)
            self._requirements[name] = _in_order(run.reportable())

    def collect(self, session: pytest.Session) -> list[pytest.Item]:
        """The items that were asked for."""
        if self.chosen is None:
            return []
        root = Group.from_parent(session, name=ROOT, nodeid=ROOT, plan=self, runs=self.runs, depth=1)
        return [item for item in session.genitems(root) if isinstance(item, pytest.Item)]

    def wanted(self, run: SlotRun) -> list[Requirement]:
        """What was asked for of a run, in the order in which it is put to the test."""
        every = self._requirements[run.name]
        ids = self.chosen or [run.name]
        return [each for each in every if any(meant(f"{run.name}::{each.id}", given) for given in ids)]

    def expect(self, items: Iterable[pytest.Item]) -> None:
        """These items are left, and will be asked for in this order, until one fails that ends the session."""
        option = self.config.option
        hasty = bool(getattr(option, "maxfail", 0) or getattr(option, "stepwise", False))
        for run in self.runs:
            run.expect([i.requirement.id for i in items if isinstance(i, RequirementItem) and i.run is run], hasty)


def _in_order(requirements: Iterable[Requirement]) -> list[Requirement]:
    """What is judged on every frame comes last: all the others must have been played."""
    invariant = judged_by_invariants()
    return sorted(requirements, key=lambda requirement: requirement.id in invariant)


class Group(pytest.Collector):
    """What begins with the same words in its id: all that we collect, a server, a revision, a transport."""

    def __init__(self, *, plan: Plan, runs: Sequence[SlotRun], depth: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.plan = plan
        self.runs = runs
        self.depth = depth

    def collect(self) -> Iterator[pytest.Item | pytest.Collector]:
        """The next level or, in the last one, an item for each requirement that can be put to the test."""
        below: dict[str, list[SlotRun]] = {}
        for run in self.runs:
            words = run.name.split("::")
            if len(words) > self.depth:
                below.setdefault(words[self.depth], []).append(run)
                continue
            for requirement in self.plan.wanted(run):
                yield RequirementItem.from_parent(self, name=requirement.id, run=run, requirement=requirement)
        for word, runs in below.items():
            yield Group.from_parent(self, name=word, plan=self.plan, runs=runs, depth=self.depth + 1)


class RequirementItem(pytest.Item):
    """The verdict on one requirement in one run."""

    def __init__(self, *, run: SlotRun, requirement: Requirement, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.run = run
        self.requirement = requirement
        self.row: Row | None = None
        level = requirement.levels[next(date for date in reversed(run.dates) if date in requirement.levels)]
        self.add_marker(pytest.mark.mcp_area(name=requirement.area))
        self.add_marker(pytest.mark.mcp_level(name=str(level)))
        if level in (Level.MUST, Level.MUST_NOT):
            self.add_marker(pytest.mark.mcp_must)
        if self.config.pluginmanager.hasplugin("xdist"):
            self.add_marker(pytest.mark.xdist_group(run.name))

    def setup(self) -> None:
        """Have the server tested, if it has not been: what cannot be tested is an error, and no failure."""
        row = self.row = self.run.row(self.requirement.id)
        if note := self.run.note():
            self.warn(ConformanceWarning(note))
        self.user_properties.append(("mcp_verdict", row.verdict))
        if row.revision:
            self.user_properties.append(("mcp_revision", row.revision))
        if row.outcome == "error":
            pytest.fail(row.text, pytrace=False)
        if row.outcome == "skipped":
            pytest.skip(row.text)
        server = self.run.server
        baseline = server.options.baseline
        if baseline and (known := baseline.known(self.requirement.id, row.revision, server.name)):
            # One for all revisions may be gone in some of them.
            self.add_marker(pytest.mark.xfail(reason=known.reason, strict=known.revision != ""))

    def runtest(self) -> None:
        """Tell the verdict in pytest's terms; what fails nobody is a warning, or a section of the report."""
        row = self.row
        if row is None or not row.text:
            return
        if row.outcome == "failed":
            pytest.fail(row.text, pytrace=False)
        self.add_report_section("call", f"mcp-conform {row.severity}", row.text)
        if row.severity == "warning":
            self.warn(ConformanceWarning(row.summary))

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """The finding without a traceback: ours would say nothing about the server."""
        if self.row is not None and isinstance(excinfo.value, ConformanceWarning):
            return self.row.text
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int, str]:
        """How pytest names the item: by its id, which can be pasted."""
        return self.config.rootpath / ROOT, 0, self.nodeid


def _plain(name: str) -> str:
    """The name of a server as a part of an id."""
    return re.sub(r":{2,}", ":", visible(name)).strip(":").translate({ord("["): "(", ord("]"): ")"}) or "server"
