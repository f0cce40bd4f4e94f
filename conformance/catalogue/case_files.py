"""Reads cases from YAML, and says what is wrong with a file, and in which line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import cast

from conformance.catalogue.case_names import Known, Names
from conformance.catalogue.cases import (
    ANSWERED,
    OWN,
    SUBJECTS,
    Case,
    Condition,
    Each,
    Expectation,
    Otherwise,
    Outcome,
    Row,
    Step,
    StepKind,
)
from conformance.catalogue.patterns import ABSENT
from conformance.catalogue.references import resolved
from conformance.catalogue.requirements import applies, near
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, Lines, Place, line_of, load, problems
from conformance.model import Basis, Json, Level, Requirement, Severity
from conformance.revisions import HTTP, REVISIONS, TRANSPORTS, holds

KINDS = ("request", "notify", "raw", "raw64", "http", "batch", "close", "pages", "probe", "steps")
OUTCOMES: tuple[Outcome, ...] = ("held", "broken", "inconclusive", "not-applicable", "blocked")
WHOLE = ("request", "response", "notification", "pages")
"""What `save` may name beside a path into the response."""


def load_cases(folder: Path, known: Known) -> tuple[Case, ...]:
    """All cases of the files `*.yaml` in `folder`, in order.

    The areas of the user's own cases are `own/area`, and what they expect without naming a requirement is a rule of the
    user's, which is added to `known.own` under the id of the case. Raises FileError, also if there is no case.
    """
    if not folder.is_dir():
        raise FileError(folder, 1, "is not a folder" if folder.exists() else "there is no such folder")
    found = [case for path in sorted(folder.glob("*.yaml")) for case in _File(path, known).cases()]
    if not found:
        raise FileError(folder, 1, "holds no case: there is no file *.yaml")
    return tuple(found)


def check_cases(path: Path, known: Known) -> Iterator[Case | FileError]:
    """Of the user's cases in a file, or in the files `*.yaml` of a folder, each one that is well, or what is wrong.

    Of one case the first thing that is wrong is told, and what is wrong with a file beside its cases. Each file has
    rules of its own.
    """
    paths = sorted(path.glob("*.yaml")) if path.is_dir() else [path]
    if not paths:
        yield FileError(path, 1, "holds no case: there is no file *.yaml")
    for each in paths:
        if each.exists() and each.suffix != ".yaml":
            yield FileError(each, 1, "is not read by --cases: the name of a file of cases ends with .yaml")
        else:
            yield from _File(each, replace(known, own={})).checked()


class _File:
    """Reads one file of cases, and checks what its JSON Schema cannot say."""

    def __init__(self, path: Path, known: Known) -> None:
        self._path = path
        self._known = known
        self._lines: Lines = {}
        self._names = Names(path, {}, known)
        self._rule = ""

    def cases(self) -> Iterator[Case]:
        """All of its cases. Raises FileError."""
        for each in self.checked():
            if isinstance(each, FileError):
                raise each
            yield each

    def checked(self) -> Iterator[Case | FileError]:
        """Each case, or what is wrong with it; before that what is wrong with the file."""
        try:
            data, lines = load(self._path)
        except FileError as error:
            yield error
            return
        self._lines, self._names = lines, Names(self._path, lines, self._known)
        wrong = problems(self._path, data, lines, SCHEMAS / "case.json", depth=len(("cases", 0)))
        yield from sorted((error for place, error in wrong.items() if len(place) < 2), key=lambda error: error.line)
        if not isinstance(data, dict) or not isinstance(data.get("cases"), list):
            return
        if isinstance(data.get("area"), str) and data["area"] != self._path.stem:
            yield self._error(("area",), f"area must be the name of the file, {self._path.stem!r}")
        area = self._path.stem if self._known.own is None else f"{OWN}/{self._path.stem}"
        seen: set[str] = set()
        for i, entry in enumerate(data["cases"]):
            try:
                if ("cases", i) in wrong:
                    raise wrong["cases", i]
                if entry["id"] in seen:
                    raise self._error(("cases", i, "id"), f"there is another case {entry['id']!r}")
                seen.add(entry["id"])
                yield self._case(area, entry, ("cases", i))
            except FileError as error:
                yield error

    def _error(self, place: Place, what: str) -> FileError:
        return self._names.error(place, what)

    def _case(self, area: str, entry: dict[str, Json], place: Place) -> Case:
        self._rule = self._own_rule(f"{area}/{entry['id']}", entry, place)
        saved: set[str] = set()
        each = self._each(entry, place, saved)
        steps = self._steps(entry["steps"], (*place, "steps"), saved)
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
            opens=entry.get("opens", 0),
            control=entry.get("control", False),
            undecided=entry.get("undecided", {}),
            steps=steps if each is None else (_together(steps, each=each),),
        )
        self._check(case, place, steps)
        for identifier, why in case.undecided.items():
            self._names.check_sentence(why, (*place, "undecided", identifier), saved)
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

    # -- what must fit together within a case

    def _check(self, case: Case, place: Place, steps: Iterable[Step]) -> None:
        judged = [identifier for step in case.steps for identifier in step.judges]
        if not case.requirements:
            raise self._error(place, f"{case.id} judges no requirement: a step must expect something")
        if case.isolation == "shared" and not case.open:
            raise self._error((*place, "open"), "a case that opens the session itself cannot share one")
        for identifier in case.undecided:
            if identifier not in {*judged, *self._known.watched}:
                what = f"no step of {case.id} judges {identifier}, nor does an invariant"
                raise self._error((*place, "undecided", identifier), what)
        dates = _dates(case)
        if not dates:
            raise self._error(place, f"{case.id} is about no revision")
        for i, step in enumerate(steps):
            self._check_step(case, step, (*place, "steps", i), dates)

    def _check_step(self, case: Case, step: Step, here: Place, dates: list[str]) -> None:
        for i, inner in enumerate(step.steps):
            self._check_step(case, inner, (*here, "steps", i), dates)
        if step.kind in ("raw", "close") and case.isolation == "shared":
            raise self._error(here, f"a case that says {step.kind!r} cannot share a session")
        of_http = [e for e in step.expect if e.subject in ("status", "headers") and not _only_http(e.when)]
        if (step.kind == "http" or of_http) and case.transports != (HTTP,):
            raise self._error(here, "what only HTTP has needs transports: [http]")
        for j, expectation in enumerate(step.expect):
            requirement = self._known.requirement(expectation.requirement)
            assert requirement is not None
            transports = case.transports or TRANSPORTS
            if not any(applies(requirement, date, transport) for date in dates for transport in transports):
                what = f"{requirement.id} holds in no revision over no transport of {case.id}"
                raise self._error((*here, "expect", j, "requirement"), what)

    # -- steps

    def _steps(self, entries: list[dict[str, Json]], place: Place, saved: set[str]) -> tuple[Step, ...]:
        return tuple(self._step(entry, (*place, i), saved) for i, entry in enumerate(entries))

    def _step(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Step:
        when, otherwise = self._when(entry, place, saved)
        if "probe" in entry:
            return replace(self._probe(entry, place, saved), when=when, otherwise=otherwise)
        if "steps" in entry:
            inner = set(saved)
            each = self._each(entry, place, inner)
            steps = self._steps(entry["steps"], (*place, "steps"), inner)
            if any(step.kind in ("steps", "probe") for step in steps):
                raise self._error(place, "steps within steps cannot hold steps or probes")
            saved |= inner if each is None else set()
            return _together(
                steps,
                each=each,
                together=entry.get("together", False),
                another=entry.get("session") == "another",
                when=when,
                otherwise=otherwise,
            )
        word = next(word for word in KINDS if word in entry)
        http = entry.get("http", {})
        for name in ("request", "notify", "pages", "params", "batch", "id", "headers"):
            if name in entry:
                self._names.check_filled(resolved(entry[name]), (*place, name), saved)
        self._names.check_filled(resolved(http.get("headers", {})), (*place, "http", "headers"), saved)
        if "like" in entry:
            self._names.check_saved(entry["like"], (*place, "like"), saved)
        saved |= set(entry.get("save", ()))
        kind = cast(StepKind, "raw" if word == "raw64" else word)
        expect = tuple(
            self._expectation(each, (*place, "expect", i), saved) for i, each in enumerate(entry.get("expect", ()))
        )
        if kind not in ANSWERED and any(e.subject in ("response", "answered") for e in expect):
            raise self._error(place, f"no response can follow {kind!r}: expect nothing, alive or notifications")
        for name, path in entry.get("save", {}).items():
            for within in re.findall(r"\{([^{}]+)\}", path):
                self._names.check_saved(within, (*place, "save", name), saved)
            if (path == "pages") != (kind == "pages"):
                raise self._error(
                    (*place, "save", name), "'pages' is what a step with pages saves, and all that it does"
                )
        return Step(
            kind=kind,
            method=resolved(entry[word]) if kind in ("request", "notify", "pages") else "",
            params=resolved(entry.get("params", ABSENT)),
            id=resolved(entry.get("id", ABSENT)),
            illegal=kind in ("raw", "http") or entry.get("illegal", False),
            meta=entry.get("meta", True),
            wait=entry.get("wait", True),
            wait_for=entry.get("wait-for", ""),
            like=entry.get("like", ""),
            headers=resolved(http.get("headers") or entry.get("headers", {})),
            save=entry.get("save", {}),
            raw=entry.get("raw", "") or http.get("body", ""),
            raw64=entry.get("raw64", "") or http.get("body64", ""),
            batch=tuple(resolved(entry.get("batch", []))),
            when=when,
            otherwise=otherwise,
            expect=expect,
            judges=tuple(dict.fromkeys(expectation.requirement for expectation in expect)),
        )

    def _probe(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Step:
        name = entry["probe"]
        if name not in self._known.probes:
            raise self._error((*place, "probe"), f"there is no probe {name!r}{near(name, self._known.probes)}")
        known = self._known.probes[name]
        of_probe = known.requirements
        if not of_probe:
            return self._observing(entry, place, saved)
        if "expect" in entry:
            raise self._error((*place, "expect"), f"the probe {name} judges by itself: there is nothing to expect")
        judges = tuple(entry.get("requirements", of_probe))
        for i, identifier in enumerate(judges):
            self._names.check_requirement(identifier, (*place, "requirements", i))
            if identifier not in of_probe:
                raise self._error((*place, "requirements", i), f"the probe {name} does not judge {identifier}")
        return Step("probe", probe=name, settings=entry.get("with", {}), illegal=known.illegal, judges=judges)

    def _observing(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Step:
        """A probe whose observations are judged here."""
        name = entry["probe"]
        if "as" not in entry:
            raise self._error((*place, "probe"), f"the probe {name} makes observations: it needs 'as'")
        saved.add(entry["as"])
        asked = entry.get("expect", ())
        expect = tuple(self._expectation(each, (*place, "expect", i), saved) for i, each in enumerate(asked))
        judges = tuple(dict.fromkeys(expectation.requirement for expectation in expect))
        illegal = self._known.probes[name].illegal
        settings = entry.get("with", {})
        return Step(
            "probe", probe=name, name=entry["as"], settings=settings, illegal=illegal, expect=expect, judges=judges
        )

    def _each(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Each | None:
        if "each" not in entry:
            return None
        ((name, things),) = entry["each"].items()
        saved.add(name)
        most, until = entry.get("at-most"), entry.get("until-decided", False)
        if isinstance(things, list):
            self._names.check_filled(resolved(things), (*place, "each", name), saved)
            return Each(name, things=tuple(resolved(things)), most=most, until_decided=until)
        if things not in self._known.picks:
            raise self._error((*place, "each", name), f"there is no pick {things!r}{near(things, self._known.picks)}")
        return Each(name, kind=things, most=most, until_decided=until)

    # -- expectations

    def _expectation(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Expectation:
        if "requirement" not in entry and not self._rule:
            raise self._error(place, "expect needs 'requirement'")
        identifier = entry.get("requirement", self._rule)
        self._names.check_requirement(identifier, (*place, "requirement"))
        subject = next(subject for subject in SUBJECTS if subject in entry)
        pattern, here = resolved(entry[subject]), (*place, subject)
        if "silence" in entry and subject not in ("response", "judge"):
            raise self._error((*place, "silence"), "silence is what no response means: it needs 'response' or 'judge'")
        rows: tuple[Row, ...] = ()
        if subject == "saved":
            self._names.check_saved_patterns(pattern, here, saved)
        elif subject == "judge":
            rows = tuple(self._row(row, (*here, i), saved) for i, row in enumerate(entry["judge"]))
            pattern = True
        else:
            self._names.check_pattern(pattern, here, saved)
        if subject == "headers" and isinstance(pattern, dict) and (upper := [n for n in pattern if n != n.lower()]):
            raise self._error((*here, upper[0]), f"names of headers are compared in lower case: {upper[0].lower()!r}")
        message = entry.get("message", "")
        self._names.check_sentence(message, (*place, "message"), saved)
        when, otherwise = self._when(entry, place, saved)
        return Expectation(
            requirement=identifier,
            subject=subject,
            pattern=pattern,
            severity=Severity(entry["severity"]) if "severity" in entry else None,
            silence=entry.get("silence", ""),
            message=message,
            when=when,
            otherwise=otherwise,
            rows=rows,
        )

    def _row(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Row:
        outcome = next(outcome for outcome in OUTCOMES if outcome in entry)
        told = entry[outcome]
        sentence = told if isinstance(told, str) else ""
        expected = entry.get("expected", "")
        self._names.check_sentence(sentence, (*place, outcome), saved)
        self._names.check_sentence(expected, (*place, "expected"), saved)
        actual = entry.get("actual", "")
        self._names.check_sentence(actual, (*place, "actual"), saved)
        return Row(
            when=self._names.condition(entry, place, saved),
            outcome=outcome,
            message=sentence,
            severity=Severity(entry["severity"]) if "severity" in entry else None,
            expected=expected,
            actual=actual,
        )

    def _when(self, entry: dict[str, Json], place: Place, saved: set[str]) -> tuple[Condition | None, Otherwise | None]:
        when = self._names.condition(entry["when"], (*place, "when"), saved) if "when" in entry else None
        if "otherwise" not in entry:
            return when, None
        if when is None:
            raise self._error((*place, "otherwise"), "otherwise needs 'when'")
        ((outcome, told),) = entry["otherwise"].items()
        sentence = told if isinstance(told, str) else ""
        self._names.check_sentence(sentence, (*place, "otherwise", outcome), saved)
        return when, Otherwise(outcome, sentence)


def _together(
    steps: tuple[Step, ...],
    *,
    each: Each | None = None,
    together: bool = False,
    another: bool = False,
    when: Condition | None = None,
    otherwise: Otherwise | None = None,
) -> Step:
    judges = tuple(dict.fromkeys(identifier for step in steps for identifier in step.judges))
    return Step(
        "steps",
        illegal=any(step.illegal for step in steps),
        steps=steps,
        each=each,
        together=together,
        another=another,
        when=when,
        otherwise=otherwise,
        judges=judges,
    )


def _dates(case: Case) -> list[str]:
    """The revisions that the case is about."""
    eras = case.eras or tuple({revision.era for revision in REVISIONS})
    return [r.date for r in REVISIONS if holds(r.date, case.since, case.until) and r.era in eras]


def _only_http(when: Condition | None) -> bool:
    return when is not None and when.transport == HTTP


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
