"""Servers that are right, and unusual: each does one thing that the specification allows and hardly anybody does.

`python unusual.py MODE`, where MODE is one of MODES, over stdio.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

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


class OneAtATime(Server):
    """Takes a fifth of a second for each message, one after another, and never writes to stderr."""

    def line(self, line: bytes) -> None:
        """Wait first."""
        time.sleep(0.2)
        super().line(line)


def told(text: str) -> Message:
    """The result of a tool."""
    return {"content": [{"type": "text", "text": text}]}


def names_forms_by_an_empty_object() -> None:
    """The reference server, but that `elicitation` without members stands for forms where they are missing."""
    command = [sys.executable, "-m", "conformance.reference"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for line in process.stdout:
            short = b'{"elicitation":{}' if b"-32021" in line else b'{"elicitation":{"form":{}}'
            sys.stdout.buffer.write(line.replace(b'{"elicitation":{"form":{}}', short))
            sys.stdout.buffer.flush()


MODES = {
    "answers-empty-batches-late": AnswersEmptyBatchesLate,
    "leaves-out-what-does-not-fit": LeavesOutWhatDoesNotFit,
    "one-at-a-time": OneAtATime,
}

if __name__ == "__main__":
    if sys.argv[1] in MODES:
        MODES[sys.argv[1]](Path()).run()
    else:
        names_forms_by_an_empty_object()
