"""What a case makes of what a probe observed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from sessions import session as opened_session

from conformance.catalogue.case_files import load_cases
from conformance.catalogue.case_names import Known
from conformance.catalogue.requirements import load
from conformance.checks.ledger import Ledger
from conformance.checks.probes import Bench, Observation, Probe
from conformance.engine.player import play
from conformance.model import Json
from conformance.survey.picks import PICKS
from conformance.survey.survey import CallPolicy, Survey, Unavailable

RULE = "tools/methods-available"
STRAY: Json = {"id": "nobody's", "error": {"code": 1, "message": "late"}}


def judged(
    folder: Path,
    observe: Callable[[Bench], Iterator[Observation]],
    case: str,
    answer: Callable[[Json], Iterable[Json]] = lambda message: [{"id": message["id"], "result": {}}],
) -> Ledger:
    """What a case decides whose only step is a probe; `case` are its other lines."""
    probes = {"mine.probe": Probe("mine.probe", (), observe)}
    text = f"area: mine\ncases:\n  - id: it\n    title: What is tested here\n{case}"
    (folder / "mine.yaml").write_text(text)
    (loaded,) = load_cases(folder, Known(load(), set(PICKS), probes))
    ledger = Ledger(loaded.id)
    bench = Bench(opened_session(answer), Survey({}, CallPolicy("all")), ledger, None)  # type: ignore[arg-type]
    play(loaded, bench, probes)
    return ledger


ROWS = """\
    steps:
      - probe: mine.probe
        as: seen
        expect:
          - requirement: tools/methods-available
            judge:
              - {saved: {seen.good: true}, held: true}
              - {response: {error: {$present: true}}, broken: the answer is an error}
              - saved: {seen.good: false}
                broken: something is wrong with $seen.name
                actual: it is $seen.colour
"""


def test_what_came_is_told_as_the_case_says(tmp_path: Path) -> None:
    def observe(bench: Bench) -> Iterator[Observation]:
        yield Observation({"good": False, "name": "one", "colour": "green"}, bench.session.request("ping"))

    (finding,) = judged(tmp_path, observe, ROWS).findings
    assert (finding.message, finding.actual) == ("something is wrong with one", "it is green")
    assert [frame.origin for frame in finding.frames] == ["us", "target"]


def test_a_response_that_belongs_to_nothing_is_not_taken_for_that_to_what_was_observed(tmp_path: Path) -> None:
    def observe(bench: Bench) -> Iterator[Observation]:
        bench.session.request("ping")
        yield Observation({"good": None})

    ledger = judged(tmp_path, observe, ROWS, lambda message: [STRAY, {"id": message["id"], "result": {}}])
    assert not ledger.findings and RULE not in ledger.tested


def test_an_observation_without_a_request_is_not_silence(tmp_path: Path) -> None:
    def observe(_: Bench) -> Iterator[Observation]:
        yield Observation({"good": None})
        yield Observation({"good": True})

    ledger = judged(tmp_path, observe, ROWS)
    assert not ledger.findings and RULE in ledger.tested


def test_a_request_that_is_not_answered_leaves_the_other_observations_as_they_are(tmp_path: Path) -> None:
    def observe(bench: Bench) -> Iterator[Observation]:
        for _ in range(2):
            yield Observation({}, bench.session.request("ping"))

    silent = iter((True, False))

    def answer(message: Json) -> Iterable[Json]:
        if not next(silent):
            yield {"id": message["id"], "error": {"code": 1, "message": "no"}}

    ledger = judged(tmp_path, observe, ROWS, answer)
    assert [finding.message for finding in ledger.findings] == ["the answer is an error"]
    assert RULE in ledger.blocked


UNDECIDED = ROWS + f"    undecided: {{{RULE}: nothing is wrong with any of $seen.count}}\n"


def test_a_reason_names_what_was_observed_last(tmp_path: Path) -> None:
    def observe(_: Bench) -> Iterator[Observation]:
        yield from (Observation({"count": count}) for count in (1, 2))

    assert judged(tmp_path, observe, UNDECIDED).open == {RULE: "nothing is wrong with any of 2"}


def test_where_nothing_could_be_observed_the_reason_is_what_lacks(tmp_path: Path) -> None:
    def observe(_: Bench) -> Iterator[Observation]:
        raise Unavailable("there is no tool")
        yield

    assert judged(tmp_path, observe, UNDECIDED).open == {RULE: "there is no tool"}
