"""Targets whose answers carry other ids than the requests did, or that answer what is no request."""

from __future__ import annotations

from hostile.registry import add, target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message, Server

    Rewrite = Callable[[Message, Message], Any]

WRONG_ID = r"(?im)^violation +jsonrpc/|repeat the id|id that no request has|without an id|id null|an id of another"


def _rewriting(rewrite: Rewrite, *, from_start: bool = False) -> Callable[[Server], None]:
    """The answer is rewritten, that to initialize only if `from_start`."""

    def play(server: Server) -> None:
        def edit(request: Message, reply: Message) -> Any:
            return reply if request["method"] == "initialize" and not from_start else rewrite(request, reply)

        server.edit = edit

    return play


def _without(reply: Message, name: str) -> Message:
    return {member: value for member, value in reply.items() if member != name}


def _if_error(change: Rewrite) -> Rewrite:
    return lambda request, reply: change(request, reply) if "error" in reply else reply


REWRITES: dict[str, tuple[str, Rewrite]] = {
    "null": ("null as id", lambda request, reply: {**reply, "id": None}),
    "none": ("no id", lambda request, reply: _without(reply, "id")),
    "text": ("ids as texts", lambda request, reply: {**reply, "id": str(reply["id"])}),
    "always-one": ("1 as id", lambda request, reply: {**reply, "id": 1}),
    "next": ("the next id", lambda request, reply: {**reply, "id": f"{reply['id']}1"}),
    "negative": ("other numbers as ids", lambda request, reply: {**reply, "id": -7 - hash(str(reply["id"])) % 999}),
    "fractions": ("fractions as ids", lambda request, reply: {**reply, "id": 0.5}),
    "lists": ("ids in a list", lambda request, reply: {**reply, "id": [reply["id"]]}),
    "booleans": ("true as id", lambda request, reply: {**reply, "id": True}),
    "long": ("ids of 1 MB", lambda request, reply: {**reply, "id": "i" * 1_000_000}),
    "elsewhere": (
        "the id in a member requestId",
        lambda request, reply: {**_without(reply, "id"), "requestId": reply["id"]},
    ),
    "method": ("the method as id", lambda request, reply: {**reply, "id": request["method"]}),
}
for _name, (_what, _rewrite) in REWRITES.items():
    add(f"ids-{_name}", f"Answers with {_what}.", _rewriting(_rewrite), statuses=(1,), says=WRONG_ID)
for _name in ("null", "none", "text", "always-one"):
    _what, _rewrite = REWRITES[_name]
    add(
        f"ids-{_name}-from-start",
        f"Answers with {_what}, also to initialize.",
        _rewriting(_rewrite, from_start=True),
        statuses=(1, 3),
        says=WRONG_ID,
    )
for _name in ("null", "none", "text", "negative"):
    _what, _rewrite = REWRITES[_name]
    add(
        f"errors-with-ids-{_name}",
        f"Refuses with {_what}.",
        _rewriting(_if_error(_rewrite)),
        statuses=(1,),
        says=WRONG_ID,
    )


@target(statuses=(1,), says=WRONG_ID)
def ids_of_the_request_before(server: Server) -> None:
    """Answers with the id of the request before."""
    last: list[Any] = [0]

    def edit(request: Message, reply: Message) -> Message:
        before, last[0] = last[0], request["id"]
        return reply if request["method"] == "initialize" else {**reply, "id": before}

    server.edit = edit


@target()
def answers_twice(server: Server) -> None:
    """Sends every answer twice."""

    def edit(_request: Message, reply: Message) -> Message:
        server.send(reply)
        return reply

    server.edit = edit


@target()
def answers_twice_differently(server: Server) -> None:
    """Sends a result and then an error to every request."""

    def edit(_request: Message, reply: Message) -> Message:
        server.send(reply)
        return {"jsonrpc": "2.0", "id": reply["id"], "error": {"code": -32603, "message": "and yet"}}

    server.edit = edit


@target(statuses=(1,))
def answers_notifications(server: Server) -> None:
    """Answers every notification with a result without an id."""

    def take(line: bytes) -> None:
        server.line(line)
        if "method" in server.asked and "id" not in server.asked:
            server.send({"jsonrpc": "2.0", "id": None, "result": {}})

    server.take = take


@target(statuses=(1,))
def refuses_notifications(server: Server) -> None:
    """Answers every notification with an error."""

    def take(line: bytes) -> None:
        server.line(line)
        if "method" in server.asked and "id" not in server.asked:
            server.send({"jsonrpc": "2.0", "id": None, "error": {"code": -32601, "message": "Method not found"}})

    server.take = take


@target()
def echoes(server: Server) -> None:
    """Writes every line that it reads, and then the answer."""

    def take(line: bytes) -> None:
        server.write(line)
        server.line(line)

    server.take = take


@target(statuses=(1, 3))
def only_echoes(server: Server) -> None:
    """Writes every line that it reads, and nothing else."""
    server.take = server.write


@target()
def asks_with_our_ids(server: Server) -> None:
    """Pings with the id of each request before it answers it."""

    def edit(request: Message, reply: Message) -> Message:
        server.send({"jsonrpc": "2.0", "id": request["id"], "method": "ping"})
        return reply

    server.edit = edit


@target()
def needs_an_answer_first(server: Server) -> None:
    """Pings before each answer, and answers only when the ping is answered."""

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] not in ("initialize", "ping"):
            server.ask("ping", {})
        return reply

    server.edit = edit


@target()
def result_and_error(server: Server) -> None:
    """Has both a result and an error in every answer but that to initialize."""
    both = {"result": {}, "error": {"code": 0, "message": ""}}
    server.edit = lambda request, reply: reply if request["method"] == "initialize" else {**both, **reply}


@target()
def neither_result_nor_error(server: Server) -> None:
    """Has neither a result nor an error in any answer but that to initialize."""

    def edit(request: Message, reply: Message) -> Message:
        return reply if request["method"] == "initialize" else {"jsonrpc": "2.0", "id": reply["id"]}

    server.edit = edit


@target()
def everything_fails(server: Server) -> None:
    """Answers everything but initialize with an internal error."""

    def edit(request: Message, reply: Message) -> Message:
        if request["method"] == "initialize":
            return reply
        return {"jsonrpc": "2.0", "id": reply["id"], "error": {"code": -32603, "message": "Internal error"}}

    server.edit = edit


@target()
def everything_succeeds(server: Server) -> None:
    """Answers everything but initialize with an empty result."""

    def edit(request: Message, reply: Message) -> Message:
        return reply if request["method"] == "initialize" else {"jsonrpc": "2.0", "id": reply["id"], "result": {}}

    server.edit = edit


vary(
    "ids",
    """
    ids-null ids-text ids-long ids-null-from-start errors-with-ids-null errors-with-ids-none answers-notifications
    only-echoes asks-with-our-ids needs-an-answer-first
    """,
)
