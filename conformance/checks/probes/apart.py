"""The probe of what one client gives and another one hears. Part of the area tools."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field

from conformance.checks.probes import Bench, Observation
from conformance.checks.probes.calls import call_quickly, callable_tools, soon
from conformance.checks.probes.outcome import succeeded
from conformance.model import Frame, Json, members
from conformance.session.eras.stateless import META
from conformance.session.messages import How
from conformance.session.session import Call, Session
from conformance.survey.completions import completions
from conformance.survey.survey import Unavailable, required_of

NONE_SUCH = "mcp-conform-no-such-thing"
FEW = 3
"""How many tools and prompts are given texts."""
TRIES = 5
"""How many times two clients call a tool at the same time: what is mixed up may be a race."""
TOLD = {"notifications/message": "a log message", "notifications/progress": "a notification of progress"}
CONSTRAINTS = {"enum", "const", "pattern", "format", "maxLength"}


@dataclass
class Client:
    """One of two clients; `given` are the texts that only it has given."""

    session: Session
    meta: Json
    given: set[str] = field(default_factory=set)
    own: dict[int, str] = field(default_factory=dict)
    """Number of the frame of a request → the text that was given in it."""
    repeated: set[str] = field(default_factory=set)
    """What has answered with the text that it was given: method and name."""
    start: int = 0

    def __post_init__(self) -> None:
        self.start = self.session.position

    def text(self) -> str:
        """A text that nobody else knows."""
        text = f"mcpconform{secrets.token_hex(8)}"
        self.given.add(text)
        return text


def kept_apart(bench: Bench) -> Iterator[Observation]:
    """Two clients of one server give it texts by turns and at once: where one of them hears what the other gave.

    Who gave what takes a memory. A server may be there to keep what it is given and to give it to others, so most of
    what it says proves nothing. What is told: log messages and progress; errors that answer requests without such a
    text; and an answer with the text of the other client in place of the own one, of what repeats its own otherwise.
    """
    if not bench.session.anonymous:
        raise Unavailable("with the headers of the target both clients are one user, who may see all that he gave")
    first, second = _client(bench), _client(bench)
    if first.session.transport.url != second.session.transport.url:
        raise Unavailable("each client has a server of its own")
    tools = list(_tools(bench))[:FEW]
    for giver, hearer in ((first, second), (second, first)):
        _by_turns(bench, tools, giver, hearer)
    for tool, name in tools:
        _at_once(bench, tool, name, (first, second))
    for client in (first, second):
        client.session.hear_out()
    if not (first.given and second.given):
        raise Unavailable("no tool that is annotated as reading only, no prompt and no completion takes any text")
    strays = [*_strays(first, second), *_strays(second, first)]
    for what, frames in dict(reversed(strays)).items():
        actual = "a text that only another client has given to the server"
        yield Observation({"leaked": True, "what": what}, frames=frames, actual=actual)
    if not strays:
        yield Observation({"leaked": False})


def _client(bench: Bench) -> Client:
    session = bench.connect(shared=True)
    if not bench.survey.declares("logging"):
        return Client(session, {})
    if session.revision.era == "stateless":
        return Client(session, {"_meta": {META + "logLevel": "debug"}})
    if not session.transport.has_headers or "Mcp-Session-Id" in session.http_headers:
        session.request("logging/setLevel", {"level": "debug"})  # else it would be the level of everybody
    return Client(session, {})


def _tools(bench: Bench) -> Iterator[tuple[Json, str]]:
    """Params of calls that change nothing, as far as the server says, each with an argument that may be any text."""
    if not bench.survey.callable_tools:
        return
    for tool, params in callable_tools(bench):
        if members(tool.get("annotations")).get("readOnlyHint") is not True:
            continue
        properties = members(members(tool.get("inputSchema")).get("properties"))
        for name, value in members(params["arguments"]).items():
            schema = members(properties.get(name))
            if value == "x" and schema.get("type") == "string" and not CONSTRAINTS & schema.keys():
                yield params, name
                break


# -- what is asked


def _by_turns(bench: Bench, tools: list[tuple[Json, str]], giver: Client, hearer: Client) -> None:
    """One gives a text, and then the other asks for what does not exist, and gives another text."""
    for tool, name in tools:
        for strange in ({"name": NONE_SUCH, "arguments": {}}, {"name": tool["name"], "arguments": {}}):
            _give(giver, "tools/call", _with(tool, name, giver.text()))
            call_quickly(hearer.session, strange)
        _give(hearer, "tools/call", _with(tool, name, hearer.text()))
    for prompt in [each for each in bench.survey.named_prompts if required_of(each)][:FEW]:
        for client in (giver, hearer):
            given = dict.fromkeys(required_of(prompt), client.text())
            _give(client, "prompts/get", {"name": prompt["name"], "arguments": given})
            hearer.session.request("prompts/get", {"name": NONE_SUCH})
    if bench.survey.declares("completions"):
        for each in completions(bench.survey)[:FEW]:
            _give(giver, "completion/complete", {**each, "argument": {**each["argument"], "value": giver.text()}})
            none = {"ref": {"type": "ref/prompt", "name": NONE_SUCH}, "argument": {"name": NONE_SUCH, "value": ""}}
            hearer.session.request("completion/complete", none)


def _at_once(bench: Bench, tool: Json, name: str, clients: tuple[Client, Client]) -> None:
    for number in range(TRIES):
        calls = []
        # Each client has ids of its own, which may be the same.
        how = How(id=f"mcp-conform-{clients[0].session.position}") if number % 2 else How()
        for client in clients:
            text = client.text()
            call = client.session.send("tools/call", {**_with(tool, name, text), **client.meta}, **how)
            client.own[call.sent.number] = text
            calls.append(call)
        for client, call in zip(clients, calls, strict=True):
            if not client.session.wait(call, timeout=soon(bench.session)):
                client.session.give_up(call)
                return


def _with(tool: Json, name: str, text: str) -> dict[str, Json]:
    return {**tool, "arguments": {**tool["arguments"], name: text}}


def _give(client: Client, method: str, params: dict[str, Json]) -> None:
    """Ask for something with the text that was made last, and see whether the answer repeats it."""
    session = client.session
    whole = {**params, **client.meta}
    call = call_quickly(session, whole) if method == "tools/call" else session.request(method, whole)
    text = next((each for each in client.given if each in json.dumps(params)), "")
    client.own[call.sent.number] = text
    if text and succeeded(call) and text in json.dumps(call.result):
        client.repeated.add(_place(call))


def _place(call: Call) -> str:
    return f"{call.method} {members(call.params).get('name')!r}"


# -- what is heard


def _strays(client: Client, other: Client) -> Iterator[tuple[str, tuple[Frame, ...]]]:
    """What one heard of the texts of the other, in words, with the frames that show it."""
    asked = {frame.number: call for call in client.session.calls.values() for frame in call.answers}
    repeated = client.repeated | other.repeated
    for frame in client.session.since(client.start):
        said = frame.data.decode("utf-8", "replace") if frame.origin == "target" else ""
        if not any(text in said for text in other.given):
            continue
        message, call = members(frame.message), asked.get(frame.number)
        if "method" in message:
            if "id" not in message and message["method"] in TOLD:
                yield TOLD[message["method"]], (frame,)
        elif call is not None:
            own = client.own.get(call.sent.number, "")
            if not own and not succeeded(call):
                yield f"an error of {call.method}", (call.sent, frame)
            elif own and own not in said and _place(call) in repeated:
                yield f"an answer of {call.method}", (call.sent, frame)
