"""Faults in the schemas of tools, and in what the server knows of JSON Schema."""

from __future__ import annotations

from conformance.reference.fault import Fault, on_item, setting
from conformance.reference.schema import problem
from conformance.reference.tool import Tool, answer
from conformance.reference.wire import Message

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from conformance.reference.fault import Apply
    from conformance.reference.server import Server

DRAFT_07 = "http://json-schema.org/draft-07/schema#"
TO_NOTHING = {"$ref": "#/$defs/Text"}
NEWER = ("prefixItems", "dependentRequired", "dependentSchemas")


def _old_vocabulary(concerns: Callable[[Message], bool]) -> Apply:
    """Check arguments without the words of 2020-12, where the schema `concerns` us."""

    def check(value: Any, schema: Message) -> str | None:
        return problem(value, _without_newer(schema) if concerns(schema) else schema)

    return setting("problem", check)


def _without_newer(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_without_newer(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    known = {name: _without_newer(value) for name, value in schema.items() if name not in NEWER}
    if "prefixItems" in schema:
        known.pop("items", None)
    return known


def _draft_07(server: Server) -> None:
    schema: Message = {
        "$schema": DRAFT_07,
        "type": "object",
        "properties": {"colour": {"type": "string"}, "size": {"type": "integer"}},
        "dependencies": {"colour": ["size"]},
    }
    server.tools["paint"] = Tool("paint", "Paint nothing", lambda call, given: answer("Painted."), input=schema)


FAULTS = (
    Fault(
        "schema-invalid",
        "json-schema/published-schemas-valid tools/list-shape",
        "a tool's inputSchema has a type that JSON Schema does not know",
        on_item("tools/list", "echo", lambda item: item["inputSchema"]["properties"]["text"].update(type="text")),
        since="2025-11-25",
    ),
    Fault(
        "schema-refers-to-nothing",
        "json-schema/published-schemas-valid",
        "a tool's inputSchema refers to a definition that it does not have",
        on_item("tools/list", "echo", lambda item: item["inputSchema"]["properties"].update(text=TO_NOTHING)),
        since="2025-11-25",
    ),
    Fault(
        "schema-misspelt-pattern",
        "json-schema/published-schemas-valid",
        "a tool's inputSchema has a pattern that is no regular expression",
        on_item("tools/list", "echo", lambda item: item["inputSchema"]["properties"]["text"].update(pattern="^[a-z")),
        since="2025-11-25",
    ),
    Fault(
        "schema-draft-07",
        "json-schema/dialect-2020-12-preferred",
        "a tool's inputSchema names draft-07",
        on_item("tools/list", "echo", lambda item: item["inputSchema"].update({"$schema": DRAFT_07})),
        since="2025-11-25",
    ),
    Fault(
        "dialect-default-old",
        "json-schema/dialect-2020-12-supported",
        "words of JSON Schema 2020-12 are not known where a schema names no dialect",
        _old_vocabulary(lambda schema: "$schema" not in schema),
        since="2025-11-25",
    ),
    Fault(
        "dialect-named-in-vain",
        "json-schema/validated-by-declared-dialect",
        "words of JSON Schema 2020-12 are not known although the schema names it",
        _old_vocabulary(lambda schema: "$schema" in schema),
        since="2025-11-25",
    ),
    Fault(
        "dialect-draft-07-unknown",
        "json-schema/validated-by-declared-dialect json-schema/dialect-2020-12-preferred"
        " tools/no-parameter-schema-recommended",
        "a schema names draft-07, and words that only draft-07 knows are not heeded",
        _draft_07,
        since="2025-11-25",
    ),
)
