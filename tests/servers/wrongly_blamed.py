"""Servers that a careless suite blames: each is correct in 2025-11-25 and before, but for one thing.

`python wrongly_blamed.py MODE [FOLDER]`: the folder tells one run from another, and remembers what happened in it.
"""

from __future__ import annotations

import json
import os
import re
import select
import sys
import threading
import time
from pathlib import Path
from typing import Any

Message = dict[str, Any]
KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
EMPTY = {"type": "object", "additionalProperties": False}
TOOL = {"name": "echo", "inputSchema": EMPTY, "annotations": {"readOnlyHint": True}}


class Server:
    """A correct server with one tool. A mode is a class of its own that changes one thing."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.version = ""

    def run(self) -> None:
        """Read lines to the end of input."""
        for line in sys.stdin.buffer:
            self.line(line)

    def line(self, line: bytes) -> None:
        """One line; what is no request or notification is left alone."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        if isinstance(message, dict) and self.is_request(message):
            self.take(message)
        elif isinstance(message, list) and self.version == "2025-03-26":
            self.batch(message)

    def batch(self, messages: list[Any]) -> None:
        """Of 2025-03-26 only."""
        if not messages:
            self.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "An empty batch"}})
        asked = [each for each in messages if isinstance(each, dict) and self.is_request(each) and "id" in each]
        answers = [{"jsonrpc": "2.0", "id": each["id"], **self.answer(each)} for each in asked]
        if answers:
            self.say(answers)

    def is_request(self, message: Message) -> bool:
        """Whether JSON-RPC 2.0 and the protocol call it a request or a notification."""
        identifier = message.get("id", "")
        return (
            message.get("jsonrpc") == "2.0"
            and isinstance(message.get("method"), str)
            and isinstance(message.get("params", {}), dict)
            and not isinstance(identifier, bool)
            and (isinstance(identifier, (str, int)) or (isinstance(identifier, float) and identifier.is_integer()))
        )

    def take(self, message: Message) -> None:
        """A request or a notification."""
        if "id" in message:
            self.say({"jsonrpc": "2.0", "id": message["id"], **self.answer(message)})

    def answer(self, message: Message) -> Message:
        """`result` or `error` of a request."""
        method, params = message["method"], message.get("params", {})
        if method == "initialize":
            return {"result": self.greeting(params)}
        if method == "ping":
            return {"result": {}}
        if method == "tools/list":
            if "cursor" in params:
                return {"error": {"code": -32602, "message": "Invalid cursor"}}
            return {"result": {"tools": [TOOL]}}
        if method == "tools/call":
            if params.get("name") != "echo" or not isinstance(params.get("arguments", {}), dict):
                return {"error": {"code": -32602, "message": "Unknown tool or invalid arguments"}}
            told = {"content": [{"type": "text", "text": "echo"}]}
            return {"result": {**told, "isError": True} if params.get("arguments") else told}
        return {"error": {"code": -32601, "message": "Method not found"}}

    def greeting(self, params: Message) -> Message:
        """The result of initialize."""
        wanted = params.get("protocolVersion")
        version = wanted if wanted in KNOWN else KNOWN[-1]
        info = {"name": "wrongly blamed", "version": "1"}
        self.version = version
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}

    def say(self, message: Any) -> None:
        """Write one message."""
        self.write(json.dumps(message).encode())

    def write(self, data: bytes) -> None:
        """Write one line."""
        sys.stdout.buffer.write(data + b"\n")
        sys.stdout.buffer.flush()

    def first_time(self, what: str) -> bool:
        """Whether that is asked for the first time in this folder, by any process."""
        try:
            (self.folder / what).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True


class LargeText(Server):
    """Has a resource of 1.4 MB with many commas in it."""

    text = "one, two, three " * 88_000

    def greeting(self, params: Message) -> Message:
        """Resources too."""
        result = super().greeting(params)
        result["capabilities"]["resources"] = {}
        return result

    def answer(self, message: Message) -> Message:
        """The resource, templates that there are none of."""
        method, params = message["method"], message.get("params", {})
        if method == "resources/list":
            return {"result": {"resources": [{"uri": "test://text", "name": "text"}]}}
        if method == "resources/templates/list":
            return {"result": {"resourceTemplates": []}}
        if method == "resources/read":
            if params.get("uri") != "test://text":
                return {"error": {"code": -32002, "message": "Resource not found"}}
            return {"result": {"contents": [{"uri": "test://text", "text": self.text}]}}
        return super().answer(message)


class AsksBeforeReading(LargeText):
    """Speaks 2026-07-28, and asks the user before its resource is read: not without elicitation, as that revision says.

    In 2025-11-25 it wants a URL to be visited first.
    """

    def answer(self, message: Message) -> Message:
        """The same in both revisions, but for the envelope."""
        method, params = message["method"], message.get("params", {})
        meta = params.get("_meta", {})
        version = meta.get("io.modelcontextprotocol/protocolVersion")
        if version is None:
            if method == "resources/read" and params.get("uri") == "test://text":
                page = {"mode": "url", "elicitationId": "1", "url": "https://example.com/", "message": "Sign in"}
                return {"error": {"code": -32042, "message": "Sign in first", "data": {"elicitations": [page]}}}
            return super().answer(message)
        client = meta.get("io.modelcontextprotocol/clientCapabilities")
        if version != "2026-07-28":
            data = {"supported": ["2026-07-28"], "requested": version}
            return {"error": {"code": -32022, "message": "Unsupported protocol version", "data": data}}
        if not isinstance(client, dict):
            return {"error": {"code": -32602, "message": "clientCapabilities is missing"}}
        hints = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
        if method == "server/discover":
            return {"result": {**hints, "supportedVersions": [version], "capabilities": {"resources": {}}}}
        if method == "resources/read" and params.get("uri") == "test://text" and "elicitation" not in client:
            lacking: Any = {"requiredCapabilities": {"elicitation": {"form": {}}}}
            return {"error": {"code": -32021, "message": "The user has to be asked", "data": lacking}}
        if method == "resources/read" and params.get("uri") != "test://text":
            return {"error": {"code": -32602, "message": "Resource not found"}}
        answer = super().answer(message) if method.startswith("resources/") else {}
        if "result" in answer:
            return {"result": {**hints, **answer["result"]}}
        return answer or {"error": {"code": -32601, "message": "Method not found"}}


class Embeds(LargeText):
    """Puts what it is called with into contents of every kind, whatever that is."""

    text = "text"
    arguments = ("uri", "data", "type")

    def greeting(self, params: Message) -> Message:
        """Prompts too."""
        result = super().greeting(params)
        result["capabilities"]["prompts"] = {}
        return result

    def answer(self, message: Message) -> Message:
        """A prompt and a tool with the same arguments, all of them required."""
        method, params = message["method"], message.get("params", {})
        given = params.get("arguments", {})
        known = params.get("name") == "embed" and isinstance(given, dict) and set(given) == set(self.arguments)
        if method == "tools/list" and "cursor" not in params:
            text = {"type": "string"}
            schema = {**EMPTY, "properties": dict.fromkeys(self.arguments, text), "required": [*self.arguments]}
            return {"result": {"tools": [{**TOOL, "name": "embed", "inputSchema": schema}]}}
        if method == "prompts/list" and "cursor" not in params:
            needed = [{"name": name, "required": True} for name in self.arguments]
            return {"result": {"prompts": [{"name": "embed", "arguments": needed}]}}
        if method in ("tools/call", "prompts/get"):
            if method == "tools/call" and params.get("name") == "embed" and isinstance(given, dict):
                if not known or not all(isinstance(each, str) for each in given.values()):
                    return {"result": {"content": [{"type": "text", "text": "Wrong arguments"}], "isError": True}}
            elif not known:
                return {"error": {"code": -32602, "message": "Unknown, or wrong arguments"}}
            blocks: list[Message] = [
                {"type": "resource", "resource": {"uri": given["uri"], "mimeType": "text/plain", "text": "x"}},
                {"type": "resource", "resource": {"uri": "test://a", "mimeType": "a/b", "blob": given["data"]}},
                {"type": "image", "data": given["data"], "mimeType": given["type"]},
            ]
            if method == "tools/call":
                return {"result": {"content": blocks}}
            return {"result": {"messages": [{"role": "user", "content": block} for block in blocks]}}
        return super().answer(message)


class InitializeFails(Server):
    """initialize is an error."""

    def answer(self, message: Message) -> Message:
        """An internal error."""
        if message["method"] == "initialize":
            return {"error": {"code": -32603, "message": "Internal error"}}
        return super().answer(message)


class OldAndStrict(Server):
    """Speaks two old revisions and refuses any other, where it should offer one that it speaks."""

    def answer(self, message: Message) -> Message:
        """An error, for what it does not speak."""
        wanted = message.get("params", {}).get("protocolVersion")
        if message["method"] == "initialize" and wanted not in KNOWN[:2]:
            return {"error": {"code": -32602, "message": "Unsupported protocol version"}}
        return super().answer(message)


class InitializeUnanswered(Server):
    """initialize is never answered; everything else is."""

    def take(self, message: Message) -> None:
        """All but one."""
        if message["method"] != "initialize":
            super().take(message)


class LateTheFirstTime(Server):
    """The first process needs 6 s to start, as one that is downloaded first."""

    def run(self) -> None:
        """Then serve."""
        if self.first_time("started"):
            time.sleep(6)
        super().run()


class Version(Server):
    """initialize is answered by a version of its own, the next word of the command line."""

    def greeting(self, params: Message) -> Message:
        """With that version; `none` is none."""
        greeting = {**super().greeting(params), "protocolVersion": sys.argv[3]}
        if sys.argv[3] == "none":
            del greeting["protocolVersion"]
        return greeting


class AnythingSucceeds(Server):
    """A method that does not exist gives an empty result."""

    def answer(self, message: Message) -> Message:
        """No errors."""
        answer = super().answer(message)
        return {"result": {}} if "error" in answer and answer["error"]["code"] == -32601 else answer


class ModernWithoutDiscover(InitializeFails):
    """server/discover is unknown, but other requests are answered as in 2026-07-28."""

    def answer(self, message: Message) -> Message:
        """With a resultType."""
        answer = super().answer(message)
        if "result" in answer:
            answer["result"].update(resultType="complete", ttlMs=0, cacheScope="private")
        return answer


class BothEras(Server):
    """Has both eras: what names no version in `_meta` is of the handshake era, which has no server/discover."""

    def answer(self, message: Message) -> Message:
        """By the rules of the era."""
        reserved = "io.modelcontextprotocol/"
        meta = message.get("params", {}).get("_meta")
        version = meta.get(reserved + "protocolVersion") if isinstance(meta, dict) else None
        if version is None:
            return super().answer(message)
        if not isinstance(meta.get(reserved + "clientCapabilities"), dict):
            return {"error": {"code": -32602, "message": "clientCapabilities"}}
        if version != "2026-07-28":
            data = {"supported": ["2026-07-28"], "requested": version}
            return {"error": {"code": -32022, "message": "Unsupported protocol version", "data": data}}
        answer = super().answer(message)
        if message["method"] in ("ping", "initialize"):
            return {"error": {"code": -32601, "message": "Method not found"}}
        if message["method"] == "server/discover":
            answer = {"result": {"supportedVersions": [*KNOWN, "2026-07-28"], "capabilities": {"tools": {}}}}
        if "result" in answer:
            info = {"name": "wrongly blamed", "version": "1"}
            answer["result"].update(resultType="complete", _meta={reserved + "serverInfo": info})
            if message["method"] != "tools/call":
                answer["result"].update(ttlMs=0, cacheScope="private")
        return answer


class DropsUnknown(BothEras):
    """Does not answer methods that it does not have."""

    def take(self, message: Message) -> None:
        """Or answers."""
        if not message["method"].startswith("mcp-conform/"):
            super().take(message)


class OddNumbers(Server):
    """Ids come back as they were written, to the byte."""

    raw = b""

    def line(self, line: bytes) -> None:
        """Remember how it was written."""
        found = re.search(rb'"id":\s*([-+0-9.eE]+)', line)
        self.raw = found[1] if found else b""
        super().line(line)

    def say(self, message: Any) -> None:
        """With those bytes."""
        data = json.dumps(message).encode()
        self.write(re.sub(rb'"id": [-+0-9.eE]+', b'"id": ' + self.raw, data, count=1) if self.raw else data)


class AnswersArrays(Server):
    """An array is answered by an array, in revisions without batches too."""

    def line(self, line: bytes) -> None:
        """Each element by an error of its own, or by a result."""
        if not line.startswith(b"["):
            super().line(line)
            return
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return
        refusal = {"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}}
        self.say([refusal for _ in message] or [refusal])


class RefusesSloppily(Server):
    """What is no request is refused by errors that are no proper messages themselves."""

    def line(self, line: bytes) -> None:
        """Without jsonrpc, and with a code that is no number."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if isinstance(message, dict) and self.is_request(message):
            super().line(line)
        elif not isinstance(message, dict) or not message.keys() & {"result", "error"}:
            self.say({"id": None, "error": {"code": "bad", "message": 7}})


class AnswersNotifications(Server):
    """Notifications are answered, as in no revision they may."""

    def take(self, message: Message) -> None:
        """By an error without an id."""
        if "id" not in message:
            error = {"code": -32601, "message": "Method not found"}
            self.say({"jsonrpc": "2.0", "id": None, "error": error})
        super().take(message)


class IdsAsText(Server):
    """Ids come back as text; a frame that is no request is refused as JSON-RPC says."""

    def line(self, line: bytes) -> None:
        """Requests as ever."""
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "Parse error"}})
            return
        if isinstance(message, dict) and self.is_request(message):
            super().line(line)
        elif not isinstance(message, dict) or not message.keys() & {"result", "error"}:
            self.say({"jsonrpc": "2.0", "id": None, "error": {"code": -32600, "message": "Invalid request"}})

    def say(self, message: Any) -> None:
        """A number as text."""
        identifier = message["id"]
        super().say({**message, "id": identifier if identifier is None else str(identifier)})


class ProgressBar(Server):
    """Calls of tools print to stdout, without a newline."""

    def answer(self, message: Message) -> Message:
        """The answer comes in the same line."""
        if message["method"] == "tools/call":
            sys.stdout.buffer.write(b"\rworking: 50 %")
        return super().answer(message)


class OnceOnly(Server):
    """The first ping ever is refused; no other one."""

    def answer(self, message: Message) -> Message:
        """By an error."""
        if message["method"] == "ping" and message["id"] == "mcp-conform" and self.first_time("refused"):
            return {"error": {"code": "once", "message": "not now"}}
        return super().answer(message)


class AfterOthers(Server):
    """A call of a tool that does not exist is answered wrongly after a certain string was seen as an id."""

    seen = False

    def answer(self, message: Message) -> Message:
        """By a code that is no number."""
        self.seen |= message["id"] == "mcp-conform"
        answer = super().answer(message)
        if self.seen and message["method"] == "tools/call" and "error" in answer:
            answer["error"]["code"] = "no such tool"
        return answer


class Race(Server):
    """Dies of a ping whose id is 0 in those processes of this folder that the next word has a 1 for, then never."""

    def answer(self, message: Message) -> Message:
        """Or is right."""
        if message["method"] == "ping" and message["id"] == 0:
            counter = self.folder / "counter"
            count = int(counter.read_text()) if counter.exists() else 0
            counter.write_text(str(count + 1))
            if sys.argv[3][count : count + 1] == "1":
                os._exit(7)
        return super().answer(message)


class DiesOfGarbageOnce(Server):
    """The first line ever that is no JSON ends the server; no other one."""

    def line(self, line: bytes) -> None:
        """Or is right."""
        try:
            json.loads(line)
        except ValueError:
            if self.first_time("died"):
                os._exit(7)
        super().line(line)


class ReadsNothing(Server):
    """Has resources, of which there are none, and gives an empty result where no URI is given."""

    def greeting(self, params: Message) -> Message:
        """With resources."""
        return {**super().greeting(params), "capabilities": {"resources": {}}}

    def answer(self, message: Message) -> Message:
        """The methods of resources."""
        method, params = message["method"], message.get("params", {})
        lists = {"resources/list": "resources", "resources/templates/list": "resourceTemplates"}
        if method in lists and "cursor" not in params:
            return {"result": {lists[method]: []}}
        if method == "resources/read" and "uri" not in params:
            return {"result": {}}
        if method in lists or method == "resources/read":
            return {"error": {"code": -32602, "message": "Invalid params"}}
        return super().answer(message)


def depth(value: Any) -> int:
    """How deep arrays and objects are nested."""
    if isinstance(value, dict):
        return 1 + max(map(depth, value.values()), default=0)
    return 1 + max(map(depth, value), default=0) if isinstance(value, list) else 0


def plain(value: Any) -> bool:
    """Whether a JSON value has only what a small parser takes."""
    if isinstance(value, dict):
        return len(value) <= 256 and all(plain(name) and plain(member) for name, member in value.items())
    if isinstance(value, list):
        return len(value) <= 256 and all(map(plain, value))
    if isinstance(value, str):
        return len(value) <= 20_000 and "\0" not in value
    return not isinstance(value, (int, float)) or value == 0 or 1e-100 < abs(value) < 2**53


class Limited(Server):
    """Does not take what is nested 32 deep, long, or has numbers beyond 53 bits; the next word says what it does."""

    def line(self, line: bytes) -> None:
        """Drop it, refuse it, or die of it."""
        try:
            value = json.loads(line)
            within = depth(value) <= 32 and plain(value)
        except ValueError:
            value, within = None, True
        except RecursionError:
            value, within = None, False
        if within or (sys.argv[3] == "dies" and not isinstance(value, dict)):
            super().line(line)
        elif sys.argv[3] == "refuses":
            error = {"code": -32700, "message": "Parse error: too deep, too long or too large"}
            self.say({"jsonrpc": "2.0", "id": None, "error": error})
        elif sys.argv[3] == "dies":
            os._exit(7)


class SilentOnceOpen(Server):
    """Answers initialize, and nothing else."""

    def take(self, message: Message) -> None:
        if message["method"] == "initialize":
            super().take(message)


class LimitsRequests(Server):
    """Refuses all but initialize from so many requests on as the next word says, as the word after it says."""

    asked = 0

    def answer(self, message: Message) -> Message:
        """Or is right."""
        self.asked += 1
        if self.asked <= int(sys.argv[3]) or message["method"] == "initialize":
            return super().answer(message)
        if sys.argv[4] == "by-error":
            return {"error": {"code": -32000, "message": "Too many requests"}}
        if message["method"] != "tools/call":
            return super().answer(message)
        return {
            "result": {"content": [{"type": "text", "text": "Rate limit exceeded: wait a minute"}], "isError": True}
        }


class TakesItsTime(Server):
    """Answers one after another, each 0.6 s late."""

    def take(self, message: Message) -> None:
        """Not at once."""
        time.sleep(0.6)
        super().take(message)


class SlowTogether(Server):
    """Answers one after another, and 0.2 s late when others wait."""

    def run(self) -> None:
        """Read what there is, and see how much that is."""
        begun = b""
        while data := os.read(0, 65536):
            *lines, begun = (begun + data).split(b"\n")
            for line in lines:
                if len(lines) > 1 or select.select([0], [], [], 0)[0]:
                    time.sleep(0.2)
                self.line(line)


class TiredOut(Server):
    """Does what the next word says from so many requests on as the word after it says."""

    asked = 0

    def take(self, message: Message) -> None:
        """Or is right."""
        self.asked += "id" in message
        if self.asked < int(sys.argv[4]):
            super().take(message)
        elif sys.argv[3] == "dies":
            os._exit(7)


class WorksToTheEnd(Server):
    """Its tool takes 9 s, whoever has cancelled it, and the server does not end before it."""

    def take(self, message: Message) -> None:
        """Tools run beside."""
        call = message["method"] == "tools/call" and message.get("params", {}).get("name") == "echo"
        if call and not message["params"].get("arguments"):
            threading.Timer(9.0, super().take, (message,)).start()
        else:
            super().take(message)


class AsksAtTheEnd(Server):
    """Pings once its input has ended, and stays for an answer; no answer can come."""

    def run(self) -> None:
        """End after a minute."""
        super().run()
        self.say({"jsonrpc": "2.0", "id": "last", "method": "ping"})
        select.select([], [], [], 60)


class WaitsForRoots(Server):
    """Asks for the roots once it is initialized, if the client has any, and does not end without them."""

    owed = False

    def run(self) -> None:
        """End once all is answered."""
        super().run()
        if self.owed:
            select.select([], [], [], 60)

    def greeting(self, params: Message) -> Message:
        """Remember whether there are roots."""
        self.owed = "roots" in params.get("capabilities", {})
        return super().greeting(params)

    def line(self, line: bytes) -> None:
        """Ask, and listen to the answer."""
        if self.owed and b"notifications/initialized" in line:
            self.say({"jsonrpc": "2.0", "id": "roots", "method": "roots/list"})
        self.owed &= b'"id":"roots"' not in line
        super().line(line)


MODES = {
    "works-to-the-end": WorksToTheEnd,
    "asks-at-the-end": AsksAtTheEnd,
    "waits-for-roots": WaitsForRoots,
    "progress-bar": ProgressBar,
    "drops-unknown": DropsUnknown,
    "tired-out": TiredOut,
    "embeds": Embeds,
    "silent-once-open": SilentOnceOpen,
    "correct": Server,
    "large-text": LargeText,
    "asks-before-reading": AsksBeforeReading,
    "initialize-fails": InitializeFails,
    "old-and-strict": OldAndStrict,
    "initialize-unanswered": InitializeUnanswered,
    "late-the-first-time": LateTheFirstTime,
    "version": Version,
    "anything-succeeds": AnythingSucceeds,
    "modern-without-discover": ModernWithoutDiscover,
    "both-eras": BothEras,
    "odd-numbers": OddNumbers,
    "answers-arrays": AnswersArrays,
    "refuses-sloppily": RefusesSloppily,
    "answers-notifications": AnswersNotifications,
    "ids-as-text": IdsAsText,
    "reads-nothing": ReadsNothing,
    "limited": Limited,
    "once-only": OnceOnly,
    "after-others": AfterOthers,
    "race": Race,
    "limits-requests": LimitsRequests,
    "takes-its-time": TakesItsTime,
    "slow-together": SlowTogether,
    "dies-of-garbage-once": DiesOfGarbageOnce,
}

if __name__ == "__main__":
    MODES[sys.argv[1]](Path(sys.argv[2])).run()
