"""Targets that say too much at once, or lists that never end."""

from __future__ import annotations

import json

from hostile.base import TOOLS, Refused, change
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

MB = 1_000_000


def _large(method: str, path: str, size: int) -> Callable[[Server], None]:
    return lambda server: change(server, method, path, "x" * size)


for _size in (1, 15, 70, 200):
    add(
        f"tool-result-of-{_size}-mb",
        f"Answers tools/call with {_size} MB of text.",
        _large("tools/call", "content.0.text", _size * MB),
        statuses=(0, 1, 3) if _size > 1 else (0,),
        says=r"(?i)\b\d+ ?Mi?B\b|too (large|long|big)|more than \d|large message|not answer within"
        if _size >= 70
        else "",
    )
add("resource-of-50-mb", "Reads a resource of 50 MB.", _large("resources/read", "contents.0.text", 50 * MB))
add("blob-of-30-mb", "Reads a blob of 30 MB.", _large("resources/read", "contents.0.blob", 28 * MB))
add("prompt-of-20-mb", "Gets a prompt of 20 MB.", _large("prompts/get", "messages.0.content.text", 20 * MB))
add("ping-of-15-mb", "Answers ping with 15 MB in _meta.", _large("ping", "_meta.x", 15 * MB))
add(
    "version-of-5-mb",
    "Answers initialize with a protocolVersion of 5 MB.",
    _large("initialize", "protocolVersion", 5 * MB),
    statuses=(1, 3),
)
add("name-of-5-mb", "Answers initialize with a server name of 5 MB.", _large("initialize", "serverInfo.name", 5 * MB))
add(
    "instructions-of-20-mb",
    "Answers initialize with instructions of 20 MB.",
    _large("initialize", "instructions", 20 * MB),
)
add("tool-name-of-2-mb", "Lists a tool with a name of 2 MB.", _large("tools/list", "tools.0.name", 2 * MB))
add("uri-of-1-mb", "Lists a resource with a URI of 1 MB.", _large("resources/list", "resources.0.uri", MB))
add(
    "description-of-40-mb",
    "Lists a tool with a description of 40 MB.",
    _large("tools/list", "tools.0.description", 40 * MB),
)


add("blob-of-60-mb", "Reads a blob of 60 MB.", _large("resources/read", "contents.0.blob", 60 * MB))


@target()
def five_thousand_prompts(server: Server) -> None:
    """Lists 5000 prompts with descriptions of 2 kB on one page."""
    prompts = [{"name": f"greet-{number}", "description": "d" * 2000} for number in range(5000)]
    change(server, "prompts/list", "prompts", prompts)


@target()
def half_a_million_objects(server: Server) -> None:
    """Answers tools/call with 240 000 empty objects in _meta, which take much more as objects than as text."""
    change(server, "tools/call", "_meta", {"x": [{}] * 240_000})


@target()
def progress_of_1_mb(server: Server) -> None:
    """Tells the progress of each call a hundred times, with messages of 1 MB."""

    def tell(params: Message) -> None:
        token = params.get("_meta", {}).get("progressToken")
        for number in range(100 if token is not None else 0):
            told = {"progressToken": token, "progress": number, "total": 100, "message": "m" * MB}
            server.tell("notifications/progress", told)

    server.progress = tell


@target()
def pings_with_ids_of_1_mb(server: Server) -> None:
    """Pings with an id of 1 MB before each answer."""
    plain = server.send
    count = [0]

    def send(message: Message) -> None:
        count[0] += 1
        plain({"jsonrpc": "2.0", "id": f"{count[0]}-" + "i" * MB, "method": "ping"})
        plain(message)

    server.send = send


@target()
def error_of_20_mb(server: Server) -> None:
    """Refuses unknown methods with a message of 20 MB."""

    def edit(_request: Message, reply: Message) -> Message:
        if "error" in reply:
            reply["error"]["message"] = "x" * 20 * MB
        return reply

    server.edit = edit


@target()
def every_answer_of_3_mb(server: Server) -> None:
    """Has 3 MB of _meta in every result."""

    def edit(_request: Message, reply: Message) -> Message:
        if "result" in reply:
            reply["result"] = {**reply["result"], "_meta": {"x": "y" * 3 * MB}}
        return reply

    server.edit = edit


def _many(count: int) -> list[Message]:
    return [{**TOOLS[0], "name": f"echo-{number}"} for number in range(count)]


@target()
def ten_thousand_tools(server: Server) -> None:
    """Lists 10 000 tools on one page."""
    server.tools = _many(10_000)


@target()
def a_hundred_thousand_resources(server: Server) -> None:
    """Lists 100 000 resources on one page."""
    resources = [{"uri": f"note://{number}", "name": str(number)} for number in range(100_000)]
    change(server, "resources/list", "resources", resources)


@target()
def a_hundred_thousand_properties(server: Server) -> None:
    """Lists a tool with 100 000 optional arguments."""
    properties = {f"p{number}": {"type": "string"} for number in range(100_000)}
    change(server, "tools/list", "tools.0.inputSchema", {"type": "object", "properties": properties})


@target()
def a_hundred_thousand_blocks(server: Server) -> None:
    """Answers tools/call with 100 000 blocks of content."""
    change(server, "tools/call", "content", [{"type": "text", "text": "x"}] * 100_000)


@target()
def a_million_members(server: Server) -> None:
    """Answers ping with a million members in _meta."""
    members = ", ".join(f'"m{number}": 0' for number in range(1_000_000))
    change(server, "ping", "_meta", "members")
    server.text = lambda message: json.dumps(message).replace('"_meta": "members"', f'"_meta": {{{members}}}')


@target()
def a_hundred_thousand_completions(server: Server) -> None:
    """Completes with 100 000 values."""
    change(server, "completion/complete", "completion.values", ["x"] * 100_000)


def _pages(method: str, name: str, item: Callable[[int], Any], cursor: Callable[[int], Any]) -> Callable[..., None]:
    """Pages without end."""

    def play(server: Server) -> None:
        count = [0]

        def page(_params: Message) -> Message:
            count[0] += 1
            return {name: [item(count[0])], "nextCursor": cursor(count[0])}

        server.methods[method] = page

    return play


def _tool(number: int) -> Message:
    return {**TOOLS[0], "name": f"echo-{number}"}


def _note(number: int) -> Message:
    return {"uri": f"note://{number}", "name": str(number)}


add("pages-for-ever", "Lists tools on pages without end.", _pages("tools/list", "tools", _tool, str))
add(
    "same-cursor-for-ever",
    "Gives the same cursor with every page.",
    _pages("tools/list", "tools", _tool, lambda n: "again"),
)
add(
    "same-page-for-ever",
    "Gives the same page for ever.",
    _pages("resources/list", "resources", lambda n: _note(0), lambda n: "again"),
)
add(
    "two-cursors-for-ever",
    "Gives two cursors in turns for ever.",
    _pages("prompts/list", "prompts", lambda n: {"name": f"greet-{n}"}, lambda n: str(n % 2)),
)
add(
    "empty-pages-for-ever",
    "Gives an empty string as cursor of every page.",
    _pages(
        "resources/templates/list",
        "resourceTemplates",
        lambda n: {"uriTemplate": f"n{n}://{{x}}", "name": "n"},
        lambda n: "",
    ),
)
add(
    "pages-of-1-mb-for-ever",
    "Lists tools of 1 MB each on pages without end.",
    _pages("tools/list", "tools", lambda n: {**_tool(n), "description": "x" * MB}, str),
)
add(
    "cursors-of-1-mb",
    "Gives cursors of 1 MB for ever.",
    _pages("resources/list", "resources", _note, lambda n: f"{n}" + "c" * MB),
)


def _every_list(server: Server) -> None:
    _pages("tools/list", "tools", _tool, str)(server)
    _pages("resources/list", "resources", _note, str)(server)
    _pages("prompts/list", "prompts", lambda n: {"name": f"greet-{n}"}, str)(server)


add(
    "every-list-for-ever",
    "Lists tools, resources, templates and prompts on pages without end.",
    _every_list,
)


def _asking(make: Callable[[], Message]) -> Callable[[Server], None]:
    """Ask for input whenever a tool is called, of a client that can give it."""

    def play(server: Server) -> None:
        params = make()
        original = server.methods["tools/call"]

        def call(given: Message) -> Message:
            mode = params.get("mode", "form")
            can = server.client.get("elicitation")
            if isinstance(can, dict) and (mode in can or (mode == "form" and not can)):
                answer = server.ask("elicitation/create", params)
                if "error" in answer:
                    raise Refused(-32603, "the client gave an error")
            result: Message = original(given)
            return result

        server.methods["tools/call"] = call

    return play


def _form() -> Message:
    properties = {f"p{n}": {"type": "string", "title": "t" * 60} for n in range(30_000)}
    return {"message": "all of it", "requestedSchema": {"type": "object", "properties": properties}}


def _choice() -> Message:
    choices = [f"choice-{n}" for n in range(100_000)]
    properties = {"p": {"type": "string", "enum": choices}}
    return {"message": "one", "requestedSchema": {"type": "object", "properties": properties}}


def _at(url: str, times: int, end: str = "") -> Callable[[], Message]:
    return lambda: {
        "mode": "url",
        "message": "go",
        "url": "https://example.com/" + url * times + end,
        "elicitationId": "1",
    }


for _name, _what, _params in (
    ("form-of-3-mb", "for 30 000 strings", _form),
    ("form-with-100-000-choices", "for one of 100 000 choices", _choice),
    ("question-of-10-mb", "in 10 MB", lambda: {"message": "x" * 10 * MB, "requestedSchema": {"type": "object"}}),
    ("url-of-300-kb", "at a URL of 300 kB", _at("a", 300_000)),
    ("url-of-dots", "at a URL of 100 000 dots", _at("../", 100_000)),
    ("url-with-long-query", "with 75 000 parameters", _at("?a=b&", 75_000)),
    ("url-with-long-user", "at a URL with a name of 300 kB", _at("@", 300_000, "@example.com")),
):
    add(_name, f"Asks the user {_what} whenever a tool is called.", _asking(_params))

vary(
    "sizes",
    """
    tool-result-of-200-mb half-a-million-objects progress-of-1-mb
    every-answer-of-3-mb ten-thousand-tools a-hundred-thousand-properties
    a-million-members pages-for-ever pages-of-1-mb-for-ever every-list-for-ever form-of-3-mb url-of-300-kb
    url-with-long-query
    """,
)
