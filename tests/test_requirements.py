"""The catalogue of requirements, and the strict YAML that it and the cases are written in."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from conformance.catalogue.requirements import applies, load
from conformance.files.places import REQUIREMENTS, SCHEMAS
from conformance.files.yaml_files import FileError, line_of
from conformance.files.yaml_files import load as load_yaml
from conformance.model import Basis, Level, Requirement
from conformance.revisions import BY_DATE, REVISIONS

ENTRY = """\
area: tools
title: Tools
requirements:
  example:
    level: MUST
    text: A server does what it should.
    since: "2024-11-05"
    basis: text
    source: server/tools#calling
    observable: "yes"
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "tools.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def requirement(folder: Path, text: str) -> Requirement:
    written(folder, text)
    return load(folder)["tools/example"]


def complaint(folder: Path, text: str) -> str:
    """What is said about a file of requirements, without its folder."""
    written(folder, text)
    with pytest.raises(FileError) as caught:
        load(folder)
    return str(caught.value).removeprefix(f"{folder}/")


# -- strict YAML


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("null", None),
        ("true", True),
        ("0", 0),
        ("-12", -12),
        ("1.5", 1.5),
        ("1e3", 1000.0),
        ("'2025-11-25'", "2025-11-25"),
        ('"yes"', "yes"),
        ("'1'", "1"),
        ("''", ""),
        ("plain text, 2025-11-25: no date", {"plain text, 2025-11-25": "no date"}),
        ("2025-11-25 is a day", "2025-11-25 is a day"),
        ("v1.5", "v1.5"),
        ("[1, {a: b}]", [1, {"a": "b"}]),
        (">-\n  folded\n  text", "folded text"),
    ],
)
def test_scalars_mean_what_they_mean_in_json(tmp_path: Path, text: str, value: Any) -> None:
    assert load_yaml(written(tmp_path, text))[0] == value


@pytest.mark.parametrize(
    "scalar",
    [
        "2025-11-25",
        "2025-11-25T10:00:00Z",
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "~",
        "True",
        "NULL",
        "0x1F",
        "0o17",
        "017",
        "0b1",
        "1_000",
        "1:30",
        "190:20:30.5",
        "+1",
        ".5",
        "5.",
        ".inf",
        "-.INF",
        ".nan",
    ],
)
def test_a_scalar_that_yaml_readers_understand_differently_must_be_quoted(tmp_path: Path, scalar: str) -> None:
    path = written(tmp_path, f"a: x\nb: {scalar}\n")
    with pytest.raises(FileError, match="put it in quotes") as caught:
        load_yaml(path)
    assert str(caught.value).startswith(f"{path}:2: {scalar} ")


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "is empty"),
        ("# only a comment\n", 1, "is empty"),
        ("a: 1\nb:\n", 2, "a value is missing"),
        ("a: 1\nb: 2\na: 3\n", 3, "the key 'a' stands twice"),
        ("a: {b: 1,\n b: 2}\n", 2, "the key 'b' stands twice"),
        ("a: 1\n1: 2\n", 2, "a key must be a string"),
        ("a: 1\non: 2\n", 2, "put it in quotes"),
        ("a: 1\n[b]: 2\n", 2, "a key must be a string"),
        ("a: &x 1\n", 1, "anchors and aliases are not allowed"),
        ("a: 1\nb: &x [1]\nc: *x\n", 2, "anchors and aliases are not allowed"),
        ("a: 1\nb: !!int '5'\n", 2, "the tag tag:yaml.org,2002:int is not allowed"),
        ("a: !!str 5\n", 1, "the tag tag:yaml.org,2002:str is not allowed"),
        ("a: !x {b: 1}\n", 1, "the tag !x is not allowed"),
        ("a: 1\nb:\n\tc: 2\n", 3, "is not valid YAML"),
        ("a: 1\nb: [1\n", 3, "is not valid YAML"),
        ("a: ä\nb: \x01\n", 2, "is not valid YAML"),
        ("a: 1\n---\nb: 1\n", 2, "a second document is not allowed"),
        ("a: 1e999\n", 1, "1e999 is too large"),
        ("[" * 60 + "]" * 60, 1, "is nested more than"),
    ],
)
def test_a_malformed_file_is_refused_with_its_line(tmp_path: Path, text: str, line: int, what: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FileError, match=re.escape(what)) as caught:
        load_yaml(path)
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert caught.value.line == line


def test_a_file_that_is_not_there_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"none\.yaml:1: cannot be read: No such file"):
        load_yaml(tmp_path / "none.yaml")


def test_a_folder_is_refused_as_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=":1: cannot be read: Is a directory"):
        load_yaml(tmp_path)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tools.yaml"
    path.write_bytes(b"a: \xff\n")
    with pytest.raises(FileError, match="cannot be read: it is not UTF-8"):
        load_yaml(path)


def test_every_value_has_its_line_and_a_missing_one_that_of_what_is_around_it(tmp_path: Path) -> None:
    _, lines = load_yaml(written(tmp_path, "a:\n  - x\n  - b: 1\n    c:\n      2\n"))
    assert line_of(lines, ("a",)) == 1
    assert line_of(lines, ("a", 1, "b")) == 3
    assert line_of(lines, ("a", 1, "c")) == 4
    assert line_of(lines, ("a", 1, "none", 7)) == 3
    assert line_of(lines, ()) == 1


# -- one entry


def test_level_basis_and_source_hold_in_each_revision_of_the_window(tmp_path: Path) -> None:
    found = requirement(tmp_path, ENTRY.replace("basis:", 'until: "2025-06-18"\n    basis:'))
    dates = ("2024-11-05", "2025-03-26", "2025-06-18")
    assert found.revisions == dates
    assert found.levels == dict.fromkeys(dates, Level.MUST)
    assert found.bases == dict.fromkeys(dates, Basis.TEXT)
    assert found.urls["2025-06-18"] == (
        "https://modelcontextprotocol.io/specification/2025-06-18/server/tools#calling",
    )


def test_a_hole_between_revisions_is_a_list(tmp_path: Path) -> None:
    found = requirement(tmp_path, ENTRY.replace('since: "2024-11-05"', 'revisions: ["2026-07-28", "2025-03-26"]'))
    assert found.revisions == ("2025-03-26", "2026-07-28")


def test_level_and_basis_may_differ_by_revision(tmp_path: Path) -> None:
    text = ENTRY.replace('since: "2024-11-05"', 'since: "2025-11-25"')
    text = text.replace("level: MUST", 'level: {"2025-11-25": SHOULD, "2026-07-28": MUST NOT}')
    found = requirement(tmp_path, text.replace("basis: text", 'basis: {"2025-11-25": prose, "2026-07-28": schema}'))
    assert found.levels == {"2025-11-25": Level.SHOULD, "2026-07-28": Level.MUST_NOT}
    assert found.bases == {"2025-11-25": Basis.PROSE, "2026-07-28": Basis.SCHEMA}


@pytest.mark.parametrize(
    ("source", "urls"),
    [
        ("basic", ["specification/2026-07-28/basic"]),
        ('""', ["specification/2026-07-28"]),
        ("'#intro'", ["specification/2026-07-28#intro"]),
        ("[basic#a, server/tools]", ["specification/2026-07-28/basic#a", "specification/2026-07-28/server/tools"]),
        (
            "basic/security_best_practices#x",
            ["docs/2026-07-28/tutorials/security/security_best_practices#x"],
        ),
        ("https://modelcontextprotocol.io/seps/2243", ["seps/2243"]),
        ('{"2024-11-05": a, else: b}', ["specification/2026-07-28/b"]),
        ('{"2026-07-28": [a, c], else: b}', ["specification/2026-07-28/a", "specification/2026-07-28/c"]),
    ],
)
def test_a_source_becomes_links(tmp_path: Path, source: str, urls: list[str]) -> None:
    found = requirement(tmp_path, ENTRY.replace("server/tools#calling", source))
    assert found.urls["2026-07-28"] == tuple(f"https://modelcontextprotocol.io/{url}" for url in urls)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("", ""),
        ("unobservable: no answer shows it", "no answer shows it"),
        ("umbrella: true", "it only sums up other requirements"),
        ("actor: authorization server", "it binds the authorization server, not the server"),
    ],
)
def test_what_cannot_be_observed_says_why(tmp_path: Path, change: str, reason: str) -> None:
    assert requirement(tmp_path, ENTRY + f"    {change}\n").unobservable == reason


def test_what_no_client_sees_says_why_in_its_needs(tmp_path: Path) -> None:
    text = ENTRY.replace('"yes"', '"no"') + "    needs: it happens inside the server\n"
    assert requirement(tmp_path, text).unobservable == "it happens inside the server"


def test_a_permission_cannot_be_broken(tmp_path: Path) -> None:
    assert requirement(tmp_path, ENTRY.replace("MUST", "MAY")).unobservable.startswith("it is a permission")


def test_a_permission_that_became_a_duty_can_be_broken(tmp_path: Path) -> None:
    text = ENTRY.replace('since: "2024-11-05"', 'since: "2025-11-25"')
    found = requirement(tmp_path, text.replace("MUST", '{"2025-11-25": MAY, "2026-07-28": MUST}'))
    assert not found.unobservable


def test_a_requirement_applies_in_its_revisions_and_over_its_transports(tmp_path: Path) -> None:
    found = requirement(tmp_path, ENTRY.replace("2024-11-05", "2025-06-18") + "    transports: [http]\n")
    assert applies(found, "2025-06-18", "http")
    assert not applies(found, "2025-06-18", "stdio")
    assert not applies(found, "2025-03-26", "http")


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("level: MUST", "level: must", 5, "requirements.example.level"),
        ("level: MUST", "level: MUST\n    lvl: 1", 6, "'lvl' is not known in requirements.example"),
        ("    level: MUST\n", "", 4, "requirements.example needs 'level'"),
        ('since: "2024-11-05"', 'since: "2024-11-06"', 7, "requirements.example.since"),
        ('since: "2024-11-05"', "since: 2024-11-05", 7, "put it in quotes"),
        ('    since: "2024-11-05"\n', "", 4, "requirements.example needs exactly one of since, revisions"),
        ('since: "2024-11-05"', 'since: "2025-06-18"\n    until: "2025-03-26"', 4, "it holds in no revision"),
        ("level: MUST", 'level: {"2024-11-05": MUST}', 4, "level says nothing for 2025-03-26"),
        ("basis: text", 'basis: {"2024-11-05": text}', 4, "basis says nothing for 2025-03-26"),
        (
            'since: "2024-11-05"\n    basis: text\n    source: server/tools#calling',
            'revisions: ["2026-07-28"]\n    basis: text\n    source: {"2025-11-25": a, else: b}',
            4,
            "source speaks of 2025-11-25, in which it does not hold",
        ),
        ('observable: "yes"', 'observable: "no"', 4, "requirements.example needs 'needs'"),
        ("area: tools", "area: prompts", 1, "area must be the name of the file, 'tools'"),
        (ENTRY, "[]", 1, "the file: [] is not of type 'object'"),
    ],
)
def test_a_wrong_entry_is_refused_with_its_line(tmp_path: Path, old: str, new: str, line: int, what: str) -> None:
    assert old in ENTRY
    said = complaint(tmp_path, ENTRY.replace(old, new, 1))
    assert said.startswith(f"tools.yaml:{line}: ")
    assert what in said


# -- the catalogue itself


def test_the_whole_catalogue_is_loaded() -> None:
    found = load()
    assert {requirement.area for requirement in found.values()} == {path.stem for path in REQUIREMENTS.glob("*.yaml")}
    assert len(found) >= 585


def test_every_requirement_has_levels_bases_and_links_for_the_same_known_revisions() -> None:
    for identifier, found in load().items():
        assert found.id == identifier
        assert found.revisions
        assert set(found.levels) == set(found.bases) == set(found.urls) <= set(BY_DATE)
        assert all(url.startswith("https://") and "//" not in url[8:] for urls in found.urls.values() for url in urls)


def test_loading_again_costs_nothing() -> None:
    assert load() is load()


def test_the_schemas_know_exactly_the_revisions_of_the_table() -> None:
    for name in ("requirement.json", "case.json"):
        schema = json.loads((SCHEMAS / name).read_text())
        assert schema["$defs"]["revision"]["enum"] == [revision.date for revision in REVISIONS]
