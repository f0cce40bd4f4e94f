"""A small server that answers in the words of the SDKs named on its command line: typescript-1, python-1 or nobody."""

from __future__ import annotations

import json
import sys
from typing import Any

SPEAKS = sys.argv[1:]
INFO = {"name": "in-the-words-of", "version": "1"}
TOOL = {"name": "version", "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    """The result of a request, or its error."""
    if method == "initialize":
        result: dict[str, Any] = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": INFO}
    elif method == "tools/list":
        result = {"tools": [TOOL]}
    elif method == "ping":
        result = {}
    elif method == "tools/call" and params.get("name") == TOOL["name"]:
        result = {"content": [{"type": "text", "text": "1"}]}
    elif method == "tools/call":
        words = "MCP error -32602: Tool {} not found" if "typescript-1" in SPEAKS else "Unknown tool: {}"
        result = {"content": [{"type": "text", "text": words.format(params.get("name"))}], "isError": True}
    elif "python-1" in SPEAKS:
        return {"error": {"code": -32602, "message": "Invalid request parameters", "data": ""}}
    else:
        data = {"data": method} if "nobody" in SPEAKS else {}
        return {"error": {"code": -32601, "message": "Method not found", **data}}
    return {"result": result}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        response = {"jsonrpc": "2.0", "id": request["id"], **answer(request["method"], request.get("params", {}))}
        print(json.dumps(response, separators=(",", ":")), flush=True)
