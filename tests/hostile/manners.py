"""Servers with bad manners, most of them without features: what tests of single sentences ask for by name."""

from __future__ import annotations

import json
import os
import signal
import sys
import time

from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Server
    from hostile.registry import Play

STYLE: dict[str, Any] = {"indent": None, "header": False, "stdout": None, "end": "\n"}
"""How messages are written: with indentation, in the framing of another protocol, into a buffer that nobody flushes."""


def say(message: Any) -> None:
    """Write one message."""
    text = json.dumps(message, indent=STYLE["indent"]) + STYLE["end"]
    if STYLE["header"]:
        text = f"Content-Length: {len(text.rstrip())}\r\n\r\n{text.rstrip()}"
    if STYLE["stdout"] is not None:
        STYLE["stdout"].write(text)
        return
    sys.stdout.write(text)
    sys.stdout.flush()


def answer(message: dict[str, Any]) -> None:
    """A tiny server without features, correct in the revision 2025-11-25 and before."""
    if "id" not in message:
        return
    reply: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    if message.get("method") == "initialize":
        wanted = message["params"]["protocolVersion"]
        known = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
        reply["result"] = {
            "protocolVersion": wanted if wanted in known else known[-1],
            "capabilities": {},
            "serverInfo": {"name": "bad manners", "version": "1"},
        }
    elif message.get("method") == "ping":
        reply["result"] = {}
    else:
        reply["error"] = {"code": -32601, "message": "Method not found"}
    say(reply)


def serve(limit: int = 10**9) -> None:
    """Answer `limit` requests."""
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and isinstance(message.get("params", {}), dict) and "jsonrpc" in message:
            answer(message)
            limit -= 1
            if limit <= 0:
                return


@target(whole=True)
def banner(_server: Server) -> None:
    """Print a greeting, then serve."""
    print("Welcome to my server!", flush=True)
    serve()


@target(whole=True)
def silent(_server: Server) -> None:
    """Read and never answer."""
    sys.stdin.read()


@target(whole=True)
def slow(_server: Server) -> None:
    """Take three seconds to start."""
    time.sleep(3)
    serve()


@target(whole=True)
def content_length(_server: Server) -> None:
    """Frame messages as the Language Server Protocol does."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while header := source.readline():
        if header.lower().startswith(b"content-length:"):
            source.readline()
            message = json.loads(source.read(int(header.split(b":")[1])))
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": {}}).encode()
            sink.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            sink.flush()


@target(whole=True)
def lsp_answers(_server: Server) -> None:
    """Read lines, but answer as the Language Server Protocol does, in headers and a body without newline."""
    STYLE["header"] = True
    serve()


@target(whole=True)
def no_newline(_server: Server) -> None:
    """Answer without a newline after the message."""
    STYLE["end"] = ""
    serve()


@target(whole=True)
def pretty(_server: Server) -> None:
    """Answer with indentation."""
    STYLE["indent"] = 2
    serve()


@target(whole=True)
def buffered(_server: Server) -> None:
    """Never flush stdout."""
    STYLE["stdout"] = os.fdopen(1, "w")
    serve()


@target(whole=True)
def starts_slowly(_server: Server) -> None:
    """Begin to read long after a short limit for the start, as the first start of a package does."""
    time.sleep(4)
    serve()


@target(whole=True)
def stderr_flood(_server: Server) -> None:
    """Write five megabytes to stderr before serving."""
    sys.stderr.write("noise " * 900_000)
    serve()


@target(whole=True)
def stdout_flood(_server: Server) -> None:
    """Write lines to stdout for ever."""
    while True:
        print("noise noise noise noise")


@target(whole=True)
def half_line(_server: Server) -> None:
    """Begin an answer and stop."""
    sys.stdin.readline()
    sys.stdout.write('{"jsonrpc": "2.0", "id":')
    sys.stdout.flush()
    sys.stdin.read()


def _writing(encode: Callable[[Any], bytes]) -> Play:
    """Write each message so, with a newline after it."""

    def play(server: Server) -> None:
        server.send = lambda message: server.write(encode(message) + b"\n")

    return play


BROKEN = "what came is no JSON: "
add(
    "python-repr",
    "Writes messages as Python shows them.",
    _writing(lambda m: repr(m).encode()),
    says=BROKEN,
    statuses=(1,),
)
add(
    "twice-on-a-line",
    "Writes each message twice in its line.",
    _writing(lambda m: 2 * json.dumps(m).encode()),
    says=BROKEN,
    statuses=(1,),
)


@target(whole=True)
def long_line(_server: Server) -> None:
    """Write a line of 200 MB, then serve."""
    for _ in range(200):
        sys.stdout.write("x" * 1_000_000)
    sys.stdout.write("\n")
    serve()


@target(whole=True)
def garbage(_server: Server) -> None:
    """Write bytes that are nothing, then serve."""
    sys.stdout.buffer.write(bytes(range(256)) + b"\n")
    sys.stdout.flush()
    serve()


@target(whole=True)
def stubborn(_server: Server) -> None:
    """Ignore the end of input and SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    while True:
        time.sleep(60)


@target(whole=True)
def lingers(_server: Server) -> None:
    """Stay after the end of input: the first server of a run with a session for good, the others for two seconds."""
    opened = False
    for line in filter(str.strip, sys.stdin):
        message = json.loads(line)
        opened = opened or message["method"] == "notifications/initialized"
        answer(message)
    from pathlib import Path

    if opened and not Path("lingered").exists():
        Path("lingered").touch()
        time.sleep(600)
    time.sleep(2)


def offer(tools: list[dict[str, Any]], call: Callable[[], dict[str, Any]]) -> None:
    """Serve tools that change nothing and do what `call` does."""
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("method") == "initialize":
            info = {"name": "bad manners", "version": "1"}
            version = message["params"]["protocolVersion"]
            result: Any = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        elif message.get("method") == "tools/list":
            result = {"tools": [{**tool, "annotations": {"readOnlyHint": True}} for tool in tools]}
        elif message.get("method") == "tools/call":
            result = call()
        else:
            answer(message)
            continue
        say({"jsonrpc": "2.0", "id": message["id"], "result": result})


@target(whole=True)
def asks_meanwhile(_server: Server) -> None:
    """Take 0.8 s for a tool, while the server asks for the roots by itself, once."""
    asked: list[bool] = []

    def call() -> dict[str, Any]:
        if not asked:
            say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        asked.append(True)
        time.sleep(0.8)
        return {"content": []}

    offer([{"name": "slow", "inputSchema": {"type": "object"}}], call)


@target(whole=True, words=("-", "http://127.0.0.1:9/schema.json"))
def elsewhere(_server: Server) -> None:
    """Offer tools whose schemas refer to a place on the web, the second word after the mode."""
    url = sys.argv[3]
    plain = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    refers, dialect = {**plain, "properties": {"a": {"$ref": url}}}, {**plain, "$schema": url}
    pairs = ((refers, plain), (dialect, plain), (plain, refers), (plain, dialect))
    tools = [{"name": f"tool-{n}", "inputSchema": i, "outputSchema": o} for n, (i, o) in enumerate(pairs)]
    text = {"type": "text", "text": '{"a": "b"}'}
    offer(tools, lambda: {"content": [text], "structuredContent": {"a": "b"}})


@target(whole=True)
def forks(_server: Server) -> None:
    """Leave a grandchild behind."""
    import subprocess

    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *sys.argv[2:]])
    serve()


@target(whole=True)
def dies(_server: Server) -> None:
    """Die in the middle."""
    serve(12)
    os._exit(7)


@target(whole=True)
def traceback(_server: Server) -> None:
    """Fail on import."""
    raise RuntimeError("no configuration found")


@target(whole=True, transport="http", statuses=(3,), says="text/html")
def html(_server: Server) -> None:
    """A web server that is no MCP server."""
    from hostile.web import serve_page

    serve_page(int(sys.argv[2]))


vary(
    "manners",
    """
    silent long-line html
    """,
)
