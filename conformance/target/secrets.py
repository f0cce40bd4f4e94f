"""What a target is given in confidence: what it must not tell, and what no report may show."""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from conformance.files.variables import PUBLIC
from conformance.model import Json, Target
from conformance.target.credentials import (
    IDENTIFYING,
    KNOWN,
    PATH,
    URL,
    is_plain,
    is_random,
    is_setting,
    looks_secret,
    says_secret,
)
from conformance.target.inherited import inherited

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
        given |= {**CANARY, **inherited(), **target.env}
    return tuple(sorted(set(_values(given)), key=len, reverse=True))


def _values(given: Mapping[str, str]) -> Iterator[str]:
    for name, value in given.items():
        secret = value.split(" ")[-1]  # "Bearer …"
        place = secret.startswith(("/", ".", "~")) or "://" in secret
        if _NAMES.search(name) and len(secret) >= SHORTEST and not place:
            yield secret


_SCHEME = re.compile(
    r"(?:Bearer|Basic|Token|Digest|Negotiate|ApiKey|Api-Key|Key|JWT|DPoP)[ \t]+(\S.*)", re.I | re.DOTALL
)
_ASSIGNED = re.compile(r"-*([\w.-]+)=(.*)", re.DOTALL)
_HEADER = re.compile(r"([\w-]+):\s*(\S.*)", re.DOTALL)
_NO_HOST = re.compile(r"[^\x00-\x7f]|[\[\]]")
_PIECES = re.compile(r"[,;\n]\s*")
_OF_THE_PROTOCOL = re.compile(r"(Accept(-\w+)?|Content-Type|MCP-Protocol-Version|Connection|Cache-Control)\Z", re.I)
"""Headers whose values are words of HTTP and MCP, which a report is full of."""


def confidential(target: Target, inherited: Mapping[str, str] | None = None) -> dict[str, str]:
    """Value → name of all that no report about `target` may show; `inherited` is the environment that it gets.

    That is each value of a header, and of the environment, the command and the URL what has a name that says secret
    or looks like a key, wherever it stands in a value: credentials in a URL, members of JSON, words of a command.
    Finds more than `secrets_of`: not to show what is no secret does little harm.
    """
    found: dict[str, str] = {}
    if target.command:
        for name, value in (inherited or {}).items():
            if not PUBLIC.match(name):
                found |= _of(name, value)
    for name, value in target.env.items():
        found |= _of(name, value)
    found |= _arguments(target.command)
    found |= _in_url(target.url)
    for name, value in target.headers.items():
        found |= _of_header(name, value)
    return {secret: name for secret, name in found.items() if secret}


def in_settings(settings: Json, name: str = "") -> dict[str, str]:
    """Value → name of what looks or is named like a secret in JSON data that the user wrote, at any depth."""
    found: dict[str, str] = {}
    if isinstance(settings, Mapping):
        for key, value in settings.items():
            found |= in_settings(value, str(key))
    elif isinstance(settings, list | tuple):
        for value in settings:
            found |= in_settings(value, name)
    elif isinstance(settings, str):
        found |= _of(name, settings)
    elif isinstance(settings, int) and not isinstance(settings, bool) and says_secret(name) and abs(settings) > 999:
        found[str(settings)] = name
    return found


def taken_openly(name: str, value: str) -> bool:
    """Whether what a variable filled in is nobody's secret: its name does not say so, and the value is plain."""
    return not says_secret(name) and (is_plain(value) or bool(URL.fullmatch(value) and not _in_url(value)))


def _of(name: str, value: str) -> dict[str, str]:
    """What is secret in the value of a variable."""
    value = value.strip()
    found = _within(name, value)
    if not says_secret(name) or is_setting(value):
        return found
    if PATH.fullmatch(value) and not is_random(value) and (value.count("/") > 1 or Path(value).exists()):
        return found
    if URL.fullmatch(value) and not found and not name.lower().endswith("dsn"):
        return found
    credential = _credential(value)
    for item in credential.split(","):
        if len(item.strip()) >= 8 and credential.count(",") < 20:
            found.setdefault(item.strip(), name)
    return found | {credential: name}


def _of_header(name: str, value: str) -> dict[str, str]:
    """The value of a header, and the parts that may be told alone."""
    value = value.strip()
    found = _within(name, value)
    if _OF_THE_PROTOCOL.match(name) or is_setting(value):
        return found
    credential = _credential(value)
    found[credential] = name
    if value.lower().startswith("basic"):
        with contextlib.suppress(binascii.Error, UnicodeDecodeError):
            pair = base64.b64decode(credential, validate=True).decode()
            found |= {pair: name, pair.partition(":")[2]: name}
    if "cookie" in name.lower():
        found |= {pair.partition("=")[2].strip(): name for pair in value.split(";")}
    return found


def _within(name: str, value: str) -> dict[str, str]:
    """What looks like a secret anywhere in `value`, or has a name there that says so."""
    found = {match[0]: name for match in KNOWN.finditer(value)}
    for url in URL.findall(value):
        found |= _in_url(url)
    if value[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            found |= in_settings(json.loads(value))
        return found
    if not IDENTIFYING.search(name):
        found |= {word: name for word in value.split() if is_random(word)}
    for piece in _PIECES.split(value):
        named = _ASSIGNED.fullmatch(piece) or _HEADER.fullmatch(piece)
        if named and says_secret(named[1]) and not URL.match(piece):
            found |= _of(named[1], named[2])
    return found


def _credential(value: str) -> str:
    """Without the scheme: `Bearer X` → X."""
    scheme = _SCHEME.fullmatch(value)
    return scheme[1].strip() if scheme else value


def _in_url(url: str) -> dict[str, str]:
    try:
        parts = urlsplit(url)
        user, password = parts.username or "", parts.password or ""
    except ValueError:
        # A host that is none; what stands before and after it is read all the same.
        parts = urlsplit(_NO_HOST.sub("_", url))
        user, password = parts.username or "", parts.password or ""
    found: dict[str, str] = {}
    told = [("password", password)] if password else []
    if user and not password and parts.scheme.startswith("http"):
        told = [("user", user)]
    told += [(name, value) for name, value in parse_qsl(parts.query) if says_secret(name) or looks_secret(value)]
    told += [(name, value) for name, value in parse_qsl(parts.fragment) if says_secret(name) or looks_secret(value)]
    told += [("url", part) for part in parts.path.split("/") if looks_secret(part)]
    for name, value in told:
        if not is_setting(value):
            found |= {value: name, unquote(value): name}
    return found


def _arguments(words: Iterable[str]) -> dict[str, str]:
    """What is secret among the words of a command: `--token VALUE`, `--token=VALUE`, `-H 'Authorization: VALUE'`."""
    found: dict[str, str] = {}
    option = ""
    for number, whole in enumerate(words):
        word = whole
        # The word after -c is a command line of its own.
        if option != "c" and (assigned := _ASSIGNED.fullmatch(word)):
            found |= _of(assigned[1], assigned[2])
            word = assigned[2]
        elif option not in ("", "c") and not word.startswith("-"):
            found |= _of(option, word)
        if (header := _HEADER.fullmatch(word)) and not URL.match(word) and says_secret(header[1]):
            found |= _of_header(header[1], header[2])
        if number and option != "c":
            found = _within(option or "argument", word) | found
        if number and re.search(r"\s", whole):
            with contextlib.suppress(ValueError):
                inner = shlex.split(whole)
                found |= _arguments(["", *inner]) if len(inner) > 1 else {}
        option = word.lstrip("-") if word.startswith("-") else ""
    return found
