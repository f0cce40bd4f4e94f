"""Hostile text in every string of a survey and of a report; a real reader of each kind reads what is written."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hostile_words import DATA, TEXTS, assert_harmless, exactly, often
from html_page import Page
from hypothesis import example, given
from hypothesis import strategies as st
from servers import hostile_text

from conformance.compatibility.surface import compare_snapshots
from conformance.engine.events import (
    CaseEnded,
    Finished,
    FrameSeen,
    Noted,
    NotTested,
    Planned,
    RevisionAbsent,
    RevisionFound,
    Started,
    Surveyed,
)
from conformance.engine.options import Detail, Mention, Options
from conformance.engine.reproduction import command
from conformance.engine.verdicts import counts
from conformance.files.yaml_files import FileError, parse
from conformance.files.yaml_text import COMMENT, DEEPEST, Unwritable, comment, one_line
from conformance.model import (
    Basis,
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
from conformance.reporters import found_cases, html, json_report, junit, snapshot
from conformance.reporters.terminal import TerminalReporter
from conformance.reporters.trace import TraceReporter
from conformance.session.eras.stateless import header_value
from conformance.settings.target_file import read
from conformance.settings.target_file_text import MOST, Given, text_for
from conformance.survey.survey import CallPolicy, Survey
from conformance.target.process import parse_command

REVISION = "2025-11-25"
TAGS = {"testsuites", "testsuite", "properties", "property", "testcase", "skipped", "error", "failure", "system-out"}
"""Of a JUnit file."""


# -- YAML


@often
@given(DATA)
def test_every_reader_of_yaml_gets_back_what_was_written(value: Any) -> None:
    try:
        text = one_line(value)
    except Unwritable:
        assert (
            not re.fullmatch(r"[ -~]*", json.dumps(value, ensure_ascii=False))
            or "NaN" in exactly([value])
            or "Inf" in exactly([value])
        )
        return
    assert text.splitlines() == [text]
    assert exactly(yaml.safe_load(f"a: {text}\n")) == exactly({"a": value})
    assert exactly(parse(f"a: {text}\n", Path("x"))[0]) == exactly({"a": value})


@often
@given(TEXTS)
@example("\n".join(hostile_text.SEPARATORS))
@example(hostile_text.LONG)
def test_a_comment_is_one_line_for_every_reader(text: str) -> None:
    written = comment(text)
    assert written.splitlines() == [written]
    assert len(written) <= COMMENT + 10
    assert all(" " <= c <= "~" or c.isalnum() for c in written)
    for before in ("", "a: 1    "):
        found = yaml.safe_load(f"{before}{written}\nb: 2\n")
        assert found == ({"a": 1, "b": 2} if before else {"b": 2})


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("\ud83d", "lone surrogates"),
        ({"\udc80": 1}, "lone surrogates"),
        (float("inf"), "the number inf"),
        (float("nan"), "the number nan"),
        (10**2000, "a number of more than 1000 digits"),
        (hostile_text.LONG, "more than 8000 characters"),
        ([0] * 10_000, "more than 8000 characters"),
        (json.loads("[" * (DEEPEST + 2) + "]" * (DEEPEST + 2)), f"nested more than {DEEPEST} deep"),
        (json.loads("[" * 900 + "]" * 900), f"nested more than {DEEPEST} deep"),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isascii() and len(value) < 50 else "",
)
def test_what_cannot_be_written_exactly_is_not_written(value: Any, why: str) -> None:
    with pytest.raises(Unwritable, match=why):
        one_line(value)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('a: 1\nb: "\\ud83d\\ude00"\n', "is half a character"),
        ('a: 1\nb: "\\ud800"\n', "is half a character"),
        ("a: 1\nb: \x9b\n", "control characters"),
        ("a: 1\nb: \ufffe\n", "control characters"),
        (f"a: 1\nb: {'7' * 5000}\n", "a number of 5000 digits is too large"),
    ],
)
def test_what_yaml_cannot_say_is_refused_with_its_line(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "x.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(FileError, match=complaint) as told:
        parse(text, path)
    assert told.value.line == 2


@pytest.mark.parametrize("escape", ["\\0", "\\x7f", "\\x85", "\\L", "\\uFEFF", "\\uFFFE", "\\U0001F600", "\\t"])
def test_what_yaml_can_escape_is_read_as_it_is(escape: str) -> None:
    expected = yaml.safe_load(f'"{escape}"')
    assert len(expected) == 1
    assert parse(f'a: "{escape}"\n', Path("x"))[0] == {"a": expected}


# -- the target file


def survey_of(names: Any, texts: Any) -> Survey:
    """What a server offers whose every word is one of `texts`."""
    tools = [
        {
            "name": name,
            "description": text,
            "inputSchema": {"type": "object", "properties": {text: schema}, "required": [text]},
            "annotations": {"readOnlyHint": bool(number % 2)},
        }
        for number, (name, text) in enumerate(zip(names, texts, strict=True))
        for schema in ({"const": text}, {"$ref": text}, {"type": text})[number % 3 :][:1]
    ]
    prompts = [
        {"name": name, "arguments": [{"name": t, "required": True}]} for name, t in zip(names, texts, strict=True)
    ]
    templates = [{"uriTemplate": text, "name": text} for text in texts]
    resources = [{"uri": text, "name": name} for name, text in zip(names, texts, strict=True)]
    return Survey({}, CallPolicy(), tuple(tools), tuple(resources), tuple(templates), tuple(prompts))


PAIRS = st.lists(st.tuples(TEXTS | DATA, TEXTS), max_size=6)


@often
@given(TEXTS.filter(bool), PAIRS, st.lists(TEXTS.filter(bool), max_size=3))
def test_a_target_file_has_the_keys_that_were_meant_and_the_server_of_the_user(
    server: str, pairs: list[tuple[Any, str]], env: list[str]
) -> None:
    survey = survey_of([name for name, _ in pairs], [text for _, text in pairs])
    text = text_for(Given(server, env=tuple(env)), survey)
    assert all(c == "\n" or " " <= c <= "~" or c.isalnum() for c in text)
    data = yaml.safe_load(text)
    halves = re.compile("[\ud800-\udfff]")
    meant: dict[str, Any] = {} if halves.search(server) else {"server": server}
    variables = {name for name in env if not halves.search(name)}
    assert set(data.get("env", {})) == variables
    assert all(re.fullmatch(r"\$[A-Za-z_][A-Za-z0-9_]*", value) for value in data.get("env", {}).values())
    sure = [(str(n), t) for n, t in pairs if isinstance(n, str) and not halves.search(n + t)]
    first = {n: t for n, t in reversed(sure) if [m for m, _ in pairs if m == n][:1] == [n]}
    assert {n: v for n, v in data.items() if n not in ("tools", "prompts", "env")} == meant
    allowed = {t["name"] for t in survey.tools if isinstance(t["name"], str) and survey.policy.allows(t)}
    assert set(data.get("tools", {})) <= allowed
    assert set(data.get("prompts", {})) <= {p["name"] for p in survey.prompts if isinstance(p["name"], str)}
    once = {n: t for n, t in first.items() if [m for m, _ in pairs].count(n) == 1}
    assert {n: {t: "x"} for n, t in once.items()}.items() <= {**data.get("prompts", {})}.items()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mcp-conform.yaml"
        path.write_text(text, encoding="utf-8")
        assert exactly(read(path).settings) == exactly(data)


@often
@given(st.lists(st.tuples(TEXTS, TEXTS), max_size=5, unique_by=lambda pair: pair[0]))
def test_a_line_that_the_user_takes_the_mark_from_says_what_was_meant(pairs: list[tuple[str, str]]) -> None:
    survey = survey_of([name for name, _ in pairs], [text for _, text in pairs])
    text = text_for(Given("x"), replace(survey, templates=()))
    bare = re.sub(r"(?m)^# (tools:$|  (?=[\"?]| +- arguments: ))", r"\1", text)
    tools = yaml.safe_load(bare).get("tools") or {}
    halves = re.compile("[\ud800-\udfff]")
    assert set(tools) >= {name for name, t in pairs if not halves.search(name + t)}
    assert set(tools) <= {name for name, _ in pairs}


def test_more_tools_than_anybody_reads_are_counted() -> None:
    tools = tuple({"name": f"t{n}", "inputSchema": {"type": "object"}} for n in range(MOST + 7))
    text = text_for(Given("x"), Survey({}, CallPolicy(), tools))
    assert f'"t{MOST - 1}":' in text and f'"t{MOST}":' not in text
    assert "# Left out: 7 " in text


def test_a_secret_that_the_server_tells_is_not_in_the_target_file() -> None:
    schema = {"type": "object", "properties": {"a": {"const": "sesame-71"}}, "required": ["a"]}
    tools = tuple({"name": n, "inputSchema": schema, "annotations": {"readOnlyHint": True}} for n in ("x", "sesame-71"))
    survey = Survey({}, CallPolicy(), tools, templates=({"uriTemplate": "a:sesame-71/{x}"},))
    text = text_for(Given("x"), survey, lambda words: words.replace("sesame-71", "***KEY***"))
    assert "sesame" not in text
    assert yaml.safe_load(text) == {"server": "x"}


# -- every string of a report


def a_report(texts: Iterator[str], data: Any) -> Report:
    """A report with text of a server wherever there may be some."""

    def text() -> str:
        return next(texts)

    def finding(name: str) -> Finding:
        head = Frame(4, "target", "head", 0.3, b"", status=200, headers={"content-type": text(), "x": text()})
        line = Frame(3, "target", "stdout", 0.25, text().encode("utf-8", "surrogatepass"), case="tools/list")
        expected = {"requirement": name, "response": {"$schema": {"const": data}}, "message": f"a message of {text()}"}
        step: dict[str, Any] = {"raw": "{}", "expect": [expected]}
        replay: dict[str, Any] = {
            "id": "found-1",
            "title": f"Found by fuzzing: {text()}",
            "since": REVISION,
            "until": REVISION,
        }
        replay |= {"isolation": "process", "harmful": True, "steps": [{"raw64": "AA=="}, step]}
        message, wanted, got = (f"{text()}{name}" for _ in range(3))
        return Finding(name, "tools/list", message, wanted, got, (line, head), confirmed=True, replay=replay)

    def judged(name: str, verdict: Verdict, severity: Severity | None = None) -> Judged:
        levels, bases = {REVISION: Level.MUST}, {REVISION: Basis.TEXT}
        requirement = Requirement(name, f"The rule {name}.", levels, bases, {REVISION: ()}, "yes")
        found = (finding(name),) if severity else ()
        again = f"mcp-conform --only {shlex.quote(text())}" if severity else ""
        url = "https://example.com/rule"
        return Judged(requirement, Level.MUST, Basis.TEXT, verdict, severity, text(), url, found, again)

    verdicts = (
        *(judged(f"tools/{severity}", Verdict.FAILED, severity) for severity in Severity),
        *(judged(f"prompts/{n}", verdict) for n, verdict in enumerate(Verdict) if verdict is not Verdict.FAILED),
    )
    tally = Tally("malformed", 3, 9, {text(): 3}, 1, 0, 1.0, text())
    server = {"name": text(), "version": text()}
    run = Run(REVISION, "handshake", "stdio", server, {text(): data}, verdicts, 1.0, tallies=(tally,))
    target = Target(("python", text()))
    began = "2026-01-02T03:04:05+00:00"
    notes, problem = (text(),), text()
    return Report(target, "0.1.0", began, 2.0, True, (run,), 1, notes, problem, counts((run,)), {"s": text()})


REPORTS = st.builds(
    lambda texts, data: a_report(iter((texts * 100)[:200]), data), st.lists(TEXTS, min_size=1, max_size=30), DATA
)


@often
@given(REPORTS)
def test_a_json_report_parses_and_says_what_was_said(report: Report) -> None:
    text = json_report.as_text(json_report.as_json(report))
    assert_harmless(text)
    data = json.loads(text, parse_constant=pytest.fail)
    verdict = data["runs"][0]["verdicts"][0]
    said = report.runs[0].verdicts[0].findings[0]
    assert verdict["findings"][0]["message"] == said.message.encode("utf-8", "backslashreplace").decode()
    assert (
        data["runs"][0]["server"]["name"] == report.runs[0].server["name"].encode("utf-8", "backslashreplace").decode()
    )


@often
@given(REPORTS, st.sampled_from(["violation", "advice"]))
def test_a_junit_file_parses_with_a_test_for_each_verdict(report: Report, fail_on: str) -> None:
    text = junit.as_xml(report, fail_on)
    assert_harmless(text)
    root = ET.fromstring(text)
    assert [case.attrib["name"] for case in root.iter("testcase")][:8] == [
        judged.requirement.id for judged in report.runs[0].verdicts
    ]
    assert {element.tag for element in root.iter()} <= TAGS


@often
@given(REPORTS)
def test_an_html_page_has_no_element_of_a_server(report: Report) -> None:
    text = html.as_html(report)
    assert_harmless(text)
    page = Page(text)
    assert page.allows_only_itself()
    said = {judged.requirement.id for judged in report.runs[0].verdicts}
    assert {f"rule/{name}" for name in said} <= set(page.ids)


@often
@given(REPORTS)
def test_saved_cases_load_back_to_the_same_data(report: Report) -> None:
    cases = found_cases.found(report)
    text = found_cases.as_yaml(cases)
    try:
        one_line(cases[0], 1_000_000)
    except Unwritable:
        assert text == ""
        return
    assert_harmless(text)
    assert exactly(yaml.safe_load(text)) == exactly({"area": "found", "cases": cases})
    assert exactly(parse(text, Path("x"))[0]) == exactly({"area": "found", "cases": cases})


def test_a_case_that_no_file_can_hold_is_left_out_and_that_is_said() -> None:
    good, bad = (found_cases.found(a_report(iter(["x"] * 200), data))[0] for data in ("\x85", "\ud800"))
    text = found_cases.as_yaml([{**bad, "id": "bad"}, good])
    assert "# bad is left out, since it has halves of characters" in text
    assert yaml.safe_load(text)["cases"] == [good]


@often
@given(st.lists(st.tuples(TEXTS | DATA, DATA), max_size=5), DATA, TEXTS)
def test_a_snapshot_parses_and_can_be_compared(pairs: list[tuple[Any, Any]], data: Any, name: str) -> None:
    tools = tuple(
        {"name": n, "description": d, "inputSchema": {"type": "object", "properties": {"a": d}}} for n, d in pairs
    )
    survey = Survey({"tools": {}, "x": data}, CallPolicy(), tools, tools, tools, tools)
    text = snapshot.as_text(Surveyed(REVISION, "stdio", {"name": name}, survey))
    assert_harmless(text)
    told = json.loads(text, parse_constant=pytest.fail)
    assert len(told["tools"]) == len(pairs)
    assert compare_snapshots(told, json.loads(text)) == []


@often
@given(TEXTS, st.dictionaries(TEXTS, TEXTS, max_size=3))
def test_each_line_of_a_trace_is_one_frame(text: str, headers: Mapping[str, str]) -> None:
    frame = Frame(
        0, "target", "stdout", 0.1, text.encode("utf-8", "surrogatepass"), case=text, headers=headers, status=200
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.jsonl"
        reporter = TraceReporter(path)
        for _ in range(2):
            reporter.consume(FrameSeen(REVISION, "stdio", "stdio-1", frame))
        reporter.close()
        written = path.read_bytes().decode("utf-8")
    assert_harmless(written)
    first, second = (json.loads(line) for line in written.splitlines())
    assert first == second
    assert first["text"] == text.encode("utf-8", "surrogatepass").decode("utf-8", "backslashreplace")
    json_report.as_text(first)


DETAILS: st.SearchStrategy[Detail] = st.sampled_from(("quiet", "usual", "full"))


@often
@given(DETAILS, REPORTS, st.lists(TEXTS, min_size=6, max_size=6))
def test_a_pipe_gets_no_control_character(detail: Detail, report: Report, texts: list[str]) -> None:
    with tempfile.TemporaryFile("w+", encoding="utf-8", newline="") as out:
        before, sys.stdout = sys.stdout, out
        try:
            reporter = TerminalReporter(detail)
            for event in (
                Started(Target((texts[0], "x"), texts[1])),
                Noted(texts[2]),
                NotTested(texts[3], texts[4]),
                RevisionFound(REVISION, "stdio", {"name": texts[5], "version": texts[0]}),
                RevisionAbsent("2025-06-18", texts[1]),
                Planned(3),
                CaseEnded(REVISION, "stdio", "tools/list", texts[2], 0.1),
                Finished(report),
            ):
                reporter.consume(event)
            reporter.close()
        finally:
            sys.stdout = before
        out.seek(0)
        assert_harmless(out.read())


# -- commands

TYPED = TEXTS.filter(lambda text: "\0" not in text and not re.search("[\ud800-\udfff]", text))
"""What can be typed: the words of a command hold no NUL."""


@often
@given(st.lists(TYPED.filter(bool), min_size=1, max_size=3), TYPED, TYPED)
@example(["a", "{port}", "=x"], "~", "a b")
def test_a_shell_takes_the_command_that_shows_it_again_apart_as_it_was_meant(
    words: list[str], tool: str, selection: str
) -> None:
    options = Options(mentions=(Mention("tool", tool, "--call-tool"),))
    text = command(Target(tuple(words)), options, REVISION, selection)
    meant = ["mcp-conform", "--server", None, "--call-tool", tool, "--revision", REVISION, "--only", selection]
    shell = subprocess.run(["sh", "-c", f"printf '%s\\0' {text}"], capture_output=True, check=True, cwd="/")
    for found in (shlex.split(text), shell.stdout.decode("utf-8").split("\0")[:-1]):
        assert [*found[:2], None, *found[3:]] == meant
        assert parse_command(found[2]) == tuple(words)


# -- headers


@often
@given(TEXTS, TEXTS)
def test_no_header_of_ours_holds_words_that_a_header_cannot_hold(text: str, name: str) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-mcp-header": name}}}
    marked = Survey({}, CallPolicy(), ({"name": text, "inputSchema": schema},)).header_arguments
    for header in (header for headers in marked.values() for header in headers.values()):
        assert re.fullmatch(r"[!-~]+", header) and ":" not in header
    assert re.fullmatch(r"[ -~]*", header_value(text))
