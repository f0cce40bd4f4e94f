"""`list` and `explain`: what is known of requirements, cases and areas, in plain text of 80 columns."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from conformance.catalogue import mistakes, sdks
from conformance.catalogue.case_text import case_texts
from conformance.catalogue.requirements import areas, load
from conformance.checks.registry import cases
from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import FileError, parse
from conformance.reporters.addresses import VARIABLE, page
from conformance.reporters.catalogue import area_text, case_text, explanation, listing
from conformance.reporters.knowledge import Catalogue
from conformance.settings.settings import faults

SITE = "https://docs.example/mcp"


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(faults())


def conform(*words: object, **env: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "conformance", *map(str, words)]
    environment = {name: value for name, value in os.environ.items() if name != VARIABLE} | env
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)


# -- width


def too_long(text: str) -> list[str]:
    """Lines of more than 80 columns; addresses and commands are never broken."""
    return [
        line
        for line in text.split("\n")
        if len(line) > 80 and "https://" not in line and "mcp-conform demo" not in line
    ]


def test_what_is_listed_and_explained_fits_in_80_columns(catalogue: Catalogue) -> None:
    names = [*catalogue.requirements, *catalogue.rules]
    known = [catalogue.of(name) for name in names]
    assert too_long(listing(known)) == []
    assert [line for row in known for line in too_long(explanation(row))] == []
    assert [line for area in catalogue.areas for line in too_long(area_text(catalogue, area))] == []


def test_nothing_of_an_explanation_is_cut(catalogue: Catalogue) -> None:
    for name in catalogue.requirements:
        known = catalogue.of(name)
        told = " ".join(explanation(known).split())
        texts = [known.requirement.text, known.requirement.caution, known.requirement.unobservable]
        texts += [row.hint for row in known.mistakes] + [note.fix for note in known.sdks]
        assert [text for text in texts if " ".join(text.split()) not in told] == []


# -- cases and areas


def test_the_text_of_each_case_is_that_case() -> None:
    texts = case_texts()
    assert sorted(texts) == sorted(case.id for case in cases())
    for case in cases():
        data, _ = parse(texts[case.id], Path("case.yaml"))
        assert [entry["id"] for entry in data] == [case.id.rpartition("/")[2]]
        assert data[0]["title"] == case.title


def test_a_case_is_explained_by_its_yaml(catalogue: Catalogue) -> None:
    done = conform("explain", "tools/unknown-tool")
    assert done.returncode == 0
    assert done.stdout == case_text(catalogue, catalogue.cases["tools/unknown-tool"]) + "\n"
    assert "Judges tools/unknown-tool-refused." in done.stdout
    assert "    - request: tools/call\n" in done.stdout


def test_what_is_both_a_requirement_and_a_case_is_explained_as_both() -> None:
    both = "meta/client-info-optional"
    told = conform("explain", both).stdout
    assert "Checked by: case meta/client-info-optional" in told
    assert "- id: client-info-optional" in told


@pytest.mark.parametrize("area", ["tools", "client", "fuzz"])
def test_an_area_is_explained_by_what_is_in_it(area: str, catalogue: Catalogue) -> None:
    told = conform("explain", area).stdout
    expected = [each.requirement for each in catalogue.within(area)]
    assert re.findall(rf"^({area}/\S+)  ", told, re.M) == [requirement.id for requirement in expected]
    assert all(" ".join(requirement.text.split()) in " ".join(told.split()) for requirement in expected)
    cases_of_area = [case for case in cases() if case.area == area]
    assert [case.id for case in cases_of_area] == re.findall(
        rf"^  ({area}/\S+)$", told.partition("\nCases:\n")[2], re.M
    )


def test_each_area_has_a_title() -> None:
    assert set(areas()) == {requirement.area for requirement in load().values()}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("tools/unknwn-tool", "tools/unknown-tool"),
        ("unknown-tool", "tools/unknown-tool"),
        ("toolz", "tools"),
        ("target-fil", "target-file"),
        ("client/tool-cont", "client/tool-count"),
    ],
)
def test_a_typing_mistake_is_met_with_what_was_meant(typed: str, meant: str) -> None:
    done = conform("explain", typed)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.search(rf"did you mean .*\b{meant}\b", done.stderr)


def test_what_is_like_nothing_is_met_with_where_all_is_listed() -> None:
    done = conform("explain", "qqqqqqqq")
    assert done.stderr == (
        "mcp-conform: there is no requirement, case or area 'qqqqqqqq'; mcp-conform list lists all requirements\n"
    )


# -- SDKs and mistakes


def test_what_is_known_of_sdks_and_mistakes_is_about_requirements_that_exist() -> None:
    named = [identifier for note in sdks.table().notes for identifier in note.requirements]
    named += [identifier for row in mistakes.table() for identifier in (*row.requirements, *row.concerns)]
    assert set(named) - set(load()) == set()
    assert all(row.requirements or row.concerns for row in mistakes.table())


def test_a_note_on_a_package_that_is_not_named_is_told_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "sdks.yaml"
    file.write_text(sdks.TABLE.read_text("utf-8").replace("package: python-1", "package: python-0", 1), "utf-8")
    line = file.read_text("utf-8").split("\n").index("  - package: python-0") + 1
    with pytest.raises(FileError, match=rf":{line}: there is no package 'python-0'; there are python-2, python-1"):
        sdks.table(file)


def test_explain_says_what_the_sdks_do_and_in_which_version_that_was_seen() -> None:
    told = " ".join(conform("explain", "prompts/unknown-name-refused").stdout.split())
    for note in sdks.about("prompts/unknown-name-refused"):
        assert f"{note.sdk.name} ({note.sdk.package} {note.sdk.version}): {note.does}" in told


# -- pages


def test_the_page_of_a_requirement_is_below_the_address_of_the_site(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert page("tools/list-shape") == ""
    assert page("tools/list-shape", SITE) == page("tools/list-shape", f" {SITE}/ ") == f"{SITE}/rules/tools/list-shape/"
    assert page("own/shop/case", SITE) == ""
    monkeypatch.setenv(VARIABLE, SITE)
    assert page("tools/list-shape") == f"{SITE}/rules/tools/list-shape/"
    assert page("tools/list-shape", "") == ""


def test_findings_link_to_their_pages_where_the_address_of_the_site_is_known(tmp_path: Path) -> None:
    report, junit = tmp_path / "report.json", tmp_path / "junit.xml"
    server = f"{sys.executable} -m conformance.reference --fault tool-name-number"
    words = ("--server", server, "--revision", "2025-11-25", "--only", "tools/list-shape")
    expected = f"{SITE}/rules/tools/list-shape/"
    for env, pages in ({VARIABLE: SITE}, [expected]), ({}, []):
        done = conform(*words, "--json", report, "--junit", junit, **env)
        assert done.returncode == 1, done.stderr
        data = json.loads(report.read_text())
        Draft202012Validator(json.loads((SCHEMAS / "report.json").read_text())).validate(data)
        verdicts = [verdict for run in data["runs"] for verdict in run["verdicts"]]
        assert [verdict["page"] for verdict in verdicts if "page" in verdict] == pages
        failures = [failure.text or "" for failure in ET.parse(junit).iter("failure")]
        assert re.findall(r"^  page (\S+)$", "\n".join(failures), re.M) == pages
    assert f"\nPage: {expected}\n" in conform("explain", "tools/list-shape", **{VARIABLE: SITE}).stdout
    assert "Page:" not in conform("explain", "tools/list-shape").stdout
