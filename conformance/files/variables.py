"""The variables of client configurations: `${NAME}`, `${NAME:-default}`, `${env:NAME}`, `${input:id}` and the like."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

_VARIABLE = re.compile(r"\$\{([^{}]*)\}")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")

PUBLIC = re.compile(
    r"(HOME|USER|LOGNAME|SHELL|PATH|PWD|LANG|TERM|HOSTNAME|TMPDIR|TEMP|TMP|XDG_\w+|APPDATA|LOCALAPPDATA|USERPROFILE"
    r"|USERNAME|CLAUDE_PLUGIN_ROOT|CLAUDE_PROJECT_DIR)\Z"
)
"""Environment variables that are no secret of anybody's."""

KNOWN = "${NAME}, ${NAME:-default}, ${env:NAME}, ${input:id}, ${workspaceFolder}, ${userHome}"


class Unfilled(Exception):
    """A variable has no value here; the text says which, and what to do."""


class Variables:
    """Fills variables in. `secrets` collects what came from the environment: value → name."""

    def __init__(self, workspace: Path) -> None:
        self._fixed: Mapping[str, str] = {
            "workspaceFolder": str(workspace),
            "workspaceRoot": str(workspace),
            "workspaceFolderBasename": workspace.name,
            "userHome": str(Path.home()),
            "pathSeparator": os.sep,
            "/": os.sep,
        }
        self.secrets: dict[str, str] = {}

    def fill(self, text: str) -> str:
        """`text` with its variables filled in. Raises Unfilled."""
        return _VARIABLE.sub(lambda found: self._one(found[1]), text)

    def _one(self, inside: str) -> str:
        kind, colon, rest = inside.partition(":")
        if inside in self._fixed:
            return self._fixed[inside]
        if kind == "input" and colon:
            return self._input(rest)
        name, has_default, default = (rest if kind == "env" and colon else inside).partition(":-")
        if not _NAME.match(name):
            raise Unfilled(f"the variable ${{{inside}}} is not known here; known are {KNOWN}")
        value = os.environ.get(name)
        if value:
            return self._taken(name, value)
        if has_default:
            return default
        if value is None:
            raise Unfilled(f"the environment variable {name} is not set, which ${{{inside}}} stands for; set it")
        return value

    def _input(self, identifier: str) -> str:
        """What a client would ask its user for. A shell cannot set a name with a hyphen, so _ is as good."""
        plain = re.sub(r"\W", "_", identifier)
        for name in (identifier, plain):
            if name and name in os.environ:
                return self._taken(name, os.environ[name])
        wanted = f"${{input:{identifier}}} is asked for by the client"
        raise Unfilled(f"{wanted}; give it in the environment variable {plain or identifier}")

    def _taken(self, name: str, value: str) -> str:
        if value and not PUBLIC.match(name):
            self.secrets[value] = name
        return value
