"""Known failures: `--baseline`, `baseline write`, and what is told of them."""

from __future__ import annotations

import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from fronts import conform

from conformance.engine.baseline import Baseline, Known
from conformance.engine.verdicts import counts
from conformance.model import Basis, Finding, Judged, Level, Report, Requirement, Run, Severity, Target, Verdict

REFERENCE = f"{sys.executable} -m conformance.reference"
FAULTY = f"{REFERENCE} --fault structured-content-wrong"
RULE = "tools/structured-content-conforms"
ONE = ["--revision", "2025-11-25", "--only", "tools/call-each"]
TODAY = date(2026, 11, 23)


def baseline(folder: Path, *rows: str) -> Path:
    path = folder / "baseline.yaml"
    path.write_text("\n".join(["baseline: 1", "known:", *(f"  - {row}" for row in rows)]) + "\n")
    return path


# -- the command line


def test_what_is_known_does_not_fail_and_is_told_with_its_reason(tmp_path: Path) -> None:
    path = baseline(tmp_path, f"{{rule: {RULE}, reason: wait for version 2 of the SDK}}")
    files = [tmp_path / "r.json", tmp_path / "j.xml"]
    done = conform("--server", FAULTY, *ONE, "--baseline", path, "--json", files[0], "--junit", files[1])
    assert done.returncode == 0, done.stdout
    assert f"  wait for version 2 of the SDK: {RULE}\n" in done.stdout
    assert "violation" not in done.stdout
    assert "Exit status 0: no requirement that fails a server is broken, but for what is known.\n" in done.stdout
    report = json.loads(files[0].read_text())
    (verdict,) = [each for run in report["runs"] for each in run["verdicts"] if each["requirement"] == RULE]
    assert (verdict["verdict"], verdict["known"]) == ("failed", "wait for version 2 of the SDK")
    assert (report["counts"]["violation"], report["counts"]["known"], report["exit"]) == (0, 1, 0)
    assert report["baseline"] == {"file": str(path), "stale": [], "untested": []}
    (case,) = [each for each in ET.parse(files[1]).iter("testcase") if each.get("name") == RULE]
    skipped = case.find("skipped")
    assert skipped is not None and skipped.get("message") == "known: wait for version 2 of the SDK"


def test_what_is_not_in_the_baseline_fails_as_ever(tmp_path: Path) -> None:
    path = baseline(tmp_path, f"{{rule: {RULE}, revision: '2025-06-18', reason: no time}}")
    done = conform("--server", FAULTY, *ONE, "--baseline", path)
    assert done.returncode == 1
    assert f"violation  {RULE}" in done.stdout


def test_what_is_not_broken_any_more_fails_the_run_and_is_named(tmp_path: Path) -> None:
    path = baseline(tmp_path, f"{{rule: {RULE}, reason: no time}}", "{rule: roots/list-change-handled, reason: none}")
    junit = tmp_path / "j.xml"
    done = conform("--server", REFERENCE, *ONE, "--baseline", path, "--junit", junit, "-q")
    assert done.returncode == 1
    gone = f"{path}:3: {RULE}: is not broken any more; remove it"
    assert done.stdout == f"Baseline: {gone}\nExit status 1: the baseline is out of date.\n"
    failures = [case.get("name") for case in ET.parse(junit).iter("testcase") if case.find("failure") is not None]
    assert failures == [gone]


def test_an_untested_server_does_not_make_a_baseline_green(tmp_path: Path) -> None:
    path = baseline(tmp_path, f"{{rule: {RULE}, reason: no time}}")
    done = conform("--server", f"{sys.executable} -c pass", "--baseline", path)
    assert done.returncode == 3
    assert "remove it" not in done.stdout
    assert f"{path}: 1 of its known failures was not tested." in done.stdout


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ("{rule: tools/list-shap, reason: x}", ":3: there is no rule 'tools/list-shap'; did you mean tools/list-shape"),
        ("{rule: tools/list-shape, reason: x, revision: '2025-01-01'}", ":3: there is no revision 2025-01-01"),
        ("{rule: tools/list-shape, reason: x, until: '2026-02-30'}", ":3: there is no day 2026-02-30"),
        ("{rule: tools/list-shape}", "reason"),
        ("{rule: tools/list-shape, reason: x, because: of}", "because"),
    ],
)
def test_a_baseline_that_is_wrong_is_refused_with_the_line(row: str, words: str, tmp_path: Path) -> None:
    done = conform("--server", "x", "--baseline", baseline(tmp_path, row))
    assert done.returncode == 2
    assert words in done.stderr
    assert done.stdout == ""


def test_a_baseline_that_is_not_there_is_refused(tmp_path: Path) -> None:
    done = conform("--server", "x", "--baseline", tmp_path / "none.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "none.yaml:1: cannot be read: No such file" in done.stderr


def test_the_target_file_may_name_the_baseline(tmp_path: Path) -> None:
    baseline(tmp_path, f"{{rule: {RULE}, reason: no time}}")
    target = tmp_path / "mcp-conform.yaml"
    target.write_text(json.dumps({"server": FAULTY, "only": ["tools/call-each"], "baseline": "baseline.yaml"}))
    done = conform("--revision", "2025-11-25", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Known, in baseline.yaml" in done.stdout


# -- writing one


def test_a_written_baseline_makes_the_run_pass_and_keeps_what_was_said(tmp_path: Path) -> None:
    conform("--server", FAULTY, *ONE, "--json", tmp_path / "r.json")
    out = tmp_path / "known.yaml"
    done = conform("baseline", "write", tmp_path / "r.json", "--out", out, "--until", "2999-12-31")
    assert done.stdout == f"{out}: 1 known failure, 1 new, 0 removed\n"
    assert conform("--server", FAULTY, *ONE, "--baseline", out).returncode == 0
    out.write_text(out.read_text().replace("reason:", "reason: mine #"))
    done = conform("baseline", "write", tmp_path / "r.json", "--out", out, "--fail-on", "warning", "--reason", "new")
    assert done.stdout == f"{out}: 2 known failures, 1 new, 0 removed\n"
    text = out.read_text()
    assert 'reason: "mine"\n    until: "2999-12-31"' in text
    assert 'reason: "new"' in text
    conform("--server", REFERENCE, *ONE, "--json", tmp_path / "r.json")
    done = conform("baseline", "write", tmp_path / "r.json", "--out", out)
    assert done.stdout == f"{out}: 0 known failures, 0 new, 2 removed\n"
    assert conform("--server", REFERENCE, *ONE, "--baseline", out).returncode == 0


def test_a_report_can_be_piped_into_a_baseline(tmp_path: Path) -> None:
    report = conform("--server", FAULTY, *ONE, "--json", "-").stdout
    done = conform("baseline", "write", "-", cwd=tmp_path, given=report)
    assert done.stdout == "mcp-conform-baseline.yaml: 1 known failure, 1 new, 0 removed\n"


def test_no_baseline_is_written_of_what_could_not_be_tested(tmp_path: Path) -> None:
    conform("--server", f"{sys.executable} -c pass", "--json", tmp_path / "r.json")
    done = conform("baseline", "write", tmp_path / "r.json", cwd=tmp_path)
    assert done.returncode == 2
    assert "could not test everything: the server answers neither initialize" in done.stderr
    assert not (tmp_path / "mcp-conform-baseline.yaml").exists()


# -- which entry accepts what


def judged(verdict: Verdict, severity: Severity | None = None) -> Judged:
    rule = Requirement(RULE, "x", {"2025-11-25": Level.MUST}, {"2025-11-25": Basis.TEXT}, {"2025-11-25": ()}, "yes")
    findings = (Finding(RULE, "tools/call-each", "m", "e", "a"),) if severity else ()
    return Judged(rule, Level.MUST, Basis.TEXT, verdict, severity, "", "", findings)


VIOLATED = judged(Verdict.FAILED, Severity.VIOLATION)


def report(**runs: Judged) -> Report:
    """Runs of 2025-11-25, by the name of the server."""
    made = tuple(Run("2025-11-25", "handshake", "stdio", {}, {}, (each,), 1.0, name) for name, each in runs.items())
    return Report(Target(config="c.json"), "1", "2026-01-01T00:00:00", 1.0, True, made, 1, counts=counts(made))


def test_an_entry_of_one_server_does_not_accept_the_failure_of_another() -> None:
    known = Baseline("b", (Known(RULE, "why", target="one"),))
    told = known.applied(report(one=VIOLATED, two=VIOLATED), "violation", TODAY)
    assert [run.verdicts[0].known for run in told.runs] == ["why", ""]
    assert told.exit == 1


def test_the_most_special_entry_gives_the_reason() -> None:
    known = Baseline("b", (Known(RULE, "all"), Known(RULE, "one", target="one"), Known(RULE, "r", "2025-11-25")))
    told = known.applied(report(one=VIOLATED, two=VIOLATED), "violation", TODAY)
    assert [run.verdicts[0].known for run in told.runs] == ["one", "r"]
    assert told.exit == 0


@pytest.mark.parametrize(("until", "status"), [(date(2026, 11, 23), 0), (date(2026, 11, 22), 1)])
def test_an_entry_holds_to_the_end_of_its_last_day(until: date, status: int) -> None:
    told = Baseline("b", (Known(RULE, "why", until=until, line=3),)).applied(report(x=VIOLATED), "violation", TODAY)
    assert told.exit == status
    assert told.known is not None
    assert told.known.stale == (() if status == 0 else (f"b:3: {RULE}: its last day was 2026-11-22",))


def test_what_was_not_decided_is_neither_gone_nor_there() -> None:
    known = Baseline("b", (Known(RULE, "why", line=3),))
    for verdict in (Verdict.INCONCLUSIVE, Verdict.BLOCKED):
        told = known.applied(report(one=judged(Verdict.PASSED), two=judged(verdict)), "violation", TODAY)
        assert told.known is not None
        assert (told.known.stale, told.known.untested, told.exit) == ((), (f"b:3: {RULE}: was not tested",), 0)


def test_of_a_run_that_was_cut_short_nothing_is_said_to_be_gone() -> None:
    cut = replace(report(one=judged(Verdict.PASSED)), complete=False)
    told = Baseline("b", (Known(RULE, "why"),)).applied(cut, "violation", TODAY)
    assert told.known is not None
    assert (told.known.stale, told.exit) == ((), 3)
