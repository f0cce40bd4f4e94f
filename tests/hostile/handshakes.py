"""Targets that begin a session wrongly, late or not at all."""

from __future__ import annotations

import os
import sys
import time

from hostile import bounds
from hostile.base import HERE, Refused, change
from hostile.registry import add, target, vary

TYPE_CHECKING = False
VERSION = "(?im)the server answers with (?!-)|protocolVersion|does not exist|is no revision"
NO_ANSWER = "(?i)no answer|not answer|answers neither|unanswered"

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

UNKNOWN = {
    "2025-6-18": "2025-6-18",
    "1.0": "1.0",
    "2024-10-07": "2024-10-07",
    "empty": "",
    "draft": "draft",
    "2099-01-01": "2099-01-01",
    "with-a-blank": "2025-11-25 ",
    "with-a-v": "v2025-11-25",
    "in-wide-digits": "２０２５-11-25",
}
WRONG = (5, None, ["2025-11-25"], {"date": "2025-11-25"}, True, 20251125)


def _says(version: Any) -> Callable[[Server], None]:
    return lambda server: change(server, "initialize", "protocolVersion", version)


for _name, _version in UNKNOWN.items():
    add(
        f"version-{_name}",
        f"Says {_version!r} as protocolVersion, whatever it is asked for.",
        _says(_version),
        statuses=(1, 3),
        says=VERSION,
    )
for _number, _wrong in enumerate(WRONG):
    add(
        f"version-of-wrong-type-{_number}",
        f"Says {_wrong!r} as protocolVersion.",
        _says(_wrong),
        statuses=(1, 3),
        says=VERSION,
    )
add(
    "version-2026-07-28-in-a-handshake",
    "Says 2026-07-28, which has no handshake, as protocolVersion.",
    _says("2026-07-28"),
    statuses=(1, 3),
    says=VERSION,
)
add(
    "version-absent",
    "Says no protocolVersion.",
    lambda server: change(
        server, "initialize", "", {"capabilities": {}, "serverInfo": {"name": "hostile", "version": "1"}}
    ),
    statuses=(1, 3),
    says=VERSION,
)


def _answers(result: Any) -> Callable[[Server], None]:
    return lambda server: change(server, "initialize", "", result)


for _name, _value in (("null", None), ("an-array", []), ("text", "ok"), ("empty", {}), ("true", True)):
    add(
        f"initialize-result-is-{_name}",
        f"Answers initialize with {_value!r} as the result.",
        _answers(_value),
        statuses=(1, 3),
        says="(?i)initialize",
    )
for _code in (-32601, -32603, -32602, -32000, 0, 401):

    def _fails(server: Server, code: int = _code) -> None:
        def refuse(_params: Message) -> None:
            raise Refused(code, "not today")

        server.methods["initialize"] = refuse

    add(
        f"initialize-fails-with-{_code}".replace("--", "-minus-"),
        f"Answers initialize with error {_code}.",
        _fails,
        statuses=(1, 3),
        says="(?i)initialize|not today",
    )


@target(statuses=(3, 1), says="(?i)initialize|no answer")
def initialize_is_never_answered(server: Server) -> None:
    """Never answers initialize, and answers everything else with an error."""
    server.before["initialize"] = lambda: None
    server.edit = lambda request, reply: None if request["method"] == "initialize" else _refused(reply)


def _refused(reply: Message) -> Message:
    return {"jsonrpc": "2.0", "id": reply["id"], "error": {"code": -32601, "message": "Method not found"}}


def _comes_late(seconds: float) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        server.before["initialize"] = lambda: time.sleep(seconds)

    return play


def _starts_late(seconds: float) -> Callable[[Server], None]:
    def play(server: Server) -> None:
        server.after["start"] = lambda: time.sleep(seconds)

    return play


add("initialize-takes-5-s", "Takes 5 s for initialize.", _comes_late(5), statuses=(0, 3))
add("initialize-takes-40-s", "Takes 40 s for initialize.", _comes_late(40), statuses=(0, 3), says=NO_ANSWER)
add("starts-in-5-s", "Takes 5 s before it reads.", _starts_late(5), statuses=(0, 3))
add("starts-in-40-s", "Takes 40 s before it reads.", _starts_late(40), statuses=(0, 3), says=NO_ANSWER)


@target(statuses=(0, 3))
def first_start_takes_20_s(server: Server) -> None:
    """Takes 20 s for the first start in a folder, as what loads packages does, and is quick afterwards."""
    from pathlib import Path

    def first() -> None:
        mark = Path(".loaded")
        if not mark.exists():
            time.sleep(20)
            mark.touch()

    server.after["start"] = first


@target(statuses=(0, 1, 3))
def every_third_start_fails(server: Server) -> None:
    """Ends at once in a third of all starts, by chance."""
    server.after["start"] = lambda: sys.exit("the database is locked") if os.getpid() % 3 == 0 else None


@target(statuses=(3,), says="(?i)no such table: users")
def never_starts(server: Server) -> None:
    """Says on stderr what is missing, and ends with code 4."""

    def leave() -> None:
        sys.stderr.write("no such table: users\n")
        sys.stderr.flush()
        os._exit(4)

    server.after["start"] = leave


@target(statuses=(3,))
def starts_and_leaves(server: Server) -> None:
    """Ends at once, with status 0 and without a word."""
    server.after["start"] = lambda: os._exit(0)


@target()
def initialize_is_answered_twice(server: Server) -> None:
    """Answers initialize twice."""

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] == "initialize":
            server.send(reply)
        return reply

    server.edit = edit


@target(says="(?i)exited|died|ended")
def dies_after_initialize(server: Server) -> None:
    """Ends once it has answered initialize."""
    server.after["initialize"] = lambda: os._exit(9)


@target(says="(?i)exited|died|ended")
def dies_after_initialized(server: Server) -> None:
    """Ends once the client is initialized."""
    server.after["initialized"] = lambda: os._exit(9)


@target()
def tells_before_initialize(server: Server) -> None:
    """Logs before initialize is answered."""
    server.after["start"] = lambda: server.tell("notifications/message", {"level": "info", "data": "hello"})


@target()
def asks_before_initialize(server: Server) -> None:
    """Asks for the roots and for sampling before initialize was even sent."""

    def ask() -> None:
        server.tell("roots/list", {}, id=1)
        server.tell("sampling/createMessage", {"messages": [], "maxTokens": 1}, id=2)

    server.after["start"] = ask


@target()
def asks_before_it_answers_initialize(server: Server) -> None:
    """Asks for the roots, and answers initialize only when it has them."""
    server.before["initialize"] = lambda: server.ask("roots/list", {})


@target()
def initialize_before_it_is_asked(server: Server) -> None:
    """Answers initialize, with id 0 and 1, before it was asked."""

    def early() -> None:
        result = {"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "early", "version": "1"}}
        for number in (0, 1):
            server.send({"jsonrpc": "2.0", "id": number, "result": result})

    server.after["start"] = early


@target(statuses=(0, 1))
def needs_initialized_first(server: Server) -> None:
    """Refuses everything before the client is initialized, as it may."""
    ready: list[bool] = []
    server.after["initialized"] = lambda: ready.append(True)
    server.edit = lambda request, reply: (
        reply
        if ready or request["method"] in ("initialize", "ping")
        else {**_refused(reply), "error": {"code": -32600, "message": "not initialized yet"}}
    )


@target()
def never_ready(server: Server) -> None:
    """Refuses everything, since it never notices that the client is initialized."""
    server.edit = lambda request, reply: (
        reply
        if request["method"] == "initialize"
        else {**_refused(reply), "error": {"code": -32002, "message": "Server not initialized"}}
    )


@target()
def another_version_each_time(server: Server) -> None:
    """Says another revision at each start, whatever it is asked for."""
    change(server, "initialize", "protocolVersion", server.known[os.getpid() % len(server.known)])


@target()
def other_capabilities_each_time(server: Server) -> None:
    """Declares other capabilities at each start."""
    server.capabilities = {name: {} for number, name in enumerate(server.capabilities) if os.getpid() >> number & 1}


@target()
def declares_everything(server: Server) -> None:
    """Declares every capability and has none of them."""
    names = ("tools", "resources", "prompts", "completions", "logging", "tasks", "experimental", "extensions")
    server.capabilities = {name: {"listChanged": True, "subscribe": True, "list": {}, "cancel": {}} for name in names}
    server.methods = {name: server.methods[name] for name in ("initialize", "ping")}


@target(statuses=(1, 3))
def initialize_with_another_id(server: Server) -> None:
    """Answers initialize with an id of its own."""
    server.edit = lambda request, reply: {**reply, "id": "mine"} if request["method"] == "initialize" else reply


@target()
def speaks_2026_in_every_answer(server: Server) -> None:
    """Answers server/discover as 2026-07-28 does, with nothing behind it, and refuses initialize."""
    server.methods = {
        "server/discover": lambda _params: {
            "supportedVersions": ["2026-07-28"],
            "capabilities": {"tools": {}},
            "resultType": "complete",
            "serverInfo": {"name": "hostile", "version": "1"},
            "ttlMs": 0,
            "cacheScope": "private",
        }
    }


@target()
def discovers_nothing(server: Server) -> None:
    """Answers server/discover with an empty list of revisions."""
    server.methods["server/discover"] = lambda _params: {"supportedVersions": [], "capabilities": {}}


@target()
def discovers_oddly(server: Server) -> None:
    """Answers server/discover with nested arrays as revisions."""
    server.here = "[" * 900 + "]" * 900
    server.methods["server/discover"] = lambda _params: {"supportedVersions": [HERE, 5, None], "capabilities": 5}


@target(statuses=(3, 1))
def asks_for_a_password(server: Server) -> None:
    """Writes a prompt without a newline to stdout and waits for what never comes."""

    def prompt() -> None:
        server.write(b"Password: ")
        bounds.wait()

    server.after["start"] = prompt


vary(
    "handshakes",
    """
    version-2025-6-18 version-1.0 version-empty version-of-wrong-type-0 version-of-wrong-type-1
    version-2026-07-28-in-a-handshake initialize-result-is-null initialize-result-is-an-array
    initialize-is-never-answered initialize-takes-5-s starts-in-5-s never-starts initialize-is-answered-twice
    dies-after-initialize asks-before-it-answers-initialize needs-initialized-first never-ready declares-everything
    another-version-each-time speaks-2026-in-every-answer
    """,
)
