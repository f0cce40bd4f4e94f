"""`mcp-conform bench`: what it measures, its bounds, and what it finds in servers that misbehave under load."""

from __future__ import annotations

import copy
import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from click.testing import CliRunner
from fronts import conform
from jsonschema import Draft202012Validator

from conformance.bench.bounds import judged, parsed
from conformance.bench.comparison import compared
from conformance.bench.estimates import certain, growth, mean, ratio
from conformance.bench.symptoms import _period
from conformance.cli.main import app
from conformance.reporters.bench.page import as_html
from conformance.reporters.bench.table import print_report

ROOT = Path(__file__).resolve().parent.parent
SERVER = f"{sys.executable} -m conformance.reference"
SCHEMA = json.loads((ROOT / "schemas" / "bench.json").read_text("utf-8"))
FEW = ("--only", "tools/list", "--only", "tools/call:echo")


def bench(tmp_path: Path, *arguments: object, status: int = 0, server: str = SERVER) -> dict[str, Any]:
    """The report of a run, which must end with `status`."""
    file = tmp_path / "report.json"
    done = conform("bench", "--server", server, "--json", file, *arguments)
    assert done.returncode == status, done.stdout + done.stderr
    report: dict[str, Any] = json.loads(file.read_text("utf-8"))
    Draft202012Validator(SCHEMA).validate(report)
    return report


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A run against the correct server."""
    bounds = ("--bound", "p95=60s", "--bound", "errors=0", "--bound", "rss=10GB", "--bound", "leak=1GB/1000")
    return bench(tmp_path_factory.mktemp("sound"), "--duration", 6, *FEW, *bounds)


def test_the_schema_of_the_report_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_each_operation_has_its_latencies_alone_and_with_others_in_flight(sound: dict[str, Any]) -> None:
    (server,) = sound["servers"]
    assert [each["name"] for each in server["operations"]] == ["tools/list", "tools/call:echo"]
    for operation in server["operations"]:
        loads = {cell["in_flight"]: cell for cell in operation["loads"]}
        assert {1, 4, 16, 64} <= set(loads)
        for cell in loads.values():
            assert cell["count"] >= 1 and cell["errors"] == 0
            assert 0 < cell["p50"] <= cell["p95"] <= cell["p99"] <= cell["max"]
            assert sum(cell["bars"]) == cell["count"] and cell["histogram"]


def test_what_our_own_cost_is_stands_beside_what_was_measured(sound: dict[str, Any]) -> None:
    assert {cell["in_flight"] for cell in sound["bare"]["loads"]} >= {1, 64}
    for operation in sound["servers"][0]["operations"]:
        assert all(0 < cell["ours"] <= 1 for cell in operation["loads"])


def test_a_correct_server_shows_no_symptom_and_keeps_bounds_that_are_wide(sound: dict[str, Any]) -> None:
    (server,) = sound["servers"]
    assert server["symptoms"] == [] and server["rules"] == []
    assert [row["state"] for row in sound["bounds"]] == ["kept"] * 4
    assert sound["complete"] and not sound["problem"]


def test_the_cost_of_the_process_is_told(sound: dict[str, Any]) -> None:
    cost = sound["servers"][0]["cost"]
    assert 1e6 < cost["before"]["rss"] <= cost["peak_rss"] < 1e9
    assert cost["before"]["threads"] >= 1 and cost["before"]["files"] >= 3 and cost["cpu_per_request"] > 0


def test_how_long_a_start_and_an_end_take_is_told(sound: dict[str, Any]) -> None:
    times = sound["servers"][0]["times"]
    assert all(times[name] > 0 for name in ("start", "first", "end")) and times["each"][0]["how"] == "closed"


def test_a_bound_that_is_exceeded_fails(tmp_path: Path) -> None:
    tight = ("--bound", "tools/call:echo:p50=0.001us", "--bound", "rss=1kB", "--bound", "rate=1000000000")
    report = bench(tmp_path, "--duration", 2, *FEW, *tight, "--bound", "p99=60s", status=1)
    assert [row["state"] for row in report["bounds"]] == ["broken", "broken", "broken", "kept"]


@pytest.mark.parametrize(
    ("bound", "says"),
    [
        ("p95", "not of the form"),
        ("p96=5ms", "no metric 'p96'"),
        ("p95=5", "a number with us"),
        ("p95=5MB", "a number with us"),
        ("rss@4=1MB", "of the whole server"),
        ("leak=1MB/0", "not a number of requests"),
        ("tools/call:ech:p95=5ms", "no operation matches 'tools/call:ech'"),
        ("p95@3=5ms", "3 requests in flight are not measured"),
    ],
)
def test_a_bound_that_can_never_be_checked_is_wrong_use(bound: str, says: str) -> None:
    done = CliRunner().invoke(app, ["bench", "--server", SERVER, "--duration", "1", *FEW, "--bound", bound])
    assert done.exit_code == 2 and says in done.stderr, done.stderr


@pytest.mark.parametrize(
    ("fault", "symptom"),
    [
        ("serialises", "serialises"),
        ("leaks-memory", "leak"),
        ("slows", "slows"),
        ("stalls", "stalls"),
        ("drops", "drops"),
        ("errs", "errors"),
        ("forgets", "differs"),
    ],
)
def test_what_goes_wrong_only_under_load_is_found(tmp_path: Path, fault: str, symptom: str) -> None:
    assert symptoms_of(tmp_path, f"{SERVER} --load-fault {fault}", "--only", "tools/call:echo") == {symptom}


def symptoms_of(tmp_path: Path, server: str, *arguments: object) -> set[str]:
    """The kinds of symptoms that a short run finds or, where others keep the machine busy, a longer one."""
    found: set[str] = set()
    for duration in (3, 10, 30, 30):
        (measured,) = bench(tmp_path, "--duration", duration, *arguments, server=server)["servers"]
        found = {each["kind"] for each in measured["symptoms"]}
        if found:
            break
    return found


AT_URL = ("--url", "http://127.0.0.1:{port}/mcp", "--revision", "2025-11-25", "--only", "tools/call:echo")
OVER_HTTP = f"{SERVER} --transport http --port {{port}}"


@pytest.mark.parametrize(
    ("fault", "symptom"),
    [
        ("leaks-threads", "session-threads"),
        ("leaks-processes", "session-processes"),
        ("leaks-sessions", "session-memory"),
    ],
)
def test_what_each_session_leaves_behind_is_found(tmp_path: Path, fault: str, symptom: str) -> None:
    few = ("--in-flight", "8")  # or others open all the sessions for which there is time
    assert symptoms_of(tmp_path, f"{OVER_HTTP} --load-fault {fault}", *AT_URL, *few) == {symptom}


def test_a_correct_server_at_a_url_is_asked_over_one_and_many_sessions(tmp_path: Path) -> None:
    report = bench(tmp_path, "--duration", 5, *AT_URL, "--in-flight", "8", "--bound", "errors=0", server=OVER_HTTP)
    (server,) = report["servers"]
    (operation,) = server["operations"]
    assert {(cell["in_flight"], cell["sessions"]) for cell in operation["loads"]} >= {(1, 1), (8, 1), (8, 8)}
    assert server["symptoms"] == [] and server["sessions"]["count"] > 0
    assert all(cell["ours"] for cell in operation["loads"])


def test_results_that_belong_to_other_requests_are_noticed(tmp_path: Path) -> None:
    server = f"{sys.executable} {ROOT / 'tests' / 'servers' / 'mixing.py'}"
    found: set[str] = set()
    for duration in (2, 8, 20):  # the longer ones where others keep the machine busy
        report = bench(tmp_path, "--duration", duration, "--bound", "errors=0", server=server, status=1)
        (measured,) = report["servers"]
        echo = next(each for each in measured["operations"] if each["name"] == "tools/call:echo")
        alone = next(cell for cell in echo["loads"] if cell["in_flight"] == 1)
        found = {each["kind"] for each in measured["symptoms"]}
        if "mixes" in found and not alone["errors"]:
            break
    assert echo["echoes"] and not alone["errors"]
    assert sum(cell["wrong"].get("answer of another request", 0) for cell in echo["loads"]) > 0
    assert "mixes" in found


def test_a_server_that_ends_under_load_is_told_with_its_exit_code(tmp_path: Path) -> None:
    server = f"{sys.executable} {ROOT / 'tests' / 'servers' / 'mixing.py'} 40"
    report = bench(tmp_path, "--duration", 2, "--bound", "errors=100000", server=server, status=3)
    (measured,) = report["servers"]
    assert "exited with code 7" in measured["lost"] and measured["symptoms"][0]["kind"] == "gone"
    assert "exited with code 7" in report["problem"]


# Bounds


def test_a_bound_that_nothing_was_measured_for_is_no_success(sound: dict[str, Any]) -> None:
    server = copy.deepcopy(sound["servers"][0])
    server["growth"]["rss"] = server["cost"] = None
    for operation in server["operations"]:
        operation["loads"] = []
    bounds = [parsed(text) for text in ("leak=1MB/1000", "rss=1GB", "p95=1s", "errors=0", "rate=1")]
    assert {row["state"] for row in judged(bounds, server)} == {"not measured"}


@pytest.mark.parametrize(
    ("text", "where", "load", "value"),
    [
        ("p95=50ms", "", 1, 0.05),
        ("tools/call:a:b:p99@16=1.5s", "tools/call:a:b", 16, 1.5),
        ("tools/call:max=3us", "tools/call", 1, 3e-6),
        ("rss=200MB", "", 1, 2e8),
        ("leak=1MB/1000", "", 1, 1e3),
        ("leak=10B/request", "", 1, 10),
        ("leak=1kB", "", 1, 1),
        ("tools/*:errors=2", "tools/*", 1, 2),
        ("rate@64=500", "", 64, 500),
    ],
)
def test_a_bound_says_what_it_is_about(text: str, where: str, load: int, value: float) -> None:
    bound = parsed(text)
    assert (bound.where, bound.load) == (where, load) and bound.value == pytest.approx(value)


# Comparing


def test_two_servers_are_measured_in_turns_and_compared(tmp_path: Path) -> None:
    slow = f"{SERVER} --load-fault serialises"
    few = ("--only", "tools/call:echo", "--in-flight", "1,8", "--duration", 6)
    comparison = bench(tmp_path, "--against", slow, *few)["comparison"]
    (alone,) = [row for row in comparison["rows"] if row["in_flight"] == 1]
    assert alone["ratio"] > 2 and alone["state"] != "faster"


def _scaled(server: dict[str, Any], factor: float) -> dict[str, Any]:
    """The server as if it took `factor` times as long."""
    other = copy.deepcopy(server)
    for operation in other["operations"]:
        for cell in operation["loads"]:
            cell["blocks"] = [factor * each for each in cell["blocks"]]
    return other


def test_what_takes_much_longer_than_before_is_slower_and_the_same_is_the_same(sound: dict[str, Any]) -> None:
    (server,) = sound["servers"]
    states = {row["state"] for row in compared(server, _scaled(server, 1000), "before")["rows"]}
    assert "slower" in states and "faster" not in states
    assert {row["state"] for row in compared(server, server, "before")["rows"]} == {"same"}
    assert "faster" in {row["state"] for row in compared(server, _scaled(server, 0.001), "before")["rows"]}


def test_a_run_is_compared_with_the_file_of_an_older_one(tmp_path: Path, sound: dict[str, Any]) -> None:
    old = tmp_path / "old.json"
    old.write_text(json.dumps({**sound, "servers": [_scaled(sound["servers"][0], 0.001)]}))
    report = bench(tmp_path, "--duration", 3, "--in-flight", "1", *FEW, "--compare", old)
    rows = report["comparison"]["rows"]
    assert len(rows) == 2 and all(row["ratio"] > 10 and row["state"] != "faster" for row in rows)
    assert sound["started"] in report["comparison"]["with"]


@pytest.mark.parametrize("text", ["{", "{}", '{"bench": 2}', "[]"])
def test_a_file_that_is_no_report_is_wrong_use(tmp_path: Path, text: str) -> None:
    file = tmp_path / "old.json"
    file.write_text(text)
    done = CliRunner().invoke(app, ["bench", "--server", SERVER, "--compare", str(file)])
    assert done.exit_code == 2 and str(file) in done.stderr


# Care


def test_a_server_that_is_not_started_here_is_left_alone_without_yes() -> None:
    done = CliRunner().invoke(app, ["bench", "--url", "http://127.0.0.1:9/mcp"])
    assert done.exit_code == 2 and "--yes" in done.stderr


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The reference server over HTTP, run by somebody else; its URL."""
    command = [sys.executable, "-m", "conformance.reference", "--transport", "http", *arguments]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        yield process.stderr.readline().split()[-1]
        process.terminate()


def test_a_server_that_is_not_started_here_gets_no_more_requests_a_second_than_allowed(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    with running() as url:
        few = ("--only", "tools/call:echo", "--only", "server/discover")
        done = conform("bench", "--url", url, "--yes", "--rate", "40", "--duration", 3, *few, "--json", file)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(file.read_text())
    (server,) = report["servers"]
    cells = [cell for operation in server["operations"] for cell in operation["loads"]]
    steps = server["open_loop"]["steps"]
    sent = server["growth"]["requests"] + sum(each["count"] for each in (*cells, *steps))
    assert server["cost"] is None and 0 < sent <= 1.2 * 40 * report["seconds"]
    assert all(step["offered"] <= 40 for step in steps)


def test_no_tool_is_called_that_may_do_harm_and_it_is_said_which(sound: dict[str, Any]) -> None:
    assert sound["servers"][0]["left_out"] == {}  # it was not asked for
    done = conform("bench", "--server", SERVER, "--duration", 1, "--only", "tools/call:toggle_tool")
    assert done.returncode == 3 and "tools/call:toggle_tool: not annotated readOnlyHint" in done.stdout


def test_a_secret_of_the_environment_is_in_no_report(tmp_path: Path) -> None:
    secret = "hunter2-and-more-of-it"
    server = f"{sys.executable} -m conformance.reference --path {secret}"
    page = tmp_path / "page.html"
    arguments = ("--server", server, "--duration", "1", "--only", "tools/list", "--env", f"API_TOKEN={secret}")
    done = conform("bench", *arguments, "--json", tmp_path / "r.json", "--html", page)
    assert done.returncode == 0, done.stderr
    for text in (done.stdout, done.stderr, page.read_text(), (tmp_path / "r.json").read_text()):
        assert secret not in text
    assert "***API_TOKEN***" in done.stdout


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ("no-such-program-7f3a", "was not found"),
        (f"{sys.executable} -c pass", "exited with code 0"),
    ],
)
def test_a_server_that_cannot_be_measured_is_named_with_the_reason(server: str, says: str) -> None:
    done = conform("bench", "--server", server, "--duration", "1")
    assert done.returncode == 3 and says in done.stdout, done.stdout + done.stderr


def test_an_interrupted_run_tells_what_was_learned_and_leaves_no_process(tmp_path: Path) -> None:
    file = tmp_path / "report.json"
    ready = tmp_path / "ready"
    wrapper = f"import pathlib, runpy, sys; pathlib.Path({str(ready)!r}).touch(); sys.argv = ['reference']; "
    wrapper += "runpy.run_module('conformance.reference', run_name='__main__')"
    (tmp_path / "server.py").write_text(wrapper)
    command = [sys.executable, "-m", "conformance", "bench", "--server", f"{sys.executable} {tmp_path / 'server.py'}"]
    with subprocess.Popen([*command, "--json", str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        started = psutil.Process(process.pid)
        bare = False
        while not bare and process.poll() is None:  # the bare loop is started once all else is ready
            below = started.children(recursive=True)
            bare = ready.exists() and any("bare.py" in word for each in below for word in _words(each))
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    assert process.returncode == 3, out
    report = json.loads(file.read_text())
    Draft202012Validator(SCHEMA).validate(report)
    assert not report["complete"] and report["servers"] and "interrupted" in report["problem"]
    _, alive = psutil.wait_procs(below, timeout=10)
    assert not alive


def _words(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.Error:
        return []


# What is shown


def _shown(report: dict[str, Any], encoding: str) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding)
    print_report(report, stream=stream)
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_a_pipe_gets_no_colour_and_a_terminal_of_ascii_gets_ascii(sound: dict[str, Any]) -> None:
    assert "\x1b" not in _shown(sound, "utf-8")
    plain = _shown(sound, "ascii")
    assert plain.isascii() and "tools/call:echo" in plain and re.search(r"\d us|\d ms", plain)


def test_what_a_server_calls_itself_does_nothing_on_the_page_and_in_the_terminal(sound: dict[str, Any]) -> None:
    report = copy.deepcopy(sound)
    report["servers"][0]["server"] = {"name": "<script>alert(1)</script>\x1b[31m", "version": "1"}
    report["servers"][0]["operations"][0]["name"] = "tools/call:<img src=x>\x1b]0;title\x07"
    page = as_html(report)
    assert "<script" not in page and "<img" not in page and "\x1b" not in page
    assert "\x1b" not in _shown(report, "utf-8") and "\x07" not in _shown(report, "utf-8")


def test_the_page_needs_nothing_from_elsewhere_and_has_plots(sound: dict[str, Any]) -> None:
    page = as_html(sound)
    assert page.count("<svg") > 4 and "<polyline" in page
    assert not re.search(r"(src|href)=|@import|url\(", page) and "default-src &#39;none&#39;" in page


def test_the_help_says_what_a_bound_is() -> None:
    done = CliRunner().invoke(app, ["bench", "--help"])
    assert done.exit_code == 0 and "leak=1MB/1000" in done.stdout and "--against" in done.stdout


# Statistics


def test_an_interval_is_that_of_students_t() -> None:
    found = mean([1.0, 2.0, 3.0, 4.0, 5.0])
    assert found is not None and found.value == 3
    assert found.high - found.value == pytest.approx(2.7764 * (2.5**0.5) / 5**0.5, rel=1e-3)


def test_one_jump_of_memory_is_no_growth_and_many_are() -> None:
    steps = [100.0] * 30
    once = growth([1e6] * 15 + [2e6] * 16, steps)
    always = growth([1e6 + 1e5 * (i // 2) for i in range(31)], steps)
    assert once is not None and once.low <= 0
    assert always is not None and always.low > 0 and always.value == pytest.approx(500)


def test_equal_samples_do_not_differ_and_of_many_chances_only_the_small_ones_count() -> None:
    same = ratio([1.0, 1.1, 0.9, 1.0], [1.0, 0.9, 1.1, 1.0])
    assert same is not None and same.low < 1 < same.high and same.p > 0.5
    assert certain([0.04, 0.5, 1e-6, 0.9]) == [False, False, True, False]


def test_regular_stalls_are_told_from_those_that_come_by_chance() -> None:
    regular = [i for i in range(1000) if i % 100 == 37]
    assert _period(sorted({*regular, 5, 222, 641}), 1000) == 100
    assert _period([3, 17, 99, 140, 333, 512, 700, 701, 950], 1000) == 0
