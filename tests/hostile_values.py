"""A correct little server of which anything that it says can be changed, and values to change it to.

As a script it speaks over stdio, and has a tool for each of SCHEMAS.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

Json = Any
META = "io.modelcontextprotocol/"
NEW = "2026-07-28"
DIGITS = "9" * 400
ICON = {"src": "https://example.com/icon.png", "mimeType": "image/png", "sizes": ["48x48"]}


def doubling(levels: int, *, anchors: bool = False) -> Json:
    """A schema that applies 2**levels subschemas to one value."""
    to = "#" if anchors else "#/$defs/"
    parts: dict[str, Json] = {f"a{i}": {"allOf": [{"$ref": f"{to}a{i + 1}"}] * 2} for i in range(levels)}
    parts[f"a{levels}"] = {"type": "object"}
    for name, part in parts.items() if anchors else ():
        part["$anchor"] = name
    return {"type": "object", "$defs": parts, "$ref": f"{to}a0"}


def deep(levels: int, opening: str = '{"a":', closing: str = "}", inmost: str = "1") -> str:
    """JSON with that many levels."""
    return opening * levels + inmost + closing * levels


def asking_for(**words: Json) -> Json:
    """A schema whose required member has these keywords."""
    return {"type": "object", "properties": {"a": words}, "required": ["a"]}


SCHEMAS: dict[str, Json] = {
    "backtracking": asking_for(type="string", pattern="^(a+)+$"),
    "backtracking and looking ahead": asking_for(type="string", pattern=r"^(?=(a|aa)+\1b$)(a|aa)+\1b$"),
    "backtracking in names": {"type": "object", "patternProperties": {r"^(?=(a+)+$)(a|aa)+\1b": False}},
    "self": {"type": "object", "$ref": "#"},
    "self by a detour": {"type": "object", "$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}},
                         "allOf": [{"$ref": "#/$defs/a"}]},
    "self by name": {"type": "object", "$dynamicAnchor": "x", "$dynamicRef": "#x"},
    "self by an old name": {"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object",
                            "$recursiveAnchor": True, "$recursiveRef": "#"},
    "doubling": doubling(40),
    "doubling by anchors": doubling(40, anchors=True),
    "doubling with depth": {"allOf": [{"additionalProperties": {"$ref": "#"}}] * 2, "type": "object"},
    "many items": asking_for(type="array", items={}, minItems=10**10),
    "many unique items": asking_for(type="array", minItems=10**9, uniqueItems=True),
    "long text": asking_for(type="string", minLength=10**10),
    "long text in a pattern": asking_for(type="string", pattern="^[a-z]*$", minLength=10**9),
    "many members": {"type": "object", "minProperties": 10**10, "maxProperties": 10**400},
    "a pattern a billion times": asking_for(type="string", pattern="a{1000000000}"),
    "a pattern a thousand times a thousand times": asking_for(type="string", pattern="(a{1000}){1000}"),
    "stars within stars": asking_for(type="string", pattern="^(((((a*)*)*)*)*)*$", minLength=60000),
    "almost nothing": asking_for(type="number", multipleOf=5e-324, minimum=1e300),
    "almost nothing to an integer": asking_for(type="integer", multipleOf=1e-300, minimum=10**300),
    "huge bounds": asking_for(type="integer", minimum=10**400, maximum=10**401),
    "huge steps": asking_for(type="integer", multipleOf=10**400, exclusiveMinimum=0.5),
    "bounds of other types": asking_for(type="number", minimum="x", maximum=[], multipleOf={}, minLength="y"),
    "keywords of other types": {"type": "object", "properties": [], "required": 7, "allOf": {}, "anyOf": 3,
                                "$ref": 5, "enum": {}, "items": 7, "$defs": [], "pattern": {}, "format": []},
    "types of other types": {"type": {"a": 1}, "properties": {"a": 7, "b": None, "c": {"type": 7}}, "required": [1]},
    "lists of other types": {"type": "object", "allOf": [1, None], "anyOf": ["x"], "oneOf": [[]], "enum": [],
                             "required": [[], {}], "dependentRequired": {"a": 7}, "dependentSchemas": [1]},
    "elsewhere": {"type": "object", "$ref": "https://example.com/schema.json"},
    "by an endless number": {"type": "object", "$ref": "#/allOf/" + "9" * 5000},
    "unknown dialect": {"$schema": "https://example.com/" + "x" * 1000, "type": "object"},
    "a dialect that is no text": {"$schema": ["x"], "type": "object"},
}  # fmt: skip
"""What a server may say that a tool takes or gives, by what is wrong with it."""

TEXTS: dict[str, str] = {
    "null": "null",
    "true": "true",
    "zero": "0",
    "minus one": "-1",
    "a fraction": "0.5",
    "400 digits": DIGITS,
    "minus 400 digits": f"-{DIGITS}",
    "5000 digits": "9" * 5000,
    "5000 digits of a fraction": "0." + "9" * 5000,
    "overflow": "1e999",
    "underflow": "1e-999",
    "400 digits with an exponent": f"{DIGITS}e5",
    "NaN": "NaN",
    "Infinity": "-Infinity",
    "empty text": '""',
    "text": '"x"',
    "half a pair": r'"\ud800"',
    "half a pair in a name": r'{"\udfff": "\ud83d"}',
    "what XML cannot hold": r'"\u0000\u0008\u001b]]>\ufffe\uffff\u2028"',
    "a long text": json.dumps("a" * 20_000),
    "a long line of blanks": json.dumps(" " * 20_000),
    "a long address": json.dumps("https://example.com/" + "a." * 10_000 + "@" * 100),
    "an empty list": "[]",
    "an empty object": "{}",
    "a list of everything": '[null,true,1,0.5,"x",[],{}]',
    "an object of everything": '{"type":7,"name":[],"uri":{},"content":null,"code":"x","":0}',
    "150 levels": deep(150),
    "250 levels": deep(250),
    "900 levels of lists": deep(900, "[", "]"),
    "20000 levels": deep(20_000),
    "20000 levels in text": json.dumps(deep(20_000)),
    **{f"schema: {name}": json.dumps(schema) for name, schema in SCHEMAS.items()},
}
"""JSON, or what looks like it, by what is odd about it."""


@dataclass(frozen=True)
class Change:
    """What the server says otherwise: in its `turn`-th kind of message, at the `place`-th place, `text` instead.

    `how` is "replace", "add" (a member beside), "drop" or "wrap" (in a list of several).
    """

    turn: int
    place: int
    text: str
    how: str = "replace"


@dataclass
class Little:
    """A correct server with a bit of everything, as a handler of `MemoryTransport`."""

    revision: str
    changes: tuple[Change, ...] = ()
    asked: dict[int, str] = field(default_factory=dict)
    _number: int = 0

    def __call__(self, line: bytes) -> Iterator[bytes]:
        try:
            message = json.loads(line)
        except ValueError:
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str) or "id" not in message:
            return
        for kind, said in self.answers(message["method"], message):
            yield self.written(kind, said)

    def written(self, kind: int, said: Json) -> bytes:
        """A message, with the changes that concern its kind."""
        texts: list[str] = []
        for change in self.changes:
            if change.turn % KINDS == kind:
                said = changed(said, change, f"@@{len(texts)}@@")
                texts.append(change.text)
        written = json.dumps(said)
        for i, text in enumerate(texts):
            written = written.replace(f'"@@{i}@@"', text)
        return written.encode()

    def answers(self, method: str, message: Json) -> Iterable[tuple[int, Json]]:
        """Numbered kinds of messages: what the server tells and asks, then its answer."""
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        stateless = self.revision == NEW
        meta = params.get("_meta")
        meta = meta if isinstance(meta, dict) else {}
        told = []
        if method == "tools/call":
            told = list(enumerate(TOLD))
            if isinstance(meta.get("progressToken"), str | int):
                progress = {"progressToken": meta["progressToken"], "progress": 1, "total": 2, "message": "half"}
                told.append((len(TOLD), {"method": "notifications/progress", "params": progress}))
            if not stateless:
                told += [(len(TOLD) + 1 + i, self.question(asked)) for i, asked in enumerate(ASKED)]
        base = len(TOLD) + 1 + len(ASKED)
        methods = [*RESULTS]
        if method in RESULTS:
            result = json.loads(json.dumps(RESULTS[method]))
            if method == "initialize":
                result["protocolVersion"] = self.revision
            if stateless:
                result = {"resultType": "complete", "_meta": NAMED, **result}
                if method.endswith(("/list", "/read", "/discover")):
                    result |= {"ttlMs": 0, "cacheScope": "private"}
            answer = {"id": message["id"], "result": result}
        else:
            answer = {"id": message["id"], "error": {"code": -32601, "message": f"no method {method[:80]}"}}
        kind = base + (methods.index(method) if method in RESULTS else len(methods))
        return [(kind, {"jsonrpc": "2.0", **said}) for kind, said in [*told, (kind, answer)]]

    def question(self, asked: Json) -> Json:
        """A request of the server, with an id of its own."""
        self._number += 1
        return {"id": f"q{self._number}", **asked}


def changed(said: Json, change: Change, mark: str) -> Json:
    """A copy of a message in which `mark` stands for what is to be said otherwise."""
    if not isinstance(said, dict):
        return said
    said = json.loads(json.dumps(said))
    places = list(_places(said))
    holder, key = places[change.place % len(places)]
    if holder is None:
        return mark
    if change.how == "drop":
        del holder[key]
    elif change.how == "add" and isinstance(holder, dict):
        holder[ADDED[change.place % len(ADDED)]] = mark
    elif change.how == "wrap":
        holder[key] = [holder[key], mark, holder[key]]
    else:
        holder[key] = mark
    return said


def _places(value: Json) -> Iterator[tuple[Json, Json]]:
    yield None, None
    waiting = [value]
    while waiting:
        holder = waiting.pop(0)
        for key, under in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            yield holder, key
            if isinstance(under, dict | list):
                waiting.append(under)


ADDED = ("_meta", "error", "result", "method", "id", "nextCursor", "icons", "annotations", "task", "inputRequests",
         "structuredContent", "$ref", "anyOf", "mode", "isError", "resultType", "execution", "title")  # fmt: skip
NAMED = {META + "serverInfo": {"name": "little", "version": "1"}}
OUTPUT = {"type": "object", "properties": {"n": {"type": "integer"}, "s": {"type": "string"}}, "required": ["n"]}
FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 9, "title": "Name"},
        "age": {"type": "integer", "minimum": 1, "maximum": 9},
        "sure": {"type": "boolean", "default": True},
        "colour": {"type": "string", "enum": ["red", "blue"]},
    },
    "required": ["name"],
}
TOLD: list[Json] = [
    {"method": "notifications/message", "params": {"level": "info", "logger": "l", "data": {"a": 1}}},
    {"method": "notifications/tools/list_changed"},
    {"method": "notifications/resources/updated", "params": {"uri": "little:a"}},
]
ASKED: list[Json] = [
    {"method": "roots/list"},
    {
        "method": "sampling/createMessage",
        "params": {
            "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
            "maxTokens": 9,
            "modelPreferences": {"hints": [{"name": "m"}], "costPriority": 0.5},
        },
    },
    {"method": "elicitation/create", "params": {"message": "Who are you?", "requestedSchema": FORM}},
    {
        "method": "elicitation/create",
        "params": {"mode": "url", "message": "Go", "elicitationId": "e1", "url": "https://example.com/"},
    },
    {"method": "ping"},
]
CAPABILITIES = {
    "tools": {"listChanged": True},
    "resources": {"subscribe": True, "listChanged": True},
    "prompts": {"listChanged": True},
    "completions": {},
    "logging": {},
}
RESULTS: dict[str, Json] = {
    "initialize": {
        "protocolVersion": "",
        "capabilities": CAPABILITIES,
        "serverInfo": {"name": "little", "version": "1", "title": "Little", "icons": [ICON]},
        "instructions": "None.",
    },
    "server/discover": {"supportedVersions": [NEW], "capabilities": CAPABILITIES, "instructions": "None."},
    "ping": {},
    "tools/list": {
        "tools": [
            {
                "name": "first",
                "title": "First",
                "description": "Does nothing.",
                "inputSchema": {
                    "type": "object",
                    "properties": {"a": {"type": "string", "description": "An a."}, "b": {"type": "integer"}},
                    "required": ["a"],
                    "additionalProperties": False,
                },
                "outputSchema": OUTPUT,
                "annotations": {"readOnlyHint": True, "title": "First"},
                "icons": [ICON],
                "_meta": {"com.example/x": 1},
            },
            {
                "name": "second",
                "inputSchema": {"type": "object", "properties": {}},
                "annotations": {"readOnlyHint": True},
            },
        ],
    },
    "tools/call": {
        "content": [
            {"type": "text", "text": '{"n": 1, "s": "x"}', "annotations": {"audience": ["user"], "priority": 0.5}},
            {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            {"type": "resource_link", "uri": "little:a", "name": "a", "size": 3},
            {"type": "resource", "resource": {"uri": "little:a", "mimeType": "text/plain", "text": "x"}},
        ],
        "structuredContent": {"n": 1, "s": "x"},
        "isError": False,
    },
    "resources/list": {
        "resources": [
            {
                "uri": "little:a",
                "name": "a",
                "mimeType": "text/plain",
                "size": 1,
                "annotations": {"lastModified": "2025-01-01T00:00:00Z", "priority": 1},
            }
        ]
    },
    "resources/templates/list": {"resourceTemplates": [{"uriTemplate": "little:{x}", "name": "t"}]},
    "resources/read": {"contents": [{"uri": "little:a", "mimeType": "text/plain", "text": "x"}]},
    "resources/subscribe": {},
    "resources/unsubscribe": {},
    "prompts/list": {"prompts": [{"name": "p", "arguments": [{"name": "x", "required": True}]}]},
    "prompts/get": {"description": "d", "messages": [{"role": "user", "content": {"type": "text", "text": "x"}}]},
    "completion/complete": {"completion": {"values": ["x"], "total": 1, "hasMore": False}},
    "logging/setLevel": {},
}
KINDS = len(TOLD) + 1 + len(ASKED) + len(RESULTS) + 1
"""How many kinds of messages the server says."""


def serve() -> None:
    """Speak over stdio in the newest revision of the handshake era, with a tool for each of SCHEMAS."""
    annotations = {"readOnlyHint": True}
    RESULTS["tools/list"]["tools"] = [
        {"name": f"{way}-{i}", "description": name, "annotations": annotations, **schemas}
        for i, (name, schema) in enumerate(SCHEMAS.items())
        for way, schemas in (
            ("takes", {"inputSchema": schema}),
            ("gives", {"inputSchema": {"type": "object"}, "outputSchema": schema}),
        )
    ]
    del RESULTS["server/discover"]
    RESULTS["tools/call"]["structuredContent"] = {"a": "a" * 40 + "!", "a" * 40 + "!": 1}
    server = Little("2025-11-25")
    for line in sys.stdin.buffer:
        for said in server(line):
            sys.stdout.buffer.write(said + b"\n")
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    serve()
