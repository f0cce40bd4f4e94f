"""Lists of servers for tests of `mcp-conform fleet`, and what there is of a run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

JOURNALED = """\
import runpy, sys
with open(sys.argv[1], "a") as journal:
    print(sys.argv[2], file=journal)
sys.argv = ["reference", *sys.argv[3:]]
runpy.run_module("conformance.reference", run_name="__main__")
"""
"""The reference server; it writes its name into a file when it is started."""

DEADLY = """\
import psutil, sys
with open(sys.argv[1], "a") as journal:
    print(sys.argv[2], file=journal)
for process in psutil.Process().parents():
    if "multiprocessing" in " ".join(process.cmdline()):
        process.kill()
        break
"""
"""Kills the worker that tests it."""

LITTLE = ("--quick", "--only", "tools/list-shape", "--revision", "newest")
"""Options with which the test of a server takes little time."""


def lines_of(journal: Path) -> Counter[str]:
    """How often each server was started."""
    return Counter(journal.read_text().splitlines()) if journal.exists() else Counter()


class Lists:
    """A list of servers in a folder, and the results of its run."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.file = folder / "servers.json"
        self.out = folder / "out"
        self.journal = folder / "journal"
        self.servers: list[dict[str, Any]] = []
        (folder / "journaled.py").write_text(JOURNALED)
        (folder / "deadly.py").write_text(DEADLY)

    def add(self, name: str, *words: str, script: str = "journaled.py", **settings: Any) -> None:
        """A server of one of the scripts; the words are for the reference server."""
        command = [sys.executable, str(self.folder / script), str(self.journal), name, *words]
        self.listed({"name": name, "server": command, **settings})

    def listed(self, server: dict[str, Any]) -> None:
        """Any element of the list."""
        self.servers.append(server)
        self.file.write_text(json.dumps(self.servers))

    def words(self, *words: str) -> list[str]:
        """What runs it."""
        return ["fleet", str(self.file), "--out", str(self.out), *LITTLE, *words]

    def begin(self, *words: str) -> subprocess.Popen[str]:
        """A run that goes on; its stdout is a pipe."""
        command = [sys.executable, "-m", "conformance", *self.words(*words)]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
        )

    def summary(self) -> Any:
        """What summary.json says."""
        return json.loads((self.out / "summary.json").read_text())

    def row(self, name: str) -> Any:
        """What it says of a server."""
        return next(row for row in self.summary()["servers"] if row["name"] == name)

    def result(self, key: str) -> Any:
        """The result of a server."""
        return json.loads((self.out / "results" / f"{key}.json").read_text())


def dask(kind: str, *words: str) -> subprocess.Popen[str]:
    """A scheduler, whose stderr is a pipe, or a worker, as users of Dask start them."""
    return subprocess.Popen(
        [sys.executable, "-m", f"distributed.cli.dask_{kind}", *words],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE if kind == "scheduler" else subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
