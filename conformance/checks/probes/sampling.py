"""Probes of the area sampling: a user who refuses, a model that calls tools without end, an answer that is none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from conformance.checks.probes import Bench, probe
from conformance.checks.probes.askers import Asker, Client, find_askers, fixed, proof, refusal
from conformance.checks.probes.structured import Undecidable, breach
from conformance.model import Frame, Json
from conformance.session.answers import Reply
from conformance.session.session import Call
from conformance.survey.arguments import Unfillable, smallest_arguments
from conformance.survey.survey import Unavailable

CREATE = "sampling/createMessage"
REJECTED = "sampling/rejection-survived"
VALIDATED = "sampling/content-validated"
LIMITED = "sampling/tool-loop-limited"
ANSWERED = "sampling/every-tool-use-answered"
ALONE = "sampling/tool-results-stand-alone"
CONFORMS = "sampling/tool-result-structured-conforms"
LOOP = (LIMITED, ANSWERED, ALONE, CONFORMS)

ROUNDS = 50
"""So often a model calls tools before a loop counts as one without a limit."""

NOBODY = "no tool that was called asks the client's model; name one with --call-tool"
MALFORMED: Json = {"role": "assistant", "content": {"type": "mcp-conform-no-such-type"}, "model": "mcp-conform"}


@probe("asking.sampling", REJECTED, VALIDATED)
def refused(bench: Bench) -> None:
    """Tools that ask the model: the user refuses, and then the client answers with content of no known type."""
    askers = find_askers(bench, CREATE)
    if not askers:
        raise Unavailable(NOBODY)
    capabilities = {name: value for asker in askers for name, value in asker.capabilities.items()}
    client = Client(bench, capabilities)
    wrong = Client(bench, capabilities, silent=True)
    for asker in askers:
        control = client.call(asker, {})
        if not client.judge_end(REJECTED, control, False, f"tool {asker.name} asks the model and gets an answer"):
            continue
        call = client.call(asker, {CREATE: refusal(-1, "User rejected sampling request")})
        if client.judge_end(REJECTED, call, True, f"tool {asker.name} asks the model and the user refuses"):
            bench.ledger.held(REJECTED)
        call = wrong.call(asker, {CREATE: fixed({"result": MALFORMED})})
        if wrong.judge_end(VALIDATED, call, True, f"tool {asker.name} asks the model and gets malformed content"):
            bench.ledger.held(VALIDATED)
    bench.ledger.inconclusive(VALIDATED, "no tool that asks the model is answered in time")


@probe("asking.tool-loop", *LOOP)
def tool_loop(bench: Bench) -> None:
    """Tools that offer tools to the model, which calls them, two at once, as long as it may.

    A tool so offered is called by the server on our word: only where the tool that was called, or the offered one, is
    one that may be called.
    """
    askers = [asker for asker in find_askers(bench, CREATE) if any(map(_offered, asker.asks(CREATE)))]
    if not askers:
        raise Unavailable("no tool that was called asks the client's model and offers it tools; name one")
    for asker in askers:
        client = Client(bench, asker.capabilities)
        model = _Model(_harmless(bench, asker), client.plausible)
        call = client.call(asker, {CREATE: model.reply}, rounds=ROUNDS + MARGIN)
        if not call.answers:
            bench.ledger.inconclusive(LIMITED, "the tool with the loop is not answered in time")
        elif model.calls == 0:
            bench.ledger.inconclusive(
                LIMITED, "no tool that is offered to the model may be called, or its arguments made up"
            )
        else:
            _judge_limit(bench, client, call, model, asker)
        for params in model.asked:
            _judge_structure(bench, params, call.proof)
        for requirement in (ANSWERED, ALONE):
            bench.ledger.inconclusive(requirement, "the server gives up when the model calls a tool")
    bench.ledger.inconclusive(
        CONFORMS, "no tool that is offered to the model has an outputSchema and structured content"
    )


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

    def reply(self, params: Json) -> Reply:
        params = params if isinstance(params, dict) else {}
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


def _judge_limit(bench: Bench, client: Client, call: Call, model: _Model, asker: Asker) -> None:
    if model.calls < ROUNDS:
        bench.ledger.held(LIMITED)
        return
    bench.ledger.broke(
        LIMITED,
        f"tool {asker.name} lets the model call tools {ROUNDS} times in a row",
        expected=f"an end of the loop before {ROUNDS} rounds",
        actual=f"{len(model.asked)} requests to the model, the last one with tools",
        frames=proof(client.session, call),
    )


def _judge_structure(bench: Bench, params: Json, frames: tuple[Frame, ...]) -> None:
    """The structured content of tool results, each against the outputSchema of its tool among those offered."""
    schemas = {tool.get("name"): tool.get("outputSchema") for tool in _tools(params)}
    names: dict[str, str] = {}
    for block in _blocks(params):
        if block.get("type") == "tool_use":
            names[str(block.get("id"))] = str(block.get("name"))
        schema = schemas.get(names.get(str(block.get("toolUseId")), ""))
        if block.get("type") != "tool_result" or "structuredContent" not in block or schema is None:
            continue
        try:
            wrong = breach(schema, block["structuredContent"], bench.session.revision.date)
        except Undecidable as reason:
            bench.ledger.inconclusive(CONFORMS, str(reason))
            continue
        if not wrong:
            bench.ledger.held(CONFORMS)
            continue
        bench.ledger.broke(
            CONFORMS,
            "the structured content of a tool result for the model breaks the tool's outputSchema",
            expected="structuredContent that fits",
            actual=wrong,
            frames=frames,
        )


def _tools(params: Json) -> list[Json]:
    tools = params.get("tools")
    return [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []


def _blocks(params: Json) -> list[Json]:
    """All blocks of all messages of a sampling request, in order."""
    found: list[Json] = []
    messages = params.get("messages")
    for message in messages if isinstance(messages, list) else []:
        content = message.get("content") if isinstance(message, dict) else None
        found += [block for block in (content if isinstance(content, list) else [content]) if isinstance(block, dict)]
    return found
