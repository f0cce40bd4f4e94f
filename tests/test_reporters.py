"""The views of a report, made from hand-made reports with what hostile servers send."""

from __future__ import annotations

import io
import json
import re
import threading
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from fronts import conform
from jsonschema import Draft202012Validator

from conformance.engine.events import CaseEnded, Confirming, Finished, FrameSeen, Planned, Started
from conformance.engine.options import Detail
from conformance.engine.verdicts import counts
from conformance.files.places import SCHEMAS
from conformance.model import Basis, Finding, Frame, Judged, Level, Report, Requirement, Run, Severity, Target, Verdict
from conformance.reporters import REPORTERS, to_file
from conformance.reporters.json_report import as_json
from conformance.reporters.progress import LifeLine
from conformance.reporters.terminal import TerminalReporter
from conformance.reporters.terminal_report import BLOCKS
from conformance.reporters.words import finding_text, frame_text, visible

REVISION = "2025-11-25"
HOSTILE = (
    "\x00\x07\x1b[31mred\x1b]0;title\x07 \ud800 ]]> <script>alert('&')</script> \ufffe\uffff \u202e [bold]x[/bold]"
)


def judged(name: str, verdict: Verdict, **changes: object) -> Judged:
    """A verdict on `name`."""
    requirement = Requirement(
        name, f"The rule {name}.", {REVISION: Level.MUST}, {REVISION: Basis.TEXT}, {REVISION: ()}, "yes"
    )
    plain = Judged(requirement, Level.MUST, Basis.TEXT, verdict, None, "", "https://example.com/rule")
    return replace(plain, **changes)  # type: ignore[arg-type]


def failed(name: str, severity: Severity, text: str = "wrong", data: bytes = b"{}") -> Judged:
    """A failed verdict with one finding and one frame."""
    frame = Frame(3, "target", "stdout", 0.25, data, case="tools/list")
    finding = Finding(name, "tools/list", text, f"expected {text}", f"actual {text}", (frame,), confirmed=True)
    return judged(
        name,
        Verdict.FAILED,
        severity=severity,
        findings=(finding,),
        reproduce=f"mcp-conform --only {name}",
        seconds=0.5,
    )


def report(*verdicts: Judged, revisions: tuple[str, ...] = (REVISION,), **changes: object) -> Report:
    """A report with the same verdicts for each revision."""
    server = {"name": HOSTILE, "version": "1"}
    runs = tuple(Run(revision, "handshake", "stdio", server, {"x": HOSTILE}, verdicts, 1.0) for revision in revisions)
    plain = Report(
        Target(("python", "server.py")), "0.1.0", "2026-01-02T03:04:05+00:00", 2.0, True, runs, 1, counts=counts(runs)
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def everything() -> Report:
    """Each verdict and each severity, with hostile text wherever a server may have a say."""
    raw = HOSTILE.encode("utf-8", "surrogatepass") + bytes(range(256))
    return report(
        failed("tools/violated", Severity.VIOLATION, HOSTILE, raw),
        failed("tools/warned", Severity.WARNING, HOSTILE, raw),
        failed("prompts/advised", Severity.ADVICE, HOSTILE, raw),
        judged("tools/passed", Verdict.PASSED, seconds=0.1),
        judged("tools/undeclared", Verdict.NOT_APPLICABLE, reason=HOSTILE),
        judged("tools/open", Verdict.INCONCLUSIVE, reason=HOSTILE),
        judged("tools/after", Verdict.BLOCKED, reason="tools/violated"),
        judged("tools/ours", Verdict.BROKEN, reason=HOSTILE),
        revisions=("2025-06-18", REVISION),
        notes=("2024-11-05 is not spoken: " + HOSTILE,),
    )


def written(kind: str, path: Path, what: Report, fail_on: str = "violation") -> str:
    """What a reporter writes."""
    reporter = to_file(kind, path, fail_on)
    reporter.consume(Finished(what))
    reporter.close()
    return path.read_text(encoding="utf-8")


def shown(capsys: pytest.CaptureFixture[str], what: Report, detail: Detail = "usual") -> str:
    """What is printed into a pipe."""
    reporter = TerminalReporter(detail)
    reporter.consume(Started(what.target))
    reporter.consume(Finished(what))
    reporter.close()
    return capsys.readouterr().out


# -- words


def test_text_of_a_server_is_escaped_but_stays_readable() -> None:
    assert visible("größe 表\x1b[0m\x00\n\ud800") == "größe 表\\x1b[0m\\x00\\n\\ud800"


def test_bytes_outside_utf8_are_shown() -> None:
    assert frame_text(Frame(0, "target", "stdout", 0.0, b'{"a": "\xff\xfe\x00"}')) == '{"a": "\\xff\\xfe\\x00"}'


@pytest.mark.parametrize(("data", "shown"), [(b"", "(an empty line)"), (b"  \t", "(a line of 3 blanks)")])
def test_a_line_without_a_word_is_shown_as_what_it_is(data: bytes, shown: str) -> None:
    assert frame_text(Frame(0, "target", "stdout", 0.0, data)) == shown


def test_a_long_frame_is_shortened_and_its_length_told() -> None:
    text = frame_text(Frame(0, "target", "stdout", 0.0, b'{"a": "' + b"x" * 1000 + b'"}'))
    assert len(text) < 500
    assert text.startswith('{"a": "xxx') and text.endswith('x"} (1009 bytes)')


def test_a_huge_frame_is_shortened_without_decoding_all_of_it() -> None:
    text = frame_text(Frame(0, "target", "stdout", 0.0, b"\xff" * 10_000_000))
    assert len(text) < 5000
    assert "bytes left out" in text


def test_what_was_sent_with_headers_of_its_own_shows_them_and_what_came_does_not() -> None:
    sent = {"Origin": "http://a.invalid", "Accept": "x" * 1000}
    text = frame_text(Frame(0, "us", "get", 0.0, b"", headers=sent))
    assert text.startswith("(GET, no body) with Origin: http://a.invalid, Accept: xxx")
    assert len(text) < 400
    assert frame_text(Frame(0, "us", "post", 0.0, b"{}", headers={"Origin": "a"})) == "{} with Origin: a"
    assert frame_text(Frame(0, "us", "other", 0.0, b"")) == "(no body)"
    assert frame_text(Frame(0, "target", "body", 0.0, b"{}", headers=sent)) == "{}"


def test_what_passed_can_be_audited_with_a_trace_beside_it(tmp_path: Path) -> None:
    report, trace = tmp_path / "r.json", tmp_path / "t.jsonl"
    words = ["--revision", "2025-11-25", "--only", "tools/call-each", "--only", "lifecycle/ping"]
    done = conform("demo", *words, "--json", report, "--trace", trace)
    assert done.returncode == 0, done.stdout
    (run,) = json.loads(report.read_text())["runs"]
    rows = [json.loads(line) for line in trace.read_text().splitlines()]
    passed = [verdict for verdict in run["verdicts"] if verdict["verdict"] == "passed"]
    assert passed and all(verdict["shownBy"] for verdict in passed)
    assert {"tools/call-each", "lifecycle/ping"} <= run["cases"].keys()
    for case, played in run["cases"].items():
        for part in played["frames"]:
            mine = [row for row in rows if (row["session"], row["case"]) == (part["session"], case)]
            assert (part["first"], part["last"]) == (mine[0]["number"], mine[-1]["number"])
            assert part["sent"] == sum(row["origin"] == "us" for row in mine)
            assert part["received"] == sum(row["origin"] == "target" for row in mine)


def test_the_text_of_a_finding_has_all_that_an_author_needs() -> None:
    text = finding_text(failed("tools/violated", Severity.VIOLATION, "no name", b'{"id":1}'))
    for part in ("tools/violated", "MUST", "The rule", "no name", "expected no name", "actual no name", '{"id":1}'):
        assert part in text
    assert "https://example.com/rule" in text
    assert "mcp-conform --only tools/violated" in text


def test_the_text_of_a_finding_holds_nothing_that_a_terminal_obeys() -> None:
    text = finding_text(failed("tools/violated", Severity.VIOLATION, HOSTILE, HOSTILE.encode("utf-8", "replace")))
    assert all(character == "\n" or character.isprintable() for character in text)


# -- JSON


def test_the_json_report_is_as_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads((SCHEMAS / "report.json").read_text())
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for what in (
        everything(),
        report(exit=0),
        report(revisions=(), exit=3, problem="it does not start", complete=False, target=Target(url="http://x/")),
    ):
        validator.validate(json.loads(written("json", tmp_path / "report.json", what)))


@pytest.mark.parametrize("change", [{"exit": 2}, {"runs": [{}]}, {"report": 2}, {"target": {}}, {"extra": 1}])
def test_the_schema_of_the_report_refuses_what_is_no_report(change: dict[str, object]) -> None:
    schema = json.loads((SCHEMAS / "report.json").read_text())
    assert not Draft202012Validator(schema).is_valid({**as_json(everything()), **change})


def test_the_json_report_has_no_lone_surrogates_and_no_infinities(tmp_path: Path) -> None:
    deep: object = "end"
    for _ in range(3000):
        deep = [deep]
    odd = report(failed("tools/x", Severity.VIOLATION, HOSTILE))
    odd = replace(odd, runs=(replace(odd.runs[0], capabilities={"a": float("inf"), "b": deep, HOSTILE: 1}),))

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = written("json", tmp_path / "report.json", odd)
    assert "\\ud800" in json.loads(text, parse_constant=refuse)["runs"][0]["verdicts"][0]["findings"][0]["message"]
    json.dumps(json.loads(text), ensure_ascii=False).encode("utf-8")


# -- JUnit

IN_SUITES = {"disabled", "errors", "failures", "tests", "time", "name"}
IN_SUITE = {
    "name",
    "tests",
    "failures",
    "errors",
    "time",
    "disabled",
    "skipped",
    "timestamp",
    "hostname",
    "id",
    "package",
}
IN_CASE = {"name", "assertions", "time", "classname", "status", "class", "file", "line", "log", "group", "url"}
RANK = {"skipped": 0, "error": 0, "failure": 0, "system-out": 1, "system-err": 2}


def check_structure(root: ET.Element) -> None:
    """The elements, attributes, order and sums that the JUnit schema of Jenkins allows."""
    assert root.tag == "testsuites"
    assert set(root.attrib) <= IN_SUITES
    for suite in root:
        assert suite.tag == "testsuite"
        assert {"name", "tests"} <= set(suite.attrib) <= IN_SUITE
        tags = [child.tag for child in suite]
        assert tags == ["properties"] * tags.count("properties") + ["testcase"] * tags.count("testcase")
        assert tags.count("properties") <= 1
        cases = suite.findall("testcase")
        assert int(suite.attrib["tests"]) == len(cases)
        for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
            assert int(suite.attrib[attribute]) == len(suite.findall(f"testcase/{tag}"))
        for entry in suite.findall("properties/property"):
            assert set(entry.attrib) == {"name", "value"}
        for case in cases:
            assert {"name", "classname"} <= set(case.attrib) <= IN_CASE
            ranks = [RANK[child.tag] for child in case]
            assert ranks == sorted(set(ranks))
            for child in case:
                allowed = set() if child.tag.startswith("system") else {"message", "type"}
                assert set(child.attrib) <= allowed
                assert len(child) == 0


def legal(text: str) -> bool:
    """Whether XML 1.0 allows every character."""
    return all(c in "\t\n\r" or " " <= c <= "\ud7ff" or "\ue000" <= c <= "\ufffd" or c >= "\U00010000" for c in text)


def junit(tmp_path: Path, what: Report, fail_on: str = "violation") -> ET.Element:
    """The parsed JUnit report, checked."""
    text = written("junit", tmp_path / "report.xml", what, fail_on)
    root = ET.fromstring(text.encode())
    check_structure(root)
    for element in root.iter():
        assert legal("".join([element.text or "", *element.attrib.values()]))
    return root


def test_the_junit_report_has_the_structure_that_jenkins_reads(tmp_path: Path) -> None:
    root = junit(tmp_path, everything())
    assert [suite.attrib["name"] for suite in root] == ["2025-06-18 stdio", "2025-11-25 stdio"]
    names = [(case.attrib["classname"], case.attrib["name"]) for case in root.iter("testcase")]
    assert len(set(names)) == len(names) == 16
    assert names[0] == ("mcp-conform.2025-06-18.stdio.tools", "tools/violated")


def test_each_verdict_has_its_element(tmp_path: Path) -> None:
    cases = {case.attrib["name"]: case for case in junit(tmp_path, everything())[1].iter("testcase")}
    tags = {name: [child.tag for child in case] for name, case in cases.items()}
    assert tags == {
        "tools/violated": ["failure"],
        "tools/warned": ["system-out"],
        "prompts/advised": ["system-out"],
        "tools/passed": [],
        "tools/undeclared": ["skipped"],
        "tools/open": ["skipped"],
        "tools/after": ["skipped"],
        "tools/ours": ["error"],
    }
    assert cases["tools/after"][0].attrib["message"] == "blocked: tools/violated"


def test_warnings_are_failures_when_warnings_fail(tmp_path: Path) -> None:
    cases = {case.attrib["name"]: case for case in junit(tmp_path, everything(), "warning")[1].iter("testcase")}
    assert [child.tag for child in cases["tools/warned"]] == ["failure"]
    assert [child.tag for child in cases["prompts/advised"]] == ["system-out"]


def test_what_xml_forbids_is_escaped_visibly(tmp_path: Path) -> None:
    failure = junit(tmp_path, everything()).find(".//failure")
    assert failure is not None
    assert failure.attrib["message"].startswith("\\x00\\x07\\x1b[31mred")
    for part in ("\\ud800", "]]> <script>", "\\ufffe\\uffff", "\\xff"):
        assert part in (failure.text or "")


def test_the_properties_name_the_server_and_the_command(tmp_path: Path) -> None:
    properties = {p.attrib["name"]: p.attrib["value"] for p in junit(tmp_path, everything())[1].iter("property")}
    assert properties["server.version"] == "1"
    assert properties["command"] == "python server.py"
    assert properties["revision"] == REVISION
    assert properties["transport"] == "stdio"


def test_a_server_that_cannot_be_tested_gives_one_error(tmp_path: Path) -> None:
    root = junit(tmp_path, report(revisions=(), problem="it does not start\x00", exit=3))
    assert [error.attrib["message"] for error in root.iter("error")] == ["it does not start\\x00"]


def test_a_megabyte_of_server_output_stays_a_small_report(tmp_path: Path) -> None:
    what = report(failed("tools/violated", Severity.VIOLATION, "x" * 1_000_000, b"\x00" * 1_000_000))
    junit(tmp_path, what)
    assert (tmp_path / "report.xml").stat().st_size < 20_000


# -- the files


@pytest.mark.parametrize("kind", list(REPORTERS))
def test_a_file_that_cannot_be_written_is_found_before_the_run(kind: str, tmp_path: Path) -> None:
    with pytest.raises(OSError, match="No such file or directory"):
        to_file(kind, tmp_path / "missing" / "report.json", "violation")
    (tmp_path / "folder.json").mkdir()
    with pytest.raises(OSError, match=r"(?i)is a directory"):
        to_file(kind, tmp_path / "folder.json", "violation")


@pytest.mark.parametrize("kind", ["json", "junit", "html"])
def test_a_report_is_there_as_a_whole_or_not_at_all(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "report"
    path.write_text("the one before")
    reporter = to_file(kind, path, "violation")
    reporter.close()
    assert [p.name for p in tmp_path.iterdir()] == ["report"]
    assert path.read_text() == "the one before"
    written(kind, path, everything())
    assert [p.name for p in tmp_path.iterdir()] == ["report"]
    assert path.read_text() != "the one before"


def test_a_trace_has_one_line_for_each_frame(tmp_path: Path) -> None:
    reporter = to_file("trace", tmp_path / "trace", "violation")
    frames = (
        Frame(0, "us", "stdin", 0.1, b'{"id":1}', case="tools/list"),
        Frame(1, "target", "stdout", 0.2, b"\xff\n\x1b"),
        Frame(2, "target", "head", 0.3, b"", status=200, headers={"content-type": "text/html"}),
    )
    for frame in frames:
        reporter.consume(FrameSeen(REVISION, "stdio", "one", frame))
    reporter.close()
    rows = [json.loads(line) for line in (tmp_path / "trace").read_text().splitlines()]
    assert [row["text"] for row in rows] == ['{"id":1}', "\\xff\n\x1b", ""]
    assert rows[0]["case"] == "tools/list" and rows[0]["origin"] == "us"
    assert rows[2]["status"] == 200


# -- the terminal, in a pipe


def test_a_pipe_gets_no_control_bytes(capsys: pytest.CaptureFixture[str]) -> None:
    details: tuple[Detail, ...] = ("quiet", "usual", "full")
    for detail in details:
        text = shown(capsys, everything(), detail)
        assert all(character == "\n" or character.isprintable() for character in text)
        assert "[bold]x[/bold]" in text or detail == "quiet"


def test_where_something_failed_a_small_table_shows_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, everything()).splitlines()
    at = lines.index("area     2025-06-18      2025-11-25")
    assert lines[at + 1 : at + 4] == [
        "prompts  1A              1A",
        "tools    1V 1W 1X 1B 1?  1V 1W 1X 1B 1?",
        "V violations, W warnings, A advice, X mcp-conform failed, B blocked, ? inconclusive",
    ]


def test_quiet_shows_the_violations_and_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, everything(), "quiet").splitlines()
    assert [line.split(":")[0] for line in lines] == ["violation tools/violated", "Exit status 1"]
    assert shown(capsys, report(judged("tools/passed", Verdict.PASSED)), "quiet").startswith("Exit status")


def test_of_many_broken_rules_the_first_are_shown_in_full_and_the_others_in_short(
    capsys: pytest.CaptureFixture[str],
) -> None:
    verdicts = [failed(f"tools/rule-{number}", Severity.VIOLATION, f"broken {number}") for number in range(80)]
    lines = shown(capsys, report(*verdicts)).splitlines()
    assert sum(line.startswith("  expected ") for line in lines) == BLOCKS
    assert "In short: 68 violations more; --verbose shows all in full" in lines
    assert "violation tools/rule-12: broken 12" in lines
    assert "  … and 28 more; --verbose shows all" in lines
    everything = shown(capsys, report(*verdicts), "full").splitlines()
    assert sum(line.startswith("  expected ") for line in everything) == 80


def test_the_last_lines_of_stderr_are_shown_as_lines(capsys: pytest.CaptureFixture[str]) -> None:
    told = "the server exited with code 1; its stderr ends with: Traceback: \x1b[31m | ::error::no"
    text = shown(capsys, replace(report(), problem=told, exit=3))
    assert "code 1; its stderr ends with:\n  | Traceback: \\x1b[31m\n  | ::error::no\n" in text
    block = failed("tools/violated", Severity.VIOLATION, "it ended")
    text = shown(capsys, report(replace(block, findings=(replace(block.findings[0], actual=told),))))
    assert "  actual    the server exited with code 1; its stderr ends with:\n" in text
    assert "\n            | ::error::no\n" in text


def test_the_report_says_what_would_decide_most(capsys: pytest.CaptureFixture[str]) -> None:
    open_ones = [
        judged("tools/one", Verdict.INCONCLUSIVE, reason="no tool may be called; allow one with --call-tool"),
        judged("tools/two", Verdict.INCONCLUSIVE, reason="needs a tool that samples; allow one with --call-tool"),
        judged("tools/three", Verdict.INCONCLUSIVE, reason="the server lists no prompt"),
    ]
    what = report(*open_ones)
    assert "\nInconclusive: 3 rules: --verbose tells why\n" in shown(capsys, what)
    (run,) = what.runs
    limited = replace(what, runs=(replace(run, left_out={"erase": "allow one with --call-tool NAME"}),))
    hint = "--call-tool NAME or --call-tools all may decide 2 of them"
    assert f"Inconclusive: 3 rules: --verbose tells why; {hint}\n" in shown(capsys, limited)


def test_where_all_is_well_there_is_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, report(judged("tools/passed", Verdict.PASSED), judged("tools/open", Verdict.INCONCLUSIVE)))
    assert "area" not in text


def test_verbose_tells_a_pipe_of_each_area(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, everything(), "full").splitlines()
    assert "2025-11-25 stdio prompts: 1 advice" in lines
    expected = "1 violation, 1 warning, 1 broken, 1 passed, 1 blocked, 1 inconclusive, 1 not applicable"
    assert f"2025-06-18 stdio tools: {expected}" in lines


def test_the_same_finding_in_two_revisions_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, report(failed("tools/x", Severity.VIOLATION, "no name"), revisions=("2025-06-18", REVISION)))
    assert text.count("  no name\n") == 1
    assert "in 2025-06-18 stdio, 2025-11-25 stdio" in text
    assert "2 violations of 1 requirement in 2.0 s" in text


def test_what_is_blocked_stands_under_its_cause(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, everything())
    assert "This blocks tools/after." in text
    assert "\nBlocked\n" not in text


def test_violations_come_before_warnings_and_advice_comes_last(capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(capsys, everything())
    places = [text.index(part) for part in ("violation  tools/violated", "warning  tools/warned", "\nAdvice\n")]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"exit": 0}, "Exit status 0: no requirement that fails a server is broken."),
        ({"exit": 1}, "Exit status 1: the server breaks the specification."),
        ({"exit": 3, "complete": False}, "Interrupted: this is what was learned until then."),
        ({"exit": 3, "problem": "nothing answers"}, "Not tested: nothing answers"),
    ],
)
def test_the_end_says_what_the_exit_status_means(
    capsys: pytest.CaptureFixture[str], changes: dict[str, object], words: str
) -> None:
    what = replace(report(judged("tools/passed", Verdict.PASSED)), **changes)  # type: ignore[arg-type]
    assert words in shown(capsys, what)


@pytest.mark.parametrize(
    ("each", "status", "words"),
    [
        (failed("tools/warned", Severity.WARNING), 1, "there is no violation, but warnings fail."),
        (failed("tools/warned", Severity.ADVICE), 1, "there is neither violation nor warning, but advice fails."),
        (judged("tools/undecided", Verdict.INCONCLUSIVE), 3, "no requirement was decided"),
        (judged("tools/undecided", Verdict.BLOCKED), 3, "no requirement was decided"),
        (judged("tools/undecided", Verdict.BROKEN), 3, "mcp-conform itself failed."),
    ],
)
def test_where_no_violation_is_why_the_end_says_what_is(
    capsys: pytest.CaptureFixture[str], each: Judged, status: int, words: str
) -> None:
    assert f"Exit status {status}: {words}" in shown(capsys, replace(report(each), exit=status))


def test_reporters_take_events_they_have_no_use_for(tmp_path: Path) -> None:
    for kind in REPORTERS:
        reporter = to_file(kind, tmp_path / f"{kind}.json", "violation")
        reporter.consume(Planned(3))
        reporter.consume(Confirming(1))
        reporter.close()
        reporter.close()
        assert not (tmp_path / f"{kind}.json").exists() or kind == "trace"


class _Heard(io.StringIO):
    """Lets a test wait for what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.flushed = threading.Event()

    def flush(self) -> None:
        self.flushed.set()


def test_without_a_terminal_a_line_says_from_time_to_time_how_far_the_run_has_come() -> None:
    heard = _Heard()
    line = LifeLine(heard, period=0.01)
    line.consume(Started(Target(("x",))))
    assert heard.flushed.wait(60)
    line.consume(Planned(3))
    line.consume(CaseEnded(REVISION, "stdio", "tools/list", "ok", 0.1))
    heard.flushed.clear()
    assert heard.flushed.wait(60)
    heard.flushed.clear()
    assert heard.flushed.wait(60)
    line.consume(Finished(report()))
    first, *_, last = heard.getvalue().splitlines()
    assert re.fullmatch(r"mcp-conform: starting the server \(\d+ s\)", first)
    assert re.fullmatch(r"mcp-conform: testing, 1 of 3 cases done \(\d+ s\)", last)
