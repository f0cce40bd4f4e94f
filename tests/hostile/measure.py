"""Runs mcp-conform against a target in a folder of its own and tells what that cost and what was left.

Linux only: memory and processes are read from /proc.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hostile.registry import Target

PROGRAM = (sys.executable, "-m", "conformance")
BAD = Path(__file__).resolve().parent.parent / "bad_servers.py"
MB = 1_000_000
MEMORY = 300 * MB
"""What a run of ours may take."""
PAUSE = 0.1
"""Seconds between two looks at the processes."""
GRACE = 2.0
"""Seconds in which what was killed may disappear."""
CTRL_C = 5.0
"""Seconds in which a run ends after Ctrl-C, before it is killed."""
SPARE = 500 * MB
"""Memory that the machine keeps: a run is killed before there is less."""
OUR_FAULT = re.compile(r"^(Traceback \(most recent call last\)|Exception (in thread|ignored)|Fatal Python error)", re.M)

Row = dict[str, Any]


@dataclass
class Outcome:
    """What a run did. Memory in bytes, time in seconds."""

    name: str
    seconds: float = 0.0
    status: int | None = None
    ended: str = "by itself"
    """Or: by Ctrl-C in N s; by SIGKILL; by SIGKILL, for its memory."""
    cpu: float = 0.0
    """Seconds of CPU time of our main process, which mean something on a busy machine too."""
    memory: int = 0
    traceback: bool = False
    broken: int = 0
    processes: list[str] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    reports: str = ""
    """Why a report cannot be read, "" if both can."""
    said: str = ""
    """What was said first: the problem, or the message of the first finding."""
    printed: str = field(default="", repr=False)
    report: Row = field(default_factory=dict, repr=False)
    """The JSON report, empty if there is none."""

    def row(self, statuses: Sequence[int], says: str) -> Row:
        """The figures as JSON, with whether the status is one of these, and what should be said and is not."""
        figures = {name: value for name, value in asdict(self).items() if name not in ("printed", "report")}
        unsaid = "" if re.search(says, self.printed) else says
        return {**figures, "expected": list(statuses), "unsaid": unsaid}


CLASSES: dict[str, Callable[[Row, float], bool]] = {
    "not ended": lambda row, bound: row["ended"] != "by itself",
    "not even by Ctrl-C": lambda row, bound: row["ended"] == "by SIGKILL",
    "too slow": lambda row, bound: row["seconds"] > bound,
    "too much memory": lambda row, bound: row["memory"] > MEMORY,
    "left processes": lambda row, bound: bool(row["processes"]),
    "left files": lambda row, bound: bool(row["files"]),
    "broken": lambda row, bound: row["broken"] > 0,
    "traceback": lambda row, bound: row["traceback"],
    "reports": lambda row, bound: row["ended"] == "by itself" and bool(row["reports"]),
    "status": lambda row, bound: row["ended"] == "by itself" and row["status"] not in row["expected"],
    "unsaid": lambda row, bound: row["ended"] == "by itself" and bool(row.get("unsaid")),
}
"""What may be wrong with a run, given the bound in seconds."""


def classes(row: Row, bound: float) -> list[str]:
    """What is wrong with a run."""
    return [name for name, found in CLASSES.items() if found(row, bound)]


def server_options(target: Target) -> list[str]:
    """The options of mcp-conform that name the target."""
    words = [sys.executable, str(BAD), target.name, *target.words]
    if target.transport == "stdio":
        return ["--server", shlex.join(words)]
    scheme = "ws" if target.transport == "websocket" else "http"
    named = ["--server", f"{shlex.join(words)} {{port}}", "--url", f"{scheme}://127.0.0.1:{{port}}/mcp"]
    return [*named, "--transport", "sse"] if target.transport == "http+sse" else named


def run(
    name: str,
    options: Sequence[str],
    scratch: Path,
    limit: float,
    memory: int = 4000 * MB,
    kinds: Sequence[str] = ("json", "junit"),
) -> Outcome:
    """Run `mcp-conform OPTIONS` in `scratch`, which is empty, for at most `limit` seconds and `memory` bytes.

    It is told to write reports of these `kinds`. Afterwards nothing that it started is left.
    """
    outcome = Outcome(name)
    for folder in ("tmp", "home", "work"):
        (scratch / folder).mkdir(parents=True)
    reports = [word for kind in kinds for word in (f"--{kind}", str(scratch / f"report.{kind}"))]
    environment = {**os.environ, "HOME": str(scratch / "home"), "TMPDIR": str(scratch / "tmp"), "NO_COLOR": "1"}
    began = time.monotonic()
    with (scratch / "printed").open("wb") as printed:
        process = subprocess.Popen(
            [*PROGRAM, *options, *reports],
            cwd=scratch / "work",
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=printed,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            _watch(process, outcome, began + limit, memory)
        finally:
            outcome.seconds = round(time.monotonic() - began, 2)
            outcome.status = process.poll()
            outcome.processes = _end_all(scratch, process)
    outcome.files = sorted(
        str(file.relative_to(scratch)) for room in ("tmp", "home") for file in (scratch / room).rglob("*")
    )
    _read(scratch, outcome, kinds)
    shutil.rmtree(scratch, ignore_errors=True)
    return outcome


# -- while it runs


def _watch(process: subprocess.Popen[bytes], outcome: Outcome, end: float, memory: int) -> None:
    """Wait for the end of the process, and bring it about where that is needed."""
    seen: set[int] = set()
    interrupted = 0.0
    while process.poll() is None:
        if re.search(rb"^State:\s+T", _file(process.pid, "status"), re.M):
            os.kill(process.pid, signal.SIGCONT)  # as a user would who sees that it is stopped
        used, seen = _memory(process.pid, seen)
        outcome.memory = max(outcome.memory, used)
        outcome.cpu = _cpu(process.pid) or outcome.cpu
        now = time.monotonic()
        if outcome.memory > memory or _available() < SPARE:
            outcome.ended = "by SIGKILL, for its memory"
            return
        if interrupted and now > interrupted + CTRL_C:
            outcome.ended = "by SIGKILL"
            return
        if not interrupted and now > end:
            interrupted = now
            outcome.ended = "by Ctrl-C"
            os.killpg(process.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(PAUSE)
    if interrupted:
        outcome.ended = f"by Ctrl-C in {time.monotonic() - interrupted:.1f} s"


def _memory(main: int, seen: set[int]) -> tuple[int, set[int]]:
    """Bytes of the main process, at its highest, and of its workers; and which workers there are.

    One that was not `seen` in the look before does not count yet: until it has become another program, what is
    being started looks like a copy of us.
    """
    workers = set(_workers(main))
    status = _file(main, "status")
    high = _kilobytes(status, b"VmHWM") * 1024
    now = _kilobytes(status, b"VmRSS") * 1024
    return max(high, now + sum(_share(pid) for pid in workers & seen)), workers


def _cpu(pid: int) -> float:
    fields = _file(pid, "stat").rpartition(b")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") if len(fields) > 12 else 0.0


def _workers(pid: int) -> Iterator[int]:
    """Descendants that are not the target or of the target."""
    with contextlib.suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in _bytes(task / "children").split():
                number = int(child)
                if not _is_target(number):
                    yield number
                    yield from _workers(number)


def _is_target(pid: int) -> bool:
    words = _file(pid, "cmdline").split(b"\0")
    ours = any(
        word.endswith((b"/bad_servers.py", b"/turning.py")) or word == b"conformance.reference" for word in words
    )
    return ours or b"MCP_CONFORM_HOSTILE_TARGET=" in _file(pid, "environ")


def _share(pid: int) -> int:
    """Bytes of a worker that it does not share with others, and its part of what it shares."""
    return _kilobytes(_file(pid, "smaps_rollup"), b"Pss") * 1024


def _kilobytes(text: bytes, name: bytes) -> int:
    found = re.search(rb"^%s:\s+(\d+) kB" % name, text, re.M)
    return int(found[1]) if found else 0


def _available() -> int:
    return _kilobytes(_bytes(Path("/proc/meminfo")), b"MemAvailable") * 1024


def _file(pid: int, name: str) -> bytes:
    return _bytes(Path(f"/proc/{pid}/{name}"))


def _bytes(path: Path) -> bytes:
    with contextlib.suppress(OSError):
        return path.read_bytes()
    return b""


# -- when it has ended


def _end_all(scratch: Path, process: subprocess.Popen[bytes]) -> list[str]:
    """Kill the run if it has not ended, and what it left; the command lines of what it left."""
    killed = process.poll() is None
    if killed:
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    deadline = time.monotonic() + (0.0 if killed else GRACE)
    while (left := _belonging(scratch)) and time.monotonic() < deadline:
        time.sleep(PAUSE)
    names = [_file(pid, "cmdline").replace(b"\0", b" ").decode("utf-8", "replace").strip() for pid in left]
    for _ in range(100):
        for pid in left:
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        left = _belonging(scratch)
        if not left:
            break
        time.sleep(0.05)
    return [] if killed else names


def _belonging(scratch: Path) -> list[int]:
    """Processes whose command line, environment or working directory names the folder."""
    mark, found = str(scratch).encode(), []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        pid = int(entry.name)
        place = ""
        with contextlib.suppress(OSError):
            place = str(Path(f"/proc/{pid}/cwd").readlink())
        named = mark in _file(pid, "cmdline") or mark in _file(pid, "environ") or place.startswith(str(scratch))
        if named and not re.search(rb"^State:\s+[ZX]", _file(pid, "status"), re.M):
            found.append(pid)
    return found


def _read(scratch: Path, outcome: Outcome, kinds: Sequence[str]) -> None:
    """What was printed and reported."""
    outcome.printed = (scratch / "printed").read_bytes()[-10 * MB :].decode("utf-8", "replace")
    outcome.traceback = OUR_FAULT.search(outcome.printed) is not None
    lines = [line.strip() for line in outcome.printed.splitlines() if line.strip()]
    outcome.said = next(iter(lines[1:2] or lines[:1]), "")[:300]
    try:
        outcome.report = report = json.loads((scratch / "report.json").read_text())
        outcome.broken = report.get("counts", {}).get("broken", 0)
        outcome.said = (_first(report) or outcome.said)[:300]
    except (OSError, ValueError, KeyError, RecursionError) as error:
        outcome.reports = f"report.json: {error!r}"[:200]
    try:
        if "junit" in kinds:
            ElementTree.parse(scratch / "report.junit")
    except (OSError, ElementTree.ParseError) as error:
        outcome.reports = outcome.reports or f"report.junit: {error!r}"[:200]


def _first(report: dict[str, Any]) -> str:
    if report.get("problem"):
        return str(report["problem"])
    judged = [
        verdict for run in report.get("runs", ()) for verdict in run["verdicts"] if verdict["verdict"] == "failed"
    ]
    for severity in ("violation", "warning", "advice"):
        for verdict in judged:
            if verdict["severity"] == severity:
                return f"{severity} {verdict['requirement']}: {verdict['findings'][0]['message']}"
    return ""
