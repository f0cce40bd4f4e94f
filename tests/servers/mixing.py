"""A server over stdio that, with several requests waiting, gives each the result of another one.

With a number as its argument it ends after so many requests, with status 7.
"""

from __future__ import annotations

import json
import os
import select
import sys
from typing import Any

TOOL = {
    "name": "echo",
    "description": "Echo a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]},
    "annotations": {"readOnlyHint": True},
}


def result(message: dict[str, Any]) -> dict[str, Any]:
    """The right result of a request."""
    if message["method"] == "initialize":
        info = {"name": "mixing", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if message["method"] == "tools/list":
        return {"tools": [TOOL]}
    if message["method"] == "tools/call":
        return {"content": [{"type": "text", "text": message["params"]["arguments"]["text"]}]}
    return {}


def main() -> None:
    """Take in what there is, and answer it at once, each request with the result of the next one."""
    held = b""
    left = int(sys.argv[1]) if len(sys.argv) > 1 else 1 << 62
    while True:
        select.select([0], [], [])
        part = os.read(0, 1 << 20)
        if not part:
            return
        *lines, held = (held + part).split(b"\n")
        requests = [message for line in lines if line and "id" in (message := json.loads(line))]
        results = [result(message) for message in requests]
        for message, given in zip(requests, [*results[1:], *results[:1]], strict=True):
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": given}), flush=True)
            left -= 1
            if not left:
                sys.exit(7)


if __name__ == "__main__":
    main()
