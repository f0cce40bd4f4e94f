"""What `mcp-conform export` writes: all of the catalogue, as its schema says; a second player plays it alike."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from fronts import SERVER, conform
from jsonschema import Draft202012Validator
from second_client import Session
from second_player import Play, knows

from conformance.catalogue.cases import Row
from conformance.catalogue.requirements import load
from conformance.checks.registry import cases, judged_by_invariants
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
    assert (done.returncode, done.stderr) == (2, f"mcp-conform: {tmp_path / 'file'} is not a folder\n")
    done = conform("export", str(tmp_path / "file" / "within"))
    assert done.returncode == 2
    assert "cannot be written: Not a directory" in done.stderr


# -- the second player

PLAYED = 58
"""Cases of a revision that the second player plays at least, of those that share a session and hold no probe."""


def shared(folder: Path, revision: str) -> list[Any]:
    """The exported cases that share a session over stdio and can be played without Python."""
    return [
        case
        for case in exported_cases(folder)
        if case["isolation"] == "shared" and not (case["harmful"] or case["client"] or case["probes"])
        if revision in case["revisions"] and "stdio" in case["transports"]
    ]


def played(folder: Path, revision: str, *faults: str) -> dict[str, dict[str, set[str]]]:
    """Case → requirement → what the second player wrote down, for the cases that it knows how to play."""
    command = [
        sys.executable,
        "-m",
        "conformance.reference",
        *(word for fault in faults for word in ("--fault", fault)),
    ]
    about = next(each for each in read(folder / "index.json")["revisions"] if each["date"] == revision)
    session = Session(command, about, {})
    found = {}
    try:
        for case in sorted(shared(folder, revision), key=lambda case: bool(case["illegal"])):
            if not (all(map(knows, case["steps"])) and all(session.picks(kind) is not None for kind in case["picks"])):
                continue
            if session.over:
                session.close()
                session = Session(command, about, {})
            declared = all(any(map(session.declares, alternatives)) for alternatives in case["requires"])
            found[case["id"]] = Play(case, session).found if declared else {}
    finally:
        session.close()
    return found


def told(outcomes: Iterable[str]) -> str:
    """What follows from all that was written down about one requirement."""
    return next((word for word in ("broken", "held") if word in outcomes), "inconclusive")


def by_command_line(folder: Path, cases: Iterable[str], revision: str, *faults: str) -> dict[str, str]:
    """Requirement → held, broken or inconclusive, as the JSON report has it if only these cases are played."""
    server = " ".join([SERVER, *(f"--fault {fault}" for fault in faults)])
    only = [word for case in cases for word in ("--only", case)]
    conform("--server", server, "--revision", revision, "--json", folder / "report.json", *only)
    (run,) = read(folder / "report.json")["runs"]
    words = {"passed": "held", "failed": "broken"}
    return {judged["requirement"]: words.get(judged["verdict"], "inconclusive") for judged in run["verdicts"]}


def agree(requirement: str, ours: str, theirs: str) -> bool:
    """Whether both say the same; what an invariant judges as well may be known from it alone, or be broken for it."""
    if requirement in judged_by_invariants():
        return theirs in {"broken": ("broken",), "held": ("held", "broken")}.get(ours, (ours, "held", "broken"))
    return ours == theirs


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_second_player_gets_the_same_for_each_case_on_the_sound_server(
    exported: Path, tmp_path: Path, revision: str
) -> None:
    found = played(exported, revision)
    assert len(found) >= PLAYED, f"of {len(shared(exported, revision))}"
    requirements = {case["id"]: case["requirements"] for case in exported_cases(exported)}
    batches: list[list[str]] = []  # in none of them do two cases judge the same, for a report does not tell them apart
    for case in found:
        judged = set(requirements[case])
        batch = next((b for b in batches if judged.isdisjoint(r for other in b for r in requirements[other])), None)
        if batch is None:
            batches.append([case])
        else:
            batch.append(case)
    differ = []
    for batch in batches:
        theirs = by_command_line(tmp_path, batch, revision)
        pairs = [(case, requirement) for case in batch for requirement in requirements[case]]
        ours = {(case, requirement): told(found[case].get(requirement, ())) for case, requirement in pairs}
        # A report has nothing about the rules of another transport, which a case may judge only there.
        said = {pair: theirs.get(pair[1], "inconclusive") for pair in pairs}
        differ += [(*pair, word, said[pair]) for pair, word in ours.items() if not agree(pair[1], word, said[pair])]
        assert "broken" not in ours.values()
    assert differ == []
    assert sum("held" in o for outcomes in found.values() for o in outcomes.values()) > 50


@pytest.mark.parametrize(
    ("fault", "revision", "requirement"),
    [
        ("missing-argument-accepted", "2025-11-25", "prompts/arguments-validated"),
        ("params-demanded", "2025-11-25", "jsonrpc/optional-params-may-be-absent"),
        ("completion-error-code", "2025-11-25", "completion/internal-error-32603"),
        ("prompt-listed-twice", "2025-11-25", "prompts/name-unique"),
        ("bad-cursor-kills", "2025-11-25", "pagination/invalid-cursor-survived"),
        ("cursor-unstable", "2026-07-28", "pagination/stable-cursors"),
        ("unknown-method-succeeds", "2026-07-28", "jsonrpc/unknown-method-code"),
    ],
)
def test_a_second_player_finds_the_same_faults(
    exported: Path, tmp_path: Path, fault: str, revision: str, requirement: str
) -> None:
    found = played(exported, revision, fault)
    theirs = by_command_line(tmp_path, found, revision, fault)
    together: dict[str, set[str]] = {}
    for outcomes in found.values():
        for name, words in outcomes.items():
            together.setdefault(name, set()).update(words)
    ours = {name: told(words) for name, words in together.items()}
    assert ours[requirement] == "broken"
    assert [(n, ours[n], theirs[n]) for n in ours if not agree(n, ours[n], theirs[n])] == []


def test_the_second_player_is_small_and_knows_nothing_of_the_first() -> None:
    tests = Path(__file__).parent
    assert len((tests / "second_player.py").read_text().splitlines()) < 180
    for path in tests.glob("second_*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        named = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        named |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not {name for name in named if name.split(".")[0] in ("conformance", "fronts")}, path.name


def test_each_word_of_a_row_is_exported(exported: Path) -> None:
    rows = [row for each in parts(exported_cases(exported)) if isinstance(each, dict) for row in each.get("rows", ())]
    assert {field.name for field in fields(Row)} - {"message"} == set(rows[0]) - {"because"}
    assert any(row["actual"] for row in rows)
