"""Workers of pytest-xdist that need the same run of the engine: one does it, the others wait for what it learned."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

GLANCE = 0.1
"""Seconds between two looks for what another worker has learned."""


def shared(folder: str, key: str, work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """What `work` gives, done once by all processes that share the folder; without one, by this process.

    If who does it ends meanwhile, another one does. An exception of `work` is its caller's, and nobody is told.
    """
    if not folder or not Path(folder).is_dir():  # the worker may be on another machine
        return work()
    done, claim = Path(folder) / f"{key}.json", Path(folder) / f"{key}.claim"
    while not done.exists():
        if not _claimed(claim):
            time.sleep(GLANCE)
            continue
        try:
            if done.exists():
                break
            unfinished = done.with_suffix(f".{os.getpid()}")
            unfinished.write_text(json.dumps(work()), encoding="utf-8")
            unfinished.replace(done)
        finally:
            claim.unlink(missing_ok=True)
    found: dict[str, Any] = json.loads(done.read_text(encoding="utf-8"))
    return found


def _claimed(claim: Path) -> bool:
    """Whether it is ours to do. What somebody who has ended meant to do is up for the next one."""
    try:
        with claim.open("x", encoding="ascii") as file:
            file.write(str(os.getpid()))
    except FileExistsError:
        with contextlib.suppress(OSError, ValueError):
            if not psutil.pid_exists(int(claim.read_text(encoding="ascii"))):
                claim.unlink(missing_ok=True)
        return False
    return True
