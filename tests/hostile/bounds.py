"""What every hostile target keeps to, so that none outlives its purpose: time, bytes, memory, processes."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

LIFE = 300
"""Seconds after which a target ends itself."""
DAEMON_LIFE = 120
"""The same for what a target leaves behind on purpose."""
ORPHAN_LIFE = 15
"""Seconds that a target goes on without its parent: long enough to be found by whoever looks for what was left."""
MOST_BYTES = 2_000_000_000
"""What a target writes at most."""
MOST_MEMORY = 3_000_000_000
MOST_CHILDREN = 5
"""Processes that a target starts at most."""
MARK = "MCP_CONFORM_HOSTILE_TARGET"
"""In the environment of whatever a target starts: its name."""


def keep(life: int = LIFE, *, alone: bool = False) -> None:
    """End this process after `life` seconds and, unless it is meant to be `alone`, soon after its parent has gone."""
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_CPU, (life, life + 5))
        resource.setrlimit(resource.RLIMIT_AS, (MOST_MEMORY, MOST_MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    parent, end = os.getppid(), time.monotonic() + life

    def look() -> None:
        nonlocal end
        while time.monotonic() < end:
            time.sleep(1.0)
            if not alone and os.getppid() != parent:
                end = min(end, time.monotonic() + ORPHAN_LIFE)
        os._exit(0)

    # Not by a timer's signal: where one strikes while a long line is written, a part of the line may get lost.
    threading.Thread(target=look, daemon=True).start()


def stop(life: int = LIFE) -> None:
    """Stop this process (SIGSTOP), if it is sure to be killed `life` seconds later: what is stopped ends nothing."""
    import ctypes

    try:
        library = ctypes.CDLL("librt.so.1")
        timer, event = ctypes.c_void_p(), (ctypes.c_int * 16)(0, 0, signal.SIGKILL, 0)
        when = (ctypes.c_long * 4)(0, 0, life, 0)
        armed = library.timer_create(time.CLOCK_MONOTONIC, event, ctypes.byref(timer)) == 0
        armed = armed and library.timer_settime(timer, 0, when, None) == 0
    except (OSError, AttributeError):
        armed = False
    if armed:
        os.kill(os.getpid(), signal.SIGSTOP)


def parent_is_the_suite() -> bool:
    """Whether the parent of this process is mcp-conform: nobody else is ever sent a signal."""
    if os.getppid() <= 1:
        return False
    try:
        with open(f"/proc/{os.getppid()}/cmdline", "rb") as file:  # noqa: PTH123 - pathlib takes long to import
            words = file.read().split(b"\0")
    except OSError:
        return False
    return any(word.endswith(b"mcp-conform") or word == b"conformance" for word in words)


def wait() -> None:
    """Do nothing until the end."""
    while True:
        time.sleep(60)


def spent(written: int) -> None:
    """End the process if it has written as much as it may."""
    if written > MOST_BYTES:
        sys.stderr.write("this target has written all that it may\n")
        os._exit(0)
