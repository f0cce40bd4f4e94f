"""Reports for pipelines, made from hand-made reports: hostile words in every place, and more than a format takes."""

from __future__ import annotations

import contextlib
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from github_runner import commands
from hostile_words import TEXTS, often
from hypothesis import given
from lxml import etree
from readers import read_annotations, read_badge, read_junit, read_markdown, read_sarif
from servers import hostile_text
from test_reporters import REVISION, failed, judged, report

from conformance.engine.events import Finished, NotTested, Started
from conformance.engine.verdicts import counts
from conformance.model import Basis, Extent, Finding, Report, Severity, Target, Verdict
from conformance.reporters import badge, fingerprint, junit, markdown, sarif
from conformance.reporters.github import annotated, workflow_command
from conformance.reporters.json_report import readable
from conformance.reporters.source import source
from conformance.reporters.terminal import TerminalReporter
from conformance.system.github_actions import Guarded, command_runner

OWNED = hostile_text.OWNED
WORDS = [*hostile_text.TEXTS, *hostile_text.PIPELINES, hostile_text.ALL, hostile_text.LONG, "x" * 1_000_000]
RULES = ["tools/unknown-tool-refused", "jsonrpc/unknown-method-refused", "tools/list-shape"]
"""Ids of the catalogue; what the rules say is made up."""


def saying(word: str) -> Report:
    """A report in which a server says `word` wherever it has a say, twice with nothing of ours before it."""
    data = word.encode("utf-8", "surrogatepass")
    flaky = Finding(RULES[0], "a/case", word, word, word, confirmed=False, tries=(1, 6))
    what = report(
        failed(RULES[0], Severity.VIOLATION, word, data),
        failed(RULES[1], Severity.WARNING, word, data),
        failed(RULES[2], Severity.ADVICE, word, data),
        judged("tools/a", Verdict.INCONCLUSIVE, reason=word),
        judged("tools/b", Verdict.INCONCLUSIVE, reason="flaky", flaky=(flaky,)),
        judged("tools/c", Verdict.BLOCKED, reason=word),
        judged("tools/d", Verdict.BROKEN, reason=word),
        judged("tools/e", Verdict.NOT_APPLICABLE, reason=word),
        notes=(word,),
        problem=word,
    )
    server = {"name": word, "version": word}
    return replace(what, runs=tuple(replace(run, server=server, left_out={word: word}) for run in what.runs))


def as_sarif(what: Report) -> str:
    """What the reporter writes."""
    return json.dumps(readable(sarif.as_sarif(what)))


def many(number: int, word: str = "x") -> Report:
    """A report with that many findings of different requirements."""
    return report(*(failed(f"tools/rule-{i}", Severity.VIOLATION, f"{word} {i:x}z") for i in range(number)))


@pytest.mark.parametrize("word", WORDS, ids=range(len(WORDS)))
def test_each_reader_reads_what_a_hostile_server_says_as_words(word: str) -> None:
    what = saying(word)
    read_markdown(markdown.as_markdown(what), *([OWNED] if OWNED in word else []))
    read_junit(junit.as_xml(what, "violation"))
    read_sarif(as_sarif(what))
    read_annotations("\n".join(annotated(what)))
    for picture in (badge.as_svg(what), badge.as_json(what)):
        read_badge(picture)


@often
@given(TEXTS)
def test_each_reader_reads_whatever_a_server_says(word: str) -> None:
    what = saying(word)
    read_markdown(markdown.as_markdown(what))
    read_junit(junit.as_xml(what, "violation"))
    read_sarif(as_sarif(what))
    read_annotations("\n".join(annotated(what)))


def test_what_a_server_says_can_be_read_in_the_code_of_a_markdown_report() -> None:
    for word in ("`a` ``b```", " | \\| ", "<b>&amp;", "# x", "~~~"):
        assert word.strip() in read_markdown(markdown.as_markdown(saying(word)))


# -- the terminal on GitHub Actions


def guarded() -> tuple[io.StringIO, Guarded]:
    """What a guarded stream has written, and the stream."""
    held = io.StringIO()
    return held, Guarded(held)


def shown(what: Report) -> None:
    """Print the report of a run as the terminal reporter does."""
    reporter = TerminalReporter("full")
    for event in (Started(replace(what.target, command=(what.problem,))), NotTested(what.problem, what.problem)):
        reporter.consume(event)
    reporter.consume(Finished(what))


def test_no_line_for_a_terminal_is_a_command() -> None:
    held, stream = guarded()
    with contextlib.redirect_stdout(stream):
        for word in WORDS[:-2]:
            shown(saying(word))
    assert OWNED in held.getvalue()
    assert commands(held.getvalue()) == []


def test_without_the_guard_there_would_be_commands() -> None:
    held = io.StringIO()
    with contextlib.redirect_stdout(held):
        for word in hostile_text.PIPELINES:
            shown(saying(word))
    assert {command.name for command in commands(held.getvalue())} >= {"error"}


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_a_line_in_pieces_is_guarded_as_a_whole(size: int) -> None:
    text = "a ::error::1\n::error::2\r \t::add-mask::3\r\n\n\u3000::debug::4 ##[error]5\n###[warning]6 ::\n:\n:a##\n[b"
    held, stream = guarded()
    for start in range(0, len(text), size):
        assert stream.write(text[start : start + size]) == len(text[start : start + size])
    assert commands(text) != []
    assert commands(held.getvalue()) == []
    assert held.getvalue() == (
        "a ::error::1\n:\\u003aerror::2\r \t:\\u003aadd-mask::3\r\n\n\u3000:\\u003adebug::4 ##\\u005berror]5\n"
        "###\\u005bwarning]6 ::\n:\n:a##\n[b"
    )


@pytest.mark.parametrize("indent", [None, 2])
def test_json_says_the_same_when_it_is_guarded(indent: int | None) -> None:
    data = {word: [word, {"##[error]": word}] for word in hostile_text.PIPELINES}
    held, stream = guarded()
    stream.write(json.dumps(data, indent=indent))
    assert json.loads(held.getvalue()) == data
    assert commands(held.getvalue()) == []


def test_commands_of_ours_pass_the_guard() -> None:
    held, stream = guarded()
    with contextlib.redirect_stdout(stream):
        command_runner([workflow_command("error", "50% ::a\nb", {"title": "a: b, 100%"})])
    (command,) = commands(held.getvalue())
    assert command == ("error", {"title": "a: b, 100%"}, "50% ::a\nb")


# -- more than a format takes


def test_ten_annotations_of_a_kind_are_shown_and_the_last_counts_the_others() -> None:
    lines = list(annotated(many(12)))
    assert len(lines) == 10
    assert commands(lines[-1])[0].data.startswith("and 3 more")
    assert len(list(annotated(many(10)))) == 10
    assert all("more" not in line for line in annotated(many(10)))


def test_what_could_not_be_tested_is_the_first_annotation() -> None:
    what = replace(many(20), problem="it ended", exit=3)
    assert commands(next(annotated(what)))[0].data == "it ended"


def test_thousands_of_findings_are_shortened_and_it_is_said_how_many_are_left_out() -> None:
    what = many(6000, "y" * 3000)
    text = markdown.as_markdown(what)
    code = read_markdown(text)
    shown = text.count("</summary>") - 0
    assert 100 < shown < 6000
    assert f"**{6000 - shown} parts were left out, since the report would be too long:**" in text
    assert "violation tools/rule-5999" not in text and "tools/rule-0" in code
    run = read_sarif(as_sarif(what))
    left = 6000 - len(run["results"])
    assert left >= 1000
    told = [note["message"]["text"] for note in run["invocations"][0]["toolExecutionNotifications"]]
    assert f"{left} results were left out, since code scanning takes no more" in told
    read_junit(junit.as_xml(what, "violation"))


@pytest.mark.parametrize("limit", [0, 10, 500, 3000, 5000, 20_000])
def test_a_markdown_report_keeps_to_its_limit(limit: int) -> None:
    text = markdown.as_markdown(many(50), limit)
    assert len(text.encode()) <= limit
    if limit >= 5000:
        read_markdown(text)
        assert "parts were left out" in text


# -- times, properties


def test_the_times_of_tests_are_shares_of_the_time_of_the_run() -> None:
    what = report(*(judged(f"tools/{i}", Verdict.PASSED, seconds=s) for i, s in enumerate((0.0, 1.0, 7.0))))
    read = read_junit(junit.as_xml(replace(what, seconds=4.0), "violation"))
    assert [case.time for suite in read for case in suite] == [0.0, 0.5, 3.5]
    assert read.time == 4.0


def test_without_any_time_of_cases_all_tests_have_the_same_share() -> None:
    what = report(*(judged(f"tools/{i}", Verdict.PASSED) for i in range(3)), seconds=1.0)
    assert [case.time for suite in read_junit(junit.as_xml(what, "violation")) for case in suite] == [
        0.333,
        0.334,
        0.333,
    ]


@pytest.mark.parametrize("changes", [{"complete": False}, {"problem": "the server went away"}])
def test_a_run_that_was_cut_short_is_an_error_beside_what_was_tested(changes: dict[str, Any]) -> None:
    read = read_junit(junit.as_xml(report(judged("tools/a", Verdict.PASSED), exit=3, **changes), "violation"))
    assert (read.tests, read.errors) == (2, 1)


def test_a_run_in_which_nothing_was_tested_is_an_error_everywhere() -> None:
    what = report(judged("tools/a", Verdict.INCONCLUSIVE), exit=3)
    read = read_junit(junit.as_xml(what, "violation"))
    assert (read.tests, read.errors) == (2, 1)
    assert [command.name for command in read_annotations("\n".join(annotated(what)))] == ["error"]
    assert read_sarif(as_sarif(what))["invocations"][0]["executionSuccessful"] is False
    assert markdown.as_markdown(what).startswith("## ⚠️ mcp-conform: not tested")


# -- SARIF


def test_the_same_finding_in_several_revisions_is_one_result() -> None:
    what = report(failed(RULES[0], Severity.VIOLATION, "no name"), revisions=("2025-06-18", REVISION))
    (result,) = read_sarif(as_sarif(what))["results"]
    assert result["properties"]["runs"] == [f"{REVISION} stdio", "2025-06-18 stdio"]
    assert result["level"] == "error"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("no answer within 3.2 s", "no answer within 12 s", True),
        ("at 2026-01-02T03:04:05Z", "at 2026-11-12T13:14:15.678+00:00", True),
        ("session 0b6b1d4e-6a51-4b5c-8f0e-1d2c3b4a5f60", "session 9f3c2b1a-0d4e-4f5a-9b8c-7d6e5f4a3b2c", True),
        ("the answer to id 17", "the answer to id 'x-4'", True),
        ("http://127.0.0.1:40123/mcp", "http://127.0.0.1:51234/mcp", True),
        ("the error code -32602", "the error code -32601", False),
        ("tool 'a'", "tool 'b'", False),
        ("status 404", "status 405", False),
    ],
)
def test_what_differs_from_run_to_run_is_no_part_of_a_fingerprint(one: str, other: str, same: bool) -> None:
    prints = [fingerprint.fingerprint("tools/x", "server", message) for message in (one, other)]
    assert (prints[0] == prints[1]) is same


def test_the_place_of_a_result_is_a_file_of_the_repository(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    here = tmp_path / "sub"
    here.mkdir()
    target = Target(("python", "server.py", "/etc/passwd"), config="")
    assert source(target, here) == "README.md"
    (here / "server.py").touch()
    assert source(target, here) == "sub/server.py"
    assert source(replace(target, cwd=str(tmp_path)), here) == "README.md"
    for program in (".venv/bin/python", "node_modules/.bin/tsx"):
        (here / program).parent.mkdir(parents=True)
        (here / program).touch()
        assert source(Target((str(here / program), "-m", "server")), here) == "README.md"
    (here / "serve").touch()
    assert source(Target(("./serve", "--port", "1")), here) == "sub/serve"
    (here / "mcp-conform.yaml").touch()
    assert source(target, here) == "sub/mcp-conform.yaml"
    (tmp_path / ".cursor").mkdir()
    (tmp_path / ".cursor" / "mcp.json").touch()
    assert source(Target(config="../.cursor/mcp.json"), here) == ".cursor/mcp.json"
    assert source(Target(config="/etc/passwd"), here) == "README.md"
    assert source(Target(("x" * 5000, "a\0b")), tmp_path) == "README.md"


# -- badges


def covering(*verdicts: Any, checked: int, **changes: Any) -> Report:
    """A report of a revision in which so many requirements can be checked."""
    what = report(*verdicts, exit=0, **changes)
    runs = tuple(replace(run, extent=Extent(checked)) for run in what.runs)
    return replace(what, runs=runs, counts=counts(runs))


PASSED = judged("tools/a", Verdict.PASSED)
OWN = judged("own/a", Verdict.PASSED, basis=Basis.OWN)
WARNED = failed("tools/b", Severity.WARNING)
BROKEN = failed("tools/c", Severity.VIOLATION)


@pytest.mark.parametrize(
    ("what", "message", "colour"),
    [
        (covering(PASSED, checked=1), f"{REVISION} · conforms", "brightgreen"),
        (covering(PASSED, WARNED, checked=2), f"{REVISION} · conforms, 1 warning", "yellow"),
        (covering(PASSED, WARNED, checked=2, fail_on="warning"), f"{REVISION} · 1 warning", "red"),
        (covering(PASSED, checked=2), f"{REVISION} · partly tested", "lightgrey"),
        (covering(PASSED, OWN, checked=2), f"{REVISION} · partly tested", "lightgrey"),
        (covering(PASSED, checked=1, complete=False), f"{REVISION} · partly tested", "lightgrey"),
        (covering(PASSED, checked=1, problem="it died"), f"{REVISION} · partly tested", "lightgrey"),
        (covering(PASSED, checked=1, problems={"b": "it died"}), f"{REVISION} · partly tested", "lightgrey"),
        (covering(BROKEN, checked=9, complete=False), f"{REVISION} · 1 violation", "red"),
        (covering(judged("tools/a", Verdict.INCONCLUSIVE), checked=1), "not tested", "lightgrey"),
        (report(revisions=(), problem="it does not start"), "not tested", "lightgrey"),
        (covering(PASSED, checked=1, revisions=("a", "b")), "a, b · conforms", "brightgreen"),
        (covering(PASSED, checked=1, revisions=("a", "b", "c")), "3 revisions · conforms", "brightgreen"),
    ],
)
def test_a_badge_says_what_is_known(what: Report, message: str, colour: str) -> None:
    assert read_badge(badge.as_json(what)) == (message, colour)
    assert read_badge(badge.as_svg(what)) == (message, badge.HEX[colour])


def test_white_on_each_colour_of_a_picture_can_be_read() -> None:
    for colour in badge.HEX.values():
        red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (red, green, blue)]
        luminance = sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
        assert 1.05 / (luminance + 0.05) >= 4.5, colour


def test_a_picture_has_room_for_its_text() -> None:
    root = etree.fromstring(badge.as_svg(covering(PASSED, checked=1)).encode())
    for text, box in zip(root.iter("{*}text"), root.iterfind("{*}rect"), strict=True):
        assert float(text.attrib["textLength"]) + 8 <= float(box.attrib["width"])
        assert len(text.text) * 4.5 <= float(text.attrib["textLength"]) <= len(text.text) * 8.5
