"""A small correct server, over stdio: every hostile target is this server with one thing changed."""

from __future__ import annotations

import json
import os
import sys

from hostile import bounds

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Message = dict[str, Any]
    Method = Callable[[Message], Any]

HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
HERE = "@here@"
"""Stands in an answer for what Python's JSON cannot write: replaced by `Server.here` in the text."""

TEXT = {"type": "string", "description": "Anything."}
NUMBER = {"type": "number", "minimum": -1000, "maximum": 1000}
TOOLS: list[Message] = [
    {
        "name": "echo",
        "description": "Say it again.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": TEXT},
            "required": ["text"],
            "additionalProperties": False,
        },
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "sum",
        "description": "Add two numbers.",
        "inputSchema": {
            "type": "object",
            "properties": {"a": NUMBER, "b": NUMBER},
            "required": ["a", "b"],
            "additionalProperties": False,
        },
        "outputSchema": {"type": "object", "properties": {"sum": {"type": "number"}}, "required": ["sum"]},
        "annotations": {"readOnlyHint": True},
    },
    {
        "name": "erase",
        "description": "Nobody calls this one unasked.",
        "inputSchema": {"type": "object", "additionalProperties": False},
        "annotations": {"destructiveHint": True},
    },
]
NOTE = {"uri": "note://first", "name": "first", "mimeType": "text/plain"}
TEMPLATE = {"uriTemplate": "note://{name}", "name": "note", "mimeType": "text/plain"}
PROMPT = {"name": "greet", "description": "A greeting.", "arguments": [{"name": "who", "required": True}]}
NAMES = ("anna", "bert", "first")


class Refused(Exception):
    """A request that is answered with an error."""

    def __init__(self, code: int, why: str, data: Any = None) -> None:
        super().__init__(why)
        self.error = {"code": code, "message": why, **({} if data is None else {"data": data})}


class Server:
    """Answers one message at a time; what is hostile changes one of its attributes."""

    def __init__(self) -> None:
        self.version = ""
        self.level = -1
        self.here = "null"
        self.written = 0
        self.heard = 0
        self.asked: Message = {}
        self.client: Message = {}
        self.questions = 0
        self.capabilities: Any = {
            "tools": {},
            "resources": {},
            "prompts": {},
            "completions": {},
            "logging": {},
        }
        self.tools: Any = TOOLS
        self.known: tuple[str, ...] = HANDSHAKES
        self.encoding = "utf-8"
        self.after: dict[str, Callable[[], object]] = {}
        """Moment → what happens then: start, initialize, initialized, tools/call and other methods, end."""
        self.before: dict[str, Callable[[], object]] = {}
        """Method → what happens before it is answered."""
        self.edit: Callable[[Message, Message], Any] = lambda _request, reply: reply
        """Request and reply → the reply to send, None for none."""
        self.take: Callable[[bytes], object] = self.line
        """What is done with a line of input."""
        self.text: Callable[[Any], str] = self.as_json
        self.send: Callable[[Any], object] = self.send_now
        self.write: Callable[[bytes], object] = self.write_now
        self.progress: Callable[[Message], None] = self.tell_progress
        self.methods: dict[str, Method] = {
            "initialize": self.initialize,
            "ping": lambda params: {},
            "tools/list": lambda params: self.page(params, "tools", self.tools),
            "tools/call": self.call,
            "resources/list": lambda params: self.page(params, "resources", [NOTE]),
            "resources/templates/list": lambda params: self.page(params, "resourceTemplates", [TEMPLATE]),
            "resources/read": self.read,
            "prompts/list": lambda params: self.page(params, "prompts", [PROMPT]),
            "prompts/get": self.prompt,
            "completion/complete": self.complete,
            "logging/setLevel": self.set_level,
        }

    # -- the methods

    def initialize(self, params: Message) -> Message:
        """Agree on a revision."""
        client = _member(params, "clientInfo", dict)
        self.client = _member(params, "capabilities", dict)
        _member(client, "name", str)
        _member(client, "version", str)
        wanted = _member(params, "protocolVersion", str)
        self.version = wanted if wanted in self.known else self.known[-1]
        info = {"name": "hostile", "version": "1"}
        return {"protocolVersion": self.version, "capabilities": self.capabilities, "serverInfo": info}

    def page(self, params: Message, name: str, items: Any) -> Message:
        """The only page of a list."""
        if "cursor" in params:
            raise Refused(-32602, "no such cursor")
        return {name: items}

    def call(self, params: Message) -> Message:
        """Call one of the three tools."""
        name = _member(params, "name", str)
        given = _member(params, "arguments", dict) if "arguments" in params else {}
        if name not in ("echo", "sum", "erase"):
            raise Refused(-32602, f"Unknown tool: {ascii(name)[:100]}")
        self.progress(params)
        self.log("called a tool")
        if name == "erase":
            return _text("Nothing was erased.")
        wanted = ("text",) if name == "echo" else ("a", "b")
        if set(given) != set(wanted) or not all(_admitted(name, value) for value in given.values()):
            return {**_text(f"the arguments must be {' and '.join(wanted)}"), "isError": True}
        if name == "echo":
            return _text(given["text"])
        result = {"sum": given["a"] + given["b"]}
        return {**_text(json.dumps(result)), "structuredContent": result}

    def read(self, params: Message) -> Message:
        """Read a note."""
        uri = _member(params, "uri", str)
        if uri not in {f"note://{name}" for name in NAMES}:
            raise Refused(-32002, "Resource not found", {"uri": uri})
        return {"contents": [{"uri": uri, "mimeType": "text/plain", "text": "a note"}]}

    def prompt(self, params: Message) -> Message:
        """Get the greeting."""
        if _member(params, "name", str) != "greet":
            raise Refused(-32602, "Unknown prompt")
        given = _member(params, "arguments", dict) if "arguments" in params else {}
        who = _member(given, "who", str)
        if not all(isinstance(value, str) for value in given.values()):
            raise Refused(-32602, "arguments of prompts are strings")
        return {"messages": [{"role": "user", "content": {"type": "text", "text": f"Greet {who}."}}]}

    def complete(self, params: Message) -> Message:
        """Complete a name."""
        ref, argument = _member(params, "ref", dict), _member(params, "argument", dict)
        begun = _member(argument, "value", str)
        kind = _member(ref, "type", str)
        known = {"ref/prompt": ("name", "greet", "who"), "ref/resource": ("uri", TEMPLATE["uriTemplate"], "name")}
        if kind not in known:
            raise Refused(-32602, "Unknown type of reference")
        member, name, only = known[kind]
        if _member(ref, member, str) != name or _member(argument, "name", str) != only:
            raise Refused(-32602, "Nothing of that name can be completed")
        if "context" in params:
            given = _member(params, "context", dict).get("arguments", {})
            if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
                raise Refused(-32602, "context.arguments must map names to strings")
        values = [name for name in NAMES if name.startswith(begun)]
        return {"completion": {"values": values, "total": len(values), "hasMore": False}}

    def set_level(self, params: Message) -> Message:
        """Log from this level on."""
        level = _member(params, "level", str)
        if level not in LEVELS:
            raise Refused(-32602, "Unknown level")
        self.level = LEVELS.index(level)
        return {}

    def tell_progress(self, params: Message) -> None:
        """Tell that half is done, if somebody wants to know."""
        token = params.get("_meta", {}).get("progressToken")
        if token is not None:
            self.tell("notifications/progress", {"progressToken": token, "progress": 1, "total": 2})

    def log(self, text: str) -> None:
        """Log `text`, if somebody wants to know."""
        if 0 <= self.level <= 1:
            self.tell("notifications/message", {"level": "info", "data": text})

    # -- the conversation

    def run(self) -> None:
        """Serve until the input ends."""
        self.moment("start")
        for line in sys.stdin.buffer:
            self.take(line)
        self.moment("end")

    def moment(self, name: str) -> None:
        """Something has happened."""
        if name in self.after:
            self.after[name]()

    def line(self, line: bytes) -> None:
        """Take one line of input and write what is to be said about it."""
        if not line.strip():
            return
        reply = self.about(line)
        if reply is not None:
            self.send(reply)
        method = self.asked.get("method")
        if isinstance(method, str):
            self.moment(method.removeprefix("notifications/"))

    def about(self, text: bytes) -> Any:
        """The reply to a message or, in the revision that has them, a batch; None if there is none."""
        self.asked = {}
        try:
            message = json.loads(text.decode(), parse_constant=_refuse)
        except (ValueError, RecursionError):
            return _error(Refused(-32700, "Parse error"), None)
        if isinstance(message, list) and message and self.version == "2025-03-26":
            replies = [reply for reply in map(self.reply, message) if reply is not None]
            return replies or None
        return self.reply(message)

    def reply(self, message: Any) -> Any:
        """The reply to one message."""
        if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
            return _error(Refused(-32600, "Invalid request"), _id_of(message))
        method, asked = message.get("method"), "id" in message
        if not asked and isinstance(method, str):
            self.asked = message
            return None
        if "method" not in message and ("result" in message or "error" in message):
            return None
        if not isinstance(method, str) or _id_of(message) is None:
            return _error(Refused(-32600, "Invalid request"), _id_of(message))
        self.asked = message
        self.heard += 1
        reply: Message = {"jsonrpc": "2.0", "id": message["id"]}
        try:
            if method not in self.methods:
                raise Refused(-32601, "Method not found")
            params = message.get("params", {})
            if not isinstance(params, dict) or not _fit(params.get("_meta", {})):
                raise Refused(-32602, "Invalid params")
            if method in self.before:
                self.before[method]()
            reply["result"] = self.methods[method](params)
        except Refused as refused:
            reply["error"] = refused.error
        return self.edit(message, reply)

    def tell(self, method: str, params: Message, **more: Any) -> None:
        """Send a notification or, with an `id`, a request."""
        self.send({"jsonrpc": "2.0", **more, "method": method, "params": params})

    def ask(self, method: str, params: Message) -> Any:
        """Send a request and serve on until it is answered; the answer."""
        self.questions += 1
        number = f"q{self.questions}"
        self.tell(method, params, id=number)
        for line in sys.stdin.buffer:
            with_answer = b'"method"' not in line and number.encode() in line
            if with_answer:
                return json.loads(line)
            self.line(line)
        return os._exit(0)

    def send_now(self, message: Any) -> None:
        """Write one message."""
        self.write(self.text(message).encode(self.encoding, "surrogatepass") + b"\n")

    def as_json(self, message: Any) -> str:
        """A message as JSON."""
        return json.dumps(message).replace(f'"{HERE}"', self.here)

    def write_now(self, data: bytes) -> None:
        """Write bytes to stdout; who no longer reads them ends this process."""
        self.written += len(data)
        bounds.spent(self.written)
        try:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        except OSError:
            os._exit(0)


def _refuse(name: str) -> None:
    raise ValueError(name)


def _member(of: Message, name: str, kind: type) -> Any:
    value = of.get(name)
    if not isinstance(value, kind):
        raise Refused(-32602, f"{name} is missing or of a wrong type")
    return value


def _admitted(tool: str, value: Any) -> bool:
    if tool == "echo":
        return isinstance(value, str)
    return isinstance(value, int | float) and not isinstance(value, bool) and -1000 <= value <= 1000


def _fit(meta: Any) -> bool:
    token = meta.get("progressToken", 0) if isinstance(meta, dict) else None
    return isinstance(token, str | int) and not isinstance(token, bool)


def _id_of(message: Any) -> Any:
    given = message.get("id") if isinstance(message, dict) else None
    return given if isinstance(given, str | int | float) and not isinstance(given, bool) else None


def _error(refused: Refused, number: Any) -> Message:
    return {"jsonrpc": "2.0", "id": number, "error": refused.error}


def _text(text: str) -> Message:
    return {"content": [{"type": "text", "text": text}]}


def in_turn(*steps: Callable[[], object]) -> Callable[[], None]:
    """What does all the steps."""

    def do() -> None:
        for step in steps:
            step()

    return do


def then(server: Server, text: bytes, action: Callable[[], object]) -> None:
    """Have `action` done once a line with `text` was taken."""

    def take(line: bytes) -> None:
        server.line(line)
        if text in line:
            action()

    server.take = take


def change(server: Server, method: str, path: str, value: Any) -> None:
    """Have the result of `method` carry `value` at `path`, steps with dots between; "" is the whole result."""
    original = server.methods[method]

    def changed(params: Message) -> Any:
        result = json.loads(json.dumps(original(params)))
        return put(result, path, value)

    server.methods[method] = changed


def put(document: Any, path: str, value: Any) -> Any:
    """`document` with `value` at `path`; what is missing on the way is made."""
    if not path:
        return value
    step, _, rest = path.partition(".")
    if isinstance(document, list):
        document[int(step)] = put(document[int(step)], rest, value)
    else:
        document[step] = put(document.get(step, {}), rest, value)
    return document
