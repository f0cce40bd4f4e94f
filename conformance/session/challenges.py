"""What the header WWW-Authenticate says: the schemes of authorization that a server asks for (RFC 9110, 11.6.1)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

_PART = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*+"|[^",])*+')
_PARAMETER = re.compile(r'([\w!#$%&\'*+.^`|~-]+)\s*=\s*(?:"((?:[^"\\]|\\.)*+)"|([^\s",]*))\s*\Z')
_SCHEME = re.compile(r"([\w!#$%&'*+.^`|~-]+)(?:\s+(.*))?\Z", re.DOTALL)
TOKENS = ("bearer", "dpop")
"""The schemes of OAuth, in lower case."""


@dataclass(frozen=True, slots=True)
class Challenge:
    """One challenge: its scheme in lower case, and its parameters, their names in lower case."""

    scheme: str
    parameters: Mapping[str, str] = field(default_factory=dict)


def challenges(text: str) -> tuple[Challenge, ...]:
    """The challenges of a header, of which several may have been joined by commas."""
    found: list[tuple[str, dict[str, str]]] = []
    for match in _PART.finditer(text):
        part = match[0].strip()
        if not part:
            continue
        parameter = _PARAMETER.match(part)
        if parameter is None and (scheme := _SCHEME.match(part)) is not None:
            found.append((scheme[1].lower(), {}))
            parameter = _PARAMETER.match((scheme[2] or "").strip())
        if parameter is not None and found:
            value = parameter[2] if parameter[2] is not None else parameter[3]
            found[-1][1].setdefault(parameter[1].lower(), re.sub(r"\\(.)", r"\1", value))
    return tuple(Challenge(scheme, parameters) for scheme, parameters in found)


def of_tokens(text: str) -> Challenge | None:
    """The challenge that asks for a token of OAuth. Of several, each says what those before it leave open."""
    found = [each for each in challenges(text) if each.scheme in TOKENS]
    parameters: dict[str, str] = {}
    for each in reversed(found):
        parameters |= each.parameters
    return Challenge(found[0].scheme, parameters) if found else None
