"""The fuzz campaigns: what they draw, what they make of a defect, and how they leave the user's folder."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import pytest

from conformance.catalogue.case_files import load_cases
from conformance.checks.fuzz.choices import Choices, Drawn
from conformance.checks.fuzz.malformed import KINDS, Malformed
from conformance.checks.fuzz.schema_values import Maker, Part, Unmakeable, broken
from conformance.checks.fuzz.shrinking import smallest
from conformance.checks.registry import known, probes
from conformance.engine.options import Options
from conformance.engine.runner import Runner
from conformance.model import Fuzzing, Limits, Report, Severity, Target, UsageError, Verdict
from conformance.reference.server import Server
from conformance.survey.survey import CallPolicy

REFERENCE = (sys.executable, "-m", "conformance.reference")
LIMITS = Limits(start=20, answer=3, quiet=0.15, shutdown=1.5)
REVISION = "2025-11-25"
TOOLS = {name: tool.input for name, tool in Server().tools.items()}


def report_of(*only: str, faults: tuple[str, ...] = (), **fuzzing: int) -> Report:
    """What the campaigns `only` say of the reference server with `faults`."""
    command = (*REFERENCE, *(word for fault in faults for word in ("--fault", fault)))
    drawn = Fuzzing(**{"examples": 300, "seconds": 60, **fuzzing})
    options = Options((REVISION,), only, policy=CallPolicy("all"), limits=LIMITS, confirm=False, fuzzing=drawn)
    runner = Runner(Target(command), options)
    for _event in runner.run():
        pass
    return runner.report()


def row(choices: Choices) -> list[int]:
    return [choices.below(50) for _ in range(choices.below(20))]


def test_the_same_seed_draws_the_same_and_another_seed_something_else() -> None:
    one, same, other = Drawn("1"), Drawn("1"), Drawn("2")
    drawn = [[row(source) for _ in range(30)] for source in (one, same, other)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_every_kind_has_its_turn_before_one_comes_again() -> None:
    drawn = Drawn("1")
    kinds = []
    for _ in range(3 * len(KINDS)):
        drawn.begin()
        kinds.append(drawn.below(len(KINDS)))
    assert all(kinds.count(kind) == 3 for kind in range(len(KINDS)))


def test_hypothesis_starts_from_the_choices_of_an_example_and_makes_them_small() -> None:
    drawn = Drawn("1")
    first: list[int] = []
    while 7 not in first:
        drawn.begin()
        first = row(drawn)
    assert len(first) > 1
    assert smallest(row, drawn.row, lambda values: 7 in values, first) == [7]


def test_an_example_that_cannot_be_made_smaller_is_kept() -> None:
    drawn = Drawn("1")
    first = row(drawn)
    assert smallest(row, drawn.row, lambda values: values == first, first) == first


def unresolved(base: str, reference: str) -> Part:
    raise Unmakeable(reference)


@pytest.mark.parametrize("name", sorted(TOOLS))
def test_values_for_a_schema_are_valid_and_broken_ones_are_not(name: str) -> None:
    schema, maker, drawn = TOOLS[name], Maker(unresolved), Drawn(name)
    validator = jsonschema_rs.Draft202012Validator(schema)
    for _ in range(30):
        drawn.begin()
        value = maker.value(("", schema), drawn)
        assert validator.is_valid(value), value
        for what in maker.breaks(("", schema), value):
            made = broken(value, what, drawn)
            if made is not None and what.keyword not in ("anyOf", "oneOf", "pattern"):
                assert not validator.is_valid(made[0]), (what, made)
                assert made[1]


def test_a_defect_is_told_once_with_the_smallest_frame_and_how_many_showed_it() -> None:
    report = report_of("fuzz/malformed", faults=("escape-x-kills",))
    findings = [f for run in report.runs for judged in run.verdicts for f in judged.findings]
    assert [f.requirement for f in findings] == ["jsonrpc/parse-error-code"]
    assert findings[0].confirmed is True
    assert findings[0].occurrences > 1
    assert findings[0].frames[0].data == b'{"jsonrpc":"2.0","id":3,"method":"pi\\xng","params":{"a":["x",1]}}'


def test_a_server_that_dies_of_everything_is_given_up_and_that_is_said() -> None:
    report = report_of("fuzz/malformed", faults=("parse-error-kills",))
    tally = report.runs[0].tallies[0]
    assert tally.answers["death"] < 20
    assert tally.frames < tally.planned
    assert tally.note.startswith("the server had to be replaced")
    assert ", so no more frames were sent" in tally.note


def test_a_server_that_dies_of_the_cancellation_of_no_request_is_warned_and_no_violation_is_told() -> None:
    report = report_of("fuzz/conversation", faults=("cancelled-text-kills",))
    failed = [judged for run in report.runs for judged in run.verdicts if judged.findings]
    assert [(each.requirement.id, each.severity) for each in failed] == [
        ("jsonrpc/every-request-answered-once", Severity.WARNING)
    ]
    message = "messages, of them a cancellation of no request, end the server"
    assert [f.message for f in failed[0].findings] == [message]


def test_what_a_campaign_leaves_out_is_named_with_what_its_kind_did() -> None:
    report = report_of("fuzz/malformed", faults=("escape-x-kills",))
    kinds = r"bad escape \(\d+\)(, [\w -]+ \(\d+\))*"
    why = "they are sent once the server survives the first of each"
    note = report.runs[0].tallies[0].note
    assert re.fullmatch(rf"frames were left out, \d+ after others of their kind ended the server: {kinds}; {why}", note)


def test_what_was_found_is_a_case_that_finds_it_again(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "conformance",
        "--revision",
        REVISION,
        "--only",
        "fuzz/malformed",
        "--timeout",
        "3",
    ]
    command += ["--server", f"{' '.join(REFERENCE)} --fault nul-kills", "--save-cases", str(tmp_path / "cases")]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    (case,) = load_cases(tmp_path / "cases", known())
    assert case.requirements == ("jsonrpc/parse-error-code",)
    assert [path.name for path in tmp_path.iterdir()] == ["cases"], "nothing else is written"
    for fault, verdict in ((("nul-kills",), Verdict.FAILED), ((), Verdict.PASSED)):
        found = replayed(case.id, tmp_path / "cases", fault)
        assert found is verdict


def replayed(identifier: str, folder: Path, faults: tuple[str, ...]) -> Verdict:
    """The verdict on the requirement of the only case in `folder`, played without any campaign."""
    from conformance.checks.invariants import load_invariants
    from conformance.engine.connections import Connections
    from conformance.engine.units import State, Workshop
    from conformance.revisions import BY_DATE

    command = (*REFERENCE, *(word for fault in faults for word in ("--fault", fault)))
    connections = Connections(Target(command), LIMITS, spares=0)
    workshop = Workshop(connections, load_invariants(), probes())
    cases = load_cases(folder, known())
    state = State(BY_DATE[REVISION], "stdio", policy=None)  # type: ignore[arg-type]
    try:
        ledger = workshop.play(state, cases, lambda case, outcome, seconds: None)
    finally:
        connections.close()
    assert not ledger.broken, ledger.broken
    return Verdict.FAILED if ledger.findings else Verdict.PASSED


def test_a_file_that_somebody_else_wrote_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "found.yaml").write_text("area: found\n")
    command = [sys.executable, "-m", "conformance", "--server", "true", "--save-cases", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2
    assert (
        done.stderr
        == f"mcp-conform: --save-cases: {tmp_path}/found.yaml is not a file that --save-cases wrote; move it away\n"
    )


def test_without_examples_no_campaign_is_played() -> None:
    report = report_of("jsonrpc", examples=0)
    assert report.runs[0].tallies == ()
    with pytest.raises(UsageError, match="--fuzz 0 leaves nothing to test"):
        Runner(Target(REFERENCE), Options(only=("fuzz/*",), fuzzing=Fuzzing(0)))


def test_the_report_counts_frames_by_campaign_and_answer(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "conformance", "--server", " ".join(REFERENCE), "--revision", REVISION]
    command += ["--only", "fuzz/malformed", "--fuzz", "60", "--seed", "5", "--json", str(tmp_path / "report.json")]
    done = subprocess.run([*command, "--verbose"], capture_output=True, text=True, check=True)
    (campaign,) = json.loads((tmp_path / "report.json").read_text())["runs"][0]["campaigns"]
    assert campaign["seed"] == 5
    assert sum(campaign["answers"].values()) == campaign["frames"] == 60
    assert "--seed 5 generates the same frames again" in done.stdout
    assert f"{campaign['answers']['-32700']} -32700" in done.stdout


def test_frames_that_are_json_after_all_are_not_judged_by_their_answer() -> None:
    class Bench:
        class session:
            class transport:
                frame = "line"
                any_bytes = True

    drawn = Drawn("1")
    campaign = Malformed(Bench)  # type: ignore[arg-type]
    for _ in range(400):
        drawn.begin()
        example = campaign.make(drawn)
        try:
            text = example.data.decode("utf-8", "replace")
            json.loads(text, parse_int=str, parse_constant=lambda name: json.loads("no"))
        except (ValueError, RecursionError):
            assert not example.about["json"] or example.data.startswith(b"\xef\xbb\xbf"), example
        else:
            assert example.about["json"], example
