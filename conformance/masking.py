"""Takes what is secret out of all that reports are made from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any, TypeVar

from conformance import events
from conformance.credentials import is_setting
from conformance.model import Basis, Finding, Frame, Judged, Report, Requirement, Run, Tally, Target
from conformance.spellings import Spelling, lowered, readings, spellings
from conformance.survey import Samples, Survey

SHORTEST = 4
"""Characters of the shortest secret that is masked."""

CUT = "…"
"""Stands where a text was cut, and perhaps a secret in it."""

DEPTH = 200
"""How deep what a server sent is looked through; what is deeper is left out."""

SPOKEN: Mapping[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        Target: "command url env cwd headers",
        Run: "server capabilities verdicts tallies left_out",
        Tally: "answers note",
        Judged: "reason findings flaky reproduce",
        Finding: "message expected actual frames replay",
        Frame: "data headers",
        Requirement: "",
        Report: "target runs notes problem problems",
        Survey: "capabilities tools resources templates prompts",
        events.Started: "target",
        events.Noted: "text",
        events.NotTested: "why",
        events.RevisionFound: "server",
        events.RevisionAbsent: "why",
        events.Surveyed: "server survey",
        events.Planned: "",
        events.CaseEnded: "outcome",
        events.Confirming: "",
        events.FrameSeen: "frame",
        events.Finished: "report",
    }.items()
}
"""What a server or a user may have put into words; it is masked."""

OURS: Mapping[type, frozenset[str]] = {
    kind: frozenset(names.split())
    for kind, names in {
        Target: "name config",
        Run: "revision era transport seconds name",
        Tally: "campaign frames planned restarts seed seconds",
        Judged: "requirement level basis verdict severity url seconds",
        Finding: "requirement case ceiling confirmed occurrences diagnosis hint after tries",
        Frame: "number origin channel at readable case illegal part exchange status unread",
        Requirement: "id text levels bases urls observable transports capabilities client needs probe caution "
        "unobservable",
        Report: "version started seconds complete exit counts diagnosis hint untried fail_on",
        Survey: "policy pages unread cut",
        events.Started: "",
        events.Noted: "",
        events.NotTested: "name",
        events.RevisionFound: "revision transport",
        events.RevisionAbsent: "revision",
        events.Surveyed: "revision transport",
        events.Planned: "total",
        events.CaseEnded: "revision transport case seconds",
        events.Confirming: "count",
        events.FrameSeen: "revision transport session",
        events.Finished: "unwritten",
    }.items()
}
"""Our own words, the catalogue's, numbers, and the names that the user gave to servers; it is left as it is."""

WITHHELD: Mapping[type, Mapping[str, Any]] = {
    Target: {"secrets": {}},
    Frame: {"message": None},
    Survey: {"samples": Samples()},
}
"""What reporters have no use for: they get this instead. Of a frame they have the bytes."""

T = TypeVar("T")

_GRAM = 8
_FEW = 100
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
        self._spelt: list[tuple[Spelling, str, int]] = []
        for secret, value in enumerate(sorted(secrets, key=len, reverse=True)):
            if len(value) >= SHORTEST and not is_setting(value):
                self._spelt += [(spelling, secrets[value], secret) for spelling in spellings(value)]
        self._numeric = any(_NUMBER.fullmatch(value) for value in secrets)
        self._grams: dict[str, list[tuple[int, int]]] = {}
        short: dict[str, str] = {}
        self._begun: dict[str, str] = {}
        for number, ((text, least), name, _) in enumerate(self._spelt):
            for length in range(SHORTEST, min(len(text), least + 1)):
                self._begun.setdefault(text[:length], name)
            if least < _GRAM:
                short.setdefault(text, name)
            # Whatever piece of `least` characters it is, it holds one of these whole.
            for place in range(0, len(text) - _GRAM + 1, least - _GRAM + 1) if least >= _GRAM else ():
                self._grams.setdefault(text[place : place + _GRAM], []).append((number, place))
        self._short = short
        self._shorts = re.compile("|".join(map(re.escape, sorted(short, key=len, reverse=True)))) if short else None
        self._longest_begun = max(map(len, self._begun), default=0)

    def __bool__(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._spelt)

    def event(self, event: T) -> T:
        """An event, or any of the nouns, without the secrets."""
        return self._value(event, DEPTH) if self else event

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

    # -- what reports are made from

    def _value(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is str:
            return self.text(value)
        if kind is bytes:
            return self.text(value.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
        if self._numeric and (kind is float or (kind is int and abs(value) < 10**100)):
            masked = self.text(str(value))
            return value if masked == str(value) else masked
        if kind in SPOKEN:
            return self._noun(value, kind, depth)
        if depth == 0 and isinstance(value, Mapping | tuple | list):
            return CUT
        if isinstance(value, Mapping):
            return {self._value(name, depth): self._value(member, depth - 1) for name, member in value.items()}
        if isinstance(value, tuple | list):
            return kind(self._value(element, depth - 1) for element in value)
        return value

    def _noun(self, value: Any, kind: type, depth: int) -> Any:
        changed = {name: self._value(getattr(value, name), depth) for name in SPOKEN[kind]}
        changed |= WITHHELD.get(kind, {})
        if isinstance(value, Frame):
            return value._replace(**changed)
        if isinstance(value, Judged) and value.basis is Basis.OWN:
            # The user's own rules are in the user's words: arguments of sample calls stand in them.
            rule = value.requirement
            changed["requirement"] = replace(rule, text=self.text(rule.text))
        return replace(value, **changed) if changed else value

    # -- where the secrets are

    def _spans(self, text: str) -> list[Span]:
        spans = [
            (offset + start, offset + end, name)
            for offset in range(0, max(len(text) - _OVERLAP, 1), _CHUNK - _OVERLAP)
            for start, end, name in self._in_chunk(text[offset : offset + _CHUNK])
        ]
        return _united(spans) if spans else spans

    def _in_chunk(self, text: str) -> Iterator[Span]:
        for reading, places in readings(text):
            low = lowered(reading)
            for start, end, name in (*self._pieces(low), *self._whole(low), *self._beginnings(low)):
                yield (start, end, name) if places is None else (places[start], places[end], name)

    def _pieces(self, text: str) -> Iterator[Span]:
        known: dict[int, int] = {}
        for place in self._hits(text):
            for number, inner in self._grams[text[place : place + _GRAM]]:
                (spelling, least), name, secret = self._spelt[number]
                if place + _GRAM <= known.get(secret, 0):
                    continue
                start, end = _run(text, place, spelling, inner)
                if end - start >= least:
                    known[secret] = max(end, known.get(secret, 0))
                    yield start, end, name

    def _hits(self, text: str) -> Iterable[int]:
        """Where one of the grams stands, in order."""
        grams = self._grams
        if len(grams) > _FEW:
            return [i for i in range(len(text) - _GRAM + 1) if text[i : i + _GRAM] in grams]
        # A search in C for each of a few is faster than a look at each place.
        there = [gram for gram in grams if gram in text]
        return sorted(i for gram in there for i in _places(text, gram))

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


def undeclared(kind: type) -> set[str]:
    """The fields of a noun of which nobody said whether they are masked; those that do not exist any more, too."""
    there = {field.name for field in fields(kind)} if is_dataclass(kind) else set(getattr(kind, "_fields", ()))
    declared = [*SPOKEN[kind], *OURS[kind], *WITHHELD.get(kind, {})]
    twice = {name for name in declared if declared.count(name) > 1}
    return there.symmetric_difference(declared) | twice


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
