"""A report's file: proven writable before the run, there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO

from conformance.system.github_actions import harmless

STDOUT = Path("-")


class ReportFile:
    """Proven writable when made (raises OSError); appears under its name only when written, and as a whole.

    Nothing is left in between, however the run ends. What is no regular file, such as a pipe, is opened when made and
    written to directly. `-` is stdout.
    """

    def __init__(self, path: Path) -> None:
        self._direct: TextIO | None = None
        self._stdout = path == STDOUT
        if self._stdout:
            self._direct = opened(path)
            return
        self._path = path.resolve()
        if self._path.is_dir():
            raise IsADirectoryError(21, "is a directory", str(path))
        if self._path.is_file() and not os.access(self._path, os.W_OK):
            raise PermissionError(13, "may not be written", str(path))
        self._part = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        if self._path.exists() and not self._path.is_file():
            self._direct = opened(self._path)
        else:
            try:
                opened(self._part).close()
            finally:
                self._part.unlink(missing_ok=True)

    def write(self, text: str) -> None:
        """Write all of it, once. Raises OSError, and leaves then what was there before."""
        if self._direct is not None:
            self._direct.write(harmless(text) if self._stdout else text)
            self._direct.close()
            return
        try:
            with opened(self._part) as file:
                file.write(text)
            self._part.replace(self._path)
        except OSError:
            self._part.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Close what is written to directly. Idempotent."""
        if self._direct is not None:
            self._direct.close()


def opened(path: Path) -> TextIO:
    """A text file to write to; Path("-") is stdout. Raises OSError."""
    return open(os.dup(1) if path == STDOUT else path, "w", encoding="utf-8", errors="backslashreplace", newline="\n")  # noqa: PTH123 - or a descriptor
