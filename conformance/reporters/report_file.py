"""A report's file: proven writable before the run, there as a whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path


class ReportFile:
    """Opened when made (raises OSError); appears under its name only when written.

    What is no regular file, such as a pipe, is written to directly.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.resolve()
        if self._path.is_dir():
            raise IsADirectoryError(21, "is a directory", str(path))
        self._direct = self._path.exists() and not self._path.is_file()
        if self._path.is_file() and not os.access(self._path, os.W_OK):
            raise PermissionError(13, "may not be written", str(path))
        self._part = self._path if self._direct else self._path.with_name(f".{self._path.name}.{os.getpid()}.part")
        self._file = self._part.open("w", encoding="utf-8", errors="backslashreplace", newline="\n")

    def write(self, text: str) -> None:
        """Write all of it, once."""
        self._file.write(text)
        self._file.close()
        if not self._direct:
            self._part.replace(self._path)

    def close(self) -> None:
        """Leave nothing behind if it was not written. Idempotent."""
        if not self._file.closed:
            self._file.close()
            if not self._direct:
                self._part.unlink(missing_ok=True)
