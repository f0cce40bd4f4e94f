"""What servers that ask for input may do: the command line against ones that use their freedom."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SINGLE_USE = Path(__file__).resolve().parent / "servers" / "single_use.py"


def test_a_server_whose_states_are_good_for_one_retry_breaks_no_rule(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "conformance", "--server", f"{sys.executable} {SINGLE_USE}", "--json", str(file)]
    command += ["--fuzz", "0", "--revision", "2026-07-28", "--call-tools", "all", "--only", "input-required"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    (run,) = json.loads(file.read_text())["runs"]
    verdicts = {each["requirement"]: each["verdict"] for each in run["verdicts"]}
    assert [name for name, verdict in verdicts.items() if verdict == "failed"] == [], done.stdout
    for rule in ("retry-self-contained", "unexpected-responses-ignored", "missing-responses-asked-again"):
        assert verdicts[f"input-required/{rule}"] == "passed"
