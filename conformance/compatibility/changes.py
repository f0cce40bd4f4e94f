"""What a change is, and how much it matters."""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import StrEnum

from conformance.model import Json


class ChangeKind(StrEnum):
    """Whether those who used the old one get along with the new one."""

    BREAKING = "breaking"
    UNDECIDED = "may break"
    COMPATIBLE = "compatible"


@dataclass(frozen=True, slots=True)
class Change:
    """One change. `item` is what changed (`tool add`), `place` a JSON pointer into it, empty for all of it."""

    kind: ChangeKind
    item: str
    place: str
    what: str


def canonical(value: Json) -> str:
    """Equal for equal JSON values, whatever the order of members; 1.0 is 1, and true is not 1."""
    return json.dumps(_integral(value), sort_keys=True, ensure_ascii=False)


def _integral(value: Json) -> Json:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, dict):
        return {name: _integral(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_integral(element) for element in value]
    return value


def same(one: Json, other: Json) -> bool:
    """Whether two JSON values are equal."""
    return canonical(one) == canonical(other)


def step(place: str, *names: str) -> str:
    """The JSON pointer `place` with further steps."""
    return place + "".join("/" + name.replace("~", "~0").replace("/", "~1") for name in names)


def short(value: Json, limit: int = 60) -> str:
    """A JSON value on one line, cut at `limit` characters."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= limit else text[: limit - 1] + "…"
