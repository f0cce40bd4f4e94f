"""The small correct server in 2026-07-28: it subscribes, asks for input by its results, and has tasks."""

from __future__ import annotations

from hostile.base import LEVELS, TOOLS, Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

REVISION = "2026-07-28"
META = "io.modelcontextprotocol/"
TASKS = META + "tasks"
LISTEN = "subscriptions/listen"
LISTS = ("tools", "prompts", "resources")
CACHED = (
    "server/discover",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "resources/read",
)
WAITS = ("ask", "work")
FORM = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
QUESTION = {"method": "elicitation/create", "params": {"message": "Who are you?", "requestedSchema": FORM}}
NOW = "2026-07-28T10:00:00Z"
TASK = {"status": "working", "createdAt": NOW, "lastUpdatedAt": NOW, "ttlMs": 60_000, "pollIntervalMs": 20}
EXTRA = [
    {
        "name": name,
        "description": what,
        "inputSchema": {"type": "object", "additionalProperties": False},
        "annotations": {"readOnlyHint": True},
    }
    for name, what in (("ask", "Ask the user for a name."), ("work", "Work for a while."))
]


class Modern:
    """What the server keeps: who subscribed to what, and its tasks. What is hostile changes one of its attributes."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.listeners: dict[str | int, Message] = {}
        self.tasks: dict[str, Message] = {}
        self.asked: Message = {}
        self.question: Any = {"resultType": "input_required", "inputRequests": {"who": QUESTION}, "requestState": "s1"}
        self.task: Message = dict(TASK)
        self.extra: Message = {}
        """Members of every result that may be cached."""
        server.capabilities = {
            "tools": {"listChanged": True},
            "resources": {"listChanged": True, "subscribe": True},
            "prompts": {"listChanged": True},
            "completions": {},
            "logging": {},
            "extensions": {TASKS: {}},
        }
        server.tools = [*TOOLS, *EXTRA]
        plain = server.methods
        call, read = plain["tools/call"], plain["resources/read"]
        own: dict[str, Callable[[Message], Any]] = {
            "server/discover": self.discover,
            LISTEN: self.listen,
            "tools/call": lambda params: self.call(params, call),
            "resources/read": lambda params: _renamed(read, params),
            "tasks/get": self.get,
            "tasks/update": self.update,
            "tasks/cancel": self.cancel,
        }
        gone = ("initialize", "ping", "logging/setLevel")
        self.methods = {**{name: plain[name] for name in plain if name not in gone}, **own}
        server.methods = {name: self.checked(name) for name in self.methods}
        server.methods["initialize"] = self.old
        server.after["cancelled"] = self.cancelled
        server.after["end"] = self.end

    def checked(self, name: str) -> Callable[[Message], Any]:
        """The method behind what every request of this revision must carry."""

        def serve(params: Message) -> Any:
            meta = params.get("_meta")
            if not isinstance(meta, dict):
                raise Refused(-32602, "_meta is missing")
            version, client = (meta.get(META + each) for each in ("protocolVersion", "clientCapabilities"))
            if not isinstance(version, str) or not isinstance(client, dict):
                raise Refused(-32602, "_meta lacks what it must have")
            if version != REVISION:
                raise Refused(-32022, "Unsupported protocol version", {"supported": [REVISION], "requested": version})
            level = meta.get(META + "logLevel")
            if level is not None and level not in LEVELS:
                raise Refused(-32602, "unknown log level")
            self.server.level = -1 if level is None else LEVELS.index(level)
            self.server.client = client
            result = self.methods[name](params)
            if not isinstance(result, dict):
                return result
            info = {META + "serverInfo": {"name": "hostile", "version": "1"}, **result.get("_meta", {})}
            result = {"resultType": "complete", **result, "_meta": info}
            if name in CACHED:
                result |= {"ttlMs": 0, "cacheScope": "private", **self.extra}
            return result

        return serve

    def old(self, params: Message) -> Any:
        """Refuse a handshake."""
        wanted = params.get("protocolVersion")
        data = {"supported": [REVISION], "requested": wanted}
        raise Refused(-32022, "Unsupported protocol version", data)

    def discover(self, params: Message) -> Any:
        """What the server is."""
        return {"supportedVersions": [REVISION], "capabilities": self.server.capabilities}

    def call(self, params: Message, plain: Callable[[Message], Any]) -> Any:
        """Call a tool; one asks for input first, one becomes a task."""
        if params.get("name") not in WAITS:
            return plain(params)
        if params.get("arguments", {}) != {}:
            return {"content": [{"type": "text", "text": "there are no arguments"}], "isError": True}
        return self.ask(params) if params["name"] == "ask" else self.work()

    def ask(self, params: Message) -> Any:
        """Ask for a name."""
        form = self.server.client.get("elicitation")
        if not isinstance(form, dict) or (form and "form" not in form):
            missing: Message = {"requiredCapabilities": {"elicitation": {"form": {}}}}
            raise Refused(-32021, "The client lacks a capability", missing)
        if params.get("requestState", "s1") != "s1":
            raise Refused(-32602, "no such requestState")
        given = params.get("inputResponses", {})
        if not isinstance(given, dict):
            raise Refused(-32602, "inputResponses must be an object")
        if "requestState" not in params or "who" not in given:
            return self.question
        who = given["who"]
        if not isinstance(who, dict) or who.get("action") not in ("accept", "decline", "cancel"):
            raise Refused(-32602, "inputResponses.who is no answer")
        name = who.get("content", {}).get("name") if isinstance(who.get("content", {}), dict) else None
        good = who["action"] != "accept" or isinstance(name, str)
        return {"content": [{"type": "text", "text": f"Hello {name}"}], **({} if good else {"isError": True})}

    def work(self) -> Any:
        """Become a task, if the client takes tasks."""
        if not isinstance(self.server.client.get("extensions"), dict) or TASKS not in self.server.client["extensions"]:
            return {"content": [{"type": "text", "text": "worked"}]}
        name = f"t{len(self.tasks)}"
        self.tasks[name] = {**self.task, "taskId": name}
        return {"resultType": "task", **self.tasks[name]}

    def known(self, params: Message) -> Message:
        """The task that is meant."""
        extensions = self.server.client.get("extensions")
        if not isinstance(extensions, dict) or TASKS not in extensions:
            raise Refused(
                -32021, "The client lacks a capability", {"requiredCapabilities": {"extensions": {TASKS: {}}}}
            )
        name = params.get("taskId")
        if not isinstance(name, str) or name not in self.tasks:
            raise Refused(-32602, "no such task")
        return self.tasks[name]

    def get(self, params: Message) -> Any:
        """A task, which is done when it has been asked for twice."""
        task = self.known(params)
        seen = dict(task)
        if task["status"] == "working" and task.get("seen"):
            task |= {"status": "completed", "result": {"resultType": "complete", "content": []}}
        task["seen"] = True
        seen.pop("seen", None)
        return seen

    def update(self, params: Message) -> Any:
        """Take answers that no task has asked for."""
        self.known(params)
        if not isinstance(params.get("inputResponses"), dict):
            raise Refused(-32602, "inputResponses must be an object")
        return {}

    def cancel(self, params: Message) -> Any:
        """Cancel a task."""
        task = self.known(params)
        if task["status"] == "working":
            task["status"] = "cancelled"
        return {}

    def listen(self, params: Message) -> Any:
        """Subscribe."""
        wanted = params.get("notifications")
        if not isinstance(wanted, dict):
            raise Refused(-32602, "notifications must be an object")
        granted: Message = {f"{kind}ListChanged": True for kind in LISTS if wanted.get(f"{kind}ListChanged") is True}
        uris = wanted.get("resourceSubscriptions")
        if isinstance(uris, list):
            granted["resourceSubscriptions"] = [uri for uri in uris if isinstance(uri, str)]
        number = self.server.asked["id"]
        self.listeners[number] = granted
        self.acknowledge(number, granted)
        return None

    def acknowledge(self, number: str | int, granted: Message) -> None:
        """Say what is granted."""
        self.told(number, "notifications/subscriptions/acknowledged", notifications=granted)

    def told(self, number: str | int, method: str, **params: Any) -> None:
        """Tell somebody who subscribed."""
        self.server.tell(method, {"_meta": {META + "subscriptionId": number}, **params})

    def cancelled(self) -> None:
        """A request is cancelled."""
        given = self.server.asked.get("params")
        name = given.get("requestId") if isinstance(given, dict) else None
        if isinstance(name, str | int):
            self.listeners.pop(name, None)

    def end(self) -> None:
        """The input has ended."""
        for number in self.listeners:
            info = {META + "serverInfo": {"name": "hostile", "version": "1"}, META + "subscriptionId": number}
            result = {"resultType": "complete", "_meta": info}
            self.server.send({"jsonrpc": "2.0", "id": number, "result": result})


def _renamed(read: Callable[[Message], Any], params: Message) -> Any:
    """The result of `read`, whose errors had a code of their own in older revisions."""
    try:
        return read(params)
    except Refused as refused:
        raise Refused(-32602, refused.error["message"], refused.error.get("data")) from None


def modern(server: Server) -> Modern:
    """Make the small server speak 2026-07-28, and nothing else."""
    made = Modern(server)

    def edit(request: Message, reply: Message) -> Any:
        return None if request["method"] == LISTEN and "result" in reply else reply

    server.edit = edit
    return made
