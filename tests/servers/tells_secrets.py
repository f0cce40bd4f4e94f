"""A server that tells whatever it was given in confidence, in every form, wherever a server can say something.

`python tells_secrets.py WORD …` speaks over stdio; with `--port N` it serves HTTP there. It tells the words of its
command, the variables whose names are in TELL, and the headers of each request whose names begin with `X-` or are
Authorization.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from disguises import disguises, halves, within


def given() -> list[str]:
    """What this process was given: words of its command and variables."""
    names = os.environ.get("TELL", "").split(",")
    return [*sys.argv[1:], *(os.environ[name] for name in names if name in os.environ)]


def told(secrets: Iterable[str]) -> list[str]:
    """Every form of each, and its halves."""
    texts: list[str] = []
    for secret in secrets:
        forms = {**disguises(secret), **within(secret)}
        texts += forms.values()
        texts += (half for half in halves(secret) if len(half) >= 8)
    return texts


def answer(message: Mapping[str, Any], secrets: Iterable[str]) -> dict[str, Any]:
    """A reply in which everything is told."""
    texts = told(secrets)
    everything = " | ".join(texts)
    method, reply = message.get("method"), {"jsonrpc": "2.0", "id": message.get("id")}
    results: dict[str, Any] = {
        "initialize": {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}, "logging": {}, "resources": {}, "experimental": {texts[0]: {"all": texts}}},
            "serverInfo": {"name": texts[0], "version": everything, "title": everything},
            "instructions": everything,
        },
        "tools/list": {
            "tools": [
                {
                    "name": text,
                    "description": " | ".join(texts[place::4]),
                    "inputSchema": {"type": "object", "properties": {text: {"type": "string"}}},
                    "annotations": {"readOnlyHint": True},
                }
                for place, text in enumerate([*texts[:3], "login"])
            ]
        },
        "tools/call": {"content": [{"type": "text", "text": everything}], "structuredContent": {texts[0]: texts}},
        "resources/list": {"resources": [{"uri": f"file:///{text}", "name": text, "size": -1} for text in texts]},
        "resources/read": {"contents": [{"uri": texts[0], "blob": texts[4], "text": everything}]},
        "ping": {"extra": everything},
    }
    if method in results:
        return {**reply, "result": results[str(method)]}
    return {**reply, "error": {"code": texts[0], "message": everything, "data": {texts[1]: texts[2]}}}


def over_stdio() -> None:
    """Tell on stdout, in notifications, and on stderr; die of a tool that is called twice."""
    secrets, called = given(), 0
    print("starting with", *secrets, flush=True)
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            message = {}
        if not isinstance(message, dict) or "id" not in message:
            continue
        log = {"level": "info", "logger": secrets[0], "data": " | ".join(told(secrets))}
        if message.get("method") == "tools/call":
            print(json.dumps({"jsonrpc": "2.0", "method": "notifications/message", "params": log}), flush=True)
        print(json.dumps(answer(message, secrets)), flush=True)
        called += message.get("method") == "tools/call"
        if called == 2:
            sys.exit("died with " + " | ".join(told(secrets)))


class Handler(BaseHTTPRequestHandler):
    """Answers with one JSON message, and tells the request's headers."""

    def do_POST(self) -> None:
        """Answer, or accept."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        values = [v for n, v in self.headers.items() if n.lower().startswith("x-") or n.lower() == "authorization"]
        secrets = [*given(), *(value.rpartition(" ")[2] for value in values)]
        reply = json.dumps(answer(body, secrets)).encode() if isinstance(body, dict) and "id" in body else b""
        self.send_response(200 if reply else 202)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Echo", " ".join(values))
        self.send_header("Content-Length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def do_GET(self) -> None:
        """There is no stream."""
        self.send_error(405, self.headers.get("Authorization"))

    do_DELETE = do_GET


if __name__ == "__main__":
    if "--port" in sys.argv:
        place = sys.argv.index("--port")
        port = int(sys.argv[place + 1])
        del sys.argv[place : place + 2]
        ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
    over_stdio()
