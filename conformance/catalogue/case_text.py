"""Cases as they stand in their files, for people to read."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from conformance.files.places import CASES
from conformance.files.yaml_files import load


@cache
def case_texts(folder: Path = CASES) -> Mapping[str, str]:
    """Id → the YAML of the case, an item of the list `cases`, comments within it included. Raises FileError."""
    return {identifier: text for path in sorted(folder.glob("*.yaml")) for identifier, text in _texts(path)}


def _texts(path: Path) -> list[tuple[str, str]]:
    data, lines = load(path)
    text = path.read_text(encoding="utf-8").split("\n")
    starts = [lines["cases", number] - 1 for number in range(len(data["cases"]))]
    found = []
    for entry, start, end in zip(data["cases"], starts, [*starts[1:], len(text)], strict=True):
        while text[end - 1].strip() == "" or text[end - 1].lstrip().startswith("#"):
            end -= 1  # a comment between two cases is about the second
        found.append((f"{data['area']}/{entry['id']}", textwrap.dedent("\n".join(text[start:end]))))
    return found
