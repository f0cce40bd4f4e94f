"""Findings that likely come of the SDK say so, with its name; what fits two SDKs, or none, is put down to none."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.catalogue import sdks
from conformance.files.yaml_files import FileError

SERVER = Path(__file__).resolve().parent / "servers" / "sdk_words.py"
UNKNOWN_TOOL = "tools/unknown-tool-refused"
UNKNOWN_METHOD = "jsonrpc/unknown-method-code"


def told(folder: Path, *words: str) -> dict[str, dict[str, Any]]:
    """What the findings about unknown tools and methods of a server with these words are, by rule; see sdk_words.py."""
    command = f"{sys.executable} {SERVER} {' '.join(words)}"
    options = ["--only", UNKNOWN_TOOL, "--only", UNKNOWN_METHOD, "--json", "report.json"]
    conform("--server", command, *options, cwd=folder)
    report = json.loads((folder / "report.json").read_text())
    verdicts = report["runs"][0]["verdicts"]
    return {verdict["requirement"]: verdict["findings"][0] for verdict in verdicts if verdict["verdict"] == "failed"}


@pytest.mark.parametrize(
    ("words", "rule", "name"),
    [("typescript-1", UNKNOWN_TOOL, "TypeScript SDK 1.x"), ("python-1", UNKNOWN_METHOD, "Python SDK 1.x")],
)
def test_a_finding_that_looks_like_what_the_sdk_does_names_it(words: str, rule: str, name: str, tmp_path: Path) -> None:
    finding = told(tmp_path, words)[rule]
    note = next(note for note in sdks.about(rule) if note.sdk.name == name)
    package = f"{note.sdk.package} {note.sdk.version}"
    assert finding["diagnosis"] == f"Likely in your SDK, {name} (seen in {package}): {note.does}"
    assert finding["hint"] == note.fix


@pytest.mark.parametrize("words", [("typescript-1", "python-1"), ("nobody",)], ids=" and ".join)
def test_no_sdk_is_named_where_the_words_are_those_of_two_or_of_none(words: tuple[str, ...], tmp_path: Path) -> None:
    found = told(tmp_path, *words)
    assert UNKNOWN_TOOL in found
    assert not [rule for rule, finding in found.items() if "your SDK" in finding.get("diagnosis", "")]


def test_weak_signs_alone_show_nothing_and_narrow_down_what_others_show() -> None:
    signs = sdks.table().signs
    weak = {number for number, sign in enumerate(signs) if sign.weak}
    either = next(n for n, sign in enumerate(signs) if {each.package for each in sign.sdks} == {"mcp", "fastmcp"})
    narrower = next(number for number in weak if {each.name for each in signs[number].sdks} == {"FastMCP 4.x"})
    assert sdks.built_with([]) == sdks.built_with(weak) == frozenset()
    assert {sdk.name for sdk in sdks.built_with([either])} == {"Python SDK 1.x", "Python SDK 2.x", "FastMCP 4.x"}
    assert {sdk.name for sdk in sdks.built_with([either, narrower])} == {"FastMCP 4.x"}


def test_every_sdk_has_a_sign_that_is_its_own_and_every_explanation_a_way_out() -> None:
    table = sdks.table()
    assert {sdk.name for sign in table.signs for sdk in sign.sdks} == {note.sdk.name for note in table.notes}
    assert all(note.fix for note in table.notes if note.looks)


def test_a_pattern_that_is_none_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sdks.yaml"
    file.write_text(sdks.TABLE.read_text("utf-8").replace("heard: '", "heard: '(", 1), "utf-8")
    with pytest.raises(FileError, match=r":\d+: heard is not a regular expression"):
        sdks.table(file)
