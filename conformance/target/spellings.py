"""How a secret may be spelt: the encodings of it to look for, and the escapes through which a text is read."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import quote, quote_plus

ENOUGH = 24
"""So many characters of a secret in a row give it away, however long it is."""

DEPTH = 3
"""How many times one inside the other escapes are read: JSON in a string of JSON in a string of JSON."""


class Spelling(NamedTuple):
    """One way to write a secret, in lower case. Any `least` characters of it in a row are taken for the secret."""

    text: str
    least: int


def lowered(text: str) -> str:
    """`text` in lower case, character by character, so that places stay what they are."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def least(length: int) -> int:
    """How many characters in a row of a secret of `length` are masked: half of it, but never less than eight.

    A secret of less than 12 characters is masked only as a whole: pieces of it would turn up by chance.
    """
    if length < 12:
        return length
    return min(length // 2, ENOUGH) if length >= 16 else max(8, -(-2 * length // 3))


def spellings(value: str) -> list[Spelling]:
    """As it is, reversed, in base64 wherever it stands in what was encoded, and in hexadecimal digits.

    Case is left to `lowered`, and what escapes characters otherwise than usual to `readings`.
    """
    found: dict[str, int] = {}
    number = least(len(value))
    for text in (value, value.lower(), value.upper(), value.replace(" ", "+")):
        for spelt in (lowered(text), lowered(text)[::-1]):
            found.setdefault(spelt, number)
    for text in _escaped(value):
        # Half of it may end within an escape, and hold less than half of the secret.
        found.setdefault(lowered(text), least(len(text)))
    data = value.encode("utf-8", "surrogatepass" if _pairs(value) else "surrogateescape")
    found.setdefault(data.hex(), 2 * number)
    for before in range(3):
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            # The characters that also hold bits of what stands before it are left out.
            text = encode(b"x" * before + data).decode().rstrip("=")[-(-8 * before // 6) :]
            sure = (8 * number - 4) // 6
            if before == 0 or sure >= 8:
                found.setdefault(lowered(text), sure if sure >= 8 else len(text))
    return [Spelling(text, number) for text, number in found.items()]


def _escaped(value: str) -> set[str]:
    data = value.encode("utf-8", "replace")
    urls = {quote(data), quote(data, safe=""), quote_plus(data)}
    strings = {json.dumps(value, ensure_ascii=ascii_only)[1:-1] for ascii_only in (False, True)}
    return urls | strings | {text.replace("/", "\\/") for text in strings} | {html.escape(value)}


def _pairs(value: str) -> bool:
    """Whether it holds surrogates that do not stand for single bytes."""
    return any("\ud800" <= c <= "\udfff" and not "\udc80" <= c <= "\udcff" for c in value)


_ESCAPED = {
    "\\": r"u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*|x[0-9a-fA-F]{2}(?:\\x[0-9a-fA-F]{2})*|[bfnrt/\"'`$\\]",
    "%": r"[0-9a-fA-F]{2}(?:%[0-9a-fA-F]{2})*",
    "&": r"(?:\#[0-9]{1,7}|\#[xX][0-9a-fA-F]{1,6}|amp|lt|gt|quot|apos);",
}
"""Mark → what makes it an escape."""
_OF_KIND = {mark: re.compile(f"{re.escape(mark)}(?:{rest})") for mark, rest in _ESCAPED.items()}
_OF_ANY = re.compile("|".join(pattern.pattern for pattern in _OF_KIND.values()))
_ONE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}


class Reading(NamedTuple):
    """What a text reads when escapes in it are undone; `steps` are the texts on the way, and what was undone in each.

    Where its characters stand takes ten times as long to tell as what they are, and is seldom asked for.
    """

    text: str
    steps: tuple[tuple[str, re.Pattern[str]], ...] = ()

    def places(self) -> list[int] | None:
        """Where in the first text each of its characters begins, and the end; None: where it stands."""
        places: list[int] | None = None
        for text, escapes in self.steps:
            inner = _origins(text, escapes)
            places = inner if places is None else [places[i] for i in inner]
        return places


def readings(text: str) -> Iterator[Reading]:
    """`text`, and what it reads when the escapes in it are undone, once, twice, three times.

    Where escapes of several kinds stand, each kind is also undone alone: one may be the secret's own.
    """
    yield Reading(text)
    kinds = [mark for mark in _OF_KIND if mark in text]
    for kind in kinds if len(kinds) > 1 else ():
        alone = _undone(Reading(text), _OF_KIND[kind])
        if alone.text != text:
            yield alone
    reading = Reading(text)
    for _ in range(DEPTH):
        before, reading = reading, _undone(reading, _OF_ANY)
        if reading.text == before.text:
            return
        yield reading


def _undone(reading: Reading, escapes: re.Pattern[str]) -> Reading:
    text = escapes.sub(lambda found: _characters(found[0]), reading.text)
    return Reading(text, (*reading.steps, (reading.text, escapes)))


@lru_cache(4096)
def _characters(escape: str) -> str:
    """What an escape stands for; itself, if that is nothing."""
    return "".join(character for character, _ in _read(escape)) or escape


def _origins(text: str, escapes: re.Pattern[str]) -> list[int]:
    """Where in `text` each character of what it reads without the escapes begins, and the end."""
    places: list[int] = []
    end = 0
    for found in escapes.finditer(text):
        start = found.start()
        places += range(end, start)
        read = _read(found[0])
        for _, width in read:
            places.append(start)
            start += width
        end = found.end() if read else start
    places += range(end, len(text) + 1)
    return places


def _read(escape: str) -> list[tuple[str, int]]:
    """The characters that an escape stands for, each with how many characters of the escape are its own."""
    if escape[1] == "u":
        text = bytes.fromhex(escape.replace("\\u", "")).decode("utf-16-be", "surrogatepass")
        return [(c, 12 if ord(c) > 0xFFFF else 6) for c in text]
    if escape[0] == "%" or escape[1] == "x":
        width = 3 if escape[0] == "%" else 4
        data = bytes.fromhex(re.sub(r"\\x|%", "", escape))
        try:
            return [(c, width * len(c.encode())) for c in data.decode()]
        except UnicodeDecodeError:
            return [(chr(byte), width) for byte in data]
    if escape[0] == "\\":
        return [(_ONE.get(escape[1], escape[1]), 2)]
    character = html.unescape(escape)
    return [(character, len(escape))] if len(character) == 1 else []
