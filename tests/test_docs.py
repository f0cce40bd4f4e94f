"""What the pages say of the project is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    *(f"{name}.md" for name in ("README", "ARCHITECTURE", "CONTRIBUTING", "CHANGELOG", "SECURITY")),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md")),
    "benchmarks/README.md",
    "cases/README.md",
    "reports/README.md",
]
OPTION = r"(?<![\w-])--[a-z][a-z-]*[a-z](?![\w-])"
OF_DOCKER = {"--init", "--network", "--rm", "--tag", "--user", "--volume"}
OF_DOCKER |= {"--build-arg", "--privileged"}
OF_DASK = {"--hostfile", "--nthreads", "--nworkers", "--memory-limit"}
OF_OTHERS = {"--token", "--runs", "--load", "--with", *OF_DOCKER, *OF_DASK}
"""Options that pages name and that neither we nor pytest have: of a server, stability.py, Docker, Dask, uvx."""


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


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_pages_are_short(page: str) -> None:
    lines = (ROOT / page).read_text("utf-8").split("\n")
    assert [number for number, line in enumerate(lines, 1) if len(line) > 100] == []


def _anchors(text: str) -> set[str]:
    """What can be named after `#`: the headings, as GitHub spells them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", text, flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES)
def test_links_between_pages_lead_somewhere(page: str) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", (ROOT / page).read_text("utf-8")):
        path, _, anchor = link.partition("#")
        place = (ROOT / page).parent / path if path else ROOT / page
        assert place.exists(), link
        assert not anchor or anchor in _anchors(place.read_text("utf-8")), link


def _options(*command: str) -> set[str]:
    """The options that the help of a command names."""
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, timeout=60, check=True)
    return set(re.findall(OPTION, done.stdout))


@pytest.fixture(scope="module")
def known() -> set[str]:
    commands = [
        [],
        ["demo"],
        ["list"],
        ["explain"],
        ["init"],
        ["diff"],
        ["bench"],
        ["cases"],
        ["cases", "check"],
        ["export"],
        ["fleet"],
        ["fleet", "diff"],
    ]
    ours = [_options("conformance", *command, "--help") for command in commands]
    return set().union(*ours, _options("pytest", "--help"), _options("conformance.reference", "--help"))


@pytest.mark.parametrize("page", [page for page in PAGES if page != "benchmarks/README.md"])
def test_each_option_that_a_page_names_is_there(page: str, known: set[str]) -> None:
    assert set(re.findall(OPTION, (ROOT / page).read_text("utf-8"))) - known - OF_OTHERS == set()


def test_the_page_on_usage_names_each_option() -> None:
    text = (ROOT / "docs" / "usage.md").read_text("utf-8")
    assert _options("conformance", "--help") - set(re.findall(OPTION, text)) == set()


def test_the_example_of_contributing_is_what_the_files_say() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    diffs = re.findall(r"^```diff\n--- a/(\S+)\n\+\+\+ b/\1\n(.*?)^```", text, re.M | re.S)
    assert [Path(path).parts[0] for path, _ in diffs] == ["cases", "conformance", "cases"]
    for path, diff in diffs:
        said = (ROOT / path).read_text("utf-8").split("\n")
        assert [line for line in diff.split("\n") if line.startswith("+") and line[1:] not in said] == []
