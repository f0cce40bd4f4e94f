"""Steps of cases written in Python, where YAML cannot say it: one module an area.

A probe is a function of a `Bench` that makes observations; the case judges them. It is registered in TABLE under
`<area>.<name>`. A campaign is played like a probe, and judges by itself: it writes into the ledger what it learned
about its requirements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from conformance.checks.ledger import Ledger
from conformance.model import Frame, Fuzzing, Json
from conformance.session.messages import Call
from conformance.session.session import Session
from conformance.survey.survey import Survey
from conformance.tables import registered


class Connect(Protocol):
    """Opens further sessions with the same target; they are closed with the case."""

    def __call__(
        self, *, revision: str | None = None, client: Json = None, open: bool = True, shared: bool = False
    ) -> Session:
        """A session on a process of its own; with `shared` (HTTP) on the same process, a new connection.

        With `open` false nothing has been said yet. Raises NotSpoken, StartError.
        """


@dataclass(slots=True)
class Bench:
    """What a probe works with.

    `spoken` are the dates of all revisions that the target is known to speak. `settings` is the step's `with:`.
    `startup` is how long the target took to answer its first request, in seconds. `fuzzing` is for campaigns.
    """

    session: Session
    survey: Survey
    ledger: Ledger
    connect: Connect
    spoken: tuple[str, ...] = ()
    startup: float = 1.0
    settings: Mapping[str, Json] = field(default_factory=dict)
    fuzzing: Fuzzing = field(default_factory=Fuzzing)


@dataclass(frozen=True, slots=True)
class Observation:
    """Something that a probe found out: `values` is what the case sees of it, under the name that it gives.

    `call` is the request whose response is judged, `frames` show it, by default the call and its answers. `actual` is
    what findings say that came, by default the response.
    """

    values: Mapping[str, Json]
    call: Call | None = None
    frames: tuple[Frame, ...] = ()
    actual: str = ""


Function = Callable[[Bench], Iterator[Observation] | None]


@dataclass(frozen=True, slots=True)
class Probe:
    """A registered probe. `illegal` says that it may send what is wrong on purpose."""

    name: str
    requirements: tuple[str, ...]
    run: Function
    illegal: bool = False


TABLE = {
    "asking.elicitation": "elicitation.actions",
    "asking.other-client": "elicitation.other_client",
    "asking.root-boundaries": "roots.boundaries",
    "asking.roots": "roots.unavailable",
    "asking.sampling": "sampling.refused",
    "asking.tool-loop": "sampling.tool_loop",
    "asking.undeclared": "elicitation.undeclared",
    "cancellation.in-flight": "cancellation.in_flight",
    "input-required.retry": "input_required.retry",
    "json-schema.dialects": "dialects.dialects",
    "jsonrpc.batches": "batches.batches",
    "jsonrpc.non-ascii": "jsonrpc.non_ascii",
    "lifecycle.opening": "lifecycle.opening",
    "lifecycle.prompt-pings": "lifecycle.prompt_pings",
    "lifecycle.unanswered-requests": "lifecycle.unanswered_requests",
    "logging.filter": "logging.level_filter",
    "resources.readable": "resources.readable",
    "tasks.asking": "task_rules.asking",
    "tasks.cancel": "task_rules.cancel",
    "tasks.life": "tasks.life",
    "tasks.requestor": "client_tasks.requestor",
    "tasks.several": "task_rules.several",
    "tools.call-each": "tools.results",
    "tools.effects": "effects.effects",
    "tools.in-flight": "in_flight.in_flight",
    "tools.independence": "tools.independence",
    "tools.partial-client": "effects.partial_client",
    "transport-stdio.chunks": "transport_stdio.chunks",
    "versioning.initialize": "versioning.initialize",
    "versioning.negotiation": "versioning.negotiation",
}
"""Name → module and function in this package."""
ILLEGAL = {"jsonrpc.non-ascii"}
"""Those that send what is wrong on purpose."""


def load_probes() -> dict[str, Probe]:
    """All probes by name."""
    return {name: Probe(name, (), registered(__name__, place), name in ILLEGAL) for name, place in TABLE.items()}
