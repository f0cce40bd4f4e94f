"""Arguments that `x-mcp-header` has mirrored in HTTP headers: where it may stand, and what is made of it."""

from __future__ import annotations

from typing import Any

import pytest
from sessions import session as opened_session

from conformance.revisions import BY_DATE
from conformance.session.eras.stateless import Stateless
from conformance.survey.mirrored import mirrored_arguments, named_requests
from conformance.survey.survey import CallPolicy, Survey
from conformance.validation.header_annotations import annotated

Json = Any
A = {"type": "string", "x-mcp-header": "A"}


def of(**properties: Json) -> Json:
    return {"type": "object", "properties": properties, "required": list(properties)}


def surveyed(schema: Json, **more: Json) -> Survey:
    return Survey({}, CallPolicy("all"), ({"name": "t", "inputSchema": schema},), **more)


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        (of(a=A), ("a",)),
        (of(a=of(b=A)), ("a", "b")),
        (of(properties=A), ("properties",)),
        (of(**{"x-mcp-header": A}), ("x-mcp-header",)),
        (of(a={"type": "array", "items": A}), ()),
        (of(a={"items": [A]}), ()),
        (of(a={"prefixItems": [A]}), ()),
        (of(a={"anyOf": [{"type": "null"}, A]}), ()),
        (of(a={"not": A}), ()),
        (of(a={"additionalProperties": A}), ()),
        (of(a={"items": of(b=A)}), ()),
        ({"$defs": {"a": A}}, ()),
        ({"definitions": {"a": of(b=A)}}, ()),
        ({"patternProperties": {"a": A}}, ()),
        ({"dependentSchemas": {"a": of(b=A)}}, ()),
        ({"if": of(a=A)}, ()),
        ({"then": of(a=A)}, ()),
        (A, ()),
    ],
)
def test_an_annotation_is_found_wherever_a_schema_stands(schema: Json, path: tuple[str, ...]) -> None:
    (annotation,) = annotated(schema)
    assert annotation.path == path
    assert annotation.header == ("Mcp-Param-A" if path else "")
    assert list(annotated(schema, usable=True)) == [annotation] * bool(path)


@pytest.mark.parametrize("word", ["default", "const", "example"])
def test_what_is_data_is_no_annotation(word: str) -> None:
    assert list(annotated(of(a={word: A, "examples": [A], "enum": [A]}))) == []


@pytest.mark.parametrize("schema", [None, True, "x", [A], {"properties": [A]}, {"properties": {"a": True}, "items": 1}])
def test_what_is_no_schema_has_no_annotation(schema: Json) -> None:
    assert list(annotated(schema)) == []


@pytest.mark.parametrize(
    ("value", "header"),
    [
        ("x", "x"),
        (" x", "=?base64?IHg=?="),
        ("é", "=?base64?w6k=?="),
        ("=?base64?eA==?=", "=?base64?PT9iYXNlNjQ/ZUE9PT89?="),
        (7, "7"),
        (7.0, "7"),
        (-7, "-7"),
        (True, "true"),
        (False, "false"),
        (None, None),
        ([1], None),
    ],
)
def test_our_calls_mirror_what_is_annotated_however_deep(value: Json, header: str | None) -> None:
    session = opened_session(lambda message: ())
    session.revision = BY_DATE["2026-07-28"]
    session.header_arguments = surveyed(of(a=of(b=A))).header_arguments
    message = {"method": "tools/call", "params": {"name": "t", "arguments": {"a": {"b": value}}}}
    assert Stateless().headers(session, message).get("Mcp-Param-A") == header


@pytest.mark.parametrize("arguments", [None, {}, {"a": None}, {"a": 1}, {"a": []}, {"a": {}}])
def test_an_argument_that_is_not_there_is_not_mirrored(arguments: Json) -> None:
    session = opened_session(lambda message: ())
    session.revision = BY_DATE["2026-07-28"]
    session.header_arguments = surveyed(of(a=of(b=A))).header_arguments
    message = {"method": "tools/call", "params": {"name": "t", "arguments": arguments}}
    assert "Mcp-Param-A" not in Stateless().headers(session, message)


def test_an_argument_is_left_out_or_replaced_where_it_stands() -> None:
    (argument,) = mirrored_arguments(surveyed(of(a=of(b=A), c={"const": 0})))
    assert argument["call"]["arguments"] == {"a": {"b": "x"}, "c": 0}
    assert argument["without"]["arguments"] == {"a": {}, "c": 0}
    assert argument["with-null"]["arguments"] == {"a": {"b": None}, "c": 0}
    assert argument["with-invalid"]["arguments"] == {"a": {"b": "x\x7f"}, "c": 0}
    assert argument["with-latin-1"]["arguments"] == {"a": {"b": "xé"}, "c": 0}
    assert argument["none"] == {"Mcp-Param-A": None}


@pytest.mark.parametrize(
    ("schema", "kind", "other", "encoded"),
    [
        ({"const": "x"}, "string", "x-mcp-conform", "=?base64?eA==?="),
        ({"const": 7}, "integer", "8", "=?base64?Nw==?="),
        ({"const": 7.0}, "integer", "8", "=?base64?Nw==?="),
        ({"const": True}, "boolean", "false", "=?base64?dHJ1ZQ==?="),
        ({"const": False}, "boolean", "true", "=?base64?ZmFsc2U=?="),
    ],
)
def test_another_value_is_one_of_the_same_type(schema: Json, kind: str, other: str, encoded: str) -> None:
    (argument,) = mirrored_arguments(surveyed(of(a={**schema, "x-mcp-header": "A"})))
    assert argument["type"] == kind
    assert argument["other"] == {"Mcp-Param-A": other}
    assert argument["encoded"] == {"Mcp-Param-A": encoded}


def test_an_argument_that_no_good_call_has_is_not_mirrored() -> None:
    assert mirrored_arguments(surveyed(of(a={"const": None, "x-mcp-header": "A"}))) == []


def test_an_optional_argument_within_an_optional_object_is_mirrored_though_the_default_of_the_object_lacks_it() -> None:
    inner = {"type": "object", "default": {}, "properties": {"b": A, "c": {"type": "string"}}}
    (argument,) = mirrored_arguments(surveyed({"type": "object", "properties": {"a": inner}}))
    assert argument["call"]["arguments"] == {"a": {"b": "x"}}
    assert argument["without"]["arguments"] == {"a": {}}


def test_arguments_of_each_type_and_depth_come_first() -> None:
    flat = {name: {"type": "string", "x-mcp-header": name} for name in ("a", "b", "c")}
    number = {"type": "integer", "x-mcp-header": "d"}
    found = mirrored_arguments(surveyed(of(**flat, e=of(d=number, f={"type": "string", "x-mcp-header": "f"}))))
    assert [each["argument"] for each in found] == ["a", "e.d", "e.f", "b", "c"]


def test_named_requests_come_by_turns_and_never_call_a_tool_that_may_not_be_called() -> None:
    prompts = ({"name": "p"}, {"name": "q"})
    resources = ({"uri": "a:1"},)
    templates = ({"uriTemplate": "a:{number}"}, {"uriTemplate": "a:{+path}"}, {"uriTemplate": "b:{x}/{y}"})
    found = named_requests(surveyed(of(), prompts=prompts, resources=resources, templates=templates))
    assert [each["name"] for each in found] == ["p", "a:1", "t", "b:1/1", "q"]
    tools = ({"name": "t", "inputSchema": of()},)
    assert named_requests(Survey({}, CallPolicy("safe"), tools)) == []
