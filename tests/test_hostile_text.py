"""What a hostile server says becomes nothing that runs, no markup and no file that cannot be read.

Through the front door: `servers/hostile_text.py` says it, and what is shown and written is read by real readers.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import fronts
import pexpect
import pytest
import yaml
from fronts import said
from hostile_words import assert_harmless
from html_page import Page
from servers import hostile_text

from conformance.catalogue.case_files import load_cases
from conformance.checks.registry import known
from conformance.settings.target_file import read
from conformance.target.process import parse_command

REVISION = "2025-11-25"
SCRIPT = Path(hostile_text.__file__)
SERVER = f"{sys.executable} {SCRIPT}"
OWNED = hostile_text.OWNED

# -- init


Done = tuple[Path, subprocess.CompletedProcess[str]]
"""A folder, and the process that wrote into it."""


@pytest.fixture(scope="module")
def surveyed(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """A folder with the file that `init` wrote for the hostile server."""
    folder = tmp_path_factory.mktemp("init")
    return folder, fronts.conform("init", "--server", SERVER, cwd=folder)


def test_init_writes_what_was_meant_whatever_the_server_says(surveyed: Done) -> None:
    folder, done = surveyed
    assert done.returncode == 0, done.stderr
    assert said(done.stderr) == ""
    assert [path.name for path in folder.iterdir()] == ["mcp-conform.yaml"]
    text = (folder / "mcp-conform.yaml").read_bytes().decode("utf-8")
    assert_harmless(text)
    assert len(text) < 100_000
    data = yaml.safe_load(text)
    assert list(data) == ["server", "tools", "prompts"]
    assert data["server"] == SERVER
    assert data == read(folder / "mcp-conform.yaml").settings
    for tool in hostile_text.tools():
        if tool["name"] == hostile_text.TEXTS[7]:
            (argument,) = tool["inputSchema"]["properties"].values()
            assert data["tools"][tool["name"]] == [{"arguments": {hostile_text.TEXTS[7]: argument["const"]}}]
    lines = [line for line in text.splitlines() if OWNED in line and not line.startswith(("  ", "#"))]
    assert lines == []


def test_the_file_of_init_starts_the_server_of_the_user_and_nothing_else(surveyed: Done) -> None:
    folder, _ = surveyed
    done = fronts.conform("--only", "lifecycle/opening", "--revision", "newest", "--fuzz", "0", cwd=folder)
    assert done.stdout.splitlines()[0] == f"mcp-conform tests {SERVER}"
    assert done.returncode == 1, done.stderr
    assert [path.name for path in folder.iterdir()] == ["mcp-conform.yaml"]


WORDS = [
    'say "hi"',
    "it's",
    "a\nserver: x",
    "\t",
    "tab\\n",
    "$HOME",
    "größe",
    "\u2028",
    "\U0001f600",
    "\x7f",
    "# no",
    "",
]


def test_the_words_of_the_user_come_back_exactly(tmp_path: Path) -> None:
    server = f"{SERVER} serve {shlex.join(WORDS)}"
    variables = ["--env", "path=1", "--env", "größe=2", "--env", "A\u2028B=3", "--env", "path=4"]
    done = fronts.conform("init", "--server", server, *variables, "--output", "x.yaml", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    data = yaml.safe_load((tmp_path / "x.yaml").read_text("utf-8"))
    assert data["server"] == server
    assert parse_command(data["server"])[3:] == tuple(WORDS)
    assert data["env"] == {"path": "$path", "größe": "$gr__e", "A\u2028B": "$A_B"}
    assert data == read(tmp_path / "x.yaml").settings


def test_words_of_the_user_that_no_file_can_hold_are_left_out_and_that_is_said(tmp_path: Path) -> None:
    done = fronts.conform("init", "--server", f"{SERVER} serve caf\udce9", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "mcp-conform.yaml").read_text("utf-8")
    assert "\n# server is left out, since it has halves of characters (lone surrogates)" in text
    assert "server" not in yaml.safe_load(text)


def test_what_is_at_the_place_of_the_file_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").symlink_to("nowhere")
    done = fronts.conform("init", "--server", SERVER, "--output", "x.yaml", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "mcp-conform: x.yaml exists; nothing was written\n")
    done = fronts.conform("init", "--server", SERVER, "--output", "pyproject.toml", cwd=tmp_path)
    assert done.returncode == 2
    assert "would be read as TOML" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["x.yaml"]


@pytest.mark.parametrize("mode", ["dies", "refuses"])
@pytest.mark.parametrize("words", [["init"], ["--revision", "newest", "--fuzz", "0"]], ids=["init", "run"])
def test_the_last_words_of_a_server_reach_the_terminal_without_control_characters(
    tmp_path: Path, mode: str, words: list[str]
) -> None:
    done = fronts.conform(*words, "--server", f"{SERVER} {mode}", cwd=tmp_path)
    assert done.returncode in (1, 3)
    assert_harmless(done.stdout)
    assert_harmless(done.stderr)
    assert len(done.stdout + done.stderr) < 40_000
    told = done.stderr if words == ["init"] else done.stdout
    assert OWNED in told
    assert list(tmp_path.iterdir()) == []


# -- a run

FILES = ("r.json", "r.xml", "r.html", "t.jsonl", "s.json")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Done:
    """A folder with all that a run on the hostile server writes."""
    folder = tmp_path_factory.mktemp("run")
    only = ["tools/list", "tools/call-each", "tools/name-case", "lifecycle/opening", "fuzz/tool-arguments"]
    words = [word for name in only for word in ("--only", name)]
    words += ["--json", "r.json", "--junit", "r.xml", "--html", "r.html", "--trace", "t.jsonl", "--snapshot", "s.json"]
    words += ["--save-cases", "cases", "--fuzz", "20", "--revision", REVISION, "--verbose"]
    return folder, fronts.conform("--server", f"{SERVER} rude", *words, cwd=folder, timeout=300)


def test_a_run_shows_no_control_character_and_writes_nothing_that_it_was_not_asked_for(run: Done) -> None:
    folder, done = run
    assert done.returncode == 1, done.stderr
    assert said(done.stderr) == ""
    assert_harmless(done.stdout)
    assert max(map(len, done.stdout.splitlines())) < 5000
    assert {path.name for path in folder.iterdir()} == {*FILES, "cases"}
    assert [path.name for path in (folder / "cases").iterdir()] == ["found.yaml"]
    for name in (*FILES, "cases/found.yaml"):
        assert_harmless((folder / name).read_bytes().decode("utf-8"))


def test_no_word_of_the_server_breaks_the_suite(run: Done) -> None:
    report = json.loads((run[0] / "r.json").read_text())
    assert [v["reason"] for r in report["runs"] for v in r["verdicts"] if v["verdict"] == "broken"] == []


def test_the_snapshot_has_the_words_of_the_server(run: Done) -> None:
    text = (run[0] / "s.json").read_text("utf-8")
    names = [tool["name"] for tool in json.loads(text)["tools"] if isinstance(tool["name"], str)]
    escaped = {text.encode("utf-8", "backslashreplace").decode() for text in hostile_text.TEXTS}
    assert escaped <= set(names)


def test_the_cases_that_were_found_can_be_read_and_played(run: Done, tmp_path: Path) -> None:
    folder, _ = run
    assert load_cases(folder / "cases", known())
    server = ["--server", SERVER, "--revision", REVISION, "--fuzz", "0"]
    done = fronts.conform(*server, "--cases", folder / "cases", "--only", "own/found", cwd=tmp_path)
    assert done.returncode in (0, 1), done.stderr
    assert_harmless(done.stdout)


def test_the_junit_file_and_the_trace_can_be_parsed(run: Done) -> None:
    folder, _ = run
    root = ET.parse(folder / "r.xml").getroot()
    assert len(list(root.iter("testcase"))) > 5
    assert max(len(text) for element in root.iter() for text in element.attrib.values()) < 5000
    lines = (folder / "t.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert any(OWNED in row["text"] for row in rows)


def test_the_html_page_has_the_words_of_the_server_as_text_alone(run: Done) -> None:
    page = Page((run[0] / "r.html").read_text("utf-8"))
    assert page.allows_only_itself()
    assert OWNED in page.text
    assert "<script>alert('&')</script>" in page.text


def test_a_terminal_gets_no_control_sequence_but_ours(tmp_path: Path) -> None:
    words = ["-m", "conformance", "--server", f"{SERVER} rude", "--revision", REVISION, "--fuzz", "0"]
    child = pexpect.spawn(
        sys.executable,
        [*words, "--only", "lifecycle/opening", "--only", "tools/list"],
        cwd=str(tmp_path),
        env={**os.environ, "TERM": "xterm-256color"},
        dimensions=(50, 120),
        encoding="utf-8",
        timeout=120,
    )
    text = child.read()
    child.close()
    assert child.exitstatus == 1
    assert OWNED in text
    ours = r"\x1b\[[0-9;]*m|\x1b\[\?25[lh]|\x1b\[2K|\x1b\[1A|\r"
    assert_harmless(re.sub(ours, "", text))
    assert not re.search(r"\x1b\[31mred", text), "that style is the server's"


def test_pytest_shows_no_control_character(tmp_path: Path) -> None:
    words = ["--mcp-server", SERVER, "--mcp-revision", REVISION, "--mcp-fuzz", "0", "--mcp-only", "lifecycle/opening"]
    words += [
        "-rA",
        "-v",
        "-p",
        "no:cacheprovider",
        "--mcp-only",
        "tools/list",
        "--junit-xml",
        "r.xml",
        "--color",
        "no",
    ]
    done = fronts.as_a_user("pytest", *words, cwd=tmp_path)
    assert done.returncode == 1
    assert_harmless(done.stdout)
    assert said(done.stderr) == ""
    assert "FutureWarning" not in done.stdout
    assert OWNED in done.stdout
    assert len(list(ET.parse(tmp_path / "r.xml").getroot().iter("testcase"))) > 5
    assert [path.name for path in tmp_path.iterdir()] == ["r.xml"]


def test_pytest_tells_why_a_hostile_server_cannot_be_tested_without_control_characters(tmp_path: Path) -> None:
    words = ["--mcp-server", f"{SERVER} dies", "--mcp-revision", "newest", "--mcp-fuzz", "0"]
    done = fronts.as_a_user("pytest", *words, "-rA", "-p", "no:cacheprovider", "--color", "no", cwd=tmp_path)
    assert done.returncode != 0
    assert OWNED in done.stdout + done.stderr
    assert_harmless(done.stdout)
    assert_harmless(done.stderr)


def test_a_tool_that_is_named_and_not_there_is_told_without_control_characters(tmp_path: Path) -> None:
    words = ["--server", SERVER, "--call-tool", "no-such", "--only", "lifecycle/opening", "--revision", REVISION]
    done = fronts.conform(*words, cwd=tmp_path)
    assert done.returncode == 2
    assert "the server has no tool 'no-such'; there are" in done.stderr
    assert_harmless(done.stderr)
    assert len(done.stderr) < 5000


def test_differences_of_snapshots_are_told_without_control_characters(run: Done, tmp_path: Path) -> None:
    old = run[0] / "s.json"
    data = json.loads(old.read_text("utf-8"))
    data["tools"] = [{**t, "inputSchema": {"type": "object"}} for t in data["tools"] if "a" in str(t["name"])]
    data["prompts"] = []
    new = tmp_path / "new.json"
    new.write_text(json.dumps(data))
    done = fronts.conform("diff", old, new, cwd=tmp_path)
    assert done.returncode == 1
    assert OWNED in done.stdout
    assert_harmless(done.stdout)
    assert said(done.stderr) == ""
    told = fronts.conform("diff", old, new, "--json", cwd=tmp_path).stdout
    assert_harmless(told)
    assert len(json.loads(told)["changes"]) > 20
    data["tools"] = hostile_text.ALL
    new.write_text(json.dumps(data))
    done = fronts.conform("diff", old, new, cwd=tmp_path)
    assert done.returncode == 2
    assert_harmless(done.stderr)


def test_a_bug_of_ours_that_quotes_a_server_is_told_without_control_characters() -> None:
    script = (
        "from conformance import __main__\nfrom conformance.cli import main\ndef fail(**_): raise RuntimeError(TEXT)\n"
    )
    script += "main.app.main = fail\n__main__.main()\n"
    words = [sys.executable, "-c", f"TEXT = {hostile_text.ALL!r}\n{script}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60)
    assert done.returncode == 3
    assert "RuntimeError: a\\nserver" in done.stderr or "RuntimeError: a\nserver" in done.stderr
    assert_harmless(done.stderr)
    assert done.stderr.endswith("please report it\n")
