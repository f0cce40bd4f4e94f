"""What a target is given in confidence: what it must not tell, and what no report may show."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, urlsplit

from conformance.model import Target

CANARY = {"MCP_CONFORM_SECRET": "mcp-conform-canary-c2f7b1d09e"}
"""Added to the environment of each server that is started here, so that one that tells its environment is found out."""

SHORTEST = 12
"""Characters; what is shorter may turn up by chance."""

_NAMES = re.compile(
    r"(TOKEN|SECRET|PASSWORD|PASSWD|API[_-]?KEY|ACCESS[_-]?KEY|PRIVATE[_-]?KEY|CREDENTIALS?|AUTHORIZATION|COOKIE)\Z",
    re.I,
)


def secrets_of(target: Target) -> tuple[str, ...]:
    """The values that the target must keep to itself, the longest first."""
    given = dict(target.headers)
    if target.command:
        given |= {**CANARY, **os.environ, **target.env}
    return tuple(sorted(set(_values(given)), key=len, reverse=True))


def _values(given: Mapping[str, str]) -> Iterator[str]:
    for name, value in given.items():
        secret = value.split(" ")[-1]  # "Bearer …"
        place = secret.startswith(("/", ".", "~")) or "://" in secret
        if _NAMES.search(name) and len(secret) >= SHORTEST and not place:
            yield secret


_CONFIDENTIAL = re.compile(
    r"(TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|KEY|CREDENTIALS?|AUTHORIZATION|COOKIE|(\A|[_-])(PASS|PAT|AUTH|DSN))[0-9]*\Z",
    re.I,
)
_ASSIGNED = re.compile(r"-*([\w.-]+)=(.*)", re.DOTALL)


def confidential(target: Target) -> dict[str, str]:
    """Value → name of what a target is given under a name that says secret, as it stands in a configuration.

    Looks at environment, headers, arguments (`--token VALUE`, `--token=VALUE`, `-e TOKEN=VALUE`) and the URL. Finds
    more than `secrets_of`: not to show what is no secret does no harm.
    """
    parts = urlsplit(target.url)
    given = [*target.env.items(), *target.headers.items(), *_arguments(target.command), *parse_qsl(parts.query)]
    found = {}
    for name, value in given:
        if _CONFIDENTIAL.search(name):
            found[value.split(" ")[-1] if name in target.headers else value] = name
    if parts.password:
        found[parts.password] = "password"
    return found


def _arguments(words: Iterable[str]) -> Iterator[tuple[str, str]]:
    option = ""
    for word in words:
        if assigned := _ASSIGNED.fullmatch(word):
            yield assigned[1], assigned[2]
        elif option and not word.startswith("-"):
            yield option, word
        option = word.lstrip("-") if word.startswith("-") else ""
