"""What the suite knows of each requirement: one source for `list`, `explain` and the pages of the site."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from conformance.catalogue import mistakes, sdks
from conformance.catalogue.case_text import case_texts
from conformance.catalogue.cases import Case
from conformance.catalogue.requirements import areas, load
from conformance.checks import registry
from conformance.checks.invariants import load_invariants
from conformance.checks.profiles import rules as profiles
from conformance.engine.verdicts import severity_of
from conformance.model import Basis, Json, Level, Requirement, Severity

CHECKED, UNOBSERVABLE, NOT_YET = "checked", "unobservable", "not yet"
STATES = (CHECKED, UNOBSERVABLE, NOT_YET)


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of one requirement.

    `checks` are the names of what checks it, as in `registry.checks`, or the profiles with which a rule for clients is
    checked. `cases` are those among them, `faults` the rows of the reference server's list that are made for it.
    """

    requirement: Requirement
    checks: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    faults: tuple[Json, ...] = ()
    mistakes: tuple[mistakes.Mistake, ...] = ()
    sdks: tuple[sdks.SdkNote, ...] = ()

    @property
    def state(self) -> str:
        """One of STATES."""
        if self.requirement.unobservable:
            return UNOBSERVABLE
        return CHECKED if self.checks else NOT_YET

    @property
    def for_clients(self) -> bool:
        """Whether it is a rule for clients, which is the same in every revision."""
        return Basis.CLIENT in self.requirement.bases.values()

    def named(self, kind: str) -> tuple[str, ...]:
        """The names of the checks of a kind: invariant, case, probe or profile."""
        return tuple(check.removeprefix(f"{kind} ") for check in self.checks if check.startswith(f"{kind} "))

    def severity(self, revision: str) -> Severity | None:
        """What a finding weighs at most; None if there can be none."""
        if self.state != CHECKED or self.requirement.levels[revision] is Level.MAY:
            return None
        return severity_of(self.requirement, revision)


class Catalogue:
    """Everything that may be asked for; `faults` are the rows of the reference server's list of faults."""

    def __init__(self, faults: Iterable[Json] = ()) -> None:
        self._faults: dict[str, list[Json]] = {}
        for row in faults:
            self._faults.setdefault(row["requirements"][0], []).append(row)

    @cached_property
    def requirements(self) -> Mapping[str, Requirement]:
        """Those of the specification, by id, in their order."""
        return load()

    @cached_property
    def rules(self) -> Mapping[str, Requirement]:
        """The rules for clients, by id."""
        return profiles.requirements(profiles.load()[1])

    @cached_property
    def cases(self) -> Mapping[str, Case]:
        """All cases of the suite, by id."""
        return {case.id: case for case in registry.cases()}

    @property
    def case_texts(self) -> Mapping[str, str]:
        """The YAML of each case, by id."""
        return case_texts()

    @cached_property
    def areas(self) -> Mapping[str, str]:
        """The areas of the requirements and of the rules for clients, with their titles."""
        return {**areas(), profiles.AREA: "Advice for clients"}

    @cached_property
    def invariants(self) -> Mapping[str, str]:
        """What each invariant watches, in a sentence, by its name."""
        return {each.name: _summary(each.__module__) for each in load_invariants()}

    def within(self, area: str) -> tuple[Known, ...]:
        """What is known of each requirement or rule of an area."""
        return tuple(self.of(name) for name, each in {**self.requirements, **self.rules}.items() if each.area == area)

    def of(self, identifier: str) -> Known:
        """What is known of a requirement or rule. Raises KeyError."""
        requirement = self.requirements.get(identifier) or self.rules[identifier]
        checks = self._checks.get(identifier, ())
        return Known(
            requirement=requirement,
            checks=checks,
            cases=tuple(self.cases[name.removeprefix("case ")] for name in checks if name.startswith("case ")),
            faults=tuple(self._faults.get(identifier, ())),
            mistakes=mistakes.about(identifier),
            sdks=sdks.about(identifier),
        )

    @cached_property
    def _checks(self) -> Mapping[str, tuple[str, ...]]:
        return {**registry.checks(), **profiles.checked_by(profiles.load()[1])}


def _summary(module: str) -> str:
    """The first sentence of what a module says of itself, without its name."""
    told = (sys.modules[module].__doc__ or "").split("\n\n")[0]
    return " ".join(told.split()).partition(": ")[2].rstrip(".") or " ".join(told.split()).rstrip(".")


def flat(text: str) -> str:
    """`text` on one line."""
    return " ".join(text.split())
