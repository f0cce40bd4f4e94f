"""The pages of the site: all of them are there, all are in the navigation, and no link leads nowhere.

`tox -e docs` builds the site; this calls what generates its pages, and needs no MkDocs.
"""

from __future__ import annotations

import html
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hooks import PAGES
from rule_pages import FOLDER, INDEX, RulePages, address, area_address

from conformance.reporters.addresses import page
from conformance.reporters.knowledge import Catalogue, flat
from conformance.settings.settings import faults

ROOT = Path(__file__).resolve().parent.parent
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]*)\)")


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return Catalogue(faults())


@pytest.fixture(scope="module")
def rules(catalogue: Catalogue) -> RulePages:
    return RulePages(catalogue)


@pytest.fixture(scope="module")
def pages(rules: RulePages) -> dict[str, str]:
    return rules.pages()


def leaves(nav: Any) -> Iterator[str]:
    """The paths in a navigation."""
    if isinstance(nav, str):
        yield nav
    else:
        for entry in nav.values() if isinstance(nav, dict) else nav:
            yield from leaves(entry)


def plain(markdown: str) -> str:
    """What a reader sees of a page of ours."""
    return html.unescape(re.sub(r"</?[a-z][^>]*>", "", LINK.sub(r"\1", markdown)))


def anchors(markdown: str) -> set[str]:
    """What can be named after `#` in a page."""
    headings = re.findall(
        r"^#+ (.*?)(?: \{ #([\w-]+) \})?$", re.sub(r"^```.*?^```", "", markdown, flags=re.M | re.S), re.M
    )
    slugs = {named or re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", text).strip().lower()) for text, named in headings}
    return slugs | set(re.findall(r'<a id="([^"]+)">', markdown))


def test_each_requirement_rule_and_area_has_a_page_at_its_address(catalogue: Catalogue, pages: dict[str, str]) -> None:
    names = [*catalogue.requirements, *catalogue.rules]
    assert len(names) > 590
    assert {address(name) for name in names} | {area_address(area) for area in catalogue.areas} < set(pages)
    # MkDocs serves rules/tools/list-shape.md at /rules/tools/list-shape/.
    assert [name for name in names if page(name, "") or page(name, "/x") != f"/x/{address(name)[:-3]}/"] == []


def test_a_page_says_what_the_catalogue_says(catalogue: Catalogue, pages: dict[str, str]) -> None:
    for name in catalogue.requirements:
        known, told = catalogue.of(name), plain(pages[address(name)]).replace("`", "")
        assert told.count("\n# ") == 1
        requirement = known.requirement
        for text in (requirement.text, requirement.caution, requirement.probe, requirement.unobservable):
            assert flat(text).replace("`", "") in told, name
        for row in known.mistakes:
            assert row.diagnosis in told and row.hint in told
        for note in known.sdks:
            assert note.does in told and note.fix in told and f"{note.sdk.package} {note.sdk.version}" in told
        for fault in known.faults:
            assert f"mcp-conform demo --fault {fault['name']}" in told
        for urls in requirement.urls.values():
            assert all(f"]({url})" in pages[address(name)] for url in urls)
        decided = [each.requirement for case in known.cases for step in case.plain_steps for each in step.expect]
        assert (' hl_lines="' in pages[address(name)]) == (name in decided)
        for case in known.cases:
            yaml_of_case = re.sub(r"(?m)^    ", "", pages[address(name)])
            assert catalogue.case_texts[case.id].rstrip() in yaml_of_case


def test_links_within_the_site_lead_somewhere(pages: dict[str, str]) -> None:
    sources = {path: (ROOT / file).read_text("utf-8") for path, file in PAGES.items()}
    sources |= {path.name: path.read_text("utf-8") for path in (ROOT / "docs").glob("*.md")}
    there = {**sources, **pages}
    known = {path: anchors(text) for path, text in there.items()}
    for path, text in pages.items():
        links = {target for _, target in LINK.findall(re.sub(r"(?ms)^ *```.*?^ *```", "", text))}
        for link in links:
            if link.startswith("https://"):
                continue
            target, _, anchor = link.partition("#")
            place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target)) if target else path
            assert place in there, (path, link)
            assert not anchor or anchor in known[place], (path, link)


def test_rows_of_tables_have_as_many_cells_as_their_heads(pages: dict[str, str]) -> None:
    for path, text in pages.items():
        for table in re.findall(r"(?m)(?:^\|.*\|\n)+", text + "\n"):
            assert len({line.count("|") for line in table.splitlines()}) == 1, (path, table)


def test_each_page_is_in_the_navigation(rules: RulePages, pages: dict[str, str]) -> None:
    assert sorted(leaves(rules.nav())) == sorted(pages)
    nav = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))["nav"]
    assert {"Rules": INDEX} in nav
    assert not (ROOT / "docs" / FOLDER).exists()
    files = [str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")]
    assert sorted(leaves(nav)) == sorted([*files, *PAGES, INDEX])


def test_each_page_of_the_site_that_is_a_file_of_the_project_is_there() -> None:
    assert [file for file in PAGES.values() if not (ROOT / file).is_file()] == []


def test_a_page_of_the_guide_links_to_no_markdown_that_is_not_a_page() -> None:
    guide = {f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")}
    known = {*guide, *PAGES.values()}
    for file in known:
        links = re.findall(r"\]\((?!https?:|mailto:|#)([^)\s#]+\.md)", (ROOT / file).read_text("utf-8"))
        led = {posixpath.normpath(posixpath.join(posixpath.dirname(file), link)) for link in links}
        assert led <= known, file
