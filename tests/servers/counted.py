"""The reference server, which adds a line to a file when it starts.

`counted.py FILE [option of the reference server]…`
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path


def main() -> None:
    """Count, and serve."""
    with Path(sys.argv[1]).open("a") as file:
        file.write("started\n")
    del sys.argv[1]
    runpy.run_module("conformance.reference", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
