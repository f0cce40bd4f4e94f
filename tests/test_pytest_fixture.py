"""The fixture `mcp_server`: tests of a user's own, with the suite's assertions, beside the suite's."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from fronts import REVISION
from plugin_runs import Outcome, Project
from test_pytest_plugin import NAMES, UNKNOWN_TOOL, VIOLATING

TELLING = Path(__file__).resolve().parent / "servers" / "tells_secrets.py"

MINE = """
import os
import pytest

def test_answers(mcp_server):
    answer = mcp_server.request("tools/list").matches({"result": {"tools": {"$each": {"name": {"$type": "string"}}}}})
    assert answer.error is None and answer.result["tools"]
    assert [frame.origin for frame in answer.frames] == ["us", "target"]
    assert answer.matches({"error": {"$absent": True}}) is answer

def test_what_a_server_offers(mcp_server):
    assert mcp_server.revision == "2025-11-25" and "tools" in mcp_server.capabilities
    assert "add" in [tool["name"] for tool in mcp_server.survey.tools]
    assert mcp_server.survey is mcp_server.survey

def test_an_error(mcp_server):
    error = mcp_server.request("tools/call", {"name": "nonsense", "arguments": {}}).error
    assert error["code"] == -32602

def test_wrong_on_purpose(mcp_server):
    mcp_server.request("tools/call", {"nam": "add"}, illegal=True).matches({"error": {"code": -32602}})

def test_notifications(mcp_server):
    assert mcp_server.notifications == []
    mcp_server.request("logging/setLevel", {"level": "debug"}).matches({"result": {}})
    mcp_server.notify("notifications/roots/list_changed")
    assert all(each["method"].startswith("notifications/") for each in mcp_server.notifications)

def test_frames_are_of_this_test(mcp_server):
    assert mcp_server.frames == ()

def test_another_pattern_than_came(mcp_server):
    mcp_server.request("tools/list").matches({"result": {"tools": []}})

def test_wrong_by_mistake(mcp_server):
    mcp_server.request("tools/call", {"nam": "add"})

def test_no_pattern(mcp_server):
    mcp_server.request("tools/list").matches({"$nonsense": 1})

def test_restarted(mcp_server):
    mcp_server.restart()
    mcp_server.request("ping").matches({"result": {}})
"""


@pytest.fixture(scope="module")
def mine(tmp_path_factory: pytest.TempPathFactory) -> tuple[Project, Outcome]:
    """One run of the tests above against the correct server."""
    project = Project(tmp_path_factory.mktemp("mine"))
    project.write("test_mine.py", MINE)
    project.write("pytest.ini", f"[pytest]\nmcp_server = {project.server()}\nmcp_revision = {REVISION}\n")
    return project, project.pytest("test_mine.py")


def test_own_tests_run_beside_with_one_process(mine: tuple[Project, Outcome]) -> None:
    project, done = mine
    assert "3 failed, 7 passed" in done.text
    assert project.starts() == 2  # it was restarted once


def test_an_assertion_tells_what_was_expected_and_what_came(mine: tuple[Project, Outcome]) -> None:
    text = mine[1].text
    assert "E       AssertionError: tools/list is not answered as expected" in text
    assert "expected: {result: {tools: []}}" in text
    assert "actual:   result.tools: " in text
    assert '→ {"jsonrpc":"2.0"' in text and '← {"jsonrpc":"2.0"' in text
    assert 'mcp_server.request("tools/list").matches({"result": {"tools": []}})' in text
    assert "client.py" not in text


def test_what_the_user_got_wrong_is_told_as_such(mine: tuple[Project, Outcome]) -> None:
    text = mine[1].text
    assert "ValueError: params.name is missing in" in text and "illegal=True sends it all the same" in text
    assert "ValueError: not a pattern: $nonsense is not a word of the language" in text


def test_what_the_server_breaks_meanwhile_fails_the_test(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("test_mine.py", "def test_list(mcp_server):\n    mcp_server.request('tools/list')\n"
                  "def test_without(): pass\n")  # fmt: skip
    project.write("pytest.ini", f"[pytest]\nmcp_server = {project.server(*VIOLATING)}\n")
    done = project.pytest("test_mine.py")
    assert "1 failed, 1 passed" in done.text
    assert "violation: jsonrpc/version-member [MUST, schema]" in done.text and 'expected: "2.0"' in done.text
    assert "Traceback" not in done.text and "client.py" not in done.text
    project.write("pytest.ini", f"[pytest]\nmcp_server = {project.server('--fault', 'tool-name-characters')}\n")
    project.write("test_mine.py", "def test_list(mcp_server):\n    assert mcp_server.survey.tools\n")
    assert f"ConformanceWarning: warning: {NAMES}" in project.pytest("test_mine.py").text


def test_a_server_that_dies_is_started_again_for_the_next_test(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write(
        "test_mine.py",
        """
def test_kills(mcp_server):
    mcp_server.notify("notifications/cancelled", {"requestId": 1})
    mcp_server.request("ping").matches({"result": {}})

def test_next(mcp_server):
    mcp_server.request("tools/list").matches({"result": {}})
""",
    )
    words = ["--mcp-server", project.server("--fault", "late-cancellation-kills"), "--mcp-revision", REVISION]
    done = project.pytest(*words, "-k", "test_mine")
    assert "1 failed, 1 passed" in done.text
    assert "actual:   the server exited" in done.text
    assert project.starts() == 2


def test_with_several_servers_a_test_is_run_with_each(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("test_mine.py", "def test_list(mcp_server):\n    mcp_server.request('tools/list')\n")
    command, *args = project.server().split()
    servers = {"good": {"command": command, "args": args}, "bad": {"command": "no-such-command"}}
    project.write("mcp.json", json.dumps({"mcpServers": servers}))
    done = project.pytest("--mcp-config", "mcp.json", "-k", "test_list", "-v")
    assert "test_mine.py::test_list[good] PASSED" in done.text
    assert "test_mine.py::test_list[bad] ERROR" in done.text
    assert "Not tested: the command 'no-such-command' was not found" in done.text


def test_without_a_server_the_fixture_says_what_to_type(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("test_mine.py", "def test_list(mcp_server):\n    mcp_server.request('tools/list')\n")
    done = project.pytest()
    assert "mcp_server: name the server, with --mcp-server COMMAND or mcp_server in" in done.text


def test_an_assertion_tells_no_secret(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("test_mine.py", "def test_list(mcp_server):\n"
                  "    mcp_server.request('tools/list').matches({'result': {'tools': []}})\n")  # fmt: skip
    words = ["--mcp-server", f"{sys.executable} {TELLING}", "--mcp-env", "API_KEY=very-secret-value-of-mine"]
    done = project.pytest(*words, "--mcp-env", "TELL=API_KEY", "-k", "test_list")
    assert "1 failed" in done.text and "***API_KEY***" in done.text
    assert "very-secret-value-of-mine" not in done.text


def test_own_tests_and_items_are_chosen_together(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("test_mine.py", "def test_list(mcp_server):\n    mcp_server.request('tools/list')\n")
    words = ["--mcp-server", project.server(), "--mcp-revision", REVISION]
    done = project.pytest(*words, "test_mine.py::test_list", f"mcp::{REVISION}::stdio::{UNKNOWN_TOOL}")
    assert "2 passed" in done.text
