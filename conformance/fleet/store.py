"""The folder in which the results are: one JSON file a server, each there as a whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from conformance.fleet import outcome
from conformance.model import Json, UsageError

RESULTS, PAGES, BADGES = "results", "reports", "badges"
DEATHS = "deaths.json"
LOCK = ".lock"
HEAD = 400
"""Bytes at the beginning of a result in which its digest stands."""

_DIGEST = re.compile(rb'\{"result":1,"digest":"([0-9a-f]+)"(,"conditions":)?')


class Store:
    """The folder `folder`, which is made; a process that has it keeps others out. Raises UsageError."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            for name in (RESULTS, PAGES, BADGES):
                (folder / name).mkdir(parents=True, exist_ok=True)
            self._lock = _locked(folder / LOCK)
        except BlockingIOError:
            raise UsageError(
                f"--out: another mcp-conform fleet works in {folder}; wait for it, or name another folder"
            ) from None
        except OSError as error:
            raise UsageError(f"--out: {folder} cannot be written: {error.strerror}") from None
        for left in folder.rglob(".*.part"):
            left.unlink(missing_ok=True)

    def close(self) -> None:
        """Let others have the folder. Idempotent."""
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    def digest(self, key: str) -> str:
        """What was tested when the server got its result; "" without one."""
        head = self._head(key)
        return head[1].decode() if head is not None else ""

    def conditions(self, key: str) -> Json:
        """Those under which a result that is not settled was got; None of another one."""
        head = self._head(key)
        return (self.read(key) or {}).get("conditions") if head is not None and head[2] else None

    def _head(self, key: str) -> re.Match[bytes] | None:
        with contextlib.suppress(OSError), self._result(key).open("rb") as file:
            return _DIGEST.match(file.read(HEAD))
        return None

    def put(self, result: Json, page: bytes | None = None, badge: bytes | None = None) -> None:
        """Keep a result. It is there once the function returns, even if the machine fails then. Raises OSError."""
        key = result["key"]
        # The result comes last: what has one is finished.
        for name, ending, data in ((PAGES, "html", page), (BADGES, "svg", badge)):
            path = self.folder / name / f"{key}.{ending}"
            if data is None:
                path.unlink(missing_ok=True)
            else:
                replace(path, data, lasting=False)
        replace(self._result(key), _text(result).encode())

    def read(self, key: str) -> Json:
        """The result of a server; None without one."""
        try:
            return json.loads(self._result(key).read_bytes())
        except (OSError, ValueError):
            return None

    def has_page(self, key: str) -> bool:
        """Whether there is a page about the server."""
        return (self.folder / PAGES / f"{key}.html").is_file()

    def results(self, keys: Iterator[str]) -> Iterator[Json]:
        """The results of these servers that have one, read one by one."""
        return (result for key in keys if (result := self.read(key)) is not None)

    def forget_one(self, key: str) -> None:
        """Remove the result of a server."""
        self._result(key).unlink(missing_ok=True)  # first: what has one is finished
        for name, ending in ((PAGES, "html"), (BADGES, "svg")):
            (self.folder / name / f"{key}.{ending}").unlink(missing_ok=True)

    def forget(self) -> None:
        """Remove all results."""
        for name in (RESULTS, PAGES, BADGES):
            shutil.rmtree(self.folder / name, ignore_errors=True)
            (self.folder / name).mkdir()
        (self.folder / DEATHS).unlink(missing_ok=True)

    def deaths(self) -> dict[str, int]:
        """Task (`Task.id`) → how many workers died while they tested it, in earlier runs too."""
        with contextlib.suppress(OSError, ValueError):
            return {str(k): int(n) for k, n in json.loads((self.folder / DEATHS).read_text("utf-8")).items()}
        return {}

    def forget_deaths(self, keys: Collection[str], least: int = 0) -> None:
        """No longer know of workers that died of these servers, if there were `least` or more. Raises OSError."""
        known = self.deaths()
        left = {task: n for task, n in known.items() if task.partition("-")[2] not in keys or n < least}
        if left != known:
            self.put_deaths(left)

    def put_deaths(self, deaths: dict[str, int]) -> None:
        """Keep that. Raises OSError."""
        replace(self.folder / DEATHS, json.dumps(deaths).encode())

    def _result(self, key: str) -> Path:
        return self.folder / RESULTS / f"{key}.json"


def replace(path: Path, data: bytes, lasting: bool = True) -> None:
    """Write a file so that it is there as a whole or as it was before; `lasting`: even if the machine fails then.

    Raises OSError.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            if lasting:
                file.flush()
                os.fsync(file.fileno())
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _text(result: Json) -> str:
    assert list(result)[:2] == ["result", "digest"] and result["result"] == outcome.FORMAT
    return json.dumps(result, ensure_ascii=True, separators=(",", ":"), allow_nan=False) + "\n"


def _locked(path: Path) -> int:
    """A descriptor that keeps the file locked until it is closed. Raises BlockingIOError if another process has it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        import fcntl
    except ImportError:  # Windows
        return descriptor
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
