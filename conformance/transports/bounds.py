"""What is taken of one HTTP answer, however much the server sends."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Response

    from conformance.transports.written_requests import WrittenAnswer

MAX_HEADERS = 200
MAX_VALUE = 4096
"""Characters of a header's value that are kept."""

MAX_PART = 1024 * 1024
"""Bytes that are decompressed at a time."""


class TooMuch(Exception):
    """The server sends more than is read; one sentence."""


class Undecoded(Exception):
    """The server sends what cannot be decoded; one sentence."""


def kept_headers(response: Response | WrittenAnswer) -> dict[str, str]:
    """The headers of an answer, names in lower case: the first 200, and of each value the first 4096 characters."""
    kept: dict[str, str] = {}
    for name, value in response.headers.multi_items():
        name = name.lower()
        if name in kept:
            kept[name] = f"{kept[name]}, {value}"[:MAX_VALUE]
        elif len(kept) < MAX_HEADERS:
            kept[name[:MAX_VALUE]] = value[:MAX_VALUE]
    return kept


def decoded(response: Response | WrittenAnswer) -> Iterator[bytes]:
    """The bytes of an answer in small parts, also where the server compresses them, which it was asked not to do.

    The decoders of the HTTP client give all at once: a few kilobytes may become gigabytes. Raises Undecoded for other
    codings, and for several of them.
    """
    coding = response.headers.get("content-encoding", "identity").strip().lower()
    if coding in ("", "identity"):
        yield from response.iter_raw()
        return
    if coding not in ("gzip", "x-gzip", "deflate"):
        raise Undecoded(f"an answer is encoded as {coding[:100]!a}, though we accept only what is not encoded")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 32)
    for part in response.iter_raw():
        while part and not unpack.eof:
            try:
                yield unpack.decompress(part, MAX_PART)
            except zlib.error as error:
                raise Undecoded(f"an answer says that it is encoded as {coding} and is not ({error})") from None
            part = unpack.unconsumed_tail
