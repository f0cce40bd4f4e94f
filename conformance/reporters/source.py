"""The file that a finding is shown at, where a pipeline wants one: nothing of a server's answer has a line of code."""

from __future__ import annotations

import os
from pathlib import Path

from conformance.model import Target

TARGET_FILE, FALLBACK = "mcp-conform.yaml", "README.md"
INSTALLED = ("node_modules", "site-packages", "venv")


def source(target: Target, here: Path | None = None) -> str:
    """The path of a file within the repository, with slashes, relative to its root.

    It is the client configuration, the target file in the working directory, or the first file that the command of the
    server names, whichever is there; else README.md, there or not. What is installed, such as the interpreter of a
    virtual environment, is no such file. The root is the nearest folder that holds `.git`, else the working directory
    `here`.
    """
    here = (here or Path.cwd()).resolve()
    root = next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here)
    program, words = target.command[:1], target.command[1:]
    folder = here / (target.cwd or "")
    named = [here / (target.config or TARGET_FILE)]
    for path in (*named, *(folder / word for word in (*words, *program) if word)):
        try:
            if path.is_file():
                found = Path(os.path.normpath(path)).relative_to(root)
                if path in named or not any(part.startswith(".") or part in INSTALLED for part in found.parts):
                    return found.as_posix()
        except (OSError, ValueError):  # no path at all, or outside of the repository
            continue
    return FALLBACK


def exists(path: str, here: Path | None = None) -> bool:
    """Whether `source` named a file that is there."""
    here = (here or Path.cwd()).resolve()
    return any((folder / path).is_file() for folder in (here, *here.parents))
