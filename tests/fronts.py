"""Both fronts, run on the reference server: what each says of it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from conformance.cli.main import app

REVISION = "2025-11-25"
TIMEOUT = "3"
"""Seconds; short, since some faults are about silence."""
SERVER = f"{sys.executable} -m conformance.reference"

Start = Callable[..., object]
"""Called with the module of a front, its arguments, and `cwd`."""


def conform(
    *arguments: object,
    cwd: Path | None = None,
    timeout: float = 300,
    env: Mapping[str, str] | None = None,
    given: str | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run `mcp-conform`, with `env` added to the environment and `given` on stdin."""
    command = [sys.executable, "-m", "conformance", *map(str, arguments)]
    everything = {**os.environ, **(env or {})}
    return subprocess.run(
        command, cwd=cwd, env=everything, capture_output=True, text=True, timeout=timeout, input=given
    )


def said(stderr: str) -> str:
    """`stderr` without the lines that say every ten seconds how far a run has come."""
    return re.sub(r"(?m)^mcp-conform: (starting the server|testing).* \(\d+ s\)\n", "", stderr)


def as_a_user(module: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One of the fronts in a process of its own."""
    left_out = ("PYTEST_", "CI", "BUILD_NUMBER")  # with the last two, pytest says everything twice, in its summary too
    environment = {name: value for name, value in os.environ.items() if not name.startswith(left_out)}
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300)


def here(module: str, *arguments: str, cwd: Path) -> object:
    """One of the fronts in this process, which spares the imports: for hundreds of runs."""
    if module == "conformance":
        return CliRunner().invoke(app, [str(word) for word in arguments], catch_exceptions=False)
    return pytest.main([*arguments, "-p", "no:xdist", "--rootdir", str(cwd), "-c", os.devnull, str(cwd)])


def outcomes(file: Path) -> dict[str, str]:
    """Requirement id → passed, failed, skipped or error, out of a JUnit file of either front."""
    found = {}
    for case in ET.parse(file).getroot().iter("testcase"):
        name = case.attrib["name"].rpartition("::")[2]
        told = [child.tag for child in case if child.tag in ("failure", "skipped", "error")]
        found[name] = {"failure": "failed"}.get(told[0], told[0]) if told else "passed"
    return found


def by_command_line(folder: Path, server: str, *words: str, start: Start) -> dict[str, str]:
    """What the command line says."""
    file = folder / "cli.xml"
    arguments = ["--server", server, "--call-tools", "all", "--revision", REVISION, "--timeout", TIMEOUT]
    arguments += ["--junit", str(file)]
    start("conformance", *arguments, *words, cwd=folder)
    return outcomes(file)


def by_pytest(folder: Path, server: str, *words: str, start: Start) -> dict[str, str]:
    """What pytest says."""
    file = folder / "pytest.xml"
    arguments = ["--mcp-server", server, "--mcp-call-tools", "all", "--mcp-revision", REVISION]
    arguments += ["--mcp-timeout", TIMEOUT]
    arguments += [word.replace("--", "--mcp-") for word in words]
    start("pytest", *arguments, "-p", "no:cacheprovider", "--junit-xml", str(file), cwd=folder)
    return outcomes(file)
