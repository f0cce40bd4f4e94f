"""Finds secrets in text, however they are spelt, and puts the names of their variables in their place."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from conformance.target.credentials import is_setting
from conformance.target.spellings import Spelling, lowered, readings, spellings

SHORTEST = 4
"""Characters of the shortest secret that is masked."""

CUT = "…"
"""Stands where a text was cut, and perhaps a secret in it."""

_GRAM = 8
_FEW = 100
_MET = 10_000
"""Grams of which it is known at once where they stand."""
_CHUNK, _OVERLAP = 65536, 2048
"""Characters looked through at once, and those that two chunks share: more than any spelling's `least`, escaped."""

_NUMBER = re.compile(r"[-+.\deE]+")

Span = tuple[int, int, str]
"""Where a secret stands in a text, from and up to, and its name."""


class Mask:
    """Replaces secrets, a mapping of value → name of the variable that stands for it, by `***NAME***`.

    Values shorter than SHORTEST characters and words of settings such as `true` are never masked: they would turn up
    by chance. A secret is found in any case, in the spellings of `spellings.py`, through escapes, and by any half of
    it; where a text was cut, its beginning is enough.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        self.numeric = False
        self._searches = False
        self._spelt: list[tuple[Spelling, str, int]] = []
        self._secrets: set[str] = set()
        self._grams: set[str] = set()
        self._short: dict[str, str] = {}
        self._begun: dict[str, str] = {}
        self.learn(secrets)

    def learn(self, secrets: Mapping[str, str]) -> None:
        """Replace these, too, from now on."""
        new = sorted(secrets.keys() - self._secrets, key=lambda value: (-len(value), value))
        first = len(self._spelt)
        for value in new:
            self._secrets.add(value)
            self.numeric |= _NUMBER.fullmatch(value) is not None
            if len(value) >= SHORTEST and not is_setting(value):
                secret = len(self._secrets)
                self._spelt += [(spelling, secrets[value], secret) for spelling in spellings(value)]
        for (text, least), name, _ in self._spelt[first:]:
            for length in range(SHORTEST, min(len(text), least + 1)):
                self._begun.setdefault(text[:length], name)
            if least < _GRAM:
                self._short.setdefault(text, name)
        longest_first = sorted(self._short, key=len, reverse=True)
        self._shorts = re.compile("|".join(map(re.escape, longest_first))) if longest_first else None
        self._longest_begun = max(map(len, self._begun), default=0)
        self._index(first)

    def _index(self, first: int) -> None:
        """The grams by which pieces are found, and at which of the places in a text they are looked for.

        Any piece of `least` characters holds one whole gram of those that begin at every `least - _GRAM + 1`th place,
        be that counted in the secret or in the text. A search in C for each of a few is faster than a look at places.
        What is new are the spellings from `first` on.
        """
        steps = {n: spelling.least - _GRAM + 1 for n, (spelling, _, _) in enumerate(self._spelt)}
        steps = {n: step for n, step in steps.items() if step > 0}
        searched = self._searches
        self._stride = min(steps.values(), default=1)
        self._searches = sum(len(self._spelt[n][0].text) // step for n, step in steps.items()) * self._stride <= _FEW
        for number, step in steps.items():
            if number >= first or (searched and not self._searches):
                text = self._spelt[number][0].text
                places = range(0, len(text) - _GRAM + 1, step if self._searches else 1)
                self._grams.update(text[place : place + _GRAM] for place in places)
        self._known: dict[str, dict[int, list[tuple[int, int]]]] = {}

    def _holding(self, gram: str) -> dict[int, list[tuple[int, int]]]:
        """Where a gram stands in which spellings of which secret: looked for once it is met, since few ever are."""
        found = self._known.get(gram)
        if found is None:
            found = {}
            for number, (spelling, _, secret) in enumerate(self._spelt):
                if spelling.least >= _GRAM:
                    for place in _places(spelling.text, gram):
                        found.setdefault(secret, []).append((number, place))
            if len(self._known) >= _MET:
                self._known.clear()
            self._known[gram] = found
        return found

    def __bool__(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._spelt)

    def text(self, text: str) -> str:
        """`text` without the secrets."""
        return "".join(f"***{_plain(name)}***" if name else part for part, name in self.parts(text))

    def parts(self, text: str) -> list[tuple[str, str]]:
        """`text` in pieces, each with the name of the secret that it is, or "" if it is none."""
        spans = self._spans(text) if self else []
        found, end = [], 0
        for start, stop, name in spans:
            found += [(text[end:start], ""), (text[start:stop], name)]
            end = stop
        return [part for part in (*found, (text[end:], "")) if part[0]]

    # -- where the secrets are

    def _spans(self, text: str) -> list[Span]:
        spans = [
            (offset + start, offset + end, name)
            for offset in range(0, max(len(text) - _OVERLAP, 1), _CHUNK - _OVERLAP)
            for start, end, name in self._in_chunk(text[offset : offset + _CHUNK])
        ]
        return _united(spans) if spans else spans

    def _in_chunk(self, text: str) -> Iterator[Span]:
        for reading in readings(text):
            low = lowered(reading.text)
            found = (*self._pieces(low), *self._whole(low), *self._beginnings(low))
            places = reading.places() if found else None
            yield from found if places is None else ((places[s], places[e], name) for s, e, name in found)

    def _pieces(self, text: str) -> Iterator[Span]:
        known: dict[int, int] = {}
        # Up to there stands a secret from its beginning to its end: pieces of others in it are masked with it.
        whole = 0
        for place in self._hits(text):
            if place + _GRAM <= whole:
                continue
            for secret, spelt in self._holding(text[place : place + _GRAM]).items():
                if place + _GRAM <= known.get(secret, 0):
                    continue
                for number, inner in spelt:
                    (spelling, least), name, _ = self._spelt[number]
                    start, end = _run(text, place, spelling, inner)
                    if end - start >= least:
                        known[secret] = max(end, known.get(secret, 0))
                        whole = max(whole, end if end - start == len(spelling) else 0)
                        yield start, end, name

    def _hits(self, text: str) -> Iterable[int]:
        """Where one of the grams stands, in order."""
        grams = self._grams
        if self._searches:
            there = [gram for gram in grams if gram in text]
            return sorted(i for gram in there for i in _places(text, gram))
        return [i for i in range(0, len(text) - _GRAM + 1, self._stride) if text[i : i + _GRAM] in grams]

    def _whole(self, text: str) -> Iterator[Span]:
        if self._shorts is not None:
            for found in self._shorts.finditer(text):
                yield found.start(), found.end(), self._short[found[0]]

    def _beginnings(self, text: str) -> Iterator[Span]:
        """What was cut off in the middle of a secret."""
        for end in _places(text, CUT) if CUT in text else ():
            for length in range(min(self._longest_begun, end), SHORTEST - 1, -1):
                name = self._begun.get(text[end - length : end])
                if name is not None:
                    yield end - length, end, name
                    break


def _run(text: str, place: int, spelling: str, inner: int) -> tuple[int, int]:
    """How far text and spelling are the same around a place that they have in common."""
    if inner <= place and text.startswith(spelling, place - inner):
        return place - inner, place - inner + len(spelling)
    start, before = place, inner
    while start > 0 and before > 0 and text[start - 1] == spelling[before - 1]:
        start, before = start - 1, before - 1
    end, after = place, inner
    while end < len(text) and after < len(spelling) and text[end] == spelling[after]:
        end, after = end + 1, after + 1
    return start, end


def _places(text: str, part: str) -> Iterator[int]:
    place = text.find(part)
    while place >= 0:
        yield place
        place = text.find(part, place + 1)


def _united(spans: list[Span]) -> list[Span]:
    """Those that overlap put together, under the name of the longest."""
    united: list[tuple[int, int, str, int]] = []
    for start, end, name in sorted(spans):
        if united and (start < united[-1][1] or (start == united[-1][1] and name == united[-1][2])):
            first, last, longest, length = united[-1]
            if end - start > length:
                longest, length = name, end - start
            united[-1] = (first, max(last, end), longest, length)
        else:
            united.append((start, end, name, end - start))
    return [(start, end, name) for start, end, name, _ in united]


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)
