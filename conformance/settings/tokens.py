"""The access tokens that the user gives by the names of variables: `--token-env`, `--other-token`, `--oauth`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace

from conformance.model import AUTHORIZATION, OTHER_TOKENS, OWN, Client, Target, UsageError

CLIENT_ID, CLIENT_SECRET = "MCP_CONFORM_CLIENT_ID", "MCP_CONFORM_CLIENT_SECRET"
"""The environment variables with the client of `--oauth client-credentials`."""


def with_tokens(target: Target, own: tuple[str, str], others: Mapping[str, tuple[str, str]]) -> Target:
    """The target with tokens: `own` and each of the `others` (by kind) are a variable and where the user said so.

    The own one goes with every request. No report shows any. Raises UsageError.
    """
    named = {OWN: own} if own[0] else {}
    tokens, secrets = dict(target.tokens), dict(target.secrets)
    for kind, (variable, where) in {**named, **others}.items():
        if not target.url:
            raise UsageError(f"{where}: only a server at a --url gets a token")
        token = os.environ.get(variable, "").strip()
        if not token:
            raise UsageError(f"{where}: the environment variable {variable!a} is not set")
        tokens[kind], secrets[token] = token, variable
    headers = dict(target.headers)
    if OWN in named:
        if any(name.lower() == AUTHORIZATION for name in headers):
            raise UsageError(f"{own[1]}: there is a header Authorization already")
        headers["Authorization"] = f"Bearer {tokens[OWN]}"
    return replace(target, headers=headers, tokens=tokens, secrets=secrets)


def with_client(target: Target, scope: str) -> Target:
    """The target with the client, of CLIENT_ID and CLIENT_SECRET, that gets a token for it. Raises UsageError.

    If there is a token already, that is used, and the client gets those of other scopes.
    """
    values = {name: os.environ.get(name, "") for name in (CLIENT_ID, CLIENT_SECRET)}
    for name, value in values.items():
        if not value:
            raise UsageError(f"--oauth: the environment variable {name} is not set")
    if not target.url:
        raise UsageError("--oauth: only a server at a --url gets a token")
    client = Client(values[CLIENT_ID], values[CLIENT_SECRET], scope)
    return replace(target, oauth=client, secrets={**target.secrets, client.secret: CLIENT_SECRET})


def pairs(texts: Iterable[str] | None, option: str) -> dict[str, tuple[str, str]]:
    """Kind → variable and option, of `KIND=NAME`. Raises UsageError."""
    found: dict[str, tuple[str, str]] = {}
    for text in texts or ():
        kind, _, variable = text.partition("=")
        if kind not in OTHER_TOKENS or not variable:
            raise UsageError(f"{option}: what is given is not KIND=NAME; the kinds are {', '.join(OTHER_TOKENS)}")
        found[kind] = (variable, option)
    return found
