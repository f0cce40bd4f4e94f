"""The probe of paths that lead out of the folder of a server: it makes a file, and asks for it in many ways."""

from __future__ import annotations

import base64
import re
import secrets
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.outcome import succeeded
from conformance.model import Json, elements, members
from conformance.session.session import Call
from conformance.survey.survey import Unavailable

FOLDERS, TEMPLATES = 2, 4
"""Folders of listed files that are looked at, and templates of each kind."""
SECONDS = 10.0
"""After that no further place is looked at."""
UPWARDS = 24
"""So many folders up: more than a path has, since further ones change nothing at the root."""
SCHEME = "file:"
ANY = "any"
"""Stands for the other variables of a template: what they mean does not matter above the folder."""

WAYS: dict[str, Callable[[str], str]] = {
    "..": lambda path: "../" * UPWARDS + path,
    "./..": lambda path: "./" + "../" * UPWARDS + path,
    "%2e%2e": lambda path: "%2e%2e/" * UPWARDS + path,
    "%2E%2E%2F": lambda path: "%2E%2E%2F" * UPWARDS + quote(path, safe=""),
    ".%2e": lambda path: ".%2e/" * UPWARDS + path,
    "..%2f": lambda path: "..%2f" * UPWARDS + quote(path, safe=""),
    "..%5c": lambda path: "..%5c" * UPWARDS + path.replace("/", "%5c"),
    "%252e%252e%252f": lambda path: "%252e%252e%252f" * UPWARDS + path.replace("/", "%252f"),
    "....//": lambda path: "....//" * UPWARDS + path,
    "..\\": lambda path: "..\\" * UPWARDS + path.replace("/", "\\"),
    "\uff0e\uff0e\uff0f": lambda path: "\uff0e\uff0e\uff0f" * UPWARDS + path,
    "/ at its beginning": lambda path: "/" + path,
    "%2F at its beginning": lambda path: quote("/" + path, safe=""),
}
"""How `..` may be written so that a careless look at the path does not see it, and the path put behind it; last what
makes a path forget the folder that it is joined to."""

_EXPRESSION = re.compile(r"\{([+/]?)(\w+)\*?\}")
_PATH = re.compile(r"path|file|dir|folder|name", re.I)


def paths(bench: Bench) -> Iterator[Observation]:
    """A file of our own, with a number in it that nobody can guess, asked for by paths that lead out of each folder.

    It makes the file and its path, and looks for the number in whatever comes; only a server that we have started
    has the file. Nothing else of this machine is asked for.
    """
    if not bench.session.transport.ours:
        raise Unavailable("only a server that mcp-conform starts itself (--server) is asked for paths outside its own")
    places = [*_folders(bench), *_templates(bench)]
    if not places:
        raise Unavailable("not tested: needs file:// resources, or a template that takes a path")
    with tempfile.TemporaryDirectory(prefix="mcp-conform-") as folder:
        path = Path(folder).resolve() / "canary.txt"
        token = secrets.token_hex(16)
        path.write_text(f"{token}\n")
        openly = _holds(bench.session.request("resources/read", {"uri": path.as_uri()}), token)
        until = time.monotonic() + SECONDS
        for before, after in places:
            if time.monotonic() < until:
                yield from _out_of(bench, (before, after), (path.as_posix().lstrip("/"), token), openly)


def _out_of(bench: Bench, place: tuple[str, str], file: tuple[str, str], openly: bool) -> Iterator[Observation]:
    """What came of all ways out of a place: the first that leads to the file, or else the last."""
    before, after = place
    path, token = file
    seen: Observation | None = None
    for way, written in WAYS.items():
        call = bench.session.request("resources/read", {"uri": before + written(path) + after})
        leaked = _holds(call, token)
        facts: dict[str, Json] = {"way": way, "from": before, "leaked": leaked, "openly": openly}
        seen = Observation({**facts, "file": before.startswith(SCHEME)}, call)
        if leaked or not call.answers:
            break
    if seen is not None:
        yield seen


def _folders(bench: Bench) -> Iterator[tuple[str, str]]:
    uris = [str(item.get("uri")) for item in bench.survey.resources]
    folders = dict.fromkeys(uri.rpartition("/")[0] + "/" for uri in uris if uri.startswith("file:///"))
    for folder in list(folders)[:FOLDERS]:
        yield folder, ""


def _templates(bench: Bench) -> Iterator[tuple[str, str]]:
    """What stands before and behind the last variable of a template, if that may be a path."""
    files: list[tuple[str, str]] = []
    others: list[tuple[str, str]] = []
    for item in bench.survey.templates:
        template = str(item.get("uriTemplate"))
        found = list(_EXPRESSION.finditer(template))
        if not found or template.count("{") != len(found):
            continue
        *_, last = found
        before = _EXPRESSION.sub(ANY, template[: last.start()]) + ("/" if last[1] == "/" else "")
        place = before, template[last.end() :]
        if template.startswith(SCHEME):
            files.append(place)
        elif last[1] or _PATH.search(last[2]):
            others.append(place)
    yield from (*files[:TEMPLATES], *others[:TEMPLATES])


def _holds(call: Call, token: str) -> bool:
    """Whether the contents that came hold the number, as text or within a blob."""
    if not succeeded(call):
        return False
    items = [members(item) for item in elements(members(call.result).get("contents"))]
    blobs = [str(item.get("blob", "")) for item in items]
    return any(token in str(item.get("text", "")) for item in items) or any(
        token.encode() in _decoded(blob) for blob in blobs
    )


def _decoded(blob: str) -> bytes:
    try:
        return base64.b64decode(blob)
    except ValueError:
        return b""
