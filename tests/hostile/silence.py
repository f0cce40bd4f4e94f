"""Targets that do not answer, answer late, or go."""

from __future__ import annotations

import json
import os
import sys
import time

from hostile import bounds
from hostile.base import in_turn, then
from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

NO_ANSWER = "(?i)(no|not|never|without an|un) ?answer|did not return"
GONE = "(?i)exited with code 9"
HANGS = r"(?s)the server stops answering.*what was sent: .*frame +[\d.]+ s → "
KINDS = (
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
)


def _never(method: str) -> Callable[[Server], None]:
    """The method is not answered; the server goes on."""

    def play(server: Server) -> None:
        server.edit = lambda request, reply: None if request["method"] == method else reply

    return play


def _hangs(method: str) -> Callable[[Server], None]:
    """The method hangs the whole server."""

    def play(server: Server) -> None:
        server.before[method] = bounds.wait

    return play


for _method in KINDS:
    _name = _method.replace("/", "-").lower()
    add(
        f"never-answers-{_name}",
        f"Never answers {_method}, and goes on.",
        _never(_method),
        says=NO_ANSWER,
        statuses=(0, 1),
    )
    add(f"hangs-in-{_name}", f"Hangs for good in {_method}.", _hangs(_method), says=NO_ANSWER, statuses=(0, 1, 3))


UNKNOWN = "after a request for an unknown method the server stops answering"


@target(statuses=(1,), says=UNKNOWN)
def dies_on_unknown_methods(server: Server) -> None:
    """End at any method that it does not know."""
    server.edit = lambda _request, reply: os._exit(3) if reply.get("error", {}).get("code") == -32601 else reply


@target(statuses=(1,), says=UNKNOWN)
def hangs_on_unknown_methods(server: Server) -> None:
    """Hangs for good when it is asked for a method that does not exist."""

    def edit(_request: Message, reply: Message) -> Message:
        if reply.get("error", {}).get("code") == -32601:
            bounds.wait()
        return reply

    server.edit = edit


@target(statuses=(1,), says="ping is not answered")
def drops_ping_and_unknown_methods(server: Server) -> None:
    """Drops requests for methods that it does not know, and knows no ping."""

    def edit(request: Message, reply: Message) -> Any:
        unknown = reply.get("error", {}).get("code") == -32601
        return None if unknown or request["method"] == "ping" else reply

    server.edit = edit


def _hangs_at(wrong: Callable[[bytes], bool]) -> Callable[[Server], None]:
    """A line of input that is `wrong` hangs the whole server."""

    def play(server: Server) -> None:
        def take(line: bytes) -> None:
            if wrong(line):
                bounds.wait()
            server.line(line)

        server.take = take

    return play


def _is_no_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return bool(line.strip())
    return False


def _is_no_utf8(line: bytes) -> bool:
    return "\N{REPLACEMENT CHARACTER}" in line.decode("utf-8", "replace")


# That a server answers what is no message at all is said in prose and by SHOULD only: no violation.
for _name, _what, _wrong in (
    ("bad-json", "what is not JSON", _is_no_json),
    ("a-long-line", "a line of more than 64 KiB", lambda line: len(line) > 65_536),
    ("bad-utf-8", "what is not UTF-8", _is_no_utf8),
):
    add(f"hangs-on-{_name}", f"Hangs for good when it gets {_what}.", _hangs_at(_wrong), statuses=(0,), says=HANGS)


@target()
def silent_on_errors(server: Server) -> None:
    """Answers with results only, never with an error."""
    server.edit = lambda _request, reply: None if "error" in reply else reply


@target()
def hangs_on_cancellation(server: Server) -> None:
    """Hangs for good when a request is cancelled."""
    server.after["cancelled"] = bounds.wait


@target()
def dies_on_cancellation(server: Server) -> None:
    """Ends when a request is cancelled."""
    server.after["cancelled"] = lambda: os._exit(9)


@target()
def hangs_on_initialized(server: Server) -> None:
    """Hangs for good once the client is initialized."""
    server.after["initialized"] = bounds.wait


def _late(seconds: float, *methods: str) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        def edit(request: Message, reply: Message) -> Message:
            if not methods or request["method"] in methods:
                time.sleep(seconds)
            return reply

        server.edit = edit

    return play


add("answers-late", "Answers everything 2 s late.", _late(2), statuses=(1, 3), says="waiting for answers took")
add("answers-half-a-second-late", "Answers everything 0.5 s late.", _late(0.5), statuses=(0, 1))
add("calls-take-long", "Takes 4 s for each tool.", _late(4, "tools/call"), statuses=(0, 1))
add("lists-take-long", "Takes 3 s for each list.", _late(3, *(kind for kind in KINDS if kind.endswith("list"))))


@target()
def answers_after_the_next(server: Server) -> None:
    """Answers each request when the next one has come, but initialize at once."""
    kept: list[Any] = []

    def edit(request: Message, reply: Message) -> Any:
        kept.append(reply)
        return reply if request["method"] == "initialize" else kept.pop(0) if len(kept) > 1 else None

    server.edit = edit
    server.after["initialize"] = kept.clear


@target()
def answers_in_reverse(server: Server) -> None:
    """Collects three answers and sends them in reverse order."""
    kept: list[Any] = []

    def edit(request: Message, reply: Message) -> Any:
        if request["method"] == "initialize":
            return reply
        kept.append(reply)
        if len(kept) == 3:
            for each in reversed(kept):
                server.send(each)
            kept.clear()
        return None

    server.edit = edit


@target()
def drops_every_second_request(server: Server) -> None:
    """Answers every second request only."""
    server.edit = lambda request, reply: None if server.heard % 2 == 0 else reply


@target()
def drops_at_random(server: Server) -> None:
    """Drops a tenth of all requests, never the same ones."""
    import random

    server.edit = lambda _request, reply: None if random.random() < 0.1 else reply


@target()
def answers_only_at_the_end(server: Server) -> None:
    """Answers everything when its input has ended."""
    kept: list[bytes] = []
    server.take = kept.append

    def answer() -> None:
        for line in kept:
            server.line(line)

    server.after["end"] = answer


def _dies(at: int) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        def edit(_request: Message, reply: Message) -> Message:
            return reply if server.heard < at else os._exit(9)

        server.edit = edit

    return play


for _at in (1, 2, 3, 5, 20, 50):
    add(
        f"dies-at-request-{_at}",
        f"Ends without an answer at request {_at}.",
        _dies(_at),
        says=GONE,
        statuses=(1, 3) if _at < 3 else (1,),
    )


@target(says=GONE)
def dies_at_random(server: Server) -> None:
    """Ends without an answer at one of a hundred requests, never the same one."""
    import random

    server.edit = lambda _request, reply: os._exit(9) if random.random() < 0.01 else reply


@target(says=GONE)
def dies_in_a_race(server: Server) -> None:
    """Ends if two requests come within two milliseconds, three times of four."""
    import random

    last = [0.0]

    def edit(_request: Message, reply: Message) -> Message:
        now = time.monotonic()
        if now - last[0] < 0.002 and random.random() < 0.75:
            os._exit(9)
        last[0] = now
        return reply

    server.edit = edit


@target(says=GONE)
def dies_in_each_call(server: Server) -> None:
    """Ends whenever a tool is called."""
    server.before["tools/call"] = lambda: os._exit(9)


@target(says=GONE)
def dies_after_each_answer(server: Server) -> None:
    """Answers initialize, and one more request."""
    server.after["ping"] = server.after["tools/list"] = lambda: os._exit(9)


@target()
def stops_reading(server: Server) -> None:
    """Stops to read its input once the client is initialized, and stays."""
    then(server, b"initialized", bounds.wait)


@target()
def stops_reading_later(server: Server) -> None:
    """Stops to read its input after twenty requests, and stays."""

    def take(line: bytes) -> None:
        server.line(line)
        if server.heard > 20:
            bounds.wait()

    server.take = take


@target()
def reads_slowly(server: Server) -> None:
    """Reads a byte every millisecond."""

    def crawl() -> None:
        line = b""
        while byte := os.read(0, 1):
            time.sleep(0.001)
            line += byte
            if byte == b"\n":
                server.line(line)
                line = b""
        os._exit(0)

    server.after["start"] = crawl


@target()
def closes_its_input(server: Server) -> None:
    """Closes its stdin once the client is initialized, and stays."""
    then(server, b"initialized", lambda: _close(0))


def _close(number: int) -> None:
    os.close(number)
    bounds.wait()


@target(statuses=(1, 3))
def closes_its_output(server: Server) -> None:
    """Closes its stdout once it has answered initialize, and goes on reading."""
    server.after["initialize"] = in_turn(lambda: os.close(1), _read_on)


@target(statuses=(3, 1))
def closes_its_output_at_once(server: Server) -> None:
    """Closes its stdout before anything, and goes on reading."""
    server.after["start"] = in_turn(lambda: os.close(1), _read_on)


def _read_on() -> None:
    while sys.stdin.buffer.read(65536):
        pass
    os._exit(0)


@target(statuses=(1, 3))
def half_an_answer(server: Server) -> None:
    """Writes half of the answer to tools/list, and waits."""

    def half() -> None:
        server.write(b'{"jsonrpc": "2.0", "id": ')
        bounds.wait()

    server.before["tools/list"] = half


vary(
    "silence",
    """
    drops-ping-and-unknown-methods
    never-answers-ping never-answers-tools-list never-answers-tools-call never-answers-completion-complete
    hangs-in-tools-call hangs-on-unknown-methods dies-on-unknown-methods hangs-on-bad-json answers-late
    calls-take-long
    answers-after-the-next drops-every-second-request answers-only-at-the-end dies-at-request-1 dies-at-request-5
    dies-in-each-call stops-reading closes-its-input closes-its-output
    """,
)
