"""The table of revisions of the specification."""

from dataclasses import dataclass
from typing import Literal

EraName = Literal["handshake", "stateless"]


@dataclass(frozen=True, slots=True)
class Revision:
    """One dated version of the specification.

    `transports` are the transports that the revision defines and that `mcp-conform` speaks.
    """

    date: str
    era: EraName
    batches: bool = False
    transports: tuple[str, ...] = ("stdio", "http")

    def __str__(self) -> str:
        return self.date


REVISIONS: tuple[Revision, ...] = (
    Revision("2024-11-05", "handshake", transports=("stdio",)),
    Revision("2025-03-26", "handshake", batches=True),
    Revision("2025-06-18", "handshake"),
    Revision("2025-11-25", "handshake"),
    Revision("2026-07-28", "stateless"),
)

BY_DATE = {revision.date: revision for revision in REVISIONS}
CHOICES = (*BY_DATE, "newest")
"""What the user may ask for."""
HANDSHAKE = tuple(revision for revision in REVISIONS if revision.era == "handshake")
STATELESS = tuple(revision for revision in REVISIONS if revision.era == "stateless")


def holds(revision: str, since: str | None, until: str | None) -> bool:
    """Whether `revision` lies in the window [since, until]; a missing bound is open."""
    return (since is None or since <= revision) and (until is None or revision <= until)
