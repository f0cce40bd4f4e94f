"""Content: blocks of text, images, audio, resources and links; icons; what is in them, beyond the types of members."""

from __future__ import annotations

import binascii
import re
from base64 import b64decode
from collections.abc import Iterator
from typing import ClassVar

from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity, members
from conformance.session.eras.stateless import META
from conformance.session.messages import Call
from conformance.session.session import Session
from conformance.validation.wire_schemas import Path, for_revision

KNOWN = "content/known-types"
TEXT = "content/text-shape"
IMAGE = "content/image-data-base64"
AUDIO = "content/audio-data-base64"
EMBEDDED = "content/embedded-resource-shape"
LINK = "content/resource-link-shape"
ANNOTATIONS = "content/annotations-shape"
ICON = "content/icon-shape"
ICON_SCHEME = "content/icon-scheme-safe"
INFO = "discovery/server-info-shape"
CAPABILITY = "tools/embedded-resource-needs-capability"

SHAPES = {
    "text": (TEXT, "content#TextContent"),
    "image": (IMAGE, "content#ImageContent"),
    "audio": (AUDIO, "content#AudioContent"),
    "resource": (EMBEDDED, "content#EmbeddedResource"),
    "resource_link": (LINK, "content#ResourceLink"),
}
"""Type of a block → the requirement about it, and its schema."""

LISTS = ("tools", "resources", "resourceTemplates", "prompts")
"""Members of list results that hold what may have icons and `_meta`."""

SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
"""What a URI begins with."""

_MIME = re.compile(r"[^\s/;]+/[^\s/;]+\s*(;.*)?")
"""A type and a subtype, and perhaps parameters: `audio/webm; codecs=opus`."""

_SIZE = re.compile(r"any|[0-9]+x[0-9]+")
_DAY = re.compile(r"[0-9]{4}(-?[0-9]{2}-?[0-9]{2}|-?[0-9]{3}|-?W[0-9]{2}-?[0-9])([Tt ].*)?")
"""A day as ISO 8601 writes it, with hyphens or without: of a month, of the year, or of a week; perhaps with a time."""


def blocks(result: Json) -> Iterator[dict[str, Json]]:
    """The content blocks of a tools/call or prompts/get result, as far as they are objects."""
    content = result.get("content")
    messages = result.get("messages")
    found = list(content) if isinstance(content, list) else []
    found += [m.get("content") for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    return (block for block in found if isinstance(block, dict))


def listed(result: Json) -> Iterator[dict[str, Json]]:
    """The items of a list result, as far as they are objects."""
    for member in LISTS:
        items = result.get(member)
        if isinstance(items, list):
            yield from (item for item in items if isinstance(item, dict))


def rule_of_place(document: Json, path: Path) -> str | None:
    """The requirement that a wrong value at `path` breaks, if it lies in a content block or an icon."""
    value = document
    for depth, step in enumerate(path):
        if step == "icons":
            return ICON
        try:
            value = value[step]
        except (KeyError, IndexError, TypeError):
            return None
        if "content" not in path[max(0, depth - 1) : depth + 1]:
            continue
        rest = path[depth + 1 :]
        if isinstance(value, list):
            continue
        if not isinstance(value, dict) or rest[:1] == ("type",):
            return KNOWN
        if rest[:1] == ("annotations",):
            return ANNOTATIONS
        return SHAPES.get(str(value.get("type")), (KNOWN,))[0]
    return None


def base64_fault(text: str) -> tuple[str, Severity | None] | None:
    """Why `text` is no base64, and how much that may weigh at most; None if a standard decoder accepts it.

    Line breaks and missing padding, which RFC 4648 (sections 3.1 and 3.2) forbids, most decoders accept. The URL-safe
    alphabet is another encoding, but a readable one.
    """
    compact = "".join(text.split())
    if not _decodes(compact):
        if text.startswith("data:"):
            return "is a data: URI", None
        if _decodes(compact.replace("-", "+").replace("_", "/")):
            return "is in the URL-safe alphabet", Severity.WARNING
        return "does not decode as base64", None
    if compact != text:
        return "has line breaks or blanks within its base64", Severity.ADVICE
    return ("lacks the padding of base64", Severity.ADVICE) if len(text) % 4 else None


def _decodes(text: str) -> bool:
    try:
        b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def echoed(call: Call, value: Json) -> bool:
    """Whether a text of an answer, or its beginning, is an argument of ours: that is made up, and may be anything."""
    params = call.params if isinstance(call.params, dict) else {}
    given = params.get("arguments")
    ours = [each for each in given.values() if isinstance(each, str)] if isinstance(given, dict) else []
    return isinstance(value, str) and any(value.startswith(each) if each else not value for each in ours)


class Content(Watcher):
    """See the module. Types of members are judged with the whole result, see `wire.py`."""

    name = "content"
    requirements: ClassVar[tuple[str, ...]] = (
        KNOWN,
        TEXT,
        IMAGE,
        AUDIO,
        EMBEDDED,
        LINK,
        ANNOTATIONS,
        ICON,
        ICON_SCHEME,
        CAPABILITY,
        INFO,
    )

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._schemas = for_revision(session.revision.date)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the blocks and icons of a result."""
        message = frame.message
        result = message.get("result") if call is not None and isinstance(message, dict) else None
        if call is None or not isinstance(result, dict) or not result:
            return
        proof = (call.sent, frame)
        if call.method in ("tools/call", "prompts/get"):
            for block in blocks(result):
                self._block(block, call, proof)
        elif call.method.endswith("/list"):
            for item in listed(result):
                self._icons(item, proof)
                # Those of a tool are of another type.
                if call.method.startswith("resources/") and isinstance(item.get("annotations"), dict):
                    self._annotations(item["annotations"], proof)
        elif call.method in ("initialize", "server/discover"):
            info = result.get("serverInfo", members(result.get("_meta")).get(META + "serverInfo"))
            if isinstance(info, dict):
                self._icons(info, proof)
                self._website(info, proof)

    def _block(self, block: dict[str, Json], call: Call, proof: tuple[Frame, ...]) -> None:
        kind = block.get("type")
        requirement, type_ref = SHAPES.get(kind, ("", "")) if isinstance(kind, str) else ("", "")
        if type_ref not in self._schemas.types:
            return
        self.ledger.held(KNOWN)
        if self._schemas.problems(type_ref, block):
            return
        if "annotations" in block:
            self._annotations(block["annotations"], proof)
        if kind in ("image", "audio"):
            self._media(requirement, block, call, proof)
        elif kind == "resource":
            self._embedded(block["resource"], call, proof)
        elif kind == "resource_link" and not SCHEME.match(block["uri"]) and not echoed(call, block["uri"]):
            self.breach(LINK, "the uri of a resource_link has no scheme", "a URI", block["uri"], proof, None)
        else:
            self.ledger.held(requirement)
            self._icons(block, proof)

    def _media(self, requirement: str, block: dict[str, Json], call: Call, proof: tuple[Frame, ...]) -> None:
        if echoed(call, block["data"]) or echoed(call, block["mimeType"]):
            return
        if not self._encoded(requirement, "the data of a block", block["data"], proof):
            return
        if not _MIME.fullmatch(block["mimeType"]):
            what = "the mimeType of a block is not a media type"
            self.breach(requirement, what, "type/subtype", block["mimeType"], proof, None)
        else:
            self.ledger.held(requirement)

    def _encoded(self, requirement: str, place: str, text: str, proof: tuple[Frame, ...]) -> bool:
        """Judge what should be base64; whether it can be read."""
        fault = base64_fault(text)
        if fault is not None:
            self.breach(requirement, f"{place} {fault[0]}", "standard base64", text, proof, fault[1])
        return fault is None or fault[1] is Severity.ADVICE

    def _embedded(self, resource: dict[str, Json], call: Call, proof: tuple[Frame, ...]) -> None:
        uri, blob, warning = resource["uri"], resource.get("blob"), Severity.WARNING
        unread = echoed(call, uri) or echoed(call, blob)
        if not unread and isinstance(blob, str):
            unread = not self._encoded(EMBEDDED, "the blob of an embedded resource", blob, proof)
        if unread:
            pass
        elif not SCHEME.match(uri):
            self.breach(EMBEDDED, "the uri of an embedded resource has no scheme", "a URI", uri, proof, None)
        elif "text" in resource and "blob" in resource:
            what = "an embedded resource has both text and blob"
            self.breach(EMBEDDED, what, "one of them", resource, proof, warning)
        elif "mimeType" not in resource and call.method == "prompts/get":
            # Only the prompts page asks for a MIME type; in the schema it is optional.
            what = "an embedded resource has no mimeType"
            self.breach(EMBEDDED, what, "a MIME type", resource, proof, warning)
        else:
            self.ledger.held(EMBEDDED)
        if call.method != "tools/call":
            return
        if "resources" in self.session.capabilities:
            self.ledger.held(CAPABILITY)
        else:
            what = "a tool embeds a resource, yet the server does not declare resources"
            self.breach(CAPABILITY, what, "the resources capability", self.session.capabilities, proof, None)

    def _annotations(self, annotations: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        modified = annotations.get("lastModified")
        if isinstance(modified, str) and not _DAY.fullmatch(modified):
            what = "lastModified is not an ISO 8601 time"
            self.breach(ANNOTATIONS, what, "like 2025-01-12T15:00:58Z", modified, proof, Severity.WARNING)
        else:
            self.ledger.held(ANNOTATIONS)

    def _icons(self, item: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        icons = item.get("icons")
        if not isinstance(icons, list) or "base#Icon" not in self._schemas.types:
            return
        for icon in icons:
            if not self._schemas.problems("base#Icon", icon):
                self._icon(icon, proof)

    def _website(self, info: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        website = info.get("websiteUrl")
        if isinstance(website, str) and "base#Icon" in self._schemas.types:
            if SCHEME.match(website):
                self.ledger.held(INFO)
            else:
                what = "the websiteUrl of the server has no scheme"
                self.breach(INFO, what, "a URI", website, proof, Severity.WARNING)

    def _icon(self, icon: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        odd = [size for size in icon.get("sizes", []) if not _SIZE.fullmatch(size)]
        if odd:
            what = "the size of an icon is neither any nor width x height"
            self.breach(ICON, what, "like 48x48, or any", odd, proof, Severity.WARNING)
        else:
            self.ledger.held(ICON)
        scheme = icon["src"].partition(":")[0].lower()
        if scheme in ("https", "data"):
            self.ledger.held(ICON_SCHEME)
        else:
            what = "the src of an icon has a scheme that clients refuse"
            self.breach(ICON_SCHEME, what, "https: or data:", icon["src"], proof, None)
