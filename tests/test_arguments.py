"""Arguments made up from an inputSchema."""

from __future__ import annotations

from typing import Any

import jsonschema_rs
import pytest

from conformance.survey.arguments import Unfillable, candidates


def obj(required: list[str], **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required}


REFERS = {**obj(["u"], u={"$ref": "#/$defs/U"}), "$defs": {"U": obj(["n"], n={"type": "integer"})}}
EITHER = {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": "array", "minItems": 2}}}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (obj([], a={"type": "string"}), [{}, {"a": "x"}]),
        (obj(["a"], a={"type": "string"}, b={"type": "boolean"}), [{"a": "x"}, {"a": "x", "b": False}]),
        (obj(["a"], a={"type": "string", "pattern": r"^[A-Z]{3}-\d+$"}), [{"a": "AAA-0"}]),
        (obj(["a"], a={"type": "string", "pattern": r"^\w+$", "minLength": 4}), [{"a": "aaaa"}]),
        (obj(["a"], a={"type": "string", "format": "date"}), [{"a": "2025-01-01"}]),
        (obj(["n"], n={"type": "integer", "minimum": 7, "multipleOf": 5}), [{"n": 10}]),
        (obj(["n"], n={"type": "number", "exclusiveMinimum": 0, "maximum": 0.5}), [{"n": 0.25}]),
        (obj(["n"], n={"type": "integer", "maximum": -3}), [{"n": -3}]),
        (obj(["e"], e={"enum": ["up", "down"]}), [{"e": "up"}, {"e": "down"}]),
        (obj(["t"], t={"type": ["null", "string"]}), [{"t": None}, {"t": "x"}]),
        (obj(["l"], l={"type": "array", "minItems": 2, "uniqueItems": True}), [{"l": ["x", "x1"]}]),
        (obj(["d"], d={"default": 9}), [{"d": 9}]),
        (REFERS, [{"u": {"n": 1}}]),
        ({**EITHER, "oneOf": [{"required": ["x"]}, {"required": ["y"]}]}, [{"x": 1}, {"y": ["x", "x"]}]),
        ({"type": "object", "minProperties": 1, "properties": {"q": {"type": "string"}}}, [{"q": "x"}]),
    ],
)
def test_arguments_are_made_up_the_smallest_first(schema: Any, expected: list[Any]) -> None:
    made = list(candidates(schema))
    assert made == expected
    assert all(jsonschema_rs.validator_for(schema).is_valid(each) for each in made)


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        (True, "its inputSchema is not an object"),
        (obj(["u"], u={"type": "string", "format": "uri"}), "a required argument is an address"),
        (obj(["p"], p={"type": "string", "pattern": r"\p{L}+"}), r"a required string must match"),
        (obj(["r"], r={"$ref": "#/$defs/none"}), "refers to #/\\$defs/none"),
        (obj(["n"], n={"type": "integer", "minimum": 2, "maximum": 1}), "admits nothing that was tried"),
        ({**obj(["s"], s={"$ref": "#"})}, "nested too deeply"),
    ],
)
def test_what_cannot_be_made_up_is_said_with_the_reason(schema: Any, why: str) -> None:
    with pytest.raises(Unfillable, match=why):
        next(candidates(schema))


def test_a_schema_that_is_none_gets_what_it_asks_for() -> None:
    assert next(candidates({"type": "nonsense", "required": ["a"]})) == {"a": "x"}
