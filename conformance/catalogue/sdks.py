"""What the official SDKs do about a requirement, and what the author of a server that uses one can do.

The table is `sdks.yaml` beside this module. It explains; it changes neither verdict nor severity.

Servers give away by what they say which SDK they are built with: by `signs`. A finding is put down to an SDK only if
all signs that were seen in its run fit that SDK, and the finding looks as that SDK makes it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from conformance.catalogue.mistakes import pattern_of, shows
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, line_of, load
from conformance.model import Finding

TABLE = Path(__file__).resolve().parent / "sdks.yaml"


@dataclass(frozen=True, slots=True)
class Sdk:
    """A package in the `version` that was looked at; `name` is what people call it."""

    name: str
    language: str
    package: str
    version: str


@dataclass(frozen=True, slots=True)
class Sign:
    """Words in a message of the server, and in the request it answers, that servers built with `sdks` say.

    Others may say a `weak` one: it only narrows down what another has shown.
    """

    sdks: frozenset[Sdk]
    heard: re.Pattern[str]
    sent: re.Pattern[str] | None = None
    weak: bool = False


@dataclass(frozen=True, slots=True)
class SdkNote:
    """What an SDK `does` about the `requirements`; `fix` is what authors can do, "" if nothing is known.

    `seen` is where that stands in the package. `looks` are patterns, all found in a finding that comes of it; a note
    without any explains no finding.
    """

    sdk: Sdk
    requirements: tuple[str, ...]
    does: str
    fix: str
    seen: str
    looks: Mapping[str, re.Pattern[str]] = field(default_factory=dict)

    def fits(self, finding: Finding) -> bool:
        """Whether `finding` looks as if it came of that."""
        return bool(self.looks) and finding.requirement in self.requirements and shows(finding, self.looks)


@dataclass(frozen=True, slots=True)
class Table:
    """The contents of the file, in its order."""

    notes: tuple[SdkNote, ...]
    signs: tuple[Sign, ...]


@cache
def table(path: Path = TABLE) -> Table:
    """All that is known. Raises FileError."""
    data, lines = load(path, SCHEMAS / "sdks.json")
    sdks = {name: Sdk(**entry) for name, entry in data["packages"].items()}

    def named(name: str, *place: str | int) -> Sdk:
        if name not in sdks:
            raise FileError(path, line_of(lines, place), f"there is no package {name!r}; there are {', '.join(sdks)}")
        return sdks[name]

    def looks(row: dict[str, Any], *place: str | int) -> dict[str, re.Pattern[str]]:
        return {name: pattern_of(text, path, line_of(lines, (*place, name)), name) for name, text in row.items()}

    notes = []
    for number, row in enumerate(data["notes"]):
        does, fix = (" ".join(row.get(name, "").split()) for name in ("does", "fix"))
        when = looks(row.get("when", {}), "notes", number, "when")
        for name in [row["package"]] if isinstance(row["package"], str) else row["package"]:
            sdk = named(name, "notes", number, "package")
            notes.append(SdkNote(sdk, tuple(row["requirements"]), does, fix, row["seen"], when))
    signs = []
    for number, row in enumerate(data["signs"]):
        sdks_of = frozenset(named(name, "signs", number, "of", i) for i, name in enumerate(row["of"]))
        words = looks({name: row[name] for name in ("heard", "sent") if name in row}, "signs", number)
        signs.append(Sign(sdks_of, words["heard"], words.get("sent"), row.get("weak", False)))
    return Table(tuple(notes), tuple(signs))


def about(requirement: str) -> tuple[SdkNote, ...]:
    """What is known of one requirement."""
    return tuple(note for note in table().notes if requirement in note.requirements)


def built_with(seen: Collection[int]) -> frozenset[Sdk]:
    """The SDKs that all signs of these numbers fit: none where nothing was seen, or only what is weak, or two SDKs."""
    signs = [table().signs[number] for number in seen]
    if all(sign.weak for sign in signs):
        return frozenset()
    return frozenset.intersection(*(sign.sdks for sign in signs))


def explained(finding: Finding, sdks: Collection[Sdk]) -> Finding:
    """`finding` with a diagnosis and a hint if it looks as if it came of what one of `sdks` does."""
    for note in about(finding.requirement):
        if note.sdk in sdks and note.fits(finding):
            sdk = note.sdk
            diagnosis = f"Likely in your SDK, {sdk.name} (seen in {sdk.package} {sdk.version}): {note.does}"
            return replace(finding, diagnosis=diagnosis, hint=note.fix)
    return finding
