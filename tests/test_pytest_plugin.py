"""The second front: pytest reports what the command line reports, from the same engine, and feels like pytest."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from fronts import REVISION, SERVER, as_a_user, by_command_line, by_pytest
from plugin_runs import Project

UNKNOWN_TOOL = "tools/unknown-tool-refused"
VERSION = "jsonrpc/version-member"
VIOLATING = ("--fault", "version-member-number")
WARNING = ("--fault", "tool-name-characters")
NAMES = "tools/name-characters"
HANDSHAKE, STATELESS = "mcp::handshake::stdio", "mcp::stateless::stdio"
SIGNALING = Path(__file__).resolve().parent / "servers" / "signals_parent.py"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


# -- the same engine


def test_both_fronts_say_the_same_of_the_correct_server(tmp_path: Path) -> None:
    said = by_command_line(tmp_path, SERVER, start=as_a_user)
    assert said == by_pytest(tmp_path, SERVER, start=as_a_user)
    assert set(said.values()) == {"passed", "skipped"}


def test_a_violation_is_a_failed_test_that_shows_the_finding_without_a_traceback(project: Project) -> None:
    done = project.pytest("--mcp-server", project.server(*VIOLATING), "--mcp-only", VERSION, "--mcp-quick")
    assert done.status == 1
    assert f"violation: {VERSION} [MUST, schema]" in done.text
    assert 'expected: "2.0"' in done.text and "frame:" in done.text and "again: mcp-conform" in done.text
    assert "Traceback" not in done.text and "runs.py" not in done.text


def test_the_newest_revision_of_each_era_is_tested_that_the_server_speaks(project: Project) -> None:
    done = project.pytest("--mcp-server", project.server("--revisions", "2025-03-26"), "--mcp-only", UNKNOWN_TOOL,
               "--mcp-only", "jsonrpc/batch-accepted", "--mcp-only", "elicitation/form-shape", "-rs")  # fmt: skip
    assert done.status == 0
    assert "2026-07-28 is not spoken" in done.text
    assert "the rule does not hold in 2025-03-26 over stdio" in done.text
    assert "2 passed, 3 skipped" in done.text
    assert 'name="mcp_revision" value="2025-03-26"' in done.junit.read_text()


def test_a_revision_that_was_asked_for_and_is_not_spoken_is_an_error(project: Project) -> None:
    done = project.pytest("--mcp-server", project.server("--revisions", "2025-03-26"), "--mcp-only", UNKNOWN_TOOL,
               "--mcp-revision", "2025-11-25", "--mcp-revision", "2025-03-26")  # fmt: skip
    assert done.status == 1
    assert "1 passed, 1 error" in done.text
    assert "Not tested: the server answers with version 2025-03-26" in done.text


# -- what was not asked for costs nothing


def test_items_are_collected_without_starting_a_server(project: Project) -> None:
    done = project.pytest("--mcp-server", project.server(), "--collect-only", "-q")
    assert done.status == 0
    assert f"{HANDSHAKE}::{UNKNOWN_TOOL}" in done.ids and f"{STATELESS}::{UNKNOWN_TOOL}" in done.ids
    assert len(done.ids) == len(set(done.ids)) > 400
    assert project.starts() == 0


def test_an_id_can_be_pasted_back(project: Project) -> None:
    server = project.server()
    collected = project.pytest("--mcp-server", server, "-k", "unknown-tool-refused or name-unique", "--co", "-q").ids
    assert len(collected) == 6
    done = project.pytest("--mcp-server", server, *collected[:1], "-v")
    assert f"{collected[0]} PASSED" in done.text
    assert "1 passed" in done.text and "collected 1 item" in done.text


def test_an_id_names_its_revision_itself(project: Project) -> None:
    identifier = f"mcp::2025-06-18::stdio::{UNKNOWN_TOOL}"
    done = project.pytest("--mcp-server", project.server(), identifier, "-v")
    assert f"{identifier} PASSED" in done.text and "1 passed" in done.text
    assert project.starts() == 1


def test_ids_may_name_an_area_and_come_from_a_folder_below(project: Project) -> None:
    project.write("pytest.ini", "[pytest]\n")
    done = project.pytest("--mcp-server", project.server(), f"../{HANDSHAKE}::pagination/", "--co", "-q", within="sub")
    found = [line for line in done.text.splitlines() if line.startswith(HANDSHAKE)]
    assert found and all("::pagination/" in line for line in found)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "with workers"])
def test_an_id_that_there_is_not_is_wrong_use(workers: tuple[str, ...], project: Project) -> None:
    done = project.pytest("--mcp-server", project.server(), f"{HANDSHAKE}::tools/nonsense", *workers)
    assert done.status == pytest.ExitCode.USAGE_ERROR
    assert f"not found: {HANDSHAKE}::tools/nonsense" in done.text


def test_a_keyword_saves_the_work_that_it_leaves_out(project: Project) -> None:
    words = ["--mcp-server", project.server(), "--mcp-revision", REVISION]
    done = project.pytest(*words, "-k", "unknown-tool-refused")
    assert "1 passed" in done.text and "deselected" in done.text
    assert project.starts() == 1


def test_after_the_first_failure_nothing_more_is_started(project: Project) -> None:
    first, second = project.server(*VIOLATING), project.server(name="other")
    done = project.pytest("--mcp-server", f"one={first}", "--mcp-server", f"two={second}", "--mcp-only", VERSION, "-x",
               "--mcp-quick")  # fmt: skip
    assert done.status == 1 and "stopping after 1 failures" in done.text
    assert project.starts() > 0
    assert project.starts("other") == 0


def test_with_a_failure_early_most_of_a_revision_is_never_played(project: Project) -> None:
    words = ["--mcp-server", project.server("--fault", "completion-unknown-prompt"), "--mcp-revision", REVISION]
    for area in ("completion", "versioning", "lifecycle", "jsonrpc", "transport-stdio"):
        words += ["--mcp-only", area]
    words += ["--mcp-strict", "--mcp-fuzz", "0", "--mcp-timeout", "3"]
    whole, everything = project.pytest(*words), project.starts()
    hasty = project.pytest(*words, "-x")
    assert whole.status == hasty.status == 1
    assert 0 < project.starts() < everything / 2


def test_what_failed_last_is_run_again_alone(project: Project) -> None:
    words = ["--mcp-server", project.server(*VIOLATING), "--mcp-revision", REVISION]
    words += ["--mcp-only", VERSION, "--mcp-only", UNKNOWN_TOOL, "-o", f"cache_dir={project.folder / 'cache'}"]
    assert "1 failed, 1 passed" in project.pytest(*words).text
    again = project.pytest(*words, "--lf")
    assert "1 failed, 1 deselected" in again.text, again.text
    assert again.of == {VERSION: "failed"}


def test_markers_choose_by_area_and_level(project: Project) -> None:
    words = ["--mcp-server", project.server(), "--collect-only", "-q", "-m"]
    tools = project.pytest(*words, "mcp_area(name='tools') and mcp_must").ids
    assert tools and all("::tools/" in each for each in tools)
    assert f"{HANDSHAKE}::{NAMES}" not in tools
    should = project.pytest(*words, "mcp_level(name='SHOULD')").ids
    assert f"{HANDSHAKE}::{NAMES}" in should
    assert not set(should) & set(project.pytest(*words, "mcp_must").ids)


def test_workers_share_the_work_and_do_none_of_it_twice(project: Project) -> None:
    words = ["--mcp-server", project.server(), "--mcp-only", "tools", "--mcp-quick"]
    alone, starts = project.pytest(*words), project.starts()
    for dist in ("load", "loadscope", "loadgroup"):
        together = project.pytest(*words, "-n", "2", "--dist", dist)
        assert together.status == 0
        assert together.of == alone.of
        assert project.starts() == starts


def test_workers_fail_what_fails_alone(project: Project) -> None:
    words = ["--mcp-server", project.server(*VIOLATING), "--mcp-only", VERSION, "--mcp-quick"]
    done = project.pytest(*words, "-n", "2")
    assert "2 failed" in done.text and f"violation: {VERSION}" in done.text


# -- what fails nobody


def test_a_warning_is_a_warning_of_pytest(project: Project) -> None:
    words = ["--mcp-server", project.server(*WARNING), "--mcp-only", NAMES, "--mcp-quick", "--mcp-revision", REVISION]
    done = project.pytest(*words)
    assert done.status == 0 and "1 passed, 1 warning" in done.text
    assert f"ConformanceWarning: warning: {NAMES} [SHOULD, text]" in done.text
    error = project.pytest(*words, "-W", "error::conformance.pytest_plugin.ConformanceWarning")
    assert error.status == 1 and f"warning: {NAMES}" in error.text
    assert "expected:" in error.text and "collection.py" not in error.text
    for strict in (["--mcp-strict"], ["--mcp-fail-on", "warning"]):
        assert "1 failed" in project.pytest(*words, *strict).text


def test_advice_is_a_section_of_the_report(project: Project) -> None:
    words = ["--mcp-server", project.server("--fault", "unknown-tool-code"), "--mcp-revision", REVISION]
    done = project.pytest(*words, "--mcp-only", UNKNOWN_TOOL, "-rA")
    assert done.status == 0 and "warning" not in done.text.splitlines()[-1]
    assert f"advice: {UNKNOWN_TOOL}" in done.text
    assert "1 failed" in project.pytest(*words, "--mcp-only", UNKNOWN_TOOL, "--mcp-fail-on", "advice").text


def test_a_known_finding_is_expected_to_fail_and_strictly_so(project: Project) -> None:
    entry = f"baseline: 1\nknown:\n  - {{rule: {VERSION}, revision: '{REVISION}', reason: wait for the SDK}}\n"
    project.write("known.yaml", entry)
    words = ["--mcp-only", VERSION, "--mcp-quick", "--mcp-revision", REVISION, "-rxX", "--mcp-baseline", "known.yaml"]
    done = project.pytest("--mcp-server", project.server(*VIOLATING), *words)
    assert done.status == 0 and "1 xfailed" in done.text and "wait for the SDK" in done.text
    sound = project.pytest("--mcp-server", project.server(), *words)
    assert sound.status == 1 and "[XPASS(strict)] wait for the SDK" in sound.text


def test_a_known_finding_whose_time_is_over_fails(project: Project) -> None:
    entry = f"baseline: 1\nknown:\n  - {{rule: {VERSION}, reason: no time, until: '2020-01-01'}}\n"
    project.write("known.yaml", entry)
    words = ["--mcp-only", VERSION, "--mcp-quick", "--mcp-revision", REVISION, "--mcp-baseline", "known.yaml"]
    assert "1 failed" in project.pytest("--mcp-server", project.server(*VIOLATING), *words).text


# -- servers


def test_a_server_that_does_not_exist_fails_its_own_items_and_is_told_once(project: Project) -> None:
    words = ["--mcp-server", "good=" + project.server(), "--mcp-server", "bad=no-such-command --of-a-user"]
    done = project.pytest(*words, "--mcp-only", UNKNOWN_TOOL)
    assert done.status == 1 and "2 passed, 2 errors" in done.text
    assert "ERROR at setup of mcp::bad::handshake" in done.text
    sentence = "Not tested: the command 'no-such-command' was not found; check the name and PATH"
    assert done.text.count(f"{sentence}\n") == 1
    assert "Traceback" not in done.text


def test_the_servers_of_a_client_configuration_are_tested(project: Project) -> None:
    command, *args = project.server().split()
    servers = {
        "good": {"command": command, "args": args},
        "bad": {"command": "no-such-command"},
        "off": {"command": command, "disabled": True},
        "a::b [c]": {"command": command, "args": args},
    }
    project.write("mcp.json", json.dumps({"mcpServers": servers}))
    words = ["--mcp-config", "mcp.json", "--mcp-only", UNKNOWN_TOOL, "--mcp-revision", REVISION]
    done = project.pytest(*words, "-v")
    assert "2 passed, 1 error" in done.text
    assert "mcp-conform: off is disabled and was not tested" in done.text
    assert f"mcp::bad::{REVISION}::stdio::{UNKNOWN_TOOL} ERROR" in done.text
    assert f"mcp::a:b (c)::{REVISION}::stdio::{UNKNOWN_TOOL} PASSED" in done.text
    one = project.pytest(*words, "--mcp-name", "good", "-v")
    assert f"mcp::good::{REVISION}::stdio::{UNKNOWN_TOOL} PASSED" in one.text and "1 passed" in one.text
    wrong = project.pytest(*words, "--mcp-server", "x")
    assert wrong.status == pytest.ExitCode.USAGE_ERROR and "--mcp-server cannot be used with" in wrong.text


def test_a_server_at_a_url_is_started_too(project: Project) -> None:
    server = project.server("--transport", "http", "--port", "{port}")
    words = ["--mcp-server", server, "--mcp-url", "http://127.0.0.1:{port}/mcp"]
    done = project.pytest(*words, f"mcp::{REVISION}::http::{UNKNOWN_TOOL}")
    assert "1 passed" in done.text


def test_a_transport_that_only_shows_when_the_server_is_asked_is_told(project: Project) -> None:
    server = project.server("--transport", "sse", "--port", "{port}")
    words = ["--mcp-server", server, "--mcp-url", "http://127.0.0.1:{port}/sse", "--mcp-only", UNKNOWN_TOOL]
    done = project.pytest(*words, "-rs")
    assert "1 passed, 1 skipped, 1 warning" in done.text
    assert "2026-07-28 cannot be spoken over http+sse" in done.text
    assert "its rules are put to the test with --mcp-transport sse" in done.text


def test_the_configuration_file_says_it_all_and_the_command_line_wins(project: Project) -> None:
    project.write(
        "pyproject.toml",
        f"""
[tool.pytest.ini_options]
mcp_server = {json.dumps(project.server())}
mcp_revision = "{REVISION}"
mcp_only = ["{UNKNOWN_TOOL}", "{NAMES}"]
mcp_call_tools = "none"
mcp_timeout = "5"
""",
    )
    project.write("test_mine.py", "def test_mine(): pass\n")
    assert f"mcp::{REVISION}::stdio::{UNKNOWN_TOOL}" in project.pytest("--co", "-q").ids
    assert "3 passed" in project.pytest().text
    assert "1 passed" in project.pytest("test_mine.py").text
    assert "1 passed" in project.pytest(f"mcp::{REVISION}::stdio::{NAMES}").text
    project.starts()
    other = project.pytest("--mcp-server", project.server(*WARNING, name="other"), "--mcp-strict", "test_mine.py")
    assert "1 failed, 2 passed" in other.text
    assert project.starts() == 0 and project.starts("other") > 0


def test_what_is_wrong_with_the_configuration_is_told_before_anything_is_started(project: Project) -> None:
    for words, told in {
        ("--mcp-revision", "1999-01-01"): "unknown revision 1999-01-01",
        ("--mcp-only", "tols"): "nothing matches 'tols'",
        ("--mcp-name", "x"): "only the servers of a --mcp-config have names",
        ("-o", "mcp_timeout=soon"): "mcp_timeout: 'soon' is not a number",
        ("-o", "mcp_call_tools=some"): "mcp_call_tools: 'some' is none of none, safe, all",
    }.items():
        done = project.pytest("--mcp-server", project.server(), *words)
        assert done.status == pytest.ExitCode.USAGE_ERROR, words
        assert told in done.text
    assert project.starts() == 0


# -- manners


def test_the_plugin_stays_out_of_a_run_without_its_options(project: Project) -> None:
    project.write(
        "test_other.py",
        """
import sys

def test_other():
    assert [name for name in sys.modules if name.startswith("conformance.")] == [
        "conformance.pytest_plugin.options", "conformance.pytest_plugin.warning", "conformance.pytest_plugin"]
""",
    )
    done = project.pytest("-W", "error")
    assert done.status == 0 and "1 passed" in done.text


def test_where_warnings_are_errors_only_those_of_the_server_are(project: Project) -> None:
    project.write("test_mine.py", "def test_list(mcp_server):\n    mcp_server.request('tools/list')\n")
    words = ["--mcp-server", project.server(), "--mcp-revision", REVISION, "--mcp-only", "tools"]
    done = project.pytest(*words, "-W", "error")
    assert done.status == 0 and "Warning" not in done.text


def test_the_plugin_can_be_switched_off(project: Project) -> None:
    project.write("test_other.py", "def test_other(): pass\n")
    assert "1 passed" in project.pytest("-p", "no:mcp_conform").text
    done = project.pytest("-p", "no:mcp_conform", "--mcp-server", project.server())
    assert done.status == pytest.ExitCode.USAGE_ERROR


def test_an_interrupt_ends_pytest_and_leaves_no_process(tmp_path: Path) -> None:
    server = f"{sys.executable} {SIGNALING} SIGINT 1 12 stubborn {tmp_path}"
    command = [sys.executable, "-m", "pytest", "--mcp-server", server, "--mcp-jobs", "1", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == pytest.ExitCode.INTERRUPTED
    assert "KeyboardInterrupt" in done.stdout and "no tests ran" in done.stdout
    assert [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in (p.info["cmdline"] or ())] == []


def test_a_report_of_the_command_line_is_json_of_version_1(tmp_path: Path) -> None:
    as_a_user("conformance", "--server", SERVER, "--only", "lifecycle", "--json", "report.json", cwd=tmp_path)
    assert json.loads((tmp_path / "report.json").read_text())["report"] == 1
