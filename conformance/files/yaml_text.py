"""YAML in which words of strangers stay words: values on one line that read back as they are, and comments."""

from __future__ import annotations

import math
from typing import Any

import yaml

from conformance.model import Json

LONGEST = 8_000
"""Characters of a value: more is not for people to read."""
DEEPEST = 30
"""How deep a value may be nested; the reader allows 50, counted from the top of the file."""
COMMENT = 300
"""Characters of a comment."""


class Unwritable(Exception):
    """The value cannot be written so that it reads back as it is; the text says why."""


def one_line(value: Json, longest: int = LONGEST) -> str:
    """`value` on one line, its strings in double quotes and, unless all is letters and ASCII, escaped.

    Any YAML reader, strict or not, gets the same value back. Raises Unwritable.
    """
    plain = _measured(value, longest)
    text = yaml.dump(
        [value], Dumper=_Dumper, default_flow_style=True, width=math.inf, allow_unicode=plain, sort_keys=False
    )
    return text.strip()[1:-1]


def key(name: str) -> str:
    """`name` as the key of a block, without the colon. Raises Unwritable."""
    text = one_line(name)
    if len(text) > 1000:  # longer ones need another form, and no tool has such a name
        raise Unwritable(f"it has {len(name)} characters")
    return text


def comment(text: str) -> str:
    """`text` as one line of printable ASCII, letters and digits, shortened; the rest is escaped as in Python."""
    shown = "".join(c if _is_plain(c) else c.encode("unicode_escape").decode("ascii") for c in text[: COMMENT + 1])
    return f"# {shown if len(shown) <= COMMENT else shown[:COMMENT] + ' ...'}"


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: object) -> bool:
        return True


def _in_quotes(dumper: yaml.SafeDumper, text: str) -> Any:
    return dumper.represent_scalar("tag:yaml.org,2002:str", str(text), style='"')


_Dumper.add_representer(str, _in_quotes)
_Dumper.add_multi_representer(str, _in_quotes)


def _is_plain(character: str) -> bool:
    return " " <= character <= "~" or character.isalnum()


def _measured(value: Json, longest: int) -> bool:
    """Whether all of it is letters and ASCII. Raises Unwritable if it cannot be written exactly, or is too much."""
    size, depth, plain = 0, 0, True
    level: list[Json] = [value]
    while level:
        below: list[Json] = []
        for each in level:
            if isinstance(each, dict):
                below += [*each.keys(), *each.values()]
            elif isinstance(each, list | tuple):
                below += each
            elif isinstance(each, str):
                size += len(each)
                plain = plain and all(map(_is_plain, each[:longest]))
                if any("\ud800" <= c <= "\udfff" for c in each[:longest]):
                    raise Unwritable("it has halves of characters (lone surrogates), which no file can hold")
            elif isinstance(each, float) and not math.isfinite(each):
                raise Unwritable(f"it has the number {each}, which JSON does not have")
            elif isinstance(each, int) and abs(each) >= 10**1000:
                raise Unwritable("it has a number of more than 1000 digits")
        size += len(level)
        depth += bool(below)
        if size > longest:
            raise Unwritable(f"it has more than {longest} characters")
        if depth > DEEPEST:
            raise Unwritable(f"it is nested more than {DEEPEST} deep")
        level = below
    return plain
