"""Faults in paths: those that lead to files of the machine."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from urllib.parse import unquote

from conformance.reference.call import Call
from conformance.reference.fault import Fault, instead, on_result, several
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
NOTES = "notes://"


def _read(place: str, meant: Callable[[str], str], join: Callable[[str, str], str] = str.__add__) -> Apply:
    """Read the files of the machine behind `place`; `meant` is the path that what stands there is taken for."""

    def read(call: Call, proceed: Proceed) -> Message | None:
        uri = str(call.params.get("uri", ""))
        path = Path(os.path.normpath(join(ROOT, meant(uri.removeprefix(place)))))
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


def _only_its_beginning_looked_at(path: str) -> str:
    return "" if path.startswith("..") else path


def _small_letters_looked_for(path: str) -> str:
    return "" if ".." in path or "%2e" in path else unquote(path)


def _pairs_looked_for(path: str) -> str:
    return "" if ".." in path or "%2e%2e" in path.lower() else unquote(path)


def _backslashes_decoded(path: str) -> str:
    return "" if ".." in path.split("/") or "\\" in path else unquote(path).replace("\\", "/")


def _simplified_late(path: str) -> str:
    return "" if ".." in path else unicodedata.normalize("NFKC", path)


def _without_dots(path: str) -> str:
    return "" if ".." in path else path


def _relative_before_it_is_decoded(path: str) -> str:
    return "" if path.startswith("/") or ".." in unquote(path) else unquote(path)


def _of_users(result: Message, call: Call) -> None:
    if "nextCursor" not in result:
        result["resourceTemplates"].append({"name": "note", "uriTemplate": NOTES + "{user}/{+note}"})


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
        "path-looked-at-in-front",
        TRAVERSAL,
        "a path may not begin with .., and that is all",
        _read(TREE, _only_its_beginning_looked_at),
        since=NEW,
    ),
    Fault(
        "path-capitals-decoded",
        TRAVERSAL,
        "a path is decoded unless there is %2e in it, in small letters",
        _read(TREE, _small_letters_looked_for),
        since=NEW,
    ),
    Fault(
        "path-half-encoded",
        TRAVERSAL,
        "a path is decoded unless both dots are encoded, or none",
        _read(TREE, _pairs_looked_for),
        since=NEW,
    ),
    Fault(
        "path-backslashes-decoded",
        TRAVERSAL,
        "encoded backslashes in paths separate folders",
        _read(TREE, _backslashes_decoded),
        since=NEW,
    ),
    Fault(
        "path-simplified-late",
        TRAVERSAL,
        "full-width dots become plain ones after the path was looked at",
        _read(TREE, _simplified_late),
        since=NEW,
    ),
    Fault(
        "path-absolute",
        TRAVERSAL,
        "a path that is absolute leaves the tree out",
        _read(TREE, _without_dots, os.path.join),
        since=NEW,
    ),
    Fault(
        "path-absolute-once-decoded",
        TRAVERSAL,
        "a path that is absolute once it is decoded leaves the tree out",
        _read(TREE, _relative_before_it_is_decoded, os.path.join),
        since=NEW,
    ),
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
    Fault(
        "path-behind-two-variables",
        VALIDATED,
        "a template of users and their notes reads any file",
        several(on_result(("resources/templates/list",), _of_users), _read(NOTES, _kept)),
    ),
)
