"""Targets that make whoever tests them work, wait or remember: by the number of things more than by one of them."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time

from hostile import bounds
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

SLOW = "^(a+)+$"
SLOW_ONLY: Any = {"statuses": (0, 3)}
"""A server that answers everything, one after another, breaks nothing."""
ESCAPES = "\x1b[2J\x1b]0;title\x07\x1b[31m\u202e\x00\r\b"
PATHS = ("../../x", "/etc/passwd", "-rf", "$(id)", "a;b", "..\\x", "CON", "~", ".", "a\tb", "%2e%2e%2f", "'\"<&>")


def _meta(server: Server, value: Callable[[], Any]) -> None:
    """Have something in the _meta of every result."""

    def edit(_request: Message, reply: Message) -> Message:
        if isinstance(reply.get("result"), dict):
            reply["result"]["_meta"] = value()
        return reply

    server.edit = edit


def _waiting(seconds: Callable[[Server], float]) -> Callable[[Server], None]:
    """Answer each request but the first after so many seconds."""

    def play(server: Server) -> None:
        plain = server.line

        def take(line: bytes) -> None:
            if server.heard and b'"id"' in line:
                time.sleep(seconds(server))
            plain(line)

        server.take = take

    return play


def _tool(name: str, **schema: Any) -> Message:
    return {"name": name, "inputSchema": {"type": "object", **schema}, "annotations": {"readOnlyHint": True}}


# -- time

add("answers-after-most-of-the-patience", "Takes 1.8 s for each answer.", _waiting(lambda _: 1.8), **SLOW_ONLY)
add("slower-with-each-request", "Takes 10 ms more for each answer.", _waiting(lambda s: s.heard * 0.01), **SLOW_ONLY)
add(
    "slow-after-thirty-requests",
    "Takes 1.5 s, once it has heard 30.",
    _waiting(lambda s: 1.5 * (s.heard > 30)),
    **SLOW_ONLY,
)


@target()
def writes_answers_in_drips(server: Server) -> None:
    """Writes each answer in eight parts, a twentieth of a second apart."""
    plain = server.write

    def write(data: bytes) -> None:
        part = len(data) // 8 + 1
        for start in range(0, len(data), part):
            plain(data[start : start + part])
            time.sleep(0.05)

    server.write = write


@target()
def progress_and_no_end(server: Server) -> None:
    """Tells progress twenty times a second for each call, which never returns."""

    def call(params: Message) -> Any:
        token = params.get("_meta", {}).get("progressToken", "none")
        step = 0
        while True:
            step += 1
            server.tell("notifications/progress", {"progressToken": token, "progress": step})
            time.sleep(0.05)

    server.methods["tools/call"] = call


@target()
def busy_and_silent_for_good(server: Server) -> None:
    """Logs twenty times a second that it is at work on tools/list, which it never answers."""

    def working(_params: Message) -> Any:
        while True:
            server.tell("notifications/message", {"level": "info", "data": "still at work"})
            time.sleep(0.05)

    server.methods["tools/list"] = working


@target()
def pings_before_each_answer(server: Server) -> None:
    """Pings and waits for the answer before it answers a request."""

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] != "initialize":
            server.ask("ping", {})
        return reply

    server.edit = edit


@target()
def asks_one_thing_after_another(server: Server) -> None:
    """Asks for roots, sampling and elicitation in turns as long as it is answered, and never returns from a call."""
    sampling = {"messages": [{"role": "user", "content": {"type": "text", "text": "x"}}], "maxTokens": 1}
    form = {"message": "m", "requestedSchema": {"type": "object", "properties": {}}}

    def call(_params: Message) -> Any:
        while True:
            for method, params in (
                ("roots/list", {}),
                ("sampling/createMessage", sampling),
                ("elicitation/create", form),
            ):
                server.ask(method, params)

    server.methods["tools/call"] = call


# -- many things


@target()
def five_hundred_slow_patterns(server: Server) -> None:
    """Lists 500 tools, each of which admits and promises text of a pattern that takes for ever to try."""
    slow = {"properties": {"text": {"type": "string", "pattern": SLOW}}, "required": ["text"]}
    promised = {"type": "object", "properties": {"text": {"type": "string", "pattern": SLOW}}}
    server.tools = [{**_tool(f"t{n}", **slow), "outputSchema": promised} for n in range(500)]
    text = "a" * 50 + "!"
    server.methods["tools/call"] = lambda _: {
        "content": [{"type": "text", "text": json.dumps({"text": text})}],
        "structuredContent": {"text": text},
    }


@target()
def three_hundred_slow_tools(server: Server) -> None:
    """Lists 300 tools, each of which takes a second."""
    server.tools = [_tool(f"t{n}") for n in range(300)]

    def call(_params: Message) -> Any:
        time.sleep(1)
        return {"content": []}

    server.methods["tools/call"] = call


@target()
def two_hundred_tools_that_hang(server: Server) -> None:
    """Lists 200 tools, and answers no call of any."""
    server.tools = [_tool(f"t{n}") for n in range(200)]
    server.edit = lambda request, reply: None if request["method"] == "tools/call" else reply


@target()
def two_thousand_failing_prompts(server: Server) -> None:
    """Lists 2000 prompts with arguments, each of which fails in another way."""
    prompts = [{"name": f"p{n}", "arguments": [{"name": "a", "required": True}]} for n in range(2000)]
    server.methods["prompts/list"] = lambda params: server.page(params, "prompts", prompts)

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] != "prompts/get":
            return reply
        error = {"code": -32000 - server.heard % 99, "message": f"number {server.heard}"}
        return {"jsonrpc": "2.0", "id": reply["id"], "error": error}

    server.edit = edit


@target()
def a_thousand_slow_resources(server: Server) -> None:
    """Lists 1000 resources, each of which takes 0.3 s to read."""
    resources = [{"uri": f"note://{n}", "name": str(n)} for n in range(1000)]
    server.methods["resources/list"] = lambda params: server.page(params, "resources", resources)

    def read(params: Message) -> Any:
        time.sleep(0.3)
        return {"contents": [{"uri": params.get("uri"), "text": "x"}]}

    server.methods["resources/read"] = read


@target()
def a_thousand_messages_before_each_answer(server: Server) -> None:
    """Logs 1000 messages before each answer."""

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] != "initialize":
            line = json.dumps(
                {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": 1}}
            )
            server.write((line + "\n").encode() * 1000)
        return reply

    server.edit = edit


@target()
def another_error_each_time(server: Server) -> None:
    """Answers everything but initialize with an error of another code and message each time."""

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] == "initialize":
            return reply
        return {"jsonrpc": "2.0", "id": reply["id"], "error": {"code": server.heard, "message": str(os.urandom(8))}}

    server.edit = edit


# -- size


@target()
def every_answer_deep_and_large(server: Server) -> None:
    """Has 5 MB, and 400 levels, in the _meta of every result."""
    deep: Any = {"x": "y" * 5_000_000}
    for _ in range(400):
        deep = {"a": deep}
    _meta(server, lambda: deep)


@target()
def a_hundred_thousand_times_the_same_member(server: Server) -> None:
    """Writes the member _meta of every result 100 000 times."""
    _meta(server, lambda: {"a": 1})
    plain = server.text
    server.text = lambda message: plain(message).replace('"_meta": {"a": 1}', '"_meta": {"a": 1},' * 100_000 + '"z": 1')


@target()
def id_and_result_written_twice(server: Server) -> None:
    """Writes id, result and jsonrpc twice in each response, the second time with other values."""
    plain = server.text
    server.text = lambda message: plain(message)[:-1] + ', "jsonrpc": "2.0", "id": -7, "result": []}'


@target()
def numbers_of_a_megabyte(server: Server) -> None:
    """Has a number of a million digits in every result."""
    server.here = "9" * 1_000_000
    _meta(server, lambda: {"n": "@here@"})


@target()
def ten_megabytes_of_blanks(server: Server) -> None:
    """Writes 10 MB of blanks inside each message."""
    plain = server.text
    server.text = lambda message: plain(message).replace(" ", " " * 1_000_000, 10)


@target()
def ten_megabytes_of_escapes(server: Server) -> None:
    """Writes the text of tools as 10 MB of escapes, one each character."""
    server.here = '"' + "\\u0041" * 1_700_000 + '"'
    server.methods["tools/call"] = lambda _: {"content": [{"type": "text", "text": "@here@"}]}


@target()
def ten_thousand_icons(server: Server) -> None:
    """Has 10 000 icons at each tool."""
    icons = [{"src": f"https://example.com/{n}.png", "sizes": ["48x48"]} for n in range(10_000)]
    server.tools = [{**tool, "icons": icons} for tool in server.tools]


@target()
def error_data_of_5_mb(server: Server) -> None:
    """Has 5 MB of data in every error."""

    def edit(_request: Message, reply: Message) -> Message:
        if "error" in reply:
            reply["error"]["data"] = {"x": "y" * 5_000_000}
        return reply

    server.edit = edit


# -- processes


@target()
def ends_with_output_pending(server: Server) -> None:
    """Begins an answer of 4 MB to each call, and is gone before it is read."""

    def call(_params: Message) -> Any:
        os.set_blocking(1, False)
        with contextlib.suppress(OSError):
            os.write(1, b'{"jsonrpc": "2.0", "id": 1, "result": {"content": "' + b"x" * 4_000_000)
        os._exit(0)

    server.methods["tools/call"] = call


@target()
def a_traceback_of_20_mb_at_the_end(server: Server) -> None:
    """Ends with status 1 and 20 MB on stderr when its input has ended."""

    def end() -> None:
        sys.stderr.write('  File "x.py", line 1, in f\n' * 700_000)
        sys.stderr.flush()
        os._exit(1)

    server.after["end"] = end


@target()
def writes_100_mb_at_sigterm(server: Server) -> None:
    """Stays when its input has ended, and writes 100 MB to stdout and stderr when it gets a SIGTERM."""

    def write(*_: Any) -> None:
        for _each in range(50):
            server.write(b"x" * 1_000_000)
            sys.stderr.write("x" * 1_000_000)
        os._exit(0)

    signal.signal(signal.SIGTERM, write)
    server.after["end"] = bounds.wait


@target()
def a_new_child_holds_stdout(server: Server) -> None:
    """Has each of its first calls answered by a child that never ends."""
    started = [0]

    def call(_params: Message) -> Any:
        if started[0] < bounds.MOST_CHILDREN:
            started[0] += 1
            if os.fork() == 0:
                bounds.keep(bounds.DAEMON_LIFE, alone=True)
                number = server.asked.get("id")
                server.send({"jsonrpc": "2.0", "id": number, "result": {"content": []}})
                bounds.wait()
            server.asked = {}
        return {"content": []}

    def edit(request: Message, reply: Message) -> Any:
        return None if request["method"] == "tools/call" and not server.asked else reply

    server.methods["tools/call"] = call
    server.edit = edit


# -- bytes and texts


@target()
def escapes_in_all_texts(server: Server) -> None:
    """Has escape sequences, NUL and marks of direction in every text that it says."""

    def each(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: each(one) for name, one in value.items()}
        if isinstance(value, list):
            return [each(one) for one in value]
        return value + ESCAPES if isinstance(value, str) else value

    def edit(request: Message, reply: Message) -> Message:
        body = {name: each(value) for name, value in reply.items() if name in ("result", "error")}
        if request["method"] == "initialize":
            body["result"]["protocolVersion"] = reply["result"]["protocolVersion"]
        return {**reply, **body}

    server.edit = edit


@target()
def names_like_paths(server: Server) -> None:
    """Names tools, prompts and resources like paths, options and commands."""
    server.tools = [_tool(name) for name in PATHS]
    server.methods["tools/call"] = lambda params: {"content": [{"type": "text", "text": str(params.get("name"))}]}
    prompts = [{"name": name} for name in PATHS]
    resources = [{"uri": f"file:///{name}", "name": name} for name in PATHS]
    server.methods["prompts/list"] = lambda params: server.page(params, "prompts", prompts)
    server.methods["resources/list"] = lambda params: server.page(params, "resources", resources)


vary("burdens", "another-error-each-time names-like-paths")
