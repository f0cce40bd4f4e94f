"""What checks each requirement: invariants, cases, probes, campaigns."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from conformance.catalogue.case_files import load_cases
from conformance.catalogue.case_names import Known
from conformance.catalogue.cases import Case
from conformance.catalogue.requirements import applies, load
from conformance.checks.fuzz import CAMPAIGNS
from conformance.checks.invariants import load_invariants
from conformance.checks.probes import Probe, load_probes
from conformance.files.places import CASES
from conformance.model import Extent, Requirement
from conformance.survey.picks import PICKS


@cache
def probes() -> dict[str, Probe]:
    """All probes and campaigns by name."""
    return {**load_probes(), **CAMPAIGNS}


@cache
def cases() -> tuple[Case, ...]:
    """All cases of the suite."""
    return load_cases(CASES, known())


def known(own: dict[str, Requirement] | None = None) -> Known:
    """The names that cases may use, with `own` for cases of the user."""
    return Known(load(), set(PICKS), probes(), own, judged_by_invariants())


@cache
def judged_by_invariants() -> frozenset[str]:
    """Ids of the requirements that an invariant may judge."""
    return frozenset(identifier for each in load_invariants() for identifier in each.requirements)


@cache
def checks() -> dict[str, tuple[str, ...]]:
    """Requirement id → names of what checks it: "invariant envelope", "case tools/unknown-tool", "probe tools.walk"."""
    found: dict[str, list[str]] = {}
    for invariant in load_invariants():
        for identifier in invariant.requirements:
            found.setdefault(identifier, []).append(f"invariant {invariant.name}")
    for case in cases():
        for identifier in case.requirements:
            found.setdefault(identifier, []).append(f"case {case.id}")
        for step in case.plain_steps:
            if step.kind == "probe":
                for identifier in step.judges:
                    found[identifier].append(f"probe {step.probe}")
    return {identifier: tuple(dict.fromkeys(names)) for identifier, names in found.items()}


@cache
def extent(revision: str, transport: str) -> Extent:
    """How much of the specification is checked in a revision over a transport."""
    known = checks()
    there = [each for each in load().values() if applies(each, revision, transport)]
    unobservable = sum(bool(each.unobservable) for each in there)
    checked = sum(each.id in known and not each.unobservable for each in there)
    return Extent(checked, unobservable, len(there) - unobservable - checked)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How much of what cases decide can be read in them: numbers of cases, ids of requirements.

    `decided` by cases, campaigns left out; `by_yaml` those of them that an expectation in a case decides, of what a
    probe has observed perhaps.
    """

    cases: int
    without_probes: int
    decided: frozenset[str]
    by_yaml: frozenset[str]


@cache
def coverage() -> Coverage:
    """What the cases of the suite cover."""
    steps = [step for case in cases() for step in case.plain_steps if step.probe not in CAMPAIGNS]
    return Coverage(
        cases=len(cases()),
        without_probes=sum(not any(step.kind == "probe" for step in case.plain_steps) for case in cases()),
        decided=frozenset(identifier for step in steps for identifier in step.judges),
        by_yaml=frozenset(expectation.requirement for step in steps for expectation in step.expect),
    )
