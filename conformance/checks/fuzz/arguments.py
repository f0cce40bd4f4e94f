"""Calls of tools that may be called, with arguments that their inputSchema admits, and such that it refuses."""

from __future__ import annotations

import json
from collections import Counter
from typing import ClassVar

from conformance.checks.fuzz.choices import Choices
from conformance.checks.fuzz.example import DIED, SWALLOWED, Breach, Example, Reply
from conformance.checks.fuzz.schema_values import Break, Maker, Part, Schema, Unmakeable, broken
from conformance.checks.invariants.structured import CONFORMS, Undecidable, misfit_of
from conformance.checks.probes import Bench
from conformance.codes import INTERNAL_ERROR
from conformance.model import Json, Severity
from conformance.session.messages import encode
from conformance.survey.survey import Unavailable
from conformance.validation.json_schemas import Unusable, judge
from conformance.validation.pointers import pointed

VALIDATED = "tools/inputs-validated"
EXECUTION = "tools/execution-error-as-result"
ONCE = "jsonrpc/every-request-answered-once"
ID = "@id"

MOST_TOOLS = 40
POSITIVE = 5
"""How often a tool's valid arguments get their turn, where each way to break them gets one."""
ABROAD = 10
"""Calls of one tool that may reach out into the world, unless the user named it."""
CANNOT = (Unmakeable, RecursionError, TypeError, ValueError, LookupError, AttributeError, ArithmeticError)
"""What it raises to make arguments for a schema whose keywords have values that keywords cannot have."""
COERCED = ("type", "anyOf", "oneOf")


class _Tool:
    """One tool, and what can be wrong with its arguments."""

    def __init__(self, tool: Json) -> None:
        self.listed = tool
        self.schema: Schema = tool["inputSchema"]
        self.maker = Maker(self._resolve)
        try:
            draft = "draft-07" in str(self.schema.get("$schema", ""))
            self.admits = judge(dict(self.schema), "Draft7Validator" if draft else "Draft202012Validator")
        except ValueError as error:
            raise Unmakeable(f"its inputSchema cannot be used: {error}") from None
        self.good = self.maker.value(("", self.schema), _Simplest())
        if not isinstance(self.good, dict) or not self.admits(self.good):
            raise Unmakeable("no arguments can be made up for its inputSchema")
        full = self.maker.value(("", self.schema), _Fullest())
        self.full = full if isinstance(full, dict) and self.admits(full) else self.good
        self.breaks = {(b.place, b.keyword): b for b in self.maker.breaks(("", self.schema), self.full)}

    def _resolve(self, base: str, reference: str) -> Part:
        place = pointed(self.schema, reference)
        if not isinstance(place, dict):
            raise Unmakeable(f"its inputSchema refers to {reference}")
        return base, place


class _Simplest:
    """Always the simplest."""

    def below(self, limit: int) -> int:
        """0."""
        return 0


class _Fullest:
    """Every optional member, and else the simplest."""

    def below(self, limit: int) -> int:
        """The choice of two is whether a member is there."""
        return 1 if limit == 2 else 0


class _Share:
    """The choices of one of the turns for valid arguments: all turns together see every first choice soon."""

    def __init__(self, choices: Choices, slot: int) -> None:
        self._choices = choices
        self._slot = slot
        self._first = True

    def below(self, limit: int) -> int:
        """See Choices."""
        if not self._first or limit <= 1:
            return self._choices.below(limit)
        self._first = False
        return (self._choices.below(-(-limit // POSITIVE)) * POSITIVE + self._slot) % limit


class ToolArguments:
    """See the module."""

    name: ClassVar[str] = "tool-arguments"
    requirements: ClassVar[tuple[str, ...]] = (VALIDATED, EXECUTION, CONFORMS, ONCE)
    share = 1.5

    def __init__(self, bench: Bench) -> None:
        self._bench = bench
        self._session = bench.session
        self._called: Counter[str] = Counter()
        self._slow: set[str] = set()
        self._turns: list[tuple[_Tool, Break | int]] = []
        for listed in bench.survey.callable_tools[:MOST_TOOLS]:
            if not isinstance(listed.get("name"), str) or not isinstance(listed.get("inputSchema"), dict):
                continue
            try:
                tool = _Tool(listed)
            except CANNOT:
                continue  # what is wrong with a schema is for others to say
            some = POSITIVE if tool.breaks else 1
            self._turns += [(tool, slot) for slot in range(some)]
            self._turns += [(tool, what) for what in tool.breaks.values()]
        if not self._turns:
            lacking = "no tool that may be called has an inputSchema for which arguments can be made up"
            raise Unavailable(lacking if bench.survey.callable_tools else bench.survey.policy.forbids)

    @property
    def kinds(self) -> int:
        """Turns of all tools."""
        return len(self._turns)

    def make(self, choices: Choices) -> Example:
        """A call."""
        tool, what = self._turns[choices.below(len(self._turns))]
        name = tool.listed["name"]
        arguments, wrong = self._arguments(tool, what, choices)
        try:
            valid = tool.admits(arguments)
        except Unusable:
            arguments, valid = tool.good, True
        if valid:
            wrong = f"tool {name!r}, with arguments that its inputSchema admits"
        params = self._session.era.dress(self._session, {"name": name, "arguments": arguments})
        message = {"jsonrpc": "2.0", "id": ID, "method": "tools/call", "params": params}
        illegal = not isinstance(arguments, dict)
        return Example(
            encode(message),
            f"tool {name}",
            wrong,
            due=True,
            illegal=illegal,
            about={"tool": name, "valid": valid, "keyword": what.keyword if isinstance(what, Break) else ""},
        )

    def _arguments(self, tool: _Tool, what: Break | int, choices: Choices) -> tuple[Json, str]:
        if isinstance(what, int):
            try:
                arguments = tool.maker.value(("", tool.schema), _Share(choices, what))
                return arguments if tool.admits(arguments) else tool.good, ""
            except CANNOT:
                return tool.good, ""
        try:
            made = broken(tool.full, what, choices)
        except CANNOT:
            made = None
        if made is None or not isinstance(made[0], dict):
            return tool.good, ""  # arguments that are not an object break the schema of tools/call
        return made[0], f"tool {tool.listed['name']!r}, {made[1]}"

    def admits(self, example: Example) -> bool:
        """Whether the tool may be called once more: slow ones are left alone, those that reach out are spared."""
        name = example.about["tool"]
        policy = self._bench.survey.policy
        hints = next((t.listed.get("annotations") for t, _ in self._turns if t.listed["name"] == name), None)
        closed = isinstance(hints, dict) and hints.get("openWorldHint") is False
        named = policy.mode == "all" or name in policy.named
        if self.forgoes(example) or (not closed and not named and self._called[name] >= ABROAD):
            return False
        self._called[name] += 1
        return True

    def forgoes(self, example: Example) -> bool:
        """Whether the tool has turned out to be slow."""
        return example.about["tool"] in self._slow

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """A valid call has a result that conforms; any other is refused, by an error of either form."""
        if reply.fate in (DIED, SWALLOWED):
            what = "ends the server" if reply.fate == DIED else "swallows the next message"
            proof = (reply.sent, *reply.frames[1:4])
            return Breach(ONCE, f"a call of a tool {what}", "a response", reply.why, proof, None, {"alive": True})
        if not reply.answers:
            self._slow.add(example.about["tool"])
            return ""
        if example.about["valid"]:
            return self._judge_valid(example, reply)
        result = reply.message.get("result")
        if not isinstance(result, dict) or result.get("isError") is True:
            return VALIDATED
        if result.get("resultType", "complete") != "complete" or "task" in result:
            return ""
        keyword = example.about["keyword"]
        soft = keyword in COERCED or keyword == "additionalProperties"
        how = {"additionalProperties": "has members that"}.get(
            keyword, "is of a type that" if soft else "has values that"
        )
        return Breach(
            VALIDATED,
            f"a tool succeeds although what it is given {how} its inputSchema refuses",
            "an error or a result with isError: true",
            encode(reply.message).decode("utf-8", "replace")[:200],
            reply.proof,
            # Coercion is common and left open, and so is forgetting what is not known.
            Severity.ADVICE if soft else Severity.WARNING,
            {"response": {"$any": [{"error": {"$type": "object"}}, {"result": {"isError": True}}]}},
        )

    def _judge_valid(self, example: Example, reply: Reply) -> Breach | str:
        if reply.code == INTERNAL_ERROR:
            return Breach(
                EXECUTION,
                "a call with arguments that the inputSchema admits is answered by an internal error",
                "a result, with isError: true if the tool failed",
                f"error {json.dumps(reply.message['error'], ensure_ascii=False)[:200]}",
                reply.proof,
                Severity.WARNING,
                {
                    "response": {
                        "$any": [{"result": {"$type": "object"}}, {"error": {"code": {"$not": INTERNAL_ERROR}}}]
                    }
                },
            )
        result = reply.message.get("result")
        if not isinstance(result, dict) or reply.call is None:
            return ""
        tool = next(tool for tool, _ in self._turns if tool.listed["name"] == example.about["tool"])
        if result.get("isError") is True or result.get("resultType", "complete") != "complete" or "task" in result:
            return EXECUTION
        if not self._session.revision.structured_results or tool.listed.get("outputSchema") is None:
            return EXECUTION
        try:
            wrong = misfit_of(tool.listed["outputSchema"], result, self._session.revision.date)
        except Undecidable:
            return EXECUTION
        if not wrong:
            return CONFORMS
        named = f"tool {tool.listed['name']!r}"
        there = "structuredContent" in result
        return Breach(
            CONFORMS,
            f"the structuredContent of {named} breaks its outputSchema"
            if there
            else f"{named} has an outputSchema and returns no structuredContent",
            "structuredContent that fits the outputSchema",
            wrong,
            reply.proof,
            None,
            {"response": {"result": {"structuredContent": {"$schema": tool.listed["outputSchema"]}}}},
        )
