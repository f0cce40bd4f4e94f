"""Real servers: what mcp-conform finds in each is the reviewed list, no more and no less.

The lists are in findings/<name>.yaml. An entry has the requirement, its severity, and `why` it is a true finding, with
the specification's words. A finding outside the list is our bug until it is proven and entered; an entry that
no longer occurs must go.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REAL = ROOT / ".real"

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (REAL / "installed.json").exists(), reason="run tests/real/install.py first"),
]


@dataclass(frozen=True)
class Server:
    """A row of servers.yaml."""

    name: str
    transport: str
    command: list[str]
    eras: list[str]
    start: float
    url: str = ""
    env: dict[str, str] = field(default_factory=dict)
    network: bool = False

    def words(self) -> list[str]:
        """The options of mcp-conform that name this server."""
        filled = [
            w.replace("{real}", str(REAL)).replace("{servers}", str(ROOT / "tests/servers")) for w in self.command
        ]
        options = ["--server", " ".join(f"'{word}'" for word in filled)]
        if self.url:
            options += ["--url", self.url]
        for name, value in self.env.items():
            options += ["--env", f"{name}={value}"]
        # What a tool would fetch from elsewhere is not under test, and there may be no network.
        return [*options, "--call-tools", "none" if self.network else "safe"]


SERVERS = [Server(**row) for row in yaml.safe_load((HERE / "servers.yaml").read_text())]


def report_on(server: Server, tmp_path: Path) -> dict[str, Any]:
    """What the command line reports as JSON."""
    (REAL / "empty").mkdir(exist_ok=True)
    (REAL / "papers").mkdir(exist_ok=True)
    file = tmp_path / "report.json"
    command = [sys.executable, "-m", "conformance", *server.words(), "--json", str(file), "--start-timeout", "60"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900)
    assert file.exists(), done.stderr
    report: dict[str, Any] = json.loads(file.read_text())
    assert done.returncode == report["exit"], done.stdout[-2000:] + done.stderr[-2000:]
    return report


def found(report: dict[str, Any]) -> dict[str, str]:
    """Requirement → the worst severity with which it failed in any run."""
    worst: dict[str, str] = {}
    order = ["advice", "warning", "violation"]
    for run in report["runs"]:
        for verdict in run["verdicts"]:
            assert verdict["verdict"] != "broken", verdict
            if verdict["verdict"] == "failed":
                known = worst.get(verdict["requirement"], "advice")
                worst[verdict["requirement"]] = max(known, verdict["severity"], key=order.index)
    return worst


def reviewed(server: Server) -> dict[str, str]:
    """The reviewed findings: requirement → severity."""
    entries = yaml.safe_load((HERE / "findings" / f"{server.name}.yaml").read_text()) or []
    assert all(entry["why"].strip() for entry in entries)
    return {entry["requirement"]: entry["severity"] for entry in entries}


@pytest.mark.parametrize("server", SERVERS, ids=lambda server: server.name)
def test_a_real_server_has_the_reviewed_findings_and_no_other(server: Server, tmp_path: Path) -> None:
    if server.command[0] == "node" and shutil.which("node") is None:
        pytest.skip("node is not installed")
    report = report_on(server, tmp_path)
    assert sorted({run["era"] for run in report["runs"]}) == sorted(server.eras)
    assert found(report) == reviewed(server)


def test_there_is_a_list_for_each_server_and_no_other() -> None:
    names = {path.stem for path in (HERE / "findings").glob("*.yaml")}
    assert names == {server.name for server in SERVERS}
