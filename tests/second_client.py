"""A small client over stdio for the second player: a session, what the server lists, and what cases pick of it."""

from __future__ import annotations

import contextlib
import json
import re
import select
import subprocess
from collections.abc import Iterator
from itertools import islice, zip_longest
from typing import Any

from second_patterns import MISSING

PATIENCE = 5
"""Seconds without any message after which nothing more comes."""
KEYS = {"tools": "name", "resources": "uri", "resourceTemplates": "uriTemplate", "prompts": "name"}
"""Member of a result that is a list → what identifies its items."""
SIMPLE = {"string": "x", "integer": 1, "number": 1, "boolean": True, "array": [], "object": {}, "null": None}


def method_of(member: str) -> str:
    """The method that lists them."""
    return f"{member.replace('resourceTemplates', 'resources/templates')}/list"


def same(one: Any, other: Any) -> bool:
    """Whether two ids are: 1 is 1.0, and neither is "1" nor true."""
    return one == other and isinstance(one, str | bool) is isinstance(other, str | bool)


def arguments(schema: Any) -> Any:
    """Arguments that the schema of a tool admits, if it asks for nothing odd: those that are required."""
    described = {name: schema.get("properties", {}).get(name, {}) for name in schema.get("required", [])}
    return {name: about.get("default", SIMPLE.get(about.get("type"), "x")) for name, about in described.items()}


def unknown_behind(templates: list[Any]) -> list[Any]:
    """What each template makes of a value that nobody has, as far as its variables are plain."""
    found = [
        (each["uriTemplate"], re.sub(r"\{\w+\}", "second-no-such-thing", each["uriTemplate"])) for each in templates
    ]
    return [{"template": template, "uri": uri} for template, uri in found if "{" not in uri and uri != template]


def completions(prompts: list[Any], templates: list[Any]) -> list[Any]:
    """What may be completed: arguments of prompts and variables of templates by turns, 8 of either."""
    refs = [({"type": "ref/prompt", "name": prompt["name"]}, names_of(prompt)) for prompt in prompts]
    uris = [template["uriTemplate"] for template in templates]
    variables = [re.findall(r"[{,?+#./;&]+(\w+)(?=[^{]*\})", uri) for uri in uris]
    others = [({"type": "ref/resource", "uri": uri}, names) for uri, names in zip(uris, variables, strict=True)]
    turns = zip_longest(*(islice(_places(each), 8) for each in (refs, others)))
    return [place for turn in turns for place in turn if place is not None]


def _places(refs: list[Any]) -> Iterator[Any]:
    for ref, names in refs:
        for name in names:
            place = {"ref": ref, "argument": {"name": name, "value": ""}}
            others = [other for other in names if other != name]
            yield {**place, "context": {"arguments": {others[0]: "x"}}} if others else place


def names_of(prompt: Any, required: bool = False) -> list[str]:
    """The names of its arguments, or of those that are required."""
    return [each["name"] for each in prompt.get("arguments", []) if each.get("required") or not required]


class Session:
    """One client's conversation: `heard` are the messages of the server, which is `over` once it has ended."""

    def __init__(self, command: list[str], revision: Any, client: Any) -> None:
        self.process: Any = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.revision, self.stateless, self.client = revision["date"], revision["era"] == "stateless", client
        self.heard, self.sent, self.over = list[Any](), 0, False
        me = {"name": "second-player", "version": "1"}
        self.meta = {"protocolVersion": self.revision, "clientCapabilities": client, "clientInfo": me}
        hello = {"protocolVersion": self.revision, "capabilities": client, "clientInfo": me}
        self.opening = self.ask("server/discover") if self.stateless else self.ask("initialize", hello)
        if not self.stateless:
            self.write("notifications/initialized")
        declared = [member for member in KEYS if self.declares(member.replace("resourceTemplates", "resources"))]
        self.lists = {member: self.pages(method_of(member)) or {"items": [], "pages": 1} for member in declared}

    def close(self) -> None:
        """End the server."""
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def write(self, method: Any, params: Any = MISSING, **more: Any) -> None:
        """Write a message, if there still is somebody who reads."""
        members = {"jsonrpc": "2.0", "method": method, "params": params, **more}
        message = {name: member for name, member in members.items() if member is not MISSING}
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b"\n")

    def send(self, method: str, params: Any = MISSING, own: Any = MISSING, meta: bool = True) -> Any:
        """Send a request, under an id of its `own` perhaps; the id."""
        if self.stateless and meta and (params is MISSING or isinstance(params, dict)):
            params = {} if params is MISSING else params
            era = {f"io.modelcontextprotocol/{name}": value for name, value in self.meta.items()}
            params = {**params, "_meta": {**era, **params.get("_meta", {})}}
        self.sent += 1
        identifier = 1000 + self.sent if own is MISSING else own
        self.write(method, params, id=identifier)
        return identifier

    def answer(self, identifier: Any, start: int) -> Any:
        """The response to a request that was sent when `start` messages had been heard, MISSING if none comes."""
        while True:
            for message in self.heard[start:]:
                if "method" not in message and same(message.get("id"), identifier):
                    return message
            if not select.select([self.process.stdout], [], [], PATIENCE)[0]:
                return MISSING
            line = self.process.stdout.readline()
            self.over = self.over or not line
            if self.over:
                return MISSING
            self.heard.append(json.loads(line))
            if {"id", "method"} <= self.heard[-1].keys():  # what the server asks: no such capability was declared
                refusal = {"error": {"code": -32601, "message": "not declared"}}
                answer = {"result": {}} if self.heard[-1]["method"] == "ping" else refusal
                self.write(MISSING, id=self.heard[-1]["id"], **answer)

    def ask(self, method: str, params: Any = MISSING) -> Any:
        """Send a request and wait for the response."""
        start = len(self.heard)
        return self.answer(self.send(method, params), start)

    def sentinel(self) -> bool:
        """Whether a harmless request is answered."""
        return self.ask("server/discover" if self.stateless else "ping") is not MISSING

    def declares(self, capability: str) -> bool:
        """Whether the server declared the dotted capability."""
        place = self.opening["result"]["capabilities"]
        parts = capability.split(".") if not capability.startswith("extensions.") else ["extensions", capability[11:]]
        for part in parts:
            place = place.get(part) if isinstance(place, dict) else None
        return place is not None and place is not False

    def pages(self, method: str) -> Any:
        """A list, read to its end: the value that a step with `pages` saves; None if a page is not answered."""
        member = next(member for member in KEYS if method_of(member) == method)
        results: list[Any] = []
        cursors: list[Any] = [MISSING]
        while cursors[-1] is not None and cursors[-1] not in cursors[:-1] and len(results) < 200:
            response = self.ask(method, MISSING if cursors[-1] is MISSING else {"cursor": cursors[-1]})
            if response is MISSING:
                return None
            results.append(response.get("result"))
            cursors.append(results[-1].get("nextCursor") if results[-1] else None)
        whole = [result for result in results if result is not None]
        items = [item for result in whole for item in result.get(member, []) if KEYS[member] in item]
        keys = [item[KEYS[member]] for item in items]
        return {
            "items": items,
            "keys": keys,
            "sorted-keys": sorted(keys),
            "pages": len(results),
            "results": [{name: each for name, each in result.items() if name != member} for result in whole],
            "problem": "" if len(whole) == len(results) and cursors[-1] is None else "it leads nowhere",
            "cut": "",
        }

    def items(self, member: str) -> list[Any]:
        """What the server lists there, nothing if it did not declare that."""
        return list(self.lists[member]["items"]) if member in self.lists else []

    def picks(self, kind: str) -> list[Any] | None:
        """All things of that kind; None if this client does not know it."""
        tools = [tool for tool in self.items("tools") if tool.get("annotations", {}).get("readOnlyHint") is True]
        tools = [tool for tool in tools if tool.get("execution", {}).get("taskSupport") != "required"]
        calls = [{"name": tool["name"], "arguments": arguments(tool["inputSchema"])} for tool in tools]
        strict = [tool for tool in tools if tool["inputSchema"].get("required")]
        prompts = [(prompt, names_of(prompt, required=True)) for prompt in self.items("prompts")]
        places = completions(self.items("prompts"), self.items("resourceTemplates"))
        no_place = {"ref": {"type": "ref/prompt", "name": "second-none"}, "argument": {"name": "x", "value": ""}}
        uris = [item["uri"] for item in self.items("resources")]
        nowhere = "mcp-conform://no-such-resource/second"
        unknown = {"uri": nowhere, "other-uri": f"{nowhere}/other", "long-uri": "mcp-conform://" + "x" * 4096}
        gets = [
            {"name": prompt["name"], "arguments": dict.fromkeys(names, "x")}
            for prompt, names in sorted(prompts, key=lambda each: len(each[1]))
        ]
        known = {
            "declared-list": [self._list(member) for member in self.lists],
            "paged-list": [self._list(member) for member in self.lists if self.lists[member]["pages"] > 1],
            "quick-list": [self._list(member) for member in self.lists],
            "stateless-method": ["server/discover", *map(method_of, self.lists)],
            "advertised-modern-version": self.opening["result"].get("supportedVersions", []),
            "tool-call": calls,
            "tool-call-without-arguments": [call for call in calls if not call["arguments"]],
            "tool-call-and-swapped-name": [{"call": c, "swapped": {**c, "name": c["name"].swapcase()}} for c in calls],
            "tool-with-required-arguments": [
                {
                    "name": tool["name"],
                    "required": schema["required"],
                    "all-have-defaults": False,
                    "call": next((call for call in calls if call["name"] == tool["name"]), None),
                }
                for tool, schema in ((tool, tool["inputSchema"]) for tool in strict)
            ],
            "completion": places,
            "completion-of-prompt-argument": [
                {"ref": place["ref"], "argument": place["argument"]} for place in places if "name" in place["ref"]
            ],
            "listed-or-unknown-completion": [{**place, "listed": True} for place in places]
            or [{**no_place, "listed": False}],
            "resource-uri": uris,
            "listed-resource-uri": uris,
            "listed-or-unknown-resource-uri": uris or [unknown["uri"]],
            "unknown-resource": [unknown],
            "unknown-behind-template": unknown_behind(self.items("resourceTemplates")),
            "prompt-get": gets,
            "listed-or-unknown-prompt": gets or [{"name": "mcp-conform-no-such-prompt"}],
            "prompt-get-lacking-a-required-argument": [
                {"name": prompt["name"], "arguments": {}} for prompt, names in prompts if names
            ],
            "prompt-get-without-arguments": [{"name": prompt["name"]} for prompt, names in prompts if not names],
        }
        return known.get(kind)

    def _list(self, member: str) -> Any:
        name = member.replace("resourceTemplates", "templates")
        return {
            "name": name,
            "method": method_of(member),
            "member": member,
            "key": KEYS[member],
            "capability": name.replace("templates", "resources"),
            "pages": self.lists[member]["pages"],
            "given": "keys" in self.lists[member],
        }
