"""The recipes for CI: their files are what GitHub, GitLab and the others read, and their scripts do what they say."""

from __future__ import annotations

import json
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from action_runner import ROOT, Job, Runner, installed
from fronts import SERVER

from conformance import __version__

TOOLS = Path(sys.executable).parent
SMALL = "--only tools/call-each --call-tools all"
"""Options of a run that takes a second or two."""
FAULTY = f"{SERVER} --fault structured-content-wrong"

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PAGE = (ROOT / "docs" / "ci.md").read_text("utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.M | re.S)


def tool(name: str, *arguments: object, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a checker of the environment that the tests run in."""
    command = [str(TOOLS / name), *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=120)


def check(schema: str, *files: Path) -> None:
    done = tool("check-jsonschema", "--builtin-schema", schema, "--force-filetype", "yaml", *files)
    assert done.returncode == 0, done.stdout + done.stderr


# --- files ---------------------------------------------------------------------------------------------------------


def test_the_files_of_github_are_valid() -> None:
    check("vendor.github-actions", ROOT / "action.yml")
    check("vendor.github-workflows", *WORKFLOWS)
    check("custom.github-workflows-require-timeout", *WORKFLOWS)
    check("vendor.dependabot", ROOT / ".github" / "dependabot.yml")


def test_the_citation_is_valid_and_of_this_version() -> None:
    check("vendor.citation-file-format", ROOT / "CITATION.cff")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))["version"] == __version__


def test_the_gitlab_template_is_valid(tmp_path: Path) -> None:
    head, job = gitlab(server="python s.py")
    assert set(head) == {"spec"}
    file = tmp_path / "job.yml"
    file.write_text(yaml.safe_dump(job))
    check("vendor.gitlab-ci", file)


def test_the_pre_commit_hook_is_valid() -> None:
    done = tool("pre-commit", "validate-manifest", ".pre-commit-hooks.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_has_no_finding() -> None:
    done = tool("hadolint", "Dockerfile")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_dockerfile_says_the_version_and_takes_no_folder_that_is_ignored() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    assert f"ARG VERSION={__version__}\n" in text
    taken = {word for line in re.findall(r"^COPY (?!--from)(.*) \S+$", text, re.M) for word in line.split()}
    kept = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text("utf-8"), re.M)
    assert taken == set(kept)


def test_an_attacker_finds_nothing_in_the_action_and_the_workflow() -> None:
    done = tool("zizmor", "--offline", "--no-progress", "--min-severity", "medium", "action.yml", ".github")
    assert done.returncode == 0, done.stdout + done.stderr


def test_each_action_that_is_used_is_pinned_to_a_commit_whose_version_is_named() -> None:
    for file in [ROOT / "action.yml", *WORKFLOWS]:
        used = re.findall(r"uses: (.*)$", file.read_text("utf-8"), re.M)
        assert [text for text in used if not re.fullmatch(r"\./|\S+@[0-9a-f]{40} # v[\d.]+", text)] == []


def test_shellcheck_has_nothing_to_say_of_the_scripts(tmp_path: Path) -> None:
    pasted = tmp_path / "pasted.sh"
    blocks = [*gitlab()[1]["mcp-conform"]["before_script"], gitlab_script(gitlab()[1]), *jenkins()]
    pasted.write_text("#!/bin/sh\n" + "\n".join(blocks))
    done = tool("shellcheck", *sorted((ROOT / "ci").glob("*.sh")), pasted)
    assert done.returncode == 0, done.stdout


def test_the_versions_of_python_that_are_tested_are_those_that_are_promised() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    promised = [found[1] for text in project["classifiers"] if (found := re.search(r":: (3\.\d+)$", text))]
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    assert workflow["jobs"]["tests"]["strategy"]["matrix"]["python"] == promised
    assert project["requires-python"] == f">={promised[0]}"


def test_each_environment_of_tox_that_the_workflow_runs_is_there() -> None:
    text = (ROOT / "tox.ini").read_text("utf-8")
    run = re.findall(r"tox -e (\S+)", (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8"))
    there = {"py", *re.findall(r"^\[testenv:(\w+)\]", text, re.M)}
    assert {name for names in run for name in names.split(",")} <= there
    files = re.findall(r"\{tox_root\}/(tests/\S+\.py)", text)
    assert [file for file in files if not (ROOT / file).exists()] == []


# --- the action ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def venv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(tmp_path_factory.mktemp("installed") / "with a space")


def given(venv: Path) -> list[str]:
    """The arguments of the last run."""
    words: list[str] = json.loads((venv / "arguments.jsonl").read_text().splitlines()[-1])
    return words


@pytest.fixture(scope="module")
def sound(venv: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("sound")
    runner = Runner(folder, venv)
    telling = f"env > {shlex.quote(str(folder / 'environment'))}; exec {SERVER}"
    return runner.run(server=shlex.join(["sh", "-c", telling]), args=SMALL, revision="2025-11-25 2025-06-18")


@pytest.fixture(scope="module")
def faulty(venv: Path, tmp_path_factory: pytest.TempPathFactory) -> Job:
    return Runner(tmp_path_factory.mktemp("faulty"), venv).run(server=FAULTY, args=SMALL, revision="2025-11-25")


def test_the_action_passes_a_sound_server(sound: Job) -> None:
    assert sound.outputs["exit-status"] == "0", sound.log
    assert not sound.failed
    report = json.loads(Path(sound.outputs["json"]).read_text())
    assert {run["revision"] for run in report["runs"]} == {"2025-11-25", "2025-06-18"}


def test_the_action_fails_for_a_violation_after_its_reports_are_uploaded(faulty: Job) -> None:
    assert faulty.outputs["exit-status"] == "1", faulty.log
    assert faulty.statuses == [0, 1]
    (upload,) = faulty.uploaded
    assert upload["name"] == "mcp-conform"
    assert upload["path"] == faulty.outputs["reports"]
    assert upload["statuses so far"] == "[0]"
    assert "tools/structured-content-conforms" in faulty.log


def test_each_report_that_the_action_names_is_there_and_what_it_says_to_be(faulty: Job) -> None:
    names = set(faulty.outputs) - {"exit-status", "reports"}
    written = {name: Path(path) for name in names if (path := faulty.outputs[name])}
    assert {"json", "junit"} <= set(written)
    assert {path.parent for path in written.values()} == {Path(faulty.outputs["reports"])}
    assert set(Path(faulty.outputs["reports"]).iterdir()) == set(written.values())
    assert ET.parse(written["junit"]).getroot().find(".//failure") is not None
    assert json.loads(written["json"].read_text())["report"] == 1


def test_the_server_gets_none_of_the_files_that_command_the_runner(sound: Job) -> None:
    folder = Path(sound.outputs["reports"]).parent.parent
    told = {line.partition("=")[0] for line in (folder / "environment").read_text().splitlines()}
    assert "GITHUB_ACTIONS" in told
    assert {name for name in told if name.startswith(("GITHUB_", "INPUT_"))} == {"GITHUB_ACTIONS", "GITHUB_ACTION_PATH"}


HOSTILE = {
    "substitution": "$(touch x) `touch x` ${HOME}",
    "separators": "python; touch x && touch x | touch x & touch x > x",
    "newlines": "python\ntouch x\n::error::x\nEOF\nexit-status=0",
    "quotes": "python 'a \"b\" c' \"d 'e' f\" \\g",
    "an open quote": "python 'never closed",
    "an option": "--json=x",
    "an expression": "${{ secrets.TOKEN }} $[[ inputs.args ]] %0A",
    "globs": "* ~ {a,b} ?",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_an_input_reaches_the_command_line_as_it_is(text: str, venv: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path, venv)
    job = runner.run(server=text, config=text, url=text, baseline=text, fail_on=text)
    passed = [f"--{name}={text}" for name in ("server", "url", "config", "baseline", "fail-on")]
    assert given(venv)[-5:] == passed
    assert job.outputs["exit-status"] == "2"
    assert job.statuses == [0, 2]
    assert list(runner.workspace.iterdir()) == []
    assert not [line for line in job.log.splitlines() if line.startswith("::")]


@pytest.mark.parametrize("text", [HOSTILE[name] for name in ("substitution", "separators", "globs", "newlines")])
def test_more_arguments_are_split_as_in_a_shell_but_not_expanded(text: str, venv: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path, venv)
    job = runner.run(args=f"--skip 'a b' {text}", revision=text)
    assert given(venv)[5 + 1 :] == [*(f"--revision={word}" for word in text.split()), "--skip", "a b", *text.split()]
    assert job.failed
    assert list(runner.workspace.iterdir()) == []


def test_a_quotation_mark_that_is_not_closed_is_wrong_use(venv: Path, tmp_path: Path) -> None:
    job = Runner(tmp_path, venv).run(args="--only 'tools")
    assert job.outputs["exit-status"] == "2"
    assert job.failed
    assert "not closed" in job.log


def test_a_server_in_a_folder_with_spaces_and_quotes_is_tested(venv: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path, venv)
    place = runner.workspace / 'it\'s a "server"'
    place.mkdir()
    (place / "python $x").symlink_to(sys.executable)
    command = shlex.join([str(place / "python $x"), "-m", "conformance.reference"])
    environment = f"PYTHONPATH={os.pathsep.join(path for path in sys.path if path)}"
    job = runner.run(server=command, args=f"{SMALL} --env {shlex.quote(environment)}", revision="newest")
    assert job.outputs["exit-status"] == "0", job.log


def test_wrong_use_is_told_in_the_summary_and_fails_the_job(venv: Path, tmp_path: Path) -> None:
    job = Runner(tmp_path, venv).run()
    assert job.outputs["exit-status"] == "2"
    assert job.failed
    assert "exit status 2" in job.summary
    assert job.outputs["json"] == ""


def test_without_a_name_nothing_is_uploaded(venv: Path, tmp_path: Path) -> None:
    assert Runner(tmp_path, venv).run(artifact_name="").uploaded == []


def test_the_reports_of_a_job_that_is_cancelled_are_uploaded(venv: Path, tmp_path: Path) -> None:
    job = Runner(tmp_path, venv).run(cancelled=True)
    assert [upload["path"] for upload in job.uploaded] == [job.outputs["reports"]]


def test_a_run_that_is_cancelled_ends_at_once_with_its_reports(venv: Path, tmp_path: Path) -> None:
    runner = Runner(tmp_path, venv)
    started = tmp_path / "started"
    os.mkfifo(started)
    reading = os.open(started, os.O_RDWR | os.O_NONBLOCK)
    mute = shlex.join(["sh", "-c", f"echo > {shlex.quote(str(started))}; exec sleep 600"])
    names = ("URL", "CONFIG", "REVISION", "BASELINE", "FAIL_ON", "ARGS")
    inputs = {"INPUT_SERVER": mute, "INPUT_VENV": str(venv), **{f"INPUT_{name}": "" for name in names}}
    with subprocess.Popen(
        [ROOT / "ci" / "run-action.sh"],
        cwd=runner.workspace,
        env=runner.environment(inputs),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as running:
        assert select.select([reading], [], [], 60)[0], "the server was not started"
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    os.close(reading)
    lines = runner.files["GITHUB_OUTPUT"].read_text().splitlines()
    outputs = {name: value for name, _, value in (line.partition("=") for line in lines)}
    assert int(outputs["exit-status"]) > 1
    assert json.loads(Path(outputs["json"]).read_text())["complete"] is False


@pytest.mark.slow
def test_the_action_installs_itself_and_nothing_else_is_changed(tmp_path: Path) -> None:
    runner = Runner(tmp_path, None)
    inputs = {"PYTHON": sys.executable, "INPUT_VERSION": ""}
    done = subprocess.run(
        [ROOT / "ci" / "install-action.sh"], env=runner.environment(inputs), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.strip() == f"mcp-conform {__version__}"
    venv = Path(runner.files["GITHUB_OUTPUT"].read_text().strip().removeprefix("venv="))
    assert list(runner.temporary.iterdir()) == [venv]
    assert (venv / "bin" / "mcp-conform").exists()


@pytest.mark.parametrize("text", ["latest", "1 --index-url x", "1.0\n--index-url x", "-e .", "1.0; touch x", "$(x)"])
def test_what_is_no_version_is_not_installed(text: str, tmp_path: Path) -> None:
    job = Runner(tmp_path, None).run(version=text)
    assert job.statuses == [2]
    assert "not a version" in job.log
    assert job.uploaded == []


# --- the others ----------------------------------------------------------------------------------------------------


def gitlab(**inputs: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """The head and the job of the template, with the inputs pasted into its text as GitLab does."""
    text = (ROOT / "ci" / "gitlab.yml").read_text("utf-8")
    head = next(iter(yaml.safe_load_all(text)))
    values = {name: str(what["default"]) for name, what in head["spec"]["inputs"].items()}
    assert not set(inputs) - set(values)
    filled = re.sub(r"\$\[\[ inputs\.(\S+) \]\]", lambda found: {**values, **inputs}[found[1]], text)
    _, job = yaml.safe_load_all(filled)
    return head, job


def gitlab_script(job: Mapping[str, Any]) -> str:
    return "\n".join(job["mcp-conform"]["script"])


def run_gitlab(folder: Path, venv: Path, **inputs: str) -> subprocess.CompletedProcess[str]:
    """Run the script of the job. No variable is expanded by GitLab, so what it gets is what the file says."""
    _, job = gitlab(**inputs)
    variables = job["mcp-conform"]["variables"]
    assert all(variable["expand"] is False for variable in variables.values())
    (folder / ".mcp-conform").symlink_to(venv)
    return subprocess.run(
        ["sh", "-e", "-c", gitlab_script(job)],
        cwd=folder,
        env={**os.environ, **{name: variable["value"] for name, variable in variables.items()}},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_gitlab_job_tests_a_server_and_keeps_the_reports(venv: Path, tmp_path: Path) -> None:
    done = run_gitlab(tmp_path, venv, server=FAULTY, revision="2025-11-25 newest", args=SMALL)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "--revision=2025-11-25" in given(venv)
    artifacts = gitlab()[1]["mcp-conform"]["artifacts"]
    assert artifacts["when"] == "always"
    assert ET.parse(tmp_path / artifacts["reports"]["junit"]).getroot().find(".//failure") is not None
    assert [path for path in artifacts["paths"] if not (tmp_path / path).is_dir()] == []


@pytest.mark.parametrize("text", [text for text in HOSTILE.values() if "\n" not in text])
def test_an_input_of_the_gitlab_job_reaches_the_command_line_as_it_is(text: str, venv: Path, tmp_path: Path) -> None:
    run_gitlab(tmp_path, venv, server=text, config=text, url=text, baseline=text)
    passed = [f"--{name}={text}" for name in ("server", "url", "config", "baseline")]
    assert [word for word in given(venv) if word in passed] == passed
    assert {path.name for path in tmp_path.iterdir()} == {".mcp-conform", "mcp-conform-reports"}


def jenkins() -> list[str]:
    """The scripts of the Jenkinsfile, as the shell gets them."""
    text = (ROOT / "ci" / "Jenkinsfile").read_text("utf-8")
    return [script.replace("\\\\", "\\") for script in re.findall(r"sh '''\n(.*?)'''", text, re.S)]


def test_the_jenkinsfile_tests_a_server_and_keeps_the_reports(venv: Path, tmp_path: Path) -> None:
    text = (ROOT / "ci" / "Jenkinsfile").read_text("utf-8")
    _, script = jenkins()
    (tmp_path / ".mcp-conform").symlink_to(venv)
    # It has no place for further options.
    (tmp_path / "mcp-conform.yaml").write_text("only: [tools/call-each]\ncall-tools: all\n")
    environment = {**os.environ, "SERVER": FAULTY}
    done = subprocess.run(
        ["sh", "-xe", "-c", script], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 1, done.stdout + done.stderr
    for kept in re.findall(r"(?:testResults|artifacts): '(.*?)'", text):
        assert list(tmp_path.glob(kept)), kept
    assert [text.count(one) for one in "{}()"] == [text.count(one) for one in "}{)("]


# --- the page ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.strip().split("\n")[0][:40])
def test_each_recipe_of_the_page_is_valid(block: str, tmp_path: Path) -> None:
    data = yaml.safe_load(block)
    file = tmp_path / "recipe.yml"
    file.write_text(block)
    if "jobs" in data:
        check("vendor.github-workflows", file)
    elif "repos" in data:
        done = tool("pre-commit", "validate-config", file)
        assert done.returncode == 0, done.stdout + done.stderr
    else:
        check("vendor.gitlab-ci", file)


def test_recipes_use_inputs_that_there_are() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))["inputs"]
    template = gitlab()[0]["spec"]["inputs"]
    steps = []
    for block in BLOCKS:
        data = yaml.safe_load(block)
        steps += [step for job in data.get("jobs", {}).values() for step in job["steps"]]
        for entry in data.get("include", []):
            assert set(entry["inputs"]) <= set(template)
    ours = [step for step in steps if step.get("uses", "").startswith("OWNER/mcp-conform@")]
    assert ours
    assert [name for step in ours for name in step["with"] if name not in action] == []


def test_the_page_names_each_input() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
    named = set(re.findall(r"^\| `([\w-]+)` \|", PAGE, re.M))
    assert named == set(action["inputs"]) | set(action["outputs"])
