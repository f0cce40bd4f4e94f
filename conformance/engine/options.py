"""What the user chose, as the engine takes it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from conformance.model import Fuzzing, Limits, Severity, Target
from conformance.session.answers import Given
from conformance.survey.survey import CallPolicy, Samples

if TYPE_CHECKING:
    from conformance.catalogue.selection import Selection
    from conformance.engine.baseline import Baseline
    from conformance.engine.own import Own


FailOn = Literal["violation", "warning", "advice"]
Detail = Literal["quiet", "usual", "full"]
"""How much is shown on the terminal: the verdict and the violations, what is worth reading, or everything."""


@dataclass(frozen=True, slots=True)
class Mention:
    """A tool or prompt that the user named, and where; a target that has none of that name is told so."""

    kind: Literal["tool", "prompt"]
    name: str
    where: str


JOBS = 6
"""How many servers run at once if the user does not say."""


@dataclass(frozen=True, slots=True)
class Options:
    """What the user chose. `revisions` are dates, or `("newest",)` for the newest that the target speaks, or `("all",)`
    for all of them; empty means the newest of each era. `jobs` is how many servers run at once: JOBS if it is None, or
    more of those that take long to start and hardly work meanwhile.

    `samples` and `answers` are what is tried and answered where the user knows better than the suite. `softened` are
    requirements that shall weigh less. `own` is what the user asks beside the specification. `named_by` are the words
    of the command line that name the target, if a file describes it; `given` are the names of the environment and the
    headers that the command line gives beside the file. `shared` means that the same options are for
    several targets: a tool that one of them lacks another may have. `quick` leaves out what one session cannot tell
    at once. `harmful` plays what may hurt the server also on one that somebody else runs. `time_limit` is in
    seconds, for all targets together, `server_time_limit` for each server of a client configuration. `selected` is what
    is played and reported, instead of what `only`, `skip` and `quick` leave. Of the revisions that the target speaks,
    only those `within` are tested, if there are any.
    """

    revisions: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    skip: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    policy: CallPolicy = field(default_factory=CallPolicy)
    limits: Limits = field(default_factory=Limits)
    jobs: int | None = None
    fail_on: FailOn = "violation"
    trace: bool = False
    confirm: bool = True
    samples: Samples = field(default_factory=Samples)
    mentions: tuple[Mention, ...] = ()
    answers: Given = field(default_factory=Given)
    softened: Mapping[str, Severity] = field(default_factory=dict)
    own: Own | None = None
    fuzzing: Fuzzing = field(default_factory=Fuzzing)
    quick: bool = False
    harmful: bool = False
    named_by: tuple[str, ...] = ()
    given: frozenset[str] = frozenset()
    shared: bool = False
    time_limit: float = math.inf
    server_time_limit: float = math.inf
    baseline: Baseline | None = None
    selected: Selection | None = None
    within: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ConfiguredServer:
    """A server of a client configuration. `problem` says why it cannot be tested, "" if it can."""

    name: str
    target: Target
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ClientConfig:
    """The servers of a client configuration that are to be tested, in the order of the file; what there is to note."""

    path: str
    servers: tuple[ConfiguredServer, ...]
    notes: tuple[str, ...] = ()

    @property
    def secrets(self) -> Mapping[str, str]:
        """What no report may show: value → name of the variable that stands for it."""
        return {value: name for server in self.servers for value, name in server.target.secrets.items()}


@dataclass(frozen=True, slots=True)
class Invocation:
    """What is to be tested, how, and what is to be written: kind of report → file, and the folder for cases found.

    `format` is how stdout is written, "" if the user did not say.
    """

    target: Target | ClientConfig
    options: Options
    files: Mapping[str, Path]
    detail: Detail = "usual"
    save_cases: Path | None = None
    format: str = ""
