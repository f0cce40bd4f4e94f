"""Published: the JSON Schemas of tools are valid in the dialect that they name, and somebody can use them."""

from __future__ import annotations

import json
from typing import ClassVar

from conformance.catalogue.patterns import shorten
from conformance.catalogue.requirements import load
from conformance.checks.invariants.base import Watcher
from conformance.model import Frame, Json, Severity, elements
from conformance.session.messages import Call
from conformance.validation.json_schemas import (
    DIALECTS,
    Unusable,
    by_digest,
    invalid,
    refuse_longest,
    slips,
    unusable,
)

VALID = "json-schema/published-schemas-valid"
PREFERRED = "json-schema/dialect-2020-12-preferred"

EARLIER = {"inputSchema": "tools/input-schema-object", "outputSchema": "tools/output-schema-object"}
"""Member of a tool → the requirement about it where there is none about all schemas."""

LATEST = "https://json-schema.org/draft/2020-12/schema"


class Published(Watcher):
    """See the module. Before 2025-11-25 no dialect was the default, so only the use of a schema is judged."""

    name = "published"
    requirements: ClassVar[tuple[str, ...]] = (VALID, PREFERRED, *EARLIER.values())

    def heard(self, frame: Frame, call: Call | None) -> None:
        """Judge the schemas in a tools/list result."""
        if call is None or call.method != "tools/list":
            return
        result = frame.message.get("result") if isinstance(frame.message, dict) else None
        tools = result.get("tools") if isinstance(result, dict) else None
        for tool in elements(tools):
            for member in ("inputSchema", "outputSchema"):
                if isinstance(tool, dict) and isinstance(tool.get(member), dict):
                    self._schema((member, tool.get("name")), tool[member], (call.sent, frame))

    def _schema(self, place: tuple[str, Json], schema: dict[str, Json], proof: tuple[Frame, ...]) -> None:
        revision = self.session.revision.date
        requirement = VALID if revision in load()[VALID].levels else EARLIER[place[0]]
        written = json.dumps(schema)
        why = unusable(schema, written)
        if why and revision in load()[requirement].levels:
            # It is valid all the same: what it costs to use is nobody's rule.
            what = "a schema cannot be used within reasonable bounds"
            self._broke(
                requirement, what, "a schema of moderate size", f"{_where(place)}: {why}", proof, Severity.ADVICE
            )
        if requirement == VALID:
            self._validity(place, schema, written, proof)

    def _validity(
        self, place: tuple[str, Json], schema: dict[str, Json], written: str, proof: tuple[Frame, ...]
    ) -> None:
        dialect = schema.get("$schema", LATEST)
        if not isinstance(dialect, str):
            return  # a wrong type is judged in wire.py
        if dialect.rstrip("#") == LATEST:
            self.ledger.held(PREFERRED)
        else:
            what = "a schema names another dialect than 2020-12"
            self._broke(PREFERRED, what, LATEST, f"{_where(place)}: {shorten(dialect)}", proof, Severity.ADVICE)
        try:
            flaw = _flaw(written, dialect.rstrip("#"))
        except Unusable as why:
            self.ledger.inconclusive(VALID, f"{_where(place)} cannot be checked: {why}")
            return
        if flaw is None:
            self.ledger.inconclusive(VALID, f"the dialect {shorten(dialect)} is unknown")
        elif flaw:
            what = "a schema is not valid in its dialect"
            self._broke(VALID, what, f"a schema of {dialect}", f"{_where(place)}: {flaw}", proof, None)
        else:
            self._slips(place, slips(written), proof)

    def _slips(self, place: tuple[str, Json], found: tuple[str, str], proof: tuple[Frame, ...]) -> None:
        """The metaschema admits them, but no value can be held against such a schema."""
        missing, misspelt = found
        if missing:
            what, expected = "a schema refers to a part that it does not have", "a reference to a part of the schema"
            self._broke(VALID, what, expected, f"{_where(place)}: {missing}", proof, Severity.WARNING)
        if misspelt:
            what, expected = "a pattern in a schema is no regular expression", "one that a client can compile"
            self._broke(VALID, what, expected, f"{_where(place)}: {misspelt}", proof, Severity.WARNING)
        if not any(found):
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


@by_digest(128)
def _flaw(schema: str, dialect: str) -> str | None:
    """What makes a schema, as JSON text, invalid; empty if nothing does, None if the dialect is unknown.

    Formats are annotations: a `pattern` that Python cannot compile may be a fine ECMAScript one. Raises Unusable.
    """
    validator = DIALECTS.get(dialect)
    if validator is None:
        return None
    refuse_longest(schema)
    wrong = invalid(json.loads(schema), validator)
    return "" if wrong is None else str(wrong)
