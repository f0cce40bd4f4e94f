"""The bodies of HTTP requests: as long as Content-Length says, or in chunks (RFC 9112, 6 and 7.1)."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from email.message import Message as Headers
    from io import BufferedIOBase

MOST = 64 * 1024 * 1024


class Unframed(Exception):
    """Nobody can tell where the body ends; one sentence."""


def read(stream: BufferedIOBase, headers: Headers) -> bytes:
    """The body of a request with these headers. Raises Unframed."""
    lengths = headers.get_all("Content-Length") or []
    codings = headers.get_all("Transfer-Encoding") or []
    if codings:
        if lengths or [each.strip().lower() for each in codings] != ["chunked"]:
            raise Unframed("Transfer-Encoding must be chunked, and stand alone")
        return _chunks(stream)
    if len(lengths) > 1 or any(not (each.isascii() and each.isdigit()) for each in lengths):
        raise Unframed("Content-Length must be one number")
    wanted = int(lengths[0][:20]) if lengths else 0
    if wanted > MOST:
        raise Unframed("The body is too long")
    body = stream.read(wanted)
    if len(body) < wanted:
        raise Unframed("The body is shorter than Content-Length says")
    return body


def _chunks(stream: BufferedIOBase) -> bytes:
    body = b""
    while size := _size(stream.readline(1000)):
        if len(body) + size > MOST:
            raise Unframed("The body is too long")
        chunk = stream.read(size + 2)
        if len(chunk) < size + 2 or chunk[-2:] != b"\r\n":
            raise Unframed("A chunk is not as long as it says")
        body += chunk[:-2]
    while stream.readline(1000).strip():
        pass  # trailers
    return body


def _size(line: bytes) -> int:
    digits = line.partition(b";")[0].strip()
    if not digits or len(digits) > 16 or digits.lower().strip(b"0123456789abcdef"):
        raise Unframed("A chunk has no length")
    return int(digits, 16)
