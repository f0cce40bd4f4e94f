"""Which cases are played and which requirements reported: the patterns of `--only` and `--skip`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import cached_property

from conformance.catalogue.cases import Case
from conformance.catalogue.requirements import near
from conformance.model import UsageError

CAMPAIGNS = "fuzz"
"""The area of the cases that play campaigns."""
JOINT = ":"
"""Between a case and a requirement."""


@dataclass(frozen=True, slots=True)
class Selection:
    """The cases to play, and the ids of the requirements to report."""

    cases: tuple[Case, ...]
    requirements: frozenset[str]


def select(
    cases: Iterable[Case],
    requirements: Iterable[str],
    only: Iterable[str] = (),
    skip: Iterable[str] = (),
    *,
    invariant: Collection[str] = frozenset(),
    extra: Collection[str] = (),
) -> Selection:
    """What the patterns `only` (none: everything) and `skip` leave. They are globs over areas and ids.

    A pattern that matches requirements, by id or area, means those: the cases that judge them are played, and only they
    are reported. A pattern that is the id of a case, or matches cases and no requirement, means the cases: they are
    played, and all that they judge is reported. `invariant` are the requirements that are judged whatever is said:
    they are reported with any case, and one that is meant itself is put to the test by the cases of its area and by
    all that share a session. `extra` are names of what is said outside of cases, which can be meant like cases.
    `CASE:REQUIREMENT`, for `only`, means the case, and of what it finds only what is about the requirement.

    Raises UsageError for a pattern that matches nothing, and if nothing is left.
    """
    index = _Index(tuple(cases), frozenset(requirements), frozenset(invariant), frozenset(extra))
    included = [index.meant(pattern) for pattern in only]
    wanted = _Meant(
        frozenset().union(*(meant.requirements for meant in included)),
        frozenset().union(*(meant.cases for meant in included)),
    )
    if pair := next((pattern for pattern in skip if JOINT in pattern), None):
        raise UsageError(f"{pair!r} is for --only; --skip takes an area, a requirement or a case")
    excluded = [index.meant(pattern) for pattern in skip]
    report = frozenset().union(*(index.reported(meant) for meant in included)) if included else index.requirements
    report -= frozenset().union(*(meant.requirements for meant in excluded))
    skipped = frozenset().union(*(meant.cases for meant in excluded))
    played = tuple(
        case
        for case in index.cases
        if (not included or index.plays(case, wanted)) and case.id not in skipped and not _judges_only(case, excluded)
    )
    if skipped:
        report -= _judged(index.cases) - _judged(played) - index.invariant
    if not report:
        raise UsageError("the patterns leave nothing to test")
    return Selection(played, report)


def without_campaigns(selection: Selection) -> Selection:
    """The same without the fuzz campaigns. Raises UsageError if they were all of it."""
    played = tuple(case for case in selection.cases if case.area != CAMPAIGNS)
    if selection.cases and not played:
        raise UsageError("--fuzz 0 leaves nothing to test: only campaigns were asked for")
    return replace(selection, cases=played)


def quick(selection: Selection, invariant: Collection[str]) -> Selection:
    """What one ordinary session tells at once: no other processes, no waiting, no campaigns.

    Requirements that only what is left out judges are not reported; `invariant` are judged in any session. Raises
    UsageError if nothing is left.
    """
    one = (case for case in selection.cases if case.shares and not (case.waits or case.client))
    played = tuple(replace(case, lane="") for case in one)
    if selection.cases and not played:
        raise UsageError("--quick leaves nothing to test: what was asked for takes more than one session")
    lost = _judged(selection.cases) - _judged(played) - frozenset(invariant)
    return Selection(played, selection.requirements - lost)


def harmless(selection: Selection, invariant: Collection[str], own: Collection[str]) -> Selection:
    """The same without the cases that may hurt the server, but for those of the ids `own`.

    Requirements that only what is left out judges are not reported; `invariant` are judged in any session. Raises
    UsageError if nothing is left.
    """
    played = tuple(case for case in selection.cases if not case.harmful or case.id in own)
    if selection.cases and not played:
        raise UsageError(
            "what was asked for may hurt the server, which mcp-conform did not start: --harmful plays it all the same"
        )
    lost = _judged(selection.cases) - _judged(played) - frozenset(invariant)
    return Selection(played, selection.requirements - lost)


def narrowed(selection: Selection, wanted: Collection[str], invariant: Collection[str]) -> Selection:
    """What of a selection puts the requirements `wanted` to the test, as `select` has it; they alone are reported."""
    meant = _Meant(frozenset(wanted) & selection.requirements, frozenset())
    index = _Index(selection.cases, selection.requirements, frozenset(invariant), frozenset())
    return Selection(tuple(case for case in selection.cases if index.plays(case, meant)), meant.requirements)


def _judged(cases: Iterable[Case]) -> frozenset[str]:
    return frozenset(identifier for case in cases for identifier in case.requirements)


def _judges_only(case: Case, excluded: Iterable[_Meant]) -> bool:
    return set(case.requirements) <= frozenset().union(*(meant.requirements for meant in excluded))


@dataclass(frozen=True, slots=True)
class _Meant:
    """The ids that one pattern means; `cases` also has those of `extra`. `about` limits what is reported."""

    requirements: frozenset[str]
    cases: frozenset[str]
    about: frozenset[str] = frozenset()


@dataclass(frozen=True)
class _Index:
    cases: tuple[Case, ...]
    requirements: frozenset[str]
    invariant: frozenset[str]
    extra: frozenset[str]

    @cached_property
    def ids(self) -> frozenset[str]:
        """All that can be meant as a case."""
        return self.extra.union(case.id for case in self.cases)

    @cached_property
    def _requirements_below(self) -> dict[str, set[str]]:
        return _below(self.requirements)

    @cached_property
    def _ids_below(self) -> dict[str, set[str]]:
        return _below(self.ids)

    def meant(self, pattern: str) -> _Meant:
        """Raises UsageError if that is nothing."""
        if JOINT in pattern:
            case, _, requirement = pattern.partition(JOINT)
            pair = _Meant(frozenset(), self.meant(case).cases, self.meant(requirement).requirements)
            if not (pair.cases and pair.about):
                raise UsageError(f"{pattern!r} is not of the form CASE:REQUIREMENT")
            return pair
        requirements = _matching(pattern, self._requirements_below)
        if requirements:
            return _Meant(requirements, self.ids & {pattern})
        cases = _matching(pattern, self._ids_below)
        if not cases:
            names = self.requirements | self.ids
            raise UsageError(f"nothing matches {pattern!r}{near(pattern, names | set(map(_area, names)))}")
        return _Meant(requirements, cases)

    def reported(self, meant: _Meant) -> frozenset[str]:
        """The requirements to report if that is asked for."""
        if meant.about:
            return meant.about
        judged = _judged(case for case in self.cases if case.id in meant.cases)
        return meant.requirements | judged | (self.invariant if meant.cases else frozenset())

    def plays(self, case: Case, meant: _Meant) -> bool:
        """Whether `case` is played if that is asked for."""
        if case.id in meant.cases or meant.requirements & set(case.requirements):
            return True
        watched = meant.requirements & self.invariant
        return bool(watched) and (case.shares or case.area in set(map(_area, watched)))


def _area(identifier: str) -> str:
    return identifier.rpartition("/")[0]


def _below(names: Iterable[str]) -> dict[str, set[str]]:
    """Each name, and each folder that holds some → those it means."""
    below: dict[str, set[str]] = {}
    for name in names:
        parts = name.split("/")
        for end in range(len(parts)):
            below.setdefault("/".join(parts[: end + 1]), set()).add(name)
    return below


def _matching(pattern: str, below: Mapping[str, set[str]]) -> frozenset[str]:
    if not set(pattern) & set("*?["):
        return frozenset(below.get(pattern, ()))
    return frozenset().union(*(names for name, names in below.items() if fnmatchcase(name, pattern)))
