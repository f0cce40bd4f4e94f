"""What a campaign sends, what comes of it, and what that breaks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

from conformance.checks.fuzz.choices import Choices
from conformance.checks.invariants.base import is_integer
from conformance.model import Finding, Frame, Json, Severity
from conformance.session.session import Call, Session

_NUMBER = re.compile(rb"@n([0-9]+)")
MARK = b'"@id"'
"""Stands in an example for the id, which is another one each time it is sent."""
WIDE_MARK = MARK.ljust(9)
"""The same where the id must not change the length: that stands in a header. JSON allows the spaces."""

DIED, HUNG, SWALLOWED = "death", "no more answers", "next message lost"


@dataclass(frozen=True, slots=True)
class Example:
    """One generated frame.

    `kind` is the class of what is wrong with it, `wrong` says what and where. An answer is `due` to what JSON-RPC calls
    a request. `illegal` is false for what a client may say. `about` is the campaign's own. `script` are the lines of an
    example of several messages, `data` is all of it. `inner` is the message in an HTTP request that `data` is with its
    head, and `cut` means that this lacks its end.
    """

    data: bytes = field(repr=False)
    kind: str
    wrong: str
    due: bool = False
    illegal: bool = True
    about: Mapping[str, Json] = field(default_factory=dict)
    script: tuple[bytes, ...] = field(default=(), repr=False)
    inner: bytes = field(default=b"", repr=False)
    cut: bool = False

    @property
    def numbers(self) -> int:
        """How many ids the script speaks of."""
        return 1 + max((int(number) for line in self.script for number in _NUMBER.findall(line)), default=0)

    def lines(self, identifiers: Sequence[int]) -> list[bytes]:
        """The bytes of a script: `@n3` is the number of message 3."""
        return [_NUMBER.sub(lambda m: str(identifiers[int(m[1])]).encode(), line) for line in self.script]

    def written(self, identifier: int) -> bytes:
        """The bytes to send, with that id."""
        if self.inner:
            return _widely(self.data, identifier)
        return self.data.replace(MARK, str(identifier).encode())

    def message(self, identifier: int) -> bytes:
        """The message in an HTTP request, with that id."""
        return _widely(self.inner, identifier)


def _widely(data: bytes, identifier: int) -> bytes:
    return data.replace(WIDE_MARK, str(identifier).encode().ljust(len(WIDE_MARK)))


@dataclass(slots=True)
class Reply:
    """What came of one example.

    `call` is the request, if it is one as far as we can tell; `answers` are all responses to it. `fate` is one of DIED,
    HUNG, SWALLOWED, or empty if the target is as well as before, and `why` says how that was seen. `findings` are those
    of the invariants. `frames` are all that went over the wire. A script has several `calls`; `strays` are responses to
    none. `lost` means that the server ended the session meanwhile, so that nothing is known. `session` is the one in
    which it was said.
    """

    sent: Frame
    call: Call | None = None
    answers: list[Frame] = field(default_factory=list)
    status: int | None = None
    fate: str = ""
    why: str = ""
    findings: list[Finding] = field(default_factory=list)
    frames: tuple[Frame, ...] = ()
    calls: list[Call] = field(default_factory=list)
    strays: list[Frame] = field(default_factory=list)
    lost: bool = False
    session: Session | None = None

    @property
    def history(self) -> tuple[Frame, ...]:
        """All that was said in the session up to the last frame of this reply, as far as it was kept."""
        kept = tuple(self.session.trace) if self.session is not None else ()
        return tuple(frame for frame in kept if not self.frames or frame.number <= self.frames[-1].number)

    @property
    def message(self) -> Json:
        """The first response, None if there is none."""
        return self.answers[0].message if self.answers else None

    @property
    def code(self) -> Json:
        """The code of the error, None without one."""
        error = self.message.get("error") if self.answers else None
        return error.get("code") if isinstance(error, dict) else None

    @property
    def codeless(self) -> bool:
        """Whether the answer is an error without an integer as its code, which a rule of its own forbids."""
        return bool(self.answers) and not self.succeeded and not is_integer(self.code)

    @property
    def succeeded(self) -> bool:
        """Whether the answer is a result."""
        return bool(self.answers) and "error" not in self.message

    @property
    def proof(self) -> tuple[Frame, ...]:
        """The frame and its first answer."""
        return (self.sent, *self.answers[:1])

    @property
    def outcomes(self) -> list[str]:
        """The columns of the table in which it is counted: one, for a script one for each request."""
        if self.calls and not self.fate:
            return [_outcome(call.response) if call.answers else "silence" for call in self.calls]
        return [self._outcome]

    @property
    def _outcome(self) -> str:
        if self.fate:
            return self.fate
        if self.answers:
            return _outcome(self.message)
        if self.status is not None and self.status != 202:
            return f"HTTP {self.status}"
        return "silence"


@dataclass(frozen=True, slots=True)
class Breach:
    """A requirement that an example broke. Those with the same requirement and message have one cause.

    `expect` is the expectation of a case that shows it again: `{alive: true}`, or `{response: pattern}`; of a script it
    belongs to the line `step`.
    """

    requirement: str
    message: str
    expected: str
    actual: str
    proof: tuple[Frame, ...]
    ceiling: Severity | None = None
    expect: Mapping[str, Json] = field(default_factory=dict)
    step: int = -1

    @property
    def cause(self) -> tuple[str, str]:
        """The same for like breaches."""
        return self.requirement, self.message

    @property
    def weight(self) -> int:
        """How heavy it may be: without a ceiling, as level and basis give."""
        return (self.ceiling or Severity.VIOLATION).rank


def _outcome(response: Json) -> str:
    if not isinstance(response, dict) or "error" not in response:
        return "result"
    error = response["error"]
    code = error.get("code") if isinstance(error, dict) else None
    return str(code) if type(code) is int else "error without code"


class Campaign(Protocol):
    """What is generated and what judges it."""

    name: ClassVar[str]
    requirements: ClassVar[tuple[str, ...]]
    share: float
    """Part of the examples that the user asked for that are sent."""

    @property
    def kinds(self) -> int:
        """How many kinds of examples there are: the first choice of `make`."""

    def make(self, choices: Choices) -> Example:
        """An example; its first choice is one of `kinds`."""

    def judge(self, example: Example, reply: Reply) -> Breach | str:
        """What it broke, or the requirement that it showed to hold, or ""."""
