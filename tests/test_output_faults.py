"""A full disk, closed descriptors, a report that cannot be written: one sentence, status 3, the rest kept."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from fronts import SERVER, said

ME = f"{sys.executable} -m conformance"
RUN = f"{ME} --server {shlex.quote(SERVER)} --only lifecycle/ping --revision 2025-11-25 --json report.json"
FULL = "No space left on device"


def shell(line: str, folder: Path) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a command line in a folder."""
    done = subprocess.run(["sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout, said(done.stderr)


def complete(folder: Path) -> bool:
    """Whether the JSON report is there, of a whole run."""
    return json.loads((folder / "report.json").read_text())["complete"] is True


@pytest.mark.parametrize(("where", "why"), [("> /dev/full", FULL), (">&-", "it is closed")], ids=["full", "closed"])
def test_a_stdout_that_takes_nothing_leaves_the_other_reports(where: str, why: str, tmp_path: Path) -> None:
    status, _, stderr = shell(f"{RUN} --junit junit.xml {where}", tmp_path)
    assert (status, stderr) == (3, f"mcp-conform: the report on stdout could not be written: {why}\n")
    assert complete(tmp_path)
    assert (tmp_path / "junit.xml").exists()


@pytest.mark.parametrize("where", ["2> /dev/full", "2>&-", "<&-"])
def test_a_stderr_or_stdin_that_is_of_no_use_changes_nothing(where: str, tmp_path: Path) -> None:
    status, stdout, stderr = shell(f"{RUN} {where}", tmp_path)
    assert (status, stderr) == (0, "")
    assert "Exit status 0" in stdout
    assert complete(tmp_path)


def test_with_all_descriptors_closed_the_report_is_whole_and_no_stream_is_in_it(tmp_path: Path) -> None:
    status, stdout, stderr = shell(f"{RUN} <&- >&- 2>&-", tmp_path)
    assert (status, stdout, stderr) == (3, "", "")
    assert complete(tmp_path)


@pytest.mark.parametrize("option", ["--junit", "--trace", "--snapshot"])
def test_a_report_that_does_not_fit_on_the_disk_does_not_take_the_others(option: str, tmp_path: Path) -> None:
    status, stdout, stderr = shell(f"{RUN} {option} /dev/full", tmp_path)
    assert (status, stderr) == (3, f"mcp-conform: {option}: /dev/full could not be written: {FULL}\n")
    assert stdout.endswith("Exit status 3: not every report could be written.\n")
    assert complete(tmp_path)


def test_a_file_system_that_limits_files_does_not_take_the_terminal_report(tmp_path: Path) -> None:
    status, stdout, stderr = shell(f"ulimit -f 1; {RUN}", tmp_path)
    assert status == 3
    assert stderr == "mcp-conform: --json: report.json could not be written: File too large\n"
    assert " passed" in stdout
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_goes_away_during_the_run_costs_only_the_reports_in_it(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    server = f"sh -c 'rmdir {gone}; exec {SERVER}'"
    options = f"--server {shlex.quote(server)} --only lifecycle/ping --revision 2025-11-25"
    status, stdout, stderr = shell(f"{ME} {options} --junit gone/x.xml --json report.json", tmp_path)
    assert status == 3
    assert stderr == "mcp-conform: --junit: gone/x.xml could not be written: No such file or directory\n"
    assert " passed" in stdout
    assert complete(tmp_path)


@pytest.mark.parametrize(
    "words",
    [("list",), ("explain", "target-file"), ("--help",), ("--version",), ("demo", "--list-faults")],
    ids=lambda words: " ".join(words),
)
def test_a_command_whose_output_is_lost_is_no_success(words: Sequence[str], tmp_path: Path) -> None:
    for where, why in ((">/dev/full", FULL), (">&-", "it is closed")):
        status, _, stderr = shell(f"{ME} {' '.join(words)} {where}", tmp_path)
        assert (status, stderr) == (3, f"mcp-conform: stdout could not be written: {why}\n")


@pytest.mark.parametrize("where", ["2>/dev/full", "2>&-"])
def test_wrong_use_is_status_2_even_if_nobody_can_be_told(where: str, tmp_path: Path) -> None:
    assert shell(f"{ME} {where}", tmp_path)[0] == 2
    assert shell(f"{ME} --no-such-option {where}", tmp_path)[0] == 2


def test_no_report_is_touched_before_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("as it was")
    server = f"sh -c 'ls -A {tmp_path} > {tmp_path}/seen; exec {SERVER}'"
    line = f"{ME} --server {shlex.quote(server)} --only lifecycle/ping --revision 2025-11-25 --json report.json"
    assert shell(line, tmp_path)[0] == 0
    assert (tmp_path / "seen").read_text() == "report.json\nseen\n"
    assert complete(tmp_path)


@pytest.mark.parametrize("option", ["--json", "--junit", "--trace"])
def test_a_dash_is_stdout_and_all_else_goes_to_stderr(option: str, tmp_path: Path) -> None:
    status, stdout, stderr = shell(f"{RUN.removesuffix(' --json report.json')} {option} -", tmp_path)
    assert status == 0
    assert "Exit status 0" in stderr and "Exit status" not in stdout
    if option == "--junit":
        assert ElementTree.fromstring(stdout).tag == "testsuites"
    elif option == "--json":
        assert json.loads(stdout)["exit"] == 0
    else:
        assert all(json.loads(line)["revision"] == "2025-11-25" for line in stdout.splitlines())
    assert list(tmp_path.iterdir()) == []


def test_a_stdout_that_takes_no_report_is_told(tmp_path: Path) -> None:
    status, _, stderr = shell(f"{RUN} --junit - > /dev/full", tmp_path)
    assert status == 3
    assert stderr.endswith(f"mcp-conform: --junit: - could not be written: {FULL}\n")
    assert complete(tmp_path)


def test_two_reports_cannot_go_to_stdout(tmp_path: Path) -> None:
    status, stdout, stderr = shell(f"{ME} --server x --junit - --json -", tmp_path)
    assert (status, stdout, stderr) == (2, "", "mcp-conform: two reports cannot go to the same file\n")
