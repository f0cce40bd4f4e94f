"""`--watch`: tests the server quickly, again and again, whenever a file in its folder changes."""

from __future__ import annotations

import queue
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import click
from watchfiles import DefaultFilter, watch

from conformance.cli.written import read
from conformance.compatibility.findings import compare_reports
from conformance.engine.verdicts import EXIT_UNTESTED
from conformance.model import Json
from conformance.reporters.words import shortened, visible

PATIENCE = 10.0
"""Seconds that a run has to end in when it is told to."""
NAMED = 3
"""Changed files that are named."""


def keep_watching(words: Sequence[str], folder: Path) -> int:
    """Run `mcp-conform` with `words` and --quick until interrupted; the exit status of the last run that ended.

    What changes in `folder` while a run goes on starts another one, unless the run before changed the same files: then
    it is what the server writes.
    """
    changes = _Changes(folder)
    status, before, own = EXIT_UNTESTED, None, frozenset[str]()
    try:
        with tempfile.TemporaryDirectory(prefix="mcp-conform-") as place:
            report = Path(place) / "report.json"
            while True:
                report.unlink(missing_ok=True)
                status = _run([*words, "--json", str(report)])
                after = read(report)[1] if report.exists() else None
                _compare(before, after)
                before = after or before
                written = changes.until_now()
                changed = written - own
                own = written
                if not changed:
                    click.secho(f"Watching {visible(str(folder))}; Ctrl-C ends.", dim=True)
                    changed = changes.wait()
                _announce(folder, changed)
    except KeyboardInterrupt:
        return status


class _Changes:
    """The files that change in a folder; not those that editors, caches and version control write."""

    def __init__(self, folder: Path) -> None:
        self._seen: queue.SimpleQueue[frozenset[str]] = queue.SimpleQueue()
        self._folder = folder
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self) -> None:
        for changes in watch(self._folder, watch_filter=DefaultFilter(), debounce=200, raise_interrupt=False):
            self._seen.put(frozenset(path for _, path in changes))

    def until_now(self) -> frozenset[str]:
        """What has changed since it was asked last."""
        found: frozenset[str] = frozenset()
        while not self._seen.empty():
            found |= self._seen.get()
        return found

    def wait(self) -> frozenset[str]:
        """What changes next."""
        return self._seen.get()


def _run(words: list[str]) -> int:
    process = subprocess.Popen([sys.executable, "-m", "conformance", *words])
    try:
        return process.wait()
    except KeyboardInterrupt:  # from a terminal the run was told as well
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
        raise


def _compare(before: Json, after: Json) -> None:
    """Say what changed since the last run that could test something."""
    if before is None or after is None:
        return
    told = {"new": ("new", "red"), "mended": ("fixed", "green")}
    found = [each for each in compare_reports(before, after) if each.state in told]
    click.secho("\nSince the last run: " + ("" if found else "nothing changed"), bold=True)
    for each in found:
        word, colour = told[each.state]
        line = f"  {word:5} {each.severity} {each.requirement} ({each.run}): {shortened(each.message, 300)}"
        click.secho(visible(line), fg=colour)


def _announce(folder: Path, changed: frozenset[str]) -> None:
    names = sorted(str(Path(path).relative_to(folder.resolve())) for path in changed if _within(path, folder))
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    what = visible(f"{', '.join(names[:NAMED])}{more}") or "files"
    click.secho(f"\n{datetime.now():%H:%M:%S} {what} changed", bold=True)


def _within(path: str, folder: Path) -> bool:
    return Path(path).is_relative_to(folder.resolve())
