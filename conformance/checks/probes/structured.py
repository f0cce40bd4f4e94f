"""Structured content of tool results: against the tool's outputSchema, and against the text beside it."""

from __future__ import annotations

import json
from collections.abc import Iterator

from conformance.catalogue.patterns import shorten
from conformance.checks.probes import Bench
from conformance.model import Json, Severity
from conformance.session.session import Call, encode
from conformance.validation.json_schemas import DIALECTS, Unusable, misfit

CONFORMS = "tools/structured-content-conforms"
TEXT_COPY = "tools/structured-content-text-copy"


class Undecidable(Exception):
    """The schema cannot be used to judge; the text says why."""


def breach(schema: Json, value: Json, revision: str) -> str:
    """Why `value` breaks `schema`, "" if it does not. Raises Undecidable. Other documents are not fetched.

    Without `$schema` it is 2020-12; before 2025-11-25, which says so first, draft-07 will do as well.
    """
    named = schema.get("$schema") if isinstance(schema, dict) else None
    if named is not None:
        dialects = [DIALECTS.get(str(named).rstrip("#"), "")]
    else:
        dialects = ["Draft202012Validator", *(["Draft7Validator"] if revision < "2025-11-25" else [])]
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


def judge_structure(bench: Bench, tool: Json, call: Call) -> None:
    """A complete result without isError of a tool with outputSchema needs structuredContent that fits."""
    schema = tool.get("outputSchema")
    if schema is None:
        return
    if "structuredContent" not in call.result:
        bench.ledger.broke(
            CONFORMS,
            f"tool {tool.get('name')!r} has an outputSchema and returns no structuredContent",
            expected="structuredContent that fits the outputSchema",
            actual="none",
            frames=call.proof,
        )
        return
    try:
        wrong = breach(schema, call.result["structuredContent"], bench.session.revision.date)
    except Undecidable as reason:
        bench.ledger.inconclusive(CONFORMS, f"tool {tool.get('name')!r}: {reason}")
        return
    if not wrong:
        bench.ledger.held(CONFORMS)
        return
    bench.ledger.broke(
        CONFORMS,
        f"the structuredContent of tool {tool.get('name')!r} breaks its outputSchema",
        expected=encode(schema).decode("utf-8", "replace")[:300],
        actual=wrong,
        frames=call.proof,
    )


def judge_text_copy(bench: Bench, tool: Json, call: Call) -> None:
    """Beside structuredContent some text block holds the same as JSON; from 2026-07-28 other text breaks it less."""
    if "structuredContent" not in call.result:
        return
    texts = list(_texts(call.result))
    if any(_same(text, call.result["structuredContent"]) for text in texts):
        bench.ledger.held(TEXT_COPY)
        return
    prose = bool(texts) and bench.session.revision.date >= "2026-07-28"
    bench.ledger.broke(
        TEXT_COPY,
        f"tool {tool.get('name')!r} returns structuredContent without a copy as text",
        expected="a text block that holds the structured content as JSON",
        actual=f"text: {texts[0][:200]}" if texts else "no text block",
        frames=call.proof,
        ceiling=Severity.ADVICE if prose else None,
    )


def _texts(result: Json) -> Iterator[str]:
    content = result.get("content")
    for block in content if isinstance(content, list) else []:
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
        return any(json.loads(text) == each for each in accepted)
    except (ValueError, RecursionError):
        return False
