"""The reference server over WebSocket: `python over_websocket.py PORT [option]…`, a process for each connection."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection, serve
from websockets.typing import Subprotocol

COMMAND = [sys.executable, "-m", "conformance.reference", *sys.argv[2:]]


def carry(connection: ServerConnection) -> None:
    """Carry messages to and fro until one side ends."""
    with subprocess.Popen(COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None

        def answer() -> None:
            assert process.stdout is not None
            with contextlib.suppress(ConnectionClosed):
                for line in process.stdout:
                    connection.send(line.rstrip(b"\n"), text=True)
            connection.close()

        threading.Thread(target=answer, daemon=True).start()
        with contextlib.suppress(ConnectionClosed, OSError):
            for message in connection:
                data = message.encode() if isinstance(message, str) else message
                process.stdin.write(data.replace(b"\n", b" ") + b"\n")
                process.stdin.flush()
        with contextlib.suppress(OSError):
            process.stdin.close()
        process.terminate()


if __name__ == "__main__":
    with serve(carry, "127.0.0.1", int(sys.argv[1]), subprotocols=[Subprotocol("mcp")], max_size=None) as server:
        server.serve_forever()
