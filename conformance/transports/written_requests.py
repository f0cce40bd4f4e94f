"""HTTP requests whose bytes are written out, right or wrong, each on a connection of its own; and what answers them."""

from __future__ import annotations

import socket
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from httpx2 import URL, Headers

WHOLE = "whole"
"""In place of a method: the data is a whole HTTP request, which carries a message."""
APART = "apart"
"""The same for a request whose answer is none to a message, whatever is in it."""
USUAL = "@usual"
"""The value of a written header that stands for the one that it would have."""
LEFT_OUT = "@none"
"""The value of a written header that is not sent, and not added either."""
PART = 64 * 1024


def completed(written: bytes, usual: Mapping[str, str]) -> bytes:
    """The request with those of the usual headers that it does not name, behind its first line."""
    head, end, body = written.partition(b"\r\n\r\n")
    values = {name.lower().encode(): value.encode("latin-1") for name, value in usual.items()}
    first, *lines = head.split(b"\r\n")
    if not (end and first.strip()):
        return written
    kept, named = [first], set()
    for line in lines:
        name, _, value = line.partition(b": ")
        named.add(key := name.partition(b":")[0].strip().lower())
        if value == USUAL.encode() and key in values:
            kept.append(name + b": " + values[key])
        elif value not in (USUAL.encode(), LEFT_OUT.encode()):
            kept.append(line)
    kept[1:1] = [name.encode() + b": " + values[name.lower().encode()] for name in usual if _key(name) not in named]
    return b"\r\n".join(kept) + end + body


def _key(name: str) -> bytes:
    return name.lower().encode()


def target_of(url: str) -> bytes:
    """What stands in the first line of a request for a URL: its path and query."""
    parts = urlsplit(url)
    return (parts.path or "/").encode() + (b"?" + parts.query.encode() if parts.query else b"")


def method_of(written: bytes) -> str:
    """The first word of the request."""
    return written.split(b" ", 1)[0][:20].decode("ascii", "replace")


def connected(url: URL, seconds: float) -> socket.socket:
    """A connection to the server of the URL. Raises OSError."""
    import ssl

    port = url.port or (443 if url.scheme == "https" else 80)
    plain = socket.create_connection((url.host, port), seconds)
    plain.settimeout(None)
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return ssl.create_default_context().wrap_socket(plain, server_hostname=url.host) if url.scheme == "https" else plain


class WrittenAnswer:
    """The answer on a connection. Raises http.client.HTTPException for what is no answer of HTTP, and OSError."""

    def __init__(self, connection: socket.socket, method: str) -> None:
        import httpx2

        from conformance.transports.final_answer import FinalAnswer

        self._answer = FinalAnswer(connection, method=method)
        self._answer.begin()
        self.status_code: int = self._answer.status
        # Bytes above 127 may stand in a value (RFC 9110, 5.5); http.client reads them as Latin-1.
        head = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in self._answer.getheaders()]
        self.headers: Headers = httpx2.Headers(head)

    def iter_raw(self) -> Iterator[bytes]:
        """The bytes of the body, as they come."""
        while part := self._answer.read1(PART):
            yield part
