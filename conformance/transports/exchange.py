"""One exchange of Streamable HTTP, and how it ended."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from typing import NamedTuple


@dataclass(slots=True)
class Job:
    """One exchange: what is sent, whether a connection was opened for it, whether an answer has begun.

    `written` is when it was sent, in seconds of the monotonic clock. `speaks` is the socket on which the answer comes;
    `dropped` means that we have broken it off. `whole` means that `data` is the request with its head; `apart` that
    what answers it is no message. `again` is how often it was sent again, as the server had asked,
    `surplus` the bytes that came after the end of its answer.
    """

    number: int
    method: str
    data: bytes
    headers: dict[str, str]
    whole: bool = False
    apart: bool = False
    connected: bool = False
    answered: bool = False
    speaks: socket.socket | None = None
    dropped: bool = False
    written: float = 0.0
    again: int = 0
    surplus: int = 0

    def waits_since(self, moment: float) -> bool:
        """Whether it was sent before that moment, and nothing of an answer has come."""
        return 0 < self.written < moment and not self.answered

    def stale(self, error: Exception, at_once: float) -> bool:
        """Whether only a connection of earlier exchanges has ended, as servers close those that are idle.

        It is sent again then, as browsers do (RFC 9112, 9.3.1, lets a client that knows that it may). What ends later
        than such a connection shows that it has ended was read by the server, which may have begun with it.
        """
        import httpx2

        broken = isinstance(error, (httpx2.ReadError, httpx2.WriteError)) or (
            isinstance(error, httpx2.RemoteProtocolError) and "without sending a response" in str(error)
        )
        soon = not self.written or time.monotonic() - self.written < at_once
        return broken and soon and not (self.connected or self.answered or self.dropped)


class Over(NamedTuple):
    """How an exchange ended, for people, and, if it is the `last`, why; whether the session alone is `lost`.

    `unread` means that its answer was too large, `refused` that there was no connection, `empty` that the answer held
    no message, `accepted` that what answers it comes elsewhere.
    """

    reason: str
    last: str = ""
    lost: bool = False
    unread: bool = False
    refused: bool = False
    empty: bool = False
    accepted: bool = False
