"""The HTTP client: set up for one target, its sockets, and why it has no connection."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conformance.model import Limits
from conformance.target.headers import header_flaw
from conformance.target.urls import is_loopback
from conformance.transports import StartError

if TYPE_CHECKING:
    from httpx2 import URL, Client, Response

KEEP_ALIVE = 2.0
"""Seconds that an idle connection is kept: less than the 5 s of Node and uvicorn, so that no request meets its end."""


def shut(connection: socket.socket | None) -> None:
    """Close a connection in both directions: closing alone does not wake a thread that reads from it."""
    if connection is not None:
        with contextlib.suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)


def socket_of(response: Response) -> socket.socket | None:
    """The socket on which an answer comes, if that can be told."""
    stream = response.extensions.get("network_stream")
    return stream.get_extra_info("socket") if stream is not None else None


def surplus(client: Client, connection: socket.socket | None) -> int:
    """How many bytes have come on a connection after the end of an answer, while that is being closed.

    They must not be taken for the next answer (RFC 9112, 6.3), which is what the library does with them; it has no
    public way to tell.
    """
    for each in connections(client):
        if (found := socket_under(each)) is not None and found is connection:
            return len(each._connection._h11_state.trailing_data[0])
    return 0


def connections(client: Client) -> list[Any]:
    """The connections that the library keeps; it has no public way to tell."""
    pool = getattr(getattr(client, "_transport", None), "_pool", None)
    return list(getattr(pool, "connections", ()))


def socket_under(connection: Any) -> socket.socket | None:
    """The socket of one of these `connections`, None before there is one."""
    stream = getattr(getattr(connection, "_connection", None), "_network_stream", None)
    return stream.get_extra_info("socket") if stream is not None else None


def refused(error: Exception) -> bool:
    """Whether nobody took the connection."""
    causes: list[BaseException] = [error]
    while (cause := causes[-1].__cause__ or causes[-1].__context__) is not None and len(causes) < 10:
        causes.append(cause)
    return any(isinstance(cause, ConnectionRefusedError) for cause in causes)


def encoded(headers: Mapping[str, str]) -> dict[bytes, bytes]:
    """Headers as the library sends them unchanged."""
    return {name.encode(): value.encode("latin-1") for name, value in headers.items()}


def check_headers(headers: Mapping[str, str]) -> None:
    """Raise StartError for one that cannot be sent with every request."""
    for name, value in headers.items():
        if wrong := header_flaw(name, value):
            raise StartError(f"the header {name!a} {wrong}")


def client_for(url: str, headers: Mapping[str, str], limits: Limits) -> tuple[URL, Client]:
    """What speaks HTTP, and the URL as that understands it. Raises StartError."""
    import ssl

    import httpx2

    check_headers(headers)
    try:
        parsed = httpx2.URL(url)
        encrypted = parsed.scheme == "https"
        client = httpx2.Client(
            timeout=httpx2.Timeout(None, connect=limits.start),
            follow_redirects=False,
            # That is about proxies alone; ~/.netrc is never read.
            trust_env=not is_loopback(parsed.host),
            # Loading the certificates of the authorities takes longer than a whole session without them. On loopback
            # too SSL_CERT_FILE names them.
            verify=httpx2.create_ssl_context() if encrypted else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
            limits=httpx2.Limits(max_connections=None, keepalive_expiry=KEEP_ALIVE),
        )
        # A message says itself what it accepts; bodies are to be seen as the server made them.
        del client.headers["accept"]
        client.headers.update({"Accept-Encoding": "identity", "User-Agent": "mcp-conform", **headers})
    except httpx2.InvalidURL as error:
        raise StartError(f"{url!r} is not a URL: {error}") from None
    except (OSError, ValueError, ImportError) as error:
        # A proxy that cannot be, certificates that are not there.
        raise StartError(f"the HTTP client cannot be set up as the environment says: {error}") from None
    return parsed, client
