"""The part of JSON Schema 2020-12 that the server's own tools and methods use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Schema = dict[str, Any]


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def has_type(value: Any, name: str) -> bool:
    """Whether `value` is of the JSON Schema type `name`; 3.0 is an integer, true is not."""
    match name:
        case "object":
            return isinstance(value, dict)
        case "array":
            return isinstance(value, list)
        case "string":
            return isinstance(value, str)
        case "boolean":
            return isinstance(value, bool)
        case "number":
            return _is_number(value)
        case "integer":
            return _is_number(value) and value == value // 1
    return value is None


def problem(value: Any, schema: Schema, path: str = "arguments") -> str | None:
    """What is wrong with `value`, in one sentence that starts with the place, or None if it conforms."""
    expected = schema.get("type")
    if expected is not None and not any(
        has_type(value, name) for name in (expected if isinstance(expected, list) else [expected])
    ):
        return f"{path} must be of type {expected}"
    if "enum" in schema and not any(value == allowed and type(value) is type(allowed) for allowed in schema["enum"]):
        return f"{path} must be one of {schema['enum']}"
    if isinstance(value, dict):
        return _object_problem(value, schema, path)
    if isinstance(value, list):
        return _array_problem(value, schema, path)
    if isinstance(value, str):
        return _bounds_problem(len(value), schema, ("minLength", "maxLength"), f"the length of {path}")
    if _is_number(value):
        return _bounds_problem(value, schema, ("minimum", "maximum"), path)
    return None


def _object_problem(value: dict[str, Any], schema: Schema, path: str) -> str | None:
    properties = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{path}.{name} is required"
    for name, companions in schema.get("dependentRequired", {}).items():
        missing = [each for each in companions if name in value and each not in value]
        if missing:
            return f"{path}.{missing[0]} is required beside {name}"
    extra = schema.get("additionalProperties", True)
    for name, member in value.items():
        if name in properties:
            found = problem(member, properties[name], f"{path}.{name}")
        elif extra is False:
            found = f"{path}.{name} is not allowed"
        else:
            found = problem(member, extra, f"{path}.{name}") if isinstance(extra, dict) else None
        if found:
            return found
    return None


def _array_problem(value: list[Any], schema: Schema, path: str) -> str | None:
    found = _bounds_problem(len(value), schema, ("minItems", "maxItems"), f"the length of {path}")
    if found:
        return found
    first = schema.get("prefixItems", [])
    for index, item in enumerate(value):
        rule = first[index] if index < len(first) else schema.get("items", {})
        found = f"{path}[{index}] is not allowed" if rule is False else problem(item, rule, f"{path}[{index}]")
        if found:
            return found
    return None


def _bounds_problem(value: float, schema: Schema, keywords: tuple[str, str], path: str) -> str | None:
    least, most = (schema.get(keyword) for keyword in keywords)
    if least is not None and value < least:
        return f"{path} must be at least {least}"
    if most is not None and value > most:
        return f"{path} must be at most {most}"
    return None
