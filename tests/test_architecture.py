"""The straight line: packages import from packages to their left only, and nothing imports in a circle."""

import ast
import graphlib
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance import codes
from conformance.revisions import TRANSPORTS

PACKAGE = Path(__file__).resolve().parent.parent / "conformance"

LINE = [
    ["codes", "model", "revisions", "tables"],
    ["budget", "files", "system"],
    ["validation"],
    ["catalogue"],
    ["target"],
    ["transports"],
    ["session"],
    ["survey"],
    ["compatibility"],
    ["checks"],
    ["engine"],
    ["bench", "reporters"],
    ["settings"],
    ["fleet"],
    ["cli"],
    ["__main__", "pytest_plugin"],
]
"""Left to right."""

PLACE = {name: place for place, names in enumerate(LINE) for name in names}


def name_of(path: Path) -> str:
    """The module's name below `conformance`."""
    return ".".join(part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
OURS = {name: path for name, path in MODULES.items() if name and not name.startswith("reference")}
"""All but the reference server, which stands alone."""


def imports(path: Path) -> set[str]:
    """Names below `conformance` of the modules that the module imports, wherever in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "conformance":
            module = (node.module or "").partition(".")[2]
            for alias in node.names:
                inner = f"{module}.{alias.name}".lstrip(".")
                found.add(inner if inner in MODULES else module)
        elif isinstance(node, ast.Import):
            found |= {a.name.partition(".")[2] for a in node.names if a.name.startswith("conformance.")}
    return found - {"", name_of(path)}


def test_the_line_is_short() -> None:
    assert len(LINE) <= 16


@pytest.mark.parametrize("name", OURS)
def test_a_module_imports_only_from_its_left(name: str) -> None:
    here = name.partition(".")[0]
    assert here in PLACE, f"{here} has no place in the line"
    for other in imports(OURS[name]):
        there = other.partition(".")[0]
        assert there == here or (there in PLACE and PLACE[there] < PLACE[here]), f"{name} imports {other}"


def test_no_modules_import_each_other_in_a_circle() -> None:
    graph = {name: imports(path) for name, path in MODULES.items() if name}
    graphlib.TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


def test_the_reference_server_imports_nothing_of_the_suite() -> None:
    for name, path in MODULES.items():
        if name.startswith("reference"):
            assert {other.partition(".")[0] for other in imports(path)} <= {"reference"}, name


def test_only_the_fuzz_package_imports_hypothesis() -> None:
    importing = {
        name
        for name, path in OURS.items()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(a.name.startswith("hypothesis") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hypothesis"))
    }
    assert importing
    assert all(name.startswith("checks.fuzz") for name in importing)


def test_nothing_prints_but_the_command_line_and_the_terminal_reporter() -> None:
    for name, path in OURS.items():
        if name.partition(".")[0] in ("cli", "reporters"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called != "print", name


def test_no_file_is_much_longer_than_400_lines() -> None:
    long = {name: n for name, path in MODULES.items() if (n := len(path.read_text().splitlines())) > 430}
    assert not long


def _named_elsewhere(tree: ast.AST) -> Iterator[str]:
    """Facts that a module says itself: dates and names of transports that it compares, error codes as numbers."""
    known = {number for number in vars(codes).values() if isinstance(number, int)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            texts = [side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, str)]
            yield from (text for text in texts if re.match(r"20[0-9]{2}", text))
            if any(isinstance(side, ast.Attribute) and side.attr == "name" for side in sides):
                yield from (text for text in texts if text in TRANSPORTS)
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = node.operand.value if isinstance(node.operand, ast.Constant) else None
            if isinstance(number, int) and -number in known:
                yield str(-number)


@pytest.mark.parametrize("name", [name for name in OURS if name not in ("codes", "revisions")])
def test_what_sets_revisions_and_transports_apart_and_what_errors_are_called_is_said_once(name: str) -> None:
    assert list(_named_elsewhere(ast.parse(OURS[name].read_text()))) == []
