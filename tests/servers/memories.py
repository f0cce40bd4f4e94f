"""Correct servers whose answers depend on what came before: `python memories.py MODE FOLDER`."""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from servers.wrongly_blamed import TOOL, BothEras, Message, Server


class Tools(Server):
    """Has tools without arguments, each of which gives its name."""

    names: tuple[str, ...] = ("one", "two")

    def answer(self, message: Message) -> Message:
        """Its own tools, and the rest."""
        method, params = message["method"], message.get("params", {})
        if method == "tools/list" and "cursor" not in params:
            return {"result": {"tools": [{**TOOL, "name": name} for name in self.names]}}
        if method == "tools/call" and params.get("name") in self.names and not params.get("arguments"):
            return self.called(params["name"])
        return super().answer(message)

    def called(self, name: str) -> Message:
        """What a tool gives."""
        return text(name)


def text(words: str, **members: Any) -> Message:
    """The result of a tool."""
    return {"result": {"content": [{"type": "text", "text": words}], **members}}


class Last(Tools):
    """A tool tells what the others gave last."""

    names = ("one", "two", "last")
    last = "nothing"

    def called(self, name: str) -> Message:
        """That, or its name."""
        if name == "two":
            time.sleep(0.03)
        self.last = self.last if name == "last" else name
        return text(self.last)


class EverySecond(Tools):
    """Each tool fails every second time."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.times = dict.fromkeys(self.names, 0)

    def called(self, name: str) -> Message:
        """A failure of the tool."""
        self.times[name] += 1
        return text("Nothing new", isError=True) if self.times[name] % 2 == 0 else text(name)


class Once(Tools):
    """Each tool works once in a session, and then says so by a protocol error."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.used: set[str] = set()

    def called(self, name: str) -> Message:
        """Its name, or an error."""
        if name in self.used:
            return {"error": {"code": -32602, "message": "This was already done in this session"}}
        self.used.add(name)
        return text(name)


class Busy(Tools):
    """A tool may be called once in 20 ms; else it fails, in words of its own."""

    before = 0.0

    def called(self, name: str) -> Message:
        """Its name, or a failure."""
        since, self.before = time.monotonic() - self.before, time.monotonic()
        return text(name) if since > 0.02 else text("Wait a moment before that", isError=True)


class Pings(BothEras):
    """Once a session of the handshake era is open, it pings its client, often."""

    number = 0

    def take(self, message: Message) -> None:
        """Answer, and ping."""
        super().take(message)
        if self.version and message["method"] != "initialize":
            self.number += 1
            self.say({"jsonrpc": "2.0", "id": f"ping {self.number}", "method": "ping"})


class Reshaped(Tools):
    """A tool that was called says that the list of tools has changed: from then on it returns something else."""

    calls = 0

    def greeting(self, params: dict[str, Any]) -> dict[str, Any]:
        """Announces that."""
        return {**super().greeting(params), "capabilities": {"tools": {"listChanged": True}}}

    def answer(self, message: Message) -> Message:
        """The tool with what it returns now."""
        told = super().answer(message)
        if message["method"] == "tools/list" and "result" in told:
            for tool in told["result"]["tools"]:
                tool["outputSchema"] = {"type": "object", "required": [f"after {self.calls} calls"]}
        return told

    def called(self, name: str) -> Message:
        """What it has promised, and the next promise."""
        now = {f"after {self.calls} calls": name}
        self.calls += 1
        self.say({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})
        return {"result": {"content": [{"type": "text", "text": json.dumps(now)}], "structuredContent": now}}


class Quota(Tools):
    """Announces changes of its list of tools, and gives that so many times in a session: to find one with --only."""

    most = 2

    def greeting(self, params: dict[str, Any]) -> dict[str, Any]:
        """With that capability."""
        return {**super().greeting(params), "capabilities": {"tools": {"listChanged": True}}}

    def answer(self, message: Message) -> Message:
        """An error of its own once it is too much."""
        self.most -= message["method"] == "tools/list"
        if message["method"] == "tools/list" and self.most < 0:
            return {"error": {"code": -32603, "message": "Come back later"}}
        return super().answer(message)


class Restless(Server):
    """A resource holds something else each time; updates are announced, and there are none."""

    def greeting(self, params: dict[str, Any]) -> dict[str, Any]:
        """With resources, and subscriptions to them."""
        capabilities = {"tools": {}, "resources": {"subscribe": True}}
        return {**super().greeting(params), "capabilities": capabilities}

    def answer(self, message: Message) -> Message:
        """The resource, and the rest."""
        method, params = message["method"], message.get("params", {})
        item = {"uri": "test://now", "name": "now", "mimeType": "text/plain"}
        if method in ("resources/subscribe", "resources/unsubscribe") and params.get("uri") == item["uri"]:
            return {"result": {}}
        if method == "resources/list" and "cursor" not in params:
            return {"result": {"resources": [item]}}
        if method == "resources/templates/list" and "cursor" not in params:
            return {"result": {"resourceTemplates": []}}
        if method == "resources/read" and params.get("uri") == item["uri"]:
            now = {"uri": item["uri"], "mimeType": "text/plain", "text": str(time.monotonic_ns())}
            return {"result": {"contents": [now]}}
        if method in ("resources/subscribe", "resources/unsubscribe", "resources/read"):
            code = -32002 if method == "resources/read" and isinstance(params.get("uri"), str) else -32602
            return {"error": {"code": code, "message": "There is nothing of the kind"}}
        return super().answer(message)


MODES = {
    "last": Last,
    "every-second": EverySecond,
    "once": Once,
    "busy": Busy,
    "pings": Pings,
    "restless": Restless,
    "reshaped": Reshaped,
}
LATER = {**MODES, "quota": Quota}

if __name__ == "__main__":
    LATER[sys.argv[1]](Path(sys.argv[2])).run()
