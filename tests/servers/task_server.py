"""A server with the tasks extension that has nothing but tools, correct in ways that the reference server is not."""

from __future__ import annotations

import json
import secrets
import sys
from typing import Any

Message = dict[str, Any]

EXTENSION = "io.modelcontextprotocol/tasks"
META = "io.modelcontextprotocol/"
MODES = ("never", "at-once", "only-tasks", "no-update", "lagging", "old-examples")
TIME = "2026-08-01T12:00:00Z"
DONE: Message = {"content": [{"type": "text", "text": "done"}]}
QUESTION: Message = {
    "method": "elicitation/create",
    "params": {"message": "Go on?", "requestedSchema": {"type": "object", "properties": {"yes": {"type": "boolean"}}}},
}


class Refused(Exception):
    """An error response: code and data."""


class Server:
    """One client's server; time passes by requests: a task goes on when it is asked for."""

    def __init__(self, mode: str) -> None:
        self.mode = mode
        self.tasks: dict[str, Message] = {}

    def answer(self, method: str, params: Message) -> Message:
        client = params["_meta"][META + "clientCapabilities"]
        declared = EXTENSION in client.get("extensions", {})
        if method == "server/discover":
            capabilities: Message = {"tools": {}, "extensions": {EXTENSION: {}}}
            return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, **HINTS}
        if method == "tools/list":
            tools = [
                {"name": name, "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": True}}
                for name in ("work", "ask", "fail")
            ]
            return {"tools": tools, **HINTS}
        if method == "tools/call":
            return self.call(params, declared, "elicitation" in client)
        if method in ("tasks/get", "tasks/cancel") or (method == "tasks/update" and self.mode != "no-update"):
            return self.about(method, params, declared)
        raise Refused(-32601, None)

    def call(self, params: Message, declared: bool, elicits: bool) -> Message:
        name = params["name"]
        if name not in ("work", "ask", "fail"):
            raise Refused(-32602, None)
        if self.mode == "only-tasks" and not declared:
            raise Refused(-32021, {"requiredCapabilities": {"extensions": {EXTENSION: {}}}})
        if self.mode == "never" or not declared:
            return {**DONE, "isError": name == "fail"}
        task: Message = {"taskId": secrets.token_hex(16), "createdAt": TIME, "lastUpdatedAt": TIME, "ttlMs": None}
        self.tasks[task["taskId"]] = task
        task["status"] = "working"
        task["steps"] = 0 if self.mode == "at-once" else 2
        task["name"] = name
        task["asks"] = name == "ask" and elicits and self.mode in ("only-tasks", "lagging", "old-examples")
        return {"resultType": "task", **self.seen(task, seed=True)}

    def about(self, method: str, params: Message, declared: bool) -> Message:
        if not declared:
            raise Refused(-32021, {"requiredCapabilities": {"extensions": {EXTENSION: {}}}})
        task = self.tasks.get(params["taskId"])
        if task is None:
            raise Refused(-32602, None)
        if method == "tasks/get":
            shown = self.seen(task)
            old = self.mode == "old-examples" and task["status"] == "completed"
            return {"resultType": "task", **shown} if old else shown
        over = task["status"] in ("completed", "cancelled")
        if over and self.mode == "at-once":
            raise Refused(-32602, None)  # what is over is neither updated nor cancelled
        if method == "tasks/update" and task["asks"] and "q" in params["inputResponses"]:
            task["asks"], task["lags"] = False, self.mode == "lagging"
        return {}  # cancelling is acknowledged, and has no effect

    def seen(self, task: Message, seed: bool = False) -> Message:
        """The task as it stands, and a step further."""
        shown = {name: task[name] for name in ("taskId", "createdAt", "lastUpdatedAt", "ttlMs")}
        if task["asks"] or task.pop("lags", False):
            task["status"] = "input_required"
            more: Message = {"inputRequests": {"q": QUESTION}}
        elif task["steps"] > 0:
            task["status"] = "working"
            task["steps"] -= 1
            more = {}
        else:
            task["status"] = "completed"
            result = {**DONE, "isError": task["name"] == "fail"}
            more = {"result": {"resultType": "complete", **result} if self.mode == "lagging" else result}
        return {**shown, "status": task["status"], **({} if seed else more)}


HINTS = {"ttlMs": 1000, "cacheScope": "private"}


def _is_request(message: Any) -> bool:
    if not isinstance(message, dict) or not isinstance(message.get("method"), str):
        return False
    return message.get("jsonrpc") == "2.0" and isinstance(message.get("id"), (str, int))


def main(mode: str) -> None:
    server = Server(mode)
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            print(json.dumps({"jsonrpc": "2.0", "error": {"code": -32700, "message": "unreadable"}}), flush=True)
            continue
        if not _is_request(message):
            if not (isinstance(message, dict) and "method" in message and "id" not in message):
                print(json.dumps({"jsonrpc": "2.0", "error": {"code": -32600, "message": "no request"}}), flush=True)
            continue
        response: Message = {"jsonrpc": "2.0", "id": message["id"]}
        params = message.get("params", {})
        version = params.get("_meta", {}).get(META + "protocolVersion")
        try:
            if version != "2026-07-28":
                raise Refused(-32022, {"supported": ["2026-07-28"], "requested": str(version)})
            info = {"_meta": {META + "serverInfo": {"name": "tasks", "version": "1"}}}
            response["result"] = {"resultType": "complete", **server.answer(message["method"], params), **info}
        except Refused as why:
            response["error"] = {"code": why.args[0], "message": "refused"}
            if why.args[1]:
                response["error"]["data"] = why.args[1]
        print(json.dumps(response), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
