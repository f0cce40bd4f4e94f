"""Structured content of tool results: against the text beside it, and whether a schema still counts."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.checks.invariants.structured import announced
from conformance.checks.probes.lists import walk
from conformance.model import Json, elements
from conformance.session.messages import too_deep
from conformance.session.session import Call, Session
from conformance.validation.wire_schemas import for_revision


def outdated(session: Session, tool: Json) -> bool:
    """Whether the server has said that its tools have changed, and gives this one another outputSchema now."""
    if not announced(session):
        return False
    listed = {each.get("name"): each for each in walk(session, "tools").items}
    return bool(listed.get(tool.get("name"), {}).get("outputSchema") != tool.get("outputSchema"))


def text_beside(call: Call, revision: str) -> str:
    """Whether some text block holds the same as structuredContent, as JSON: "same", "other", or "none" for no text.

    "" means that there is nothing to compare: no structuredContent, or a content that may be meant for text and is not.
    """
    if call.result.get("structuredContent") is None:
        return ""
    problems = for_revision(revision).problems("tools#CallToolResult", call.result)
    if any(problem.path[:1] == ("content",) and set(problem.path[2:3]) <= {"type", "text"} for problem in problems):
        return ""
    texts = list(_texts(call.result))
    if not texts:
        return "none"
    return "same" if any(_same(text, call.result["structuredContent"]) for text in texts) else "other"


def _texts(result: Json) -> Iterator[str]:
    content = result.get("content")
    for block in elements(content):
        if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
            yield block["text"]


def _same(text: str, value: Json) -> bool:
    # FastMCP wraps what is no object as {"result": …} and leaves the text bare.
    accepted = [value]
    if isinstance(value, dict) and set(value) == {"result"}:
        accepted.append(value["result"])
    if text in [each for each in accepted if isinstance(each, str)]:
        return True
    try:
        return not too_deep(text) and json.loads(text) in accepted
    except ValueError:
        return False
