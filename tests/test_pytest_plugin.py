"""The second front: pytest reports what the command line reports, from the same engine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest
from test_matrix import REFERENCE, Fault, faults
from typer.testing import CliRunner

from conformance.checks import checks
from conformance.cli import app

REVISION = "2025-11-25"
TIMEOUT = "3"
"""Seconds; short, since some faults are about silence."""
SERVER = " ".join(REFERENCE)

LONG = ("elicitation", "sampling", "roots", "tasks", "cancellation", "progress", "discovery", "completion")
"""Areas whose rules the cases with the most processes may be needed for; they are left out for the others."""

Start = Callable[..., object]
"""Called with the module of a front, its arguments, and `cwd`."""


def as_a_user(module: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    """One of the fronts in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
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


def test_both_fronts_say_the_same_of_the_correct_server(tmp_path: Path) -> None:
    said = by_command_line(tmp_path, SERVER, start=as_a_user)
    assert said == by_pytest(tmp_path, SERVER, start=as_a_user)
    assert set(said.values()) == {"passed", "skipped"}


def shown_here() -> list[Fault]:
    """Faults whose own requirement is checked, over stdio in the revision of these tests."""
    return [
        fault
        for fault in faults()
        if fault.requirements[0] in checks() and REVISION in fault.revisions and "stdio" in fault.transports
    ]


@pytest.mark.matrix
@pytest.mark.parametrize("fault", shown_here(), ids=lambda fault: fault.name)
def test_both_fronts_say_the_same_of_a_faulty_server(fault: Fault, tmp_path: Path) -> None:
    server = f"{SERVER} --fault {fault.name}"
    words = ["--only", fault.requirements[0]]
    if fault.requirements[0].split("/")[0] not in LONG:
        words += ["--skip", "asking", "--skip", "tasks", "--skip", "fuzz"]
    said = by_command_line(tmp_path, server, *words, start=here)
    assert said == by_pytest(tmp_path, server, *words, start=here)


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
