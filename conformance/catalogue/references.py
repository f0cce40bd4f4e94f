"""References in cases: `$name.member` for a part of what was picked or saved, in what is sent, patterns and sentences.

A string that is nothing but a reference stands for the value, type included; `$$` at its beginning is a plain `$`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from conformance.catalogue.patterns import ABSENT, LONGEST, shorten
from conformance.model import Json

_NAME = r"[a-z][a-z0-9-]*(?:\.[A-Za-z0-9_-]+)*"
_WHOLE = re.compile(rf"\$({_NAME})\Z")
_WITHIN = re.compile(rf"\$({_NAME})")


def resolved(value: Json) -> Json:
    """`value` with each string that is a reference as `{$saved: name.member}`."""
    if isinstance(value, str) and value.startswith("$"):
        found = _WHOLE.match(value)
        if found is not None:
            return {"$saved": found[1]}
        return value[1:] if value.startswith("$$") else value
    if isinstance(value, dict):
        return {name: resolved(member) for name, member in value.items()}
    if isinstance(value, list):
        return [resolved(element) for element in value]
    return value


def named_in(text: str) -> Iterator[str]:
    """The references within a sentence, without their `$`."""
    return (found[1] for found in _WITHIN.finditer(text))


def root(path: str) -> str:
    """The name that a reference begins with."""
    return path.partition(".")[0]


class Values(dict[str, Json]):
    """What was picked, saved and observed, by name; looked up by dotted path, ABSENT if that leads nowhere."""

    def __getitem__(self, path: str) -> Json:
        name, _, rest = path.partition(".")
        return at(self.get(name, ABSENT), rest)

    def told(self, sentence: str) -> str:
        """The sentence with its references replaced by what they stand for."""

        def shown(found: re.Match[str]) -> str:
            value = self[found[1]]
            return value[:LONGEST] if isinstance(value, str) else shorten(value)

        return _WITHIN.sub(shown, sentence) if "$" in sentence else sentence


def at(value: Json, path: str) -> Json:
    """The part of `value` at a dotted path, ABSENT if there is none."""
    for part in path.split(".") if path else ():
        if isinstance(value, Mapping) and part in value:
            value = value[part]
        elif isinstance(value, list) and part.isdigit() and int(part) < len(value):
            value = value[int(part)]
        else:
            return ABSENT
    return value
