"""Requests whose params break the schema of their method in one place: each is refused."""

from __future__ import annotations

import json
from typing import ClassVar

from conformance.checks.fuzz.choices import Choices
from conformance.checks.fuzz.example import DIED, HUNG, SWALLOWED, Breach, Example, Reply
from conformance.checks.fuzz.schema_values import Break, Maker, Part, broken
from conformance.checks.probes import Bench
from conformance.codes import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from conformance.model import Json, Severity
from conformance.session.eras.stateless import META
from conformance.session.messages import encode
from conformance.survey.survey import LISTS, Survey, Unavailable, required_of
from conformance.validation.wire_schemas import Method, WireSchemas, for_revision

REFUSED = "jsonrpc/invalid-params-refused"
ONCE = "jsonrpc/every-request-answered-once"
ID = "@id"
NEEDS = {
    "tools/list": "tools",
    "tools/call": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resources",
    "resources/read": "resources",
    "resources/subscribe": "resources.subscribe",
    "resources/unsubscribe": "resources.subscribe",
    "prompts/list": "prompts",
    "prompts/get": "prompts",
    "completion/complete": "completions",
    "logging/setLevel": "logging",
    "tasks/get": "tasks",
    "tasks/result": "tasks",
    "tasks/cancel": "tasks",
    "tasks/list": "tasks",
    "ping": "",
    "server/discover": "",
    "subscriptions/listen": "",
}
"""The methods of which params are broken, and the capability that each needs. What opens a session is left out."""

UNSEEN = ("_meta", "task", "inputResponses", "requestState")
"""Members of params that a server need not look at."""


class InvalidParams:
    """See the module."""

    name: ClassVar[str] = "invalid-params"
    requirements: ClassVar[tuple[str, ...]] = (REFUSED, ONCE)
    share = 1.0

    def __init__(self, bench: Bench) -> None:
        self._session = bench.session
        self._schemas: WireSchemas = for_revision(bench.session.revision.date)
        self._http = bench.session.transport.has_headers
        self._maker = Maker(self._resolve)
        stateless = bench.session.revision.era == "stateless"
        self._needed: dict[str, set[str]] = {}
        self._breaks: list[tuple[Method, dict[str, Json], Break]] = []
        for name, params in good_params(bench.survey).items():
            method = self._schemas.method(name)
            if method is None or method.request is None or (NEEDS[name] and not bench.survey.declares(NEEDS[name])):
                continue
            good = bench.session.era.dress(bench.session, params) or {}
            for what in dict.fromkeys(map(_Key, self._maker.breaks(self._part(method.request), {"params": good}))):
                inside = what.what.place[:1] == ("params",) and len(what.what.place) > 1
                if inside and not (stateless and _about_era(what.what)):
                    self._breaks.append((method, good, what.what))
        if not self._breaks:
            raise Unavailable("the server has no method whose params could be wrong")

    @property
    def kinds(self) -> int:
        """Of places and keywords, over all methods."""
        return len(self._breaks)

    def make(self, choices: Choices) -> Example:
        """A request with one thing wrong in its params."""
        method, good, what = self._breaks[choices.below(len(self._breaks))]
        message: dict[str, Json] = {"jsonrpc": "2.0", "id": 1, "method": method.name, "params": good}
        made = broken({"params": good}, what, choices)
        if made is not None:
            bad, wrong = made
            message["params"] = bad["params"]
        if made is None or self._schemas.admits(str(method.request), message):
            # What breaks nothing after all is sent as a request without anything that it needs.
            message["params"], wrong = 7, "params: 7, expected an object"
        message["id"] = ID
        member = str(what.place[1])
        unseen = member in UNSEEN
        optional = member not in self._required(method) or not _there({"params": good}, what.place)
        # The params of a subscription that is accepted have no answer before it ends.
        due = not unseen and isinstance(message["params"], dict) and method.name != "subscriptions/listen"
        # What null means for a member that may be absent is a matter of taste: many take it for absent.
        unseen = unseen or (optional and ": null, " in wrong)
        about = {"method": method.name, "unseen": unseen or not due, "optional": optional}
        return Example(encode(message), f"{method.name} {member}", f"{method.name}, {wrong}", due=due, about=about)

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """An error, with code -32602."""
        if reply.fate:
            what = {DIED: "ends the server", SWALLOWED: "swallows the next one"}.get(reply.fate, "hangs the server")
            proof = (reply.sent, *reply.frames[1:4])
            ceiling = Severity.WARNING if reply.fate == HUNG and self._slow(example) else None
            message = f"a request with wrong params {what}"
            expected = "an error, and the server lives on"
            return Breach(ONCE, message, expected, reply.why, proof, ceiling, {"alive": True})
        if reply.status is not None and reply.status >= 500:
            return self._wrong(reply, "are answered by HTTP", f"HTTP status {reply.status}", Severity.WARNING)
        if not reply.answers:
            if example.about["unseen"] or reply.status is not None or self._slow(example):
                return ""
            return self._wrong(reply, "are not answered", reply.call.lost if reply.call else "", Severity.WARNING)
        if reply.succeeded:
            result = reply.message.get("result")
            if example.about["unseen"] or (isinstance(result, dict) and result.get("isError") is True):
                return ""
            ceiling = Severity.ADVICE if example.about["optional"] else Severity.WARNING
            shown = encode(reply.message).decode("utf-8", "replace")[:200]
            return self._wrong(
                reply, "are accepted" + (", in optional members" if ceiling == "advice" else ""), shown, ceiling
            )
        if reply.code == INVALID_PARAMS or (self._http and reply.code == HEADER_MISMATCH):
            return REFUSED
        if reply.code == METHOD_NOT_FOUND:  # whatever the params are
            return ""
        if (
            example.about["unseen"]
            or reply.codeless
            or (reply.code == INVALID_REQUEST and not isinstance(example.about, dict))
        ):
            return ""
        return self._wrong(reply, "are refused with another code", f"error {json.dumps(reply.code)}", Severity.ADVICE)

    def _wrong(self, reply: Reply, how: str, actual: str, ceiling: Severity) -> Breach:
        expect: dict[str, Json] = {"error": {"$type": "object"} if "accepted" in how else {"code": INVALID_PARAMS}}
        return Breach(
            REFUSED,
            f"params that break the schema of their method {how}",
            "error -32602",
            actual,
            reply.proof,
            ceiling,
            {"response": expect},
        )

    def _slow(self, example: Example) -> bool:
        """Whether an author's own code may be at work."""
        return example.about["method"] in ("tools/call", "resources/read", "prompts/get", "completion/complete")

    # -- schemas

    def _part(self, type_ref: str) -> Part:
        area, _, name = type_ref.partition("#")
        base = f"https://mcp-conform/schemas/{self._schemas.revision}/{area}"
        return base, self._schemas.documents[base]["$defs"][name]

    def _resolve(self, base: str, reference: str) -> Part:
        file, _, pointer = reference.partition("#")
        base = f"{base.rpartition('/')[0]}/{file}" if file else base
        return base, self._schemas.documents[base]["$defs"][pointer.rpartition("/")[2]]

    def _required(self, method: Method) -> set[str]:
        if method.name in self._needed:
            return self._needed[method.name]
        found = self._needed.setdefault(method.name, set())
        for base, schema in self._maker.parts(self._part(str(method.request))):
            under = schema.get("properties", {}).get("params")
            if under is not None:
                found |= {name for _, s in self._maker.parts((base, under)) for name in s.get("required", ())}
        return found


class _Key:
    """A break, the same as another one if it breaks the same keyword at the same place."""

    def __init__(self, what: Break) -> None:
        self.what = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self._named() == other._named()

    def __hash__(self) -> int:
        return hash(self._named())

    def _named(self) -> tuple[object, ...]:
        return self.what.place, self.what.keyword


def _about_era(what: Break) -> bool:
    """Whether it breaks what says that the request is of the stateless era at all; cases of the area meta do that."""
    if what.place[1:2] != ("_meta",):
        return False
    return len(what.place) == 2 or str(what.place[2]).startswith(META + "proto") or "client" in str(what.place[2])


def _there(value: Json, place: tuple[str | int, ...]) -> bool:
    """Whether there is something at a place."""
    for step in place:
        if not isinstance(value, dict) or step not in value:
            return False
        value = value[step]
    return True


def good_params(survey: Survey) -> dict[str, dict[str, Json]]:
    """Valid params of each method, made of what the server offers. No tool is named that may not be called.

    A list that is refused as it is would be refused for whatever is wrong with its params.
    """
    uri = next((r["uri"] for r in survey.resources if isinstance(r.get("uri"), str)), "mcp-conform:none")
    prompts = survey.named_prompts
    prompt = min(prompts, key=lambda p: len(required_of(p)), default={"name": "mcp-conform-none"})
    call: dict[str, Json] = {"name": "mcp-conform-none", "arguments": {}}
    for tool in survey.callable_tools:
        try:
            call = {"name": str(tool.get("name")), "arguments": survey.arguments_for(tool)}
            break
        except Unavailable:
            continue
    get: dict[str, Json] = {"name": prompt["name"]}
    if survey.prompt_arguments(prompt):
        get["arguments"] = survey.prompt_arguments(prompt)
    reference = {"type": "ref/prompt", "name": prompt["name"]}
    task = {"taskId": "mcp-conform-none"}
    listed = (*(LISTS[name][0] for name in survey.given), "tasks/list")
    return {
        "ping": {},
        "server/discover": {},
        **{name: {} for name in listed},
        "tools/call": call,
        "resources/read": {"uri": uri},
        "resources/subscribe": {"uri": uri},
        "resources/unsubscribe": {"uri": uri},
        "prompts/get": get,
        "completion/complete": {"ref": reference, "argument": {"name": "x", "value": ""}},
        "logging/setLevel": {"level": "error"},
        "subscriptions/listen": {"notifications": {}},
        **{f"tasks/{name}": dict(task) for name in ("get", "result", "cancel")},
    }
