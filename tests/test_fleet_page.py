"""The table of a fleet, `index.html`: what it says, that no server's text breaks it, and that it works in a browser."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import chromium
import pytest
from html_page import Page
from jsonschema import Draft202012Validator
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait
from servers import hostile_text

from conformance.files.places import SCHEMAS
from conformance.files.yaml_files import load
from conformance.fleet.page import as_html
from conformance.fleet.summary import About, summary_of

ABOUT = About("2026-01-02T03:04:05+00:00", "2026-01-02T04:04:05+00:00", True, "bwrap", ("--quick",))
MANY = 2000


def row(name: str, **more: Any) -> dict[str, Any]:
    """A server of a summary."""
    usual = {
        "key": "key", "name": name, "version": "1.0", "outcome": "passed", "reason": "", "revisions": ["2025-11-25"],
        "transports": ["stdio"], "broken": {"violation": [], "warning": [], "advice": []}, "tested": 90,
        "applicable": 100, "seconds": 12.5, "attempts": 1,
    }  # fmt: skip
    return {**usual, **more}


def page(rows: list[dict[str, Any]], before: Any = None) -> str:
    """The page of these servers, each with a report."""
    return as_html(summary_of(ABOUT, rows, before), lambda key: f"reports/{key}.html")


def failed(name: str, number: int) -> dict[str, Any]:
    """A server that violates some rules."""
    broken = {"violation": [f"tools/rule-{n}" for n in range(number)], "warning": [], "advice": []}
    return row(name, outcome="failed", broken=broken)


def test_each_row_says_what_was_found_and_opens_its_report() -> None:
    read = Page(page([failed("bad", 3), row("good", key="good")]))
    assert read.allows_only_itself()
    assert read.links == ["reports/key.html", "reports/good.html"]
    for word in ("1 failed", "1 passed", "bad", "good", "90", "2025-11-25", "inside bwrap", "with --quick"):
        assert word in read.text


def test_trends_go_on_from_run_to_run() -> None:
    first = summary_of(ABOUT, [failed("a", 3), row("b")])
    second = summary_of(ABOUT, [failed("a", 2), row("b", tested=0), row("new")], first)
    third = summary_of(ABOUT, [failed("a", 4), row("b"), row("new")], second)
    schema = Draft202012Validator(load(SCHEMAS / "fleet.json")[0])
    for summary in (first, second, third):
        schema.validate(summary)
    assert {each["name"]: each["trend"] for each in third["servers"]} == {"a": [3, 2], "b": [0, None], "new": [None, 0]}
    text = Page(as_html(third, lambda key: "")).text
    assert "3 2 4" in text and "+2" in text and "0 – 0" in text and "Runs" in text


def test_no_text_of_a_server_is_anything_but_text() -> None:
    texts = [*hostile_text.TEXTS, "<img src=x>", '">']
    rows = [row(text, version=text, reason=text, revisions=[text]) for text in texts]
    read = Page(page(rows))
    assert read.allows_only_itself()
    assert read.tags.count("tr") == len(rows) + 1
    shown = page(rows)
    assert not [character for character in shown if not character.isprintable() and character != "\n"]


# -- in a browser


@pytest.fixture(scope="module")
def browser() -> Iterator[chromium.Chromium]:
    """A browser."""
    if not (chromium.BROWSER and chromium.DRIVER):
        pytest.skip(chromium.MISSING)
    with chromium.chromium() as started:
        yield started


def written(folder: Path, rows: list[dict[str, Any]]) -> Path:
    """The file of a page."""
    path = folder / "index.html"
    path.write_text(page(rows), encoding="utf-8")
    return path


def names(browser: chromium.Chromium) -> list[str]:
    """The servers that are shown, from top to bottom."""
    script = "return [...document.querySelectorAll('#rows tr:not([hidden]) th')].map((each) => each.textContent)"
    return list(browser.execute_script(script))


def click(browser: chromium.Chromium, head: str) -> None:
    """Sort by a column."""
    next(each for each in browser.find_elements(By.CSS_SELECTOR, "#heads button") if each.text.startswith(head)).click()


def test_the_table_is_sorted_and_searched_and_the_address_says_how(browser: chromium.Chromium, tmp_path: Path) -> None:
    rows = [failed("bad", 2), failed("worst", 10), row("fine"), row("unknown", outcome="not tested", tested=0)]
    path = written(tmp_path, rows)
    browser.show(path)
    assert names(browser) == ["bad", "fine", "unknown", "worst"]
    click(browser, "Violations")
    assert names(browser) == ["worst", "bad", "fine", "unknown"]
    click(browser, "Violations")
    assert names(browser) == ["fine", "bad", "worst", "unknown"]
    browser.find_element(By.ID, "query").send_keys("fail")
    WebDriverWait(browser, 10).until(lambda _: names(browser) == ["bad", "worst"])
    browser.show(path, "#show=passed,failed&sort=3-")
    assert names(browser) == ["worst", "bad", "fine"]
    assert browser.messages() == []


def test_hostile_text_runs_nothing(browser: chromium.Chromium, tmp_path: Path) -> None:
    texts = ["<img src=x onerror=window.owned=1>", "</script><script>window.owned=1</script>", *hostile_text.TEXTS]
    browser.show(written(tmp_path, [row(text, reason=text) for text in texts]))
    assert browser.execute_script("return window.owned") is None
    assert len(names(browser)) == len(texts)
    assert browser.messages() == []


def test_a_page_of_many_servers_is_not_large(tmp_path: Path) -> None:
    assert len(page(many())) < 1_500_000


def many() -> list[dict[str, Any]]:
    """As many servers as the official registry has, about."""
    draw = random.Random(0)
    return [failed(f"io.github.someone-{draw.randrange(500)}/server-{n}", draw.randrange(9)) for n in range(MANY)]
