"""Runs mcp-conform against every bad server and every fault, and tells what that cost. See README.md beside this file.

Linux only.
"""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import zip_longest
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from hostile.measure import CLASSES, MB, MEMORY, Outcome, Row, classes, run, server_options
from hostile.registry import Target, load

from conformance.settings.settings import faults

LEAST = 60.0
"""Seconds that no run has to be quicker than."""
TIMES = 6.0
"""How much longer than the sound server's a run may take."""
SLOWEST = 10


@dataclass(frozen=True)
class Play:
    """One run: the options that name the server, and what is expected."""

    name: str
    options: list[str]
    statuses: tuple[int, ...] = (0, 1, 3)
    says: str = ""


def _of_target(target: Target) -> Play:
    return Play(target.name, server_options(target), target.statuses, target.says)


def _of_fault(row: Row) -> Play:
    words = [sys.executable, "-m", "conformance.reference", "--fault", row["name"]]
    if "stdio" in row["transports"]:
        return Play(row["name"], ["--server", shlex.join(words)])
    command = shlex.join([*words, "--transport", "http"])
    return Play(row["name"], ["--server", f"{command} --port {{port}}", "--url", "http://127.0.0.1:{port}/mcp"])


def _chosen(given: argparse.Namespace) -> Iterator[Play]:
    """The runs, that against a sound server first."""
    if given.only == "faults":
        yield Play("sound", ["--server", shlex.join([sys.executable, "-m", "conformance.reference"])], (0,))
    else:
        yield from _servers(given)
    if given.only != "servers":
        for row in faults():
            if _matches(given.targets, row["name"], row["area"]):
                yield _of_fault(row)


def _servers(given: argparse.Namespace) -> Iterator[Play]:
    for target in _in_turns() if given.mixed else load().values():
        if target.name == "sound" or _matches(given.targets, target.name, target.kind):
            if given.short and target.variation:
                continue
            yield _of_target(target)


def _in_turns() -> Iterator[Target]:
    """All targets, one of each kind, then another one of each."""
    kinds: dict[str, list[Target]] = {}
    for target in load().values():
        kinds.setdefault(target.kind, []).append(target)
    for some in zip_longest(*kinds.values()):
        yield from (target for target in some if target is not None)


def _matches(patterns: list[str], *names: str) -> bool:
    return not patterns or any(fnmatch(name, pattern) for name in names for pattern in patterns)


def _line(row: Row, bound: float) -> str:
    status = "-" if row["status"] is None else row["status"]
    figures = f"{row['seconds']:7.1f} s {row.get('cpu', 0):6.1f} s {status:>3} {row['memory'] / MB:6.0f} MB"
    left = f"{len(row['processes']):3} {len(row['files']):3} {row['broken']:3}"
    ended = "" if row["ended"] == "by itself" else f" [{row['ended']}]"
    wrong = ", ".join(classes(row, bound)) or "ok"
    said = ascii(row["said"][:110])[1:-1]
    return f"{figures} {left}  {row['name']:44} {wrong}{ended}: {said}"


def _table(rows: list[Row], bound: float) -> list[str]:
    """The figures as lines of text."""
    by_time = sorted(rows, key=lambda row: row["seconds"])
    lines = [
        "   time   our CPU  status  memory  processes, files left, broken  name  what is wrong: what is said first"
    ]
    lines += [_line(row, bound) for row in by_time]
    lines += ["", f"The {SLOWEST} slowest:"]
    lines += [f"{row['seconds']:7.1f} s  {row['name']}" for row in by_time[-SLOWEST:][::-1]]
    lines += ["", f"{len(rows)} runs; too slow is above {bound:.0f} s, too much memory above {MEMORY // MB} MB."]
    totals = dict.fromkeys(("ok", *CLASSES), 0)
    for row in rows:
        for name in classes(row, bound) or ["ok"]:
            totals[name] += 1
    return lines + [f"{number:5} {name}" for name, number in totals.items()]


def _compared(old: dict[str, Any], rows: list[Row], bound: float) -> list[str]:
    """What is other than in an earlier run."""
    before = {row["name"]: row for row in old["rows"]}
    lines = ["", "Compared with the earlier run:"]
    both = [(before[row["name"]], row) for row in rows if row["name"] in before]
    for was, row in both:
        then, now = ", ".join(classes(was, old["bound"])) or "ok", ", ".join(classes(row, bound)) or "ok"
        if then != now:
            lines.append(f"  {row['name']:44} {then} -> {now}")
    for name, unit in (("seconds", 1.0), ("cpu", 1.0), ("memory", MB)):
        sums = [sum(side.get(name, 0) for side in sides) / unit for sides in zip(*both, strict=True)] or [0, 0]
        lines.append(f"  sum of {name}: {sums[0]:.0f} -> {sums[1]:.0f}")
    return lines


def main() -> int:
    """Print the table; 1 if anything is wrong with any run."""
    parser = argparse.ArgumentParser(description=__doc__)
    what = "only the bad servers, or only the faults of the reference server"
    parser.add_argument("--only", choices=("servers", "faults"), help=what)
    parser.add_argument("--targets", action="append", default=[], metavar="PATTERN", help="only these names or kinds")
    parser.add_argument("--short", action="store_true", help="leave out what is much like another target")
    parser.add_argument("--mixed", action="store_true", help="the kinds in turns, so that a part of a run is a sample")
    parser.add_argument("--limit", type=float, default=120, metavar="SECONDS", help="Ctrl-C after this time (120)")
    parser.add_argument("--memory", type=float, default=4, metavar="GB", help="kill what takes more (4)")
    parser.add_argument("--jobs", type=int, default=1, help="runs at once (1)")
    parser.add_argument("--revision", action="append", default=[], help="handed to mcp-conform")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    parser.add_argument("--compare", type=Path, help="the file of an earlier run")
    given = parser.parse_args()
    more = [word for revision in given.revision for word in ("--revision", revision)]

    def measured(play: Play) -> Row:
        with tempfile.TemporaryDirectory(prefix="broken-", ignore_cleanup_errors=True) as folder:
            memory = int(given.memory * 1000 * MB)
            outcome: Outcome = run(play.name, [*play.options, *more], Path(folder) / "run", given.limit, memory)
        return outcome.row(play.statuses, play.says)

    first, *others = _chosen(given)
    rows = [measured(first)]
    bound = max(LEAST, TIMES * rows[0]["seconds"])
    _write(given.json, rows, bound)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ThreadPoolExecutor(given.jobs) as pool:
        running = [pool.submit(measured, one) for one in others]
        try:
            for done in as_completed(running):
                rows.append(done.result())
                print(_line(rows[-1], bound), file=sys.stderr, flush=True)
                _write(given.json, rows, bound)
        except KeyboardInterrupt:
            print("interrupted: what runs is waited for", file=sys.stderr, flush=True)
            pool.shutdown(cancel_futures=True)
    print("\n".join(_table(rows, bound)))
    if given.compare:
        print("\n".join(_compared(json.loads(given.compare.read_text()), rows, bound)))
    return any(classes(row, bound) for row in rows)


def _write(file: Path | None, rows: list[Row], bound: float) -> None:
    if file is not None:
        file.write_text(json.dumps({"bound": bound, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    sys.exit(main())
