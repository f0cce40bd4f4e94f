"""The HTML report: what it says, that nothing in it is a server's but text, and that it works in a real browser."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import chromium
import fronts
import pytest
from hostile_words import DATA, assert_harmless, often
from html_page import TAGS, Page
from hypothesis import given
from selenium.common.exceptions import SessionNotCreatedException
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait
from servers import hostile_text

from conformance.engine.verdicts import counts
from conformance.model import (
    Basis,
    Extent,
    Finding,
    Frame,
    Judged,
    Level,
    Report,
    Requirement,
    Run,
    Severity,
    Tally,
    Target,
    Verdict,
)
from conformance.reporters.html import as_html
from conformance.reporters.html.json_text import laid_out, parsed, place_in

REVISIONS = ("2025-11-25", "2026-07-28")
FAULTS = ("structured-content-wrong", "prompt-listed-twice")
MARKUP = [
    "<img src=x onerror=window.owned=1>",
    '"><img src=x onerror="window.owned=1">',
    "' onmouseover='window.owned=1' autofocus onfocus='window.owned=1",
    "</script><script>window.owned=1</script>",
    "</style><style>*{display:none}</style>",
    "</pre></details></main><iframe src=https://example.com></iframe>",
    "<svg/onload=window.owned=1>",
    "--><!-- <base href=https://example.com/>",
    "javascript:window.owned=1",
    "{{ 7 * 7 }} {% raw %} ${7 * 7}",
    "&lt;b&gt; &#60;b&#62; &amp;",
]
TEXTS = [*MARKUP, *hostile_text.TEXTS]
TARGETS = [None, Target(config="mcp.json")]


# -- reports made by hand


def a_report(texts: list[str], url: str = "https://example.com/rule", target: Target | None = None) -> Report:
    """A report with each verdict and each severity, and `texts` wherever a server, or its user, may have a say."""
    following = cycle(texts)

    def text() -> str:
        return next(following)

    def finding(name: str, confirmed: bool) -> Finding:
        frames = (
            Frame(1, "us", "post", 0.1, b"{", illegal=True),
            Frame(2, "target", "head", 0.2, b"", status=200, headers={"content-type": text(), "x": text()}),
            Frame(3, "target", "event", 0.3, b"", fields={"id": text()}),
            Frame(4, "target", "sse", 0.4, json.dumps({"id": 7, text(): [text()]}).encode()),
            Frame(5, "target", "stdout", 0.5, b"{" + text().encode("utf-8", "surrogatepass")),
        )
        return Finding(
            name,
            "tools/list",
            f"1{text()}",
            f"2{text()}",
            f"3{text()}",
            frames,
            confirmed=confirmed,
            occurrences=3,
            diagnosis=text(),
            hint=text(),
            after=("tools/call",),
            tries=(1, 5),
        )

    def judged(name: str, verdict: Verdict, severity: Severity | None = None, flaky: bool = False) -> Judged:
        rule = Requirement(name, text(), {}, {}, {}, "yes")
        found = (finding(name, True), finding(name, True)) if severity else ()
        again = f"mcp-conform {text()}" if severity else ""
        doubted = (finding(name, False),) if flaky else ()
        return Judged(rule, Level.MUST, Basis.OWN, verdict, severity, f"4{text()}", url, found, again, 1.0, doubted)

    def run(revision: str) -> Run:
        verdicts = (
            *(judged(f"tools/{severity}", Verdict.FAILED, severity) for severity in Severity),
            *(judged(f"prompts/{n}", verdict) for n, verdict in enumerate(Verdict) if verdict is not Verdict.FAILED),
            judged("prompts/flaky", Verdict.INCONCLUSIVE, flaky=True),
        )
        server = {"name": text(), "version": text()}
        tally = Tally("malformed", 3, 9, {text(): 3}, 1, 0, 1.0, text())
        left_out = {f"1{text()}": f"1{text()}"}
        name = text() if target else ""
        return Run(
            revision, "era", "stdio", server, {}, verdicts, 1.0, name, (tally,), left_out, Extent(2, 1, 0)
        )  # fmt: skip

    runs = tuple(map(run, REVISIONS))
    return Report(
        target or Target(("python", text()), f"https://example.com/{text()}"),
        "0.1.0",
        "2026-01-02T03:04:05+00:00",
        2.0,
        True,
        runs,
        1,
        (text(), text()),
        text(),
        counts(runs),
        {f"0{text()}": text()} if target else {},
        text(),
        text(),
        ("2024-11-05",),
    )


def written(folder: Path, report: Report) -> Path:
    """The page of a report, as a file."""
    path = folder / "report.html"
    path.write_text(as_html(report), "utf-8", "backslashreplace")
    return path


# -- real runs


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the page, and the JSON report, of a run with faults in two revisions."""
    folder = tmp_path_factory.mktemp("demo")
    faults = [word for fault in FAULTS for word in ("--fault", fault)]
    only = ["--only", "tools", "--only", "prompts", "--quick"]
    done = fronts.conform("demo", *faults, *only, "--html", "r.html", "--json", "r.json", cwd=folder)
    assert done.returncode == 1, done.stderr
    return folder


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of several servers: one that is right, one that is wrong, and one that cannot be started."""
    folder = tmp_path_factory.mktemp("servers")
    started = {"command": sys.executable, "args": ["-m", "conformance.reference"]}
    faulty = {**started, "args": [*started["args"], "--fault", FAULTS[0]]}
    named = {"right": started, "<b>wrong</b>": faulty, "absent": {"command": "no-such-command-anywhere"}}
    (folder / "mcp.json").write_text(json.dumps({"mcpServers": named}))
    only = ["--only", "tools", "--call-tools", "all", "--quick"]
    done = fronts.conform("--config", "mcp.json", *only, "--html", "r.html", cwd=folder)
    assert done.returncode == 1, done.stderr
    return folder / "r.html"


def read(path: Path) -> Page:
    """The page in a file."""
    return Page(path.read_text("utf-8"))


def test_the_page_of_a_run_is_well_formed_and_allows_nothing_but_itself(demo: Path) -> None:
    page = read(demo / "r.html")
    assert page.allows_only_itself()
    assert_harmless(page.source)
    assert (demo / "r.html").stat().st_size < 300_000


def test_the_page_says_what_was_tested_and_what_to_fix_first(demo: Path) -> None:
    text = " ".join(read(demo / "r.html").text.split())
    assert "✕ Failed. The server breaks the specification." in text
    assert "2 violations of 1 requirement" in text and "exit status 1" in text
    assert "Fix first: the structuredContent of tool 'settings' breaks its outputSchema" in text
    for told in (
        "mcp-conform-reference 1.0.0",
        "-m conformance.reference --fault structured-content-wrong",
        "In 2025-11-25 over stdio 232 requirements checked",
        "MUST A tool with an outputSchema returns structuredContent that conforms to it.",
        "Actual $.colour: 5 is not of type 'string'",
        "confirmed on a fresh server",
        "← received",
        "Show it again: mcp-conform --server",
    ):
        assert told in text


def test_the_part_of_a_frame_that_breaks_the_rule_is_marked(demo: Path) -> None:
    assert "<mark>&#34;colour&#34;: 5</mark>" in (demo / "r.html").read_text("utf-8")


def test_the_page_has_every_verdict_of_the_json_report(demo: Path) -> None:
    source = (demo / "r.html").read_text("utf-8")
    runs = json.loads((demo / "r.json").read_text("utf-8"))["runs"]
    assert len(runs) == 2
    for number, run in enumerate(runs):
        for verdict in run["verdicts"]:
            row = re.search(rf'<tr class="item" id="rule/{verdict["requirement"]}" data-on="([^"]*)">', source)
            assert row is not None
            word = verdict["severity"] or verdict["verdict"].replace(" ", "-")
            assert f"{word}@{number}" in row[1].split()


def test_several_servers_have_an_overview_and_a_section_each(servers: Path) -> None:
    page = read(servers)
    text = " ".join(page.text.split())
    assert {"server-1", "server-2", "server-3"} <= set(page.ids)
    assert "1 failed, 1 not tested, 1 passed" in text
    assert "<b>wrong</b> ✕ Failed" in text
    assert "Why: the command 'no-such-command-anywhere' was not found" in text


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"problem": "it does not start", "diagnosis": "a typo", "hint": "mend it"}, "Why: it does not start"),
        ({"problem": "it does not start", "diagnosis": "a typo", "hint": "mend it"}, "How to fix it: mend it"),
        ({"complete": False}, "? Not tested. The run was interrupted, so nothing is proven."),
        ({"complete": False}, "Interrupted: this is what was learned until then."),
        ({}, "nothing was tested · exit status 3"),
        ({"target": TARGETS[1], "problems": {"a": "it dies"}}, "a ? Not tested nothing it dies"),
        ({"target": TARGETS[1]}, "there is no server"),
    ],
)
def test_a_report_in_which_nothing_was_tested_is_a_page_too(changes: dict[str, Any], told: str) -> None:
    empty = Report(Target(("python", "x.py")), "0.1.0", "2026-01-02T03:04:05+00:00", 0.1, True, (), 3)
    page = Page(as_html(replace(empty, **changes)))
    assert page.allows_only_itself()
    assert told in " ".join(page.text.split())


def test_a_run_that_was_cut_short_is_incomplete() -> None:
    report = a_report(["x"])
    passed = tuple(judged for judged in report.runs[0].verdicts if judged.verdict is Verdict.PASSED)
    cut = replace(report, exit=3, problem="out of time", runs=(replace(report.runs[0], verdicts=passed),))
    text = " ".join(Page(as_html(cut)).text.split())
    assert "? Incomplete." in text and "Why: out of time" in text
    assert "No violation, no warning, no advice in what was tested." in text


def test_a_report_that_was_not_written_makes_the_page_say_so() -> None:
    page = Page(as_html(replace(a_report(["x"]), exit=3, problem=""), unwritten=True))
    assert "Not every report could be written." in page.text


# -- hostile text


@pytest.mark.parametrize("target", TARGETS, ids=["one server", "several"])
def test_hostile_text_adds_no_element(target: Target | None) -> None:
    tags = Page(as_html(a_report(["harmless"], target=target))).tags
    for text in TEXTS:
        page = Page(as_html(a_report([text], target=target)))
        assert page.tags == tags, text
        assert page.allows_only_itself(), text
        assert_harmless(page.source)


@pytest.mark.parametrize("url", ["javascript:alert(1)", "data:text/html,x", "//example.com", "cases/own.yaml:3"])
def test_only_the_pages_of_the_specification_are_links(url: str) -> None:
    page = Page(as_html(a_report(["x"], url)))
    assert not any(url in link for link in page.links)
    assert url in page.text


def test_strings_of_a_megabyte_make_a_small_page() -> None:
    page = Page(as_html(a_report([f"<{'x' * 1_000_000}", "\x00" * 1_000_000])))
    assert len(page.source.encode()) < 1_500_000


def test_of_thousands_of_findings_the_first_are_shown_and_the_number_of_the_others_is_told() -> None:
    report = a_report(["x"])
    first = report.runs[0].verdicts[0]
    many = tuple(replace(first.findings[0], message=f"finding {n}") for n in range(3000))
    rows = tuple(
        replace(first, requirement=replace(first.requirement, id=f"tools/{n}"), findings=many[n::100])
        for n in range(100)
    )
    verdicts = (replace(first, findings=many), *rows)
    page = Page(as_html(replace(report, runs=(replace(report.runs[0], verdicts=verdicts),))))
    assert "and 2999 more findings" in page.text
    assert "2892 more are not shown" in page.text
    assert len(page.source.encode()) < 2_000_000


def test_frames_of_many_megabytes_make_a_page_of_few() -> None:
    report = a_report(["x"])
    first = report.runs[0].verdicts[0]
    big = tuple(Frame(n, "target", "stdout", 0.1, b"x" * 1_000_000) for n in range(25))
    found = tuple(replace(first.findings[0], message=f"finding {n}", frames=big) for n in range(8))
    rows = tuple(
        replace(first, requirement=replace(first.requirement, id=f"tools/{n}"), findings=found) for n in range(60)
    )
    page = Page(as_html(replace(report, runs=(replace(report.runs[0], verdicts=rows),))))
    assert "(5 earlier ones are left out)" in page.text
    assert len(page.source.encode()) < 12_000_000


# -- JSON as it is shown


@often
@given(DATA)
def test_json_is_laid_out_without_a_change(document: Any) -> None:
    text = json.dumps(document)
    shown = "".join(part.text for part in laid_out(text))
    assert_harmless(shown)
    assert re.sub(r"\s", "", shown) == re.sub(r"\s", "", text)
    assert repr(parsed(shown)) == repr(parsed(text))  # a NaN is equal to nothing


def test_what_json_readers_drop_is_kept() -> None:
    text = '{"a":1.00,"a":1e400,"b":"\\u0041\u202e"}'
    shown = "".join(part.text for part in laid_out(text))
    assert shown == '{"a": 1.00, "a": 1e400, "b": "\\u0041\\u202e"}'


@pytest.mark.parametrize(
    ("told", "marked"),
    [
        ("$.n: 5 is not of type 'string'", '"n": 5'),
        ("error.code: -32603", '"code": -32603'),
        ('content[1].type is "x", expected "text"', '"type": "x"'),
        ("content[1].text is missing", "{"),
        ('inputRequests["who-1"].params is 7, expected an object', '"params": 7'),
        ("no such thing", ""),
        ("n is missing", ""),
        ("", ""),
    ],
)
def test_the_place_that_a_finding_names_is_marked(told: str, marked: str) -> None:
    result = {
        "content": [{"type": "text", "text": "n"}, {"type": "x"}],
        "structuredContent": {"n": 5},
        "inputRequests": {"who-1": {"params": 7}},
    }
    text = json.dumps({"id": 1, "result": result, "error": {"code": -32603}})
    shown = laid_out(text, place_in(parsed(text), told))
    assert "".join(part.text for part in shown if part.marked) == marked


@pytest.mark.parametrize("text", ["[" * 5000 + "]" * 5000, "[" * 50 + "]" * 50])
def test_json_that_is_nested_too_deep_is_not_laid_out(text: str) -> None:
    with pytest.raises(ValueError, match="nested too deep"):
        laid_out(text, place_in(parsed(text), ""))


# -- in a browser

in_chromium = pytest.mark.skipif(not (chromium.BROWSER and chromium.DRIVER), reason=chromium.MISSING)


@pytest.fixture(scope="module")
def opened() -> Iterator[chromium.Chromium]:
    try:
        with chromium.chromium() as browser:
            yield browser
    except SessionNotCreatedException as error:
        pytest.skip(f"Chromium and its driver do not go together: {error.msg}")


@pytest.fixture
def browser(opened: chromium.Chromium) -> chromium.Chromium:
    """Chromium as a user has it: a wide window, a light scheme, nothing to be told yet."""
    opened.scripts(True)
    opened.prefer("light")
    opened.resize(1280)
    opened.messages()
    opened.requests()
    return opened


def until(browser: chromium.Chromium, holds: Callable[[], Any]) -> Any:
    """What `holds` gives once it is true."""
    return WebDriverWait(browser, 20, 0.02).until(lambda _: holds())


def shown(browser: chromium.Chromium, selector: str) -> list[WebElement]:
    """The elements that can be seen."""
    return [element for element in browser.find_elements(By.CSS_SELECTOR, selector) if element.is_displayed()]


def ids(browser: chromium.Chromium) -> list[str]:
    """The findings that can be seen."""
    return [element.get_attribute("id") or "" for element in shown(browser, ".finding")]


UNFOLD = "for (const fold of document.querySelectorAll('details')) fold.open = true"


@in_chromium
@pytest.mark.parametrize("target", TARGETS, ids=["one server", "several"])
def test_hostile_text_runs_nothing_and_fetches_nothing(
    browser: chromium.Chromium, tmp_path: Path, target: Target | None
) -> None:
    path = written(tmp_path, a_report([*TEXTS, f"<b>{'x' * 1_000_000}"], target=target))
    browser.show(path, "#show=violation,<img src=x onerror=window.owned=1>&area=tools&q=%3Cimg")
    browser.execute_script(UNFOLD)
    query = browser.find_element(By.ID, "query")
    query.clear()
    query.send_keys("<img src=x onerror=window.owned=1>")
    until(browser, lambda: browser.find_element(By.ID, "shown").text)
    for button in shown(browser, ".copy")[:3]:
        button.click()
    assert browser.execute_script("return window.owned") is None
    assert browser.messages() == []
    asked = [url for url in browser.requests() if url != "about:blank"]
    assert {url.partition("#")[0] for url in asked} == {path.as_uri()}
    names = browser.execute_script("return [...document.all].map((element) => element.localName)")
    assert set(names) <= TAGS
    added = len(shown(browser, ".copy")) + sum(
        not e.is_displayed() for e in browser.find_elements(By.CLASS_NAME, "copy")
    )
    assert len(names) - added == len(read(path).tags)


@in_chromium
def test_findings_are_searched_and_filtered_by_keyboard_and_the_address_says_how(
    browser: chromium.Chromium, demo: Path
) -> None:
    browser.show(demo / "r.html")
    everything = ids(browser)
    assert everything[0] == "violation/tools/structured-content-conforms"
    browser.find_element(By.TAG_NAME, "body").send_keys("/")
    field = browser.switch_to.active_element
    assert field.get_attribute("id") == "query"
    field.send_keys("same NAME")
    until(browser, lambda: ids(browser) == ["warning/prompts/name-unique"])
    assert browser.current_url.endswith("#q=same+NAME")
    field.send_keys(Keys.ESCAPE)
    until(browser, lambda: ids(browser) == everything)
    field.send_keys(Keys.TAB, Keys.SPACE)
    until(browser, lambda: ids(browser) == [name for name in everything if name.startswith("violation/")])
    assert browser.current_url.endswith("#show=violation")
    browser.switch_to.active_element.send_keys(Keys.SPACE)
    browser.find_element(By.ID, "area").send_keys("prompts")
    until(browser, lambda: ids(browser) == ["warning/prompts/name-unique"])
    address = browser.current_url
    assert address.endswith("#area=prompts")
    browser.get("about:blank")
    browser.get(address)
    assert ids(browser) == ["warning/prompts/name-unique"]
    browser.find_element(By.ID, "clear").click()
    assert ids(browser) == everything
    browser.find_element(By.ID, "query").send_keys("no such words")
    until(browser, lambda: shown(browser, "#nothing"))
    assert ids(browser) == []
    assert browser.messages() == []


@in_chromium
def test_a_cell_of_the_matrix_shows_what_it_counts(browser: chromium.Chromium, demo: Path) -> None:
    browser.show(demo / "r.html")
    cell = browser.find_element(By.CSS_SELECTOR, '.areas a[data-area="tools"][data-run="1"]')
    assert (cell.get_attribute("aria-label") or "").startswith("tools in 2026-07-28 stdio: 1 violation")
    cell.send_keys(Keys.ENTER)
    assert "area=tools&run=2026-07-28+stdio" in browser.current_url
    assert all("/tools/" in name for name in ids(browser))
    assert "advice/tools/structured-content-text-copy" in ids(browser)
    assert "warning/tools/structured-content-text-copy" not in ids(browser)


@in_chromium
def test_a_link_opens_its_finding_and_frames_unfold_and_can_be_copied(browser: chromium.Chromium, demo: Path) -> None:
    name = "violation/tools/structured-content-conforms"
    browser.show(demo / "r.html", f"#{name}&area=prompts")
    until(browser, lambda: name in ids(browser))
    finding = browser.find_element(By.ID, name)
    assert finding.get_attribute("open") is not None
    frame = finding.find_element(By.CSS_SELECTOR, ".frames pre")
    assert not frame.is_displayed()
    finding.find_element(By.CSS_SELECTOR, ".frames > summary").send_keys(Keys.ENTER)
    until(browser, frame.is_displayed)
    assert finding.find_element(By.TAG_NAME, "mark").text == '"colour": 5'
    button = until(browser, lambda: shown(browser, ".frames .copy"))[0]
    button.click()
    until(browser, lambda: button.text == "Copied")
    again = finding.find_element(By.CSS_SELECTOR, ".head:has(+ .again) .copy")
    again.click()
    until(browser, lambda: again.text == "Copied")
    query = browser.find_element(By.ID, "query")
    query.send_keys(Keys.CONTROL, "v")
    command = finding.find_element(By.CSS_SELECTOR, ".again").get_attribute("textContent")
    until(browser, lambda: query.get_attribute("value") == command)


@in_chromium
def test_several_servers_are_one_page_that_can_be_searched(browser: chromium.Chromium, servers: Path) -> None:
    browser.show(servers)
    assert len(shown(browser, ".server")) == 3
    first = shown(browser, ".overview td.text a")[0]
    first.click()
    until(browser, lambda: "server-2/violation/tools/structured-content-conforms" in ids(browser))
    finding = browser.find_element(By.ID, "server-2/violation/tools/structured-content-conforms")
    assert finding.get_attribute("open") is not None
    browser.find_element(By.CSS_SELECTOR, "#filters input[value=violation]").click()
    until(browser, lambda: [e.get_attribute("id") for e in shown(browser, ".server")] == ["server-2"])
    browser.find_element(By.ID, "clear").click()
    browser.execute_script(UNFOLD)
    browser.find_element(By.CSS_SELECTOR, '#server-1 .areas a[data-area="tools"]').send_keys(Keys.ENTER)
    assert [e.get_attribute("id") for e in shown(browser, ".server")] == ["server-1"]
    assert "server=right&area=tools&run=2025-11-25+stdio" in browser.current_url
    assert browser.messages() == []


@in_chromium
def test_nothing_scrolls_sideways_on_a_narrow_screen(
    browser: chromium.Chromium, demo: Path, servers: Path, tmp_path: Path
) -> None:
    browser.resize(400)
    for path in (demo / "r.html", servers, written(tmp_path, a_report([*TEXTS, "x" * 1_000_000]))):
        browser.show(path)
        browser.execute_script(UNFOLD)
        width = browser.execute_script("return document.documentElement.scrollWidth")
        assert width <= 400, path


@in_chromium
def test_without_scripts_all_is_there_and_no_control_is(browser: chromium.Chromium, demo: Path) -> None:
    browser.scripts(False)
    browser.show(demo / "r.html")
    assert shown(browser, "#filters, button, .copy") == []
    assert len(ids(browser)) == len(browser.find_elements(By.CLASS_NAME, "finding"))
    summary = browser.find_element(By.CSS_SELECTOR, ".finding > summary")
    summary.click()
    assert shown(browser, ".finding[open] .expected, .finding[open] .actual")
    assert browser.messages() == []


@in_chromium
def test_print_unfolds_the_findings_and_has_no_controls(browser: chromium.Chromium, demo: Path) -> None:
    browser.scripts(False)
    browser.show(demo / "r.html")
    browser.prefer("dark", "print")
    seen = "return [...document.querySelectorAll('.finding .actual code')].map((each) => each.checkVisibility())"
    assert set(browser.execute_script(seen)) == {True}
    assert shown(browser, "#filters, .permalink, .copy, .skip") == []
    background = browser.find_element(By.TAG_NAME, "body").value_of_css_property("background-color")
    assert background in ("rgba(255, 255, 255, 1)", "rgb(255, 255, 255)")


CONTRAST = """
const luminance = (colour) => {
  const [r, g, b] = colour.match(/[\\d.]+/g).map((part) => part / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  for (let each = element; each; each = each.parentElement) {
    const colour = getComputedStyle(each).backgroundColor;
    if (colour !== "rgba(0, 0, 0, 0)") return colour;
  }
  return "rgb(255, 255, 255)";
};
const low = [];
for (const element of document.querySelectorAll("body *")) {
  const says = [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  if (!says || !element.checkVisibility()) continue;
  const [a, b] = [getComputedStyle(element).color, behind(element)].map(luminance).sort((x, y) => y - x);
  if ((a + 0.05) / (b + 0.05) < 4.5) low.push(element.outerHTML.slice(0, 100));
}
return low;
"""


@in_chromium
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_stands_out_from_its_background(browser: chromium.Chromium, tmp_path: Path, scheme: str) -> None:
    browser.prefer(scheme)
    browser.show(written(tmp_path, a_report(["x"])))
    browser.execute_script(UNFOLD)
    dark = browser.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches")
    assert dark is (scheme == "dark")
    assert browser.execute_script(CONTRAST) == []
