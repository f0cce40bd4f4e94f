"""Rules that are checked on every frame of every session, without any case asking for it."""

from __future__ import annotations

from typing import ClassVar, Protocol

from conformance.ledger import Ledger
from conformance.model import Frame
from conformance.session import Call, Session


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


def load_invariants() -> tuple[type[Invariant], ...]:
    """All invariants, in the order in which they judge a frame."""
    from conformance.invariants.asking import Asking
    from conformance.invariants.caching import Caching
    from conformance.invariants.capability import Capability
    from conformance.invariants.codes import Codes
    from conformance.invariants.completion import Completion
    from conformance.invariants.content import Content
    from conformance.invariants.envelope import Envelope
    from conformance.invariants.forms import Forms
    from conformance.invariants.listing import Listing
    from conformance.invariants.logs import Logs
    from conformance.invariants.meta import Meta
    from conformance.invariants.pace import Pace
    from conformance.invariants.progress import Progress
    from conformance.invariants.published import Published
    from conformance.invariants.requestor import Requestor
    from conformance.invariants.sampling import Sampling
    from conformance.invariants.secrets import Secrets
    from conformance.invariants.shutdown import Shutdown
    from conformance.invariants.stateless import Stateless
    from conformance.invariants.stream import Stream
    from conformance.invariants.tasks import Tasks
    from conformance.invariants.wire import Wire

    about_messages = (Stream, Envelope, Codes, Wire)
    about_features = (Listing, Published, Content, Meta, Caching, Completion, Progress, Pace, Logs, Secrets, Stateless)
    about_questions = (Asking, Forms, Sampling, Capability)
    about_tasks = (Tasks, Requestor)
    return (*about_messages, *about_features, *about_questions, *about_tasks, Shutdown)
