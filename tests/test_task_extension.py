"""Servers with the tasks extension that make other use of what it allows are not blamed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from servers.task_server import MODES

SERVER = Path(__file__).resolve().parent / "servers" / "task_server.py"


def judged(mode: str, folder: Path) -> dict[str, Any]:
    """What the suite says of the rules about tasks, by requirement."""
    file = folder / "report.json"
    server = f"{sys.executable} {SERVER} {mode}"
    command = [sys.executable, "-m", "conformance", "--server", server, "--json", str(file), "--fuzz", "0"]
    subprocess.run([*command, "--only", "tasks", "--only", "jsonrpc"], capture_output=True, text=True, timeout=300)
    (run,) = json.loads(file.read_text())["runs"]
    return {each["requirement"]: each for each in run["verdicts"]}


@pytest.mark.parametrize("mode", MODES)
def test_a_server_that_uses_its_freedom_has_no_violation(mode: str, tmp_path: Path) -> None:
    found = {name: each["severity"] for name, each in judged(mode, tmp_path).items() if each["severity"]}
    assert found == FOUND.get(mode, {})


FOUND = {
    # What it lacks is optional as long as nothing asks for input; a rule that says SHOULD speaks of it all the same.
    "no-update": {"tasks/update-and-cancel-unknown-id-refused": "warning"},
    # Two examples of the page show what its text forbids.
    "old-examples": {"tasks/method-results-are-complete": "warning"},
}


def test_what_a_server_never_does_is_not_put_to_the_test(tmp_path: Path) -> None:
    found = judged("never", tmp_path)
    assert found["tasks/methods-need-capability"]["verdict"] == "inconclusive"
    assert found["tasks/flat-task-shape"]["verdict"] == "inconclusive"
    assert found["tasks/legacy-result-method-removed"]["verdict"] == "passed"
