"""A snapshot of what a server offers, for comparison with a later one; `schemas/snapshot.json` describes it."""

from __future__ import annotations

from conformance.model import Json, members
from conformance.survey.survey import Survey

FORMAT = 1

KEYS = {"tools": "name", "resources": "uri", "templates": "uriTemplate", "prompts": "name"}
"""List → the member by which its items are known, and sorted."""
FLEETING = {"resources": ("size", "annotations.lastModified")}
"""What changes with the content of a resource and is no part of what the server offers."""


def make(revision: str, server: str, survey: Survey) -> Json:
    """What the server called `server` offers in `revision`; the same for a server that offers the same.

    A list that the server declared and did not give is null.
    """
    lists = {name: _sorted(name, getattr(survey, name)) for name in KEYS}
    return {
        "snapshot": FORMAT,
        "revision": revision,
        "server": server,
        "capabilities": members(survey.capabilities),
        **{name: None if name in survey.unread else items for name, items in lists.items()},
    }


def _sorted(name: str, items: tuple[Json, ...]) -> list[Json]:
    kept = [_lasting(item, FLEETING.get(name, ())) for item in items]
    return sorted(kept, key=lambda item: str(item.get(KEYS[name])))


def _lasting(item: Json, fleeting: tuple[str, ...]) -> Json:
    item = dict(item)
    for path in fleeting:
        name, _, member = path.partition(".")
        if not member:
            item.pop(name, None)
        elif isinstance(item.get(name), dict) and member in item[name]:
            item[name] = {key: value for key, value in item[name].items() if key != member}
    return item
