"""Cases: YAML → Case, checked against schemas/case.json and against what the suite has; selection."""

from __future__ import annotations

import difflib
import fnmatch
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal, Protocol

from conformance.data import SCHEMAS
from conformance.expect import ABSENT, check_pattern
from conformance.model import Json, Requirement
from conformance.yaml_files import FileError, Lines, line_of, load

Subject = Literal["response", "notifications", "nothing", "alive", "status", "headers"]
SUBJECTS: tuple[Subject, ...] = ("response", "notifications", "nothing", "alive", "status", "headers")

Kind = Literal["request", "notify", "raw", "http", "batch", "close", "probe"]


@dataclass(frozen=True, slots=True)
class Expectation:
    """One thing that a step expects, and the requirement that is broken if it does not come.

    `severity` softens. `silence` says what no response means: "" a failure of its own, "allowed" or "inconclusive".
    """

    requirement: str
    subject: Subject
    pattern: Json
    severity: str = ""
    silence: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a case. Which members mean something depends on `kind`; `judges` are the requirements it may judge."""

    kind: Kind
    judges: tuple[str, ...] = ()
    method: str = ""
    params: Json = ABSENT
    id: Json = ABSENT
    illegal: bool = False
    meta: bool = True
    headers: Mapping[str, str] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""
    raw64: str = ""
    batch: tuple[Json, ...] = ()
    probe: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    expect: tuple[Expectation, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A scripted conversation. `requires` are server capabilities: all of them, any one of each inner tuple."""

    id: str
    title: str
    steps: tuple[Step, ...]
    requires: tuple[tuple[str, ...], ...] = ()
    since: str | None = None
    until: str | None = None
    eras: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    client: Json = field(default_factory=dict)
    isolation: str = "shared"
    open: bool = True
    harmful: bool = False

    @property
    def area(self) -> str:
        """The part of the id before the slash."""
        return self.id.partition("/")[0]

    @property
    def requirements(self) -> tuple[str, ...]:
        """All requirements that the case may judge."""
        return tuple(dict.fromkeys(identifier for step in self.steps for identifier in step.judges))


class Judges(Protocol):
    """What a probe says about itself."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """The requirements that it may judge."""


def load_cases(
    folder: Path, requirements: Mapping[str, Requirement], picks: Collection[str], probes: Mapping[str, Judges]
) -> tuple[Case, ...]:
    """All cases of the YAML files in `folder`. Raises FileError, with file, line and what is allowed."""
    cases: dict[str, Case] = {}
    for path in sorted(folder.glob("*.yaml")):
        reader = _Reader(path, requirements, picks, probes)
        for case in reader.read():
            if case.id in cases:
                raise FileError(path, 1, f"the case {case.id} stands twice")
            cases[case.id] = case
    return tuple(cases.values())


@cache
def _validator() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads((SCHEMAS / "case.json").read_text()))


class _Reader:
    """Reads one file of cases."""

    def __init__(
        self,
        path: Path,
        requirements: Mapping[str, Requirement],
        picks: Collection[str],
        probes: Mapping[str, Judges],
    ) -> None:
        self.path = path
        self.requirements = requirements
        self.picks = picks
        self.probes = probes
        self.lines: Lines = {}

    def read(self) -> Iterator[Case]:
        data, self.lines = load(self.path)
        for error in _validator().iter_errors(data):
            raise self._error(tuple(error.absolute_path), _explain(error))
        for i, case in enumerate(data["cases"]):
            yield self._case(data["area"], case, ("cases", i))

    def _error(self, where: Iterable[str | int], what: str) -> FileError:
        return FileError(self.path, line_of(self.lines, where), what)

    def _case(self, area: str, case: dict[str, Json], where: tuple[str | int, ...]) -> Case:
        requires = tuple((r,) if isinstance(r, str) else tuple(r) for r in case.get("requires", ()))
        plain = {
            name: case[name] for name in ("since", "until", "client", "isolation", "open", "harmful") if name in case
        }
        steps = tuple(self._step(step, (*where, "steps", i)) for i, step in enumerate(case["steps"]))
        return Case(
            id=f"{area}/{case['id']}",
            title=case["title"],
            steps=steps,
            requires=requires,
            eras=tuple(case.get("eras", ())),
            transports=tuple(case.get("transports", ())),
            **plain,
        )

    def _step(self, step: dict[str, Json], where: tuple[str | int, ...]) -> Step:
        kind: Kind = "raw" if "raw64" in step else next(k for k in Kind.__args__ if k in step)  # type: ignore[attr-defined]
        self._check_picks(step.get("params"), (*where, "params"))
        expect = tuple(self._expectation(e, (*where, "expect", i)) for i, e in enumerate(step.get("expect", ())))
        http = step.get("http", {})
        probe = str(step.get("probe", ""))
        judges: tuple[str, ...] = tuple(dict.fromkeys(e.requirement for e in expect))
        if probe:
            if probe not in self.probes:
                raise self._error((*where, "probe"), f"there is no probe {probe}{_nearest(probe, self.probes)}")
            judges = self.probes[probe].requirements
            for identifier in judges:
                self._check_requirement(identifier, (*where, "probe"))
        return Step(
            kind=kind,
            judges=judges,
            method=str(http.get("method", "POST")) if kind == "http" else str(step.get(kind, "")),
            params=step.get("params", ABSENT),
            id=step.get("id", ABSENT),
            illegal=kind in ("raw", "http") or step.get("illegal", False),
            meta=step.get("meta", True),
            headers=http.get("headers", step.get("headers", {})),
            save=step.get("save", {}),
            raw=str(http.get("body", step.get("raw", ""))),
            raw64=str(http.get("body64", step.get("raw64", ""))),
            batch=tuple(step.get("batch", ())),
            probe=probe,
            settings=step.get("with", {}),
            expect=expect,
        )

    def _expectation(self, entry: dict[str, Json], where: tuple[str | int, ...]) -> Expectation:
        subject = next(subject for subject in SUBJECTS if subject in entry)
        self._check_requirement(entry["requirement"], (*where, "requirement"))
        for flaw in check_pattern(entry[subject]):
            raise self._error((*where, subject, *flaw.place), flaw.what)
        return Expectation(
            requirement=entry["requirement"],
            subject=subject,
            pattern=entry[subject],
            severity=entry.get("severity", ""),
            silence=entry.get("silence", ""),
            message=entry.get("message", ""),
        )

    def _check_requirement(self, identifier: str, where: Iterable[str | int]) -> None:
        if identifier not in self.requirements:
            near = _nearest(identifier, self.requirements)
            raise self._error(where, f"there is no requirement {identifier}{near}")

    def _check_picks(self, value: Json, where: tuple[str | int, ...]) -> None:
        if isinstance(value, list):
            for i, element in enumerate(value):
                self._check_picks(element, (*where, i))
        if not isinstance(value, dict):
            return
        if "$pick" in value and value["$pick"] not in self.picks:
            raise self._error(where, f"unknown $pick {value['$pick']!r}; there are {', '.join(sorted(self.picks))}")
        for name, member in value.items():
            if name.startswith("$") and name not in ("$pick", "$saved"):
                raise self._error((*where, name), f"unknown word {name} in params; there are $pick, $saved")
            self._check_picks(member, (*where, name))


def _explain(error: Any) -> str:
    if error.validator == "additionalProperties":
        allowed = ", ".join(sorted(error.schema["properties"]))
        return (
            f"{error.message.replace('Additional properties are not allowed', 'unknown word')}; allowed are {allowed}"
        )
    if error.validator == "oneOf":
        names = ", ".join(option["required"][0] for option in error.schema["oneOf"])
        return f"exactly one of {names} must stand here"
    return str(error.message)[:300]


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(near)}?" if near else ""


# -- selection


class SelectionError(Exception):
    """A pattern of --only or --skip matches nothing."""


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be played and what is to be reported."""

    cases: tuple[Case, ...]
    requirements: frozenset[str]


def select(
    cases: tuple[Case, ...],
    judged: Mapping[str, bool],
    only: tuple[str, ...],
    skip: tuple[str, ...],
    extra: Collection[str] = (),
) -> Selection:
    """Apply --only and --skip: globs over areas, requirement ids and case ids.

    `judged` are the ids of all requirements, and whether an invariant judges them. A requirement selects the cases that
    judge it, all cases if only an invariant does, and is reported alone. A case named by its id is played, and all
    is reported that it or an invariant judges. `extra` are names of what happens in every session; they select like
    a case without steps. Raises SelectionError for a pattern that matches nothing.
    """
    by_invariant = frozenset(name for name, watched in judged.items() if watched)
    played, reported = set(cases), frozenset(judged)
    if only:
        played, reported = set(), frozenset()
    for pattern in only:
        rules, scripts, sessions = _matching(pattern, cases, judged, extra)
        judging = {case for case in cases if rules & set(case.requirements)}
        unjudged = rules - {rule for case in judging for rule in case.requirements}
        played |= set(cases) if unjudged else judging | set(scripts)
        reported |= rules
        if sessions or any(case.id == pattern for case in scripts) or (scripts and not rules):
            reported |= by_invariant | {rule for case in scripts for rule in case.requirements}
    for pattern in skip:
        rules, scripts, _sessions = _matching(pattern, cases, judged, extra)
        reported -= rules
        played -= set() if rules else set(scripts)
    kept = tuple(case for case in cases if case in played and (not skip or reported & set(case.requirements)))
    return Selection(kept, reported)


def _matching(
    pattern: str, cases: tuple[Case, ...], judged: Mapping[str, bool], extra: Collection[str]
) -> tuple[frozenset[str], list[Case], list[str]]:
    """Requirements, cases and names of what happens in every session that the pattern matches."""

    def hits(identifier: str) -> bool:
        area = identifier.partition("/")[0]
        return fnmatch.fnmatchcase(identifier, pattern) or fnmatch.fnmatchcase(area, pattern)

    rules = frozenset(filter(hits, judged))
    scripts = [case for case in cases if hits(case.id)]
    sessions = [name for name in extra if hits(name)]
    if not (rules or scripts or sessions):
        known = [*judged, *(case.id for case in cases), *extra]
        areas = {name.partition("/")[0] for name in known}
        raise SelectionError(f"{pattern!r} matches no area, requirement or case{_nearest(pattern, [*areas, *known])}")
    return rules, scripts, sessions
