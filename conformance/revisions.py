"""The table of revisions of the specification."""

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

EraName = Literal["handshake", "stateless"]

STDIO, HTTP, HTTP_SSE, WEBSOCKET = "stdio", "http", "http+sse", "websocket"
TRANSPORTS = (STDIO, HTTP, HTTP_SSE, WEBSOCKET)
"""The transports that `mcp-conform` speaks. WebSocket is a custom one: no revision defines it."""
CHOSEN = {"stdio": STDIO, "http": HTTP, "sse": HTTP_SSE, "websocket": WEBSOCKET}
"""What the user calls them."""
SCHEMES = {STDIO: (), HTTP: ("http", "https"), HTTP_SSE: ("http", "https"), WEBSOCKET: ("ws", "wss")}
"""The schemes of the URLs over which they go."""


@dataclass(frozen=True, slots=True)
class Revision:
    """One dated version of the specification, with what sets it apart from others; nobody else compares dates.

    `transports` are the transports that the revision defines and that `mcp-conform` speaks.
    """

    date: str
    era: EraName
    transports: tuple[str, ...] = (STDIO, HTTP)
    batches: bool = False
    """Whether an array of messages is a message."""
    names_version_in_header: bool = False
    """Whether HTTP requests of the handshake era carry MCP-Protocol-Version."""
    structured_results: bool = False
    """Whether tools may have an outputSchema, and their results structuredContent."""
    reserved_label: int | None = None
    """Which label of a prefix in `_meta` reserves it for the protocol, as an index; None if keys have no rules."""
    default_dialect: bool = False
    """Whether a JSON Schema without $schema is one of 2020-12."""
    lists_in_forms: bool = False
    """Whether a field of a form may have several values."""
    url_errors: bool = False
    """Whether an error may ask the user to visit a URL."""
    client_tasks: bool = False
    """Whether the server may ask the client to run a request as a task."""

    def carried_by(self, transport: str) -> bool:
        """Whether a server may speak it over the transport.

        Servers of HTTP+SSE agree on any revision that has a handshake, though only the first one defines it. A custom
        transport may carry all.
        """
        if transport == HTTP_SSE:
            return self.era == "handshake"
        return transport in self.transports or transport == WEBSOCKET

    @property
    def asks_in_requests(self) -> bool:
        """Whether the server asks the client by requests of its own, instead of in its results."""
        return self.era == "handshake"

    def __str__(self) -> str:
        return self.date


REVISIONS: tuple[Revision, ...] = (
    Revision("2024-11-05", "handshake", transports=(STDIO, HTTP_SSE)),
    Revision("2025-03-26", "handshake", batches=True),
    Revision(
        "2025-06-18",
        "handshake",
        names_version_in_header=True,
        structured_results=True,
        reserved_label=-2,
    ),
    Revision(
        "2025-11-25",
        "handshake",
        names_version_in_header=True,
        structured_results=True,
        reserved_label=1,
        default_dialect=True,
        lists_in_forms=True,
        url_errors=True,
        client_tasks=True,
    ),
    Revision(
        "2026-07-28",
        "stateless",
        structured_results=True,
        reserved_label=1,
        default_dialect=True,
        lists_in_forms=True,
    ),
)

BY_DATE = {revision.date: revision for revision in REVISIONS}
NEWEST, ALL = "newest", "all"
CHOICES = (*BY_DATE, NEWEST, ALL)
"""What the user may ask for; without a choice the newest that the server speaks of each era is tested."""
HANDSHAKE = tuple(revision for revision in REVISIONS if revision.era == "handshake")
STATELESS = tuple(revision for revision in REVISIONS if revision.era == "stateless")


def is_custom(transport: str) -> bool:
    """Whether no revision defines the transport."""
    return not any(transport in revision.transports for revision in REVISIONS)


def later_handshakes(revision: Revision) -> tuple[Revision, ...]:
    """The revisions of the handshake era after `revision`."""
    return tuple(later for later in HANDSHAKE if later.date > revision.date)


def holds(revision: str, since: str | None, until: str | None) -> bool:
    """Whether `revision` lies in the window [since, until]; a missing bound is open."""
    return (since is None or since <= revision) and (until is None or revision <= until)


Standing = Literal["known", "later", "unpublished", "impossible"]
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def standing(version: str) -> Standing:
    """What a version named by a server is: in the table, of a later date, of a date without a revision, or no date."""
    if version in BY_DATE:
        return "known"
    try:
        named = date.fromisoformat(version) if _DATE.fullmatch(version) else None
    except ValueError:
        named = None
    if named is None:
        return "impossible"
    return "later" if version > REVISIONS[-1].date else "unpublished"


def named_version(version: str) -> str:
    """`version 2025-6-18, which does not exist`, for sentences."""
    remarks: dict[Standing, str] = {
        "known": "",
        "later": ", which mcp-conform does not know",
        "unpublished": ", which is not a published revision of the specification",
        "impossible": ", which does not exist",
    }
    return f"version {version}{remarks[standing(version)]}"
