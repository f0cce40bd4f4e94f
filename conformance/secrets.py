"""What a target is given and must not tell: credentials in its environment and in the headers it gets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from conformance.model import Target

CANARY = {"MCP_CONFORM_SECRET": "mcp-conform-canary-c2f7b1d09e"}
"""Added to the environment of each server that is started here, so that one that tells its environment is found out."""

SHORTEST = 12
"""Characters; what is shorter may turn up by chance."""

_NAMES = re.compile(
    r"(TOKEN|SECRET|PASSWORD|PASSWD|API_?KEY|ACCESS_?KEY|PRIVATE_?KEY|CREDENTIALS?|AUTHORIZATION|COOKIE)\Z", re.I
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
