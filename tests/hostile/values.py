"""Targets that put values of wrong types where the specification says what goes there."""

from __future__ import annotations

import json

from hostile.base import HERE, change
from hostile.numbers import with_value
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from hostile.base import Message, Server

PLACES: tuple[tuple[str, str, str], ...] = (
    ("initialize", "", "null"),
    ("initialize", "", "[]"),
    ("initialize", "capabilities", "5"),
    ("initialize", "capabilities", "null"),
    ("initialize", "capabilities", '["tools"]'),
    ("initialize", "capabilities.tools", "7"),
    ("initialize", "capabilities.tools.listChanged", '"yes"'),
    ("initialize", "capabilities.resources", "true"),
    ("initialize", "capabilities.experimental", "[]"),
    ("initialize", "serverInfo", "null"),
    ("initialize", "serverInfo", '"me"'),
    ("initialize", "serverInfo.name", "[]"),
    ("initialize", "serverInfo.version", "{}"),
    ("initialize", "instructions", "5"),
    ("ping", "", "null"),
    ("ping", "", "true"),
    ("ping", "_meta", "5"),
    ("tools/list", "", "[]"),
    ("tools/list", "", '"none"'),
    ("tools/list", "tools", "{}"),
    ("tools/list", "tools", "null"),
    ("tools/list", "tools", '[null, 5, "echo", [], true]'),
    ("tools/list", "tools.0.name", "null"),
    ("tools/list", "tools.0.name", "{}"),
    ("tools/list", "tools.0.description", "[]"),
    ("tools/list", "tools.0.inputSchema", "null"),
    ("tools/list", "tools.0.inputSchema.properties", "[]"),
    ("tools/list", "tools.0.inputSchema.properties.text", "5"),
    ("tools/list", "tools.0.inputSchema.required", '{"text": true}'),
    ("tools/list", "tools.0.inputSchema.required", "[5, null, {}]"),
    ("tools/list", "tools.0.inputSchema.type", "5"),
    ("tools/list", "tools.0.inputSchema.type", '[{}, 5, "object"]'),
    ("tools/list", "tools.0.annotations", '"safe"'),
    ("tools/list", "tools.0.annotations.readOnlyHint", '"true"'),
    ("tools/list", "tools.0.execution", "5"),
    ("tools/list", "tools.0.icons", "5"),
    ("tools/list", "nextCursor", "[]"),
    ("tools/list", "nextCursor", "5"),
    ("tools/list", "nextCursor", "null"),
    ("tools/call", "", "null"),
    ("tools/call", "", "5"),
    ("tools/call", "content", "7"),
    ("tools/call", "content", '"done"'),
    ("tools/call", "content", '[5, null, "text", []]'),
    ("tools/call", "content.0.type", "5"),
    ("tools/call", "content.0.text", "{}"),
    ("tools/call", "structuredContent", "[]"),
    ("tools/call", "structuredContent", '"x"'),
    ("tools/call", "isError", '"no"'),
    ("resources/list", "resources", "5"),
    ("resources/list", "resources.0.uri", "5"),
    ("resources/list", "resources.0.uri", "null"),
    ("resources/list", "resources.0.annotations", "5"),
    ("resources/list", "resources.0.annotations.audience", '{"user": 1}'),
    ("resources/templates/list", "resourceTemplates.0.uriTemplate", "[]"),
    ("resources/templates/list", "resourceTemplates.0.uriTemplate", '"{{{{"'),
    ("resources/read", "contents", '"text"'),
    ("resources/read", "contents.0.uri", "5"),
    ("resources/read", "contents.0.blob", "5"),
    ("resources/read", "contents.0.mimeType", "[]"),
    ("prompts/list", "prompts.0.name", "[]"),
    ("prompts/list", "prompts.0.arguments", '"who"'),
    ("prompts/list", "prompts.0.arguments", "[5]"),
    ("prompts/list", "prompts.0.arguments.0.name", "5"),
    ("prompts/get", "messages", "{}"),
    ("prompts/get", "messages.0.role", "5"),
    ("prompts/get", "messages.0.content", "[]"),
    ("completion/complete", "completion", "[]"),
    ("completion/complete", "completion.values", "{}"),
    ("completion/complete", "completion.values", "[5, null, {}]"),
    ("completion/complete", "completion.total", '"two"'),
    ("logging/setLevel", "", "[]"),
)


def _named(method: str, path: str, value: str, taken: set[str]) -> str:
    kinds = {"[": "list", "{": "object", '"': "text", "n": "null", "t": "true"}
    words = [method.replace("/", "-"), *path.replace("0.", "").split("."), kinds.get(value[0], "number")]
    name = "wrong-" + "-".join(word for word in words if word).lower()
    while name in taken:
        name += "-again"
    taken.add(name)
    return name


_TAKEN: set[str] = set()
for _method, _path, _value in PLACES:
    add(
        _named(_method, _path, _value, _TAKEN),
        f"Says {_value} as {_path or 'the result'} of {_method}.",
        with_value(_method, _path, _value),
        statuses=(0, 1, 3),
    )

ODD: tuple[Any, ...] = (None, True, 0, -1, 2**70, 0.5, "", "\0", "x" * 300, [], {}, [None], {"": None}, [[[]]], "null")


@target()
def wrong_at_random(server: Server) -> None:
    """Replaces one value of every fifth answer, anywhere within, by an odd one; always the same ones."""
    _spoil(server, 5)


@target()
def wrong_at_random_always(server: Server) -> None:
    """Replaces one value of every answer but that to initialize by an odd one; always the same ones."""
    _spoil(server, 1)


@target()
def wrong_at_random_everywhere(server: Server) -> None:
    """Replaces a third of all values within every answer but that to initialize by odd ones."""
    import random

    chance = random.Random(7)

    def spoilt(value: Any) -> Any:
        if chance.random() < 0.3:
            return chance.choice(ODD)
        if isinstance(value, dict):
            return {name: spoilt(member) for name, member in value.items()}
        return [spoilt(element) for element in value] if isinstance(value, list) else value

    def edit(request: Message, reply: Message) -> Message:
        if "result" not in reply or request["method"] == "initialize":
            return reply
        return {**reply, "result": spoilt(reply["result"])}

    server.edit = edit


def _spoil(server: Server, every: int) -> None:
    import random

    chance = random.Random(every)

    def spoil(value: Any) -> Any:
        if isinstance(value, dict) and value and chance.random() < 0.8:
            name = chance.choice(list(value))
            return {**value, name: spoil(value[name])}
        if isinstance(value, list) and value and chance.random() < 0.8:
            place = chance.randrange(len(value))
            return [*value[:place], spoil(value[place]), *value[place + 1 :]]
        return chance.choice(ODD)

    def edit(request: Message, reply: Message) -> Message:
        if "result" not in reply or request["method"] == "initialize" or server.heard % every:
            return reply
        return {**reply, "result": spoil(json.loads(json.dumps(reply["result"])))}

    server.edit = edit


@target()
def error_is_text(server: Server) -> None:
    """Refuses with a text instead of an error object."""
    server.edit = lambda _request, reply: {**reply, "error": "no"} if "error" in reply else reply


@target()
def error_is_null(server: Server) -> None:
    """Refuses with error: null, and no result."""
    server.edit = lambda _request, reply: {**reply, "error": None} if "error" in reply else reply


@target()
def error_in_every_result(server: Server) -> None:
    """Sends error: null beside every result."""
    server.edit = lambda _request, reply: {"error": None, **reply}


@target()
def codes_are_texts(server: Server) -> None:
    """Refuses with codes that are texts."""

    def edit(_request: Message, reply: Message) -> Message:
        if "error" in reply:
            reply["error"]["code"] = str(reply["error"]["code"])
        return reply

    server.edit = edit


@target()
def answers_are_lists(server: Server) -> None:
    """Wraps every answer in an array."""
    server.edit = lambda _request, reply: [reply]


@target()
def answers_are_texts(server: Server) -> None:
    """Sends every answer as a JSON string that holds it."""
    server.edit = lambda _request, reply: json.dumps(reply)


@target()
def members_twice(server: Server) -> None:
    """Says every result twice in one object, the second time it is empty."""
    server.here = '{}, "result": {}'
    server.edit = lambda request, reply: reply if request["method"] == "initialize" else {**reply, "result": HERE}


@target()
def every_tool_is_odd(server: Server) -> None:
    """Lists one tool for each odd value, with that value as its inputSchema, name and description."""
    change(
        server,
        "tools/list",
        "tools",
        [{"name": odd, "description": odd, "inputSchema": odd, "annotations": {"readOnlyHint": True}} for odd in ODD],
    )


vary(
    "values",
    """
    wrong-initialize-null wrong-initialize-capabilities-number wrong-initialize-serverinfo-null
    wrong-tools-list-tools-object wrong-tools-list-tools-list wrong-tools-list-tools-name-null
    wrong-tools-list-tools-inputschema-required-list wrong-tools-list-tools-annotations-text
    wrong-tools-list-nextcursor-list wrong-tools-call-null wrong-tools-call-content-number
    wrong-resources-list-resources-uri-number wrong-prompts-list-prompts-arguments-list
    wrong-completion-complete-completion-values-list wrong-at-random wrong-at-random-everywhere error-is-text
    answers-are-texts every-tool-is-odd
    """,
)
