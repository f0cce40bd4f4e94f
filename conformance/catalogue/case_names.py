"""The names, conditions and patterns of a file of cases: what they mean, and whether there is what they name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from conformance.catalogue.cases import Condition
from conformance.catalogue.patterns import ABSENT, saved_names
from conformance.catalogue.patterns import check_pattern as flaws_of
from conformance.catalogue.references import named_in, resolved, root
from conformance.catalogue.requirements import near
from conformance.files.yaml_files import FileError, Lines, Place, line_of
from conformance.model import Json, Requirement, members


class Judging(Protocol):
    """A probe, as far as cases know it."""

    @property
    def requirements(self) -> tuple[str, ...]:
        """The ids of the requirements that it may judge."""

    @property
    def illegal(self) -> bool:
        """Whether it may send what is wrong on purpose."""


@dataclass(frozen=True, slots=True)
class Known:
    """The names that cases may use.

    `picks` are the kinds that `$pick` and `each` may name, `probes` the probes by name. With `own` they are cases of
    the user, whose rules are added to it. `watched` are the requirements that invariants judge, whatever a case says.
    """

    requirements: Mapping[str, Requirement]
    picks: Collection[str]
    probes: Mapping[str, Judging]
    own: dict[str, Requirement] | None = None
    watched: Collection[str] = ()

    def requirement(self, identifier: str) -> Requirement | None:
        """The requirement of that id, of the specification or of the user."""
        return self.requirements.get(identifier) or (self.own or {}).get(identifier)


class Names:
    """What the file `path` may name; `lines` are those of its values."""

    def __init__(self, path: Path, lines: Lines, known: Known) -> None:
        self._path = path
        self._lines = lines
        self._known = known

    def error(self, place: Place, what: str) -> FileError:
        """What is wrong at a place, to be raised."""
        return FileError(self._path, line_of(self._lines, place), what)

    def condition(self, entry: dict[str, Json], place: Place, saved: set[str]) -> Condition:
        """The condition in `entry`, in which other words may stand beside it. Raises FileError, as all of these."""
        names: dict[str, tuple[Json, ...]] = {}
        for word in ("declares", "lacks"):
            told = entry.get(word, [])
            names[word] = tuple(resolved(told if isinstance(told, list) else [told]))
            self.check_filled(list(names[word]), (*place, word), saved)
        patterns = resolved(entry.get("saved", {}))
        self.check_saved_patterns(patterns, (*place, "saved"), saved)
        for word in ("response", "status"):
            if word in entry:
                self.check_pattern(resolved(entry[word]), (*place, word), saved)
        return Condition(
            declares=names["declares"],
            lacks=names["lacks"],
            since=entry.get("since"),
            until=entry.get("until"),
            era=entry.get("era", ""),
            transport=entry.get("transport", ""),
            saved=patterns,
            response=resolved(entry.get("response", ABSENT)),
            status=resolved(entry.get("status", ABSENT)),
            alive=entry.get("alive"),
        )

    def check_pattern(self, pattern: Json, place: Place, saved: set[str]) -> None:
        """The pattern must have no flaws, and name what was saved."""
        for flaw in flaws_of(pattern):
            raise self.error((*place, *flaw.place), flaw.what)
        for name, where in saved_names(pattern):
            self.check_saved(name, (*place, *where), saved)

    def check_saved_patterns(self, patterns: Mapping[str, Json], place: Place, saved: set[str]) -> None:
        """Each path must begin with something saved, each pattern be without flaws."""
        for path, pattern in patterns.items():
            self.check_saved(path, (*place, path), saved)
            self.check_pattern(pattern, (*place, path), saved)

    def check_sentence(self, sentence: str, place: Place, saved: set[str]) -> None:
        """What a sentence refers to must have been saved."""
        for path in named_in(sentence):
            self.check_saved(path, place, saved)

    def check_requirement(self, identifier: str, place: Place) -> None:
        """The requirement must exist, and be one that can be judged."""
        requirement = self._known.requirement(identifier)
        if requirement is None:
            meant = near(identifier, self._known.requirements)
            raise self.error(place, f"there is no requirement {identifier!r}{meant}")
        if requirement.unobservable:
            raise self.error(place, f"{identifier} cannot be judged: {requirement.unobservable}")

    def check_saved(self, path: str, place: Place, saved: set[str]) -> None:
        """The path must begin with something that was saved before."""
        name = root(path)
        if name not in saved:
            raise self.error(place, f"nothing was saved as {name!r} before{near(name, saved)}")

    def check_filled(self, value: Json, place: Place, saved: set[str]) -> None:
        """Check `$pick`, `$saved` and `$in-base64` in what is sent."""
        if isinstance(value, str) and any(root(path) in saved for path in named_in(value)):
            raise self.error(place, f"a reference stands alone in what is sent: {value!r} is sent as it is")
        if isinstance(value, list):
            for i, element in enumerate(value):
                self.check_filled(element, (*place, i), saved)
        if not isinstance(value, dict):
            return
        for name, member in value.items():
            here = (*place, name)
            if not name.startswith("$"):
                self.check_filled(member, here, saved)
                continue
            if name not in ("$pick", "$saved", "$in-base64"):
                raise self.error(here, f"{name} is not known in what is sent; allowed are $pick, $saved, $in-base64")
            text = isinstance(member, str) or set(members(member)) == {"$saved"}
            if name == "$in-base64" and len(value) == 1 and text:
                self.check_filled(member, here, saved)
                continue
            if len(value) > 1 or not isinstance(member, str):
                raise self.error(here, f"{name} takes a name and stands alone")
            if name == "$saved":
                self.check_saved(member, here, saved)
            elif member not in self._known.picks:
                raise self.error(here, f"there is no pick {member!r}{near(member, self._known.picks)}")
