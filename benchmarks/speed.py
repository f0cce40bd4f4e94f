"""How much time the suite itself costs. See README.md beside this file."""

from __future__ import annotations

import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from conformance.checks.invariants import load_invariants
from conformance.checks.ledger import Ledger
from conformance.engine.connections import Connections
from conformance.engine.options import JOBS, Options
from conformance.engine.runner import Runner
from conformance.engine.stage import Stage
from conformance.model import Fuzzing, Limits, Target
from conformance.revisions import BY_DATE
from conformance.target.process import command_line

REVISION = "2025-11-25"
AT_ONCE = min(JOBS, os.cpu_count() or 2)
"""More processes than cores do not start sooner."""
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": REVISION,
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "0"},
    },
}


class Bare:
    """The least that a client can do: write a line, read a line."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        self.ask(INITIALIZE)
        self.say({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def say(self, message: object) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, message: object) -> bytes:
        """Write one line, read one."""
        assert self.process.stdout is not None
        self.say(message)
        return self.process.stdout.readline()

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(10)


def seconds(action: Callable[[], object]) -> float:
    """How long `action` takes."""
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


def start_up(command: tuple[str, ...]) -> float:
    """Median seconds from the start of a process to its answer to initialize."""
    taken = []
    for _ in range(5):
        began = time.perf_counter()
        bare = Bare(command)
        taken.append(time.perf_counter() - began)
        bare.close()
    return statistics.median(taken)


def round_trips(command: tuple[str, ...], rounds: int = 15, each: int = 200) -> tuple[float, float]:
    """Median seconds of a ping: bare, and through a session with all invariants."""
    bare = Bare(command)
    connections = Connections(Target(command), Limits(), spares=0)
    stage = Stage(connections.session(BY_DATE[REVISION]), ledger := Ledger(), load_invariants(), connections)
    stage.open()
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    bare_taken, full_taken = [], []
    for _ in range(rounds):
        bare_taken.append(seconds(lambda: [bare.ask(ping) for _ in range(each)]) / each)
        full_taken.append(seconds(lambda: [stage.session.request("ping") for _ in range(each)]) / each)
    stage.close()
    connections.close()
    bare.close()
    assert not ledger.findings, ledger.findings[:1]
    return statistics.median(bare_taken), statistics.median(full_taken)


def quick(command: tuple[str, ...]) -> tuple[float, int]:
    """Median seconds of a whole `mcp-conform --quick`, from its start to its end, and how much that decides."""
    words = ["--quick", "--revision", REVISION, "--server", command_line(command)]
    run = [sys.executable, "-m", "conformance", *words]
    taken = []
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        for _ in range(5):
            taken.append(seconds(lambda: subprocess.run(run, capture_output=True, check=True)))
        subprocess.run([*run, "--json", report], capture_output=True, check=True)
        counts = json.loads(report.read_text())["counts"]
    return statistics.median(taken), counts["passed"] + counts["failed"]


def over_http(rounds: int = 3) -> tuple[float, float]:
    """Median seconds of a whole run of one revision on the reference server over stdio, and over HTTP, in turns."""
    taken: dict[str, list[float]] = {"stdio": [], "http": []}
    for _ in range(rounds):
        for transport, each in taken.items():
            words = ["demo", "--transport", transport, "--revision", REVISION]
            run = [sys.executable, "-m", "conformance", *words]
            each.append(seconds(partial(subprocess.run, run, capture_output=True, check=True)))
    return statistics.median(taken["stdio"]), statistics.median(taken["http"])


def help_cpu() -> float:
    """CPU seconds of `mcp-conform --help`; the least of three, since the first one may compile."""
    taken = []
    for _ in range(3):
        before = os.times()
        subprocess.run([sys.executable, "-m", "conformance", "--help"], capture_output=True, check=True)
        after = os.times()
        taken.append(after.children_user - before.children_user + after.children_system - before.children_system)
    return min(taken)


def main() -> int:
    """Print the figures; 1 if a bound is missed."""
    given = sys.argv[1:]
    command = tuple(shlex.split(given[0])) if given else (sys.executable, "-m", "conformance.reference")
    started = start_up(command)
    bare, full = round_trips(command)
    runner = Runner(Target(command), Options(revisions=(REVISION,), confirm=False, fuzzing=Fuzzing(examples=0)))
    wall = seconds(lambda: list(runner.run()))
    processes, requests = runner.effort
    decided = sum(v.verdict.value in ("passed", "failed") for run in runner.report().runs for v in run.verdicts)
    unavoidable = processes * started / AT_ONCE + requests * bare
    cpu = help_cpu()
    stdio, http = over_http()
    print(f"start-up {started * 1e3:.0f} ms, answer {bare * 1e6:.0f} µs, {AT_ONCE} at once")
    print(
        f"run of {REVISION}: {wall:.2f} s, {processes} processes, {requests} requests, {decided} requirements decided"
    )
    print(f"unavoidable {unavoidable:.2f} s; ratio {wall / unavoidable:.2f} (bound 3)")
    print(f"{decided / wall:.0f} requirements decided a second")
    hurried, told = quick(command)
    print(f"--quick: {hurried:.2f} s from start to end, {told} decided, {told / hurried:.0f} a second")
    for area, spent in sorted(runner.spent().items(), key=lambda item: -item[1])[:8]:
        print(f"  {spent:6.2f} s  {area}")
    print(f"own cost of a request: {(full - bare) * 1e6:.0f} µs (bound 100)")
    print(f"a run over stdio {stdio:.2f} s, over HTTP {http:.2f} s; ratio {http / stdio:.2f} (bound 1.5)")
    print(f"CPU of --help: {cpu:.3f} s (bound 0.25)")
    bounds = (wall <= 3 * unavoidable, full - bare <= 100e-6, cpu <= 0.25, http <= 1.5 * stdio)
    return 0 if all(bounds) else 1


if __name__ == "__main__":
    sys.exit(main())
