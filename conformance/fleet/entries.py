"""The servers that are to be tested, wherever they were listed."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from conformance import __version__
from conformance.fleet.bundles import Bundle
from conformance.model import Json, Target

LONGEST = 80
"""Characters of the name of a file."""

_PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]*\Z")
_REFERENCE = re.compile(r"\$\$|\$\{?(\w+)\}?")


@dataclass(frozen=True, slots=True)
class Entry:
    """One server.

    `settings` are keys and values of a target file. `environment` has the variables that they refer to by `$NAME`, and
    `secrets` the values that no report may show: value → name. `origin` is the file that lists the server, as the user
    named it. `problem` says why it cannot be tested here, "" if it can. `bundle` is what the server is in, if its
    worker has to unpack it.
    """

    name: str
    settings: Mapping[str, Json]
    origin: str = ""
    version: str = ""
    environment: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    bundle: Bundle | None = None

    @property
    def key(self) -> str:
        """The name of its files, without an ending: unique for the name, on any file system."""
        return key_of(self.name)

    def digest(self, words: Sequence[str]) -> str:
        """Stands for what is tested, with these words of the command line, and by which version of the suite."""
        what = [__version__, self.settings, sorted(self.environment), self.version, list(words)]
        what += [self.bundle.sha256] if self.bundle is not None else []
        return hashlib.sha256(json.dumps(what, sort_keys=True).encode()).hexdigest()[:16]


def key_of(name: str) -> str:
    """A name for files that says which server it is. What had to be changed in `name` is told apart by a hash."""
    if _PLAIN.match(name) and len(name) <= LONGEST:
        return name
    plain = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-._")[:LONGEST] or "server"
    return f"{plain}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def referred_to(settings: Mapping[str, Json]) -> set[str]:
    """The environment variables that settings take values from."""
    texts = [text for key in ("env", "headers") for text in settings.get(key, {}).values()]
    found = {match[1] for text in texts for match in _REFERENCE.finditer(text) if match[1]}
    return found | {name for name in (settings.get("token-env"), *settings.get("other-tokens", {}).values()) if name}


def literal(text: str) -> str:
    """As a target file writes a value that has no variables in it."""
    return text.replace("$", "$$")


def of_target(target: Target) -> tuple[dict[str, Json], dict[str, str]]:
    """A target as settings, and the environment that they refer to. What is secret is in the environment only."""
    environment: dict[str, str] = {}

    def value(name: str, text: str) -> str:
        if text not in target.secrets:
            return literal(text)
        return hidden(environment, name, text)

    settings: dict[str, Json] = {}
    if target.command:
        settings["server"] = list(target.command)
    if target.url:
        settings["url"] = target.url
    if target.via:
        settings["transport"] = {"http+sse": "sse"}.get(target.via, target.via)
    for key, pairs in (("env", target.env), ("headers", target.headers)):
        if pairs:
            settings[key] = {name: value(name, text) for name, text in pairs.items()}
    if target.cwd is not None:
        settings["cwd"] = target.cwd
    return settings, environment


def hidden(environment: dict[str, str], name: str, text: str) -> str:
    """Put a secret into `environment`, under a name that means nothing to any program; what refers to it."""
    variable = f"SECRET_{re.sub(r'[^A-Za-z0-9_]', '_', name).upper()}"
    while environment.get(variable, text) != text:
        variable += "_"
    environment[variable] = text
    return f"${variable}"
