"""Targets of 2026-07-28: what its own methods and results may be made to do."""

from __future__ import annotations

import os

from hostile import bounds
from hostile.base import Refused
from hostile.modern import LISTEN, modern
from hostile.registry import target, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hostile.base import Message, Server

DISCOVER = "server/discover"


@target(statuses=(0,))
def sound_in_2026(server: Server) -> None:
    """Does nothing bad."""
    modern(server)


@target(statuses=(1,), says="server/discover is refused")
def discovers_once(server: Server) -> None:
    """Refuses server/discover once it has answered it, as if it were a handshake."""
    made = modern(server)
    asked: list[Message] = []

    def discover(params: Message) -> Message:
        asked.append(params)
        if len(asked) > 1:
            raise Refused(-32603, "already discovered")
        return dict(made.discover(params))

    made.methods[DISCOVER] = discover


@target(statuses=(1,), says="server/discover is not answered")
def discovers_once_and_is_silent(server: Server) -> None:
    """Does not answer server/discover once it has answered it."""
    modern(server)
    plain, asked = server.edit, [0]

    def edit(request: Message, reply: Message) -> Message | None:
        asked[0] += request["method"] == DISCOVER
        return None if request["method"] == DISCOVER and asked[0] > 1 else plain(request, reply)

    server.edit = edit


@target(statuses=(1,), says="server/discover is not answered")
def hangs_in_subscriptions(server: Server) -> None:
    """Hangs for good in subscriptions/listen."""
    modern(server).methods[LISTEN] = lambda _params: bounds.wait()


@target(statuses=(1,), says="subscriptions/listen is not answered")
def dies_in_subscriptions(server: Server) -> None:
    """Ends without an answer in subscriptions/listen."""
    modern(server).methods[LISTEN] = lambda _params: os._exit(9)


@target(statuses=(0,), says="subscriptions/listen is not acknowledged")
def never_acknowledges(server: Server) -> None:
    """Takes subscriptions, and never acknowledges one."""
    modern(server).acknowledge = lambda number, granted: None  # type: ignore[method-assign]


@target()
def another_list_each_time(server: Server) -> None:
    """Has one more tool whenever they are listed, and tells nobody."""
    made = modern(server)
    plain = made.methods["tools/list"]

    def page(params: Message) -> Message:
        server.tools = [*server.tools, {**server.tools[2], "name": f"erase{len(server.tools)}"}]
        return dict(plain(params))

    made.methods["tools/list"] = page


vary("stateless", "sound-in-2026 discovers-once discovers-once-and-is-silent hangs-in-subscriptions")
