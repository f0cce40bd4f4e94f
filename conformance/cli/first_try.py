"""What somebody probably meant who gave no option, but a command, a file or a URL."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Sequence
from pathlib import Path

from conformance.target.process import INTERPRETERS

SCHEMES = ("http://", "https://", "ws://", "wss://")
FILES = {".json": "--config", ".yaml": "--target", ".yml": "--target"}


def meant(words: Sequence[str]) -> str:
    """The command line that tests what `words` name: a URL, a file, a script or a program; "" if it is none of them."""
    first, kind = words[0], Path(words[0]).suffix
    if first.startswith(SCHEMES):
        return shlex.join(["mcp-conform", "--url", *words])
    there = Path(first).is_file()
    if there and kind in FILES:
        return shlex.join(["mcp-conform", FILES[kind], *words])
    if not (there or shutil.which(first)):
        return ""
    return shlex.join(["mcp-conform", "--server", shlex.join([*INTERPRETERS.get(kind, "").split(), *words])])
