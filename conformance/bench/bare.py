"""A server that does nothing but answer: what a request costs that is answered by it is our own cost.

Run as a script, `python bare.py` answers lines of stdin; `python bare.py PORT` answers HTTP on the loopback interface.
Imports nothing of the suite. It looks for the id where our own client puts it.
"""

from __future__ import annotations

import selectors
import socket
import sys

ANSWER = b'{"jsonrpc":"2.0","id":%b,"result":{}}'


def answer(request: bytes) -> bytes:
    """The answer to one of our requests."""
    _, _, rest = request.partition(b'"id":')
    return ANSWER % rest[: rest.index(b",")]


def on_stdio() -> None:
    """One line for each line."""
    out = sys.stdout.buffer
    for line in sys.stdin.buffer:
        out.write(answer(line) + b"\n")
        out.flush()


def on_http(port: int) -> None:
    """One answer for each POST, on connections that stay open."""
    listener = socket.create_server(("127.0.0.1", port), backlog=256)
    chooser = selectors.DefaultSelector()
    chooser.register(listener, selectors.EVENT_READ, None)
    while True:
        for key, _ in chooser.select():
            if key.data is None:
                connection, _address = listener.accept()
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                chooser.register(connection, selectors.EVENT_READ, bytearray())
            elif not _served(key.fileobj, key.data):
                chooser.unregister(key.fileobj)
                key.fileobj.close()  # type: ignore[union-attr]


def _served(connection: object, held: bytearray) -> bool:
    """Answer the requests that have come whole; false once the client has gone."""
    assert isinstance(connection, socket.socket)
    try:
        part = connection.recv(65536)
        held += part
        while (end := held.find(b"\r\n\r\n")) >= 0:
            head = bytes(held[:end]).lower()
            _, _, rest = head.partition(b"content-length:")
            size = int(rest.split(b"\r\n", 1)[0] or b"0")
            if len(held) < end + 4 + size:
                break
            body = answer(bytes(held[end + 4 : end + 4 + size])) if size else b""
            del held[: end + 4 + size]
            head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            connection.sendall(head + body)
    except OSError:
        return False
    return bool(part)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        on_http(int(sys.argv[1]))
    else:
        on_stdio()
