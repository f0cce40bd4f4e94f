"""Runs the steps of `action.yml` as the runner of GitHub does, as far as they need it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
FILES = ("GITHUB_ENV", "GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STATE", "GITHUB_STEP_SUMMARY")
"""Files through which a step speaks to the runner."""

STAND_IN = """\
#!{python}
import json, os, sys
with open({record!r}, "a") as record:
    print(json.dumps(sys.argv[1:]), file=record)
os.execv(sys.executable, [sys.executable, "-m", "conformance", *sys.argv[1:]])
"""


def installed(folder: Path) -> Path:
    """A folder that looks like a virtual environment with `mcp-conform`, which also writes down its arguments.

    They are JSON lines in `arguments.jsonl` of the folder.
    """
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").symlink_to(sys.executable)
    tool = folder / "bin" / "mcp-conform"
    tool.write_text(STAND_IN.format(python=sys.executable, record=str(folder / "arguments.jsonl")))
    tool.chmod(0o755)
    return folder


@dataclass
class Job:
    """What a job with the action as its only step came to."""

    outputs: dict[str, str] = field(default_factory=dict)
    steps: dict[str, dict[str, str]] = field(default_factory=dict)
    """Id of a step → its outputs."""
    uploaded: list[dict[str, str]] = field(default_factory=list)
    """What each upload of an artifact was told."""
    statuses: list[int] = field(default_factory=list)
    """Of the steps that are scripts, in their order."""
    log: str = ""
    summary: str = ""
    cancelled: bool = False

    @property
    def failed(self) -> bool:
        return any(self.statuses)


class Runner:
    """A runner with its temporary folder, and a checkout in which it runs the action."""

    def __init__(self, folder: Path, venv: Path | None) -> None:
        """With `venv` nothing is installed: it is what the step `install` would have made."""
        self.temporary = folder / "runner temp"
        self.workspace = folder / "workspace"
        self.venv = venv
        self.temporary.mkdir(parents=True)
        self.workspace.mkdir()
        self.files = {name: folder / "commands" / name for name in FILES}
        (folder / "commands").mkdir()
        self.action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))

    def environment(self, more: Mapping[str, str]) -> dict[str, str]:
        """What a script of a step finds in its environment."""
        for file in self.files.values():
            file.write_text("")
        other = ("GITHUB_", "INPUT_", "PYTEST_")
        ours = {name: value for name, value in os.environ.items() if not name.startswith(other)}
        known = {"GITHUB_ACTIONS": "true", "GITHUB_ACTION_PATH": str(ROOT), "RUNNER_TEMP": str(self.temporary)}
        known |= {"RUNNER_OS": "Linux", **{name: str(file) for name, file in self.files.items()}}
        return {**ours, **known, **more}

    def run(self, *, cancelled: bool = False, **inputs: str) -> Job:
        """Run all steps; those that a job does that is cancelled during the step `run`, if it is `cancelled`.

        The names of inputs have `_` for `-`.
        """
        given = {name: str(what.get("default", "")) for name, what in self.action["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        assert set(given) == set(self.action["inputs"])
        job = Job()
        for step in self.action["runs"]["steps"]:
            if self._wanted(step.get("if"), job, given):
                self._step(step, job, given)
            job.cancelled |= cancelled and step.get("id") == "run"
        job.outputs = {name: self._filled(what["value"], job, given) for name, what in self.action["outputs"].items()}
        return job

    def _wanted(self, condition: str | None, job: Job, inputs: Mapping[str, str]) -> bool:
        terms = condition.split(" && ") if condition else []
        always = "always()" in terms
        for term in terms:
            if term != "always()":
                value, operator, empty = term.partition(" != ")
                assert (operator, empty) == (" != ", "''"), f"{term}: no condition that this runner knows"
                if not self._value(value, job, inputs):
                    return False
        return always or not (job.failed or job.cancelled)

    def _value(self, name: str, job: Job, inputs: Mapping[str, str]) -> str:
        kind, *rest = name.split(".")
        if kind == "inputs":
            return inputs[rest[0]]
        assert kind == "steps" and rest[1] == "outputs", f"{name}: nothing that this runner knows"
        assert rest[0] in [step.get("id") for step in self.action["runs"]["steps"]], f"{name}: there is no such step"
        return job.steps.get(rest[0], {}).get(rest[2], "")

    def _filled(self, text: object, job: Job, inputs: Mapping[str, str]) -> str:
        return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: self._value(found[1], job, inputs), str(text))

    def _step(self, step: Mapping[str, Any], job: Job, inputs: Mapping[str, str]) -> None:
        name = step.get("id", "")
        told = {key: self._filled(value, job, inputs) for key, value in step.get("with", {}).items()}
        if "uses" in step:
            used = step["uses"].partition("@")[0]
            if used == "actions/setup-python":
                job.steps[name] = {"python-path": sys.executable}
            else:
                assert used == "actions/upload-artifact"
                job.uploaded.append(told | {"statuses so far": str(job.statuses)})
            return
        if name == "install" and self.venv:
            job.steps[name] = {"venv": str(self.venv)}
            return
        assert "${{" not in step["run"], "what is filled in there would be read as shell code"
        values = {key: self._filled(value, job, inputs) for key, value in step.get("env", {}).items()}
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.workspace,
            env=self.environment(values),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        job.log += done.stdout
        job.statuses.append(done.returncode)
        lines = self.files["GITHUB_OUTPUT"].read_text().splitlines()
        job.steps[name] = {key: value for key, _, value in (line.partition("=") for line in lines)}
        job.summary += self.files["GITHUB_STEP_SUMMARY"].read_text()
