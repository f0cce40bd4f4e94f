"""What a revision's results may contain: the newest shapes cut down to an older revision's."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.wire import Message

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")

ICON: Message = {
    "src": "data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=",
    "mimeType": "image/svg+xml",
    "sizes": ["any"],
}

BLOCK_SINCE = {"audio": "2025-03-26", "resource_link": "2025-06-18"}
MEMBER_SINCE = {
    "title": "2025-06-18",
    "outputSchema": "2025-06-18",
    "structuredContent": "2025-06-18",
    "_meta": "2025-06-18",
    "lastModified": "2025-06-18",
    "icons": "2025-11-25",
    "description": "2025-11-25",
    "websiteUrl": "2025-11-25",
    "completions": "2025-03-26",
}


def _without_later(value: Message, revision: str, *names: str) -> Message:
    """A copy of `value` without those of the members `names` that `revision` does not know yet."""
    return {k: v for k, v in value.items() if k not in names or MEMBER_SINCE[k] <= revision}


def _annotated(value: Message, revision: str) -> Message:
    """A resource, template or content block."""
    value = _without_later(value, revision, "title", "_meta", "icons")
    if "annotations" in value:
        value["annotations"] = _without_later(value["annotations"], revision, "lastModified")
    return value


def _tool(value: Message, revision: str) -> Message:
    value = _without_later(value, revision, "title", "_meta", "icons", "outputSchema")
    if revision < "2025-03-26":
        value.pop("annotations", None)
    if revision != "2025-11-25":
        value.pop("execution", None)
    if revision < "2026-07-28" and value.get("outputSchema", {}).get("type", "object") != "object":
        del value["outputSchema"]
    return value


def _prompt(value: Message, revision: str) -> Message:
    value = _without_later(value, revision, "title", "_meta", "icons")
    if "arguments" in value:
        value["arguments"] = [_without_later(each, revision, "title") for each in value["arguments"]]
    return value


def _blocks(blocks: list[Message], revision: str) -> list[Message]:
    return [_annotated(block, revision) for block in blocks if BLOCK_SINCE.get(block["type"], "") <= revision]


def _call_result(value: Message, revision: str) -> Message:
    if "task" in value:
        return value
    value = _without_later(value, revision, "structuredContent")
    if revision < "2026-07-28" and not isinstance(value.get("structuredContent", {}), dict):
        del value["structuredContent"]
    return {**value, "content": _blocks(value["content"], revision)}


def _prompt_result(value: Message, revision: str) -> Message:
    messages = [
        {**message, "content": block}
        for message in value["messages"]
        for block in _blocks([message["content"]], revision)
    ]
    return {**value, "messages": messages}


def implementation(value: Message, revision: str) -> Message:
    return _without_later(value, revision, "title", "description", "websiteUrl", "icons")


def _discover(value: Message, revision: str) -> Message:
    known = {
        k: v
        for k, v in value["capabilities"].items()
        if (k != "tasks" or revision == "2025-11-25") and (k != "extensions" or revision >= "2026-07-28")
    }
    return {**value, "capabilities": known}


def _initialize(value: Message, revision: str) -> Message:
    value = _discover(value, revision)
    return {
        **value,
        "capabilities": _without_later(value["capabilities"], revision, "completions"),
        "serverInfo": implementation(value["serverInfo"], revision),
    }


def _each(member: str, change: Callable[[Message, str], Message]) -> Callable[[Message, str], Message]:
    def changed(value: Message, revision: str) -> Message:
        return {**value, member: [change(item, revision) for item in value[member]]}

    return changed


_RESULTS: dict[str, Callable[[Message, str], Message]] = {
    "initialize": _initialize,
    "server/discover": _discover,
    "tools/list": _each("tools", _tool),
    "resources/list": _each("resources", _annotated),
    "resources/templates/list": _each("resourceTemplates", _annotated),
    "prompts/list": _each("prompts", _prompt),
    "tools/call": _call_result,
    "prompts/get": _prompt_result,
}


def result(method: str, value: Message, revision: str) -> Message:
    """The result `value` of `method` with only what `revision` defines."""
    change = _RESULTS.get(method)
    return change(value, revision) if change and not value.get("resultType") else value


def form(message: str, required: tuple[str, ...] = (), **properties: Message) -> Message:
    """A request for a form with these fields."""
    schema: Message = {"type": "object", "properties": properties}
    if required:
        schema["required"] = list(required)
    return {"method": "elicitation/create", "params": {"message": message, "requestedSchema": schema}}


def text(words: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": words}
