"""Ids of our items on the command line: `pytest mcp::2025-11-25::stdio::tools/unknown-tool-refused`."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

import pytest

from conformance.pytest_plugin.options import on_command_line

ROOT = "mcp"
CHOSEN = "mcp_chosen"
"""The attribute of `config.option` with the ids; some versions of pytest-xdist hand the options to their workers.

None: our items are not wanted. An empty list: all of them are.
"""
ALONE = "mcp_alone"
"""The attribute that says that nothing else was asked for."""


def take_ids(config: pytest.Config) -> None:
    """Take our ids out of the arguments, in which pytest expects files, and keep them.

    Who names files wants these only, unless the server is named beside them.
    """
    if hasattr(config, "workerinput") and hasattr(config.option, CHOSEN):  # pytest-xdist before 3.6
        config.args = [] if getattr(config.option, ALONE) else config.args
        return
    ours = [arg for arg in config.args if _is_ours(config, arg)]
    others = [arg for arg in config.args if arg not in ours]
    explicit = config.args_source is pytest.Config.ArgsSource.ARGS
    wanted = bool(ours) or not explicit or on_command_line(config)
    setattr(config.option, CHOSEN, [_from_root(arg) for arg in ours] if wanted else None)
    setattr(config.option, ALONE, bool(ours) and not others)
    if ours:
        config.args = others


def chosen(config: pytest.Config) -> list[str] | None:
    """The ids that were asked for: none for all items, None if our items are not wanted."""
    found: list[str] | None = getattr(config.option, CHOSEN, None)
    return found


def meant(identifier: str, given: str) -> bool:
    """Whether `given` is the id of an item, or of what it belongs to: a server, a revision, an area."""
    return identifier == given or identifier.startswith((f"{given}::", f"{given}/"))


def missing(given: Iterable[str], identifiers: Iterable[str]) -> list[str]:
    """The ids that mean no item."""
    identifiers = list(identifiers)
    return [each for each in given if not any(meant(identifier, each) for identifier in identifiers)]


def _is_ours(config: pytest.Config, arg: str) -> bool:
    """pytest shows ids as paths from the working directory, so that ours may begin with `../mcp::`."""
    first, inside, _ = arg.partition("::")
    there = os.path.normpath(config.invocation_params.dir / first)
    at_root = there == os.path.normpath(config.rootpath / ROOT)
    return (first == ROOT or at_root) and (bool(inside) or not os.path.exists(there))  # noqa: PTH110


def _from_root(arg: str) -> str:
    """As we name it; with `--dist loadgroup` pytest-xdist appends the group."""
    return re.sub(rf"@{ROOT}::.*", "", "::".join([ROOT, *arg.split("::")[1:]])).rstrip("/:")
