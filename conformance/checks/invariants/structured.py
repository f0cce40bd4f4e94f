"""Structured content: whatever a tool returns, and in whatever way, conforms to its outputSchema.

The source in the specification: server/tools, Output Schema.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.invariants.base import Watcher
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, elements, members
from conformance.revisions import BY_DATE
from conformance.session.messages import Call
from conformance.session.session import Session
from conformance.validation.json_schemas import DIALECTS, Unusable, misfit

CONFORMS = "tools/structured-content-conforms"
ELSEWHERE = ("tools/call-each", "fuzz/tool-arguments")
"""Cases that judge the results of the calls that they make themselves."""
CHANGED = "notifications/tools/list_changed"


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


def misfit_of(schema: Json, result: Json, revision: str) -> str:
    """Why the result lacks the structuredContent that an outputSchema wants, "" if it does not.

    It must be a complete result without isError. Raises Undecidable.
    """
    if "structuredContent" not in result:
        return "no structuredContent"
    return breach(schema, result["structuredContent"], revision)


def structured_tools(tools: Json) -> dict[str, Json]:
    """Those of a list that have an outputSchema, by name."""
    listed = (members(tool) for tool in elements(tools))
    return {str(tool.get("name")): tool for tool in listed if tool.get("outputSchema") is not None}


def announced(session: Session) -> bool:
    """Whether the server has said in this session that its tools have changed, so that what was listed may not hold."""
    return any(isinstance(frame.message, dict) and frame.message.get("method") == CHANGED for frame in session.trace)


class Structured(Watcher):
    """See the module. It judges calls that cases make for other reasons, and the results of tasks.

    A schema counts as it was listed last; once the server said that its tools have changed, none does any more.
    """

    name = "structured"
    requirements: ClassVar[tuple[str, ...]] = (CONFORMS,)

    def __init__(self, session: Session, ledger: Ledger) -> None:
        super().__init__(session, ledger)
        self._listed: dict[str, Json] | None = None
        self._changed = not session.revision.structured_results
        self._call_of: dict[str, Json] = {}
        """Task → the params of the call that became it."""

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge a result of a tool."""
        message = frame.message
        if not isinstance(message, dict) or self._changed:
            return
        if message.get("method") == CHANGED:
            self._changed = True
        result = message.get("result")
        if call is None or call.sent.illegal or not isinstance(result, dict):
            return
        if call.method == "tools/list":
            self._listed = {**(self._listed or {}), **structured_tools(result.get("tools"))}
        for asked, given in self._results(result, call):
            self._judge(asked, given, (call.sent, frame))

    def _results(self, result: dict[str, Json], call: Call) -> Iterator[tuple[Json, dict[str, Json]]]:
        """The params of a call, and what the tool returned, if an answer holds that."""
        params = members(call.params)
        task = str(params.get("taskId"))
        if call.method == "tools/call":
            created = members(result.get("task", result)).get("taskId")
            if created is not None and "content" not in result:
                self._call_of[str(created)] = params
            elif call.sent.case not in ELSEWHERE:
                yield params, result
        elif call.method == "tasks/result" and task in self._call_of:
            yield self._call_of[task], result
        elif call.method == "tasks/get" and task in self._call_of and isinstance(result.get("result"), dict):
            yield self._call_of[task], result["result"]

    def _judge(self, asked: Json, result: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        known = self.session.structured_tools if self._listed is None else self._listed
        tool = str(asked.get("name"))
        if tool not in known or result.get("isError") is True or result.get("resultType", "complete") != "complete":
            return
        if not isinstance(result.get("content"), list):
            return  # it is no result of a tool, which is said elsewhere
        date = self.session.revision.date
        try:
            if breach(known[tool].get("inputSchema", {}), asked.get("arguments", {}), date):
                return  # to be refused: what comes of it is nobody's promise
            wrong = misfit_of(known[tool]["outputSchema"], result, date)
        except Undecidable:
            return
        if not wrong:
            self.ledger.held(CONFORMS)
            return
        there = "structuredContent" in result
        what = (
            f"the structuredContent of tool {tool!r} breaks its outputSchema"
            if there
            else f"tool {tool!r} has an outputSchema and returns no structuredContent"
        )
        expected = "structuredContent that fits the outputSchema"
        self.ledger.broke(CONFORMS, what, expected=expected, actual=wrong, frames=proof, ceiling=self.softened())
