"""What the user asks of a server beside the specification: cases of his own, and outcomes of sample calls."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conformance.catalogue.case_files import check_cases, load_cases, own_requirement
from conformance.catalogue.cases import OWN, Case, Expectation, Step
from conformance.checks.registry import known
from conformance.files.yaml_files import FileError
from conformance.model import Json, Requirement
from conformance.revisions import REVISIONS

PATTERNS: dict[str, Json] = {
    "result": {"result": {"isError": {"$any": [{"$absent": True}, False]}}},
    "error": {"$any": [{"error": {"$type": "object"}}, {"result": {"isError": True}}]},
}
"""What a call must give → the pattern for its response. A failure may come in either form."""


@dataclass(frozen=True, slots=True)
class Own:
    """Cases of the user, and the rules that they are, by id; `folder` is where they were said to be with --cases."""

    cases: tuple[Case, ...] = ()
    requirements: Mapping[str, Requirement] = field(default_factory=dict)
    folder: str = ""


def load_own(folder: Path) -> Own:
    """The cases in `folder`. Raises FileError."""
    requirements: dict[str, Requirement] = {}
    cases = load_cases(folder, known(requirements))
    named = {identifier for case in cases for identifier in case.requirements}
    return Own(cases, {identifier: rule for identifier, rule in requirements.items() if identifier in named})


def check_own(path: Path) -> Iterator[Case | FileError]:
    """Of the cases in a file, or in the files of a folder, each one that is well, or what is wrong with it."""
    return check_cases(path, known())


def outcomes(tools: Mapping[str, Sequence[Json]], place: str) -> Own:
    """A case for each sample call, as the target file has them, that says its outcome; `place` is where they stand."""
    cases: list[Case] = []
    rules: dict[str, Requirement] = {}
    for tool, samples in tools.items():
        for number, sample in enumerate(samples, 1):
            if "outcome" not in sample:
                continue
            area = f"{OWN}/tools"
            identifier = f"{area}/{_slug(tool)}-{number}"
            while identifier in rules:
                identifier += "-x"
            arguments = json.dumps(sample["arguments"], ensure_ascii=False)
            what = "a result" if sample["outcome"] == "result" else "an error"
            title = f"Tool {tool!r} with the arguments {arguments} gives {what}"
            rules[identifier] = own_requirement(identifier, title, place, [r.date for r in REVISIONS])
            expectation = Expectation(identifier, "response", PATTERNS[sample["outcome"]])
            params = {"name": tool, "arguments": sample["arguments"]}
            step = Step("request", method="tools/call", params=params, expect=(expectation,), judges=(identifier,))
            cases.append(Case(identifier, area, title, requires=(("tools",),), steps=(step,)))
    return Own(tuple(cases), rules)


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "tool"
