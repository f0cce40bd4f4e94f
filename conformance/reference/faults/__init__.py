"""The table of faults. Without --fault nothing of this package is loaded, with it only the module that has the one."""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.reference.faults.base import Fault
    from conformance.reference.server import Server

AREAS = (
    "jsonrpc",
    "errors",
    "lifecycle",
    "versioning",
    "stdio",
    "pagination",
    "tools",
    "resources",
    "prompts",
    "tasks",
    "task_rules",
    "completion",
    "logging",
    "progress",
    "cancellation",
    "content",
    "sampling",
    "elicitation",
    "roots",
    "json_schema",
    "meta",
    "stateless",
    "input_required",
    "asking",
    "asking_badly",
    "subscriptions",
    "http",
    "headers",
    "clients",
    "mistakes",
    "fuzzing",
    "fuzzing_calls",
)


def every() -> Iterator[Fault]:
    """All faults, area by area."""
    for area in AREAS:
        yield from of(area)


def of(area: str) -> tuple[Fault, ...]:
    """The faults of one module."""
    faults: tuple[Fault, ...] = import_module(f"{__name__}.{area}").FAULTS
    return faults


def apply(server: Server, names: Iterable[str]) -> None:
    """Give the server the named faults. Raises KeyError with the first name that is none."""
    for name in names:
        find(name).apply(server)


def find(name: str) -> Fault:
    """The fault of that name. Raises KeyError.

    Loading all modules takes longer than starting the server, so only those are loaded whose text has the name.
    """
    for area in AREAS:
        if f'"{name}"' in (Path(__file__).parent / f"{area}.py").read_text():
            for fault in of(area):
                if fault.name == name:
                    return fault
    raise KeyError(name)


def listing() -> str:
    """The table, one JSON object a line: name, requirements, revisions, transports, text."""
    rows = (
        {
            "area": area,
            "name": fault.name,
            "requirements": fault.requirements,
            "revisions": fault.revisions,
            "transports": fault.transports,
            "text": fault.summary,
        }
        for area in AREAS
        for fault in of(area)
    )
    return "\n".join(json.dumps(row) for row in rows)
