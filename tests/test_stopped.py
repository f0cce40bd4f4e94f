"""A run that is stopped by a signal, whoever sends it: job control works, and no verdict depends on it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pexpect
import psutil
import pytest

SIGNALING = Path(__file__).resolve().parent / "servers" / "signals_parent.py"
OPTIONS = ("--revision", "newest", "--only", "lifecycle", "--fuzz", "0", "--timeout", "2")
PATIENCE = 120.0
"""Seconds; reached only if something is wrong."""

IN_A_GROUP = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:], process_group=0).returncode)"
"""As a shell does it: the kernel lets nobody stop a group that has no parent in its session."""

STOPS_AND_GOES_ON = """
import os, signal, subprocess, sys
run = subprocess.Popen(sys.argv[1:], process_group=0, stdout=subprocess.PIPE, text=True)
next(line for line in run.stdout if "speaks" in line)
run.send_signal(signal.SIGTSTP)
_, status = os.waitpid(run.pid, os.WUNTRACED)
print("stopped" if os.WIFSTOPPED(status) else f"not stopped: {status}")
run.send_signal(signal.SIGCONT)
run.communicate()
print(f"status {run.returncode}.")
"""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="on other systems states of processes differ")


def command(name: str, tag: Path) -> list[str]:
    """A run against a server that sends this signal at its third line, at most once a process."""
    return [sys.executable, "-m", "conformance", "--server", f"{sys.executable} {SIGNALING} {name} 1 3 {tag}", *OPTIONS]


def left(tag: Path) -> list[psutil.Process]:
    """What runs on."""
    found = psutil.process_iter(["cmdline", "status"])
    return [p for p in found if p.info["status"] != psutil.STATUS_ZOMBIE and str(tag) in (p.info["cmdline"] or ())]


def await_that(what: Callable[[], bool]) -> None:
    """Wait until `what` is true."""
    deadline = time.monotonic() + PATIENCE
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("name", ["SIGTSTP", "SIGTTIN", "SIGTTOU"])
def test_without_a_terminal_a_server_cannot_stop_a_run_by_signals_of_job_control(name: str, tmp_path: Path) -> None:
    words = [sys.executable, "-c", IN_A_GROUP, *command(name, tmp_path)]
    done = subprocess.run(words, capture_output=True, text=True, start_new_session=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout + done.stderr


def test_at_a_terminal_a_run_can_be_stopped_and_goes_on(tmp_path: Path) -> None:
    words = ["-c", STOPS_AND_GOES_ON, *command("SIGCHLD", tmp_path)]
    terminal = pexpect.spawn(sys.executable, words, encoding="utf-8", timeout=PATIENCE)
    assert terminal.expect([r"stopped\s", r"status .+\."]) == 0
    assert terminal.expect([r"status 0\.", r"status .+\."]) == 0
    terminal.close()


def test_a_run_that_its_server_stops_goes_on_when_it_is_woken(tmp_path: Path) -> None:
    run = subprocess.Popen(command("SIGSTOP", tmp_path), stdout=subprocess.DEVNULL)
    stopped = 0
    while os.WIFSTOPPED(status := os.waitpid(run.pid, os.WUNTRACED)[1]):
        stopped += 1
        os.kill(run.pid, signal.SIGCONT)
    run.returncode = os.waitstatus_to_exitcode(status)
    assert (run.returncode, stopped > 0) == (0, True)
    assert left(tmp_path) == []


def test_a_run_that_is_killed_while_it_is_stopped_leaves_nothing(tmp_path: Path) -> None:
    run = subprocess.Popen(command("SIGSTOP", tmp_path), stdout=subprocess.DEVNULL)
    assert os.WIFSTOPPED(os.waitpid(run.pid, os.WUNTRACED)[1])
    run.kill()
    run.wait(PATIENCE)
    await_that(lambda: left(tmp_path) == [])
