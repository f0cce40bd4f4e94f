"""What hostile targets get: an end, one sentence, and nothing of ours left on the machine.

`MCP_CONFORM_HOSTILE=full` plays also those that are much like others.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import pytest
from hostile import measure
from hostile.registry import load

TARGETS = load()
FULL = os.environ.get("MCP_CONFORM_HOSTILE") == "full"
NAMES = [name for name, target in TARGETS.items() if FULL or not target.variation]
LEAST = 120
"""As many targets there are at least."""
SHORT = ("--revision", "newest", "--timeout", "2", "--start-timeout", "4", "--fuzz", "5", "--fuzz-time", "2")
READING = ("--quick",)
COMPUTING = ("--only", "tools", "--only", "json-schema", "--only", "fuzz/tool-arguments")
ENOUGH = {
    "numbers": READING,
    "nesting": READING,
    "values": READING,
    "text": READING,
    "schemas": COMPUTING,
    "http-ends-in-order-after-a-wrong-type": ("--fuzz", "40"),
}
"""Kind, or name of a target → options with which it shows all that it is about."""
NET = 300.0
"""Seconds after which a run is taken for one that does not end; benchmarks/broken.py measures how long they take."""
VARIES = 1.3
"""How many times more memory one run may take than another of the same target; benchmarks/broken.py measures it."""

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="what is left is read from /proc")


@pytest.mark.parametrize("name", NAMES)
def test_a_hostile_target_ends_in_one_sentence_and_leaves_nothing(name: str, tmp_path: Path) -> None:
    target = TARGETS[name]
    options = [*measure.server_options(target), *SHORT, *ENOUGH.get(name, ENOUGH.get(target.kind, ()))]
    done = measure.run(name, options, tmp_path / "run", NET, 2 * measure.MEMORY)
    row = done.row(target.statuses, target.says)
    row["memory"] = row["memory"] / VARIES
    assert measure.classes(row, NET) == [], f"{row}\n{done.printed}"
    assert "\x1b" not in done.printed


def test_every_target_says_what_it_does_and_what_is_expected() -> None:
    assert len(TARGETS) >= LEAST
    for target in TARGETS.values():
        assert target.what.endswith("."), target.name
        assert set(target.statuses) <= {0, 1, 3}, target.name
        assert target.transport in ("stdio", "http", "http+sse", "websocket"), target.name
        re.compile(target.says)


def test_every_kind_has_targets_that_are_always_played() -> None:
    kinds = {target.kind for target in TARGETS.values()}
    assert kinds == {target.kind for target in TARGETS.values() if not target.variation}
