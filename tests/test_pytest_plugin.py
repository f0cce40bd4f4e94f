"""The second front: pytest reports what the command line reports, from the same engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fronts import REVISION, SERVER, as_a_user, by_command_line, by_pytest


def test_both_fronts_say_the_same_of_the_correct_server(tmp_path: Path) -> None:
    said = by_command_line(tmp_path, SERVER, start=as_a_user)
    assert said == by_pytest(tmp_path, SERVER, start=as_a_user)
    assert set(said.values()) == {"passed", "skipped"}


def test_a_violation_is_a_failed_test_that_shows_the_finding_without_a_traceback(tmp_path: Path) -> None:
    done = as_a_user("pytest", "--mcp-server", f"{SERVER} --fault version-member-number", "--mcp-revision", REVISION,
               "--mcp-only", "jsonrpc/version-member", "-p", "no:cacheprovider", cwd=tmp_path)  # fmt: skip
    assert done.returncode == 1
    assert "jsonrpc/version-member" in done.stdout
    assert "Traceback" not in done.stdout


def test_the_plugin_stays_out_of_a_run_without_its_options(tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    done = as_a_user("pytest", "-p", "no:cacheprovider", cwd=tmp_path)
    assert "1 passed" in done.stdout


def test_a_server_that_does_not_exist_is_wrong_use(tmp_path: Path) -> None:
    done = as_a_user("pytest", "--mcp-server", "no-such-command", "-p", "no:cacheprovider", cwd=tmp_path)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert "no-such-command" in done.stdout + done.stderr


def test_a_report_of_the_command_line_is_json_of_version_1(tmp_path: Path) -> None:
    as_a_user("conformance", "--server", SERVER, "--only", "lifecycle", "--json", "report.json", cwd=tmp_path)
    assert json.loads((tmp_path / "report.json").read_text())["report"] == 1
