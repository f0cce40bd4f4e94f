"""Whatever interrupts a run, at whatever moment: results are kept, no process and no file is left, no traceback."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import threading
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import psutil
import pytest
from fronts import SERVER, said

from conformance.system import interrupts

SIGNALING = Path(__file__).resolve().parent / "servers" / "signals_parent.py"
NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT")
COMMAND = [sys.executable, "-m", "conformance"]


class Interrupted:
    """A run, and what it left."""

    def __init__(self, folder: Path, server: str, *options: str) -> None:
        folder.mkdir(exist_ok=True)
        reports = ("--json", "report.json", "--junit", "junit.xml", "--trace", "trace.jsonl")
        command = [*COMMAND, "--server", f"{server} {folder}", *reports, "--timeout", "3", *options]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        self.status, self.stdout, self.stderr = done.returncode, done.stdout, done.stderr
        self.files = sorted(path.name for path in folder.iterdir())
        self.left = [p for p in psutil.process_iter(["cmdline"]) if str(folder) in (p.info["cmdline"] or ())]
        self._folder = folder

    @property
    def report(self) -> dict[str, Any]:
        """The JSON report."""
        report: dict[str, Any] = json.loads((self._folder / "report.json").read_text())
        return report


@pytest.mark.parametrize("stubborn", ["", "stubborn"], ids=["a server that goes", "a server that stays"])
@pytest.mark.parametrize("times", [1, 2], ids=["once", "twice"])
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_in_the_middle_keeps_what_was_learned(name: str, times: int, stubborn: str, tmp_path: Path) -> None:
    run = Interrupted(tmp_path / "run", f"{sys.executable} {SIGNALING} {name} {times} 12 {stubborn}", "--jobs", "1")
    assert run.status == 3, run.stdout + run.stderr
    assert "interrupted: ending the servers" in run.stderr
    assert "Traceback" not in run.stderr
    assert run.files == ["junit.xml", "report.json", "trace.jsonl"]
    assert run.left == []
    assert run.report["complete"] is False
    assert run.report["counts"]["failed"] == 0
    assert run.report["runs"]
    assert ET.parse(tmp_path / "run" / "junit.xml").getroot().findall("testsuite")


@pytest.mark.parametrize("stubborn", ["", "stubborn"], ids=["a server that goes", "a server that stays"])
@pytest.mark.parametrize("name", NAMES)
def test_a_signal_as_soon_as_the_server_is_started_leaves_nothing(name: str, stubborn: str, tmp_path: Path) -> None:
    server = f"{sys.executable} {SIGNALING} {name} 1 start {stubborn} {tmp_path}"
    done = subprocess.run([*COMMAND, "--server", server], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3
    assert "interrupted" in done.stderr
    assert "Traceback" not in done.stderr
    assert [p for p in psutil.process_iter(["cmdline"]) if str(tmp_path) in (p.info["cmdline"] or ())] == []


def test_a_signal_while_a_report_is_not_taken_ends_the_run_and_keeps_the_others(tmp_path: Path) -> None:
    fifo = tmp_path / "junit.fifo"
    os.mkfifo(fifo)
    options = ("--revision", "2025-11-25", "--fuzz", "0", "--json", str(tmp_path / "report.json"), "--junit", str(fifo))
    running = subprocess.Popen([*COMMAND, "--server", SERVER, *options], stdout=subprocess.PIPE, text=True)
    with fifo.open("rb", buffering=0) as unread:
        fcntl.fcntl(unread, fcntl.F_SETPIPE_SZ, 4096)  # less than the report
        unread.read(1)  # comes when the report is being written
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 130
    assert running.stdout is not None
    running.stdout.close()
    assert json.loads((tmp_path / "report.json").read_text())["complete"] is True


def test_what_is_ignored_stays_ignored(tmp_path: Path) -> None:
    server = f"{sys.executable} {SIGNALING} SIGHUP 1 start {tmp_path}"
    command = [*COMMAND, "--server", server, "--only", "lifecycle/ping", "--revision", "newest"]
    done = subprocess.run(["nohup", *command], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "interrupted" not in done.stderr


COMPUTING = """
import os, signal, time
from conformance.engine import supervision

supervision.MORE = 60.0  # however busy the machine is
with supervision.Supervision() as supervised:
    os.kill(os.getpid(), signal.SIGINT)
    with supervised.last_words(0.5):
        end = time.thread_time() + 0.6
        while time.thread_time() < end:
            pass
    print("written")
"""


def test_reports_that_are_still_being_computed_after_a_signal_are_written() -> None:
    done = subprocess.run([sys.executable, "-c", COMPUTING], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (0, "written\n"), done.stderr


def test_a_signal_after_the_exit_status_is_settled_changes_nothing() -> None:
    with interrupts.taken_by(interrupts.interrupt):
        interrupts.settle()
        try:
            os.kill(os.getpid(), signal.SIGTERM)
        finally:
            interrupts.settle(False)
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGTERM)
    assert interrupts.swallowed()  # as far as what comes after this test can tell
    assert not interrupts.swallowed()


IGNORED = """
import os, signal, sys

class Dying:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        while True:
            pass  # until the handler has raised, which Python ignores here

class Finder:
    def find_spec(self, name, *_):
        if name == "conformance.cli.front":
            Dying()

from conformance.__main__ import main
sys.meta_path.insert(0, Finder())
main()
"""


def test_a_signal_that_python_ignores_is_not_lost_and_shows_no_traceback() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IGNORED, "--server", SERVER], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 3, done.stdout
    assert said(done.stderr) == "\ninterrupted: ending the servers; interrupt again to kill them\n"


def test_handlers_are_as_before_afterwards_and_other_threads_change_none() -> None:
    before = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
    with interrupts.taken_by(lambda: None):
        inside = {number: signal.getsignal(number) for number in interrupts.SIGNALS}
        other = threading.Thread(target=lambda: interrupts.taken_by(lambda: None).__enter__())
        other.start()
        other.join()
        assert {number: signal.getsignal(number) for number in interrupts.SIGNALS} == inside
    assert {number: signal.getsignal(number) for number in interrupts.SIGNALS} == before
    assert set(inside.values()).isdisjoint(before.values())
