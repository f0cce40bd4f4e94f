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
from conformance.model import Frame, Fuzzing, Json, Target
from conformance.session.messages import Call, Unavailable
from conformance.session.session import Session
from conformance.survey.survey import Survey
from conformance.tables import registered
from conformance.transports.web import Web


class Connect(Protocol):
    """Opens further sessions with the same target; they are closed with the case."""

    def __call__(
        self, *, revision: str | None = None, client: Json = None, open: bool = True, shared: bool = False
    ) -> Session:
        """A session on a process of its own; with `shared` (HTTP) on the same process, a new connection.

        With `open` false nothing has been said yet. Raises NotSpoken, StartError.
        """


def no_web() -> Web:
    """Raises Unavailable: there is no HTTP."""
    raise Unavailable("the target is not reached over HTTP")


def no_grant(scope: str) -> str:
    """Raises Unavailable: nobody may ask for a token."""
    raise Unavailable("this needs a token with another scope: --oauth client-credentials gets one")


@dataclass(slots=True)
class Bench:
    """What a probe works with.

    `spoken` are the dates of all revisions that the target is known to speak. `settings` is the step's `with:`.
    `startup` is how long the target took to answer its first request, in seconds. `fuzzing` is for campaigns.
    `target` is what the user has said of it, tokens included. `web` gives a client for single HTTP requests to it,
    which go without a token; `grant` a token with that scope from its authorization server.
    """

    session: Session
    survey: Survey
    ledger: Ledger
    connect: Connect
    spoken: tuple[str, ...] = ()
    startup: float = 1.0
    settings: Mapping[str, Json] = field(default_factory=dict)
    fuzzing: Fuzzing = field(default_factory=Fuzzing)
    target: Target = field(default_factory=Target)
    web: Callable[[], Web] = no_web
    grant: Callable[[str], str] = no_grant


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
    "asking.partial-client": "elicitation.partial_client",
    "asking.undeclared": "elicitation.undeclared",
    "authorization.access": "authorization.access",
    "authorization.challenge": "authorization.challenge",
    "authorization.metadata": "authorization.metadata",
    "authorization.other-era": "other_era.other_era",
    "authorization.own-server": "authorization_server.own_server",
    "authorization.registration": "authorization_server.registration",
    "authorization.requests": "authorization.requests",
    "authorization.scope": "authorization.scope",
    "authorization.step-up": "authorization.step_up",
    "authorization.tokens": "bad_tokens.tokens",
    "authorization.users": "authorization.users",
    "authorization.states-of-others": "principals.states",
    "authorization.tasks-of-others": "principals.tasks",
    "cancellation.in-flight": "cancellation.in_flight",
    "input-required.beside-tools": "beside_tools.beside_tools",
    "input-required.foreign-state": "input_required.foreign_state",
    "input-required.retry": "input_required.retry",
    "input-required.tampered": "input_required.tampered",
    "json-schema.dialects": "dialects.dialects",
    "jsonrpc.batches": "batches.batches",
    "jsonrpc.endurance": "endurance.endurance",
    "jsonrpc.many-at-once": "in_flight.many",
    "jsonrpc.non-ascii": "jsonrpc.non_ascii",
    "jsonrpc.told-apart": "mixed.told_apart",
    "jsonrpc.written-otherwise": "written.written_otherwise",
    "lifecycle.opening": "lifecycle.opening",
    "lifecycle.prompt-pings": "lifecycle.prompt_pings",
    "lifecycle.unanswered-requests": "lifecycle.unanswered_requests",
    "logging.beside-subscription": "logging.beside_subscription",
    "logging.filter": "logging.level_filter",
    "prompts.listed": "listed.prompts",
    "resources.listed": "listed.resources",
    "resources.paths": "paths.paths",
    "resources.readable": "resources.readable",
    "resources.templates": "templates.templates",
    "subscriptions.changes": "subscriptions.changes",
    "subscriptions.ends": "subscriptions.ends",
    "tasks.asking": "task_rules.asking",
    "tasks.cancel": "task_rules.cancel",
    "tasks.fetched-twice": "task_rules.fetched_twice",
    "tasks.life": "tasks.life",
    "tasks.others": "task_rules.others",
    "tasks.requestor": "client_tasks.requestor",
    "tasks.several": "task_rules.several",
    "tasks-extension.follow": "task_extension.follow",
    "tasks-extension.told": "task_extension.told",
    "tools.call-each": "tools.results",
    "tools.effects": "effects.effects",
    "tools.in-flight": "mixed.beside_a_call",
    "tools.independence": "tools.independence",
    "tools.kept-apart": "apart.kept_apart",
    "transport-http.listening-addresses": "origins.listening_addresses",
    "transport-http.methods": "transport_http.methods",
    "transport-http.old-headers": "transport_http.old_headers",
    "transport-http.origins": "origins.origins",
    "transport-http.responses": "response_batches.responses",
    "transport-http.at-once": "clients_at_once.at_once",
    "transport-http.resumption": "broken_streams.resumption",
    "transport-http.session-ids": "session_ids.session_ids",
    "transport-http.sessions": "transport_http.sessions",
    "transport-http.versions": "transport_http.versions",
    "transport-http.silence": "broken_streams.silence",
    "transport-http.two-streams": "two_streams.two_streams",
    "transport-http.stream-end": "transport_http.stream_end",
    "transport-sse.origins": "origins.origins_apart",
    "transport-stdio.chunks": "transport_stdio.chunks",
    "transport-stdio.unread-stderr": "transport_stdio.unread_stderr",
    "versioning.initialize": "versioning.initialize",
    "versioning.negotiation": "versioning.negotiation",
}
"""Name → module and function in this package."""
ILLEGAL = {
    "input-required.foreign-state",
    "input-required.tampered",
    "jsonrpc.non-ascii",
    "transport-http.old-headers",
    "transport-http.origins",
    "transport-http.sessions",
    "transport-stdio.chunks",
    "transport-stdio.unread-stderr",
}
"""Those that send what is wrong on purpose."""


def load_probes() -> dict[str, Probe]:
    """All probes by name."""
    return {name: Probe(name, (), registered(__name__, place), name in ILLEGAL) for name, place in TABLE.items()}
