"""What the user allows and gives for servers of a server.json, and what this machine has to run them."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from conformance.files.yaml_files import FileError, line_of, load
from conformance.fleet.packages import RUNTIMES
from conformance.fleet.sandbox import docker_answers
from conformance.fleet.server_json import Choice
from conformance.model import UsageError

IN_IMAGE = frozenset({"npx", "uvx"})
"""Programs that the image of the Dockerfile has."""

_VARIABLE = re.compile(r"\$(?:\$|\{?([A-Za-z_][A-Za-z0-9_]*)\}?)")


def choice_of(values: Path | None, remotes: bool, programs: frozenset[str]) -> Choice:
    """What the options say, and the programs there are. Raises UsageError."""
    try:
        return Choice(remotes, programs, _values(values) if values is not None else {})
    except FileError as error:
        raise UsageError(f"--values: {error}") from None


def programs_in(sandbox: str) -> frozenset[str]:
    """The programs for packages that can be run here, or in the image; a docker without its daemon cannot."""
    if sandbox == "docker":
        return IN_IMAGE
    known = {program for programs in RUNTIMES.values() for program in programs}
    found = {program for program in known if shutil.which(program)}
    return frozenset(found - {"docker"} if "docker" in found and not docker_answers() else found)


def _values(path: Path) -> Mapping[str, Mapping[str, Any]]:
    """Server → variable → value. Raises FileError."""
    data, lines = load(path)
    if not isinstance(data, dict) or not all(isinstance(given, dict) for given in data.values()):
        raise FileError(path, 1, "must be an object: name of a server → name of a variable → value")
    filled: dict[str, dict[str, Any]] = {}
    for server, given in data.items():
        filled[server] = {}
        for name, value in given.items():

            def one(found: re.Match[str], place: tuple[str, str] = (server, name)) -> str:
                if found[1] is None:
                    return "$"
                if found[1] not in os.environ:
                    raise FileError(path, line_of(lines, place), f"the environment variable {found[1]} is not set")
                return os.environ[found[1]]

            texts = value if isinstance(value, list) else [value]
            if any(isinstance(text, dict | list) or text is None for text in texts):
                raise FileError(path, line_of(lines, (server, name)), f"{name}: a value is a text, or a list of texts")
            made = [_VARIABLE.sub(one, text) if isinstance(text, str) else text for text in texts]
            filled[server][name] = made if isinstance(value, list) else made[0]
    return filled
