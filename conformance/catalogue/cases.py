"""Cases: scripted conversations that test requirements. What the words mean is said in cases/README.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal

from conformance.catalogue.patterns import ABSENT
from conformance.model import Json, Severity

Isolation = Literal["shared", "session", "process"]
StepKind = Literal["request", "notify", "raw", "http", "batch", "close", "pages", "probe", "steps"]
Silence = Literal["", "inconclusive", "allowed"]
Subject = Literal["response", "answered", "notifications", "nothing", "alive", "status", "headers", "saved", "judge"]
Outcome = Literal["held", "broken", "inconclusive", "not-applicable", "blocked"]

SUBJECTS: tuple[Subject, ...] = (
    "response",
    "answered",
    "notifications",
    "nothing",
    "alive",
    "status",
    "headers",
    "saved",
    "judge",
)
OWN = "own"
"""The first part of the ids of the user's own cases."""
ANSWERED = ("request", "raw", "http", "batch")
"""Kinds of steps that a response may follow."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What must be so, all of it. Names of capabilities may be `{$saved: name}`; ABSENT and "" ask for nothing.

    `saved` is path of a saved value → pattern; `response` and `status` are patterns for what answers the step; `alive`
    is whether the server still answers, None if that does not matter.
    """

    declares: tuple[Json, ...] = ()
    lacks: tuple[Json, ...] = ()
    since: str | None = None
    until: str | None = None
    era: str = ""
    transport: str = ""
    saved: Mapping[str, Json] = field(default_factory=dict)
    response: Json = ABSENT
    status: Json = ABSENT
    alive: bool | None = None


@dataclass(frozen=True, slots=True)
class Otherwise:
    """What is written down where a condition does not hold; `because` says why."""

    outcome: Outcome
    because: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """One reading of what came: where `when` holds, `outcome` is written down, with the sentence `message`.

    `expected` is what the finding says should have come, "" for what the first row that holds asks for; `actual` what
    came, "" for the response.
    """

    when: Condition
    outcome: Outcome
    message: str = ""
    severity: Severity | None = None
    expected: str = ""
    actual: str = ""


@dataclass(frozen=True, slots=True)
class Expectation:
    """What must hold after a step, or there is a finding against `requirement`.

    `pattern` is about the `subject`, and true where that is `answered`, `nothing` or `alive`; about `saved` values it
    is path → pattern; `judge` has `rows` instead, of which the first that fits decides. `severity` softens what level
    and basis give. `silence` is what no response means. `message` is the sentence of the finding, empty for a plain
    one. It applies only `when` a condition holds.
    """

    requirement: str
    subject: Subject
    pattern: Json = True
    severity: Severity | None = None
    silence: Silence = ""
    message: str = ""
    when: Condition | None = None
    otherwise: Otherwise | None = None
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Each:
    """For each thing of a kind that the target offers, or of a list, the first `most` of them, under a `name`.

    With `until_decided` no further one is taken once something that the steps judge was held or broken: of that for
    which the case has a word in `undecided`, if there is any.
    """

    name: str
    kind: str = ""
    things: tuple[Json, ...] = ()
    most: int | None = None
    until_decided: bool = False


@dataclass(frozen=True, slots=True)
class Step:
    """One thing said to the target, a probe, or steps that belong together. What is said stands in the members that
    its kind needs. What a probe observes is known by the `name`.

    `method` may be `{$saved: name}`. `params` and `id` are ABSENT if the case does not say them; `{$pick: kind}` and
    `{$saved: name}` in `params`, `batch` and `headers` are yet to be replaced. `meta` is false if the era adds
    nothing, `wait` if the answer is not waited for; `wait_for` is the method of a notification that will do as well.
    `like` is the name of the response to a request from which this one differs in nothing that may matter.
    The bytes of raw and http steps are `raw64` in base64, or `raw`. `save` is name → dotted path into the response, or
    `request`, `response`, `notification` or `pages`. `judges` are the requirements that the step can judge, `settings`
    what goes to the probe. `steps` are played for `each`, `together` or in `another` session.
    """

    kind: StepKind
    method: Json = ""
    params: Json = ABSENT
    id: Json = ABSENT
    illegal: bool = False
    meta: bool = True
    wait: bool = True
    wait_for: str = ""
    like: str = ""
    headers: Mapping[str, Json] = field(default_factory=dict)
    save: Mapping[str, str] = field(default_factory=dict)
    raw: str = ""
    raw64: str = ""
    batch: tuple[Json, ...] = ()
    probe: str = ""
    name: str = ""
    settings: Mapping[str, Json] = field(default_factory=dict)
    when: Condition | None = None
    otherwise: Otherwise | None = None
    expect: tuple[Expectation, ...] = ()
    steps: tuple[Step, ...] = ()
    each: Each | None = None
    together: bool = False
    another: bool = False
    judges: tuple[str, ...] = ()

    @property
    def may_be_sent(self) -> bool:
        """Whether it is known that the server would take what is usual instead, so that a refusal by HTTP is one."""
        return bool(self.like) or (self.method == "initialize" and not self.illegal)


@dataclass(frozen=True)
class Case:
    """A scripted conversation; its members are those of `schemas/case.json`.

    `requires` are server capabilities: one of each tuple must be declared. Empty `eras` and `transports` mean any.
    `undecided` is requirement → why nothing was found out about it, if nothing was.
    """

    id: str
    area: str
    title: str
    requires: tuple[tuple[str, ...], ...] = ()
    since: str | None = None
    until: str | None = None
    eras: tuple[str, ...] = ()
    transports: tuple[str, ...] = ()
    client: Mapping[str, Json] = field(default_factory=dict)
    isolation: Isolation = "shared"
    open: bool = True
    harmful: bool = False
    lane: str = ""
    waits: int = 0
    opens: int = 0
    control: bool = False
    undecided: Mapping[str, str] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @property
    def shares(self) -> bool:
        """Whether others may be played before and after it in the same session, whatever comes of them."""
        return self.isolation == "shared" and not self.harmful

    @property
    def plain_steps(self) -> Iterator[Step]:
        """All steps that hold no others."""
        return _plain(self.steps)

    @property
    def asks_for_life(self) -> bool:
        """Whether it may be judged by whether the server still answers, and begins with no request that shows that."""
        first = next(self.plain_steps)
        if first.kind == "request" and first.wait:
            return False
        expected = [expectation for step in self.plain_steps for expectation in step.expect]
        return any(each.subject == "alive" or any(row.when.alive is False for row in each.rows) for each in expected)

    @property
    def illegal(self) -> bool:
        """Whether it may send what is wrong on purpose, after which the server is judged less strictly."""
        return any(step.illegal for step in self.plain_steps)

    @cached_property
    def requirements(self) -> tuple[str, ...]:
        """The ids of all requirements that it can judge, or that invariants can judge by what it does."""
        judged = (identifier for step in self.steps for identifier in step.judges)
        return tuple(dict.fromkeys((*judged, *self.undecided)))


def _plain(steps: tuple[Step, ...]) -> Iterator[Step]:
    for step in steps:
        yield from _plain(step.steps) if step.steps else (step,)
