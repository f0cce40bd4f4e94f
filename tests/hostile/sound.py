"""The correct server itself, which is the measure of the others."""

from __future__ import annotations

import sys

from hostile.registry import target

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hostile.base import Server


@target(statuses=(0,), says="no requirement that fails a server is broken")
def sound(_server: Server) -> None:
    """Is correct, in the handshake revisions, over stdio."""


@target(statuses=(0,), says="no requirement that fails a server is broken", transport="http", whole=True)
def sound_http(_server: Server) -> None:
    """Is correct, in 2025-06-18 and 2025-11-25, over HTTP."""
    from hostile.web import Web

    Web().serve(int(sys.argv[2]))


@target(statuses=(0,), says="no requirement that fails a server is broken", transport="websocket", whole=True)
def sound_websocket(_server: Server) -> None:
    """Is correct, in the handshake revisions, over WebSocket."""
    from hostile.websocket import Site

    Site().serve()
