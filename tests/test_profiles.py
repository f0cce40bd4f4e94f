"""Advice for clients, through the front door: each rule is broken by a fault that breaks no other."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from fronts import conform

from conformance.catalogue.requirements import load as load_requirements
from conformance.checks.profiles.checks import CHECKS, subschemas
from conformance.checks.profiles.rules import AREA, FILE, load
from conformance.checks.registry import checks
from conformance.files.yaml_files import FileError

REFERENCE = f"{sys.executable} -m conformance.reference"
PROFILES, RULES = load()
ALL = [word for profile in PROFILES for word in ("--profile", profile)]
REVISION = "2025-11-25"


def advised(folder: Path, *words: str, server: str = "", revision: str = REVISION) -> dict[str, Any]:
    """Rule → its verdict in the report of a run on the reference server."""
    file = folder / "report.json"
    given = ["--server", f"{REFERENCE} {server}".strip(), "--revision", revision, "--only", AREA, "--json", file]
    done = conform(*given, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    [run] = json.loads(file.read_text())["runs"]
    return {verdict["requirement"]: verdict for verdict in run["verdicts"]}


def broken(verdicts: dict[str, Any]) -> set[str]:
    """The rules that failed."""
    return {rule for rule, verdict in verdicts.items() if verdict["verdict"] == "failed"}


OF_THE_REFERENCE = {"client/boolean-subschema"}
"""What the correct reference server gets advice on: it has tuples on purpose, whose items are false."""


@pytest.mark.parametrize("revision", ["2024-11-05", "2025-11-25", "2026-07-28"])
def test_the_correct_server_gets_no_advice_but_on_its_tuples(revision: str, tmp_path: Path) -> None:
    verdicts = advised(tmp_path, *ALL, revision=revision)
    assert set(verdicts) == {rule.id for rule in RULES}
    assert broken(verdicts) == OF_THE_REFERENCE
    told = [finding["message"] for finding in verdicts["client/boolean-subschema"]["findings"]]
    assert [message.partition(" (")[0] for message in told] == [
        f"tool '{name}' has the schema false at /inputSchema/properties/point/items"
        for name in ("measure", "measure_again")
    ]
    assert {verdict["verdict"] for verdict in verdicts.values()} == {"passed", "failed"}


QUICK = [
    ("client-root-combinator", "client/root-combinator", "tool 'search' has allOf at /inputSchema"),
    ("client-array-items", "client/array-items", "an array without items at /inputSchema/properties/tags"),
    ("client-boolean-subschema", "client/boolean-subschema", "the schema true at /inputSchema/properties/exact"),
    ("client-references", "client/references", "$ref '#/$defs/area' at /inputSchema/properties/area"),
    ("client-tool-name", "client/tool-name", "the name 'say.hello' is not of letters"),
    ("client-explicit-null", "client/explicit-null", "'reference://text/readme' in resources has description: null"),
    ("client-tool-count", "client/tool-count", "there are 6"),
    ("client-server-version", "client/server-version", "serverInfo has no version"),
    ("client-resource-mime-type", "client/resource-mime-type", "'reference://text/readme' has no mimeType"),
]


@pytest.mark.parametrize(("fault", "rule", "words"), QUICK)
def test_a_fault_gets_the_advice_of_its_rule_and_no_other(fault: str, rule: str, words: str, tmp_path: Path) -> None:
    verdicts = advised(tmp_path, *ALL, server=f"--fault {fault}")
    assert broken(verdicts) - OF_THE_REFERENCE == {rule} - OF_THE_REFERENCE
    verdict = verdicts[rule]
    assert (verdict["severity"], verdict["basis"], verdict["level"]) == ("advice", "client", "SHOULD")
    assert verdict["url"].startswith("https://")
    finding = next(finding for finding in verdict["findings"] if words in finding["message"])
    assert finding["confirmed"] is True
    assert [frame["origin"] for frame in finding["frames"]][:2] == ["us", "target"]
    assert all(f"{client.profile}: " in finding["message"] for r in RULES if r.id == rule for client in r.clients[:1])


@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_what_clients_refuse_breaks_no_rule_of_the_specification(revision: str) -> None:
    legal = [f"--fault {fault}" for fault, _, _ in QUICK if fault != "client-explicit-null"]
    server = " ".join([REFERENCE, *legal, "--fault client-credentials"])
    words = ["--call-tools", "all", "--revision", revision, "--strict", "--env", "REFERENCE_TOKEN=x"]
    done = conform("--server", server, *words)
    assert done.returncode == 0, done.stdout


def test_a_slow_start_is_told_to_those_whose_client_gives_up(tmp_path: Path) -> None:
    verdicts = advised(tmp_path, "--profile", "openai", "--profile", "claude", server="--fault client-start-time")
    assert broken(verdicts) == {"client/start-time"}
    [finding] = verdicts["client/start-time"]["findings"]
    assert finding["actual"].startswith("it took 1")
    assert "Codex" in finding["message"] and "claude" not in finding["message"]


def test_a_server_that_lists_nothing_without_credentials_is_told_so(tmp_path: Path) -> None:
    words = ("--profile", "registry", "--env", "REFERENCE_TOKEN=x")
    assert broken(advised(tmp_path, *words)) == set()
    verdicts = advised(tmp_path, *words, server="--fault client-credentials")
    assert broken(verdicts) == {"client/no-credentials"}
    [finding] = verdicts["client/no-credentials"]["findings"]
    assert "REFERENCE_TOKEN is not set" in finding["message"]
    assert "x" not in verdicts["client/no-credentials"]["reproduce"].partition("--env")[2].split()
    assert broken(advised(tmp_path, "--profile", "registry", server="--fault client-credentials")) == {
        "client/no-credentials"
    }


def test_a_server_without_tools_is_not_judged_by_rules_for_tools(tmp_path: Path) -> None:
    verdicts = advised(tmp_path, *ALL, server="--without tools,resources")
    assert {rule for rule, verdict in verdicts.items() if verdict["verdict"] == "not applicable"} == {
        rule.id for rule in RULES if rule.about in ("tools", "resources")
    }
    assert broken(verdicts) == set()


def test_only_the_clients_that_were_named_are_spoken_of(tmp_path: Path) -> None:
    verdicts = advised(tmp_path, "--profile", "openai", server="--fault client-tool-name")
    assert set(verdicts) == {rule.id for rule in RULES if "openai" in {client.profile for client in rule.clients}}
    [finding] = verdicts["client/tool-name"]["findings"]
    assert "openai: " in finding["message"] and "claude" not in finding["message"]


def test_without_a_profile_there_is_no_word_of_clients(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    given = ["--server", f"{REFERENCE} --fault client-tool-name", "--revision", REVISION]
    conform(*given, "--only", "tools", "--json", file)
    [run] = json.loads(file.read_text())["runs"]
    assert run["verdicts"]
    assert not [verdict for verdict in run["verdicts"] if verdict["basis"] == "client"]
    refused = conform(*given, "--only", AREA)
    assert refused.returncode == 2
    assert "nothing matches 'client'" in refused.stderr


def test_the_command_that_shows_advice_again_does(tmp_path: Path) -> None:
    verdicts = advised(tmp_path, "--profile", "claude", server="--fault client-tool-name")
    again = verdicts["client/tool-name"]["reproduce"]
    assert "--profile claude" in again and again.endswith("--only client/tool-name")


def test_an_unknown_profile_is_wrong_use_and_the_known_ones_are_listed() -> None:
    done = conform("--server", "x", "--profile", "emacs")
    assert done.returncode == 2
    assert done.stderr == f"mcp-conform: --profile: there is no profile 'emacs'; there are {', '.join(PROFILES)}\n"


def test_rules_are_listed_apart_from_the_requirements_and_explained() -> None:
    listed = conform("list").stdout
    requirements, _, advice = listed.partition("\nadvice for clients, with --profile\n")
    assert f"{len(load_requirements())} requirements: " in requirements
    assert "client/tool-name" not in requirements
    assert all(rule.id in advice for rule in RULES)
    rows = json.loads(conform("list", "--area", "client", "--json").stdout)
    assert [row["requirement"] for row in rows] == [rule.id for rule in RULES]
    explained = conform("explain", "client/tool-count").stdout
    for part in (
        "any revision  SHOULD, client",
        "https://github.com/microsoft/vscode/issues/337428",
        "Checked by: profile cursor, profile vscode",
        "cursor, as of 2025-09-02: it passed on the first 40 tools",
        "mcp-conform demo --fault client-tool-count --profile cursor",
    ):
        assert part in explained


def test_each_check_belongs_to_a_rule_and_no_rule_is_a_requirement_of_the_specification() -> None:
    assert {rule.check for rule in RULES} == set(CHECKS)
    assert not {rule.id for rule in RULES} & {*load_requirements(), *checks()}
    assert {client.profile for rule in RULES for client in rule.clients} == set(PROFILES)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("      cursor:", "      emacs:", "'emacs' is not known; there are claude"),
        ("check: tool_count", "check: tool_counts", "'tool_counts' is not known; there are array_without_items"),
        ('date: "2025-09-02"', 'when: "2025-09-02"', "'when' is not known in rules.tool-count.clients.cursor"),
    ],
)
def test_a_mistake_in_the_file_of_profiles_names_its_line(old: str, new: str, words: str, tmp_path: Path) -> None:
    text = FILE.read_text()
    assert old in text
    file = tmp_path / "profiles.yaml"
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError) as caught:
        load(file)
    assert words in caught.value.what
    assert caught.value.line > 1


def test_every_place_of_a_schema_within_a_schema_is_looked_at() -> None:
    schema = {
        "properties": {"a/b": {"items": [True]}},
        "$defs": {"c": {"not": {"anyOf": [{}, True]}}},
        "additionalProperties": False,
        "enum": [True],
        "default": {"properties": {"x": True}},
    }
    booleans = [place for place, found in subschemas(schema, "") if isinstance(found, bool)]
    assert booleans == ["/additionalProperties", "/properties/a~1b/items/0", "/$defs/c/not/anyOf/1"]
