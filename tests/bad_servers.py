"""Servers with bad manners, one for each way to start this file: `python bad_servers.py MODE [PORT]`."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

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


def banner() -> None:
    """Print a greeting, then serve."""
    print("Welcome to my server!", flush=True)
    serve()


def silent() -> None:
    """Read and never answer."""
    sys.stdin.read()


def slow() -> None:
    """Take three seconds to start."""
    time.sleep(3)
    serve()


def content_length() -> None:
    """Frame messages as the Language Server Protocol does."""
    source, sink = sys.stdin.buffer, sys.stdout.buffer
    while header := source.readline():
        if header.lower().startswith(b"content-length:"):
            source.readline()
            message = json.loads(source.read(int(header.split(b":")[1])))
            body = json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": {}}).encode()
            sink.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            sink.flush()


def lsp_answers() -> None:
    """Read lines, but answer as the Language Server Protocol does, in headers and a body without newline."""
    STYLE["header"] = True
    serve()


def no_newline() -> None:
    """Answer without a newline after the message."""
    STYLE["end"] = ""
    serve()


def pretty() -> None:
    """Answer with indentation."""
    STYLE["indent"] = 2
    serve()


def buffered() -> None:
    """Never flush stdout."""
    STYLE["stdout"] = os.fdopen(1, "w")
    serve()


def starts_slowly() -> None:
    """Begin to read long after a short limit for the start, as the first start of a package does."""
    time.sleep(4)
    serve()


def stderr_flood() -> None:
    """Write five megabytes to stderr before serving."""
    sys.stderr.write("noise " * 900_000)
    serve()


def stdout_flood() -> None:
    """Write lines to stdout for ever."""
    while True:
        print("noise noise noise noise")


def half_line() -> None:
    """Begin an answer and stop."""
    sys.stdin.readline()
    sys.stdout.write('{"jsonrpc": "2.0", "id":')
    sys.stdout.flush()
    sys.stdin.read()


def long_line() -> None:
    """Write a line of 200 MB, then serve."""
    for _ in range(200):
        sys.stdout.write("x" * 1_000_000)
    sys.stdout.write("\n")
    serve()


def garbage() -> None:
    """Write bytes that are nothing, then serve."""
    sys.stdout.buffer.write(bytes(range(256)) + b"\n")
    sys.stdout.flush()
    serve()


def stubborn() -> None:
    """Ignore the end of input and SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    serve()
    while True:
        time.sleep(60)


def lingers() -> None:
    """Stay after the end of input: the first server of a run with a session for good, the others for two seconds."""
    opened = False
    for line in sys.stdin:
        message = json.loads(line)
        opened = opened or message["method"] == "notifications/initialized"
        answer(message)
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


def asks_meanwhile() -> None:
    """Take 0.8 s for a tool, while the server asks for the roots by itself, once."""
    asked: list[bool] = []

    def call() -> dict[str, Any]:
        if not asked:
            say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        asked.append(True)
        time.sleep(0.8)
        return {"content": []}

    offer([{"name": "slow", "inputSchema": {"type": "object"}}], call)


def elsewhere() -> None:
    """Offer tools whose schemas refer to a place on the web, the second word after the mode."""
    url = sys.argv[3]
    plain = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
    refers, dialect = {**plain, "properties": {"a": {"$ref": url}}}, {**plain, "$schema": url}
    pairs = ((refers, plain), (dialect, plain), (plain, refers), (plain, dialect))
    tools = [{"name": f"tool-{n}", "inputSchema": i, "outputSchema": o} for n, (i, o) in enumerate(pairs)]
    text = {"type": "text", "text": '{"a": "b"}'}
    offer(tools, lambda: {"content": [text], "structuredContent": {"a": "b"}})


def forks() -> None:
    """Leave a grandchild behind."""
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)", *sys.argv[2:]])
    serve()


def dies() -> None:
    """Die in the middle."""
    serve(12)
    os._exit(7)


def traceback() -> None:
    """Fail on import."""
    raise RuntimeError("no configuration found")


class Page(BaseHTTPRequestHandler):
    """Answers everything with a page of HTML."""

    def do_POST(self) -> None:
        """The same for every request."""
        body = b"<html><body>Hello</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def html() -> None:
    """A web server that is no MCP server."""
    HTTPServer(("127.0.0.1", int(sys.argv[2])), Page).serve_forever()


if __name__ == "__main__":
    globals()[sys.argv[1].replace("-", "_")]()
