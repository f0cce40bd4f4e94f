"""What servers over HTTP may send, and what it costs: bounded memory, a report, no bug of ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.model import Limits, Target
from conformance.target.listening import RunningServer

SERVER = Path(__file__).resolve().parent / "servers" / "hostile_http.py"
MOST_MEMORY = 300 * 1024  # KiB
MEASURE = """
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)
"""
"""Runs a command from a small process: the peak of a process begins with that of the one that started it."""

CHEAP = ["big-header", "many-headers", "endless-head", "bad-chunks", "http-09", "garbage", "closing", "close-at-accept"]
CHEAP += ["short-body", "odd-length", "two-lengths", "odd-status", "no-gzip", "unknown-coding", "fat-heads"]
LARGE = ["big-body", "endless-body", "endless-event", "endless-lines", "huge-chunk", "gzip-bomb", "gzip-twice"]
LARGE += ["gzip-event-bomb"]
ENDLESS = ["drip", "drip-head", "slow-comments", "endless-comments", "informational", "silent", "never-accept"]


def run(mode: str, folder: Path, timeout: str) -> tuple[int, int, dict[str, object]]:
    """Exit status, peak memory in KiB, report."""
    server = None
    if mode in ("never-accept", "close-at-accept"):
        url = "http://127.0.0.1:{port}/mcp"
        command = (sys.executable, str(SERVER), "{port}", mode)
        words = ["--server", " ".join(command), "--url", url]
    else:
        server = RunningServer(
            Target((sys.executable, str(SERVER), "{port}", mode), "http://127.0.0.1:{port}/mcp"), Limits()
        )
        server.start()
        words = ["--url", server.url]
    file = folder / "report.json"
    options = ["--only", "lifecycle/ping", "--revision", "newest", "--fuzz", "0", "--start-timeout", "5"]
    command_line = [sys.executable, "-m", "conformance", *words, *options, "--timeout", timeout, "--json", str(file)]
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, *command_line], stdout=subprocess.PIPE, text=True, timeout=300
    )
    if server is not None:
        server.end()
    return done.returncode, int(done.stdout), json.loads(file.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss is in KiB on Linux only")
@pytest.mark.parametrize("mode", [*CHEAP, *LARGE, *ENDLESS])
def test_whatever_a_server_sends_the_run_ends_within_its_memory_and_is_reported(mode: str, tmp_path: Path) -> None:
    status, memory, report = run(mode, tmp_path, "1" if mode in ENDLESS else "5")
    counts = report["counts"]
    assert isinstance(counts, dict)
    assert counts["broken"] == 0
    assert memory < MOST_MEMORY
    expected = {"never-accept": 3, "close-at-accept": 3, "fat-heads": 0, "odd-status": 0, "short-body": 0}
    # What is too large to be read leaves open what it shows.
    too_large = ("big-body", "endless-body", "endless-event", "endless-lines", "huge-chunk", "gzip-bomb")
    expected.update(dict.fromkeys((*too_large, "gzip-event-bomb"), 0))
    # What is sent without end is too large or too late, whichever comes first.
    assert status in ({0, 1} if mode in ("endless-body", "endless-event", "endless-lines") else {expected.get(mode, 1)})


def test_a_compressed_answer_is_read_though_nobody_asked_for_it(tmp_path: Path) -> None:
    status, _, _ = run("gzip-honest", tmp_path, "5")
    assert status == 0
