"""JSON Schemas that say the same thing in different words, brought to one form as far as that is easy and certain."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from conformance.compatibility.changes import canonical
from conformance.model import Json
from conformance.validation.pointers import pointed

Schema = dict[str, Any]

TYPES: Mapping[str, frozenset[str]] = {
    "null": frozenset({"null"}),
    "boolean": frozenset({"boolean"}),
    "string": frozenset({"string"}),
    "array": frozenset({"array"}),
    "object": frozenset({"object"}),
    "integer": frozenset({"integer"}),
    "number": frozenset({"integer", "fraction"}),
}
"""Type → the disjoint sets of values that it consists of."""
ANY = frozenset().union(*TYPES.values())

CONCERNS: Mapping[str, frozenset[str]] = {
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"), TYPES["number"]),
    **dict.fromkeys(("minLength", "maxLength", "pattern", "format"), TYPES["string"]),
    **dict.fromkeys(("items", "prefixItems", "additionalItems", "minItems", "maxItems", "uniqueItems"), TYPES["array"]),
    **dict.fromkeys(("contains", "minContains", "maxContains", "unevaluatedItems"), TYPES["array"]),
    **dict.fromkeys(("properties", "required", "additionalProperties", "minProperties"), TYPES["object"]),
    **dict.fromkeys(("maxProperties", "patternProperties", "propertyNames"), TYPES["object"]),
    **dict.fromkeys(("dependentRequired", "dependentSchemas", "unevaluatedProperties"), TYPES["object"]),
}
"""Word → the values about which it says something; it admits all others."""
COMPOSING = ("allOf", "anyOf", "oneOf", "$ref")
DYNAMIC = ("$dynamicRef", "$recursiveRef")
ASSERTIONS = frozenset(
    (*CONCERNS, *COMPOSING, *DYNAMIC, "type", "enum", "const", "not", "if", "then", "else", "dependencies")
)
"""The words that refuse values; all others are remarks, or definitions."""
MAX_REFS = 32
NESTED = 3
"""Alternatives within alternatives that are brought together; references can nest them without end."""


def normal(schema: Json, root: Json, *, unite: int = NESTED) -> Schema | None:
    """An equivalent schema, with local references and unions resolved where that is certain; None if it is none.

    `unite` is how deep nested alternatives are brought together; with 0 they stay apart.
    """
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    if not isinstance(schema, dict):
        return None
    return _simplified(_referred(schema, root), root, unite)


def _simplified(schema: Schema, root: Json, unite: int) -> Schema:
    if not unite:
        return _values(schema)
    parts = schema.get("allOf")
    if isinstance(parts, list) and len(parts) == 1 and (part := normal(parts[0], root, unite=unite - 1)) is not None:
        rest = {word: value for word, value in schema.items() if word != "allOf"}
        schema = _joined(rest, part) or schema
    schema = _values(schema)
    for word in ("anyOf", "oneOf"):
        schema = _united(schema, word, root, unite - 1)
    return _values(schema)


def admitted(schema: Json, root: Json, depth: int = 8) -> frozenset[str]:
    """The sets of values, out of ANY, to which valid values can belong; never too few."""
    schema = normal(schema, root)
    if schema is None or depth == 0:
        return ANY
    if schema.get("not") in ({}, True):
        return frozenset()
    found = named(schema["type"]) if "type" in schema else ANY
    if isinstance(schema.get("enum"), list):
        found &= frozenset(sort(value) for value in schema["enum"])
    for word in ("anyOf", "oneOf"):
        if isinstance(schema.get(word), list):
            found &= frozenset().union(*(admitted(part, root, depth - 1) for part in schema[word]))
    for part in schema["allOf"] if isinstance(schema.get("allOf"), list) else ():
        found &= admitted(part, root, depth - 1)
    return found


def named(types: Json) -> frozenset[str]:
    """What the value of `type` stands for."""
    listed = types if isinstance(types, list) else [types]
    if not all(isinstance(name, str) and name in TYPES for name in listed):
        return ANY
    return frozenset().union(*(TYPES[name] for name in listed))


def sort(value: Json) -> str:
    """The set out of ANY to which a value belongs."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) or value.is_integer() else "fraction"
    return "string" if isinstance(value, str) else "array" if isinstance(value, list) else "object"


def in_words(types: Iterable[str]) -> str:
    """The names of types, for people."""
    types = set(types)
    if types >= ANY:
        return "any type"
    order = ("string", "boolean", "object", "array", "null")
    names: list[str] = [name for name in order if name in types]
    if "fraction" in types:
        names.append("number" if "integer" in types else "number with a fraction")
    elif "integer" in types:
        names.append("integer")
    return " or ".join(names) or "nothing"


def bare(schema: Json) -> Json:
    """The schema without remarks."""
    if not isinstance(schema, dict):
        return schema
    return {word: value for word, value in schema.items() if word in ASSERTIONS}


def values_of(schema: Schema) -> list[Json] | None:
    """The values that a normal schema lists, also by naming types that have no others; None if it lists none."""
    if isinstance(schema.get("enum"), list):
        listed: list[Json] = schema["enum"]
        return listed
    types = named(schema["type"]) if "type" in schema else ANY
    if types <= {"null", "boolean"}:
        return [value for value in (None, True, False) if sort(value) in types]
    return None


def _referred(schema: Schema, root: Json) -> Schema:
    for _ in range(MAX_REFS):
        if "$ref" not in schema:
            return schema
        reference = schema["$ref"]
        target = pointed(root, reference) if isinstance(reference, str) else None
        if isinstance(target, bool):
            target = {} if target else {"not": {}}
        rest = {word: value for word, value in schema.items() if word != "$ref"}
        joined = _joined(rest, target) if isinstance(target, dict) else None
        if joined is None:
            return schema
        schema = joined
    return schema


def _joined(one: Schema, other: Schema) -> Schema | None:
    """Both at once; None if they speak about the same thing. Remarks of `one` win."""
    mine, theirs = ASSERTIONS & one.keys(), ASSERTIONS & other.keys()
    related = any("additional" in word or "unevaluated" in word for word in mine | theirs)
    if mine & theirs or (mine and theirs and related):
        return None
    return {**other, **one}


def _values(schema: Schema) -> Schema:
    """`const` as `enum`, without the values that `type` excludes; what lists all values of a type as that type."""
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list) or ("const" in schema and "enum" in schema):
        return schema
    if "type" in schema:
        values = [value for value in values if sort(value) in named(schema["type"])]
    schema = {word: value for word, value in schema.items() if word not in ("const", "enum")}
    found = {canonical(value) for value in values}
    if found in ({"true", "false"}, {"true", "false", "null"}, {"null"}):
        return {**schema, "type": sorted({sort(value) for value in values})}
    return {**schema, "enum": values}


def _united(schema: Schema, word: str, root: Json, unite: int) -> Schema:
    parts = schema.get(word)
    if not isinstance(parts, list) or not parts or (ASSERTIONS & schema.keys()) - {word}:
        return schema
    branches = [bare(normal(part, root, unite=unite)) for part in parts]
    if not all(isinstance(branch, dict) for branch in branches):
        return schema
    if word == "anyOf" and {} in branches:
        return {name: value for name, value in schema.items() if name != word}
    union = _enumerated(branches) or _typed(branches, exclusive=word == "oneOf")
    if union is None:
        return schema
    return {**{name: value for name, value in schema.items() if name != word}, **union}


def _enumerated(branches: list[Schema]) -> Schema | None:
    """Branches that each list their values, in one list."""
    listed: dict[str, Json] = {}
    if not any("enum" in branch for branch in branches):
        return None
    for branch in branches:
        small: dict[str, list[Json]] = {"boolean": [True, False], "null": [None]}
        types = branch.get("type")
        if branch.keys() <= {"type", "enum"} and "enum" in branch:
            values = branch["enum"]
        elif branch.keys() == {"type"} and isinstance(types, str) and types in small:
            values = small[types]
        elif branch.keys() == {"type"} and isinstance(types, list) and set(types) <= set(small):
            values = [value for name in types for value in small[name]]
        else:
            return None
        listed |= {canonical(value): value for value in values}
    return {"enum": list(listed.values())}


def _typed(branches: list[Schema], *, exclusive: bool) -> Schema | None:
    """Branches about different types, each with words about its own type only, as one schema of several types."""
    union: Schema = {}
    taken: frozenset[str] = frozenset()
    names: list[str] = []
    if not exclusive and all(branch.keys() == {"type"} for branch in branches):
        listed = (branch["type"] if isinstance(branch["type"], list) else [branch["type"]] for branch in branches)
        return {"type": sorted({name for names in listed for name in names if isinstance(name, str)})}
    for branch in branches:
        if "type" not in branch or not branch.keys() <= {"type", *CONCERNS}:
            return None
        types = named(branch["type"])
        whole = types | (TYPES["number"] if types & TYPES["number"] else frozenset())
        if whole & taken:
            return None
        taken |= whole
        names += branch["type"] if isinstance(branch["type"], list) else [branch["type"]]
        union |= {word: value for word, value in branch.items() if word != "type" and CONCERNS[word] & types}
    return {**union, "type": names if len(names) > 1 else names[0]}
