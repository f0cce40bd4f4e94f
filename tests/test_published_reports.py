"""The published run over real servers, `reports/real/`, its reviews, and the README that tells of both.

`python tests/test_published_reports.py` writes the parts of the README that are made of data anew.
"""

from __future__ import annotations

import json
import re
import shlex
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema_rs import Draft202012Validator

from conformance.catalogue.requirements import load
from conformance.model import Level

ROOT = Path(__file__).resolve().parent.parent
REPORTS = ROOT / "reports"
RUN = REPORTS / "real"
README = REPORTS / "README.md"

LIST: list[dict[str, Any]] = yaml.safe_load((REPORTS / "servers.yaml").read_text("utf-8"))
REVIEWED: list[dict[str, Any]] = yaml.safe_load((REPORTS / "reviewed.yaml").read_text("utf-8"))
SUMMARY: dict[str, Any] = json.loads((RUN / "summary.json").read_text("utf-8"))
RESULTS = sorted((RUN / "results").glob("*.json"))

MOST = 3 * 1024 * 1024
"""Bytes of all that is published."""
OF_A_MACHINE = re.compile(r"(?<![\w.:/])/(?:work|root|home|Users|mnt|private|tmp/[\w-]+)/|file:///(?:opt|root)")
"""What the path of a file on the machine of the run begins with; `/scratch` stands for the folder of a server."""
PACKAGE = re.compile(r"(@?[A-Za-z][\w./-]*)(?:@|==)(\d[\w.]*)$")
BEGIN, END = "<!-- {}: made by tests/test_published_reports.py -->", "<!-- end of {} -->"
WIDTH = 100


def package_of(entry: dict[str, Any]) -> tuple[str, str]:
    """Name and version of the package that a server of the list is in; what `--with` adds is not it."""
    words = entry["server"].split()
    added = {number + 1 for number, word in enumerate(words) if word == "--with"}
    for number, word in enumerate(words):
        if number not in added and (found := PACKAGE.match(word)):
            return found[1], found[2]
    return entry["name"], ""


def schema(name: str) -> Any:
    return Draft202012Validator(json.loads((ROOT / "schemas" / name).read_text("utf-8")))


def table() -> str:
    """A row for each server of the run."""
    packages = {entry["name"]: " ".join(package_of(entry)) for entry in LIST}
    lines = ["| server | package | outcome | violations | warnings | advice |", "|---|---|---|---|---|---|"]
    for row in SUMMARY["servers"]:
        counts = " | ".join(str(len(row["broken"][severity])) for severity in ("violation", "warning", "advice"))
        lines.append(f"| {row['name']} | {packages[row['name']]} | {row['outcome']} | {counts} |")
    return "\n".join(lines)


def findings() -> str:
    """What was found, and why it is a violation."""
    parts = []
    for entry in REVIEWED:
        head = f"### {entry['title']}\n\n`{entry['requirement']}` ({entry['revision']}): {', '.join(entry['servers'])}"
        quotation = f"> {entry['quotation'].strip()}\n>\n> {entry['source']}"
        quoted = "\n".join(
            "\n".join(textwrap.wrap(line, WIDTH, subsequent_indent="> ", break_on_hyphens=False)) or ">"
            for line in quotation.split("\n")
        )
        rest = [textwrap.fill(entry[key].strip(), WIDTH, break_on_hyphens=False) for key in ("came", "remedy")]
        title, _, line = head.partition("\n\n")
        parts.append("\n\n".join([title, textwrap.fill(line, WIDTH, break_on_hyphens=False), quoted, *rest]))
    return "\n\n".join(parts)


def made() -> dict[str, str]:
    return {"table": table(), "findings": findings()}


def renewed(text: str) -> str:
    """The README with the parts that are made of data."""
    for name, part in made().items():
        begin, end = BEGIN.format(name), END.format(name)
        assert begin in text and end in text.partition(begin)[2], f"no place for {name}"
        before, _, rest = text.partition(begin)
        text = f"{before}{begin}\n\n{part}\n\n{end}{rest.partition(end)[2]}"
    return text


def test_at_least_30_servers_were_tested() -> None:
    tested = [row for row in SUMMARY["servers"] if row["outcome"] != "not tested"]
    assert len(tested) >= 30
    assert SUMMARY["complete"]


def test_the_run_is_of_the_servers_of_the_list() -> None:
    assert sorted(row["name"] for row in SUMMARY["servers"]) == sorted(entry["name"] for entry in LIST)
    assert {path.stem for path in RESULTS} == {row["key"] for row in SUMMARY["servers"]}


@pytest.mark.parametrize("entry", LIST, ids=lambda entry: entry["name"])
def test_each_server_of_the_list_is_pinned_to_a_version(entry: dict[str, Any]) -> None:
    assert entry["server"].startswith(("npx -y ", "uvx "))
    assert package_of(entry)[1]


def test_the_summary_is_valid() -> None:
    assert [error.message for error in schema("fleet.json").iter_errors(SUMMARY)] == []


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_each_result_is_valid_and_the_summary_tells_of_it(path: Path) -> None:
    result = json.loads(path.read_text("utf-8"))
    row = next(row for row in SUMMARY["servers"] if row["key"] == path.stem)
    assert (row["name"], row["outcome"], row["reason"]) == (result["name"], result["outcome"], result["reason"])
    report = result["report"]
    if report is None:
        assert result["outcome"] == "not tested" and result["reason"]
        return
    broken = {severity: set() for severity in row["broken"]}  # type: dict[str, set[str]]
    for run in report["runs"]:
        run.pop("rest")
        for verdict in run["verdicts"]:
            broken[verdict["severity"]].add(verdict["requirement"])
    assert [error.message for error in schema("report.json").iter_errors(report)] == []
    assert {severity: sorted(names) for severity, names in broken.items()} == row["broken"]


@pytest.mark.parametrize("path", RESULTS, ids=lambda path: path.stem)
def test_what_shows_a_finding_again_needs_nothing_but_the_command_line(path: Path) -> None:
    result = json.loads(path.read_text("utf-8"))
    server = next(entry["server"] for entry in LIST if entry["name"] == result["name"])
    for run in (result["report"] or {"runs": ()})["runs"]:
        for verdict in run["verdicts"]:
            if line := verdict.get("reproduce"):
                words = shlex.split(line)
                assert words[:3] == ["mcp-conform", "--server", server]
                assert not {"--target", "--config"} & set(words)


def test_every_violation_was_reviewed_and_every_review_is_of_a_violation() -> None:
    found = {(row["name"], name) for row in SUMMARY["servers"] for name in row["broken"]["violation"]}
    reviewed = [(server, entry["requirement"]) for entry in REVIEWED for server in entry["servers"]]
    assert len(reviewed) == len(set(reviewed))
    assert found - set(reviewed) == set(), "not reviewed"
    assert set(reviewed) - found == set(), "not found any more"


@pytest.mark.parametrize("entry", REVIEWED, ids=lambda entry: f"{entry['requirement']}-{entry['servers'][0]}")
def test_each_review_quotes_what_its_requirement_rests_on(entry: dict[str, Any]) -> None:
    requirement = load()[entry["requirement"]]
    assert entry["revision"] in requirement.revisions
    assert requirement.levels[entry["revision"]] in (Level.MUST, Level.MUST_NOT)
    assert all(entry[key].strip() for key in ("title", "quotation", "source", "came", "remedy"))


def test_the_readme_agrees_with_the_run_and_its_reviews() -> None:
    text = README.read_text("utf-8")
    assert renewed(text) == text


@pytest.mark.parametrize("path", [*RUN.rglob("*"), *REPORTS.glob("*.*")], ids=lambda path: path.name)
def test_no_published_file_names_a_file_of_the_machine(path: Path) -> None:
    if path.is_file():
        assert OF_A_MACHINE.findall(path.read_text("utf-8")) == []


def test_what_is_published_is_small_enough_for_a_repository() -> None:
    assert sum(path.stat().st_size for path in RUN.rglob("*") if path.is_file()) < MOST


if __name__ == "__main__":
    README.write_text(renewed(README.read_text("utf-8")), "utf-8")
