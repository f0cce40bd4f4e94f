"""Steps of cases written in Python, where YAML cannot say it: one module an area.

A probe is a function of a `Bench`, registered under `<area>.<name>`. One that is registered without requirements makes
observations, and the case judges them. Any other judges by itself: it writes into the ledger what it learned about the
requirements that it was registered with.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from conformance.checks.ledger import Ledger
from conformance.model import Frame, Fuzzing, Json
from conformance.session.messages import Call
from conformance.session.session import Session
from conformance.survey.survey import Survey


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


PROBES: dict[str, Probe] = {}


F = TypeVar("F", bound=Function)


def probe(name: str, *requirements: str, illegal: bool = False) -> Callable[[F], F]:
    """Register a function as the probe `name`, which may judge `requirements` and send what is `illegal`."""

    def register(function: F) -> F:
        PROBES[name] = Probe(name, requirements, function, illegal)
        return function

    return register


def load_probes() -> dict[str, Probe]:
    """All probes by name: importing a module of this package registers its probes."""
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        importlib.import_module(module.name)
    return PROBES
