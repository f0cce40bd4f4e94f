"""Reports for pipelines, through the front door: each is read by those who read it, whatever the run came to."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import fronts
import pytest
from github_runner import commands
from readers import read_annotations, read_badge, read_junit, read_markdown, read_sarif
from servers import hostile_text, signals_parent

OWNED = hostile_text.OWNED
FAULTY = f"{fronts.SERVER} --fault structured-content-wrong"
CURSOR = str(Path(__file__).resolve().parent / "configs" / "cursor" / ".cursor" / "mcp.json")
FILES = ("r.xml", "r.sarif", "r.md", "b.json", "b.svg")
REPORTS = ["--junit", "r.xml", "--sarif", "r.sarif", "--markdown", "r.md", "--badge", "b.svg"]
HOSTILE = ["--server", f"{sys.executable} {hostile_text.__file__} rude", "--revision", "2025-11-25", "--fuzz", "5"]
FEW = [word for name in ("tools/list", "tools/call-each", "lifecycle/opening", "prompts") for word in ("--only", name)]

RUNS: dict[str, tuple[list[str], int]] = {
    "a server with findings": (["--server", FAULTY, "--call-tools", "all", "--quick"], 1),
    "a sound server": (["--server", fronts.SERVER, "--only", "jsonrpc", "--quick"], 0),
    "several servers": (
        [
            "--config",
            CURSOR,
            "--only",
            "jsonrpc/unknown-method-refused",
            "--fuzz",
            "0",
        ],
        1,
    ),
    "no server": (["--server", f"{sys.executable} -c ''"], 3),
    "an interrupted run": (["--server", f"{sys.executable} {signals_parent.__file__} SIGINT 1 12 .", "--jobs", "1"], 3),
    "a hostile server": ([*HOSTILE, *FEW], 1),
    "a hostile server that dies": (["--server", f"{sys.executable} {hostile_text.__file__} dies"], 3),
}


class Ran:
    """A run in a step of GitHub Actions, and all that it wrote."""

    def __init__(self, folder: Path, name: str) -> None:
        words, status = RUNS[name]
        self.folder, self.summary = folder, folder / "summary.md"
        self.summary.write_text("# of another command\n")
        environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(self.summary)}
        done = fronts.conform(*words, *REPORTS, cwd=folder, env=environment, timeout=300)
        assert done.returncode == status, done.stdout + done.stderr
        self.output, self.stderr = done.stdout + done.stderr, done.stderr

    def __getitem__(self, file: str) -> str:
        return (self.folder / file).read_bytes().decode("utf-8")


@pytest.fixture(scope="module", params=RUNS)
def ran(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return Ran(tmp_path_factory.mktemp("run"), request.param)


def test_every_reader_reads_its_report(ran: Ran) -> None:
    junit, sarif = read_junit(ran["r.xml"]), read_sarif(ran["r.sarif"])
    code = read_markdown(ran["r.md"], OWNED)
    message, colour = read_badge(ran["b.svg"])
    annotations = read_annotations(ran.output)
    violations = sum(result["level"] == "error" for result in sarif["results"])
    errors = [annotation for annotation in annotations if annotation.name == "error"]
    if sarif["invocations"][0]["exitCode"] == 0:
        assert (junit.failures, junit.errors, violations, errors) == (0, 0, 0, [])
        assert ran["r.md"].startswith("## ✅ mcp-conform: conforms in what was asked for\n")
    else:
        assert junit.failures + junit.errors > 0
        assert errors
        assert colour != "#2a7e19" and "conforms" not in message
        assert not ran["r.md"].startswith("## ✅")
    for result in sarif["results"]:
        assert result["ruleId"] in ran["r.md"] and result["ruleId"] in ran["r.xml"]
    assert code


def test_the_summary_of_the_step_is_the_report_after_what_others_wrote(ran: Ran) -> None:
    assert ran["summary.md"] == f"# of another command\n\n{ran['r.md']}\n"


def test_a_badge_of_a_part_is_never_green(ran: Ran) -> None:
    message, colour = read_badge(ran["b.svg"])
    assert colour in ("#c03524", "#6a6a6a")
    assert "conforms" not in message


# -- what is said by itself, and what is not


SOUND = ["--server", fronts.SERVER, "--only", "tools/list", "--revision", "newest", "--fuzz", "0"]
BROKEN = ["--server", FAULTY, "--only", "tools/call-each", "--call-tools", "all", "--revision", "newest", "--fuzz", "0"]


@pytest.mark.parametrize(
    ("environment", "words", "annotated"),
    [
        ({"GITHUB_ACTIONS": "true"}, [], True),
        ({"GITHUB_ACTIONS": "true"}, ["--format", "text"], False),
        ({}, ["--format", "github"], True),
        ({}, [], False),
        ({"GITHUB_ACTIONS": "false"}, [], False),
    ],
)
def test_annotations_are_written_in_github_actions_unless_the_user_says_otherwise(
    environment: dict[str, str], words: list[str], annotated: bool, tmp_path: Path
) -> None:
    done = fronts.conform(*BROKEN, *words, cwd=tmp_path, env=environment)
    assert done.returncode == 1
    found = read_annotations(done.stdout)
    assert [each.name for each in found if each.name == "error"] == ["error"] * annotated
    assert done.stdout.splitlines()[-1] == "Exit status 1: the server breaks the specification."
    if annotated:
        assert found[0].properties["title"].startswith("tools/structured-content-conforms (MUST")
        assert "the structuredContent of tool 'settings' breaks its outputSchema\nexpected: " in found[0].data
    assert list(tmp_path.iterdir()) == []


def test_a_hostile_server_commands_nothing_where_annotations_are_switched_off(tmp_path: Path) -> None:
    done = fronts.conform(*HOSTILE, *FEW, "--format", "text", "-v", cwd=tmp_path, env={"GITHUB_ACTIONS": "true"})
    assert done.returncode == 1
    assert OWNED in done.stdout
    assert read_annotations(done.stdout + done.stderr) == []


def test_a_hostile_server_commands_nothing_through_pytest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    server = f"{sys.executable} {hostile_text.__file__} rude"
    words = ["--mcp-server", server, "--mcp-revision", "2025-11-25", "--mcp-fuzz", "0", "--mcp-only", "tools/list"]
    done = fronts.as_a_user("pytest", *words, "-rA", "-v", "-p", "no:cacheprovider", "--color", "no", cwd=tmp_path)
    assert done.returncode == 1
    assert OWNED in done.stdout
    assert commands(done.stdout + done.stderr) == []


def test_annotations_and_results_point_to_the_file_that_describes_the_server(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    folder = tmp_path / "a, b: %"
    folder.mkdir()
    (folder / "mcp-conform.yaml").write_text(f"server: {FAULTY}\ncall-tools: all\n")
    words = ["--only", "tools/call-each", "--revision", "newest", "--fuzz", "0", "--sarif", "r.sarif"]
    done = fronts.conform(*words, "--format", "github", cwd=folder)
    assert done.returncode == 1, done.stderr
    assert read_annotations(done.stdout)[0].properties["file"] == "a, b: %/mcp-conform.yaml"
    result = read_sarif((folder / "r.sarif").read_text())["results"][0]
    place = result["locations"][0]["physicalLocation"]["artifactLocation"]
    assert place == {"uri": "a%2C%20b%3A%20%25/mcp-conform.yaml", "uriBaseId": "%SRCROOT%"}


def test_a_summary_that_cannot_be_written_is_told_and_fails_nothing(tmp_path: Path) -> None:
    done = fronts.conform(*SOUND, cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "file")})
    assert done.returncode == 0
    assert "GITHUB_STEP_SUMMARY" in done.stderr and "could not be written: No such file" in done.stderr


def test_a_summary_that_is_full_is_left_as_it_is(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_bytes(b"x" * (1024 * 1024 - 100))
    done = fronts.conform(*SOUND, cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert done.returncode == 0
    assert done.stderr == "mcp-conform: GITHUB_STEP_SUMMARY: the summary of this step is full; the report is left out\n"
    assert summary.stat().st_size == 1024 * 1024 - 100


def test_a_summary_that_is_asked_for_as_markdown_too_is_written_once(tmp_path: Path) -> None:
    summary = tmp_path / "summary.md"
    summary.write_text("of another\n")
    done = fronts.conform(*SOUND, "--markdown", summary, cwd=tmp_path, env={"GITHUB_STEP_SUMMARY": str(summary)})
    assert done.returncode == 0
    assert summary.read_text().startswith("of another\n\n## ")
    assert summary.read_text().count("mcp-conform: ") == 1


def test_a_badge_of_another_kind_is_refused(tmp_path: Path) -> None:
    done = fronts.conform(*SOUND, "--badge", "badge.png", cwd=tmp_path)
    message = "mcp-conform: --badge: badge.png must end in .json (for shields.io) or .svg (a picture)\n"
    assert (done.returncode, done.stderr) == (2, message)


@pytest.mark.slow
def test_a_server_that_was_tested_in_full_gets_a_green_badge(tmp_path: Path) -> None:
    words = ["--server", fronts.SERVER, "--call-tools", "all", "--revision", "2025-11-25", "--fuzz", "0"]
    done = fronts.conform(*words, "--badge", "b.json", "--junit", "r.xml", cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    assert read_badge((tmp_path / "b.json").read_text()) == ("2025-11-25 · conforms", "brightgreen")
    read_junit((tmp_path / "r.xml").read_text())


def test_two_runs_tell_the_same_names_and_fingerprints(tmp_path: Path) -> None:
    told: list[Any] = []
    for number in range(2):
        folder = tmp_path / str(number)
        folder.mkdir()
        words = [
            "--server",
            f"{FAULTY} --fault tools-empty-after-refusal --fault error-null",
            "--call-tools",
            "all",
            "--quick",
            "--revision",
            "all",
        ]
        fronts.conform(*words, *REPORTS, cwd=folder)
        run = read_sarif((folder / "r.sarif").read_text())
        prints = {(result["ruleId"], *result["partialFingerprints"].values()) for result in run["results"]}
        names = [(case.classname, case.name) for suite in read_junit((folder / "r.xml").read_text()) for case in suite]
        told.append((prints, sorted(names), run["automationDetails"]))
    assert told[0] == told[1]
    assert len(told[0][0]) >= 2


def test_a_summary_and_annotations_hold_no_secret(tmp_path: Path) -> None:
    secret = "sesame-72c1-open-94df"
    summary = tmp_path / "s.md"
    environment = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary), "DOOR_TOKEN": secret}
    server = f"{sys.executable} -c \"import os, sys; sys.exit(os.environ['DOOR_TOKEN'])\""
    done = fronts.conform("--server", server, *REPORTS, cwd=tmp_path, env=environment)
    assert done.returncode == 3
    everything = done.stdout + done.stderr + "".join(path.read_text() for path in tmp_path.iterdir())
    assert "***DOOR_TOKEN***" in summary.read_text() and "***DOOR_TOKEN***" in done.stdout
    assert secret not in everything


def test_a_reader_that_goes_away_is_no_failure_of_the_annotations(tmp_path: Path) -> None:
    shell = shutil.which("bash")
    assert shell is not None
    command = f"{sys.executable} -m conformance --server '{FAULTY}' --only tools/call-each --call-tools all --quick"
    script = f"set -o pipefail; {command} --format github | true"
    done = subprocess.run([shell, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert "Traceback" not in done.stderr
    assert "could not be written" not in done.stderr
