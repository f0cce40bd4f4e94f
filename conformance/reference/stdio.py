"""The stdio transport: one message a line."""

from __future__ import annotations

import os
import signal
import sys
from threading import Event, Lock, Thread
from time import monotonic

from conformance.reference.handshake import Session
from conformance.reference.stateless import Connection
from conformance.reference.wire import VERSION, RpcError, decode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

    from conformance.reference.call import Call
    from conformance.reference.peer import Peer
    from conformance.reference.server import Server

# What a call that still runs when the input ends may take to finish.
GRACE = 0.3


class Stdout:
    """The one channel of the process: whole lines, flushed, never interleaved."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.lock = Lock()
        self.stopping = Event()
        self.threads: list[Thread] = []

    def send(self, message: Any) -> None:
        self.write(self.server.encode(message) + b"\n")

    def write(self, data: bytes) -> None:
        """Write bytes to stdout as they are."""
        with self.lock:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()

    def run(self, work: Callable[[], None]) -> None:
        thread = Thread(target=work, daemon=True)
        self.threads = [*(each for each in self.threads if each.is_alive()), thread]
        thread.start()

    def hold(self, call: Call) -> None:
        """Nothing to do: stdout stays open."""

    def closed(self) -> bool:
        return self.stopping.is_set()


def is_modern(message: Any) -> bool:
    """Whether an opening message is a request of the stateless era."""
    if not isinstance(message, dict) or "id" not in message:
        return False
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return message.get("method") == "server/discover" or (isinstance(meta, dict) and VERSION in meta)


def serve(server: Server) -> NoReturn:
    """Serve until the input ends or SIGTERM comes; then end the process with status 0."""
    signal.signal(signal.SIGTERM, _stop)
    signal.signal(signal.SIGINT, _stop)
    channel = Stdout(server)
    peer: Peer = Session(server, channel) if server.handshake_revisions else Connection(server)
    undecided = bool(server.handshake_revisions and server.stateless_revisions)
    try:
        for start in server.started:
            start(channel)
        for line in server.lines(sys.stdin.buffer):
            if not line.strip():
                continue
            try:
                message = decode(line)
            except RpcError as error:
                server.send(channel, error.response(peer.no_identity()))
                continue
            if undecided and isinstance(message, dict) and "method" in message and "id" in message:
                # The first request fixes the era of the process.
                undecided = False
                peer = Connection(server) if is_modern(message) else peer
            peer.receive(message, channel)
        for end in server.input_ended:
            end(channel)
        deadline = monotonic() + GRACE
        for thread in channel.threads:
            thread.join(max(0.0, deadline - monotonic()))
        channel.stopping.set()
        peer.close(cancelling=True)
    except BrokenPipeError:
        pass  # Nobody reads any more.
    except _Stopped:
        peer.close(cancelling=True)
    # Threads that wait for a client that has gone must not hold the process.
    os._exit(0)


class _Stopped(BaseException):
    """SIGTERM or SIGINT came."""


def _stop(number: int, frame: object) -> None:
    raise _Stopped
