"""A correct server of 2025-11-25 that holds no connection while it works: clients come back for what tools return.

`python polling_http.py PORT [TIMES [RETRY]]`: a client that comes back is sent away again so many times, for RETRY
milliseconds.
"""

from __future__ import annotations

import json
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

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

    def stream(self, *events: str) -> None:
        """A stream of these events, then the connection is over."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
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
        if "id" not in message:
            return self.refuse(202)
        response = {"jsonrpc": "2.0", "id": message["id"], **server.answer(message)}
        if message["method"] != "tools/call":
            return self.stream(f"id: {time.monotonic_ns()}\ndata:", f"data: {json.dumps(response)}")
        return self.away(response, 0)

    def away(self, response: dict[str, Any], count: int) -> None:
        """Send the client away."""
        identifier = f"{time.monotonic_ns()}-{count}"
        self.later[identifier] = response
        self.stream(f"id: {identifier}\nretry: {self.retry}\ndata:")

    def do_GET(self) -> None:
        """The rest of a stream."""
        last = self.headers.get("Last-Event-ID", "")
        if not self.local():
            return self.refuse(403)
        if last not in self.later:
            return self.refuse(400 if last else 405)
        count = int(last.rpartition("-")[2])
        if count < self.times:
            return self.away(self.later[last], count + 1)
        return self.stream(f"data: {json.dumps(self.later[last])}")

    def do_DELETE(self) -> None:
        """There are no sessions."""
        self.refuse(405)


if __name__ == "__main__":
    Handler.times = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    Handler.retry = sys.argv[3] if len(sys.argv) > 3 else Handler.retry
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
