"""What `mcp-conform export` writes: all of the catalogue, as its schema says, and the same every time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from fronts import conform
from jsonschema import Draft202012Validator

from conformance.catalogue.requirements import load
from conformance.checks.registry import cases
from conformance.files.places import SCHEMAS
from conformance.revisions import REVISIONS


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "made" / "here"
    done = conform("export", str(folder))
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"{len(cases())} cases and {len(load())} requirements are in {folder}\n"
    return folder


def files(folder: Path) -> dict[str, bytes]:
    """The files in `folder`, by path."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def exported_cases(folder: Path) -> list[Any]:
    return [case for path in sorted((folder / "cases").glob("*.json")) for case in read(path)["cases"]]


def parts(value: Any) -> list[Any]:
    """All values within a value."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [value, *(part for each in inner for part in parts(each))]


def test_an_export_is_valid_under_the_schema_that_comes_with_it(exported: Path) -> None:
    schema = read(exported / "schemas" / "export.json")
    assert schema == read(SCHEMAS / "export.json")
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    paths = [exported / "index.json", exported / "requirements.json", *(exported / "cases").glob("*.json")]
    assert len(paths) > 15
    for path in paths:
        assert [(path.name, error.message) for error in validator.iter_errors(read(path))] == []


def test_the_schema_of_an_export_refuses_a_case_that_leaves_something_out(exported: Path) -> None:
    validator = Draft202012Validator(read(exported / "schemas" / "export.json"))
    for path, member in (("steps", "judges"), ("steps", "method"), ("", "probes"), ("", "revisions")):
        data = read(exported / "cases" / "tools.json")
        where = data["cases"][0]["steps"][0] if path else data["cases"][0]
        del where[member]
        assert not validator.is_valid(data), member
    data = read(exported / "cases" / "tools.json")
    data["cases"][0]["steps"][0]["since"] = "2025-11-25"
    assert not validator.is_valid(data)


def test_an_export_has_all_cases_and_requirements(exported: Path) -> None:
    assert {case["id"]: case["requirements"] for case in exported_cases(exported)} == {
        case.id: list(case.requirements) for case in cases()
    }
    requirements = read(exported / "requirements.json")["requirements"]
    assert {each["id"]: list(each["revisions"]) for each in requirements} == {
        each.id: list(each.revisions) for each in load().values()
    }
    for revision in REVISIONS:
        assert (exported / "schemas" / revision.date / "index.json").exists()


def test_the_index_of_an_export_names_all_its_files(exported: Path) -> None:
    index = read(exported / "index.json")
    assert (index["format"], index["version"]) == ("mcp-conform-cases", 1)
    assert index["files"] == sorted(files(exported))


def test_cases_with_probes_are_marked(exported: Path) -> None:
    probes = {case["id"]: case["probes"] for case in exported_cases(exported)}
    assert probes["tools/call-each"] == ["tools.call-each"]
    assert probes["tools/unknown-tool"] == []
    for case in exported_cases(exported):
        held = {
            part["probe"] for part in parts(case["steps"]) if isinstance(part, dict) and part.get("kind") == "probe"
        }
        assert set(case["probes"]) == held


def test_what_a_case_picks_is_named(exported: Path) -> None:
    for case in exported_cases(exported):
        objects = [part for part in parts(case["steps"]) if isinstance(part, dict)]
        sent = {part["$pick"] for part in objects if set(part) == {"$pick"}}
        each = {part["each"]["pick"] for part in objects if part.get("each") and "pick" in part["each"]}
        assert set(case["picks"]) == sent | each


def test_an_export_is_the_same_every_time_and_replaces_an_earlier_one(exported: Path, tmp_path: Path) -> None:
    folder = tmp_path / "again"
    assert conform("export", str(folder)).returncode == 0
    first = files(folder)
    assert first == files(exported)
    outside = tmp_path / "outside.json"
    outside.write_text("{}")
    (folder / "cases" / "gone.json").write_text("{}")
    (folder / "cases" / "notes.txt").write_text("mine")
    index = read(folder / "index.json")
    listed = [
        "cases/gone.json",
        "cases/notes.txt",
        "../outside.json",
        "cases/../../outside.json",
        str(outside),
        3,
        None,
    ]
    (folder / "index.json").write_text(json.dumps({**index, "files": index["files"] + listed}))
    assert conform("export", str(folder)).returncode == 0
    assert files(folder) == {**first, "cases/notes.txt": b"mine"}
    assert outside.exists()


@pytest.mark.parametrize("name", ["notes.txt", "index.json"])
def test_an_export_does_not_go_into_a_folder_that_holds_something_else(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[]")
    done = conform("export", str(tmp_path))
    assert done.returncode == 2
    assert done.stderr == f"mcp-conform: {tmp_path} is not empty, and holds no earlier export\n"
    assert files(tmp_path) == {name: b"[]"}


def test_an_export_that_cannot_be_written_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = conform("export", str(tmp_path / "file"))
    assert (done.returncode, done.stderr) == (2, f"mcp-conform: {tmp_path / 'file'} is no folder\n")
    done = conform("export", str(tmp_path / "file" / "within"))
    assert done.returncode == 2
    assert "cannot be written: Not a directory" in done.stderr
