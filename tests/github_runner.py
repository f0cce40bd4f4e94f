"""How the runner of GitHub Actions reads the output of a step, line by line: the commands that it would obey.

After `ActionCommand` and `ActionCommandManager` of https://github.com/actions/runner, which know two spellings: `::` at
the beginning of a line, and the older `##[` anywhere in it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

KNOWN = {
    *("error", "warning", "notice", "debug", "group", "endgroup", "echo", "add-mask", "add-path", "set-env"),
    *("set-output", "save-state", "add-matcher", "remove-matcher", "stop-commands", "internal-set-repo-path"),
}


class Command(NamedTuple):
    """What the runner is told to do."""

    name: str
    properties: dict[str, str]
    data: str


def commands(output: str) -> list[Command]:
    """The commands in what a step has printed."""
    found = (_new(line) or _old(line) for line in re.split(r"\r\n|\r|\n", output))
    return [command for command in found if command is not None]


def _new(line: str) -> Command | None:
    line = line.lstrip()
    end = line.find("::", 2)
    if not line.startswith("::") or end < 0:
        return None
    return _command(line[2:end], line[end + 2 :], ",", {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ","})


def _old(line: str) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    return _command(line[start + 3 : end], line[end + 1 :], ";", {"%3B": ";", "%0D": "\r", "%0A": "\n", "%5D": "]"})


def _command(head: str, data: str, separator: str, escapes: dict[str, str]) -> Command | None:
    name, _, told = head.partition(" ")
    if name.lower() not in KNOWN:
        return None
    pairs = (pair.partition("=") for pair in told.strip().split(separator))
    properties = {key: _unescaped(value, escapes) for key, _, value in pairs if key and value}
    return Command(name.lower(), properties, _unescaped(data, {"%0D": "\r", "%0A": "\n"}))


def _unescaped(text: str, escapes: dict[str, str]) -> str:
    for escape, character in escapes.items():
        text = text.replace(escape, character)
    return text.replace("%25", "%")
