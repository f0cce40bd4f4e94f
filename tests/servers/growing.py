"""The reference server over stdio, which reads a file that grows by 200 kB with each start: `growing.py FILE`."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

if __name__ == "__main__":
    file = Path(sys.argv[1])
    with file.open("ab") as grows:
        grows.write(b"x" * 200_000)
    held = file.read_bytes()
    sys.argv = ["reference"]
    runpy.run_module("conformance.reference", run_name="__main__")
