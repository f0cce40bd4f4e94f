"""What the pages say of the project is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"


def test_each_test_that_the_page_on_security_names_is_there() -> None:
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    files = set(re.findall(r"`(tests/test_\w+\.py)`", text))
    named = set(re.findall(r"`(test_\w+)`", text))
    there = {name for file in files for name in re.findall(r"^def (test_\w+)", (ROOT / file).read_text("utf-8"), re.M)}
    assert named
    assert named - there == set()


def test_each_row_of_the_page_on_security_has_its_tests() -> None:
    text = (ROOT / "docs" / "security.md").read_text("utf-8")
    used = set(re.findall(r"\| (T\d+) \|$", text, re.M))
    listed = set(re.findall(r"^- (T\d+) `tests/", text, re.M))
    assert used == listed
    assert len(used) > 15


@pytest.mark.parametrize("page", ["SECURITY.md", *(str(p.relative_to(ROOT)) for p in (ROOT / "docs").rglob("*.md"))])
def test_lines_of_pages_are_short(page: str) -> None:
    lines = (ROOT / page).read_text("utf-8").split("\n")
    assert [number for number, line in enumerate(lines, 1) if len(line) > 100] == []


def test_the_example_of_contributing_is_what_the_files_say() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    diffs = re.findall(r"^```diff\n--- a/(\S+)\n\+\+\+ b/\1\n(.*?)^```", text, re.M | re.S)
    assert [Path(path).parts[0] for path, _ in diffs] == ["cases", "conformance", "cases"]
    for path, diff in diffs:
        said = (ROOT / path).read_text("utf-8").split("\n")
        assert [line for line in diff.split("\n") if line.startswith("+") and line[1:] not in said] == []
