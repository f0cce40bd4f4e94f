"""The resources and the templates."""

from __future__ import annotations

import re

from conformance.reference.prompts import PNG
from conformance.reference.shape import ICON
from conformance.reference.wire import INTERNAL_ERROR, INVALID_PARAMS, RESOURCE_NOT_FOUND, RpcError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from conformance.reference.call import Call, Server
    from conformance.reference.wire import Message

COUNTER = "reference://live/counter"


class Resource:
    """A resource; `read` gives the items of `contents` without their uri and mimeType where those are its own."""

    __slots__ = ("mime_type", "name", "read", "title", "uri")

    def __init__(self, uri: str, title: str, mime_type: str, read: Callable[[Server], list[Message]]) -> None:
        self.uri = uri
        self.name = uri.rpartition("/")[2]
        self.title = title
        self.mime_type = mime_type
        self.read = read

    def described(self) -> Message:
        """The Resource object of `resources/list`."""
        return {
            "uri": self.uri,
            "name": self.name,
            "title": self.title,
            "description": f"{self.title}.",
            "mimeType": self.mime_type,
            "annotations": {"audience": ["user", "assistant"], "priority": 0.5, "lastModified": "2026-07-28T12:00:00Z"},
            "icons": [ICON],
        }


class Template:
    """A resource template; `pattern` is the regular expression of the URIs it makes, `text` makes their text.

    `text` returns None for a URI that the template could make but behind which there is nothing.
    """

    __slots__ = ("completions", "name", "pattern", "text", "title", "uri_template")

    def __init__(
        self,
        uri_template: str,
        title: str,
        pattern: str,
        text: Callable[..., str | None],
        completions: dict[str, list[str]] | None = None,
    ) -> None:
        self.uri_template = uri_template
        self.name = title.lower().replace(" ", "-")
        self.title = title
        self.pattern = pattern
        self.text = text
        self.completions = completions or {}

    def described(self) -> Message:
        """The ResourceTemplate object of `resources/templates/list`."""
        return {
            "uriTemplate": self.uri_template,
            "name": self.name,
            "title": self.title,
            "description": f"{self.title}.",
            "mimeType": "text/plain",
            "annotations": {"audience": ["assistant"], "priority": 1},
            "icons": [ICON],
        }


def _text(words: str) -> Callable[[Server], list[Message]]:
    return lambda server: [{"text": words}]


def _folder(server: Server) -> list[Message]:
    return [
        {"uri": "reference://folder/all/one", "mimeType": "text/plain", "text": "one"},
        {"uri": "reference://folder/all/two", "mimeType": "image/png", "blob": PNG},
    ]


def _broken(server: Server) -> list[Message]:
    raise RpcError(INTERNAL_ERROR, "Internal error: this resource always fails")


RESOURCES = (
    Resource("reference://text/readme", "A text", "text/plain", _text("Read me first.\nThen the rest.\n")),
    Resource("reference://text/gr%C3%BC%C3%9Fe", "Grüße, beyond ASCII", "text/plain", _text("Grüße aus 世界 😀")),
    Resource("reference://json/settings", "Settings in JSON", "application/json", _text('{"colour": "grey"}')),
    Resource("reference://binary/pixel.png", "An image", "image/png", lambda server: [{"blob": PNG}]),
    Resource("reference://text/empty", "A text without a character", "text/plain", _text("")),
    Resource("reference://folder/all", "A folder, read as its two members", "text/plain", _folder),
    Resource("file:///reference/notes.txt", "A file that exists only in memory", "text/plain", _text("Notes.\n")),
    Resource(COUNTER, "Changes when it is touched", "text/plain", lambda server: [{"text": str(server.touched)}]),
    Resource("reference://broken/always", "Fails whenever it is read", "text/plain", _broken),
)

EXTRA = Resource("reference://extra/guest", "Comes and goes", "text/plain", _text("I may be gone soon."))


def _item(number: str) -> str | None:
    return f"Item {number}" if 1 <= int(number) <= 500 else None


def _below(path: str) -> str | None:
    return f"Contents of {path}" if path and ".." not in path.split("/") and "%" not in path else None


TEMPLATES = (
    Template(
        "reference://items/{number}",
        "An item by number",
        r"reference://items/([1-9][0-9]{0,3})",
        _item,
        {"number": [str(number) for number in range(1, 501)]},
    ),
    Template(
        "reference://notes/{owner}/{title}",
        "A note of somebody",
        r"reference://notes/(ada|alan)/([a-z]+)",
        lambda owner, title: f"{title}, by {owner}",
        {"owner": ["ada", "alan"]},
    ),
    Template("reference://tree/{+path}", "Anything in a tree", r"reference://tree/(.+)", _below),
    Template(
        "reference://search{?words,limit}",
        "What a search finds",
        r"reference://search\?words=([^&]+)(?:&limit=([0-9]+))?",
        lambda words, limit: f"Nothing found for {words}",
    ),
    Template("reference://colours/{name}", "A colour", r"reference://colours/(red|green|blue)", lambda name: name),
    Template("file:///reference/tree/{+path}", "A file in memory", r"file:///reference/tree/(.+)", _below),
)


def contents(call: Call, uri: str) -> list[Message]:
    """The contents of the resource `uri`. Raises RpcError if there is none or it cannot be read."""
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", uri):
        raise RpcError(INVALID_PARAMS, "Invalid params: params.uri must be a URI")
    resource = call.server.resources.get(uri)
    if resource is not None:
        return [{"uri": uri, "mimeType": resource.mime_type, **item} for item in resource.read(call.server)]
    for template in call.server.templates.values():
        match = re.fullmatch(template.pattern, uri)
        found = template.text(*match.groups()) if match else None
        if found is not None:
            return [{"uri": uri, "mimeType": "text/plain", "text": found}]
    raise not_found(call, uri)


def not_found(call: Call, uri: str) -> RpcError:
    code = RESOURCE_NOT_FOUND if call.revision < "2026-07-28" else INVALID_PARAMS
    return RpcError(code, "Resource not found", {"uri": uri})


def known(server: Server, uri: str) -> bool:
    """Whether there is a resource or a template behind `uri`."""
    return uri in server.resources or any(re.fullmatch(each.pattern, uri) for each in server.templates.values())


def values(names: Sequence[str], typed: str) -> Message:
    """A completion: the first 100 of `names` that contain what was typed, those that start with it first."""
    typed = typed.lower()
    found = [name for name in names if typed in name.lower()]
    found.sort(key=lambda name: not name.lower().startswith(typed))
    return {"values": found[:100], "total": len(found), "hasMore": len(found) > 100}
