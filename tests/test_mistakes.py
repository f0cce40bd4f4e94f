"""Common mistakes: each row of the table is shown by a server that makes the mistake, and by no other."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any

import mistake_faults
import pytest

from conformance.catalogue.mistakes import Mistake, about, explained, table
from conformance.catalogue.requirements import load
from conformance.files.yaml_files import FileError
from conformance.model import Finding, Frame

BAD = Path(__file__).resolve().parent / "bad_servers.py"
REFERENCE = f"{sys.executable} -m conformance.reference"
ROWS = {row.id: row for row in table()}
OPENING, SURVEY = "session/opening", "session/survey"
STDOUT = "transport-stdio/stdout-only-messages"
LINES = "transport-stdio/no-embedded-newlines"
ECHOED = "jsonrpc/response-id-echoed"
ONCE = "jsonrpc/every-request-answered-once"
SILENT = "jsonrpc/notification-never-answered"


class Told:
    """What a run says: its exit status, what was printed, the JSON and the JUnit report."""

    def __init__(self, folder: Path, server: str, *options: str) -> None:
        files = (folder / "report.json", folder / "report.xml")
        command = [sys.executable, "-m", "conformance", "--server", server, *options]
        command += ["--call-tools", "all", "--timeout", "3", "--json", str(files[0]), "--junit", str(files[1])]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        self.status, self.printed = done.returncode, done.stdout
        self.json: dict[str, Any] = json.loads(files[0].read_text())
        self.junit = "\n".join(ET.parse(files[1]).getroot().itertext())

    def findings(self, requirement: str = "") -> list[dict[str, Any]]:
        """The findings of a requirement, or all."""
        verdicts = [verdict for run in self.json["runs"] for verdict in run["verdicts"]]
        return [f for v in verdicts if requirement in ("", v["requirement"]) for f in v["findings"]]

    def has(self, row: Mistake) -> bool:
        """Whether diagnosis and hint of the row stand in what is printed and in the JUnit report."""
        return all(text in report for report in (self.printed, self.junit) for text in (row.diagnosis, row.hint))


SHOWN = [
    ("banner", STDOUT, OPENING),
    ("greets-with-braces", "jsonrpc/valid-messages", OPENING),
    ("dotenv-on-stdout", STDOUT, OPENING),
    ("logs-on-stdout", STDOUT, "tools/call-each"),
    ("logs-as-json-on-stdout", "jsonrpc/valid-messages", SURVEY),
    ("errors-in-results", "jsonrpc/unknown-method-refused", "jsonrpc/unknown-method"),
    ("errors-as-tool-results", "jsonrpc/unknown-method-refused", "jsonrpc/unknown-method"),
    ("content-length-headers", STDOUT, OPENING),
    ("pretty-printed", LINES, "tools/call-each"),
    ("newline-unescaped", LINES, "tools/call-each"),
    ("id-pasted", STDOUT, "jsonrpc/ids"),
    ("id-text-as-number", ECHOED, "jsonrpc/ids"),
    ("id-as-text", ECHOED, "prompts/get-each"),
    ("acknowledges-notifications", SILENT, "jsonrpc/notifications"),
    ("answers-notifications", SILENT, "jsonrpc/notifications"),
    ("ping-unknown", "lifecycle/ping-answered-with-empty-result", "lifecycle/ping"),
    ("serves-roots", "jsonrpc/unknown-method-refused", "jsonrpc/client-method"),
    ("streams-results", ONCE, "tools/call-each"),
    ("capability-true", "discovery/capabilities-shape", OPENING),
    ("update-misnamed", "resources/update-announced", "tools/effects"),
    ("input-schema-text", "tools/input-schema-object", SURVEY),
    ("next-cursor-null", "pagination/next-cursor-string", SURVEY),
    ("description-null", "tools/list-shape", SURVEY),
    ("resource-mime-type-null", "resources/list-shape", SURVEY),
    ("prompt-arguments-null", "prompts/list-shape", SURVEY),
    ("structured-content-missing", "tools/structured-content-conforms", "tools/call-each"),
    ("version-copied", "versioning/unsupported-version-counteroffered", "versioning/negotiation"),
    ("stays-after-input", "transport-stdio/exits-on-stdin-close-implied", "lifecycle/ping"),
]
"""Fault, the requirement whose finding is explained, what to run to see it."""


@pytest.mark.parametrize(("fault", "requirement", "only"), SHOWN)
def test_a_widespread_mistake_is_diagnosed_beside_its_finding(
    fault: str, requirement: str, only: str, tmp_path: Path
) -> None:
    row = ROWS[mistake_faults.ROW_OF[fault]]
    told = Told(tmp_path, f"{REFERENCE} --fault {fault}", "--revision", "2025-11-25", "--only", only)
    found = told.findings(requirement)
    assert found
    assert {(f.get("diagnosis"), f.get("hint")) for f in found} == {(row.diagnosis, row.hint)}
    assert told.has(row)


def test_every_row_is_shown_by_a_server_that_makes_the_mistake() -> None:
    assert {mistake_faults.ROW_OF[fault] for fault, _, _ in SHOWN} | {row for _, row in UNOPENED} == set(ROWS)


OTHERWISE = [
    ("prints-in-tools", STDOUT, "tools/call-each"),
    ("prints-goodbye", STDOUT, "lifecycle/ping"),
    ("message-of-no-kind", "jsonrpc/valid-messages", SURVEY),
    ("id-wrapped", ECHOED, "jsonrpc/ids"),
    ("ping-says-pong", "lifecycle/ping-answered-with-empty-result", "lifecycle/ping"),
    ("ping-needs-initialized", "lifecycle/ping-answered-before-initialized", "lifecycle/opening"),
    ("unknown-method-succeeds", "jsonrpc/unknown-method-refused", "jsonrpc/unknown-method"),
    ("answers-twice", ONCE, SURVEY),
    ("list-changed-text", "discovery/capabilities-shape", OPENING),
    ("update-unannounced", "resources/update-announced", "tools/effects"),
    ("input-schema-null", "tools/input-schema-object", SURVEY),
    ("input-schema-missing", "tools/input-schema-object", SURVEY),
    ("tool-name-number", "tools/list-shape", SURVEY),
    ("resource-without-name", "resources/list-shape", SURVEY),
    ("template-without-name", "resources/templates-list-shape", SURVEY),
    ("structured-content-wrong", "tools/structured-content-conforms", "tools/call-each"),
    ("version-refused", "versioning/unsupported-version-counteroffered", "versioning/negotiation"),
]
"""Other ways to break the same requirements. tests/test_matrix.py does this for all faults."""


@pytest.mark.parametrize(("fault", "requirement", "only"), OTHERWISE)
def test_another_breach_of_the_same_requirement_is_not_explained(
    fault: str, requirement: str, only: str, tmp_path: Path
) -> None:
    told = Told(tmp_path, f"{REFERENCE} --fault {fault}", "--revision", "2025-11-25", "--only", only)
    assert told.findings(requirement)
    assert [f["diagnosis"] for f in told.findings() if "diagnosis" in f] == []
    assert "diagnosis" not in told.printed + told.junit


def test_a_correct_server_is_told_no_diagnosis(tmp_path: Path) -> None:
    chosen = [word for only in {only for _, _, only in SHOWN} for word in ("--only", only)]
    told = Told(tmp_path, REFERENCE, "--revision", "2025-11-25", *chosen)
    assert (told.status, told.findings()) == (0, [])
    assert "diagnosis" not in told.printed + told.junit


# -- servers with which no session can be opened

UNOPENED = [
    ("content-length", "content-length-expected"),
    ("buffered", "stdout-buffered"),
    ("no-newline", "newline-missing"),
]
QUICK = ("--revision", "2025-11-25", "--only", OPENING, "--start-timeout", "2")


@pytest.mark.parametrize(("mode", "row"), UNOPENED)
def test_a_server_that_cannot_be_opened_is_told_why_beside_the_problem(mode: str, row: str, tmp_path: Path) -> None:
    told = Told(tmp_path, f"{sys.executable} {BAD} {mode}", *QUICK)
    assert (told.json["diagnosis"], told.json["hint"]) == (ROWS[row].diagnosis, ROWS[row].hint)
    assert told.has(ROWS[row])


@pytest.mark.parametrize(
    ("mode", "requirement", "row"),
    [("pretty", LINES, "pretty-printed"), ("lsp-answers", STDOUT, "content-length-framing")],
)
def test_what_keeps_a_session_from_being_opened_is_explained_beside_its_finding(
    mode: str, requirement: str, row: str, tmp_path: Path
) -> None:
    told = Told(tmp_path, f"{sys.executable} {BAD} {mode}", *QUICK)
    assert {f.get("diagnosis") for f in told.findings(requirement)} == {ROWS[row].diagnosis}
    assert "diagnosis" not in told.json


@pytest.mark.parametrize("mode", ["silent", "starts-slowly", "half-line", "traceback"])
def test_other_reasons_not_to_open_are_not_explained(mode: str, tmp_path: Path) -> None:
    told = Told(tmp_path, f"{sys.executable} {BAD} {mode}", *QUICK)
    assert told.json["problem"]
    assert "diagnosis" not in told.json
    assert [f["diagnosis"] for f in told.findings() if "diagnosis" in f] == []


# -- the table


def test_the_rows_name_requirements_that_there_are() -> None:
    assert {identifier for row in table() for identifier in row.requirements} <= set(load())


LINE = "stdout carries something that is not a message"
BROKEN = "a line on stdout looks like a message but is not JSON"


@pytest.mark.parametrize(
    ("message", "line", "row"),
    [
        (LINE, "[INFO] listening", "log-on-stdout"),
        (LINE, "INFO:     Started server process [7]", "log-on-stdout"),
        (LINE, "\x1b[32mINFO\x1b[0m starting", "log-on-stdout"),
        (LINE, "info: Server started", "log-on-stdout"),
        (LINE, "2026-01-01 12:00:00.000 | DEBUG    | main:f:1 - ready", "log-on-stdout"),
        (LINE, "◇ injected env (8) from .env // tip: encrypted .env", "dotenv-banner"),
        (LINE, "Weather MCP Server running on stdio", "greeting-on-stdout"),
        (LINE, "Error: the server is not running", ""),
        (LINE, "error reading the file", ""),
        (LINE, "Information for you", ""),
        (LINE, "2026-01-01 12:00:00", ""),
        (LINE, "hello", ""),
        (BROKEN, '{"jsonrpc":"2.0","id":abc,"result":{}}', "id-unquoted"),
        (BROKEN, '{"jsonrpc":"2.0","id":1b4e28ba-2fa1,"result":{}}', "id-unquoted"),
        (BROKEN, '{"jsonrpc":"2.0","id":undefined,"result":{}}', ""),
        (BROKEN, '{"jsonrpc":"2.0","id":-1.5e3,"result":{}', ""),
        (BROKEN, '{"jsonrpc":"2.0","id":1,"result":{"text":"{\\"id\\": abc}"', ""),
    ],
)
def test_lines_on_stdout_are_told_apart(message: str, line: str, row: str) -> None:
    finding = Finding(STDOUT, OPENING, message, "", line, (heard(line),))
    assert explained(finding).diagnosis == (ROWS[row].diagnosis if row else "")


@pytest.mark.parametrize(
    ("requirement", "actual", "explains"),
    [
        ("tools/list-shape", "tools[0].title is null, expected string", True),
        ("prompts/list-shape", "prompts[0].arguments[1].description is null, expected string", True),
        ("discovery/capabilities-shape", "capabilities.tools is null, expected object", True),
        ("tools/list-shape", "tools is null, expected array", False),
        ("tools/list-shape", "tools[0].name is null, expected string", False),
        ("tools/list-shape", "tools[0].title is missing", False),
    ],
)
def test_only_members_that_may_be_absent_are_told_to_be_left_out(requirement: str, actual: str, explains: bool) -> None:
    finding = explained(Finding(requirement, SURVEY, "a message", "", actual))
    assert (finding.diagnosis == ROWS["null-for-absent"].diagnosis) is explains


def test_what_only_led_to_a_finding_does_not_explain_it() -> None:
    frames = tuple(heard(line) for line in ("INFO: ready", "{}", "{}", "hello"))
    finding = Finding(STDOUT, "tools/call-each", LINE, "", "hello", frames)
    assert explained(replace(finding, confirmed=False)).diagnosis == ""
    assert explained(replace(finding, frames=frames[:1])).diagnosis == ROWS["log-on-stdout"].diagnosis


def heard(line: str) -> Frame:
    """A line of the target."""
    return Frame(0, "target", "stdout", 0.0, line.encode())


def test_explain_tells_the_common_mistakes_of_a_requirement() -> None:
    command = [sys.executable, "-m", "conformance", "explain", "lifecycle/ping-answered-with-empty-result"]
    said = " ".join(subprocess.run(command, capture_output=True, text=True, check=True).stdout.split())
    (row,) = about("lifecycle/ping-answered-with-empty-result")
    assert f"{row.diagnosis} {row.hint}" in said


ROW = """\
mistakes:
  - id: a-row
    requirements: [tools/list-shape]
    when: {WHEN}
    diagnosis: The server does something else.
    hint: Do what the specification says.
"""


@pytest.mark.parametrize(
    ("when", "said"),
    [
        ("{heard: '(ab'}", "4: heard is not a regular expression"),
        ("{bytes: ab}", "4: 'bytes' is not known in mistakes.0.when"),
        ("{problem: ab}", "4: mistakes.0.when"),
        ("{}", "4: mistakes.0.when"),
    ],
)
def test_a_wrong_row_is_told_with_its_line(when: str, said: str, tmp_path: Path) -> None:
    file = tmp_path / "mistakes.yaml"
    file.write_text(ROW.replace("{WHEN}", when))
    with pytest.raises(FileError) as caught:
        table(file)
    assert said in str(caught.value)
