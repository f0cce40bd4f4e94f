"""What a report says first: the cause, what was found first, and what was left out."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from fronts import SERVER

BAD = Path(__file__).resolve().parent / "bad_servers.py"
SHORT = ("--revision", "2025-11-25", "--fuzz", "0")


def ran(server: str, folder: Path, *options: str) -> tuple[str, dict[str, Any]]:
    """What was printed, and the only run of the JSON report."""
    path = folder / "report.json"
    command = [sys.executable, "-m", "conformance", "--server", server, *SHORT, *options, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    (run,) = json.loads(path.read_text())["runs"]
    return done.stdout, run


def bad(name: str) -> str:
    """The command of a bad server."""
    return f"{sys.executable} {BAD} {name}"


def test_what_was_found_in_the_opening_is_told_before_what_a_case_has_found(tmp_path: Path) -> None:
    server = f"{SERVER} --fault initialize-without-server-info --fault completion-of-nonsense"
    printed, run = ran(server, tmp_path, "--only", "session/opening", "--only", "completion/unknown-reference")
    failed = [each["requirement"] for each in run["verdicts"] if each["severity"] == "violation"]
    assert failed[-1] == "completion/inputs-validated"
    assert failed[:-1]
    assert [each["requirement"] for each in run["verdicts"][: len(failed)]] == failed
    places = [printed.index(f"violation  {requirement}") for requirement in failed]
    assert places == sorted(places)


def test_why_nothing_could_be_tested_is_told_before_what_follows_from_it(tmp_path: Path) -> None:
    printed, _ = ran(bad("version-2025-6-18"), tmp_path)
    lines = [line for line in printed.splitlines() if line]
    assert lines[1] == "Not tested: the server answers with version 2025-6-18, which does not exist"
    assert lines[2].startswith("violation  versioning/unsupported-version-counteroffered")
    assert printed.count("Not tested") == 1


def test_tools_that_are_left_out_are_named_with_the_reason(tmp_path: Path) -> None:
    why = "not annotated readOnlyHint; allow one with --call-tool NAME, or all with --call-tools all"
    printed, run = ran(bad("sound"), tmp_path, "--only", "lifecycle/ping")
    assert f"\nTools left out: erase: {why}\n" in printed
    assert run["leftOut"] == {"erase": why}
    printed, run = ran(bad("sound"), tmp_path, "--only", "lifecycle/ping", "--call-tool", "erase")
    assert "Tools left out" not in printed
    assert "leftOut" not in run


def test_of_many_tools_that_are_left_out_few_are_named_to_people_and_all_to_programs(tmp_path: Path) -> None:
    printed, run = ran(bad("ten-thousand-tools"), tmp_path, "--only", "lifecycle/ping", "--call-tools", "none")
    (line,) = [line for line in printed.splitlines() if line.startswith("Tools left out")]
    assert line.endswith("and 9992 more: --call-tools none; allow one with --call-tool NAME")
    assert len(run["leftOut"]) == 10_000


def test_tools_beyond_those_that_are_called_are_told_too(tmp_path: Path) -> None:
    printed, run = ran(bad("ten-thousand-tools"), tmp_path, "--only", "lifecycle/ping", "--call-tools", "all")
    assert "and 9892 more: only the first 100 of the tools that may be called are\n" in printed
    assert len(run["leftOut"]) == 9_900


def test_tools_without_arguments_are_told_with_what_is_lacking(tmp_path: Path) -> None:
    printed, _ = ran(f"{SERVER} --fault input-schema-null", tmp_path, "--only", "lifecycle/ping", "--call-tools", "all")
    assert "no arguments can be made up: its inputSchema is not an object; give some in the target file\n" in printed


def test_where_only_warnings_fail_every_view_says_so(tmp_path: Path) -> None:
    faulty = f"{SERVER} --fault counteroffer-oldest"
    junit = tmp_path / "junit.xml"
    only = ("--only", "versioning/negotiation", "--strict", "--junit", str(junit))
    printed, run = ran(faulty, tmp_path, *only)
    assert printed.endswith("Exit status 1: there is no violation, but warnings fail.\n")
    report = json.loads((tmp_path / "report.json").read_text())
    assert (report["exit"], report["failOn"], run["verdicts"][0]["severity"]) == (1, "warning", "warning")
    (failure,) = ET.parse(junit).getroot().iter("failure")
    assert failure.get("type") == "warning"
    words = [word.replace("--", "--mcp-") for word in (*SHORT, *only[:3])]
    plugin = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--mcp-server", faulty, *words]
    done = subprocess.run(plugin, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "\nwarning: versioning/counteroffer-is-latest" in done.stdout
    assert "violation" not in done.stdout


def test_of_a_method_that_is_unknown_only_that_is_told_and_not_what_follows_from_it(tmp_path: Path) -> None:
    _, run = ran(f"{SERVER} --fault complete-unknown", tmp_path, "--only", "completion/*")
    cause = "completion/method-available"
    assert [v["requirement"] for v in run["verdicts"] if v["verdict"] == "failed"] == [cause]
    blocked = {v["requirement"] for v in run["verdicts"] if v.get("reason") == cause}
    assert blocked == {"completion/missing-arguments-refused", "completion/unknown-prompt-refused"}
