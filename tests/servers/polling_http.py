"""A correct server of 2025-11-25 that holds no connection while it works: clients come back for what tools return.

`python polling_http.py PORT [TIMES [RETRY [sessions]]]`: a client that comes back is sent away again so many times, for
RETRY milliseconds. With `sessions` it has those, and the stream of initialize is closed before the response as well.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from uuid import uuid4

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from servers.wrongly_blamed import Server

HERE = ("http://127.0.0.1", "http://localhost")
REVISION = "2025-11-25"


class Answering(Server):
    """The small correct server, in one revision."""

    def greeting(self, params: dict[str, Any]) -> dict[str, Any]:
        """That revision."""
        return {**super().greeting(params), "protocolVersion": REVISION}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"
    times = 0
    retry = "10"
    sessions: set[str] | None = None
    later: dict[str, dict[str, Any]] = {}  # noqa: RUF012
    """The id of the last event of a stream → the response that is still to come."""

    def log_message(self, *args: Any) -> None:
        """Nothing."""

    def refuse(self, status: int) -> None:
        """Without a word."""
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def local(self) -> bool:
        """Whether a page of this machine asks, or none."""
        origin = self.headers.get("Origin")
        return origin is None or origin.rpartition(":")[0] in HERE

    def stream(self, *events: str, **more: str) -> None:
        """A stream of these events, with more headers, then the connection is over."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        for name, value in more.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write("".join(f"{event}\n\n" for event in events).encode())
        self.close_connection = True

    def do_POST(self) -> None:
        """A message."""
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = Answering(Path())
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            return self.refuse(400)
        if not self.local():
            return self.refuse(403)
        if self.headers.get("MCP-Protocol-Version", REVISION) != REVISION or not isinstance(message, dict):
            return self.refuse(400)
        if not server.is_request(message):
            return self.refuse(202 if message.keys() & {"result", "error"} else 400)
        if message["method"] != "initialize" and self.strange():
            return self.refuse(self.strange())
        if "id" not in message:
            return self.refuse(202)
        response = {"jsonrpc": "2.0", "id": message["id"], **server.answer(message)}
        if message["method"] == "initialize" and self.sessions is not None:
            name = f"session-{uuid4().hex}"
            self.sessions.add(name)
            return self.away(response, 0, **{"Mcp-Session-Id": name})
        if message["method"] != "tools/call":
            return self.stream(f"id: {time.monotonic_ns()}\ndata:", f"data: {json.dumps(response)}")
        return self.away(response, 0)

    def strange(self) -> int:
        """The status that refuses a request of no session, 0 if it is of one."""
        name = self.headers.get("Mcp-Session-Id")
        if self.sessions is None or name in self.sessions:
            return 0
        return 400 if name is None else 404

    def away(self, response: dict[str, Any], count: int, **more: str) -> None:
        """Send the client away."""
        identifier = f"{time.monotonic_ns()}-{count}"
        self.later[identifier] = response
        self.stream(f"id: {identifier}\nretry: {self.retry}\ndata:", **more)

    def do_GET(self) -> None:
        """The rest of a stream."""
        last = self.headers.get("Last-Event-ID", "")
        if not self.local():
            return self.refuse(403)
        if self.strange():
            return self.refuse(self.strange())
        if last not in self.later:
            return self.refuse(400 if last else 405)
        count = int(last.rpartition("-")[2])
        if count < self.times:
            return self.away(self.later[last], count + 1)
        return self.stream(f"data: {json.dumps(self.later[last])}")

    def do_DELETE(self) -> None:
        """End a session, if there are any."""
        if not self.local():
            return self.refuse(403)
        if self.sessions is None or self.strange():
            return self.refuse(self.strange() or 405)
        self.sessions.discard(self.headers["Mcp-Session-Id"])
        return self.refuse(200)


if __name__ == "__main__":
    Handler.times = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    Handler.retry = sys.argv[3] if len(sys.argv) > 3 else Handler.retry
    Handler.sessions = set() if "sessions" in sys.argv else None
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
