"""What the invariants have in common: a session, a ledger, and nothing to do unless they say so."""

from __future__ import annotations

from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.checks.ledger import Ledger
from conformance.model import Frame, Json, Severity
from conformance.session.messages import is_message
from conformance.session.session import Call, Session


class Watcher:
    """See `conformance.checks.invariants.Invariant`; each method does nothing."""

    name: ClassVar[str] = ""
    requirements: ClassVar[tuple[str, ...]] = ()

    def __init__(self, session: Session, ledger: Ledger) -> None:
        self.session = session
        self.ledger = ledger
        self.provoked = False
        """Whether we have sent what is no message at all: no text says what a server answers to that."""

    def sent(self, frame: Frame) -> None:
        """We sent `frame`."""
        if frame.illegal and not self.provoked:
            self.provoked = not (frame.readable and is_message(frame.message))

    def softened(self, ceiling: Severity | None = None) -> Severity | None:
        """The ceiling of a finding about what the target answers: a warning at most, once it was provoked."""
        return Severity.WARNING if self.provoked and ceiling is not Severity.ADVICE else ceiling

    def heard(self, frame: Frame, call: Call | None) -> None:
        """The target sent `frame`."""

    def finish(self) -> None:
        """The session is closed."""

    def breach(
        self,
        requirement: str,
        what: str,
        expected: str,
        actual: Json,
        proof: tuple[Frame, ...],
        ceiling: Severity | None,
    ) -> None:
        """`requirement` is broken by `actual`, which is shortened; `proof` shows it, `ceiling` softens."""
        self.ledger.broke(requirement, what, expected=expected, actual=shorten(actual), frames=proof, ceiling=ceiling)


def is_integer(value: Json) -> bool:
    """Whether a JSON value is an integer, as JSON Schema sees it: 7.0 is one, true is none."""
    return not isinstance(value, bool) and (isinstance(value, int) or (isinstance(value, float) and value.is_integer()))


def is_number(value: Json) -> bool:
    """Whether a JSON value is a number; true is none."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)
