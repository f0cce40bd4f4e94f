"""A report's file: proven writable before the run, there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TextIO


class ReportFile:
    """Proven writable when made (raises OSError); appears under its name only when written, and as a whole.

    Nothing is left in between, however the run ends. What is no regular file, such as a pipe, is opened when made and
    written to directly.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        if self._path.is_dir():
            raise IsADirectoryError(21, "is a directory", str(path))
        if self._path.is_file() and not os.access(self._path, os.W_OK):
            raise PermissionError(13, "may not be written", str(path))
        self._part = self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        self._direct: TextIO | None = None
        if self._path.exists() and not self._path.is_file():
            self._direct = _opened(self._path)
        else:
            try:
                _opened(self._part).close()
            finally:
                self._part.unlink(missing_ok=True)

    def write(self, text: str) -> None:
        """Write all of it, once. Raises OSError, and leaves then what was there before."""
        if self._direct is not None:
            self._direct.write(text)
            self._direct.close()
            return
        try:
            with _opened(self._part) as file:
                file.write(text)
            self._part.replace(self._path)
        except OSError:
            self._part.unlink(missing_ok=True)
            raise

    def close(self) -> None:
        """Close what is written to directly. Idempotent."""
        if self._direct is not None:
            self._direct.close()


def _opened(path: Path) -> TextIO:
    return path.open("w", encoding="utf-8", errors="backslashreplace", newline="\n")
