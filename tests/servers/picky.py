"""A server with one tool that fails with its smallest arguments, and breaks its outputSchema with others."""

from __future__ import annotations

import json
import sys
from typing import Any

TOOL = {
    "name": "find",
    "annotations": {"readOnlyHint": True},
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}},
    "outputSchema": {"type": "object", "properties": {"found": {"type": "boolean"}}, "required": ["found"]},
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request."""
    if method == "initialize":
        info = {"name": "picky", "version": "1"}
        return {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call" and params.get("arguments"):
        return {"content": [{"type": "text", "text": "yes"}], "structuredContent": {"found": "yes"}}
    return {"content": [{"type": "text", "text": "name is needed"}], "isError": True} if params else {}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
