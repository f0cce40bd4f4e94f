"""Rules that are checked on every frame of every session, without any case asking for it."""

from __future__ import annotations

from typing import ClassVar, Protocol

from conformance.checks.ledger import Ledger
from conformance.model import Frame
from conformance.session.session import Call, Session


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
    from conformance.checks.invariants.asking import Asking
    from conformance.checks.invariants.caching import Caching
    from conformance.checks.invariants.capability import Capability
    from conformance.checks.invariants.codes import Codes
    from conformance.checks.invariants.completion import Completion
    from conformance.checks.invariants.content import Content
    from conformance.checks.invariants.envelope import Envelope
    from conformance.checks.invariants.forms import Forms
    from conformance.checks.invariants.listing import Listing
    from conformance.checks.invariants.logs import Logs
    from conformance.checks.invariants.meta import Meta
    from conformance.checks.invariants.pace import Pace
    from conformance.checks.invariants.progress import Progress
    from conformance.checks.invariants.published import Published
    from conformance.checks.invariants.requestor import Requestor
    from conformance.checks.invariants.sampling import Sampling
    from conformance.checks.invariants.secrets import Secrets
    from conformance.checks.invariants.shutdown import Shutdown
    from conformance.checks.invariants.stateless import Stateless
    from conformance.checks.invariants.stream import Stream
    from conformance.checks.invariants.tasks import Tasks
    from conformance.checks.invariants.wire import Wire

    about_messages = (Stream, Envelope, Codes, Wire)
    about_features = (Listing, Published, Content, Meta, Caching, Completion, Progress, Pace, Logs, Secrets, Stateless)
    about_questions = (Asking, Forms, Sampling, Capability)
    about_tasks = (Tasks, Requestor)
    return (*about_messages, *about_features, *about_questions, *about_tasks, Shutdown)
