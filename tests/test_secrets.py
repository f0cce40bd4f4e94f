"""Nothing that is written or shown holds a secret, whoever tells it, and the command to see it again works."""

from __future__ import annotations

import html
import json
import shlex
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from disguises import certain, disguises, halves
from fronts import as_a_user, conform

from conformance.engine.options import Options
from conformance.engine.reproduction import command
from conformance.model import Target
from conformance.target.process import parse_command
from conformance.target.secrets import confidential

TELLING = Path(__file__).parent / "servers" / "tells_secrets.py"
SERVER = f"{sys.executable} {TELLING}"

GIVEN = "k3y-Ä/\"quo\\te's {42}!"
"""Under a name that says secret; with all that is escaped somewhere."""
LITERAL = "X9vQ2mLk8RtZ4wYb7NcD1sHg"
"""Under a plain name; it looks like a token."""
INHERITED = "sk-Inherited-0123456789-abcdef"
ARGUMENT = "argument.Of-the+command/0815"
SIGNED = "Signed/0123+quo'te\"4567=="
SENT = "Header~Value_4711-0815"
PLAIN = "plain-value-of-no-secrecy"

ONLY = ("tools/list", "tools/call-each", "transport-stdio/chunks", "fuzz/unknown-methods")
FILES = ("json", "junit", "trace", "snapshot")
QUICK = ["--revision", "2025-11-25", "--timeout", "3", "--fuzz", "3", "--fuzz-time", "2", "--jobs", "2", "--verbose"]


def leaks(text: str, secrets: Iterable[str]) -> list[str]:
    """The forms of secrets that stand in `text`, or in what a reader of JSON or XML makes of it."""
    read = text.replace('\\"', '"').replace("\\\\", "\\")
    places = {text, read, html.unescape(text), html.unescape(read).replace('\\"', '"').replace("\\\\", "\\")}
    found = []
    for secret in secrets:
        forms = {**disguises(secret), **certain(secret)}
        forms |= {f"half {n}": half for n, half in enumerate(halves(secret)) if len(half) >= 8}
        found += [f"{name}: {form}" for name, form in forms.items() if any(form in place for place in places)]
    return found


def everything(
    folder: Path, *arguments: object, env: Mapping[str, str], only: Iterable[str] = ("tools/list", "tools/call-each")
) -> str:
    """All that a run shows and writes."""
    written = [folder / kind for kind in FILES]
    options = [word for path in written for word in (f"--{path.name}", path)]
    if "--config" in arguments:
        options, written = options[:-2], written[:-1]
    options += ["--save-cases", folder / "found", *(word for area in only for word in ("--only", area))]
    done = conform(*arguments, *QUICK, *options, cwd=folder, env=env, timeout=300)
    assert done.returncode in (1, 3), done.stderr + done.stdout
    assert "Traceback" not in done.stderr and "mcp-conform itself failed" not in done.stdout
    files = [*written, *(folder / "found").glob("*")]
    return "\n".join([done.stdout, done.stderr, *(path.read_text() for path in files)])


def test_no_secret_of_the_command_line_or_the_environment_is_told(tmp_path: Path) -> None:
    env = {"INHERITED": INHERITED, "TELL": "API_KEY,ANYTHING,INHERITED,PLAIN", "PLAIN": PLAIN}
    server = shlex.join([sys.executable, str(TELLING), "--password", ARGUMENT])
    words = ["--server", server, "--env", f"API_KEY={GIVEN}", "--env", f"ANYTHING={LITERAL}"]
    text = everything(tmp_path, *words, env=env, only=ONLY)
    assert leaks(text, [GIVEN, LITERAL, INHERITED, ARGUMENT]) == []
    for name in ("***API_KEY***", "***ANYTHING***", "***INHERITED***", "***password***", PLAIN):
        assert name in text
    trace = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert len(trace) > 20
    assert "--env " in text and "API_KEY=${API_KEY:?must be set}" in text
    assert "--password '${PASSWORD:?must be set}'" in text


def test_no_value_of_a_header_is_told_over_http(tmp_path: Path) -> None:
    url = "http://127.0.0.1:{port}/mcp?api_key=In-the_query.1234"
    words = ["--server", f"{SERVER} --port {{port}}", "--url", url]
    words += ["--header", f"Authorization: Bearer {SIGNED}", "--header", f"X-Anything: {SENT}"]
    text = everything(tmp_path, *words, env={"TELL": "PLAIN", "PLAIN": PLAIN})
    secrets = [SIGNED, SENT, "In-the_query.1234"]
    assert leaks(text, secrets) == []
    assert "***Authorization***" in text and "***X-Anything***" in text and PLAIN in text
    assert "Authorization: ${AUTHORIZATION:?must be set}" in text


def test_no_literal_of_a_target_file_is_told(tmp_path: Path) -> None:
    sample = {"arguments": {"password": ARGUMENT}, "outcome": "result"}
    file = {
        "server": [sys.executable, str(TELLING), PLAIN],
        "env": {"API_KEY": GIVEN, "ANYTHING": LITERAL, "TELL": "API_KEY,ANYTHING,TAKEN", "TAKEN": "$INHERITED"},
        "tools": {"login": [sample]},
    }
    (tmp_path / "mcp-conform.yaml").write_text(json.dumps(file))
    text = everything(tmp_path, "--only", "own", env={"INHERITED": INHERITED})
    assert leaks(text, [GIVEN, LITERAL, INHERITED, ARGUMENT]) == []
    assert "***API_KEY***" in text and "***INHERITED***" in text and PLAIN in text


def test_no_secret_of_a_client_configuration_is_told(tmp_path: Path) -> None:
    env = {"API_KEY": GIVEN, "ANYTHING": LITERAL, "TELL": "API_KEY,ANYTHING,INHERITED"}
    entry = {"command": sys.executable, "args": [str(TELLING), f"--token={ARGUMENT}", PLAIN], "env": env}
    (tmp_path / "mcp.json").write_text(json.dumps({"mcpServers": {"telling": entry}}))
    text = everything(tmp_path, "--config", tmp_path / "mcp.json", env={"INHERITED": INHERITED})
    assert leaks(text, [GIVEN, LITERAL, INHERITED, ARGUMENT]) == []
    assert "***API_KEY***" in text and "***token***" in text and PLAIN in text


def test_the_pytest_plugin_tells_no_secret(tmp_path: Path) -> None:
    file = {
        "server": [sys.executable, str(TELLING), PLAIN],
        "env": {"API_KEY": GIVEN, "ANYTHING": LITERAL, "TELL": "API_KEY,ANYTHING"},
        "timeout": 3,
    }
    (tmp_path / "t.yaml").write_text(json.dumps(file))
    words = ["--mcp-target", "t.yaml", "--mcp-revision", "2025-11-25", "-p", "no:cacheprovider", "-rA"]
    words += [word for area in ("tools/list", "tools/call-each") for word in ("--mcp-only", area)]
    done = as_a_user("pytest", *words, "--junit-xml", "junit.xml", cwd=tmp_path)
    text = done.stdout + done.stderr + (tmp_path / "junit.xml").read_text()
    assert "failed" in done.stdout
    assert leaks(text, [GIVEN, LITERAL]) == []
    assert "***API_KEY***" in text and PLAIN in text


def test_init_tells_no_secret_but_to_the_server(tmp_path: Path) -> None:
    words = ["init", "--server", f"{SERVER} {PLAIN}", "--env", f"API_KEY={GIVEN}", "--env", "TELL=API_KEY"]
    done = conform(*words, cwd=tmp_path)
    written = [path.read_text() for path in tmp_path.iterdir()]
    assert leaks("\n".join([done.stdout, done.stderr, *written]), [GIVEN]) == []


@pytest.mark.parametrize(
    "words",
    [
        ("--server", f"x --token {LITERAL} 'open"),
        ("--server", "x", "--env", LITERAL),
        ("--server", "x", "--env", "Sesame"),
        ("--url", "http://x", "--header", f"Bearer {LITERAL}"),
        ("--url", f"ftp://me:{LITERAL}@h/"),
    ],
)
def test_what_is_told_of_wrong_use_holds_no_secret(words: tuple[str, ...]) -> None:
    done = conform(*words)
    assert done.returncode == 2, done.stderr
    assert LITERAL not in done.stderr and "Sesame" not in done.stderr


@pytest.mark.parametrize(
    "file", [{"env": {"PIN": 481516}}, {"url": f"ftp://me:{LITERAL}@h/"}, {"headers": {"X": [LITERAL]}}]
)
def test_what_is_told_of_a_wrong_target_file_holds_no_secret(tmp_path: Path, file: object) -> None:
    (tmp_path / "mcp-conform.yaml").write_text(json.dumps(file))
    done = conform(cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "mcp-conform.yaml:1: " in done.stderr
    assert LITERAL not in done.stderr and "481516" not in done.stderr


# -- the command that shows it again

MIXED = "two words; $HOME `x` \"y\" 'z'!"
AGAIN: list[tuple[Target, dict[str, str]]] = [
    (Target(("server", "--flag"), env={"FAULT": "x", "TEXT": MIXED}), {}),
    (
        Target(("server", "--token", LITERAL, "a b", "$HOME"), env={"API_KEY": GIVEN, "FAULT": "x y"}),
        {"TOKEN": LITERAL, "API_KEY": GIVEN},
    ),
    (
        Target(("server", f"--token=It's {LITERAL}", "!important", "--key", "quote-and'more")),
        {"TOKEN": f"It's {LITERAL}", "KEY": "quote-and'more"},
    ),
    (
        Target(("server", "--token", "first-0001", "--other-token", "second-0002"), env={"TOKEN": "third-0003"}),
        {"TOKEN": "third-0003", "TOKEN_2": "first-0001", "OTHER_TOKEN": "second-0002"},
    ),
    (Target(("sh", "-c", f"API_KEY={LITERAL} exec server '--x=1'")), {"API_KEY": LITERAL}),
    (
        Target(
            ("server",),
            f"https://me:{LITERAL}@host:80/mcp?page=1&api_key=a%2Fb%20c",
            headers={"Authorization": f"Bearer {GIVEN}", "X-Mode": "1", "Accept": "application/json"},
        ),
        {"PASSWORD": LITERAL, "API_KEY": "a%2Fb%20c", "AUTHORIZATION": f"Bearer {GIVEN}"},
    ),
]
"""Targets, and the variables that must be set to see a finding again, with their values."""


@pytest.mark.parametrize(("target", "needed"), AGAIN, ids=range(len(AGAIN)))
def test_a_shell_that_has_the_variables_makes_the_same_words_of_the_command(
    target: Target, needed: dict[str, str], tmp_path: Path
) -> None:
    secrets = confidential(target)
    line = command(
        Target(target.command, target.url, target.env, None, target.headers, secrets=secrets),
        Options(),
        "newest",
        "a/b",
    )
    assert not any(secret in line for secret in secrets if len(secret) > 3)
    script = tmp_path / "mcp-conform"
    script.write_text(f"#!{sys.executable}\nimport json, sys\nprint(json.dumps(sys.argv[1:]))\n")
    script.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", **needed}
    for name in needed:
        lacking = {other: value for other, value in environment.items() if other != name}
        done = subprocess.run(["sh", "-c", line], env=lacking, capture_output=True, text=True)
        assert done.returncode != 0 and f"{name}: must be set" in done.stderr
    done = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, text=True, check=True)
    words = json.loads(done.stdout)
    pairs = list(zip(words[::2], words[1::2], strict=True))
    assert parse_command(dict(pairs)["--server"]) == target.command
    assert dict(pairs).get("--url", "") == target.url
    assert [value for option, value in pairs if option == "--env"] == [f"{n}={v}" for n, v in target.env.items()]
    assert [v for option, v in pairs if option == "--header"] == [f"{n}: {v}" for n, v in target.headers.items()]


def test_what_is_no_secret_is_repeated_as_it_was_given() -> None:
    target = Target(("s",), env={"FAULT": "x", "TEXT": "a b"})
    assert "--env FAULT=x --env 'TEXT=a b' --revision" in command(target, Options(), "newest", "a/b")


def test_beside_a_target_file_only_what_the_command_line_gave_is_repeated() -> None:
    options = Options(named_by=("--target", "t.yaml"), given=frozenset({"FAULT"}))
    line = command(Target(("s",), env={"FAULT": "x", "OTHER": "y"}), options, "newest", "a/b")
    assert line == "mcp-conform --target t.yaml --env FAULT=x --revision newest --only a/b"


def test_a_short_secret_is_not_repeated_either() -> None:
    line = command(Target(("s",), env={"PASSWORD": "abc"}), Options(), "newest", "a/b")
    assert "abc" not in line and 'PASSWORD="${PASSWORD:?must be set}"' not in line.partition("--env ")[0]
