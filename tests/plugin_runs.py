"""Runs of pytest with the plugin, in a process of their own, and what they say."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from fronts import as_a_user, outcomes

COUNTED = Path(__file__).resolve().parent / "servers" / "counted.py"


@dataclass
class Project:
    """A folder of a user, with servers that count how often they are started."""

    folder: Path
    runs: int = field(default=0)

    def server(self, *options: str, name: str = "starts") -> str:
        """A command that starts the reference server."""
        return " ".join([sys.executable, str(COUNTED), str(self.folder / name), *options])

    def starts(self, name: str = "starts") -> int:
        """How often it was started since the last time that this was asked."""
        file = self.folder / name
        number = len(file.read_text().splitlines()) if file.exists() else 0
        file.unlink(missing_ok=True)
        return number

    def write(self, name: str, text: str) -> None:
        """A file of the project."""
        (self.folder / name).write_text(text)

    def pytest(self, *words: str, within: str = ".") -> Outcome:
        """Run pytest there, or in a folder within."""
        self.runs += 1
        junit = self.folder / f"run-{self.runs}.xml"
        cwd = self.folder / within
        cwd.mkdir(exist_ok=True)
        done = as_a_user("pytest", *words, "--junit-xml", str(junit), "--strict-markers", cwd=cwd)
        return Outcome(done.returncode, done.stdout + done.stderr, junit)


@dataclass
class Outcome:
    """What pytest said."""

    status: int
    text: str
    junit: Path

    @cached_property
    def of(self) -> dict[str, str]:
        """Requirement id → passed, failed, skipped or error; of several items, what the last one said."""
        return outcomes(self.junit)

    @property
    def ids(self) -> list[str]:
        """The ids in its output: all with --collect-only -q."""
        return re.findall(r"^mcp::\S+$", self.text, re.MULTILINE)
