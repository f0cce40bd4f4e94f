"""Whatever a server says, in whatever place: it is judged, and nothing of ours breaks."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tracemalloc
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import pytest
from hostile_values import KINDS, SCHEMAS, TEXTS, Change, Little, deep
from hypothesis import given, settings
from hypothesis import strategies as st

from conformance.catalogue.requirements import load
from conformance.catalogue.selection import Selection
from conformance.checks.fuzz.arguments import CANNOT, _Tool
from conformance.checks.invariants import Invariant, forms, listing, load_invariants, meta, stateless
from conformance.checks.invariants.base import Watcher
from conformance.checks.invariants.forms import user_data
from conformance.checks.ledger import Ledger
from conformance.checks.profiles import rules as profiles
from conformance.checks.registry import cases, probes
from conformance.compatibility.schemas import compare_schemas
from conformance.engine.conclusion import Conclusion
from conformance.engine.connections import Connections
from conformance.engine.events import Finished, Started
from conformance.engine.options import Options
from conformance.engine.plan import plan
from conformance.engine.units import State, Workshop
from conformance.engine.verdicts import counts
from conformance.model import Frame, Fuzzing, Json, Limits, Report, Target
from conformance.reporters import REPORTERS, to_file
from conformance.reporters.terminal import TerminalReporter
from conformance.revisions import BY_DATE, Revision
from conformance.session import challenges
from conformance.session.eras import era_of
from conformance.session.messages import DEEPEST, beyond_us, encode, id_key, parse
from conformance.session.session import Call, NotSpoken, Session
from conformance.survey.arguments import Unfillable, candidates
from conformance.survey.survey import CallPolicy
from conformance.transports import Transport, sse
from conformance.transports.memory import MemoryTransport
from conformance.validation.schema_bounds import deeper

LIMITS = Limits(start=0.001, answer=0.001, quiet=0.0, shutdown=0.01, slow=0.001, late=0.0)
CLIENT: Json = {"roots": {}, "sampling": {}, "elicitation": {"form": {}, "url": {}}}
OLDEST, OLD, NEW = "2024-11-05", "2025-11-25", "2026-07-28"
TESTS = Path(__file__).resolve().parent
MEMORY = 2 * 1024**3


class InMemory(Connections):
    """Sessions with a little server in this process."""

    def __init__(self, changes: tuple[Change, ...]) -> None:
        super().__init__(Target(("little",)), LIMITS, 0)
        self._changes = changes

    def session(
        self,
        revision: Revision,
        client: Json = None,
        *,
        own_process: bool = True,
        urgent: bool = False,
        beside: Transport | None = None,
    ) -> Session:
        """A session with a server of its own."""
        transport = MemoryTransport(Little(revision.date, self._changes))
        return Session(transport, era_of(revision), revision, client=client or CLIENT, limits=self.limits)


def read(
    revision: str, *changes: Change, invariants: tuple[type[Invariant], ...] = load_invariants(), units: int = 1
) -> State:
    """Survey the server that says these things, and play what shares its session, or more units."""
    rules = profiles.chosen(profiles.load()[0])
    workshop = Workshop(InMemory(changes), invariants, probes(), rules)
    ledger = Ledger()
    fuzzing = Fuzzing(examples=5, seconds=0.05)
    state = State(BY_DATE[revision], "stdio", CallPolicy("all"), fuzzing=fuzzing, ledgers=[ledger])
    stage = workshop.stage(state.revision, None, ledger, True)
    try:
        stage.open()
    except NotSpoken:
        stage.close()
        return state
    state.server = stage.session.server
    state.survey = workshop.survey(state, stage)
    for number, unit in enumerate(plan(cases(), state)[:units]):
        played = [case for case in unit if not case.area.startswith("fuzz")]
        workshop.play(state, played, lambda *_: None, None if number else stage)
    return state


def broken(state: State) -> dict[str, str]:
    """What our own bugs broke."""
    return {requirement: why for ledger in state.ledgers for requirement, why in ledger.broken.items()}


def report_of(state: State) -> Report:
    """What the reporters are given."""
    for ledger in state.ledgers:
        ledger.findings = [replace(finding, confirmed=True) for finding in ledger.findings]
    target, requirements = Target(("little",)), load()
    everything = Selection(cases(), frozenset(requirements))
    conclusion = Conclusion(target, everything, requirements, frozenset(), frozenset())
    runs = (conclusion.run(state, Options(), "", ""),)
    return Report(target, "1", "2026-01-01T00:00:00+00:00", 1.0, True, runs, 1, counts=counts(runs))


def write_down(state: State, folder: Path) -> None:
    """Let each reporter have its say."""
    report = report_of(state)
    reporters = [to_file(kind, folder / f"{kind}.json", "violation") for kind in REPORTERS if kind != "snapshot"]
    for reporter in (*reporters, TerminalReporter()):
        reporter.consume(Started(report.target))
        reporter.consume(Finished(report))
        reporter.close()


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
).map(json.dumps)
CHANGES = st.builds(
    Change,
    st.integers(0, KINDS - 1),
    st.integers(0, 44),
    st.sampled_from(list(TEXTS.values())) | ANYTHING,
    st.sampled_from(("replace", "add", "wrap", "drop")),
)


@pytest.mark.slow
@settings(
    max_examples=int(os.environ.get("MCP_CONFORM_EXAMPLES", "60")), derandomize=True, deadline=None, database=None
)
@given(st.sampled_from((OLDEST, "2025-06-18", OLD, OLD, NEW)), st.lists(CHANGES, min_size=1, max_size=3))
def test_whatever_a_server_says_anywhere_breaks_nothing_of_ours(
    tmp_path_factory: pytest.TempPathFactory, revision: str, changes: list[Change]
) -> None:
    state = read(revision, *changes)
    assert broken(state) == {}
    write_down(state, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("text", ["{}", "[[]]", '"x"', "null", "1.5"])
@pytest.mark.parametrize("place", range(6))
def test_whatever_stands_in_an_error_is_judged_and_reported(place: int, text: str, tmp_path: Path) -> None:
    state = read(OLD, Change(KINDS - 1, place, text), units=2)
    assert broken(state) == {}
    write_down(state, tmp_path)


def test_the_little_server_is_read_to_the_end() -> None:
    state = read(OLD)
    assert broken(state) == {}
    assert len(state.ledgers[0].tested) > 100


# -- a bug of ours


class Buggy(Watcher):
    """An invariant that raises at whatever it hears."""

    name: ClassVar[str] = "buggy"
    requirements: ClassVar[tuple[str, ...]] = ("pace/none",)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Raise."""
        raise TypeError("a bug of ours")


def test_a_bug_in_one_invariant_breaks_its_own_requirements_only() -> None:
    state = read(OLD, invariants=(*load_invariants(), Buggy))
    assert list(broken(state)) == ["pace/none"]
    assert "a bug of ours" in broken(state)["pace/none"]
    assert len(state.ledgers[0].tested) > 100


# -- messages


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("9" * 400, int("9" * 400)),
        ("-" + "9" * 5000, -sys.float_info.max),
        ("1e999", sys.float_info.max),
        ("-1e999", -sys.float_info.max),
        ("1e-999", 0.0),
        ("[1.5, 2]", [1.5, 2]),
    ],
)
def test_a_number_of_any_size_is_read_and_can_be_written(text: str, value: Json) -> None:
    read_value, readable = parse(text.encode())
    assert (read_value, readable) == (value, True)
    assert parse(encode(read_value)) == (value, True)
    assert id_key(read_value)


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", "-Infinity", "{", "[" * 9000, "[" * 9000 + "}" * 9000 + "x"])
def test_what_is_no_json_is_told_from_what_is_beyond_us(text: str) -> None:
    assert parse(text.encode()) == (None, False)
    assert not beyond_us(text.encode())


@pytest.mark.parametrize("levels", [DEEPEST, DEEPEST + 1, 900, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"a":', "}"), ('["]",', "]"), ('["\\"[",', "]")])
def test_what_is_nested_too_deep_is_read_without_its_depths(levels: int, opening: str, closing: str) -> None:
    data = f'{{"id": 1, "result": {deep(levels - 1, opening, closing)}, "x": "]"}}'.encode()
    value, readable = parse(data)
    assert readable
    assert value["id"] == 1
    assert value["x"] == "]"
    assert not deeper(value, DEEPEST)
    assert deeper(value, DEEPEST - 1)


def test_a_message_of_millions_of_parts_is_beyond_us_and_no_fault() -> None:
    data = b"[" + b"{}," * 3_000_000 + b"{}]"
    assert parse(data) == (None, False)
    assert beyond_us(data)


def test_half_a_surrogate_pair_is_sent_as_an_escape() -> None:
    assert parse(encode({"a": "\ud800é"})) == ({"a": "\ud800é"}, True)
    encode({"a": "\ud800é"}).decode()


# -- schemas


@pytest.mark.parametrize("name", SCHEMAS)
def test_arguments_for_a_hostile_schema_are_small_or_given_up(name: str) -> None:
    schema = parse(json.dumps(SCHEMAS[name]).encode())[0]
    try:
        made = list(candidates(schema))
    except Unfillable as why:
        assert len(str(why)) < 400
    else:
        assert all(len(json.dumps(each)) < 100_000 for each in made)
    try:
        tool = _Tool({"name": "x", "inputSchema": schema})
    except CANNOT:
        return
    assert len(json.dumps([tool.good, tool.full])) < 200_000


@pytest.mark.parametrize("name", SCHEMAS)
def test_hostile_schemas_can_be_compared(name: str) -> None:
    for other in SCHEMAS.values():
        compare_schemas(SCHEMAS[name], other, "input", "x", "/inputSchema")


def limited(*command: str) -> subprocess.CompletedProcess[str]:
    """Run a command of ours in limited memory and time; raises TimeoutExpired."""
    import resource

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))

    return subprocess.run(command, capture_output=True, text=True, timeout=120, preexec_fn=limit, check=False)


@pytest.mark.slow
def test_a_server_of_hostile_schemas_is_tested_to_the_end(tmp_path: Path) -> None:
    chosen = [word for area in ("tools", "json-schema", "fuzz/tool-arguments") for word in ("--only", area)]
    told = tmp_path / "report.json"
    server = f"{sys.executable} {TESTS / 'hostile_values.py'}"
    command = ("--server", server, *chosen, "--fuzz", "100", "--quick", "--timeout", "1", "--json", str(told))
    done = limited(sys.executable, "-m", "conformance", *command)
    assert done.returncode == 1, done.stderr
    (run,) = json.loads(told.read_text())["runs"]
    verdicts = {each["requirement"]: each for each in run["verdicts"]}
    assert {each["verdict"] for each in run["verdicts"]} <= {
        "passed",
        "failed",
        "not applicable",
        "inconclusive",
        "blocked",
    }
    advice = verdicts["json-schema/published-schemas-valid"]["findings"]
    assert any("cannot be used within reasonable bounds" in each["message"] for each in advice)


# -- texts


@pytest.mark.parametrize(
    ("pattern", "unit"),
    [
        (sse.URI, "x"),
        (meta._KEY, "a."),
        (stateless._EXTENSION, "a."),
        (listing._EXPRESSION, "a,"),
        (listing._EXPRESSION, "a."),
        (challenges._PART, "a"),
        (forms._MAIL, ".a"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_pattern_takes_no_memory_for_each_character_of_a_long_text(pattern: re.Pattern[str], unit: str) -> None:
    text = "a@a" * (pattern is forms._MAIL) + unit * (2_000_000 // len(unit))
    tracemalloc.start()
    try:
        pattern.match(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 10 * len(text)


@pytest.mark.parametrize("unit", ["a", "a.", "a@", "%", "a=b&", "-", "://", "@a.a"])
def test_a_long_address_is_read_at_once(unit: str) -> None:
    code = "from conformance.checks.invariants.forms import user_data; "
    code += f"user_data('https://example.com/' + {unit!r} * 150_000)"
    assert limited(sys.executable, "-c", code).returncode == 0
    assert user_data("https://example.com/?mail=Some.Body+x@example.org") == "the address Some.Body+x@example.org"
