"""`--time-limit`: a run ends in order, with what was learned."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fronts import said

from conformance.engine.time_limit import PLAYING, TimeLimit

REFERENCE = [sys.executable, "-m", "conformance.reference"]
SILENT = [sys.executable, "-c", "import sys; sys.stdin.read()"]
HTTP = ["--transport", "http", "--port", "{port}"]


def conform(folder: Path, server: list[str], *options: str) -> tuple[dict[str, Any], subprocess.CompletedProcess[str]]:
    """The report and what was printed."""
    file = folder / "report.json"
    command = [sys.executable, "-m", "conformance", "--server", shlex.join(server), "--json", str(file), *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    return json.loads(file.read_text()), done


@pytest.mark.parametrize("transport", ["stdio", "http"])
def test_what_was_learned_until_then_is_reported_and_the_rest_is_inconclusive(transport: str, tmp_path: Path) -> None:
    more = ["--url", "http://127.0.0.1:{port}/mcp"] if transport == "http" else []
    server = [*REFERENCE, *HTTP] if transport == "http" else REFERENCE
    report, done = conform(tmp_path, server, *more, "--revision", "all", "--jobs", "1", "--time-limit", "12")
    assert done.returncode == report["exit"] == 3, done.stdout
    assert report["problem"] == "not all could be tested: the time limit of 12 s was reached"
    assert report["counts"]["passed"] > 0
    reasons = {judged["reason"] for run in report["runs"] for judged in run["verdicts"]}
    assert "out of time: the time limit of 12 s was reached" in reasons
    assert report["counts"]["blocked"] == 0
    assert report["counts"]["failed"] == report["counts"]["broken"] == 0, done.stdout
    assert not report["complete"]
    assert "Interrupted" not in done.stdout
    assert said(done.stderr) == ""


def test_a_finding_within_the_limit_is_confirmed_and_fails_the_run(tmp_path: Path) -> None:
    server = [*REFERENCE, "--fault", "version-member-number"]
    report, done = conform(tmp_path, server, "--revision", "all", "--jobs", "1", "--time-limit", "16")
    assert done.returncode == 1, done.stdout
    assert report["problem"].endswith("the time limit of 16 s was reached")
    findings = [f for run in report["runs"] for judged in run["verdicts"] for f in judged["findings"]]
    assert any(finding["confirmed"] for finding in findings)


def test_a_server_that_says_nothing_is_not_waited_for_any_longer(tmp_path: Path) -> None:
    report, done = conform(tmp_path, SILENT, "--time-limit", "1")
    assert done.returncode == 3
    assert report["problem"] == "not all could be tested: the time limit of 1 s was reached"
    assert "Not all could be tested: the time limit of 1 s was reached" in done.stdout


def test_a_limit_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    report, done = conform(tmp_path, REFERENCE, "--only", "lifecycle/ping*", "--time-limit", "1000")
    assert done.returncode == 0
    assert report["complete"] is True
    assert "problem" not in report


def test_each_server_of_a_client_configuration_may_have_a_limit_of_its_own(tmp_path: Path) -> None:
    config, file = tmp_path / "mcp.json", tmp_path / "report.json"
    sound = {"command": REFERENCE[0], "args": REFERENCE[1:]}
    config.write_text(json.dumps({"mcpServers": {"a": {"command": SILENT[0], "args": SILENT[1:]}, "b": sound}}))
    command = [sys.executable, "-m", "conformance", "--config", str(config), "--json", str(file)]
    command += ["--only", "lifecycle/ping", "--revision", "2025-11-25", "--server-time-limit", "8"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(file.read_text())
    assert done.returncode == 3
    assert list(report["problems"]) == ["a"]
    assert report["problems"]["a"] == "not all could be tested: the time limit of 8 s was reached"
    assert [run["name"] for run in report["runs"]] == ["b"]
    assert report["counts"]["passed"] > 0


def test_a_client_configuration_has_one_limit_for_all_its_servers(tmp_path: Path) -> None:
    silent = {"command": SILENT[0], "args": SILENT[1:]}
    config = tmp_path / "mcp.json"
    config.write_text(json.dumps({"mcpServers": {"a": silent, "b": silent}}))
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "conformance", "--config", str(config), "--json", str(file), "--time-limit", "2"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    report = json.loads(file.read_text())
    assert done.returncode == 3
    assert set(report["problems"]) == {"a", "b"}
    assert all("the time limit of 2 s was reached" in why for why in report["problems"].values())


def test_cases_are_begun_for_a_part_of_the_time_only(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    limit = TimeLimit(40.0)
    limit.begin()
    now += 40.0 * PLAYING - 0.5
    limit.begin()  # again, by the next server
    assert (limit.forbids(), limit.reached) == (False, False)
    now += 1.0
    assert (limit.forbids(), limit.reached) == (True, True)
    assert limit.left() == 40.0 * (1 - PLAYING) - 0.5
