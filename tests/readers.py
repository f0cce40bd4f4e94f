"""Those who read our reports in a pipeline: each says whether it can read a file, and whether all in it is ours."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import cmarkgfm
import junitparser
import lxml.html
from cmarkgfm.cmark import Options
from github_runner import Command, commands
from hostile_words import assert_harmless
from jsonschema import Draft4Validator
from lxml import etree
from markdown_it import MarkdownIt

from conformance.catalogue.requirements import load

FORMATS = Path(__file__).resolve().parent / "formats"

# -- JUnit

_JENKINS = etree.XMLSchema(etree.parse(str(FORMATS / "junit-10.xsd")))


def read_junit(text: str) -> junitparser.JUnitXml:
    """As Jenkins' schema, junitparser, and GitLab, which tells tests apart by classname and name, read it."""
    assert_harmless(text)
    root = etree.fromstring(text.encode())
    _JENKINS.assertValid(root)
    read = junitparser.JUnitXml.fromstring(text.encode())
    assert isinstance(read, junitparser.JUnitXml)
    names: list[tuple[str, str]] = []
    total = 0
    for suite in read:
        cases = list(suite)
        names += [(case.classname, case.name) for case in cases]
        assert suite.tests == len(cases)
        times = [round(1000 * case.time) for case in cases]
        assert min(times) >= 0
        assert sum(times) == round(1000 * suite.time)
        total += sum(times)
        results = Counter(type(result).__name__ for case in cases for result in case.result)
        assert (suite.failures, suite.errors, suite.skipped) == (
            results["Failure"],
            results["Error"],
            results["Skipped"],
        )
    assert total == round(1000 * read.time)
    assert len(set(names)) == len(names) == read.tests > 0
    return read


# -- SARIF

_OASIS = Draft4Validator(json.loads((FORMATS / "sarif-schema-2.1.0.json").read_text("utf-8")))


def read_sarif(text: str) -> Any:
    """As the schema of OASIS and the documentation of GitHub's code scanning have it; the one run of the log."""
    assert_harmless(text)
    assert len(gzip.compress(text.encode())) < 10_000_000
    data = json.loads(text)
    _OASIS.validate(data)
    (run,) = data["runs"]  # GitHub refuses several of the same category
    assert re.fullmatch(r"mcp-conform/.+/", run["automationDetails"]["id"])
    (invocation,) = run["invocations"]
    assert invocation["startTimeUtc"] <= invocation["endTimeUtc"]
    rules = run["tool"]["driver"]["rules"]
    for rule in rules:
        for text in (rule["shortDescription"]["text"], rule["fullDescription"]["text"]):
            assert 0 < len(text) <= 1024
        assert rule["help"]["text"] and rule["help"]["markdown"]
        assert len(rule["properties"]["tags"]) <= 20
    results = run["results"]
    assert len(results) <= 5000
    prints = [result["partialFingerprints"]["primaryLocationLineHash"] for result in results]
    assert len(set(prints)) == len(prints)
    for result in results:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        (location,) = result["locations"]
        uri = location["physicalLocation"]["artifactLocation"]["uri"]
        assert uri and not re.match(r"/|\w+:|\.\.", uri)
        assert "](" not in result["message"]["text"], "it would be a link"
        assert result["properties"]["runs"]
    return run


# -- Markdown

_EXTENSIONS = ["table", "autolink", "strikethrough", "tasklist"]
_ELEMENTS = {
    *("html", "body", "div", "h2", "h3", "h4", "p", "ul", "li", "a", "b", "strong", "br", "details", "summary"),
    *("table", "thead", "tbody", "tr", "th", "td"),
}
_CODE = ("code", "pre")
_PAGES = ("https://modelcontextprotocol.io/", "https://www.jsonrpc.org/", "https://example.com/rule")
"""Where rules come from; the last is that of reports made by hand."""


def rendered(text: str) -> list[Any]:
    """The HTML that GitHub's renderer and another one make of it, with HTML let through, parsed."""
    flags = Options.CMARK_OPT_UNSAFE
    other = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    pages = (cmarkgfm.markdown_to_html_with_extensions(text, flags, _EXTENSIONS), other.render(text))
    return [lxml.html.document_fromstring(f"<div>{page}</div>") for page in pages]


def read_markdown(text: str, *said: str) -> str:
    """As GitHub and GitLab render it; what is code. None of what was `said` by a server may stand outside of code."""
    assert_harmless(text)
    assert len(text.encode()) <= 1_000_000
    code = ""
    for page in rendered(text):
        for element in page.iter():
            assert element.tag in _ELEMENTS or element.tag in _CODE, element.tag
            allowed = {"a": {"href"}, "code": {"class"}, "pre": {"lang"}}.get(element.tag, set())
            assert set(element.attrib) <= allowed, element.attrib
            if element.tag == "a":
                assert element.attrib["href"].startswith(_PAGES)
                assert element.text == "Specification"
        for summary in page.iter("summary"):
            assert summary.getparent().tag == "details"
        code = "\n".join(element.text_content() for tag in _CODE for element in page.iter(tag))
        for element in list(page.iter(*_CODE)):
            element.drop_tree()
        plain = page.text_content()
        for words in ("@", "http", "![", *said):
            assert words not in plain, words
        assert not re.search(r"[#!]\d", plain)
    return code


# -- annotations


def read_annotations(output: str) -> list[Command]:
    """The annotations that GitHub makes of what a run has printed; it must be told nothing else."""
    found = commands(output)
    for command in found:
        assert command.name in ("error", "warning", "notice"), command
        title = command.properties["title"]
        assert title.startswith("mcp-conform") or any(each in load() for each in re.split(r"[ :]+", title)), title
        assert set(command.properties) <= {"title", "file", "line"}
        assert_harmless(command.data)
    assert max(Counter(command.name for command in found).values(), default=0) <= 10
    order = [("error", "warning", "notice").index(command.name) for command in found]
    assert order == sorted(order)
    return found


# -- badges


def read_badge(text: str) -> tuple[str, str]:
    """Message and colour, of an endpoint of shields.io or of a picture."""
    assert_harmless(text)
    if text.startswith("{"):
        data = json.loads(text)
        assert set(data) <= {"schemaVersion", "label", "message", "color", "isError"}
        assert (data["schemaVersion"], data["label"]) == (1, "MCP")
        assert data.get("isError", False) is (data["color"] != "brightgreen")
        return data["message"], data["color"]
    root = etree.fromstring(text.encode())
    space = "{http://www.w3.org/2000/svg}"
    assert {element.tag.removeprefix(space) for element in root.iter()} == {"svg", "title", "rect", "g", "text"}
    assert root.attrib["role"] == "img"
    title = root.findtext(f"{space}title")
    label, message = (element.text for element in root.iter(f"{space}text"))
    assert title == root.attrib["aria-label"] == f"{label}: {message}"
    boxes = root.findall(f"{space}rect")
    assert sum(float(box.attrib["width"]) for box in boxes) == float(root.attrib["width"])
    return str(message), boxes[1].attrib["fill"]
