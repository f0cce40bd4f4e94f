"""What the engine tells while it runs. Reporters consume these; they change nothing of what is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from conformance.model import Frame, Report, Target
from conformance.survey.survey import Survey


@dataclass(frozen=True, slots=True)
class Started:
    """The run begins; nothing has been started yet."""

    target: Target


@dataclass(frozen=True, slots=True)
class Noted:
    """A remark about the client configuration, or about what was not read; one line."""

    text: str


@dataclass(frozen=True, slots=True)
class NotTested:
    """The server that the client configuration calls `name` cannot be tested; `why` is one line."""

    name: str
    why: str


@dataclass(frozen=True, slots=True)
class RevisionFound:
    """The target speaks `revision`; `server` is what it calls itself (`name`, `version`), empty if it does not say."""

    revision: str
    transport: str
    server: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RevisionAbsent:
    """The target does not speak `revision`; `why` is one line."""

    revision: str
    why: str


@dataclass(frozen=True, slots=True)
class Surveyed:
    """What the target offers in `revision` is known; `server` as in RevisionFound."""

    revision: str
    transport: str
    server: Mapping[str, str]
    survey: Survey


@dataclass(frozen=True, slots=True)
class Planned:
    """`total` cases are about to be played, over all runs."""

    total: int


@dataclass(frozen=True, slots=True)
class CaseEnded:
    """A case has been played, in `seconds`. `outcome` is the player's word for how; not yet a verdict."""

    revision: str
    transport: str
    case: str
    outcome: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Confirming:
    """`count` cases that failed are about to be put to the test again, each alone on a fresh server."""

    count: int


@dataclass(frozen=True, slots=True)
class FrameSeen:
    """A frame went over the wire, in the session called `session`. Told only with `--trace`."""

    revision: str
    transport: str
    session: str
    frame: Frame


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event. `unwritten` means that another report could not be written, so that this run is no success."""

    report: Report
    unwritten: bool = False


Event = (
    Started
    | Noted
    | NotTested
    | RevisionFound
    | RevisionAbsent
    | Surveyed
    | Planned
    | CaseEnded
    | Confirming
    | FrameSeen
    | Finished
)
