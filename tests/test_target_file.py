"""The target file, cases of one's own, and `init`, through the real command line."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import fronts
import pytest
import yaml

from conformance.files.places import SCHEMAS

SERVER = f"{sys.executable} -m conformance.reference"
OWN_CASES = Path(__file__).parent / "own_cases"


def conform(folder: Path, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """`mcp-conform` in `folder`, as a user starts it."""
    return fronts.conform(*words, cwd=folder, env=env)


def written(folder: Path, **settings: Any) -> Path:
    """A target file of the reference server; a key `fail_on` stands for fail-on."""
    data = {"server": SERVER, "revisions": ["2025-11-25"], **{k.replace("_", "-"): v for k, v in settings.items()}}
    path = folder / "mcp-conform.yaml"
    # JSON is YAML, and its strings are quoted.
    path.write_text(json.dumps(data, indent=1), encoding="utf-8")
    return path


def verdicts(folder: Path) -> dict[str, Any]:
    """Requirement → its verdict in the one run of the report r.json."""
    report = json.loads((folder / "r.json").read_text())
    return {verdict["requirement"]: verdict for verdict in report["runs"][0]["verdicts"]}


# -- what it may say


def test_the_file_in_the_working_directory_says_what_is_tested(tmp_path: Path) -> None:
    written(tmp_path, only=["lifecycle"])
    done = conform(tmp_path, "-v")
    assert done.returncode == 0, done.stderr
    assert "2025-11-25 stdio lifecycle:" in done.stdout
    assert "stdio tools:" not in done.stdout


def test_pyproject_may_hold_the_same_keys(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        f'[project]\nname = "x"\n\n[tool.mcp-conform]\nserver = "{SERVER}"\nonly = ["lifecycle"]\n'
        'revisions = ["2025-06-18"]\n\n[tool.mcp-conform.tools]\nadd = [{arguments = {a = 1, b = 2}}]\n'
    )
    done = conform(tmp_path, "-v")
    assert done.returncode == 0, done.stderr
    assert "2025-06-18 stdio lifecycle:" in done.stdout


def test_an_option_comes_before_the_file(tmp_path: Path) -> None:
    written(tmp_path, server="no-such-command", only=["tools"])
    done = conform(tmp_path, "--server", SERVER, "--only", "lifecycle", "--revision", "2024-11-05", "-v")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2024-11-05 stdio lifecycle:" in done.stdout
    assert "2025-11-25" not in done.stdout


def test_the_folder_of_the_file_is_where_its_server_starts(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "server.py").write_text("import runpy\nrunpy.run_module('conformance.reference', run_name='__main__')\n")
    path = written(inner, server=[sys.executable, "server.py"], only=["lifecycle"])
    done = conform(tmp_path, "--target", str(path))
    assert done.returncode == 0, done.stdout + done.stderr


def test_sample_arguments_are_what_a_tool_is_called_with(tmp_path: Path) -> None:
    written(tmp_path, tools={"add": [{"arguments": {"a": 41, "b": 1}}]}, only=["tools"])
    done = conform(tmp_path, "--trace", "trace.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    assert r"\"arguments\":{\"a\":41,\"b\":1}" in (tmp_path / "trace.jsonl").read_text()


def test_sample_prompts_and_resources_are_tried(tmp_path: Path) -> None:
    written(
        tmp_path,
        prompts={"greet": {"name": "Ada Lovelace"}},
        resources=["reference://items/7"],
        only=["prompts", "resources"],
    )
    done = conform(tmp_path, "--trace", "trace.jsonl")
    assert done.returncode == 0, done.stdout + done.stderr
    trace = (tmp_path / "trace.jsonl").read_text()
    assert "Ada Lovelace" in trace
    assert "reference://items/7" in trace


def test_answers_are_what_the_server_gets_when_it_asks(tmp_path: Path) -> None:
    answers = {"sampling": "Forty-two.", "elicitation": {"name": "Grace"}, "roots": ["file:///srv/garden"]}
    written(tmp_path, answers=answers, only=["asking/*"])
    conform(tmp_path, "--trace", "trace.jsonl")
    trace = (tmp_path / "trace.jsonl").read_text()
    for given in ("Forty-two.", "Grace", "file:///srv/garden"):
        assert given in trace


def test_an_outcome_that_does_not_come_is_a_violation_of_the_rule_of_the_user(tmp_path: Path) -> None:
    good, bad = {"arguments": {"a": 1, "b": 2}, "outcome": "result"}, {"arguments": {"a": "x"}, "outcome": "result"}
    written(tmp_path, tools={"add": [good, bad]}, only=["own"])
    done = conform(tmp_path, "--json", "r.json")
    assert done.returncode == 1
    assert "the server breaks a rule of its own" in done.stdout
    found = verdicts(tmp_path)
    assert {name: verdict["verdict"] for name, verdict in found.items()} == {
        "own/tools/add-1": "passed",
        "own/tools/add-2": "failed",
    }
    assert found["own/tools/add-2"]["basis"] == "own"
    assert found["own/tools/add-2"]["reproduce"].startswith("mcp-conform --target mcp-conform.yaml --revision")


def test_a_requirement_may_weigh_less_and_then_fails_nobody(tmp_path: Path) -> None:
    server = f"{SERVER} --fault version-member-number"
    only = ["jsonrpc/version-member"]
    written(tmp_path, server=server, only=only)
    assert conform(tmp_path).returncode == 1
    written(tmp_path, server=server, only=only, severity={"jsonrpc/version-member": "advice"})
    done = conform(tmp_path, "--json", "r.json")
    assert done.returncode == 0, done.stdout
    assert verdicts(tmp_path)["jsonrpc/version-member"]["severity"] == "advice"


def test_a_value_is_taken_from_the_environment_by_name(tmp_path: Path) -> None:
    script = "import os, runpy, sys\nassert os.environ['API'] == 'x-sesame-y', os.environ['API']\nsys.argv = ['r']\n"
    (tmp_path / "server.py").write_text(script + "runpy.run_module('conformance.reference', run_name='__main__')\n")
    written(tmp_path, server=f"{sys.executable} server.py", env={"API": "x-${SESAME}-y"}, only=["lifecycle"])
    assert conform(tmp_path, SESAME="sesame").returncode == 0


# -- cases of one's own


def test_cases_of_ones_own_are_tested_beside_the_specification(tmp_path: Path) -> None:
    written(tmp_path, only=["own", "lifecycle"])
    done = conform(tmp_path, "--cases", str(OWN_CASES), "--json", "r.json")
    assert done.returncode == 0, done.stdout
    assert verdicts(tmp_path)["own/adding/two-and-three"]["verdict"] == "passed"
    assert any(name.startswith("lifecycle/") for name in verdicts(tmp_path))


def test_a_case_of_ones_own_that_fails_says_where_it_stands(tmp_path: Path) -> None:
    text = (OWN_CASES / "adding.yaml").read_text().replace('"5"', '"6"')
    (tmp_path / "adding.yaml").write_text(text)
    written(tmp_path, only=["own"], cases=".")
    # The folder also holds the target file, which is no file of cases.
    assert "mcp-conform.yaml:" in conform(tmp_path).stderr
    (tmp_path / "mine").mkdir()
    (tmp_path / "adding.yaml").rename(tmp_path / "mine" / "adding.yaml")
    written(tmp_path, only=["own"], cases="mine")
    done = conform(tmp_path)
    assert done.returncode == 1
    assert "mine/adding.yaml:3" in done.stdout


@pytest.mark.parametrize(
    ("broken", "complaint"),
    [
        ("expect:\n          - respons: {}", "adding.yaml:10: 'respons' is not known"),
        ("expect: 3", "adding.yaml:9:"),
        ("", "own/adding/two-and-three judges no requirement"),
    ],
)
def test_a_malformed_case_of_ones_own_is_told_with_its_line(tmp_path: Path, broken: str, complaint: str) -> None:
    head = (OWN_CASES / "adding.yaml").read_text().partition("expect:")[0]
    (tmp_path / "adding.yaml").write_text(head + broken + "\n")
    done = conform(tmp_path, "--server", SERVER, "--cases", ".")
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_checking_cases_tells_of_each_what_it_judges_or_what_is_wrong(tmp_path: Path) -> None:
    head = "area: many\ncases:\n"
    case = """\
  - id: ID
    title: A case that is played by nobody
    steps:
      - steps:
          - request: ping
          - request: ping
            expect: [{response: {result: {}}}, {requirement: tools/list-shape, response: {result: {}}}]
"""
    unknown = case.replace("expect:", "expct:")
    unsaved = case.replace("{result: {}}}]", "$what}]")
    parts = [case.replace("ID", "one"), unknown.replace("ID", "two"), unsaved.replace("ID", "three")]
    many, late, other = tmp_path / "many.yaml", tmp_path / "other.yaml", tmp_path / "notes.yml"
    many.write_text(head + "".join(parts) + case.replace("ID", "one") + case.replace("ID", "five"))
    late.write_text("area: another\ncase: []\n")
    other.write_text("")
    done = conform(tmp_path, "cases", "check", ".", "notes.yml", "nowhere.yaml")
    assert done.returncode == 2
    assert re.sub(r"(allowed are|did you).*", r"\1 …", done.stdout).splitlines() == [
        "own/many/one: 2 steps, judges own/many/one, tools/list-shape",
        "many.yaml:16: 'expct' is not known in cases.1.steps.0.steps.1; allowed are …",
        "many.yaml:23: nothing was saved as 'what' before",
        "many.yaml:24: there is another case 'one'",
        "own/many/five: 2 steps, judges own/many/five, tools/list-shape",
        "other.yaml:2: 'case' is not known in the file; allowed are …",
        "notes.yml:1: is not read by --cases: the name of a file of cases ends with .yaml",
        "nowhere.yaml:1: cannot be read: No such file or directory",
        "2 cases valid, 6 problems",
    ]


def test_checking_cases_that_are_well_is_a_success_and_starts_nothing(tmp_path: Path) -> None:
    written(tmp_path, server=f"sh -c 'echo > {tmp_path / 'started'}'")
    done = conform(tmp_path, "cases", "check", str(OWN_CASES), str(OWN_CASES / "adding.yaml"))
    line = "own/adding/two-and-three: 1 step, judges own/adding/two-and-three\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{line}{line}2 cases valid, 0 problems\n", "")
    assert not (tmp_path / "started").exists()


def test_checking_a_folder_without_cases_says_so(tmp_path: Path) -> None:
    done = conform(tmp_path, "cases", "check", ".")
    assert done.returncode == 2
    assert done.stdout == ".:1: holds no case: there is no file *.yaml\n0 cases valid, 1 problem\n"


# -- bad input


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("serve: x\n", "mcp-conform.yaml:1: 'serve' is not known in the file; allowed are server, url, transport"),
        ("server: x\ntimeout: soon\n", "mcp-conform.yaml:2: timeout: 'soon' is not of type 'number'"),
        ("server: x\njobs: 0\n", "mcp-conform.yaml:2: jobs: 0 is less than the minimum of 1"),
        ("- server\n", "mcp-conform.yaml:1: is not a target file: it must hold keys such as server, not a list"),
        ("server: [x\n", "mcp-conform.yaml:2: is not valid YAML"),
        ("server: x\nenv: {A: $NO_SUCH_VARIABLE}\n", "mcp-conform.yaml:2: the environment variable NO_SUCH_VARIABLE"),
        ("server: x\nseverity: {tools/list: advice}\n", "mcp-conform.yaml:2: there is no requirement 'tools/list'"),
        ("server: x\nseverity: {jsonrpc/version-member: violation}\n", "is not one of ['warning', 'advice']"),
        ("server: x\ncases: nowhere\n", "mcp-conform.yaml:2: cases: the folder 'nowhere' does not exist"),
        ("server: x\nrevisions: ['2025-01-01']\n", "mcp-conform.yaml:2: revisions.0: '2025-01-01' is not one of"),
        ("server: x\ntools: {add: [{argument: {}}]}\n", "'argument' is not known in tools.add.0; allowed are"),
        ('server: "\'"\n', "mcp-conform.yaml:1:"),
        ("url: ftp://x\n", "mcp-conform.yaml:1: url: 'ftp://x'"),
        ("timeout: 5\n", "say what to test"),
    ],
)
def test_a_wrong_file_is_told_with_line_and_what_is_allowed(tmp_path: Path, text: str, complaint: str) -> None:
    (tmp_path / "mcp-conform.yaml").write_text(text)
    done = conform(tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_key_in_pyproject_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.mcp-conform]\nserver = "x"\n[tool.mcp-conform.env]\nA = 3\n')
    done = conform(tmp_path)
    assert done.returncode == 2
    assert "pyproject.toml:4: env.A: 3 is not of type 'string'" in done.stderr


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    done = conform(tmp_path, "--target", "nowhere.yaml")
    assert done.returncode == 2
    assert "nowhere.yaml:1: cannot be read: No such file or directory" in done.stderr


@pytest.mark.parametrize(("kind", "near"), [("tools", "add"), ("prompts", "greet")])
def test_a_sample_for_what_the_server_does_not_have_is_an_error(tmp_path: Path, kind: str, near: str) -> None:
    written(tmp_path, **{kind: {f"{near}x": [] if kind == "tools" else {}}}, only=["lifecycle"])
    done = conform(tmp_path)
    assert done.returncode == 2
    assert "mcp-conform.yaml:7: the server has no" in done.stderr
    assert f"did you mean {near}" in done.stderr


def test_a_tool_named_on_the_command_line_must_exist_too(tmp_path: Path) -> None:
    done = conform(tmp_path, "--server", SERVER, "--call-tool", "ad", "--revision", "newest", "--only", "lifecycle")
    assert done.returncode == 2
    assert "--call-tool: the server has no tool 'ad'; did you mean add" in done.stderr


# -- init


def test_init_writes_a_file_that_works_and_leaves_an_existing_one_alone(tmp_path: Path) -> None:
    done = conform(tmp_path, "init", "--server", SERVER)
    assert done.returncode == 0, done.stderr
    path = tmp_path / "mcp-conform.yaml"
    text = path.read_text()
    assert yaml.safe_load(text)["tools"]["add"] == [{"arguments": {"a": 1, "b": 1}}]
    assert '#   "toggle_tool":' in text  # it changes something, so it may not be called unasked
    assert conform(tmp_path, "--only", "jsonrpc", "--revision", "newest").returncode == 0
    again = conform(tmp_path, "init", "--server", SERVER)
    assert again.returncode == 2
    assert "mcp-conform.yaml exists; nothing was written" in again.stderr
    assert path.read_text() == text


def test_init_keeps_values_of_the_environment_out_of_the_file(tmp_path: Path) -> None:
    done = conform(tmp_path, "init", "--server", SERVER, "--env", "API_KEY=sesame-open", "--output", "t.yaml")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "t.yaml").read_text()
    assert '"API_KEY": $API_KEY' in text
    assert "sesame" not in text


def test_init_of_a_server_that_cannot_be_started_writes_nothing(tmp_path: Path) -> None:
    done = conform(tmp_path, "init", "--server", "no-such-command")
    assert done.returncode == 3
    assert "no-such-command" in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_explain_lists_the_keys_of_the_target_file(tmp_path: Path) -> None:
    told = conform(tmp_path, "explain", "target-file").stdout
    for key in json.loads((SCHEMAS / "target.json").read_text())["properties"]:
        assert f"\n{key} " in told
    assert "Command-line options override it" in " ".join(told.split())


# -- made-up arguments


def test_a_tool_that_fails_with_the_smallest_arguments_is_tried_with_others(tmp_path: Path) -> None:
    server = f"{sys.executable} {Path(__file__).parent / 'servers' / 'picky.py'}"
    words = ["--server", server, "--revision", "2025-11-25", "--only", "tools/call-each"]
    done = conform(tmp_path, *words)
    assert "violation  tools/structured-content-conforms" in done.stdout
    written(tmp_path, server=server, tools={"find": [{"arguments": {}}]}, only=["tools/call-each"])
    done = conform(tmp_path, "--verbose")
    assert "violation" not in done.stdout
    assert "'find' failed: sample arguments in a target file may help: tools/structured-content" in done.stdout


def test_a_value_taken_by_name_is_in_no_report(tmp_path: Path) -> None:
    wrong = ["--fault", "version-member-number"]
    script = "import os, runpy, sys\nprint('key is ' + os.environ['API'], file=sys.stdout, flush=True)\n"
    script += f"sys.argv = ['r', *{wrong!r}]\nrunpy.run_module('conformance.reference', run_name='__main__')\n"
    (tmp_path / "server.py").write_text(script)
    written(tmp_path, server=f"{sys.executable} server.py", env={"API": "$SESAME"}, only=["transport-stdio"])
    done = conform(tmp_path, "--json", "r.json", "--junit", "r.xml", "--trace", "t.jsonl", SESAME="open-sesame-71")
    assert done.returncode == 1, done.stderr
    for text in (done.stdout, *((tmp_path / name).read_text() for name in ("r.json", "r.xml", "t.jsonl"))):
        assert "key is ***SESAME***" in text
        assert "open-sesame-71" not in text
