"""Patterns as cases/README.md has them, for the second player. `saved` is what was kept, by name."""

from __future__ import annotations

from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.validators import validator_for

MISSING: Any = object()
WORDS: Any = {
    "$type": lambda names, value, _: valid({"type": names}, value),
    "$any": lambda patterns, value, saved: any(match(each, value, saved) for each in patterns),
    "$not": lambda pattern, value, saved: value is not MISSING and not match(pattern, value, saved),
    "$absent": lambda _, value, __: value is MISSING,
    "$present": lambda _, value, __: value is not MISSING,
    "$matches": lambda regex, value, _: valid({"type": "string", "pattern": regex}, value),
    "$each": lambda pattern, value, saved: isinstance(value, list) and all(match(pattern, v, saved) for v in value),
    "$some": lambda pattern, value, saved: isinstance(value, list) and any(match(pattern, v, saved) for v in value),
    "$unique": lambda key, value, _: valid({"uniqueItems": True}, [each[key] for each in value if key in each]),
    "$schema": lambda schema, value, _: valid(schema, value),
    "$saved": lambda path, value, saved: valid({"const": at(saved, path)}, value),
}


def valid(schema: Any, value: Any) -> bool:
    """Whether there is a value, and it is valid. To JSON Schema 1 is 1.0, and true is no number."""
    return value is not MISSING and validator_for(schema, Draft202012Validator)(schema).is_valid(value)


def match(pattern: Any, value: Any, saved: Any) -> bool:
    """Whether the value matches."""
    if isinstance(pattern, dict) and any(name.startswith("$") for name in pattern):
        return all(WORDS[word](argument, value, saved) for word, argument in pattern.items())
    if isinstance(pattern, dict) and isinstance(value, dict):
        return all(match(part, value.get(name, MISSING), saved) for name, part in pattern.items())
    if isinstance(pattern, list) and isinstance(value, list):
        return len(pattern) == len(value) and all(map(match, pattern, value, [saved] * len(value)))
    return valid({"const": pattern}, value)


def at(value: Any, path: str) -> Any:
    """The part at a dotted path, MISSING if that leads nowhere."""
    for part in path.split("."):
        members = {str(i): each for i, each in enumerate(value)} if isinstance(value, list) else value
        value = members.get(part, MISSING) if isinstance(members, dict) else MISSING
    return value
