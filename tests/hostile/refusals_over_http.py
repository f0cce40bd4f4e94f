"""Targets at a URL whose errors are lost on the way: HTTP says something else, or nothing."""

from __future__ import annotations

import sys

from hostile.registry import add, vary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from hostile.base import Message
    from hostile.registry import Play
    from hostile.web import Exchange

    Refuse = Callable[[Exchange], None]


def _closed(exchange: Exchange) -> None:
    exchange.close_connection = True


def _empty_stream(exchange: Exchange) -> None:
    exchange.stream()
    exchange.close_connection = True


def _refusing(refuse: Refuse) -> Play:
    """Answer correctly but for errors."""

    def play(_server: Any) -> None:
        from hostile.web import Web

        def chosen(exchange: Exchange, _request: Message, reply: Any) -> None:
            if isinstance(reply, dict) and "error" in reply:
                refuse(exchange)
            else:
                exchange.answer(reply)

        web = Web()
        web.post = chosen
        web.serve(int(sys.argv[2]))

    return play


for _name, _what, _refuse in (
    ("accepted", "202, as if it were a notification", lambda exchange: exchange.bare(202)),
    ("empty", "200 and an empty body", lambda exchange: exchange.whole(200, b"")),
    ("failing", "500 and a plain text", lambda exchange: exchange.whole(500, b"Internal Server Error", "text/plain")),
    ("closed", "the end of the connection", _closed),
    ("streams", "a stream of events in which there is none", _empty_stream),
):
    add(
        f"http-errors-{_name}", f"Instead of errors there is {_what}.", _refusing(_refuse), transport="http", whole=True
    )

vary("refusals_over_http", "http-errors-accepted http-errors-failing")
