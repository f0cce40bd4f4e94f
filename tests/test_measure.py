"""What the measure of a run finds, shown with programs that stand for mcp-conform."""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest
from hostile import bounds, measure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are read from /proc")

LEAVES = """
import os, subprocess, sys
sleep = [sys.executable, "-c", "import time; time.sleep(600)"]
quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
subprocess.Popen(sleep, start_new_session=True, **quiet)
subprocess.Popen(sleep, start_new_session=True, env={}, **quiet)
subprocess.Popen([*sleep, os.getcwd()], start_new_session=True, env={}, cwd="/", **quiet)
open(os.path.join(os.environ["TMPDIR"], "forgotten"), "w")
print("Traceback (most recent call last):")
"""
TAKES = """
import os, subprocess, sys
hold = [sys.executable, "-c", "x = b'x' * 400_000_000; import time; time.sleep(0.5)"]
subprocess.run(hold, env={**os.environ, MARK: "x"} if sys.argv[1] == "target" else None)
"""
REPORTS = """
import sys
for option, text in (("--json", '{"counts": {"broken": 2}, "problem": "no server", "runs": []}'), ("--junit", "<a>")):
    open(sys.argv[sys.argv.index(option) + 1], "w").write(text)
sys.exit(3)
"""
DEAF = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); time.sleep(600)"


def measured(program: str, folder: Path, patch: pytest.MonkeyPatch, *words: str, limit: float = 60) -> measure.Outcome:
    """A program of ours, measured instead of mcp-conform."""
    patch.setattr(measure, "PROGRAM", (sys.executable, "-c", program))
    return measure.run("it", words, folder / "run", limit)


def test_what_is_left_is_found_by_environment_folder_and_command_line_and_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "GRACE", 0.0)
    done = measured(LEAVES, tmp_path, monkeypatch)
    assert len(done.processes) == 3
    assert done.files == ["tmp/forgotten"]
    assert done.traceback
    left = [each.info["cmdline"] for each in psutil.process_iter(["cmdline"])]
    assert not [words for words in left if words and str(tmp_path) in words[-1]]


@pytest.mark.parametrize(("of", "ours"), [("worker", True), ("target", False)])
def test_the_memory_of_workers_is_ours_and_that_of_the_target_is_not(
    of: str, ours: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = measured(TAKES.replace("MARK", repr(bounds.MARK)), tmp_path, monkeypatch, of)
    assert (done.memory > 300 * measure.MB) == ours


def test_reports_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = measured(REPORTS, tmp_path, monkeypatch)
    assert (done.status, done.broken, done.said, done.ended) == (3, 2, "no server", "by itself")
    assert "report.junit" in done.reports


def test_a_run_that_goes_on_is_interrupted_and_then_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "CTRL_C", 0.5)
    assert measured(DEAF, tmp_path / "deaf", monkeypatch, limit=1).ended == "by SIGKILL"
    ended = measured("import time; time.sleep(600)", tmp_path / "polite", monkeypatch, limit=1).ended
    assert ended.startswith("by Ctrl-C")


def test_a_run_that_takes_too_much_memory_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = "x = b'x' * 400_000_000; import time; time.sleep(600)"
    monkeypatch.setattr(measure, "PROGRAM", (sys.executable, "-c", program))
    done = measure.run("it", (), tmp_path / "run", 60, 200 * measure.MB)
    assert done.ended == "by SIGKILL, for its memory"
