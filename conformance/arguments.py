"""The smallest arguments that a tool's inputSchema admits: its required members only."""

from __future__ import annotations

from conformance.model import Json


class Unfillable(Exception):
    """No arguments can be made up for this schema; the text says why."""


def smallest_arguments(schema: Json) -> dict[str, Json]:
    """Arguments with just the required members, filled with the smallest values that fit their schemas.

    Raises Unfillable where the schema uses words that cannot be satisfied without more knowledge.
    """
    if not isinstance(schema, dict):
        raise Unfillable("its inputSchema is no object")
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    required = schema.get("required")
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return {name: _value(properties.get(name, {}), schema, 0) for name in names}


def _value(schema: Json, root: Json, depth: int) -> Json:
    if depth > 8:
        raise Unfillable("its inputSchema is nested too deeply")
    if not isinstance(schema, dict):
        return "x"
    for word in ("const", "default"):
        if word in schema:
            return schema[word]
    for word in ("enum", "examples"):
        if isinstance(schema.get(word), list) and schema[word]:
            return schema[word][0]
    if isinstance(schema.get("$ref"), str):
        return _value(_resolve(schema["$ref"], root), root, depth + 1)
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(schema.get(word), list) and schema[word]:
            return _value(schema[word][0], root, depth + 1)
    kind = schema.get("type", "string")
    return _of_type(kind[0] if isinstance(kind, list) and kind else kind, schema, root, depth)


def _of_type(kind: Json, schema: dict[str, Json], root: Json, depth: int) -> Json:
    if kind == "object":
        inner = {"$defs": root.get("$defs"), "definitions": root.get("definitions"), **schema}
        properties = schema.get("properties") if isinstance(schema.get("properties"), dict) else {}
        names = inner.get("required") if isinstance(inner.get("required"), list) else []
        return {str(name): _value((properties or {}).get(name, {}), root, depth + 1) for name in names or []}
    if kind == "array":
        count = schema.get("minItems", 0)
        return [_value(schema.get("items", {}), root, depth + 1) for _ in range(int(count))]
    if kind in ("integer", "number"):
        low = schema.get("minimum", schema.get("exclusiveMinimum"))
        high = schema.get("maximum", schema.get("exclusiveMaximum"))
        if isinstance(low, (int, float)):
            return int(low) + ("exclusiveMinimum" in schema)
        return int(high) - ("exclusiveMaximum" in schema) if isinstance(high, (int, float)) else 1
    if kind == "boolean":
        return False
    if kind == "null":
        return None
    if "pattern" in schema:
        raise Unfillable(f"a required string must match {schema['pattern']!r}")
    return _string(schema)


_FORMATS = {"date": "2025-01-01", "date-time": "2025-01-01T00:00:00Z", "email": "a@example.com"}


def _string(schema: dict[str, Json]) -> str:
    # A URI could be fetched by the tool: nothing may be fetched on our account.
    if schema.get("format") in ("uri", "url", "uri-reference", "hostname", "iri"):
        raise Unfillable("a required argument is an address")
    return _FORMATS.get(str(schema.get("format")), "x".ljust(int(schema.get("minLength", 1)), "x"))


def _resolve(reference: str, root: Json) -> Json:
    place = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        if not isinstance(place, dict) or step not in place:
            raise Unfillable(f"its inputSchema refers to {reference}")
        place = place[step]
    return place
