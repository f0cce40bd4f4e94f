"""Published: the JSON Schemas of tools are valid in the dialect that they name."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any, ClassVar

from conformance.expect import shorten
from conformance.invariants.base import Watcher
from conformance.json_schemas import surely_a_schema
from conformance.messages import Call
from conformance.model import Frame, Json, Severity

VALID = "json-schema/published-schemas-valid"
PREFERRED = "json-schema/dialect-2020-12-preferred"

LATEST = "https://json-schema.org/draft/2020-12/schema"


class Published(Watcher):
    """See the module. Before 2025-11-25 no dialect was the default, so nothing is judged."""

    name = "published"
    requirements: ClassVar[tuple[str, ...]] = (VALID, PREFERRED)

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the schemas in a tools/list result."""
        if call is None or call.method != "tools/list" or self.session.revision.date < "2025-11-25":
            return
        result = frame.message.get("result") if isinstance(frame.message, dict) else None
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in tools if isinstance(tools, list) else []:
            for member in ("inputSchema", "outputSchema"):
                if isinstance(tool, dict) and isinstance(tool.get(member), dict):
                    self._schema((member, tool.get("name")), tool[member], (call.sent, frame))

    def _schema(self, place: tuple[str, Json], schema: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        dialect = schema.get("$schema", LATEST)
        if not isinstance(dialect, str):
            return  # a wrong type is judged in wire.py
        if dialect.rstrip("#") == LATEST:
            self.ledger.held(PREFERRED)
        else:
            what = "a schema names another dialect than 2020-12"
            self._broke(PREFERRED, what, LATEST, f"{_where(place)}: {dialect}", proof, Severity.ADVICE)
        flaw = _flaw(json.dumps(schema), dialect.rstrip("#"))
        if flaw is None:
            self.ledger.inconclusive(VALID, f"the dialect {dialect} is unknown")
        elif flaw:
            what = "a schema is not valid in its dialect"
            self._broke(VALID, what, f"a schema of {dialect}", f"{_where(place)}: {flaw}", proof, None)
        else:
            self.ledger.held(VALID)

    def _broke(
        self,
        requirement: str,
        what: str,
        expected: str,
        actual: str,
        proof: tuple[Frame, ...],
        ceiling: Severity | None,
    ) -> None:
        self.ledger.broke(requirement, what, expected=expected, actual=actual, frames=proof, ceiling=ceiling)


def _where(place: tuple[str, Json]) -> str:
    return f"{place[0]} of {shorten(place[1])}"


@lru_cache(maxsize=4096)
def _flaw(schema: str, dialect: str) -> str | None:
    """What makes a schema, as JSON text, invalid; empty if nothing does, None if the dialect is unknown.

    Formats are annotations: a `pattern` that Python cannot compile may be a fine ECMAScript one.
    """
    parsed = json.loads(schema)
    if surely_a_schema(parsed, dialect):
        return ""
    from jsonschema import FormatChecker, SchemaError
    from jsonschema.validators import validator_for

    unknown: Any = object()
    kind: Any = next(
        (
            found
            for uri in (dialect, dialect + "#")
            if (found := validator_for({"$schema": uri}, unknown)) is not unknown
        ),
        None,
    )
    if kind is None:
        return None
    try:
        kind.check_schema(parsed, format_checker=FormatChecker(formats=()))
    except SchemaError as error:
        return f"{error.json_path}: {error.message[:200]}"
    return ""
