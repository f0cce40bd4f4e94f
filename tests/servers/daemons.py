"""A server that leaves processes behind: `python daemons.py HOW TAG [PORT [TRANSPORT]]`.

HOW is words joined by "+", one of each kind; what is not said is the first. TAG is the name that the processes get.

- when they are started: `start`, `request` (one for each), `end` (of the input)
- how they leave: `child` (plain), `group` (a group of their own), `session` (setsid), `daemon` (setsid, fork twice)
- what they hold: `nothing`, `stdin`, `stdout`, `stderr`, `pipes` (all three)
- `deaf` (to SIGTERM), `clear` (their environment), `chdir`, `busy` (they fork again and again)
- the server itself: `stubborn` (ignores the end of its input and SIGTERM)

With a PORT it serves there: http (left out), sse or websocket. The input that ends is then a SIGTERM.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from hostile.manners import answer
from hostile.websocket import Connection, Site

from conformance.reference import http
from conformance.reference.__main__ import main as reference

WORDS, TAG = sys.argv[1].split("+"), sys.argv[2]
PIPES = ("stdin", "stdout", "stderr")
SLEEP = shutil.which("sleep") or "/bin/sleep"
BUSY = 2
"""How many rows of processes there are, each of which starts the next one and ends."""


def apart(begin: Callable[[], None]) -> None:
    """Call `begin` in another process, which ends with it; return when that is under way."""
    child = os.fork()
    if child == 0:
        try:
            begin()
        finally:
            os._exit(0)
    if "daemon" in WORDS:
        os.waitpid(child, 0)


def leave() -> None:
    """Become what is left behind."""
    if "group" in WORDS:
        os.setpgid(0, 0)
    if {"session", "daemon"} & set(WORDS):
        os.setsid()
    if "daemon" in WORDS and os.fork():
        return
    if "deaf" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if "chdir" in WORDS:
        os.chdir("/")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number, name in enumerate(PIPES):
        if name not in WORDS and "pipes" not in WORDS:
            os.dup2(nowhere, number)
    if "busy" in WORDS:
        for _ in range(BUSY):
            apart(hop)
    sleep()


def hop() -> None:
    """Be followed by another one after a moment, for ever."""
    while True:
        time.sleep(0.02)
        if os.fork():
            os._exit(0)


def sleep() -> None:
    """Sleep under the name TAG."""
    os.execve(SLEEP, [TAG, "600"], {} if "clear" in WORDS else dict(os.environ))


def serve() -> None:
    """A tiny server over stdio."""
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict) and isinstance(message.get("params", {}), dict) and "jsonrpc" in message:
            if "request" in WORDS and "id" in message:
                apart(leave)
            answer(message)


def serve_at(port: int, transport: str) -> None:
    """The reference server at a port; over WebSocket another small server."""
    if "end" in WORDS:
        signal.signal(signal.SIGTERM, hand_over)
        http._stop = hand_over
    if transport == "websocket":
        site = Site()
        if "request" in WORDS:
            site.message = heard
        site.serve(port)
    reference(["--transport", transport, "--port", str(port)])


def hand_over(number: int, frame: object) -> NoReturn:
    """Leave what is left behind, and end."""
    apart(leave)
    os._exit(0)


def heard(connection: Connection, text: bytes) -> None:
    """Leave something behind, and answer."""
    if b'"id"' in text:
        apart(leave)
    connection.server.line(text)


def main() -> None:
    """Serve."""
    if not {"request", "end"} & set(WORDS):
        apart(leave)
    if "stubborn" in WORDS:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if len(sys.argv) > 3:
        serve_at(int(sys.argv[3]), sys.argv[4] if len(sys.argv) > 4 else "http")
    serve()
    if "end" in WORDS:
        apart(leave)
    while "stubborn" in WORDS:
        time.sleep(60)


if __name__ == "__main__":
    main()
