"""No report shows a secret."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from conformance.events import Finished, FrameSeen, NotTested, RevisionFound, Started
from conformance.masking import Mask
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
    Target,
    Verdict,
)
from conformance.secrets import confidential

SECRET = 'p"ä\\ss/wörd 1'
MASK = Mask({SECRET: "API_KEY", "root": "NAME OF\nROOT", "abc": "SHORT", "true": "FLAG"})


def everywhere(text: str) -> Finished:
    """The last event of a run with `text` wherever a server or a user may have a say."""
    frame = Frame(1, "target", "stdout", 0.1, json.dumps({"m": text}).encode(), {"m": [text]}, headers={"x": text})
    requirement = Requirement("roots/rule", "root", {}, {}, {}, "yes")
    finding = Finding("roots/rule", "roots/case", text, text, text, (frame,))
    judged = Judged(
        requirement, Level.MUST, Basis.TEXT, Verdict.FAILED, Severity.WARNING, text, "https://x/root", (finding,), text
    )
    run = Run("2025-11-25", "handshake", "stdio", {"name": text}, {text: {"a": [text, 1, None]}}, (judged,), 1.0, "n")
    target = Target((text,), text, {"A": text}, text, {"H": text}, secrets={})
    return Finished(Report(target, "1", "now", 1.0, True, (run,), 1, (text,), text, {}, {"n": text}))


def test_nothing_that_a_report_is_made_from_holds_a_secret() -> None:
    masked = repr(MASK.event(everywhere(f"a {SECRET} b")))
    assert "wörd" not in masked and "w\\\\u00f6rd" not in masked
    assert masked.count("***API_KEY***") == repr(everywhere("~*~")).count("~*~")


def test_the_words_of_the_suite_are_left_as_they_are() -> None:
    judged = MASK.event(everywhere("x")).report.runs[0].verdicts[0]
    assert (judged.requirement.id, judged.findings[0].case, judged.url) == (
        "roots/rule",
        "roots/case",
        "https://x/root",
    )


@pytest.mark.parametrize(
    "written",
    [SECRET, json.dumps(SECRET)[1:-1], json.dumps(SECRET, ensure_ascii=False)[1:-1], "p%22%C3%A4%5Css/w%C3%B6rd%201"],
)
def test_a_secret_is_found_as_json_and_urls_write_it(written: str) -> None:
    assert MASK.text(f"<{written}>") == "<***API_KEY***>"
    frame = Frame(1, "us", "stdin", 0.0, b'\xff"' + written.encode() + b'"\xfe')
    assert MASK.event(FrameSeen("r", "t", "s", frame)).frame.data == b'\xff"***API_KEY***"\xfe'


def test_names_are_written_so_that_json_and_lines_stay_whole() -> None:
    assert MASK.text("root") == "***NAME_OF_ROOT***"


def test_short_values_and_words_of_json_are_never_masked() -> None:
    assert MASK.text("abc is true") == "abc is true"
    assert not Mask({"abc": "SHORT", "true": "FLAG", "": "EMPTY"})


def test_the_longest_secret_is_masked_first() -> None:
    assert Mask({"token": "A", "token-long": "B"}).text("token-long token") == "***B*** ***A***"


def test_the_beginning_of_a_secret_that_was_cut_is_masked() -> None:
    mask = Mask({"sk-0123456789": "KEY"})
    assert mask.text('{"a":"sk-01234… sk… and sk-0123456789…') == '{"a":"***KEY***… sk… and ***KEY***…'


def test_events_of_all_kinds_are_masked() -> None:
    assert MASK.event(NotTested("n", SECRET)).why == "***API_KEY***"
    assert MASK.event(Started(Target((SECRET,)))).target.command == ("***API_KEY***",)
    assert MASK.event(RevisionFound("r", "t", {"name": SECRET})).server == {"name": "***API_KEY***"}


def test_without_secrets_an_event_is_passed_on_as_it_is() -> None:
    event = everywhere("x")
    assert Mask({}).event(event) is event


def test_what_is_given_under_a_name_that_says_secret_is_confidential() -> None:
    target = Target(
        ("docker", "-e", "GITHUB_TOKEN=in-args", "--api-key", "after-key", "--verbose", "plain", "--password=assigned"),
        env={"OPENAI_API_KEY": "in-env", "HOST": "a-host", "DB_PASS2": "numbered", "MAX_TOKENS": "1000", "PATH": "p"},
    )
    assert confidential(target) == {
        "in-env": "OPENAI_API_KEY",
        "numbered": "DB_PASS2",
        "in-args": "GITHUB_TOKEN",
        "after-key": "api-key",
        "assigned": "password",
    }
    remote = Target(
        url="https://user:in-url@host/mcp?apiKey=in-query&page=1",
        headers={"Authorization": "Bearer in-header", "X-API-Key": "in-key", "Accept": "text/html"},
    )
    assert confidential(remote) == {
        "in-header": "Authorization",
        "in-key": "X-API-Key",
        "in-query": "apiKey",
        "in-url": "password",
    }
    assert confidential(replace(target, command=(), env={})) == {}
