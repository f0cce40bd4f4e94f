"""Cases: scripted conversations that put requirements to the test, from YAML."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, Protocol, cast

from conformance.catalogue.patterns import ABSENT, check_pattern, saved_names
from conformance.catalogue.requirements import applies, near
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, Lines, Place, line_of, load
from conformance.model import Basis, Json, Level, Requirement, Severity
from conformance.revisions import REVISIONS, holds

Isolation = Literal["shared", "session", "process"]
Kind = Literal["request", "notify", "raw", "http", "batch", "close", "probe"]
Silence = Literal["", "inconclusive", "allowed"]
Subject = Literal["response", "notifications", "nothing", "alive", "status", "headers"]

KINDS = ("request", "notify", "raw", "raw64", "http", "batch", "close", "probe")
SUBJECTS: tuple[Subject, ...] = ("response", "notifications", "nothing", "alive", "status", "headers")
OWN = "own"
"""The first part of the ids of the user's own cases."""
ANSWERED = ("request", "raw", "http", "batch")
"""Kinds of steps that a response may follow."""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must hold after a step, or there is a finding against `requirement`.

    `pattern` is about the `subject`, and true where that is `nothing` or `alive`. `severity` softens what level and
    basis give. `silence` is what no response means. `message` is the sentence of the finding, empty for a plain one.
    """

    requirement: str
    subject: Subject
    pattern: Json
    severity: Severity | None = None
    silence: Silence = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing said to the target, or a probe. What is said stands in the members that its kind needs.

    `params` and `id` are ABSENT if the case does not say them; `{$pick: kind}` and `{$saved: name}` in `params` and
    `batch` are yet to be replaced. `meta` is false if the era adds nothing. The bytes of raw and http steps are
    `raw64` in base64, or `raw`. `save` is name → dotted path into the response. `judges` are the requirements that the
    step can judge, `settings` what goes to the probe.
    """

    kind: Kind
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
    judges: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A scripted conversation; its members are those of `schemas/case.json`.

    `requires` are server capabilities: one of each tuple must be declared. Empty `eras` and `transports` mean any.
    """

    id: str
    area: str
    title: str
    requires: tuple[tuple[str, ...], ...] = ()
    since: str | None = None
    until: str | None = None
    eras: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    client: Mapping[str, Json] = field(default_factory=dict)
    isolation: Isolation = "shared"
    open: bool = True
    harmful: bool = False
    lane: str = ""
    waits: int = 0
    steps: tuple[Step, ...] = ()

    @property
    def shares(self) -> bool:
        """Whether others may be played before and after it in the same session, whatever comes of them."""
        return self.isolation == "shared" and not self.harmful

    @property
    def illegal(self) -> bool:
        """Whether it may send what is wrong on purpose, after which the server is judged less strictly."""
        return any(step.illegal for step in self.steps)

    @property
    def requirements(self) -> tuple[str, ...]:
        """The ids of all requirements that it can judge."""
        return tuple(dict.fromkeys(identifier for step in self.steps for identifier in step.judges))


class Judging(Protocol):
    """A probe, as far as cases know it."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """The ids of the requirements that it may judge."""

    @property
    def illegal(self) -> bool:
        """Whether it may send what is wrong on purpose."""


def load_cases(
    folder: Path,
    requirements: Mapping[str, Requirement],
    picks: Collection[str],
    probes: Mapping[str, Judging],
    own: dict[str, Requirement] | None = None,
) -> tuple[Case, ...]:
    """All cases of the files `*.yaml` in `folder`, in order.

    `picks` are the kinds that `$pick` may name, `probes` the probes by name. With `own` they are cases of the user:
    their areas are `own/area`, and what they expect without naming a requirement is a rule of the user's, which is
    added to `own` under the id of the case. Raises FileError, also if there is no case.
    """
    if not folder.is_dir():
        raise FileError(folder, 1, "is no folder" if folder.exists() else "there is no such folder")
    known = _Known(requirements, picks, probes, own)
    found = [case for path in sorted(folder.glob("*.yaml")) for case in _File(path, known).cases()]
    if not found:
        raise FileError(folder, 1, "holds no case: there is no file *.yaml")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Known:
    """The names that cases may use."""

    requirements: Mapping[str, Requirement]
    picks: Collection[str]
    probes: Mapping[str, Judging]
    own: dict[str, Requirement] | None

    def requirement(self, identifier: str) -> Requirement | None:
        """The requirement of that id, of the specification or of the user."""
        return self.requirements.get(identifier) or (self.own or {}).get(identifier)


class _File:
    """Reads one file of cases, and checks what its JSON Schema cannot say."""

    def __init__(self, path: Path, known: _Known) -> None:
        self._path = path
        self._known = known
        self._lines: Lines = {}
        self._rule = ""

    def cases(self) -> Iterator[Case]:
        data, self._lines = load(self._path, SCHEMAS / "case.json")
        if data["area"] != self._path.stem:
            raise self._error(("area",), f"area must be the name of the file, {self._path.stem!r}")
        area = data["area"] if self._known.own is None else f"{OWN}/{data['area']}"
        seen: set[str] = set()
        for i, entry in enumerate(data["cases"]):
            if entry["id"] in seen:
                raise self._error(("cases", i, "id"), f"there is another case {entry['id']!r}")
            seen.add(entry["id"])
            yield self._case(area, entry, ("cases", i))

    def _error(self, place: Place, what: str) -> FileError:
        return FileError(self._path, line_of(self._lines, place), what)

    def _case(self, area: str, entry: dict[str, Json], place: Place) -> Case:
        saved: set[str] = set()
        self._rule = self._own_rule(f"{area}/{entry['id']}", entry, place)
        steps = [self._step(step, (*place, "steps", i), saved) for i, step in enumerate(entry["steps"])]
        case = Case(
            id=f"{area}/{entry['id']}",
            area=area,
            title=entry["title"],
            requires=tuple((one,) if isinstance(one, str) else tuple(one) for one in entry.get("requires", ())),
            since=entry.get("since"),
            until=entry.get("until"),
            eras=tuple(entry.get("eras", ())),
            transports=tuple(entry.get("transports", ())),
            client=entry.get("client", {}),
            isolation=entry.get("isolation", "shared"),
            open=entry.get("open", True),
            harmful=entry.get("harmful", False),
            lane=entry.get("lane", ""),
            waits=entry.get("waits", 0),
            steps=tuple(steps),
        )
        self._check(case, place)
        return case

    def _own_rule(self, identifier: str, entry: dict[str, Json], place: Place) -> str:
        """The id of the rule that a case of the user is; empty for our own cases."""
        if self._known.own is None:
            return ""
        eras = entry.get("eras", [])
        since, until = entry.get("since"), entry.get("until")
        dates = [r.date for r in REVISIONS if holds(r.date, since, until) and r.era in (eras or (r.era,))]
        url = f"{self._path}:{line_of(self._lines, place)}"
        self._known.own[identifier] = own_requirement(identifier, entry["title"], url, dates, entry.get("transports"))
        return identifier

    def _check(self, case: Case, place: Place) -> None:
        """What must fit together within a case."""
        if not case.requirements:
            raise self._error(place, f"{case.id} judges no requirement: a step must expect something")
        if case.isolation == "shared" and not case.open:
            raise self._error((*place, "open"), "a case that opens the session itself cannot share one")
        dates = [
            r.date for r in REVISIONS if holds(r.date, case.since, case.until) and r.era in (case.eras or (r.era,))
        ]
        if not dates:
            raise self._error(place, f"{case.id} is about no revision")
        for i, step in enumerate(case.steps):
            here = (*place, "steps", i)
            if step.kind in ("raw", "close") and case.isolation == "shared":
                raise self._error(here, f"a case that says {step.kind!r} cannot share a session")
            over_http = step.kind == "http" or any(e.subject in ("status", "headers") for e in step.expect)
            if over_http and case.transports != ("http",):
                raise self._error(here, "what only HTTP has needs transports: [http]")
            for j, expectation in enumerate(step.expect):
                requirement = self._known.requirement(expectation.requirement)
                assert requirement is not None
                transports = case.transports or ("stdio", "http")
                if not any(applies(requirement, date, transport) for date in dates for transport in transports):
                    what = f"{requirement.id} holds in no revision over no transport of {case.id}"
                    raise self._error((*here, "expect", j, "requirement"), what)

    def _step(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Step:
        if "probe" in entry:
            return self._probe(entry, place)
        word = next(word for word in KINDS if word in entry)
        http = entry.get("http", {})
        for name in ("params", "batch"):
            self._check_filled(entry.get(name), (*place, name), saved)
        saved |= set(entry.get("save", ()))
        expect = tuple(
            self._expectation(entry["expect"][i], (*place, "expect", i), saved)
            for i in range(len(entry.get("expect", ())))
        )
        kind = cast(Kind, "raw" if word == "raw64" else word)
        if kind not in ANSWERED and any(expectation.subject == "response" for expectation in expect):
            raise self._error(place, f"no response can follow {kind!r}: expect nothing, alive or notifications")
        return Step(
            kind=kind,
            method=entry[word] if kind in ("request", "notify") else "",
            params=entry.get("params", ABSENT),
            id=entry.get("id", ABSENT),
            illegal=kind in ("raw", "http") or entry.get("illegal", False),
            meta=entry.get("meta", True),
            headers=http.get("headers") or entry.get("headers", {}),
            save=entry.get("save", {}),
            raw=entry.get("raw", "") or http.get("body", ""),
            raw64=entry.get("raw64", "") or http.get("body64", ""),
            batch=tuple(entry.get("batch", ())),
            expect=expect,
            judges=tuple(dict.fromkeys(expectation.requirement for expectation in expect)),
        )

    def _probe(self, entry: dict[str, Json], place: Place) -> Step:
        name = entry["probe"]
        if name not in self._known.probes:
            raise self._error((*place, "probe"), f"there is no probe {name!r}{near(name, self._known.probes)}")
        known = self._known.probes[name]
        of_probe = known.requirements
        judges = tuple(entry.get("requirements", of_probe))
        for i, identifier in enumerate(judges):
            self._check_requirement(identifier, (*place, "requirements", i))
            if identifier not in of_probe:
                raise self._error((*place, "requirements", i), f"the probe {name} does not judge {identifier}")
        return Step("probe", probe=name, settings=entry.get("with", {}), illegal=known.illegal, judges=judges)

    def _expectation(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Expectation:
        if "requirement" not in entry and not self._rule:
            raise self._error(place, "expect needs 'requirement'")
        identifier = entry.get("requirement", self._rule)
        self._check_requirement(identifier, (*place, "requirement"))
        subject = next(subject for subject in SUBJECTS if subject in entry)
        pattern, here = entry[subject], (*place, subject)
        for flaw in check_pattern(pattern):
            raise self._error((*here, *flaw.place), flaw.what)
        for name, where in saved_names(pattern):
            self._check_saved(name, (*here, *where), saved)
        if subject == "headers" and isinstance(pattern, dict) and (upper := [n for n in pattern if n != n.lower()]):
            raise self._error((*here, upper[0]), f"names of headers are compared in lower case: {upper[0].lower()!r}")
        return Expectation(
            requirement=identifier,
            subject=subject,
            pattern=pattern,
            severity=Severity(entry["severity"]) if "severity" in entry else None,
            silence=entry.get("silence", ""),
            message=entry.get("message", ""),
        )

    def _check_requirement(self, identifier: str, place: Place) -> None:
        requirement = self._known.requirement(identifier)
        if requirement is None:
            meant = near(identifier, self._known.requirements)
            raise self._error(place, f"there is no requirement {identifier!r}{meant}")
        if requirement.unobservable:
            raise self._error(place, f"{identifier} cannot be judged: {requirement.unobservable}")

    def _check_saved(self, name: str, place: Place, saved: set[str]) -> None:
        if name not in saved:
            raise self._error(place, f"nothing was saved as {name!r} before{near(name, saved)}")

    def _check_filled(self, value: Json, place: Place, saved: set[str]) -> None:
        """Check `$pick` and `$saved` in what is sent."""
        if isinstance(value, list):
            for i, element in enumerate(value):
                self._check_filled(element, (*place, i), saved)
        if not isinstance(value, dict):
            return
        for name, member in value.items():
            here = (*place, name)
            if not name.startswith("$"):
                self._check_filled(member, here, saved)
                continue
            if name not in ("$pick", "$saved"):
                raise self._error(here, f"{name} is not known in what is sent; allowed are $pick, $saved")
            if len(value) > 1 or not isinstance(member, str):
                raise self._error(here, f"{name} takes a name and stands alone")
            if name == "$saved":
                self._check_saved(member, here, saved)
            elif member not in self._known.picks:
                raise self._error(here, f"there is no pick {member!r}{near(member, self._known.picks)}")


def own_requirement(
    identifier: str, text: str, url: str, dates: Iterable[str], transports: Iterable[str] | None = None
) -> Requirement:
    """A rule that the user has for his server, in the revisions `dates`; it stands at `url`, a place in a file."""
    dates = tuple(dates)
    return Requirement(
        id=identifier,
        text=text,
        levels=dict.fromkeys(dates, Level.MUST),
        bases=dict.fromkeys(dates, Basis.OWN),
        urls=dict.fromkeys(dates, (url,)),
        observable="yes",
        transports=tuple(transports or ()),
    )
