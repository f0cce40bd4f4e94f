"""The servers of servers.yaml: how each is started, what mcp-conform reports on it, and its reviewed findings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REAL = ROOT / ".real"

Found = dict[str, str]
"""Requirement → severity."""


@dataclass(frozen=True)
class Server:
    """A row of servers.yaml."""

    name: str
    transport: str
    command: list[str]
    eras: list[str]
    start: float | None = None
    url: str = ""
    env: dict[str, str] = field(default_factory=dict)
    network: bool = False
    call: list[str] = field(default_factory=list)
    options: list[str] = field(default_factory=list)
    given: dict[str, str] = field(default_factory=dict)

    def words(self, scratch: Path) -> list[str]:
        """The options of mcp-conform that name this server; it is started in `scratch` and may write there only."""

        def filled(word: str) -> str:
            for name, place in (("real", REAL), ("servers", ROOT / "tests/servers"), ("scratch", scratch)):
                word = word.replace("{" + name + "}", str(place))
            return word

        options = ["--server", " ".join(f"'{filled(word)}'" for word in self.command), "--cwd", str(scratch)]
        if self.url:
            options += ["--url", self.url]
        for name, value in {"HOME": "{scratch}", **self.env}.items():
            options += ["--env", f"{name}={filled(value)}"]
        for tool in self.call:
            options += ["--call-tool", tool]
        # What a tool would fetch from elsewhere is not under test, and there may be no network.
        return [*options, *self.options, "--call-tools", "none" if self.network else "safe"]


SERVERS = [Server(**row) for row in yaml.safe_load((HERE / "servers.yaml").read_text())]


def prepare(scratch: Path) -> None:
    """Put into `scratch` what servers.yaml says is there: a git repository with one commit."""
    repository = scratch / "repository"
    repository.mkdir(parents=True)
    (repository / "README").write_text("A file to have something to commit.\n")
    who = ["-c", "user.name=nobody", "-c", "user.email=nobody@example.com"]
    for words in (["init", "--quiet"], ["add", "README"], [*who, "commit", "--quiet", "--message", "Add a file"]):
        subprocess.run(["git", "-C", str(repository), *words], check=True)


def report_on(server: Server, folder: Path, *options: str, usual: bool = False) -> dict[str, Any]:
    """What the command line reports as JSON, with `options` besides its own; `folder` must be empty.

    Of all revisions, or those that are tested if none is named (`usual`).
    """
    (REAL / "empty").mkdir(exist_ok=True)
    (REAL / "papers").mkdir(exist_ok=True)
    scratch = folder / "scratch"
    prepare(scratch)
    file = folder / "report.json"
    command = [sys.executable, "-m", "conformance", *server.words(scratch), "--json", str(file)]
    command += ["--start-timeout", "60", *([] if usual else ["--revision", "all"]), *options]
    environment = {**os.environ, **server.given}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, errors="replace", timeout=900
    )
    assert file.exists(), done.stderr
    report: dict[str, Any] = json.loads(file.read_text())
    assert done.returncode == report["exit"], done.stdout[-2000:] + done.stderr[-2000:]
    return report


def found(report: dict[str, Any]) -> Found:
    """Requirement → the worst severity with which it failed in any run."""
    worst: Found = {}
    order = ["advice", "warning", "violation"]
    for run in report["runs"]:
        for verdict in run["verdicts"]:
            assert verdict["verdict"] != "broken", verdict
            if verdict["verdict"] == "failed":
                known = worst.get(verdict["requirement"], "advice")
                worst[verdict["requirement"]] = max(known, verdict["severity"], key=order.index)
    return worst


def reviewed(server: Server, report: dict[str, Any]) -> Found:
    """The reviewed findings: requirement → severity; one that comes `sometimes`, in a race, only if it came so."""
    entries = yaml.safe_load((HERE / "findings" / f"{server.name}.yaml").read_text()) or []
    assert all(entry["why"].strip() for entry in entries)
    came = found(report)
    return {
        entry["requirement"]: entry["severity"]
        for entry in entries
        if not entry.get("sometimes") or came.get(entry["requirement"]) == entry["severity"]
    }
