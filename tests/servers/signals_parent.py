"""A server that interrupts whoever started it: `signals_parent.py SIGNAL TIMES WHEN [stubborn] …`.

WHEN is `start` or the number of the message on which it does so. A stubborn one ends neither with its input nor by
SIGTERM.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from hostile.manners import serve


def main() -> None:
    """Interrupt, and serve."""
    name, times, when = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    parent = os.getppid()
    if "stubborn" in sys.argv:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if when != "start":
        serve(int(when))
    for _ in range(times):
        os.kill(parent, signal.Signals[name])
    serve()
    while "stubborn" in sys.argv:
        time.sleep(1)


if __name__ == "__main__":
    main()
