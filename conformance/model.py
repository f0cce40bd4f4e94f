"""The nouns of the suite. Data only; imports nothing else of the package.

The words are those of ARCHITECTURE.md: target, session, frame, trace, requirement, finding, verdict, report.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

Json = Any
"""A parsed JSON value: dict, list, str, int, float, bool or None."""


def members(value: Json) -> dict[str, Json]:
    """`value` if it is an object, else one without members: what others send may be anything."""
    return value if isinstance(value, dict) else {}


def elements(value: Json) -> list[Json]:
    """`value` if it is an array, else an empty one."""
    return value if isinstance(value, list) else []


Origin = Literal["us", "target"]


class Level(StrEnum):
    """The keyword of a requirement (RFC 2119)."""

    MUST = "MUST"
    MUST_NOT = "MUST NOT"
    SHOULD = "SHOULD"
    SHOULD_NOT = "SHOULD NOT"
    MAY = "MAY"


class Basis(StrEnum):
    """What a requirement rests on: keyword on a page, schema, JSON-RPC 2.0, plain prose, or the guide on security.

    `own` is what the user's own cases ask for, `client` what a client program is known to need.
    """

    TEXT = "text"
    SCHEMA = "schema"
    JSONRPC = "jsonrpc"
    PROSE = "prose"
    SECURITY_GUIDE = "security-guide"
    OWN = "own"
    CLIENT = "client"


class Severity(StrEnum):
    """How much a finding weighs; only a violation fails a server by default."""

    VIOLATION = "violation"
    WARNING = "warning"
    ADVICE = "advice"

    @property
    def rank(self) -> int:
        """0 for advice, 1 for warning, 2 for violation."""
        return _RANKS[self]


_RANKS = {Severity.ADVICE: 0, Severity.WARNING: 1, Severity.VIOLATION: 2}


class Verdict(StrEnum):
    """What is known about one requirement on one target."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_APPLICABLE = "not applicable"
    INCONCLUSIVE = "inconclusive"
    BLOCKED = "blocked"
    BROKEN = "broken"


class UsageError(Exception):
    """What the user asks for cannot be done; one line, which says what to change."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One rule of the specification, as in `cases/requirements/<area>.yaml`.

    `levels`, `bases` and `urls` have one entry for each revision in which the rule holds.
    `unobservable` is why no black-box client can decide it; empty if one can.
    """

    id: str
    text: str
    levels: Mapping[str, Level]
    bases: Mapping[str, Basis]
    urls: Mapping[str, tuple[str, ...]]
    observable: str
    transports: tuple[str, ...] = ()
    capabilities: tuple[str, ...] = ()
    client: tuple[str, ...] = ()
    needs: str = ""
    probe: str = ""
    caution: str = ""
    unobservable: str = ""

    @property
    def area(self) -> str:
        """The part of the id before the last slash."""
        return self.id.rpartition("/")[0]

    @property
    def revisions(self) -> tuple[str, ...]:
        """The revisions in which it holds, oldest first."""
        return tuple(self.levels)


AUTHORIZATION = "authorization"
OWN = "own"
OTHER_TOKENS: Mapping[str, str] = MappingProxyType(
    {
        "fewer-scopes": "a token that does not suffice for all that the server offers",
        "other-user": "a token of another user",
        "other-audience": "a token of the same issuer for another server",
        "expired": "a token that has expired",
    }
)
"""The tokens that a user may give beside the one that is used: kind → what it is."""


@dataclass(frozen=True, slots=True)
class Client:
    """Who gets a token by the grant of client credentials; without a `scope` the one that the server names."""

    id: str
    secret: str
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Target:
    """The server under test: a command, a URL, or a command that serves the URL.

    `{port}` in command and URL stands for a free port, chosen at start-up. An empty `command` means that
    somebody else runs the server at `url`. `env` is added to the environment of `mcp-conform` itself. `name` is what
    the server is called in the client configuration `config`, if it comes from one. `secrets` are the values that
    no report may show: value → name of the variable that stands for it. `tokens` are access tokens by kind: OWN, which
    is in the headers too, and those of OTHER_TOKENS. `oauth` is who gets a token from its authorization server;
    `registers` allows that clients are registered there. `via` is the transport, if not the usual one.
    """

    command: tuple[str, ...] = ()
    url: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    name: str = ""
    config: str = ""
    secrets: Mapping[str, str] = field(default_factory=dict)
    via: str = ""
    tokens: Mapping[str, str] = field(default_factory=dict)
    oauth: Client | None = None
    registers: bool = False

    @property
    def token(self) -> str:
        """The bearer token that goes with every request, "" if there is none."""
        given = next((value for name, value in self.headers.items() if name.lower() == AUTHORIZATION), "")
        scheme, _, token = given.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""

    @property
    def may_be_older(self) -> bool:
        """Whether the URL may be one of HTTP+SSE, for all that the user said."""
        return self.transport == "http" and not self.via

    @property
    def transport(self) -> str:
        """`via` or else, if there is a URL, `websocket` or `http`, else `stdio`."""
        usual = "websocket" if self.url.startswith(("ws://", "wss://")) else "http" if self.url else "stdio"
        return self.via or usual


@dataclass(frozen=True, slots=True)
class Limits:
    """How long the suite waits, in seconds. Generous: no verdict hangs on a tight clock.

    `slow` is when a tool counts as slow: others are called meanwhile. In the end it is waited for `late` seconds more.
    `impatient` says that the target is known not to end by itself, so that its end is not waited for as long any more.
    `pace` is how many times as long the target takes for its work as it would if a core had always been free for it.
    """

    start: float = 30.0
    answer: float = 10.0
    quiet: float = 1.0
    shutdown: float = 5.0
    slow: float = 1.0
    late: float = 3.0
    impatient: bool = False
    pace: float = 1.0


@dataclass(frozen=True, slots=True)
class Fuzzing:
    """How much the campaigns try: `examples` each (0 switches them off), in about `seconds` each, drawn with `seed`."""

    examples: int = 300
    seconds: float = 10.0
    seed: int = 0

    @property
    def words(self) -> list[str]:
        """The options of the command line that say so, as far as they are needed."""
        usual = Fuzzing()
        pairs = (("--fuzz", self.examples, usual.examples), ("--seed", self.seed, usual.seed))
        return [word for option, value, default in pairs if value != default for word in (option, str(value))]


class Frame(NamedTuple):
    """One message as it went over the wire. A tuple, because two are made for each request.

    `at` is in seconds since the session began. `data` are the bytes without the framing (no newline, no `data:`).
    `message` is the parsed JSON; it means nothing unless `readable`. `unread` says why what may be a message was not
    read. An array of messages is followed by one frame for each element, numbered by `part`. `illegal` marks what we
    sent wrong on purpose. `case` names the case during which it was sent, or whose request it answers. `exchange`,
    `status` and `headers` are HTTP's, of what we sent only the headers that were given for it; `fields` are `id` and
    `retry` of a server-sent event. On the channels `head`, `event` (one without data) and `end` there is no message;
    what we sent over HTTP is on `post`, `get`, `resume` (a GET for the rest of a stream) or `delete`.
    """

    number: int
    origin: Origin
    channel: str
    at: float
    data: bytes
    message: Json = None
    readable: bool = False
    case: str = ""
    illegal: bool = False
    part: int | None = None
    exchange: int | None = None
    status: int | None = None
    headers: Mapping[str, str] = MappingProxyType({})
    unread: str = ""
    fields: Mapping[str, str] = MappingProxyType({})


Silence = Literal["", "request", "feature"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One observed breach of one requirement, with the frames that prove it.

    `ceiling` softens the severity that level and basis give; it never hardens it. `confirmed` is None until the
    case has been put to the test again, alone, on a fresh server. `occurrences` counts like findings folded into
    this one. `after` are the cases that have to be played in the same session, so that it comes back.
    `tries` says how often it was shown of how many times, (3, 6); it is (0, 0) for what came back at once, alone.
    `diagnosis` says what probably is behind it and `hint` how to mend that; empty if nothing is known.
    `replay` is a case, as in a case file, that shows it again without Hypothesis; empty if there is none.
    `silence` says what went unanswered, if that is the finding: a request, and which one may be a matter of chance, or
    a feature, as often as it was asked for.
    """

    requirement: str
    case: str
    message: str
    expected: str
    actual: str
    frames: tuple[Frame, ...] = ()
    ceiling: Severity | None = None
    confirmed: bool | None = None
    occurrences: int = 1
    diagnosis: str = ""
    hint: str = ""
    replay: Mapping[str, Json] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    tries: tuple[int, int] = (0, 0)
    silence: Silence = ""

    @property
    def kind(self) -> FindingKind:
        """Findings of one kind tell the same, whatever showed them: a report has one of them."""
        return self.requirement, self.message, self.ceiling


FindingKind = tuple[str, str, Severity | None]


class Excerpt(NamedTuple):
    """Frames that belong to a case: the numbers of the first and the last in a session, and how many went each way."""

    session: str
    first: int
    last: int
    sent: int
    received: int


@dataclass(frozen=True, slots=True)
class Played:
    """A case that was played: for how many seconds, and its frames."""

    seconds: float
    excerpts: tuple[Excerpt, ...] = ()


@dataclass(frozen=True, slots=True)
class Judged:
    """One requirement with its verdict in one run.

    `severity` is set only if the verdict is failed. `reason` says why it is not applicable, inconclusive, blocked or
    broken. `flaky` are findings that did not show themselves twice, where that is why it is inconclusive. `known` is
    why a failure is accepted, if the baseline has it. `shown_by` says of what passed which cases showed that, and how
    often each.
    """

    requirement: Requirement
    level: Level
    basis: Basis
    verdict: Verdict
    severity: Severity | None
    reason: str
    url: str
    findings: tuple[Finding, ...] = ()
    reproduce: str = ""
    seconds: float = 0.0
    flaky: tuple[Finding, ...] = ()
    known: str = ""
    shown_by: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class KnownFailures:
    """What came of the baseline in the file `path`.

    `stale` says what is gone or no longer accepted, which fails the run; `untested` what could not be compared.
    """

    path: str
    stale: tuple[str, ...] = ()
    untested: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Tally:
    """What one campaign did: `frames` of the `planned` ones were sent, and how many were answered how.

    `answers` has as keys error codes as text, "result", "silence", "death" and the like. `restarts` counts the servers
    started anew; `note` says why fewer frames were sent than planned.
    """

    campaign: str
    frames: int
    planned: int
    answers: Mapping[str, int]
    restarts: int
    seed: int
    seconds: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Extent:
    """How many requirements of the specification hold in a revision over a transport.

    Some are `checked`, some are `unobservable` for any client, and some are `unchecked` so far.
    """

    checked: int = 0
    unobservable: int = 0
    unchecked: int = 0


@dataclass(frozen=True, slots=True)
class Run:
    """One revision over one transport: what was learned about each requirement put to the test.

    `name` is the name of the server in a client configuration, "" if there is only one server. `verdicts` begin with
    what failed, as `verdicts.in_order` has it. `left_out` says why of each tool that may
    not be called, or cannot be. `extent` is about all that holds in the revision, whatever was asked for.
    `cases` are those that were played.
    """

    revision: str
    era: str
    transport: str
    server: Mapping[str, str]
    capabilities: Json
    verdicts: tuple[Judged, ...]
    seconds: float
    name: str = ""
    tallies: tuple[Tally, ...] = ()
    left_out: Mapping[str, str] = field(default_factory=dict)
    extent: Extent = Extent()
    cases: Mapping[str, Played] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Report:
    """All that one call of `mcp-conform` learned; every view is made from it.

    `started` is an ISO 8601 time in UTC. `complete` is false if the run was interrupted. `notes` are remarks about
    the target as a whole, such as revisions that it does not speak. `problem` says why nothing could be tested,
    `diagnosis` what probably is behind that, and `hint` how to mend it. `fail_on` is the least severity that fails.
    Of several servers `target` has only the `config` that they come from, and `problems` says by name which of them
    could not be tested, and why. `untried` are the revisions in which no server was tested since the user named none:
    without a choice only the newest of each era is. `known` is set if there is a baseline.
    """

    target: Target
    version: str
    started: str
    seconds: float
    complete: bool
    runs: tuple[Run, ...]
    exit: int
    notes: tuple[str, ...] = ()
    problem: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    problems: Mapping[str, str] = field(default_factory=dict)
    diagnosis: str = ""
    hint: str = ""
    untried: tuple[str, ...] = ()
    fail_on: str = "violation"
    known: KnownFailures | None = None
