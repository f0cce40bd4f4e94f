"""The straight line: modules import from modules to their left only."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "conformance"

LINE = [
    ["budget", "model", "revisions", "data", "yaml_files", "interrupts", "standard_streams"],
    ["pointers", "yaml_text"],
    ["schema_bounds"],
    ["json_schemas"],
    [
        "folklore",
        "ledger",
        "time_limit",
        "requirements",
        "wire_schemas",
        "compatibility",
        "json_files",
        "variables",
        "spellings",
    ],
    ["credentials"],
    ["secrets", "process_table", "watchdog"],
    ["processes"],
    ["target"],
    ["client_configs", "listening"],
    ["transports"],
    ["client_tasks"],
    ["answers", "arguments", "era", "messages", "trace"],
    ["features"],
    ["patience", "reading"],
    ["requests", "watching"],
    ["session"],
    ["eras", "survey"],
    ["expect", "snapshot"],
    ["cases"],
    ["selection", "invariants", "probes"],
    ["fuzz", "profiles"],
    ["player"],
    ["connections"],
    ["units"],
    ["detection", "plan", "checks", "verdicts"],
    ["confirmation"],
    ["events", "own"],
    ["masking", "options", "tracing"],
    ["reproduction"],
    ["conclusion"],
    ["runner"],
    ["fleet"],
    ["reporters", "supervision", "target_file"],
    ["settings", "target_file_text"],
    ["head_start"],
    ["front"],
    ["commands"],
    ["cli", "pytest_plugin"],
    ["__main__"],
]
"""Left to right. Modules of one place may import each other only inside a package."""

PLACE = {name: place for place, names in enumerate(LINE) for name in names}


def modules() -> list[Path]:
    """All modules of the package but the reference server, which stands alone."""
    return sorted(p for p in PACKAGE.rglob("*.py") if "reference" not in p.parts)


def room(path: Path) -> str:
    """The name in LINE that the module belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path) -> set[str]:
    """First names below `conformance` that the module imports."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "conformance":
            parts = node.module.split(".")
            found |= {parts[1]} if len(parts) > 1 else {a.name for a in node.names if a.name != "__version__"}
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("conformance.")}
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_from_its_left(path: Path) -> None:
    here = room(path)
    if here == "__init__":
        assert imports(path) == set()
        return
    assert here in PLACE, f"{here} has no place in the line"
    for name in imports(path):
        assert name == here or PLACE[name] < PLACE[here], f"{here} imports {name}, which is to its right"


def test_the_reference_server_imports_nothing_of_the_suite() -> None:
    for path in (PACKAGE / "reference").rglob("*.py"):
        assert imports(path) <= {"reference"}, path


def test_only_the_fuzz_package_imports_hypothesis() -> None:
    importing = {
        room(path)
        for path in modules()
        for node in ast.walk(ast.parse(path.read_text()))
        if (isinstance(node, ast.Import) and any(a.name.startswith("hypothesis") for a in node.names))
        or (isinstance(node, ast.ImportFrom) and (node.module or "").startswith("hypothesis"))
    }
    assert importing <= {"fuzz"}


def test_nothing_prints_but_the_command_line_and_the_terminal_reporter() -> None:
    for path in modules():
        if room(path) in ("cli", "reporters"):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
            assert called != "print", path


def test_no_file_is_much_longer_than_400_lines() -> None:
    long = {str(p): n for p in PACKAGE.rglob("*.py") if (n := len(p.read_text().splitlines())) > 430}
    assert not long
