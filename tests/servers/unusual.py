"""Servers that are right, and unusual: each does one thing that the specification allows and hardly anybody does.

`python unusual.py MODE`, over stdio, or `python unusual.py MODE PORT`, over HTTP.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from conformance.reference import server as reference
from conformance.reference.call import Call
from conformance.reference.fault import instead
from conformance.reference.http import serve as serve_http
from conformance.reference.http_fault import handling
from conformance.reference.stdio import serve
from conformance.reference.tasks import TaskCall
from conformance.reference.wire import RpcError
from servers.wrongly_blamed import EMPTY, TOOL, Message, Server

FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
ASK = {"name": "ask", "inputSchema": EMPTY, "annotations": {"readOnlyHint": True}}


class AnswersEmptyBatchesLate(Server):
    """Says that a batch is empty once it has answered what comes after it."""

    owed = b""

    def batch(self, messages: list[object]) -> None:
        """Keep the answer to an empty one."""
        if messages:
            super().batch(messages)
        else:
            self.owed = b'{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"An empty batch"}}'

    def line(self, line: bytes) -> None:
        """Answer it, and then what is owed."""
        owed, self.owed = self.owed, b""
        super().line(line)
        if owed:
            time.sleep(0.05)  # so that whoever waits for the answer to this line goes on
            self.write(owed)


class LeavesOutWhatDoesNotFit(Server):
    """A tool asks for a name. Without one that fits its form it does what it does for a user who declines."""

    asked: Message | None = None

    def answer(self, message: Message) -> Message:
        """List the tool that asks."""
        if message["method"] == "tools/list" and "cursor" not in message.get("params", {}):
            return {"result": {"tools": [TOOL, ASK]}}
        return super().answer(message)

    def take(self, message: Message) -> None:
        """Ask before the call is answered."""
        asks = message["method"] == "tools/call" and message.get("params", {}).get("name") == "ask"
        if asks and self.forms:
            self.asked = message
            params = {"message": "Who are you?", "requestedSchema": FORM}
            self.say({"jsonrpc": "2.0", "id": "who", "method": "elicitation/create", "params": params})
        elif asks:
            self.say({"jsonrpc": "2.0", "id": message["id"], "result": told("Hello")})
        else:
            super().take(message)

    forms = False

    def greeting(self, params: Message) -> Message:
        """Remember whether the client has forms."""
        self.forms = "elicitation" in params.get("capabilities", {})
        return super().greeting(params)

    def line(self, line: bytes) -> None:
        """Answer the call once the user has answered."""
        message = json.loads(line) if line.startswith(b"{") else {}
        if self.asked is not None and message.get("id") == "who" and "method" not in message:
            name = message.get("result", {}).get("content", {}).get("name")
            greeting = f"Hello {name}" if isinstance(name, str) else "Hello"
            self.say({"jsonrpc": "2.0", "id": self.asked["id"], "result": told(greeting)})
            self.asked = None
        else:
            super().line(line)


class AsksAgainOtherwise(LeavesOutWhatDoesNotFit):
    """The tool that gets content that does not fit asks again, and needs no name any more."""

    def line(self, line: bytes) -> None:
        """Ask again once."""
        message = json.loads(line) if line.startswith(b"{") else {}
        given = message.get("result", {}) if self.asked is not None and message.get("id") == "who" else {}
        if given.get("action") == "accept" and not isinstance(given.get("content", {}).get("name"), str):
            form = {"type": "object", "properties": FORM["properties"]}
            params = {"message": "A name, or nothing", "requestedSchema": form}
            self.say({"jsonrpc": "2.0", "id": "again", "method": "elicitation/create", "params": params})
        else:
            super().line(line.replace(b'"again"', b'"who"'))


class DoesNotWaitForTheUser(LeavesOutWhatDoesNotFit):
    """The tool asks twice and makes nothing of what is said: its result follows at once, or after the first reply."""

    def take(self, message: Message) -> None:
        """Ask, and answer the call."""
        if message["method"] == "tools/call" and message.get("params", {}).get("name") == "ask" and self.forms:
            number = {"type": "object", "properties": {"number": {"type": "integer"}}, "required": ["number"]}
            for who, form in (("who", number), ("again", FORM)):
                params = {"message": "What is it?", "requestedSchema": form}
                self.say({"jsonrpc": "2.0", "id": who, "method": "elicitation/create", "params": params})
            self.say({"jsonrpc": "2.0", "id": message["id"], "result": told("Hello")})
        else:
            super().take(message)


class ListsATemplateAsAResource(Server):
    """Has a resource that is listed as a template without variables, too."""

    def greeting(self, params: Message) -> Message:
        """Resources too."""
        result = super().greeting(params)
        result["capabilities"]["resources"] = {}
        return result

    def answer(self, message: Message) -> Message:
        """The resource, and the template."""
        method, params = message["method"], message.get("params", {})
        listed = {
            "resources/list": ("resources", "uri"),
            "resources/templates/list": ("resourceTemplates", "uriTemplate"),
        }
        if method in listed:
            name, member = listed[method]
            return {"result": {name: [{member: "test://here", "name": "here"}]}}
        if method == "resources/read" and params.get("uri") == "test://here":
            return {"result": {"contents": [{"uri": "test://here", "text": "here"}]}}
        if method == "resources/read":
            return {"error": {"code": -32002, "message": "Resource not found"}}
        return super().answer(message)


class KnowsNothingElse(Server):
    """Does not answer a method that it does not know. That alone is wrong."""

    def take(self, message: Message) -> None:
        """Leave what is unknown alone."""
        if message["method"] in ("initialize", "ping", "tools/list", "tools/call"):
            super().take(message)


class AnswersNullToWhatItDoesNotKnow(Server):
    """Answers a method that it does not know by null. That alone is wrong."""

    def answer(self, message: Message) -> Message:
        """Nothing, in place of an error."""
        answer = super().answer(message)
        return {"result": None} if answer.get("error", {}).get("code") == -32601 else answer


class AnswersNobodyFirst(Server):
    """Answers a request that nobody made before it answers the first one. That alone is wrong."""

    def greeting(self, params: Message) -> Message:
        """Answer the other one first."""
        self.say({"jsonrpc": "2.0", "id": 900000, "result": {}})
        return super().greeting(params)


class OneAtATime(Server):
    """Takes a fifth of a second for each message, one after another, and never writes to stderr."""

    def line(self, line: bytes) -> None:
        """Wait first."""
        time.sleep(0.2)
        super().line(line)


def told(text: str) -> Message:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": text}]}


def rewritten(change: Callable[[bytes], bytes], *revisions: str) -> None:
    """The reference server, each line of which is changed."""
    command = [sys.executable, "-m", "conformance.reference", *revisions]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            sys.stdout.buffer.write(change(line))
            sys.stdout.buffer.flush()


def forms_named_by_an_empty_object(line: bytes) -> bytes:
    """`elicitation` without members stands for forms where they are missing."""
    return line.replace(b'{"elicitation":{"form":{}}', b'{"elicitation":{}') if b"-32021" in line else line


def all_in_escapes(line: bytes) -> bytes:
    """Each text is written in escapes."""
    return re.sub(rb'(?<!\\)"((?:[^"\\]|\\.)*)"', _escaped, line)


def _escaped(text: re.Match[bytes]) -> bytes:
    units = json.loads(text[0]).encode("utf-16-be")
    return b'"' + b"".join(b"\\u%02x%02x" % (units[i], units[i + 1]) for i in range(0, len(units), 2)) + b'"'


def demands_tasks() -> None:
    """The reference server; it refuses what is no task of all tools that run as tasks, as the page on tasks allows."""

    def refuse(call: Call, proceed: Callable[[Call], Message | None]) -> Message | None:
        tool = call.server.tools.get(call.params.get("name", ""))
        if tool and tool.task == "optional" and "task" not in call.params and not isinstance(call, TaskCall):
            raise RpcError(-32600, "Task augmentation required for tools/call requests")
        return proceed(call)

    server = reference.Server(("2025-11-25",))
    instead("tools/call", refuse)(server)
    serve(server)


def tells_clients_apart_by_a_header() -> None:
    """The reference server over HTTP, at the port of the next word: who sends Mcp-Method is of the stateless era."""

    def post(handler: Any, proceed: Callable[[bytes], None], body: bytes) -> None:
        message = json.loads(body) if body.startswith(b"{") and "Mcp-Method" in handler.headers else None
        if isinstance(message, dict) and isinstance(message.get("method"), str):
            handler._post_stateless(message)
        else:
            proceed(body)

    server = reference.Server()
    handling(_post=post)(server)
    serve_http(server, ("127.0.0.1", int(sys.argv[2])), "/mcp")


MODES = {
    "answers-empty-batches-late": AnswersEmptyBatchesLate,
    "answers-nobody-first": AnswersNobodyFirst,
    "asks-again-otherwise": AsksAgainOtherwise,
    "does-not-wait-for-the-user": DoesNotWaitForTheUser,
    "knows-nothing-else": KnowsNothingElse,
    "answers-null-to-what-it-does-not-know": AnswersNullToWhatItDoesNotKnow,
    "lists-a-template-as-a-resource": ListsATemplateAsAResource,
    "leaves-out-what-does-not-fit": LeavesOutWhatDoesNotFit,
    "one-at-a-time": OneAtATime,
}

if __name__ == "__main__":
    if sys.argv[1] in MODES:
        MODES[sys.argv[1]](Path()).run()
    elif sys.argv[1] == "names-forms-by-an-empty-object":
        rewritten(forms_named_by_an_empty_object)
    elif sys.argv[1] == "demands-tasks":
        demands_tasks()
    elif sys.argv[1] == "tells-clients-apart-by-a-header":
        tells_clients_apart_by_a_header()
    else:
        rewritten(all_in_escapes, "--revisions", "2026-07-28")
