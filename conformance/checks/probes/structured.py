"""Structured content of tool results: against the tool's outputSchema, and against the text beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.catalogue.patterns import shorten
from conformance.model import Json, elements
from conformance.revisions import BY_DATE
from conformance.session.messages import too_deep
from conformance.session.session import Call
from conformance.validation.json_schemas import DIALECTS, Unusable, misfit


class Undecidable(Exception):
    """The schema cannot be used to judge; the text says why."""


def breach(schema: Json, value: Json, revision: str) -> str:
    """Why `value` breaks `schema`, "" if it does not. Raises Undecidable. Other documents are not fetched.

    Without `$schema` it is 2020-12; where the revision does not say so, draft-07 will do as well.
    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is not None:
        dialects = [DIALECTS.get(str(named).rstrip("#"), "")]
    else:
        dialects = ["Draft202012Validator", *(["Draft7Validator"] if not BY_DATE[revision].default_dialect else [])]
    problems: list[str] = []
    reason = Undecidable()
    for dialect in dialects:
        try:
            problems.append(_breach(dialect, schema, value, named))
        except Undecidable as why:
            reason = why
    if not problems:
        raise reason
    return "" if "" in problems else problems[0]


def _breach(dialect: str, schema: Json, value: Json, named: Json) -> str:
    if not dialect:
        raise Undecidable(f"its outputSchema is of a dialect not known here: {shorten(named)}")
    try:
        wrong = misfit(schema, value, dialect)
    except Unusable as why:
        raise Undecidable(f"its outputSchema cannot be used: {why}") from None
    return "" if wrong is None else str(wrong)


def misfit_of(tool: Json, call: Call, revision: str) -> str:
    """Why the result lacks the structuredContent that the tool's outputSchema wants, "" if it does not.

    It must be a complete result without isError. Raises Undecidable.
    """
    if "structuredContent" not in call.result:
        return "no structuredContent"
    return breach(tool["outputSchema"], call.result["structuredContent"], revision)


def text_beside(call: Call) -> str:
    """Whether some text block holds the same as structuredContent, as JSON: "same", "other", or "none" for no text.

    It must be a result with structuredContent.
    """
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
