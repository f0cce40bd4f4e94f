"""MCP servers over HTTP that lose a session, or themselves, in the middle: `forgetful_http.py PORT MODE [N]`.

Standard library only. N is the request that is the last to be served, counted over all sessions of the process without
initialize; modes without a number do it each time.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT, MODE = int(sys.argv[1]), sys.argv[2]
LAST = int(sys.argv[3]) if len(sys.argv) > 3 else 10**9

lock = threading.Lock()
sessions: set[str] = set()
served = 0
ended = 0

NOT_FOUND = {
    "404": (404, "Session not found"),
    "404-own-id": (404, "Session not found"),
    "404-once": (404, "Session not found"),
    "400": (400, "Bad Request: No valid session ID provided"),
    "after-error": (404, "Session not found"),
    "after-malformed": (404, "Session not found"),
    "after-notification": (404, "Session not found"),
    "401": (401, "Unauthorized"),
    "403": (403, "Forbidden"),
    "503": (503, "Service Unavailable"),
    "html-404": (404, "<h1>Not Found</h1>"),
}


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_DELETE(self) -> None:
        """End the session."""
        sessions.discard(self.headers.get("Mcp-Session-Id", ""))
        self.reply(200)

    def do_GET(self) -> None:
        """There is no stream."""
        self.reply(405)

    def do_HEAD(self) -> None:
        """Somebody asks whether we listen."""
        self.reply(404)

    def do_POST(self) -> None:
        """A message."""
        global served
        data = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        name = self.headers.get("Mcp-Session-Id", "")
        try:
            message = json.loads(data)
        except ValueError:
            message = None
        if isinstance(message, dict) and message.get("method") == "initialize":
            self.initialize(message)
            return
        if name not in sessions:
            self.refuse(message)
            return
        if (
            not isinstance(message, dict)
            or message.get("jsonrpc") != "2.0"
            or not isinstance(message.get("method"), str)
        ):
            if MODE == "after-malformed":
                sessions.discard(name)
            self.reply(400, {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}})
            return
        if "id" not in message:
            if MODE == "after-notification" and message["method"] != "notifications/initialized":
                sessions.discard(name)
            self.reply(202)
            return
        with lock:
            served += 1
            number = served
        if number > LAST:
            self.lose(message, name)
            return
        if MODE == "new-each":
            self.replace(message, name)
            return
        response = answer(message)
        if MODE == "after-error" and "error" in response:
            sessions.discard(name)
        self.reply(200, response)

    def initialize(self, message: dict[str, Any]) -> None:
        """A new session."""
        name = uuid.uuid4().hex
        if served > LAST and MODE in ("401", "403", "503"):
            self.refuse(message)
            return
        sessions.add(name)
        result = {
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "forgetful", "version": "1"},
        }
        self.reply(200, {"jsonrpc": "2.0", "id": message.get("id"), "result": result}, name)

    def replace(self, message: dict[str, Any], name: str) -> None:
        """Answer, and go on under another id: whoever still uses the old one has lost the session."""
        new = uuid.uuid4().hex
        with lock:
            known = name in sessions
            sessions.discard(name)
            sessions.add(new)
        if known:
            self.reply(200, answer(message), new)
        else:
            self.refuse(message)

    def lose(self, message: dict[str, Any], name: str) -> None:
        """What happens to the request that is one too many."""
        global ended
        if MODE == "exit":
            os._exit(3)
        elif MODE == "exit-quietly-first":
            self.reply(200, answer(message))
            self.wfile.flush()
            os._exit(3)
        elif MODE == "refuse":
            assert isinstance(self.server, Server)
            self.server.socket.close()
            self.close_connection = True
            threading.Thread(target=time.sleep, args=(600,)).start()
            self.server.shutdown()
        elif MODE == "reset":
            self.break_off(b"")
        elif MODE == "reset-in-stream":
            self.break_off(b'HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: {"jsonrpc": "2.0", ')
        elif MODE == "404-once":
            ended += 1
            if ended > 1:
                self.reply(200, answer(message))
                return
            sessions.discard(name)
            self.refuse(message)
        elif MODE == "close-idle":
            self.reply(200, answer(message))
            self.close_connection = True
        else:
            sessions.discard(name)
            self.refuse(message)

    def break_off(self, begun: bytes) -> None:
        """Reset the connection after `begun`."""
        self.wfile.write(begun)
        self.wfile.flush()
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close_connection = True
        self.connection.close()

    def refuse(self, message: Any) -> None:
        """The session is not known."""
        status, text = NOT_FOUND.get(MODE, (404, "Session not found"))
        if MODE == "html-404":
            self.reply(status, text)
            return
        identifier = message.get("id") if MODE == "404-own-id" and isinstance(message, dict) else None
        error = {"code": -32001, "message": text}
        self.reply(status, {"jsonrpc": "2.0", "id": identifier, "error": error})

    def reply(self, status: int, body: Any = None, session: str = "") -> None:
        """A whole answer."""
        kind = "text/html" if isinstance(body, str) else "application/json"
        data = b"" if body is None else body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        if session:
            self.send_header("Mcp-Session-Id", session)
        if data:
            self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Stay quiet."""


def answer(message: dict[str, Any]) -> dict[str, Any]:
    """The response to a request: a server with one tool that is harmless."""
    identifier, method = message["id"], message["method"]
    given = message.get("params")
    params: dict[str, Any] = given if isinstance(given, dict) else {}
    if method == "ping":
        result: Any = {}
    elif method == "tools/list":
        schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}
        tool = {"name": "echo", "description": "Echo.", "inputSchema": schema, "annotations": {"readOnlyHint": True}}
        result = {"tools": [tool]}
    elif method == "tools/call" and params.get("name") == "echo":
        arguments = params.get("arguments")
        text = arguments.get("text") if isinstance(arguments, dict) else None
        result = {"content": [{"type": "text", "text": str(text)}], "isError": not isinstance(text, str)}
    else:
        code, why = (-32602, "Unknown tool") if method == "tools/call" else (-32601, "Method not found")
        return {"jsonrpc": "2.0", "id": identifier, "error": {"code": code, "message": why}}
    return {"jsonrpc": "2.0", "id": identifier, "result": result}


class Server(ThreadingHTTPServer):
    """The listening socket."""

    daemon_threads = True
    allow_reuse_address = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no trouble."""


if __name__ == "__main__":
    Server(("127.0.0.1", PORT), Handler).serve_forever(poll_interval=0.05)
