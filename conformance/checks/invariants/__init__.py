"""Rules that are checked on every frame of every session, without any case asking for it."""

from __future__ import annotations

from typing import ClassVar, Protocol

from conformance.checks.ledger import Ledger
from conformance.model import Frame
from conformance.session.session import Call, Session
from conformance.tables import registered


class Invariant(Protocol):
    """Judges the frames of one session; one object for each session. `requirements` are all ids it may judge."""

    name: ClassVar[str]
    requirements: ClassVar[tuple[str, ...]]

    def __init__(self, session: Session, ledger: Ledger) -> None: ...

    def sent(self, frame: Frame) -> None:
        """We sent `frame`."""

    def heard(self, frame: Frame, call: Call | None) -> None:
        """The target sent `frame`; `call` is the request it answers."""

    def finish(self) -> None:
        """The session is closed: judge what only its end can show."""


TABLE = (
    "stream.Stream",
    "envelope.Envelope",
    "codes.Codes",
    "lacks.Lacks",
    "wire.Wire",
    "listing.Listing",
    "changes.Changes",
    "published.Published",
    "annotations.Annotations",
    "content.Content",
    "structured.Structured",
    "meta.Meta",
    "caching.Caching",
    "completion.Completion",
    "progress.Progress",
    "pace.Pace",
    "logs.Logs",
    "secrets.Secrets",
    "stateless.Stateless",
    "subscriptions.Subscriptions",
    "http_answers.HttpAnswers",
    "http_streams.HttpStreams",
    "posts_apart.PostsApart",
    "asking.Asking",
    "forms.Forms",
    "sampling.Sampling",
    "capability.Capability",
    "tasks.Tasks",
    "tasks_extension.TasksExtension",
    "requestor.Requestor",
    "shutdown.Shutdown",
)
"""Module and class in this package, in the order in which they judge a frame: messages, features, questions, tasks."""


def load_invariants() -> tuple[type[Invariant], ...]:
    """All invariants, in that order."""
    return tuple(registered(__name__, place) for place in TABLE)
