"""A server over HTTP that takes 20 ms for an answer and refuses what is above a number in flight with a status.

limited.py PORT STATUS NUMBER
"""

from __future__ import annotations

import json
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PORT, STATUS, NUMBER = map(int, sys.argv[1:])
room = threading.Semaphore(NUMBER)
INFO = {"name": "limited", "version": "1"}
TOOL = {"name": "echo", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
RESULTS: dict[str, Any] = {
    "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO},
    "ping": {},
    "tools/list": {"tools": [TOOL]},
    "tools/call": {"content": [{"type": "text", "text": "hello"}]},
}


class Handler(BaseHTTPRequestHandler):
    """Answers requests, and knows no stream and no session."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1
    """Head and body go together, or the second waits 40 ms for the acknowledgement of the first."""

    def do_POST(self) -> None:
        """Answer one message."""
        message = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if "id" not in message:
            self._answer(202, b"")
        elif not room.acquire(blocking=False):
            self._answer(STATUS, b"" if STATUS == 429 else b"overloaded")
        else:
            time.sleep(0.02)
            result = RESULTS.get(message["method"])
            said = {"result": result} if result is not None else {"error": {"code": -32601, "message": "unknown"}}
            room.release()
            self._answer(200, json.dumps({"jsonrpc": "2.0", "id": message["id"], **said}).encode())

    def do_GET(self) -> None:
        """There is no stream."""
        self._answer(405, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        if body:
            self.send_header("Content-Type", "application/json" if status == 200 else "text/plain")
        if status != 200:
            self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Server(ThreadingHTTPServer):
    """Takes many connections at once."""

    request_queue_size = 128
    daemon_threads = True


Server(("127.0.0.1", PORT), Handler).serve_forever()
