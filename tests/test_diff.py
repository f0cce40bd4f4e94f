"""`--snapshot` and `diff` through the front door."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fronts import conform
from jsonschema import Draft202012Validator

from conformance.files.places import SCHEMAS

REFERENCE = f"{sys.executable} -m conformance.reference"


def taken(file: Path, *server: str, revision: str = "2025-11-25") -> Path:
    """A snapshot of the reference server started with further words."""
    words = " ".join([REFERENCE, *server])
    done = conform("--server", words, "--revision", revision, "--only", "session/survey", "--snapshot", file)
    assert file.exists(), done.stdout + done.stderr
    return file


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot of the correct reference server."""
    return taken(tmp_path_factory.mktemp("snapshots") / "reference.json")


def test_a_snapshot_is_as_its_schema_says_and_is_sorted(reference: Path) -> None:
    schema = json.loads((SCHEMAS / "snapshot.json").read_text())
    Draft202012Validator.check_schema(schema)
    data = json.loads(reference.read_text())
    assert not list(Draft202012Validator(schema).iter_errors(data))
    assert (data["snapshot"], data["revision"], data["server"]) == (1, "2025-11-25", "mcp-conform-reference")
    for part, key in (("tools", "name"), ("resources", "uri"), ("templates", "uriTemplate"), ("prompts", "name")):
        names = [item[key] for item in data[part]]
        assert names and names == sorted(names)
    assert list(data) == sorted(data)
    assert reference.read_text().endswith("}\n")


def test_two_snapshots_of_the_same_server_are_equal_to_the_byte(reference: Path, tmp_path: Path) -> None:
    assert taken(tmp_path / "again.json").read_bytes() == reference.read_bytes()


def test_the_snapshot_is_of_the_newest_revision_that_was_tested(tmp_path: Path) -> None:
    words = ["--revision", "2025-06-18", "--revision", "2024-11-05", "--only", "session/survey"]
    conform("--server", REFERENCE, *words, "--snapshot", tmp_path / "s.json")
    assert json.loads((tmp_path / "s.json").read_text())["revision"] == "2025-06-18"


def test_without_a_server_that_answers_there_is_no_snapshot(tmp_path: Path) -> None:
    done = conform("--server", f"{sys.executable} -c pass", "--snapshot", tmp_path / "s.json")
    assert done.returncode == 3
    assert list(tmp_path.iterdir()) == []


def test_a_list_that_the_server_refuses_is_null_and_not_empty(tmp_path: Path) -> None:
    data = json.loads(taken(tmp_path / "s.json", "--fault", "tools-list-unknown").read_text())
    assert data["tools"] is None
    assert data["prompts"]


def test_a_server_compared_with_itself_has_not_changed(reference: Path) -> None:
    done = conform("diff", reference, reference)
    assert (done.returncode, done.stdout) == (0, "Nothing changed. Exit status 0.\n")


def test_a_capability_that_is_gone_breaks(reference: Path, tmp_path: Path) -> None:
    less = taken(tmp_path / "less.json", "--without", "prompts")
    done = conform("diff", reference, less)
    assert done.returncode == 1
    assert "Breaking\n  capability at /prompts: it is gone\n" in done.stdout
    assert "prompt greet" not in done.stdout
    assert conform("diff", less, reference).returncode == 0


def test_a_tool_that_is_gone_or_asks_for_more_breaks(reference: Path, tmp_path: Path) -> None:
    data = json.loads(reference.read_text())
    tools = {tool["name"]: tool for tool in data["tools"]}
    tools["echo"]["inputSchema"]["properties"]["text"]["maxLength"] = 5
    tools["poem"]["description"] = "Recite"
    data["tools"].remove(tools["version"])
    new = tmp_path / "new.json"
    new.write_text(json.dumps(data))
    done = conform("diff", reference, new)
    assert done.returncode == 1
    assert done.stdout == (
        "Breaking\n"
        "  tool version: it is gone\n"
        "  tool echo at /inputSchema/properties/text: maxLength was absent and is 5\n"
        "\n"
        "Compatible\n"
        "  tool poem: description changed\n"
        "\n"
        "2 breaking, 0 may break, 1 compatible. Exit status 1.\n"
    )


def test_what_may_break_fails_only_with_strict_and_json_tells_the_same(reference: Path, tmp_path: Path) -> None:
    data = json.loads(reference.read_text())
    data["tools"][0]["inputSchema"]["propertyNames"] = {"minLength": 3}
    new = tmp_path / "new.json"
    new.write_text(json.dumps(data))
    assert conform("diff", reference, new).returncode == 0
    done = conform("diff", reference, new, "--strict", "--json")
    assert done.returncode == 1
    told = json.loads(done.stdout)
    assert (told["diff"], told["compared"], told["exit"]) == (1, "snapshots", 1)
    assert told["counts"] == {"breaking": 0, "may break": 1, "compatible": 0}
    [change] = told["changes"]
    assert (change["kind"], change["place"]) == ("may break", "/inputSchema")


def test_reports_are_compared_finding_by_finding(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    words = ["--revision", "2025-11-25", "--only", "jsonrpc/version-member", "--json"]
    conform("--server", REFERENCE, *words, good)
    conform("--server", f"{REFERENCE} --fault version-member-missing", *words, bad)
    worse = conform("diff", good, bad)
    assert worse.returncode == 1
    assert worse.stdout.startswith("New\n  violation jsonrpc/version-member (2025-11-25 stdio): ")
    better = conform("diff", bad, good)
    assert better.returncode == 0
    assert better.stdout.startswith("Fixed\n  violation jsonrpc/version-member (2025-11-25 stdio): ")
    same = conform("diff", bad, bad, "--json")
    assert same.returncode == 0
    told = json.loads(same.stdout)
    assert told["new"] == told["mended"] == told["untested"] == []
    assert told["counts"]["unchanged"] == len(told["unchanged"]) > 0


def test_a_server_that_could_not_be_tested_is_no_better_than_before(tmp_path: Path) -> None:
    bad, gone = tmp_path / "bad.json", tmp_path / "gone.json"
    words = ["--revision", "2025-11-25", "--only", "jsonrpc/version-member", "--json"]
    conform("--server", f"{REFERENCE} --fault version-member-missing", *words, bad)
    conform("--server", f"{sys.executable} -c pass", *words, gone)
    done = conform("diff", bad, gone)
    assert done.returncode == 1
    assert done.stdout.startswith("Not comparable\n  NEW was not tested, or not all of it: ")
    assert "2025-11-25 stdio was tested in OLD and not in NEW" in done.stdout
    assert conform("diff", gone, bad).returncode == 1  # its violation is new
    told = json.loads(conform("diff", bad, gone, "--json").stdout)
    assert (len(told["gaps"]), told["exit"]) == (2, 1)


SNAPSHOT: Any = {
    "snapshot": 1,
    "revision": "2025-11-25",
    "server": "",
    "capabilities": {},
    **{part: [] for part in ("tools", "resources", "templates", "prompts")},
}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "new.json cannot be read: No such file or directory"),
        (b"\xff", "new.json is not UTF-8"),
        (b'{\n"a":,}', "new.json:2: is not JSON"),
        (b"NaN", "new.json is not JSON: NaN is not a JSON value"),
        (b"[" * 100_000, "new.json is nested too deep"),
        (b"[]", "new.json is neither a snapshot (--snapshot FILE) nor a report (--json FILE) of mcp-conform"),
        (b'{"name": 1}', "new.json is neither a snapshot"),
        (b'{"report": 1, "runs": []}', "old.json is a snapshot and"),
        (b'{"report": 1}', 'new.json: is not a valid report: at its top: "runs" is a required property'),
        (b'{"report": 1, "runs": [3]}', "new.json: is not a valid report: at /runs/0: 3 is not of type"),
        (b'{"snapshot": 2}', "new.json is a snapshot of version 2; this mcp-conform reads version 1: update it"),
        (b'{"report": 7}', "new.json is a report of version 7; this mcp-conform reads version 1: update it"),
        (b'{"snapshot": true}', "new.json: the version of the snapshot must be 1, not true"),
        (b'{"snapshot": "1"}', 'new.json: the version of the snapshot must be 1, not "1"'),
        (
            json.dumps({**SNAPSHOT, "tools": [1]}).encode(),
            "new.json: is not a valid snapshot: at /tools/0: 1 is not of",
        ),
    ],
)
def test_a_file_that_cannot_be_compared_is_one_clear_error(text: bytes | None, words: str, tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(SNAPSHOT))
    if text is not None:
        new.write_bytes(text)
    done = conform("diff", old, new)
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("severities", "strict", "status", "end"),
    [
        (("warning",), False, 0, "Exit status 0.\n"),
        (("warning",), True, 1, "Exit status 1: there is no new violation, but new warnings fail.\n"),
        (("warning", "violation"), True, 1, "Exit status 1.\n"),
        (("advice",), True, 0, "Exit status 0.\n"),
    ],
)
def test_new_warnings_fail_only_with_strict_and_that_is_said(
    severities: tuple[str, ...], strict: bool, status: int, end: str, tmp_path: Path
) -> None:
    held: dict[str, object] = {"requirement": "a/held", "verdict": "passed", "severity": None, "findings": []}
    broken = [
        {"requirement": f"a/{each}", "verdict": "failed", "severity": each, "findings": [{"message": "wrong"}]}
        for each in severities
    ]
    for name, verdicts in (("old", [held]), ("new", [held, *broken])):
        run = {"revision": "2025-11-25", "transport": "stdio", "verdicts": verdicts}
        (tmp_path / f"{name}.json").write_text(json.dumps({"report": 1, "runs": [run]}))
    done = conform("diff", tmp_path / "old.json", tmp_path / "new.json", *(["--strict"] if strict else []))
    assert (done.returncode, done.stdout[-len(end) :]) == (status, end)


def test_what_a_server_calls_its_tools_does_not_reach_the_terminal_unescaped(tmp_path: Path) -> None:
    old, new = tmp_path / "old.json", tmp_path / "new.json"
    old.write_text(json.dumps(SNAPSHOT))
    new.write_text(json.dumps({**SNAPSHOT, "tools": [{"name": "a\x1b[0m\nb"}]}))
    assert "tool a\\x1b[0m\\nb: it is new" in conform("diff", old, new).stdout
