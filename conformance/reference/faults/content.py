"""Faults in the content of tool results, and in icons."""

from __future__ import annotations

from conformance.reference.fault import Fault, drop, on_item, on_result, on_tool
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.call import Call
    from conformance.reference.fault import Apply


def _block(kind: str, change: Callable[[Message], Any]) -> Apply:
    """Change the blocks of one type in the results of show_content."""

    def change_blocks(result: Message) -> None:
        for block in result["content"]:
            if block["type"] == kind:
                change(block)

    return on_tool("show_content", change_blocks)


def _text_beside_blob(result: Message, call: Call) -> None:
    for contents in result.get("contents", []):
        if "blob" in contents:
            contents["text"] = "binary"


FAULTS = (
    Fault(
        "content-type-unknown",
        "content/known-types tools/call-result-shape",
        "a tool returns a block of type html",
        _block("text", lambda block: block.update(type="html")),
    ),
    Fault(
        "text-null",
        "content/text-shape tools/call-result-shape",
        "a text block has text: null",
        _block("text", lambda block: block.update(text=None)),
    ),
    Fault(
        "image-as-data-uri",
        "content/image-data-base64 tools/call-result-shape",
        "the data of an image is a data: URI",
        _block("image", lambda block: block.update(data=f"data:image/png;base64,{block['data']}")),
    ),
    Fault(
        "image-in-lines",
        "content/image-data-base64",
        "the base64 of an image is cut into lines",
        _block("image", lambda block: block.update(data=f"{block['data'][:76]}\n{block['data'][76:]}\n")),
    ),
    Fault(
        "audio-as-data-uri",
        "content/audio-data-base64 tools/call-result-shape",
        "the data of a sound is a data: URI",
        _block("audio", lambda block: block.update(data=f"data:audio/wav;base64,{block['data']}")),
        since="2025-03-26",
    ),
    Fault(
        "embedded-without-uri",
        "content/embedded-resource-shape tools/call-result-shape",
        "an embedded resource has no uri",
        _block("resource", lambda block: drop(block["resource"], "uri")),
    ),
    Fault(
        "link-without-name",
        "content/resource-link-shape tools/call-result-shape",
        "a resource link has no name",
        _block("resource_link", lambda block: drop(block, "name")),
        since="2025-06-18",
    ),
    Fault(
        "link-relative",
        "content/resource-link-shape",
        "the uri of a resource link is a path",
        _block("resource_link", lambda block: block.update(uri="/handbook")),
        since="2025-06-18",
    ),
    Fault(
        "priority-high",
        "content/annotations-shape tools/call-result-shape",
        "the annotation priority is high",
        _block("image", lambda block: block["annotations"].update(priority="high")),
    ),
    Fault(
        "icon-without-src",
        "content/icon-shape prompts/list-shape",
        "an icon has no src",
        on_item("prompts/list", "hello", lambda item: item.update(icons=[{"mimeType": "image/png"}])),
        since="2025-11-25",
    ),
    Fault(
        "icon-script",
        "content/icon-scheme-safe",
        "an icon has a javascript: URI",
        on_item("prompts/list", "hello", lambda item: item.update(icons=[{"src": "javascript:alert(1)"}])),
        since="2025-11-25",
    ),
    Fault(
        "text-beside-blob",
        "resources/read-shape",
        "binary contents have a text as well",
        on_result(("resources/read",), _text_beside_blob),
    ),
    Fault(
        "modified-yesterday",
        "content/annotations-shape",
        "a listed resource was last modified yesterday",
        on_item(
            "resources/list",
            "reference://text/readme",
            lambda item: item.update(annotations={"lastModified": "yesterday"}),
        ),
        since="2025-06-18",
    ),
)
