"""Bundles of the kind mcpb: a zip with a server and `manifest.json`, fetched by the worker that tests the server."""

from __future__ import annotations

import hashlib
import json
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from conformance.model import Json, members
from conformance.target.urls import is_loopback

LARGEST = 512 * 1024 * 1024
"""Bytes of a bundle, and of what is in it."""
FOLDER = "bundle"
PATIENCE = 60.0
"""Seconds without anything of it."""
PROGRAMS = {"node": "node", "python": "python3", "binary": ""}
"""Type of a server → what runs its entry point."""
SYSTEMS = {"linux": "linux", "darwin": "darwin", "win32": "win32"}


class Unusable(Exception):
    """The bundle cannot be started; the text says why."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Where it is, and the SHA-256 of the file, in hexadecimal. `values` are the user's, by name of the variable."""

    url: str
    sha256: str
    values: Mapping[str, Any] = field(default_factory=dict)


def why_not_fetched(url: str, sha256: str) -> str:
    """Why a bundle of a server.json is not fetched, "" if it is."""
    if len(sha256) != 64 or set(sha256) - set("0123456789abcdef"):
        return "its mcpb bundle has no fileSha256, so that nobody knows whether it is the right file"
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        return f"its mcpb bundle is not at an https URL: {url!r}"
    return ""


def unpacked(bundle: Bundle, scratch: Path, seen: Path) -> dict[str, Json]:
    """Fetch a bundle into a scratch folder, which the server sees as `seen`; the settings that start it.

    Raises Unusable.
    """
    file, folder = scratch / "bundle.zip", scratch / FOLDER
    _fetch(bundle, file)
    try:
        with zipfile.ZipFile(file) as archive:
            if sum(each.file_size for each in archive.infolist()) > LARGEST:
                raise Unusable(f"its bundle holds more than {LARGEST} bytes")
            for each in archive.infolist():  # extract keeps to the folder, whatever the names are, and makes no links
                place = Path(archive.extract(each, folder))
                if place.is_file():
                    place.chmod(0o600 | (each.external_attr >> 16 & 0o111))
        manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    except (OSError, ValueError, RecursionError, zipfile.BadZipFile, RuntimeError, NotImplementedError) as error:
        raise Unusable(f"its bundle cannot be unpacked: {error}") from None
    finally:
        file.unlink(missing_ok=True)
    return settings_of(members(manifest), bundle.values, folder, seen)


def _fetch(bundle: Bundle, file: Path) -> None:
    """Raises Unusable."""
    import httpx2

    digest, size = hashlib.sha256(), 0
    try:
        with (
            httpx2.stream("GET", bundle.url, follow_redirects=True, timeout=PATIENCE) as answer,
            file.open("wb") as written,
        ):
            answer.raise_for_status()
            for part in answer.iter_bytes():
                size += len(part)
                if size > LARGEST:
                    raise Unusable(f"its bundle is larger than {LARGEST} bytes")
                digest.update(part)
                written.write(part)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        raise Unusable(f"its bundle cannot be fetched: {str(error).splitlines()[0]}") from None
    if digest.hexdigest() != bundle.sha256:
        raise Unusable(f"its bundle is another file: its SHA-256 is {digest.hexdigest()}, not {bundle.sha256}")


def settings_of(manifest: Mapping[str, Json], values: Mapping[str, Any], folder: Path, seen: Path) -> dict[str, Json]:
    """The settings that start what a manifest describes. Raises Unusable."""
    server = members(manifest.get("server"))
    config = dict(members(server.get("mcp_config")))
    config |= members(members(config.get("platform_overrides")).get(SYSTEMS.get(sys.platform, "linux")))
    entry = server.get("entry_point")
    if not isinstance(config.get("command"), str):
        if server.get("type") not in PROGRAMS or not isinstance(entry, str):
            raise Unusable("its bundle does not say how the server is started")
        place, program = f"${{__dirname}}/{entry}", PROGRAMS[server["type"]]
        config = {"command": program or place, "args": [place] if program else [], **config}
    if server.get("type") == "binary" and isinstance(entry, str) and (folder / entry).is_file():
        (folder / entry).chmod(0o700)
    given = {"__dirname": [f"{seen}/{FOLDER}"], "HOME": [f"{seen}/home"], "/": ["/"], "pathSeparator": ["/"]}
    given |= _configured(members(manifest.get("user_config")), values)
    words = [config["command"], *(word for word in config.get("args") or () if isinstance(word, str))]
    command = [filled for word in words for filled in _filled(word, given)]
    pairs = {name: value for name, value in members(config.get("env")).items() if isinstance(value, str)}
    env = {name: " ".join(_filled(value, given)).replace("$", "$$") for name, value in pairs.items()}
    return {"server": command, **({"env": env} if env else {})}


def _configured(inputs: Mapping[str, Json], values: Mapping[str, Any]) -> dict[str, list[str]]:
    """What stands for ${user_config.NAME}. Raises Unusable."""
    found: dict[str, list[str]] = {}
    for name, about in inputs.items():
        value = values.get(name, members(about).get("default"))
        if value is None and members(about).get("required") is True:
            if members(about).get("type") not in ("directory", "file"):
                raise Unusable(f"the variable {name} is missing, which --values can give")
            value = "."
        texts = value if isinstance(value, list) else [] if value is None else [value]
        found[f"user_config.{name}"] = [str(text).lower() if isinstance(text, bool) else str(text) for text in texts]
    return found


def _filled(word: str, given: Mapping[str, list[str]]) -> list[str]:
    """A word with its variables filled in; one that is a variable alone becomes as many words as that has values."""
    for name, texts in given.items():
        if word == f"${{{name}}}":
            return texts
        word = word.replace(f"${{{name}}}", " ".join(texts))
    return [word]
