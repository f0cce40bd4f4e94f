"""What the transports to a URL have in common: the server behind it, which we may have started."""

from __future__ import annotations

from urllib.parse import urlsplit

from conformance.model import Limits
from conformance.target.listening import RunningServer
from conformance.transports import Inbox, Used


class AtUrl:
    """`server` is ours if we started it; one that is `owned` ends with the transport."""

    process_per_session = False

    def __init__(self, url: str, limits: Limits, server: RunningServer | None, owned: bool) -> None:
        self.url = url
        self.host = urlsplit(url).hostname or ""
        self.ours = server is not None
        self.server = server
        self.began = 0.0
        self._owned = owned
        self._limits = limits
        self._inbox = Inbox()
        self._closed = False

    @property
    def away(self) -> float:
        """Nobody asks for that where messages have no answers of their own."""
        return 0.0

    def unfinished(self) -> bytes:
        """There are no lines."""
        return b""

    def listens_at(self) -> tuple[str, ...]:
        """Those of a server that we started."""
        return self.server.listens_at() if self.server is not None else ()

    def used(self) -> Used:
        """Unknown: the server may have others to serve."""
        return Used()

    def held_up(self) -> float:
        """That of a server that we started."""
        return self.server.held_up() if self.server is not None else 0.0

    def stderr(self) -> str:
        """The tail of stderr of a server that we started."""
        return self.server.stderr() if self.server is not None else ""
