"""The table of all targets: name, what it does, what is expected of a run against it."""

from __future__ import annotations

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Server

    Play = Callable[[Server], None]

ANY = (0, 1, 3)
"""Exit statuses where it is a matter of taste; 2 is never right: the command line is."""


class Target:
    """One hostile server. `says` is a regular expression that what the terminal shows must match."""

    def __init__(self, name: str, what: str, kind: str, play: Play) -> None:
        self.name, self.what, self.kind, self.play = name, what, kind, play
        self.transport = "stdio"
        self.statuses: tuple[int, ...] = ANY
        self.says = ""
        self.words: tuple[str, ...] = ()
        self.whole = False
        self.variation = False

    def expecting(self, **how: Any) -> Target:
        """Set any of: `statuses`; `says`; `transport`; `words` that its command line needs after the name; `whole`: it
        does without the small server; `variation`: it is much like another one, and only the long test plays it."""
        for name, value in how.items():
            assert hasattr(self, name), name
            setattr(self, name, value)
        return self

    def as_json(self) -> dict[str, Any]:
        """A line of --list."""
        expect = {"statuses": list(self.statuses), "says": self.says}
        plain = {name: getattr(self, name) for name in ("name", "what", "transport", "kind")}
        return {**plain, "words": list(self.words), "variation": self.variation, "expect": expect}


TARGETS: dict[str, Target] = {}


def add(name: str, what: str, play: Play, **how: Any) -> None:
    """Register a target of the kind that the calling module is named after, or of `kind`."""
    kind = how.pop("kind", "") or sys._getframe(1).f_globals["__name__"].rpartition(".")[2]
    assert name not in TARGETS, name
    TARGETS[name] = Target(name, what, kind, play).expecting(**how)


def target(**how: Any) -> Callable[[Play], Play]:
    """Register a function as the target of its name; its docstring says what it does."""

    def register(play: Play) -> Play:
        kind = play.__module__.rpartition(".")[2]
        add(play.__name__.replace("_", "-"), (play.__doc__ or "").strip(), play, kind=kind, **how)
        return play

    return register


def vary(kind: str, names: str) -> None:
    """Of this kind only the targets of these names are played every time, the others are variations of them."""
    often = set(names.split())
    assert often <= set(TARGETS), often - set(TARGETS)
    for each in TARGETS.values():
        if each.kind == kind and each.name not in often:
            each.variation = True


KINDS = (
    "sound",
    "wholes",
    "manners",
    "floods",
    "sizes",
    "schemas",
    "numbers",
    "nesting",
    "values",
    "text",
    "processes",
    "silence",
    "tasks",
    "ids",
    "replies",
    "handshakes",
    "launches",
    "stateless",
    "machine",
    "over_http",
    "refusals_over_http",
    "over_sse",
    "burdens",
    "burdens_over_http",
    "websocket_frames",
    "over_websocket",
)
"""Modules of `hostile` that register targets."""


def load(name: str = "") -> dict[str, Target]:
    """All targets by name, or as many as it takes to find the one of this `name`: each start loads them anew."""
    for kind in KINDS:
        if name in TARGETS:
            break
        __import__(f"hostile.{kind}")
    return TARGETS
