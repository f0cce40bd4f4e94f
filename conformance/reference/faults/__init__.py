"""The table of faults. Without --fault nothing of this package is loaded."""

from __future__ import annotations

import json

from conformance.reference.faults import (
    asking,
    asking_badly,
    errors,
    features,
    headers,
    http,
    input_required,
    jsonrpc,
    kinds,
    lifecycle,
    pagination,
    prompts,
    resources,
    stateless,
    stdio,
    subscriptions,
    task_rules,
    tasks,
    tools,
    utilities,
    versioning,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from conformance.reference.faults.base import Fault
    from conformance.reference.server import Server

AREAS = (
    jsonrpc,
    errors,
    lifecycle,
    versioning,
    stdio,
    pagination,
    tools,
    resources,
    prompts,
    tasks,
    task_rules,
    features,
    utilities,
    kinds,
    stateless,
    input_required,
    asking,
    asking_badly,
    subscriptions,
    http,
    headers,
)
FAULTS: dict[str, Fault] = {fault.name: fault for area in AREAS for fault in area.FAULTS}


def apply(server: Server, names: Iterable[str]) -> None:
    """Give the server the named faults. Raises KeyError with the first name that is none."""
    for name in names:
        FAULTS[name].apply(server)


def listing() -> str:
    """The table, one JSON object a line: name, requirements, revisions, transports, text."""
    rows = (
        {
            "name": fault.name,
            "requirements": fault.requirements,
            "revisions": fault.revisions,
            "transports": fault.transports,
            "text": fault.summary,
        }
        for fault in FAULTS.values()
    )
    return "\n".join(json.dumps(row) for row in rows)
