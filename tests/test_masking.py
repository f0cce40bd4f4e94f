"""No report shows a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import get_args

import pytest
from disguises import certain, disguises, halves, within
from hypothesis import example, given, settings
from hypothesis import strategies as st

from conformance.engine.events import Event, Finished, FrameSeen, NotTested, RevisionFound, Started
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
from conformance.reporters.masking import SPOKEN, masked, undeclared
from conformance.target.mask import Mask
from conformance.target.secrets import confidential

SECRET = 'p"ä\\ss/wörd 1'
MASK = Mask({SECRET: "API_KEY", "root": "NAME OF\nROOT", "abc": "SHORT", "true": "FLAG"})


def everywhere(text: str) -> Finished:
    """The last event of a run with `text` wherever a server or a user may have a say."""
    frame = Frame(1, "target", "stdout", 0.1, json.dumps({"m": text}).encode(), headers={"x": text})
    requirement = Requirement("roots/rule", "root", {}, {}, {}, "yes")
    finding = Finding("roots/rule", "roots/case", text, text, text, (frame,))
    judged = Judged(
        requirement, Level.MUST, Basis.TEXT, Verdict.FAILED, Severity.WARNING, text, "https://x/root", (finding,), text
    )
    run = Run("2025-11-25", "handshake", "stdio", {"name": text}, {text: {"a": [text, 1, None]}}, (judged,), 1.0, "n")
    target = Target((text,), text, {"A": text}, text, {"H": text}, secrets={})
    return Finished(Report(target, "1", "now", 1.0, True, (run,), 1, (text,), text, {}, {"n": text}))


def test_nothing_that_a_report_is_made_from_holds_a_secret() -> None:
    shown = repr(masked(MASK, everywhere(f"a {SECRET} b")))
    assert "wörd" not in shown and "w\\\\u00f6rd" not in shown
    assert shown.count("***API_KEY***") == repr(everywhere("~*~")).count("~*~")


def test_the_words_of_the_suite_are_left_as_they_are() -> None:
    judged = masked(MASK, everywhere("x")).report.runs[0].verdicts[0]
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
    assert masked(MASK, FrameSeen("r", "t", "s", frame)).frame.data == b'\xff"***API_KEY***"\xfe'


def test_names_are_written_so_that_json_and_lines_stay_whole() -> None:
    assert MASK.text("root") == "***NAME_OF_ROOT***"


def test_short_values_and_words_of_json_are_never_masked() -> None:
    assert MASK.text("abc is true") == "abc is true"
    assert not Mask({"abc": "SHORT", "true": "FLAG", "": "EMPTY"})


def test_the_longest_secret_is_masked_first() -> None:
    assert Mask({"sesame": "A", "sesame-long": "B"}).text("sesame-long sesame") == "***B*** ***A***"


def test_the_beginning_of_a_secret_that_was_cut_is_masked() -> None:
    mask = Mask({"sk-0123456789": "KEY"})
    assert mask.text('{"a":"sk-01234… sk… and sk-0123456789…') == '{"a":"***KEY***… sk… and ***KEY***…'


def test_events_of_all_kinds_are_masked() -> None:
    assert masked(MASK, NotTested("n", SECRET)).why == "***API_KEY***"
    assert masked(MASK, Started(Target((SECRET,)))).target.command == ("***API_KEY***",)
    assert masked(MASK, RevisionFound("r", "t", {"name": SECRET})).server == {"name": "***API_KEY***"}


def test_without_secrets_an_event_is_passed_on_as_it_is() -> None:
    event = everywhere("x")
    assert masked(Mask({}), event) is event


# -- whatever the form

SURROUNDING = st.text(st.characters(codec="utf-8", exclude_characters="\\%&"), max_size=30)
SECRETS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=8, max_size=60)


def is_typical(secret: str) -> bool:
    """Not one of those whose pieces are pieces of other texts: nearly all characters of it are the same."""
    return len(set(secret.lower())) > 5 and secret.strip() == secret


@settings(max_examples=40, deadline=None)
@given(SECRETS.filter(is_typical), SURROUNDING, SURROUNDING)
@example("a.*(b)+[c]|d$ {e}^f?g", "<", ">")
@example("quo\"te\\s 'and' new/lines 😀", '{"a": "', '"}')
@example("%41%42 &amp; \\u0041\\n \\\\x", "", "")
def test_no_form_of_a_secret_is_left(secret: str, before: str, after: str) -> None:
    mask = Mask({secret: "KEY"})
    for name, told in disguises(secret).items():
        masked = mask.text(f"{before}{told}{after}")
        assert told not in masked or told in before + after, name
        assert "***KEY***" in masked, name
    for name, sure in certain(secret).items():
        assert sure not in mask.text(f"{before}{within(secret)[name]}{after}"), name


@settings(max_examples=40, deadline=None)
@given(st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=16, max_size=80).filter(is_typical))
@example("correct horse battery staple")
@example("-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7\n" * 30)
def test_no_half_of_a_secret_is_left(secret: str) -> None:
    mask = Mask({secret: "KEY"})
    for name, told in disguises(secret).items():
        for half in halves(told):
            if name != "JSON, twice":  # escapes of escapes: half of them may hold less than half of the secret
                assert half not in mask.text(f"it is {half} "), (name, half)
    for half in halves(secret):
        for name, told in disguises(half).items():
            if name != "JSON, twice":
                assert told not in mask.text(f"[{told}]"), (name, half)


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=200))
@example("%zz \\u12 \\q &nosuch; &#; &#99999999;")
def test_a_text_without_the_secret_is_left_as_it_is(text: str) -> None:
    mask = Mask({"Zx9-Qv7.Wk3_Jp5+Gy2": "KEY", "0815-4711": "PIN"})
    assert mask.text(text) == text
    data = text.encode("utf-8", "surrogatepass") + b"\xff\x00\x80"
    frame = Frame(1, "us", "stdin", 0.0, data)
    assert masked(mask, FrameSeen("r", "t", "s", frame)).frame.data == data


def test_a_secret_is_found_wherever_a_long_text_is_divided() -> None:
    mask = Mask({"Zx9-Qv7.Wk3_Jp5+Gy2": "KEY"})
    each = "".join(f"\\u{ord(letter):04x}" for letter in "Zx9-Qv7.Wk3_Jp5+Gy2")
    for told in ("Zx9-Qv7.Wk3_Jp5+Gy2", each):
        for before in (65536 - len(told), 65536 - len(told) // 2, 65535, 65536):
            text = "." * before + told + "." * 3000
            assert mask.text(text) == "." * before + "***KEY***" + "." * 3000


def test_two_halves_in_two_members_and_numbers_and_names_are_masked() -> None:
    mask = Mask({"Zx9-Qv7.Wk3_Jp5+Gy2": "KEY", "48151623": "PIN"})
    server = {"a": "Zx9-Qv7.W", "b": "k3_Jp5+Gy2", "Zx9-Qv7.Wk3_Jp5+Gy2": [48151623, 4815]}
    shown = masked(mask, RevisionFound("r", "t", server)).server  # type: ignore[arg-type]
    assert shown == {"a": "***KEY***", "b": "***KEY***", "***KEY***": ["***PIN***", 4815]}


def test_what_is_nested_without_end_is_cut() -> None:
    deep: object = "Zx9-Qv7.Wk3_Jp5+Gy2"
    for _ in range(5000):
        deep = [deep]
    assert "Zx9" not in repr(masked(Mask({"Zx9-Qv7.Wk3_Jp5+Gy2": "KEY"}), RevisionFound("r", "t", {"d": deep})))  # type: ignore[dict-item]


# -- what is masked of an event


@pytest.mark.parametrize("kind", [*SPOKEN, *get_args(Event)], ids=lambda kind: kind.__name__)
def test_every_field_is_declared_as_spoken_ours_or_withheld(kind: type) -> None:
    assert kind in SPOKEN, "nobody said what of it is masked"
    assert undeclared(kind) == set()


def test_a_field_that_nobody_declared_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conformance.reporters.masking.SPOKEN", {**SPOKEN, NotTested: frozenset()})
    assert undeclared(NotTested) == {"why"}


def test_a_rule_of_the_users_own_is_in_the_users_words() -> None:
    event = everywhere("x")
    [judged] = event.report.runs[0].verdicts
    own = replace(judged, basis=Basis.OWN, requirement=replace(judged.requirement, text=f"call {SECRET}"))
    assert masked(MASK, own).requirement.text == "call ***API_KEY***"


def test_no_reporter_gets_the_secrets_themselves() -> None:
    assert masked(MASK, Started(Target(("x",), secrets={SECRET: "API_KEY"}))).target.secrets == {}


# -- what is a secret


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


@pytest.mark.parametrize(
    ("env", "secret"),
    [
        ({"DATABASE_URL": "postgres://me:hunter-22@localhost/db"}, "hunter-22"),
        ({"HEADERS": '{"Authorization": "Bearer abc-def", "Notion-Version": "2022-06-28"}'}, "abc-def"),
        ({"CONNECTION": "Server=db;Password=abc-def;Pooling=true"}, "abc-def"),
        ({"ANYTHING": "ghp_0123456789abcdefghijABCDEFGHIJ012345"}, "ghp_0123456789abcdefghijABCDEFGHIJ012345"),
        ({"ANYTHING": "X9vQ2mLk8RtZ4wYb7NcD1sHg"}, "X9vQ2mLk8RtZ4wYb7NcD1sHg"),
        ({"ANYTHING": "5f4dcc3b5aa765d61d8327deb882cf99"}, "5f4dcc3b5aa765d61d8327deb882cf99"),
        ({"ANYTHING": "see eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM"}, "eyJhbGciOi.eyJzdWIiOi.SflKxwRJSM"),
        ({"HOOK": "https://hooks.example.com/T0/xoxb-0123456789-abc"}, "xoxb-0123456789-abc"),
        ({"dbPass": "hunter-22"}, "hunter-22"),
        ({"API_KEYS": "first-key-1,second-key-2"}, "second-key-2"),
        ({"AUTH": "Bearer abc-def"}, "abc-def"),
    ],
)
def test_a_secret_is_known_by_its_name_or_its_look(env: dict[str, str], secret: str) -> None:
    assert secret in confidential(Target(("x",), env=env))
    assert secret in confidential(Target(("x",)), env)


SURROUNDINGS = {
    "PATH": "/usr/local/bin:/usr/bin",
    "HOME": "/home/user",
    "LANG": "en_US.UTF-8",
    "TERM": "xterm-256color",
    "SHLVL": "1",
    "CI": "true",
    "NODE_ENV": "production",
    "PORT": "8080",
    "HOST": "localhost",
    "GITHUB_SHA": "0123456789abcdef0123456789abcdef01234567",
    "GITHUB_RUN_ID": "6543210987",
    "PYTHON_SHA256": "a48fa1a4e7d4e8a1ea9f8c1a3b0d6e9a48fa1a4e7d4e8a1ea9f8c1a3b0d6e9ff",
    "PYTHONPATH": "src:tests",
    "PYTEST_CURRENT_TEST": "tests/test_masking.py::test_no_form_of_a_secret_is_left (call)",
    "PYTEST_XDIST_TESTRUNUID": "0123456789abcdef0123456789abcdef",
    "SSH_AUTH_SOCK": "/run/user/1000/keyring/ssh",
    "SSL_KEY": "/etc/ssl/private/server.pem",
    "TOKEN_URL": "https://example.com/oauth/token",
    "AUTH_TYPE": "bearer",
    "AUTH": "none",
    "MAX_TOKENS": "1000",
    "FAULT": "version-member-number",
    "BASE_URL": "https://example.com/a/b?page=1",
    "HOSTNAME": "runner-abc123-project-42-concurrent-0",
    "KEYBOARD_LAYOUT": "us-intl",
    "SECRET": "",
}


def test_what_surrounds_every_program_is_no_secret() -> None:
    found = confidential(Target(("x",), env=SURROUNDINGS), SURROUNDINGS)
    mask = Mask(found)
    told = list(SURROUNDINGS.values())
    assert [mask.text(value) for value in told] == told


@pytest.mark.parametrize(
    ("name", "value", "secrets"),
    [
        ("X-Tenant", "acme", {"acme"}),
        ("Authorization", "Basic dXNlcjpodW50ZXItMjI=", {"dXNlcjpodW50ZXItMjI=", "user:hunter-22", "hunter-22"}),
        ("Cookie", "sid=0815-4711; theme=dark-blue", {"sid=0815-4711; theme=dark-blue", "0815-4711", "dark-blue"}),
        ("Accept", "application/json, text/event-stream", set()),
        ("MCP-Protocol-Version", "2025-11-25", set()),
    ],
)
def test_each_value_of_a_header_is_secret_but_words_of_the_protocol(name: str, value: str, secrets: set[str]) -> None:
    assert set(confidential(Target(url="http://h", headers={name: value}))) == secrets


@pytest.mark.parametrize(
    ("words", "secrets"),
    [
        (("npx", "mcp-remote", "https://h/mcp", "--header", "Authorization: Bearer abc-def"), {"abc-def"}),
        (("sh", "-c", "API_TOKEN=abc-def exec server --pass 'a b c'"), {"abc-def", "a b c"}),
        (("server", "--config", '{"apiKey": "abc-def", "debug": true}'), {"abc-def"}),
        (("server", "postgres://me:abc-def@localhost/db"), {"abc-def"}),
        (("python", "-m", "conformance.reference", "--fault", "version-member-number"), set()),
    ],
)
def test_a_secret_is_found_among_the_words_of_a_command(words: tuple[str, ...], secrets: set[str]) -> None:
    found: Mapping[str, str] = confidential(Target(words))
    assert secrets <= set(found)
    assert bool(secrets) == bool(found)
