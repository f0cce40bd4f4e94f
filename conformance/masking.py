"""Takes what is secret out of all that reports are made from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar
from urllib.parse import quote

from conformance import events
from conformance.model import Finding, Frame, Judged, Report, Run, Tally, Target
from conformance.survey import Survey

SHORTEST = 4
"""Characters of the shortest secret that is masked."""

PLAIN = frozenset({"true", "false", "null", "none"})
"""Never masked, whatever variable has it: words of JSON and of settings."""

CUT = "…"
"""Stands where a text was cut, and perhaps a secret in it."""

_SPOKEN: Mapping[type, tuple[str, ...]] = {
    Target: ("command", "url", "cwd", "env", "headers"),
    Run: ("server", "capabilities", "verdicts", "tallies"),
    Tally: ("note",),
    Judged: ("reason", "findings", "flaky", "reproduce"),
    Finding: ("message", "expected", "actual", "frames", "diagnosis", "hint", "replay"),
    Report: ("target", "runs", "notes", "problem", "problems"),
    events.Started: ("target",),
    events.Noted: ("text",),
    events.NotTested: ("why",),
    events.RevisionFound: ("server",),
    events.RevisionAbsent: ("why",),
    events.Surveyed: ("server", "survey"),
    Survey: ("capabilities", "tools", "resources", "templates", "prompts"),
    events.CaseEnded: ("outcome",),
    events.FrameSeen: ("frame",),
    events.Finished: ("report",),
}
"""What a server or a user may have put into words; the rest are our own words, and the catalogue's."""

T = TypeVar("T")


class Mask:
    """Replaces secrets, a mapping of value → name of the variable that stands for it, by `***NAME***`.

    Values shorter than SHORTEST characters and those in PLAIN are never masked: they would turn up by chance. A
    secret is also found as it is written in JSON and in a URL, and its beginning where a text was cut.
    """

    def __init__(self, secrets: Mapping[str, str]) -> None:
        known = {
            value: name for value, name in secrets.items() if len(value) >= SHORTEST and value.lower() not in PLAIN
        }
        self._names = {form: f"***{_plain(name)}***" for value, name in known.items() for form in _written(value)}
        longest_first = sorted(self._names, key=len, reverse=True)
        self._pattern = re.compile("|".join(map(re.escape, longest_first)))
        self._bytes = re.compile(b"|".join(re.escape(_bytes(form)) for form in longest_first))

    def __bool__(self) -> bool:
        """Whether there is anything to mask."""
        return bool(self._names)

    def event(self, event: T) -> T:
        """An event, or any of the nouns, without the secrets."""
        return self._value(event) if self else event

    def text(self, text: str) -> str:
        """`text` without the secrets."""
        if not self:
            return text
        text = self._pattern.sub(lambda found: self._names[found[0]], text)
        return self._without_beginnings(text) if CUT in text else text

    # -- inside

    def _value(self, value: Any) -> Any:
        if isinstance(value, Frame):
            headers = self._value(dict(value.headers))
            return value._replace(data=self._data(value.data), message=self._value(value.message), headers=headers)
        names = _SPOKEN.get(type(value))
        if names is not None:
            return replace(value, **{name: self._value(getattr(value, name)) for name in names})
        if type(value) is str:
            return self.text(value)
        if isinstance(value, Mapping):
            return {self._value(name): self._value(member) for name, member in value.items()}
        if isinstance(value, tuple | list):
            return type(value)(self._value(element) for element in value)
        return value

    def _data(self, data: bytes) -> bytes:
        return self._bytes.sub(lambda found: self._names[_text(found[0])].encode(), data)

    def _without_beginnings(self, text: str) -> str:
        """What is cut off in the middle of a secret is masked as well."""
        parts = text.split(CUT)
        for number, part in enumerate(parts[:-1]):
            begun = next(_begun(part, self._names), None)
            if begun is not None:
                parts[number] = part[: len(part) - len(begun[0])] + begun[1]
        return CUT.join(parts)


def _begun(text: str, names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for form, name in names.items():
        for length in range(min(len(form), len(text)) - 1, SHORTEST - 1, -1):
            if text.endswith(form[:length]):
                yield form[:length], name


def _written(value: str) -> set[str]:
    """The forms in which a value turns up."""
    forms: set[str] = {value, quote(value), quote(value, safe="")}
    dumps: tuple[Callable[[str], str], ...] = (json.dumps, lambda v: json.dumps(v, ensure_ascii=False))
    return forms | {dump(value)[1:-1] for dump in dumps}


def _plain(name: str) -> str:
    return re.sub(r"[^\w.-]", "_", name)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
