"""The command line in a real terminal."""

from __future__ import annotations

import io
import os
import re
import signal
import sys
from pathlib import Path

import pexpect
import psutil
import pytest

REFERENCE = f"{sys.executable} -m conformance.reference"
ONE = ["--revision", "2025-11-25", "--only", "tools"]


def spawn(*arguments: str, width: int = 100, **env: str) -> tuple[pexpect.spawn[str], io.StringIO]:
    """Run `mcp-conform` on a pseudo-terminal; all that it shows is in the second value."""
    plain = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    log = io.StringIO()
    child = pexpect.spawn(
        sys.executable,
        ["-m", "conformance", *arguments],
        env={**plain, "TERM": "xterm-256color", **env},
        dimensions=(40, width),
        encoding="utf-8",
        timeout=120,
    )
    child.logfile_read = log
    return child, log


def test_a_terminal_shows_progress_a_table_and_colours() -> None:
    child, log = spawn("demo", "--fault", "version-member-number", "--only", "jsonrpc")
    child.expect(pexpect.EOF)
    child.close()
    text = log.getvalue()
    assert child.exitstatus == 1
    assert re.search(r"\d+/\d+ cases", text)
    assert "\x1b[1;31mviolation" in text
    assert re.search(r"area\s+2025-11-25\s+2026-07-28", text)
    assert text.count("\x1b[?25l") <= text.count("\x1b[?25h")


def test_no_color_is_honoured() -> None:
    child, log = spawn("demo", *ONE, NO_COLOR="1")
    child.expect(pexpect.EOF)
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]", log.getvalue())
    assert "Exit status 0" in log.getvalue()


def test_control_c_shows_what_was_learned_and_gives_the_cursor_back() -> None:
    child, log = spawn("--server", REFERENCE, "--jobs", "1")
    child.expect(r"\d+/\d+ cases")
    child.sendintr()
    child.expect("Interrupted: this is what was learned until then.")
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus in (1, 3)
    assert "Traceback" not in log.getvalue()
    assert log.getvalue().rindex("\x1b[?25h") > log.getvalue().rindex("\x1b[?25l")


def test_a_second_control_c_kills_a_stubborn_server_and_reports() -> None:
    stubborn = f"{sys.executable} {Path(__file__).with_name('bad_servers.py')} stubborn"
    child, log = spawn("--server", stubborn, "--jobs", "1")
    child.expect("is spoken")
    servers = psutil.Process(child.pid).children(recursive=True)
    child.sendintr()
    child.expect("interrupt again to kill them")
    child.sendintr()
    child.expect(pexpect.EOF)
    child.close()
    assert child.exitstatus == 3
    assert servers
    assert psutil.wait_procs(servers, timeout=30)[1] == []
    assert "Interrupted: this is what was learned until then." in log.getvalue()
    assert log.getvalue().rindex("\x1b[?25h") > log.getvalue().rindex("\x1b[?25l")


def test_being_terminated_is_being_interrupted() -> None:
    child, _log = spawn("--server", REFERENCE, "--jobs", "1")
    child.expect(r"\d+/\d+ cases")
    child.kill(signal.SIGTERM)
    child.expect("Interrupted: this is what was learned until then.")
    child.expect(pexpect.EOF)


@pytest.mark.parametrize("width", [80, 200])
def test_the_report_of_a_sound_server_fits_on_a_screen(width: int) -> None:
    child, log = spawn("demo", "--quick", "--revision", "all", width=width, NO_COLOR="1")
    child.expect(pexpect.EOF)
    child.close()
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", log.getvalue())
    # What the progress line says comes after a carriage return, and is overwritten.
    lines = [line.rstrip("\r").rpartition("\r")[2] for line in shown.rstrip().split("\n")]
    report = lines[next(n for n, line in enumerate(lines) if line.startswith("mcp-conform tests")) :]
    assert child.exitstatus == 0
    assert sum(max(1, -(-len(line) // width)) for line in report) <= 40
    assert report[-1] == "Exit status 0: no requirement that fails a server is broken."


def test_quiet_shows_no_progress() -> None:
    child, log = spawn("demo", *ONE, "--quiet", NO_COLOR="1")
    child.expect(pexpect.EOF)
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", log.getvalue()).splitlines()
    assert text == ["Exit status 0: no requirement that fails a server is broken."]
