"""A server that ends at the method x/die, is silent at x/silent, and answers what is no message without an id."""

from __future__ import annotations

import json
import sys
from typing import Any


def reply(message: Any) -> dict[str, Any] | None:
    """What is said to a message, if anything."""
    method = message.get("method")
    if method == "x/die":
        sys.exit(1)
    if "id" not in message or method == "x/silent":
        return None
    if not isinstance(method, str):
        return {"id": None, "error": {"code": -32600, "message": "Invalid request"}}
    if method == "initialize":
        info = {"name": "touchy", "version": "1"}
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": info}
        return {"id": message["id"], "result": result}
    if method == "ping":
        return {"id": message["id"], "result": {}}
    return {"id": message["id"], "error": {"code": -32601, "message": "Unknown method"}}


for line in sys.stdin:
    said = reply(json.loads(line))
    if said is not None:
        print(json.dumps({"jsonrpc": "2.0", **said}), flush=True)
