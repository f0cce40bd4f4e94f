"""The table of faults. Without --fault nothing of this package is loaded, with it only the module that has the one.

Every module of the package has faults, and lists them in a tuple FAULTS.
"""

from __future__ import annotations

import json
import os
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.reference.fault import Fault
    from conformance.reference.server import Server

# By hand: to import pathlib or pkgutil takes longer than to import a module of faults.
FOLDER = __path__[0]
AREAS = sorted(name[:-3] for name in os.listdir(FOLDER) if name.endswith(".py") and name[0] != "_")  # noqa: PTH208


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
        with open(f"{FOLDER}/{area}.py", encoding="utf-8") as module:  # noqa: PTH123
            said = f'"{name}"' in module.read()
        if said:
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
