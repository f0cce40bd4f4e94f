"""What a step of GitHub Actions gives us, and how its runner reads our output: line by line, for commands."""

from __future__ import annotations

import io
import os
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, TextIO

Output = Literal["stdout", "stderr"]
"""The runner reads both."""
SUMMARY = "GITHUB_STEP_SUMMARY"

_COMMAND = re.compile(r"((?:^|[\r\n])[^\S\r\n]*:):|(##)\[")
"""What begins a workflow command of GitHub Actions: `::` at the beginning of a line, `##[` anywhere in it."""


class Guarded(io.TextIOBase):
    """A stream of which GitHub Actions takes no line for a command, whatever a server had us write.

    What would begin a command has an escape in its place: `:\\u003a` for `::`, `##\\u005b` for `##[`. Within JSON that
    says the same.
    """

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self._begun = ""

    def write(self, text: str) -> int:
        """Write `text`, escaped; it may be a part of a line only."""
        known = len(self._begun)
        told = _COMMAND.sub(_escaped, self._begun + text)
        line = re.split(r"[\r\n]", told)[-1].lstrip()
        self._begun = line if len(line) < 3 else f"x{line[-2:]}"
        self.stream.write(told[known:])
        return len(text)

    def flush(self) -> None:
        """Write what is still held."""
        self.stream.flush()

    def isatty(self) -> bool:
        """Whether it is a terminal."""
        return self.stream.isatty()

    def fileno(self) -> int:
        """The number of the stream that is guarded."""
        return self.stream.fileno()

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """That of the stream that is guarded."""
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of characters that the encoding has not."""
        return self.stream.errors


def _escaped(found: re.Match[str]) -> str:
    return f"{found[1]}\\u003a" if found[1] else f"{found[2]}\\u005b"


def harmless(text: str) -> str:
    """`text`, whole lines of it, as a guarded stream writes it on GitHub Actions; as it is elsewhere."""
    return _COMMAND.sub(_escaped, text) if on_github() else text


def guard() -> None:
    """Have no line of stdout and stderr taken for a command by GitHub Actions from now on. Idempotent."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if not isinstance(stream, Guarded):
            setattr(sys, name, Guarded(stream))


def command_runner(commands: Iterable[str], output: Output = "stdout") -> None:
    """Write workflow commands, each on a line. Raises OSError."""
    guarded = getattr(sys, output)
    stream = guarded.stream if isinstance(guarded, Guarded) else guarded
    for command in commands:
        stream.write(f"{command}\n")
    stream.flush()


def on_github() -> bool:
    """Whether this is a step of GitHub Actions."""
    return os.environ.get("GITHUB_ACTIONS") == "true"


def summary_file() -> Path | None:
    """The file of the step's summary, if there is one."""
    named = os.environ.get(SUMMARY)
    return Path(named) if named else None
