"""Targets that write without end."""

from __future__ import annotations

import json
import sys

from hostile import bounds
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Server

    Payload = Callable[[int], bytes]

OUR_FAULT = "(?i)stdout carries|flood|without end|more than|too (much|many)"
"""What a sentence that names a flood says, in one way or another."""


def _message(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode() + b"\n"


def _ask(method: str, params: Any = None) -> Payload:
    given = {} if params is None else {"params": params}
    return lambda n: _message(id=f"f{n}", method=method, **given)


def _tell(method: str, params: Any = None) -> Payload:
    given = {} if params is None else {"params": params}
    data = _message(method=method, **given)
    return lambda n: data


def _same(data: bytes) -> Payload:
    return lambda n: data


LOG = {"level": "info", "data": "again and again"}
SAMPLING = {"messages": [{"role": "user", "content": {"type": "text", "text": "hm?"}}], "maxTokens": 10}
ELICITATION = {"message": "hm?", "requestedSchema": {"type": "object", "properties": {"a": {"type": "string"}}}}
BIG = {"level": "info", "data": "x" * 1_000_000}

PAYLOADS: dict[str, tuple[str, Payload]] = {
    "newlines": ("newlines", _same(b"\n" * 4096)),
    "spaces": ("spaces, and never a newline", _same(b" " * 4096)),
    "letters": ("one line that never ends", _same(b"x" * 65536)),
    "text": ("lines of text", _same(b"debug: still here\n" * 100)),
    "nul-bytes": ("NUL bytes in lines", _same(b"\0" * 100 + b"\n")),
    "bad-bytes": ("lines of bytes that are no UTF-8", _same(b"\xff\xfe\xc0\n" * 100)),
    "empty-objects": ("empty JSON objects", _same(b"{}\n" * 100)),
    "empty-batches": ("empty JSON arrays", _same(b"[]\n" * 100)),
    "log-messages": ("log messages", _tell("notifications/message", LOG)),
    "big-messages": ("log messages of 1 MB", _tell("notifications/message", BIG)),
    "list-changes": ("notifications that the tools have changed", _tell("notifications/tools/list_changed")),
    "unknown-notifications": ("notifications that do not exist", _tell("notifications/none")),
    "progress": (
        "progress of a token that nobody gave",
        lambda n: _message(method="notifications/progress", params={"progressToken": "none", "progress": n}),
    ),
    "cancellations": (
        "cancellations of requests that it never made",
        lambda n: _message(method="notifications/cancelled", params={"requestId": n}),
    ),
    "pings": ("pings", _ask("ping")),
    "roots": ("requests for the roots", _ask("roots/list")),
    "sampling": ("requests for sampling", _ask("sampling/createMessage", SAMPLING)),
    "elicitation": ("requests for elicitation", _ask("elicitation/create", ELICITATION)),
    "unknown-requests": ("requests that do not exist", _ask("none/such")),
    "stray-answers": ("answers to what nobody asked", lambda n: _message(id=n + 100_000, result={})),
    "stray-errors": ("errors without an id", _same(_message(id=None, error={"code": -1, "message": "no"}))),
    "batches": (
        "batches of 1000 pings",
        lambda n: (
            json.dumps([{"jsonrpc": "2.0", "id": f"{n}-{m}", "method": "ping"} for m in range(1000)]).encode() + b"\n"
        ),
    ),
}
WHEN = {
    "start": "from the start",
    "initialize": "once it has answered initialize",
    "tools/call": "once a tool was called",
    "end": "once its input has ended",
}
CHOSEN = {
    "start": "newlines spaces letters text empty-objects log-messages pings batches",
    "initialize": "newlines bad-bytes big-messages list-changes unknown-notifications progress pings roots sampling "
    "stray-answers empty-batches",
    "tools/call": "log-messages progress cancellations elicitation sampling unknown-requests stray-errors letters",
    "end": "newlines log-messages pings nul-bytes big-messages",
}


def _for_ever(server: Server, payload: Payload) -> None:
    number = 0
    while True:
        server.write(payload(number))
        number += 1


def _flooding(moment: str, payload: Payload) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        server.after[moment] = lambda: _for_ever(server, payload)

    return play


for _moment, _names in CHOSEN.items():
    for _name in _names.split():
        _what, _payload = PAYLOADS[_name]
        add(
            f"flood-{_name}-{_moment.replace('tools/', '')}",
            f"Writes {_what} without end, {WHEN[_moment]}.",
            _flooding(_moment, _payload),
            statuses=(1, 3) if _moment in ("start", "initialize") else (0, 1, 3),
            says=OUR_FAULT if _name in ("newlines", "spaces", "letters", "text") and _moment == "start" else "",
        )


def _beside(payload: Payload) -> Callable[[Server], None]:
    """Flood from another thread, line by line, while the requests are answered."""

    def play(server: Server) -> None:
        import threading

        lock, plain = threading.Lock(), server.write

        def one(data: bytes) -> None:
            with lock:
                plain(data)

        server.write = one
        server.after["start"] = lambda: threading.Thread(target=_for_ever, args=(server, payload), daemon=True).start()

    return play


for _name in ("newlines", "log-messages", "pings", "stray-answers", "roots"):
    add(f"flood-{_name}-beside", f"Writes {PAYLOADS[_name][0]} without end, and serves.", _beside(PAYLOADS[_name][1]))


def _shout(data: str) -> None:
    written = 0
    while True:
        written += len(data)
        bounds.spent(written)
        sys.stderr.write(data)


@target()
def stderr_without_end(server: Server) -> None:
    """Writes lines to stderr without end from another thread, and serves."""
    import threading

    server.after["start"] = threading.Thread(target=_shout, args=("noise\n" * 1000,), daemon=True).start


@target()
def stderr_one_line_without_end(server: Server) -> None:
    """Writes to stderr without end and without a newline once initialize was answered, and serves no more."""
    server.after["initialize"] = lambda: _shout("noise " * 1000)


@target(statuses=(0, 1))
def stderr_after_the_end(server: Server) -> None:
    """Writes to stderr without end once its input has ended."""
    server.after["end"] = lambda: _shout("bye\n" * 1000)


@target(statuses=(0, 1))
def stderr_100_mb(server: Server) -> None:
    """Writes 100 MB to stderr before it serves."""
    server.after["start"] = lambda: [sys.stderr.write("x" * 1_000_000 + "\n") for _ in range(100)]


@target()
def answers_each_request_a_thousand_times(server: Server) -> None:
    """Sends every answer a thousand times."""
    plain = server.send
    server.send = lambda message: [plain(message) for _ in range(1000)]


@target()
def asks_for_each_answer(server: Server) -> None:
    """Pings again for every answer to a ping, a game without end once it has begun."""

    def take(line: bytes) -> None:
        if b'"result"' in line or b'"error"' in line:
            server.questions += 1
            server.send({"jsonrpc": "2.0", "id": f"p{server.questions}", "method": "ping"})
        else:
            server.line(line)

    server.take = take
    server.after["initialized"] = lambda: server.send({"jsonrpc": "2.0", "id": "p0", "method": "ping"})


vary(
    "floods",
    """
    flood-newlines-start flood-letters-start flood-pings-start flood-newlines-initialize
    flood-big-messages-initialize flood-roots-initialize flood-log-messages-call flood-elicitation-call
    flood-newlines-end flood-log-messages-beside flood-pings-beside stderr-without-end
    answers-each-request-a-thousand-times asks-for-each-answer
    """,
)
