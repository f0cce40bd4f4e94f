"""Faults in paths: those that lead to files of the machine."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import unquote

from conformance.reference.call import Call
from conformance.reference.fault import Fault, instead
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.reference.fault import Apply, Proceed

TRAVERSAL = "resources/path-traversal-refused"
VALIDATED = "resources/uri-inputs-validated"
NEW, OLD = "2026-07-28", "2025-11-25"
ROOT = "/reference/tree/"
TREE = "file:///reference/tree/"


def _read(place: str, meant: Callable[[str], str]) -> Apply:
    """Read the files of the machine behind `place`; `meant` is the path that what stands there is taken for."""

    def read(call: Call, proceed: Proceed) -> Message | None:
        uri = str(call.params.get("uri", ""))
        path = Path(os.path.normpath(ROOT + meant(uri.removeprefix(place))))
        if not uri.startswith(place) or not path.is_file():
            return proceed(call)
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": path.read_text(encoding="utf-8")}]}

    return instead("resources/read", read)


def _kept(path: str) -> str:
    return path


def _decoded_after_the_check(path: str) -> str:
    return "" if ".." in path.split("/") else unquote(path)


def _decoded_twice(path: str) -> str:
    return "" if ".." in unquote(path).split("/") else unquote(unquote(path))


def _taken_out_once(path: str) -> str:
    return path.replace("../", "")


def _backslashes(path: str) -> str:
    return "" if ".." in path.split("/") else path.replace("\\", "/")


FAULTS = (
    Fault("path-traversal", TRAVERSAL, "a path that leads out of the tree is read", _read(TREE, _kept), since=NEW),
    Fault(
        "path-traversal-before", VALIDATED, "a path that leads out of the tree is read", _read(TREE, _kept), until=OLD
    ),
    Fault(
        "path-decoded-late",
        TRAVERSAL,
        "a path is decoded after it was looked at",
        _read(TREE, _decoded_after_the_check),
        since=NEW,
    ),
    Fault("path-decoded-twice", TRAVERSAL, "a path is decoded twice", _read(TREE, _decoded_twice), since=NEW),
    Fault("path-cleaned-once", TRAVERSAL, "../ is taken out of paths once", _read(TREE, _taken_out_once), since=NEW),
    Fault("path-backslashes", TRAVERSAL, "backslashes in paths separate folders", _read(TREE, _backslashes), since=NEW),
    Fault(
        "path-beside-listed",
        TRAVERSAL,
        "whatever begins like the URI of a listed file is read",
        _read("file:///reference/", _kept),
        since=NEW,
    ),
    Fault(
        "path-in-other-scheme",
        VALIDATED,
        "a template of another scheme reads any file",
        _read("reference://tree/", _kept),
    ),
)
