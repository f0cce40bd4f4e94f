"""Run mcp-conform on each real server many times and compare the verdicts: the same server must get the same ones.

    python tests/real/stability.py [--runs N] [--load] [--usual] [--fuzz N] [--keep FOLDER] [NAME …]

Run with the Python that has mcp-conform, after tests/real/install.py. Compared are the requirement, its verdict and its
severity in every revision; whether a finding was confirmed is left out. With --load something else keeps every core
busy meanwhile. --keep leaves the reports of all runs in FOLDER. "reference" and "reference-http" are the bundled
server. Prints a table, below it what differs and how often; exit status 1 if anything does.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from real_servers import SERVERS, Server, report_on

Verdicts = dict[tuple[str, str], str]
"""Revision and requirement → the verdict, with its severity if it failed."""

MISSING = "not in the report"

BUNDLED = [sys.executable, "-m", "conformance.reference"]
REFERENCE = [
    Server("reference", "stdio", BUNDLED, ["handshake", "stateless"]),
    Server(
        "reference-http",
        "http",
        [*BUNDLED, "--transport", "http", "--port", "{port}"],
        ["handshake", "stateless"],
        url="http://127.0.0.1:{port}/mcp",
    ),
]
LEAST_LOAD = 4
"""Programs that keep the cores busy, or one for each core if there are more."""


@dataclass
class Record:
    """All runs of one server."""

    name: str
    runs: list[Verdicts] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    details: dict[tuple[str, str, str], str] = field(default_factory=dict)
    """Revision, requirement and verdict → what the first run that gave it said."""
    lost: list[str] = field(default_factory=list)
    """Why runs gave no report."""

    def add(self, report: dict[str, Any]) -> None:
        verdicts: Verdicts = {}
        for run in report["runs"]:
            for judged in run["verdicts"]:
                verdict = " ".join(filter(None, (judged["verdict"], judged["severity"])))
                key = (run["revision"], judged["requirement"])
                verdicts[key] = verdict
                said = [f"{f['case']}: {f['message']}; {f['actual']}" for f in judged["findings"]] or [judged["reason"]]
                self.details.setdefault((*key, verdict), said[0])
        self.runs.append(verdicts)

    def differences(self) -> dict[tuple[str, str], Counter[str]]:
        """What did not get the same verdict in every run → how often it got which."""
        keys = sorted({key for run in self.runs for key in run})
        counted = {key: Counter(run.get(key, MISSING) for run in self.runs) for key in keys}
        return {key: counter for key, counter in counted.items() if len(counter) > 1}


BUSY = "import os; parent = os.getppid()\nwhile os.getppid() == parent: pass"
"""A program that does nothing, as hard as it can; it ends with whoever started it."""


@contextmanager
def busy(wanted: bool) -> Iterator[None]:
    """Keep every core busy meanwhile, if `wanted`."""
    count = max(LEAST_LOAD, os.cpu_count() or 1) if wanted else 0
    processes = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def record(server: Server, given: argparse.Namespace) -> Record:
    """Run mcp-conform on `server`, one run after the other."""
    kept = Record(server.name)
    words = ["--fuzz", given.fuzz] if given.fuzz is not None else []
    for number in range(1, given.runs + 1):
        with tempfile.TemporaryDirectory() as folder:
            began = time.monotonic()
            try:
                report = report_on(server, Path(folder), *words, usual=given.usual)
            except (AssertionError, subprocess.TimeoutExpired) as error:
                kept.lost.append(f"run {number}: {str(error)[-500:]}")
                continue
            kept.seconds.append(time.monotonic() - began)
        kept.add(report)
        if given.keep:
            given.keep.mkdir(parents=True, exist_ok=True)
            (given.keep / f"{server.name}-{number}.json").write_text(json.dumps(report, indent=1))
    return kept


def row(kept: Record) -> str:
    """A row of the table."""
    checks = max((len(run) for run in kept.runs), default=0)
    took = f"{min(kept.seconds):.0f}-{max(kept.seconds):.0f}" if kept.seconds else "-"
    return f"{kept.name:22} {len(kept.runs):>4} {checks:>9} {took:>9} {len(kept.differences()):>9} {len(kept.lost):>4}"


def explain(kept: Record) -> Iterator[str]:
    """What differs, and what is said where it does."""
    for (revision, requirement), counter in kept.differences().items():
        yield f"{kept.name} {revision} {requirement}"
        for verdict, times in counter.most_common():
            yield f"    {times} × {verdict}: {kept.details.get((revision, requirement, verdict), '')[:300]}"
    yield from (f"{kept.name} {why}" for why in kept.lost)


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare the verdicts of repeated runs on real servers.")
    parser.add_argument("--runs", type=int, default=10, help="runs of each server (default 10)")
    parser.add_argument("--load", action="store_true", help="keep every core busy meanwhile")
    parser.add_argument("--usual", action="store_true", help="in the revisions that are tested if none is named")
    parser.add_argument("--fuzz", metavar="N", help="examples of each campaign (default: mcp-conform's own)")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave the reports of all runs here")
    parser.add_argument("names", nargs="*", metavar="NAME", help="servers of servers.yaml (default: all)")
    options = parser.parse_args()
    if options.runs < 2:
        parser.error("it takes two runs to compare")
    known = [*REFERENCE, *SERVERS]
    unknown = set(options.names) - {server.name for server in known}
    if unknown:
        parser.error(f"not in servers.yaml: {', '.join(sorted(unknown))}")
    print(f"{'server':22} {'runs':>4} {'verdicts':>9} {'seconds':>9} {'differing':>9} {'lost':>4}", flush=True)
    complaints: list[str] = []
    with busy(options.load):
        for server in known:
            if not options.names or server.name in options.names:
                kept = record(server, options)
                print(row(kept), flush=True)
                complaints += explain(kept)
    print("\n".join(["", *complaints]) if complaints else "\nThe same verdicts every time.")
    return 1 if complaints else 0


if __name__ == "__main__":
    raise SystemExit(main())
