"""Probes of the area sampling: a user who refuses, a model that calls tools without end, an answer that is none."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from conformance.checks.invariants.structured import Undecidable, breach
from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.askers import AskedClient, Asker, find_askers, fixed, proof, refusal, survived
from conformance.model import Json, elements, members
from conformance.session.answers import Response
from conformance.survey.arguments import Unfillable, smallest_arguments
from conformance.survey.survey import Unavailable

CREATE = "sampling/createMessage"

ROUNDS = 50
"""So often a model calls tools before a loop counts as one without a limit."""

NOBODY = "no tool that was called asks the client's model; allow one with --call-tool"
MALFORMED: Json = {"role": "assistant", "content": {"type": "mcp-conform-no-such-type"}, "model": "mcp-conform"}


def refused(bench: Bench) -> Iterator[Observation]:
    """Tools that ask the model: the user refuses, and then the client answers with content of no known type.

    It finds out which tools ask.
    """
    askers = find_askers(bench, CREATE)
    if not askers:
        raise Unavailable(NOBODY)
    capabilities = {name: value for asker in askers for name, value in asker.capabilities.items()}
    client = AskedClient(bench, capabilities)
    wrong = AskedClient(bench, capabilities, silent=True)
    for asker in askers:
        seen = client.observe(asker, client.call(asker, {}), reply="good")
        yield seen
        if survived(seen):
            call = client.call(asker, {CREATE: refusal(-1, "User rejected sampling request")})
            yield client.observe(asker, call, reply="refusal")
            call = wrong.call(asker, {CREATE: fixed({"result": MALFORMED})})
            yield wrong.observe(asker, call, reply="malformed")


def tool_loop(bench: Bench) -> Iterator[Observation]:
    """Tools that offer tools to the model, which calls them, two at once, as long as it may.

    A tool so offered is called by the server on our word: only where the tool that was called, or the offered one, is
    one that may be called. It makes up the arguments, and holds the results against the offered tools' own schemas.
    """
    askers = [asker for asker in find_askers(bench, CREATE) if any(map(_offered, asker.asks(CREATE)))]
    if not askers:
        raise Unavailable("no tool that was called asks the client's model and offers it tools; name one")
    for asker in askers:
        client = AskedClient(bench, asker.capabilities)
        model = _Model(_harmless(bench, asker), client.plausible)
        call = client.call(asker, {CREATE: model.reply}, rounds=ROUNDS + MARGIN)
        facts: dict[str, Json] = {"tool": asker.tool.get("name"), "answered": bool(call.answers)}
        facts |= {"rounds": model.calls, "requests": len(model.asked)}
        structures = [each for params in model.asked for each in _structures(params, bench.session.revision.date)]
        for name in ("misfit", "undecidable"):
            facts[name] = next((told for kind, told in structures if kind == name and told), "")
        facts["structured"] = sum(kind == "misfit" for kind, _ in structures)
        yield Observation(facts, call, proof(client.session, call))


MARGIN = 5


def _offered(params: Json) -> list[Json]:
    """The tools that a sampling request lets the model call."""
    tools, choice = params.get("tools"), params.get("toolChoice")
    if isinstance(choice, dict) and choice.get("mode") == "none":
        return []
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _harmless(bench: Bench, asker: Asker) -> bool:
    """Whether all that the tool does is harmless, as far as it says so itself or the user does."""
    annotations = asker.tool.get("annotations")
    read_only = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
    return read_only or bench.survey.policy.mode == "all"


@dataclass(slots=True)
class _Model:
    """A model that calls a tool twice at once whenever it may, ROUNDS times and no more."""

    harmless: bool
    plausible: Callable[[str, Json], Json]
    calls: int = 0
    asked: list[Json] = field(default_factory=list)

    def reply(self, params: Json) -> Response:
        params = members(params)
        self.asked.append(params)
        tool = next((tool for tool in _offered(params) if self._may_call(tool)), None)
        if tool is None or self.calls == ROUNDS:
            return {"result": self.plausible(CREATE, params)}
        self.calls += 1
        uses = [
            {
                "type": "tool_use",
                "id": f"call-{self.calls}-{each}",
                "name": tool["name"],
                "input": smallest_arguments(tool["inputSchema"]),
            }
            for each in ("a", "b")
        ]
        return {"result": {"role": "assistant", "content": uses, "model": "mcp-conform", "stopReason": "toolUse"}}

    def _may_call(self, tool: Json) -> bool:
        annotations = tool.get("annotations")
        read_only = isinstance(annotations, dict) and annotations.get("readOnlyHint") is True
        try:
            smallest_arguments(tool.get("inputSchema"))
        except Unfillable:
            return False
        return isinstance(tool.get("name"), str) and (self.harmless or read_only)


def _structures(params: Json, revision: str) -> Iterator[tuple[str, str]]:
    """Of each tool result with structured content: "misfit" and where it breaks the outputSchema of its tool among
    those offered, "" if nowhere; or "undecidable" and why."""
    schemas = {tool.get("name"): tool.get("outputSchema") for tool in _tools(params)}
    names: dict[str, str] = {}
    for block in _blocks(params):
        if block.get("type") == "tool_use":
            names[str(block.get("id"))] = str(block.get("name"))
        schema = schemas.get(names.get(str(block.get("toolUseId")), ""))
        if block.get("type") != "tool_result" or "structuredContent" not in block or schema is None:
            continue
        try:
            yield "misfit", breach(schema, block["structuredContent"], revision)
        except Undecidable as reason:
            yield "undecidable", str(reason)


def _tools(params: Json) -> list[Json]:
    tools = params.get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _blocks(params: Json) -> list[Json]:
    """All blocks of all messages of a sampling request, in order."""
    found: list[Json] = []
    messages = params.get("messages")
    for message in elements(messages):
        content = message.get("content") if isinstance(message, dict) else None
        found += [block for block in (content if isinstance(content, list) else [content]) if isinstance(block, dict)]
    return found
