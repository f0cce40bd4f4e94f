"""The command line through its front door, in a pipe."""

from __future__ import annotations

import json
import re
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from fronts import conform

COMMAND = [sys.executable, "-m", "conformance"]
REFERENCE = f"{sys.executable} -m conformance.reference"


def test_without_a_target_usage_is_shown() -> None:
    done = conform()
    assert done.returncode == 2
    assert done.stderr.startswith("Usage: mcp-conform ")
    assert done.stderr.rstrip().endswith("--config FILE; mcp-conform init writes a target file")
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--server", 'a "b'], "cannot be split into words"),
        (["--url", "ftp://x"], "'ftp://x' is not an http or https URL"),
        (["--server", "x", "--start-timeout", "inf"], "inf is not a number up to 1000000"),
        (["--server", "x", "--timeout", "nan"], "nan is not a number up to 1000000"),
        (["--server", "x", "--time-limit", "1e12"], "1e12 is not a number up to 1000000"),
        (["--server", "x", "--fuzz-time", "nan"], "nan is not a number up to 1000000"),
        (["bench", "--server", "x", "--rate", "nan"], "nan is not a number up to 1000000"),
        (["bench", "--server", "x", "--duration", "inf"], "inf is not a number up to 1000000"),
        (["fleet", "x", "--out", "y", "--time", "inf"], "inf is not a number up to 1000000"),
        (["--url", "http://127.0.0.1:70000/mcp"], "'http://127.0.0.1:70000/mcp' has no valid port"),
        (["--url", "http://127.0.0.1:0/mcp"], "has no valid port"),
        (["--url", "http://[::1/mcp"], "'http://[::1/mcp' has no valid host"),
        (["--url", "http://a..b/mcp"], "has no valid host"),
        (["--url", "http://a b/mcp"], "has a character in it that is blank"),
        (["--url", "http:///mcp"], "names no host"),
        (["--url", "http://me:t0ps3cret@[::1/"], "'http://me:***password***@[::1/' has no valid host"),
        (["--url", "http://127.0.0.1:{port}/"], "only together with a server to start"),
        (["--server", "x", "--header", "A: b"], "only a server at a --url gets headers"),
        (["--url", "http://x/", "--header", "A B: c"], "--header: 'A B' has characters that HTTP does not carry"),
        (["--url", "http://x/", "--header", "A: \u4e16"], "--header: 'A' has characters that HTTP does not carry"),
        (["--url", "http://x/", "--header", "content-length: 5"], "'content-length' is set by mcp-conform itself"),
        (["--url", "http://x/", "--header", "Mcp-Session-Id: 5"], "'Mcp-Session-Id' is set by mcp-conform itself"),
        (["--url", "http://x/", "--header", "mcp-param-x: 5"], "'mcp-param-x' is set by mcp-conform itself"),
        (["--server", "x", "--env", "A"], "'A' is not of the form NAME=VALUE"),
        (["--server", "x", "--only", "toolz"], "'toolz'"),
        (["--server", "x", "--skip", "toolz"], "'toolz'"),
        (["--server", "x", "--revision", "2020-01-01"], "unknown revision 2020-01-01"),
        (["--server", "x", "--json", "/nonexistent/report.json"], "--json: /nonexistent/report.json cannot be written"),
        (["--server", "x", "--junit", "/"], "--junit: / cannot be written"),
        (["--server", "x", "--call-tools", "some"], "--call-tools"),
        (["--no-such-option"], "--no-such-option"),
        (["lst"], "Did you mean 'list'?"),
        (["python", "my server.py"], "did you mean: mcp-conform --server 'python '\"'\"'my server.py'\"'\"''"),
        (["https://example.com/mcp"], "did you mean: mcp-conform --url https://example.com/mcp"),
        (["no-such-program"], "No such command 'no-such-program'"),
        (["--url", "localhost:3000/mcp"], "does it begin with http:// or https://?"),
        (["explain", "tools/list-shap"], "did you mean tools/list-shape"),
        (["list", "--area", "toolz"], "there is no area 'toolz'"),
        (["demo", "--fault", "version-member-mising"], "did you mean version-member-missing"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_use_is_status_2_and_names_the_cause(arguments: list[str], words: str) -> None:
    done = conform(*arguments)
    assert done.returncode == 2
    assert words in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("server.py", "mcp-conform --server 'python server.py --stdio'"),
        ("./index.mjs", "mcp-conform --server 'node ./index.mjs --stdio'"),
        ("mcp.json", "mcp-conform --config mcp.json --stdio"),
        ("mine.yaml", "mcp-conform --target mine.yaml --stdio"),
    ],
)
def test_who_names_a_file_alone_is_told_what_to_type(name: str, line: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("")
    done = conform(name, "--stdio", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"mcp-conform: {name!r} is not a command of mcp-conform; did you mean: {line}\n"


def test_who_takes_a_script_for_a_command_is_told_how_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text("")
    done = conform("--server", "server.py", cwd=tmp_path)
    assert done.returncode == 3
    assert "a program in this folder is ./server.py, a script is started by python server.py" in done.stdout


def test_a_server_that_is_slow_to_start_is_told_of_the_option(tmp_path: Path) -> None:
    done = conform("--server", f"{sys.executable} -c 'input(); input()'", "--start-timeout", "1", cwd=tmp_path)
    assert done.returncode == 3
    assert "no answer within 1 s (--start-timeout)" in done.stdout


def test_help_imports_neither_the_engine_nor_rich() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "conformance", "--help"], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "click" in imported
    for heavy in (
        "pydantic",
        "rich",
        "yaml",
        "jsonschema",
        "hypothesis",
        "httpx2",
        "conformance.engine.runner",
        "conformance.cli.front",
    ):
        assert heavy not in imported


def test_help_takes_less_than_a_quarter_second_of_cpu() -> None:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    conform("--help")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime < 0.25


def test_a_bug_of_our_own_is_no_violation_of_the_server() -> None:
    done = _ended_by("1 / 0")
    assert done.returncode == 3
    assert "ZeroDivisionError" in done.stderr
    assert done.stderr.endswith("this is a bug of mcp-conform, not of the server: please report it\n")


def test_an_interrupt_before_the_run_is_no_violation_either() -> None:
    done = _ended_by("(_ for _ in ()).throw(KeyboardInterrupt)")
    assert done.returncode == 3
    assert done.stderr == "mcp-conform: interrupted before anything was tested\n"


def test_a_signal_while_a_class_is_being_made_is_an_interrupt_and_no_bug() -> None:
    signalling = (
        "type('Field', (), {'__set_name__': lambda *_: __import__('os').kill(__import__('os').getpid(), 15)})()"
    )
    done = _ended_by(f"type('Made', (), {{'field': {signalling}}})")
    assert done.returncode == 3
    assert done.stderr == "mcp-conform: interrupted before anything was tested\n"


def _ended_by(expression: str) -> subprocess.CompletedProcess[str]:
    script = "from conformance import __main__\nfrom conformance.cli import main\n"
    script += f"main.app.main = lambda **_: {expression}\n__main__.main()"
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)


def test_the_version_is_shown() -> None:
    from conformance import __version__

    assert conform("--version").stdout == f"mcp-conform {__version__}\n"


def test_list_as_json_has_every_requirement_with_its_state() -> None:
    from conformance.catalogue.requirements import load

    rows = json.loads(conform("list", "--json").stdout)
    assert [row["requirement"] for row in rows] == list(load())
    assert {row["state"] for row in rows} <= {"checked", "unobservable", "not yet"}
    for row in rows:
        assert (row["state"] == "checked") <= bool(row["checked_by"])
        assert (row["state"] == "unobservable") == bool(row["unobservable"])


def test_list_is_narrowed_by_area_revision_and_state() -> None:
    rows = json.loads(
        conform("list", "--json", "--area", "tools", "--revision", "2024-11-05", "--state", "checked").stdout
    )
    assert rows
    for row in rows:
        assert row["requirement"].startswith("tools/")
        assert "2024-11-05" in row["levels"]
        assert row["state"] == "checked"


def test_explain_tells_text_levels_link_check_and_fault() -> None:
    text = conform("explain", "jsonrpc/version-member").stdout
    for part in (
        "Every message a server emits carries",
        "2025-11-25  MUST, schema",
        "https://modelcontextprotocol.io/specification/2025-11-25/",
        "invariant envelope",
        "mcp-conform demo --fault version-member-missing",
    ):
        assert part in text


def test_the_demo_passes_and_its_fault_fails() -> None:
    good = conform("demo", "--revision", "2025-11-25", "--only", "jsonrpc/version-member")
    assert good.returncode == 0, good.stdout
    bad = conform(
        "demo", "--fault", "version-member-number", "--revision", "2025-11-25", "--only", "jsonrpc/version-member"
    )
    assert bad.returncode == 1, bad.stdout
    assert "violation  jsonrpc/version-member  MUST, schema" in bad.stdout
    assert "\x1b" not in bad.stdout


def test_a_quick_run_starts_one_server_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    server = f"sh -c 'echo >> {starts}; exec {REFERENCE}'"
    done = conform("--server", server, "--revision", "2025-11-25", "--quick", "--json", tmp_path / "report.json")
    assert done.returncode == 0, done.stdout
    left = re.search(r"^--quick left out (\d+) requirements that one session cannot tell at once$", done.stdout, re.M)
    assert left and int(left[1]) > 0
    run = json.loads((tmp_path / "report.json").read_text())["runs"][0]
    decided = [judged for judged in run["verdicts"] if judged["verdict"] in ("passed", "failed")]
    assert len(decided) > 100
    assert len(starts.read_text()) == 1


def test_a_quick_run_finds_what_a_session_tells() -> None:
    done = conform("demo", "--quick", "--revision", "newest", "--fault", "version-member-number")
    assert done.returncode == 1, done.stdout
    assert "violation  jsonrpc/version-member  MUST, schema" in done.stdout


def test_a_quick_run_confirms_all_that_it_found_on_one_more_server(tmp_path: Path) -> None:
    starts, report = tmp_path / "starts", tmp_path / "report.json"
    faults = ("tool-name-number", "unknown-tool-code", "unknown-prompt-code")
    server = f"sh -c 'echo >> {starts}; exec {REFERENCE} {' '.join('--fault ' + fault for fault in faults)}'"
    conform("--server", server, "--revision", "2025-11-25", "--quick", "--json", report)
    verdicts = [judged for run in json.loads(report.read_text())["runs"] for judged in run["verdicts"]]
    found = [finding for judged in verdicts for finding in judged["findings"]]
    assert len({finding["case"] for finding in found}) >= 3
    assert all(finding["confirmed"] for finding in found)
    assert len(starts.read_text()) == 2


def test_a_quick_run_of_what_takes_more_than_a_session_is_wrong_use() -> None:
    done = conform("demo", "--quick", "--only", "fuzz/malformed")
    assert done.returncode == 2
    assert (
        done.stderr == "mcp-conform: --quick leaves nothing to test: what was asked for takes more than one session\n"
    )


def test_a_run_writes_all_its_reports(tmp_path: Path) -> None:
    files = {kind: tmp_path / kind for kind in ("json", "junit", "html", "trace")}
    options = [word for kind, path in files.items() for word in (f"--{kind}", str(path))]
    done = conform("--server", REFERENCE, "--revision", "newest", "--only", "tools/list-shape", "--verbose", *options)
    assert done.returncode == 0, done.stdout + done.stderr
    report = json.loads(files["json"].read_text())
    assert report["complete"] is True
    assert report["counts"]["passed"] == 1
    assert [run["revision"] for run in report["runs"]] == ["2026-07-28"]
    for kind in ("junit", "html"):
        assert "tools/list-shape" in files[kind].read_text()
    assert any(json.loads(line)["origin"] == "target" for line in files["trace"].read_text().splitlines())


def test_a_command_that_does_not_exist_is_named_once_and_is_status_3(tmp_path: Path) -> None:
    done = conform("--server", "no-such-command-anywhere", "--json", str(tmp_path / "report.json"))
    assert done.returncode == 3
    assert done.stdout.count("was not found") == 1
    report = json.loads((tmp_path / "report.json").read_text())
    assert "no-such-command-anywhere" in report["problem"]
    assert report["exit"] == 3


def test_an_interrupted_run_reports_what_was_learned(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    running = subprocess.Popen(
        [*COMMAND, "--server", REFERENCE, "--json", str(path), "--verbose", "--jobs", "1"],
        stdout=subprocess.PIPE,
        text=True,
        bufsize=1,
    )
    assert running.stdout is not None
    for line in running.stdout:
        if " (0." in line:
            break
    running.send_signal(signal.SIGINT)
    rest = running.stdout.read()
    assert running.wait(60) in (1, 3)
    assert "Interrupted: this is what was learned until then." in rest
    report = json.loads(path.read_text())
    assert report["complete"] is False
    assert report["runs"]


def test_a_reader_that_goes_away_ends_the_run_quietly(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    running = subprocess.Popen(
        [*COMMAND, "demo", "--verbose", "--revision", "2025-11-25"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None and running.stderr is not None
    running.stdout.readline()
    running.stdout.close()
    assert running.stderr.read() == ""
    assert running.wait(60) in (0, 1, 3)
    assert not path.exists()
