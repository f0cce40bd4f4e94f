"""Others judge the reference server: the official suite, in two versions, and the official Python SDK's client.

The official suite asks for tools, resources and prompts by name; `--fixtures` offers them. What it still complains of
is the reviewed list below, no more and no less.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
REAL = ROOT / ".real"
NODE = REAL / "npm/node/node_modules/.bin/node"
SDK = REAL / "venv/mcp/bin/python"
REFERENCE = [sys.executable, "-m", "conformance.reference"]

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(not (REAL / "installed.json").exists(), reason="run tests/real/install.py first"),
]

OLD = "conformance/node_modules/official-suite"
NEW = "conformance-alpha/node_modules/official-suite-alpha"

REVIEWED = {
    "tasks-status-notifications": "The suite skips it: its own harness looks for them on another stream than that of"
    " subscriptions/listen."
}
"""The scenarios with a check that is neither a success nor mere information, and why the server is right."""


@dataclass(frozen=True)
class Judgement:
    """A run of the official suite: which version, its options, and how many scenarios and successful checks it has."""

    suite: str
    options: str
    scenarios: int
    successes: int
    complaints: frozenset[str] = frozenset()


JUDGEMENTS = (
    Judgement(OLD, "--suite all", 32, 46),
    Judgement(NEW, "--requirements 2025-11-25", 33, 83),
    Judgement(NEW, "--requirements 2026-07-28", 50, 196, frozenset(REVIEWED)),
    Judgement(NEW, "--suite all --spec-version 2025-03-26", 1, 3),
    Judgement(NEW, "--suite all --spec-version 2025-06-18", 27, 56),
    Judgement(NEW, "--suite all --spec-version 2025-11-25", 33, 83),
    Judgement(NEW, "--suite all --spec-version 2026-07-28", 40, 152),
)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The URL of a reference server of its own, started with the options that the test is parametrized with."""
    command = [*REFERENCE, "--transport", "http", *getattr(request, "param", ["--fixtures"])]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr
        found = re.search(r"http://\S+", process.stderr.readline())
        assert found
        yield found[0]
    finally:
        process.terminate()
        process.communicate()


@pytest.mark.parametrize("run", JUDGEMENTS, ids=lambda run: f"{run.suite.partition('/')[0]} {run.options}")
def test_the_official_suite_has_the_reviewed_complaints_and_no_other(run: Judgement, url: str, tmp_path: Path) -> None:
    script = REAL / "npm" / run.suite / "dist/index.js"
    command = [str(NODE), str(script), "server", "--url", url, "-o", str(tmp_path), *run.options.split()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    statuses = {
        re.sub(r"^server-(.+)-\d{4}-\d\d-\d\dT.*$", r"\1", file.parent.name): [
            check["status"] for check in json.loads(file.read_text())
        ]
        for file in tmp_path.glob("*/checks.json")
    }
    complaints = {name for name, each in statuses.items() if set(each) - {"SUCCESS", "INFO"}}
    assert complaints == run.complaints, done.stdout[-5000:]
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-2000:]
    # What was put to the test, so that a suite that finds nothing to test does not count as content.
    assert len(statuses) == run.scenarios
    assert sum(each.count("SUCCESS") for each in statuses.values()) == run.successes


OFFERED: list[tuple[list[str], dict[str, int]]] = [
    ([], {"tools": 31, "tools called": 31, "resources": 10, "templates": 6, "prompts": 9}),
    (["--fixtures"], {"tools": 65, "tools called": 65, "resources": 13, "templates": 7, "prompts": 14}),
]
"""Options of the server, and what a client that uses everything counts."""

ALWAYS = [
    "reference://broken/always: -32603 Internal error: this resource always fails",
    "broken: -32603 Internal error: this prompt always fails",
    "completion for broken: -32603 Internal error: this completion always fails",
]
REFUSED = {
    "handshake": [
        "refuse: -32602 Invalid params: this tool refuses whatever it is given",
        "count_later: -32601 The tool count_later runs as a task only",
        "ask_account: -32042 This tool needs an account to be connected",
    ],
    "stateless": [
        "refuse: -32602 Invalid params: this tool refuses whatever it is given",
        "count_later: -32021 The client lacks a capability that this request needs",
        "ask_weather: -32021 The client lacks a capability that this request needs",
    ],
}
FIXTURES_REFUSED = {
    "handshake": [
        "failing_job: -32601 The tool failing_job runs as a task only",
        "protocol_error_job: -32603 Internal error: this job always breaks",
        "test_tool_with_task: -32601 The tool test_tool_with_task runs as a task only",
    ],
    "stateless": [
        "failing_job: -32021 The client lacks a capability that this request needs",
        "protocol_error_job: -32603 Internal error: this job always breaks",
        "test_tool_with_task: -32021 The client lacks a capability that this request needs",
    ],
}
"""What fails on purpose, or for want of what the client does not declare: an error response."""

ERROR_RESULTS = {"handshake": 4, "stateless": 2}
"""Tools that fail by a result: fail, read_note (what is made up is no path below a root) and, where that is no error
of the protocol, ask_weather; plan_journey, which there was not before 2026-07-28. The fixtures test_error_handling
and json_schema_2020_12_tool, which lacks its argument, are two more."""

REVISIONS = {"handshake": "2025-11-25", "stateless": "2026-07-28"}


def use(era: str, *server: str) -> dict[str, Any]:
    """What the SDK's client says of its use of a server."""
    command = [str(SDK), str(HERE / "sdk_client.py"), "--era", era, "--all-tools", *server]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    return report


def check_use(report: dict[str, Any], era: str, counts: dict[str, int]) -> None:
    assert report["revision"] == REVISIONS[era]
    fixtures = counts["tools"] > OFFERED[0][1]["tools"]
    assert report["refused"] == [*REFUSED[era], *(FIXTURES_REFUSED[era] if fixtures else []), *ALWAYS]
    assert report["error results"] == ERROR_RESULTS[era] + (2 if fixtures else 0)
    assert {name: report[name] for name in counts} == counts


@pytest.mark.parametrize("era", REVISIONS)
@pytest.mark.parametrize(("options", "counts"), OFFERED, ids=["plain", "fixtures"])
def test_the_official_python_client_can_use_everything_over_stdio(
    options: list[str], counts: dict[str, int], era: str
) -> None:
    check_use(use(era, "--", *REFERENCE, *options), era, counts)


@pytest.mark.parametrize("era", REVISIONS)
@pytest.mark.parametrize(("url", "counts"), OFFERED, ids=["plain", "fixtures"], indirect=["url"])
def test_the_official_python_client_can_use_everything_over_http(url: str, counts: dict[str, int], era: str) -> None:
    check_use(use(era, url), era, counts)
