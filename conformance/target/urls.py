"""URLs of servers: whether one can be used, and where it leads."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

PORTS = {"http": 80, "https": 443, "ws": 80, "wss": 443}
"""The schemes of URLs, and the ports where none is named."""


def flaw(url: str) -> str:
    """Why the URL of a server cannot be used, as the end of a sentence that begins with it; "" if it can."""
    if any(character.isspace() or not character.isprintable() for character in url):
        return "has a character in it that is blank or cannot be seen"
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        host.encode("idna")  # as it will be looked up
    except ValueError:
        return "has no valid host"
    if parts.scheme not in PORTS:
        return "is not an http or https URL"
    if not host:
        return "names no host"
    try:
        return "has no valid port" if parts.port == 0 else ""
    except ValueError:
        return "has no valid port"


def address(url: str) -> tuple[str, int]:
    """Host and port of a URL without a flaw."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS[parts.scheme]


def is_loopback(host: str) -> bool:
    """Whether a host is this machine, which no proxy leads to."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
