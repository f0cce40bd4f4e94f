"""Loaded by each worker of a cluster of our own, when it begins."""

from __future__ import annotations

import contextlib
import signal
from types import FrameType

UNMINDED = ("SIGINT", "SIGQUIT", "SIGHUP")
"""What a terminal sends to all processes: only the driver minds it, and ends the workers."""


def dask_setup(_worker: object) -> None:
    """Do nothing on a signal. That is not to ignore it: whoever ignores one hands that on to what it starts."""
    for name in UNMINDED:
        with contextlib.suppress(ValueError):  # in another thread than the main one
            if hasattr(signal, name):
                signal.signal(getattr(signal, name), _nothing)


def _nothing(_number: int, _frame: FrameType | None) -> None:
    pass
