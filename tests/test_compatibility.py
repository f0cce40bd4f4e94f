"""What is said of a changed schema, tool, prompt, capability: pair by pair."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.compatibility.findings import compare_reports, gaps
from conformance.compatibility.schemas import compare_schemas
from conformance.compatibility.surface import compare_snapshots

BREAKING, MAY, FINE, SAME = "breaking", "may break", "compatible", ""
RANK = [SAME, FINE, MAY, BREAKING]

STRING: Any = {"type": "string"}
INTEGER: Any = {"type": "integer"}
NUMBER: Any = {"type": "number"}
OBJECT: Any = {"type": "object"}
NULL: Any = {"type": "null"}


def members(*required: str, closed: bool = False, **properties: Any) -> Any:
    """A schema of an object."""
    schema = {"type": "object", "properties": properties, "required": list(required)}
    return {**schema, "additionalProperties": False} if closed else schema


def worst(old: Any, new: Any, role: Any) -> str:
    """The worst kind of change."""
    changes = compare_schemas(old, new, role, "tool t", "")
    return max((str(change.kind) for change in changes), key=RANK.index, default=SAME)


NARROWER = [
    (NUMBER, INTEGER),
    ({}, STRING),
    (True, STRING),
    ({"type": ["string", "null"]}, STRING),
    ({"anyOf": [STRING, NULL]}, STRING),
    ({"enum": ["a", "b"]}, {"enum": ["a"]}),
    ({"enum": ["a", "b"]}, {"const": "a"}),
    (STRING, {"type": "string", "enum": ["a"]}),
    (STRING, {"const": "a"}),
    ({"enum": [None, 2.5]}, NULL),
    ({"type": "boolean"}, {"const": True}),
    (STRING, {"type": "string", "minLength": 1}),
    ({"type": "string", "minLength": 1}, {"type": "string", "minLength": 2}),
    (STRING, {"type": "string", "maxLength": 5}),
    ({"type": "string", "maxLength": 5}, {"type": "string", "maxLength": 4}),
    (INTEGER, {"type": "integer", "minimum": 0}),
    ({"type": "integer", "minimum": 0}, {"type": "integer", "exclusiveMinimum": 0}),
    ({"type": "number", "maximum": 10}, {"type": "number", "maximum": 9.5}),
    ({"type": "number", "maximum": 10}, {"type": "number", "exclusiveMaximum": 10}),
    (INTEGER, {"type": "integer", "multipleOf": 5}),
    (STRING, {"type": "string", "pattern": "^a"}),
    ({"type": "array"}, {"type": "array", "uniqueItems": True}),
    ({"type": "array"}, {"type": "array", "items": STRING}),
    ({"type": "array", "items": NUMBER}, {"type": "array", "items": INTEGER}),
    ({"type": "array", "maxItems": 5}, {"type": "array", "maxItems": 3}),
    (
        {"type": "array", "prefixItems": [NUMBER, STRING]},
        {"type": "array", "prefixItems": [INTEGER, STRING]},
    ),
    (members(a=STRING), members("a", a=STRING)),
    (members(a=NUMBER), members(a=INTEGER)),
    (members(a=members(b=STRING)), members(a=members("b", b=STRING))),
    (
        {"type": "object", "additionalProperties": NUMBER},
        {"type": "object", "additionalProperties": INTEGER},
    ),
    (
        {"$ref": "#/$defs/x", "$defs": {"x": NUMBER}},
        {"$ref": "#/$defs/x", "$defs": {"x": INTEGER}},
    ),
    (
        members(a={"$ref": "#/$defs/x"}) | {"$defs": {"x": NUMBER}},
        members(a={"$ref": "#/$defs/y"}) | {"$defs": {"y": INTEGER}},
    ),
    ({"anyOf": [members(a=STRING), members(b=STRING)]}, {"anyOf": [members(a=STRING)]}),
    ({"oneOf": [members(a=STRING), STRING, members(b=STRING)]}, {"oneOf": [members(a=STRING), STRING]}),
    (
        {"oneOf": [members(a=STRING), members(b=NUMBER)]},
        {"oneOf": [members(a=STRING), members(b=INTEGER)]},
    ),
]
"""What the second admits the first does too, and more: certain in both roles."""


@pytest.mark.parametrize(("wide", "narrow"), NARROWER)
def test_narrower_breaks_inputs_and_wider_breaks_outputs(wide: Any, narrow: Any) -> None:
    assert worst(wide, narrow, "input") == BREAKING
    assert worst(narrow, wide, "input") == FINE
    assert worst(narrow, wide, "output") == BREAKING
    assert worst(wide, narrow, "output") == FINE


EQUAL = [
    (INTEGER, INTEGER),
    ({"type": ["string", "null"]}, {"type": ["null", "string"]}),
    ({"type": ["string", "null"]}, {"anyOf": [STRING, NULL]}),
    ({"oneOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, STRING]}),
    ({"type": "string", "minLength": 1}, {"minLength": 1, "type": ["string"]}),
    ({"anyOf": [{"type": "string", "minLength": 1}, NULL]}, {"type": ["string", "null"], "minLength": 1}),
    ({"const": "a"}, {"enum": ["a"]}),
    ({"enum": ["a"]}, {"type": "string", "enum": ["a"]}),
    ({"oneOf": [{"const": "a"}, {"const": "b"}]}, {"enum": ["b", "a"]}),
    ({"anyOf": [{"enum": ["a"]}, NULL]}, {"enum": ["a", None]}),
    ({"enum": [True, False]}, {"type": "boolean"}),
    ({"type": "number"}, {"type": ["number", "integer"]}),
    ({"type": "integer", "exclusiveMinimum": 0}, {"type": "integer", "minimum": 1}),
    ({"type": "integer", "maximum": 9}, {"type": "integer", "exclusiveMaximum": 10.0}),
    ({"type": "string", "minLength": 0}, STRING),
    ({"type": "string", "minimum": 3}, STRING),
    (members(a=STRING), members(a=STRING) | {"additionalProperties": True}),
    ({"type": "object", "additionalProperties": {}}, OBJECT),
    ({"type": "array", "items": {}}, {"type": "array"}),
    (members("a", "b", a=STRING, b=STRING), members("b", "a", b=STRING, a=STRING)),
    (members(a=STRING), members(a={"$ref": "#/$defs/s"}) | {"$defs": {"s": STRING}}),
    (members(a={"allOf": [{"$ref": "#/definitions/s"}]}) | {"definitions": {"s": STRING}}, members(a=STRING)),
    ({"anyOf": [members(a=STRING), STRING]}, {"anyOf": [STRING, members(a=STRING)]}),
    ({"$ref": "#"}, {"$ref": "#"}),
    ({"anyOf": [{"type": ["string", "null"]}, NULL]}, {"type": ["string", "null"]}),
    ({"anyOf": [True, NULL]}, {}),
]
"""Different words for the same."""


@pytest.mark.parametrize("role", ["input", "output"])
@pytest.mark.parametrize(("one", "other"), EQUAL)
def test_the_same_in_other_words_is_no_change(one: Any, other: Any, role: str) -> None:
    assert worst(one, other, role) == SAME
    assert worst(other, one, role) == SAME


@pytest.mark.parametrize(
    ("old", "new", "input", "output"),
    [
        (STRING, INTEGER, BREAKING, BREAKING),
        ({"enum": ["a"]}, {"enum": ["b"]}, BREAKING, BREAKING),
        ({"enum": ["a", 1]}, STRING, BREAKING, BREAKING),
        (STRING, {**STRING, "description": "x"}, FINE, FINE),
        ({"type": "string", "default": "a"}, {"type": "string", "default": "b"}, MAY, FINE),
        (STRING, {"type": "string", "default": "b"}, FINE, FINE),
        (STRING, {**STRING, "x-unknown": 1}, FINE, FINE),
        ({"type": "string", "pattern": "a"}, {"type": "string", "pattern": "b"}, MAY, MAY),
        (STRING, {"type": "string", "format": "uri"}, MAY, FINE),
        ({"type": "string", "format": "uri"}, STRING, FINE, MAY),
        ({"type": "integer", "multipleOf": 4}, {"type": "integer", "multipleOf": 6}, MAY, MAY),
        # members
        (members(), members(a=STRING), FINE, FINE),
        (members(), members("a", a=STRING), BREAKING, FINE),
        (members(closed=True), members(a=STRING, closed=True), FINE, MAY),
        (members(a=STRING), members(), MAY, MAY),
        (members(a=STRING, closed=True), members(closed=True), BREAKING, MAY),
        (members("a", a=STRING), members(), MAY, BREAKING),
        (members("a", a=STRING), members(a=STRING), FINE, BREAKING),
        (members("a"), members(), FINE, BREAKING),
        (members(a=STRING), members(a=STRING, closed=True), MAY, FINE),
        (members(a=STRING, closed=True), members(a=STRING), FINE, MAY),
        # what is not understood
        (OBJECT, {"type": "object", "propertyNames": STRING}, MAY, FINE),
        ({"type": "object", "not": {"required": ["a"]}}, OBJECT, FINE, MAY),
        ({"if": {"const": 1}, "then": False}, {"if": {"const": 2}, "then": False}, MAY, MAY),
        (members(a=STRING), {"type": "object", "anyOf": [members("a", a=STRING), members(b=STRING)]}, MAY, MAY),
        ({"anyOf": [STRING, members(a=STRING)]}, {"anyOf": [INTEGER, members(b=STRING)]}, BREAKING, BREAKING),
        ({"$ref": "https://example.com/a"}, {"$ref": "https://example.com/b"}, MAY, MAY),
        ({"$ref": "#/$defs/none"}, {"$ref": "#/$defs/neither"}, MAY, MAY),
        (members(a=STRING), members(a={"anyOf": [STRING, members(b=STRING)]}), FINE, BREAKING),
        ({"type": "array", "prefixItems": [STRING]}, {"type": "array", "prefixItems": [STRING, STRING]}, MAY, MAY),
        (STRING, "no schema", MAY, MAY),
        ({"const": "a"}, {"type": "string", "minLength": 1}, MAY, BREAKING),
        ({"type": "string", "pattern": "^a"}, {"enum": ["a", "b"]}, BREAKING, MAY),
        ({"allOf": [members(a=STRING), members(b=STRING)]}, members(a=STRING, b=STRING), MAY, MAY),
        (members("a"), members("a", a=STRING), BREAKING, FINE),
    ],
)
def test_a_changed_schema_is_judged_by_its_role(old: Any, new: Any, input: str, output: str) -> None:
    assert (worst(old, new, "input"), worst(old, new, "output")) == (input, output)


def test_the_place_of_a_change_is_a_json_pointer_into_the_tool() -> None:
    old, new = (
        {"type": "object", "properties": {"a/b": {"type": "array", "items": members(c=type)}}}
        for type in (NUMBER, INTEGER)
    )
    [change] = compare_schemas(old, new, "input", "tool t", "/inputSchema")
    assert change.place == "/inputSchema/properties/a~1b/items/properties/c"
    assert change.what == "the type was number and is integer"


def test_a_recursive_schema_is_compared_and_the_comparison_ends() -> None:
    def tree(leaf: Any) -> Any:
        node = members(value=leaf, children={"type": "array", "items": {"$ref": "#/$defs/node"}})
        return members(root={"$ref": "#/$defs/node"}) | {"$defs": {"node": node}}

    changes = compare_schemas(tree(NUMBER), tree(INTEGER), "input", "tool t", "")
    assert [(change.kind, change.place) for change in changes] == [(BREAKING, "/properties/root/properties/value")]


def test_a_definition_used_in_many_places_is_compared_once() -> None:
    def doubling(leaf: Any) -> Any:
        definitions: dict[str, Any] = {"d0": leaf}
        for i in range(1, 40):
            below = {"$ref": f"#/$defs/d{i - 1}"}
            definitions[f"d{i}"] = members(a=below, b=below)
        return {"$ref": "#/$defs/d39", "$defs": definitions}

    assert worst(doubling(NUMBER), doubling(INTEGER), "input") == BREAKING


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf"])
def test_alternatives_that_refer_to_themselves_are_compared_and_the_comparison_ends(word: str) -> None:
    def endless(leaf: Any) -> Any:
        definitions: dict[str, Any] = {"x": {word: [{"$ref": "#/$defs/x"}, leaf]}, "d0": leaf}
        for i in range(1, 60):
            definitions[f"d{i}"] = {word: [{"$ref": f"#/$defs/d{i - 1}"}, {"$ref": f"#/$defs/d{i - 1}"}]}
        return members(x={"$ref": "#/$defs/x"}, d={"$ref": "#/$defs/d59"}) | {"$defs": definitions}

    assert worst(endless(NUMBER), endless(STRING), "input") in (MAY, BREAKING)
    assert worst(endless(NUMBER), endless(NUMBER), "input") == SAME


# -- snapshots


def surface(**parts: Any) -> Any:
    """A snapshot."""
    lists: Any = {"tools": [], "resources": [], "templates": [], "prompts": []}
    capabilities = {"tools": {"listChanged": True}, "resources": {}, "prompts": {}}
    return {"snapshot": 1, "revision": "2025-11-25", "server": "s", "capabilities": capabilities, **lists, **parts}


def tool(name: str = "add", **members: Any) -> Any:
    """A listed tool."""
    return {"name": name, "description": f"Does {name}", "inputSchema": OBJECT, **members}


def hinted(**hints: Any) -> Any:
    """A snapshot with one tool that has these hints."""
    return surface(tools=[tool(annotations=hints)])


def prompt(**arguments: bool) -> Any:
    """A snapshot with one prompt; argument → whether it is required."""
    listed = [{"name": name, "required": required} for name, required in arguments.items()]
    return surface(prompts=[{"name": "greet", "arguments": listed}])


def resource(uri: str = "a:1", **members: Any) -> Any:
    """A snapshot with one resource."""
    return surface(resources=[{"uri": uri, "name": "one", "description": "d", **members}])


def as_task(support: str) -> Any:
    """A snapshot with one tool that supports tasks so."""
    return surface(tools=[tool(execution={"taskSupport": support})])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (surface(tools=[tool()]), surface(), (BREAKING, "tool add", "it is gone")),
        (surface(), surface(tools=[tool()]), (FINE, "tool add", "it is new")),
        (
            surface(tools=[tool()]),
            surface(tools=[tool(name="plus", description="Does add")]),
            (BREAKING, "tool add", "it is called plus now"),
        ),
        (
            surface(tools=[tool(outputSchema=OBJECT)]),
            surface(tools=[tool()]),
            (BREAKING, "tool add", "it is gone: no structuredContent is promised any more"),
        ),
        (surface(tools=[tool()]), surface(tools=[tool(outputSchema=OBJECT)]), (FINE, "tool add", "it is new")),
        (
            surface(tools=[tool()]),
            surface(tools=[tool(description="x", title="y")]),
            (FINE, "tool add", "description and title changed"),
        ),
        (hinted(readOnlyHint=True), hinted(), (BREAKING, "tool add", "the tool only read and does no longer")),
        (hinted(), hinted(readOnlyHint=True), (FINE, "tool add", "the tool only reads now")),
        (hinted(destructiveHint=False), hinted(), (BREAKING, "tool add", "the tool only added and may destroy now")),
        (hinted(), hinted(destructiveHint=False), (FINE, "tool add", "the tool destroys nothing any more")),
        (hinted(idempotentHint=True), hinted(), (MAY, "tool add", "it is false now")),
        (hinted(openWorldHint=False), hinted(openWorldHint=True), (MAY, "tool add", "it is true now")),
        (hinted(title="a"), hinted(title="b"), (FINE, "tool add", "title changed")),
        (as_task("forbidden"), as_task("required"), (BREAKING, "tool add", "taskSupport was")),
        (as_task("optional"), as_task("forbidden"), (BREAKING, "tool add", "taskSupport was")),
        (as_task("forbidden"), as_task("optional"), (FINE, "tool add", "taskSupport was")),
        (prompt(), prompt(a=True), (BREAKING, "prompt greet", "the argument is new and required")),
        (prompt(), prompt(a=False), (FINE, "prompt greet", "the argument is new and optional")),
        (prompt(a=False), prompt(a=True), (BREAKING, "prompt greet", "the argument is required now")),
        (prompt(a=True), prompt(a=False), (FINE, "prompt greet", "the argument is no longer required")),
        (prompt(a=True), prompt(), (MAY, "prompt greet", "the argument is gone")),
        (prompt(), surface(), (BREAKING, "prompt greet", "it is gone")),
        (resource(), surface(), (BREAKING, "resource a:1", "it is gone")),
        (resource(), resource(uri="b:1"), (BREAKING, "resource a:1", "it is called b:1 now")),
        (resource(mimeType="a/b"), resource(), (MAY, "resource a:1", 'it was "a/b" and is null')),
        (resource(), resource(mimeType="a/b"), (FINE, "resource a:1", "it was null")),
        (
            surface(templates=[{"uriTemplate": "a:{x}", "name": "t"}]),
            surface(),
            (BREAKING, "template a:{x}", "it is gone"),
        ),
        (
            surface(),
            surface(capabilities={"tools": {}, "resources": {}, "prompts": {}}),
            (BREAKING, "capability", "it is gone"),
        ),
        (
            surface(capabilities={"resources": {"subscribe": False}}),
            surface(capabilities={"resources": {"subscribe": True}}),
            (FINE, "capability", "it is new"),
        ),
        (surface(), surface(revision="2026-07-28"), (FINE, "revision", "the snapshots are of different revisions")),
        (surface(), surface(revision="2025-06-18"), (MAY, "revision", "the snapshots are of different revisions")),
        (surface(), surface(server="t"), (FINE, "server", "its name was")),
        (surface(tools=[tool()]), surface(tools=None), (MAY, "tools", "the list could not be read")),
    ],
)
def test_a_change_of_what_is_offered_is_told_once(old: Any, new: Any, expected: tuple[str, str, str]) -> None:
    [change] = compare_snapshots(old, new)
    assert (change.kind, change.item) == expected[:2]
    assert change.what.startswith(expected[2])


def test_equal_snapshots_have_no_changes() -> None:
    assert compare_snapshots(hinted(readOnlyHint=True), hinted(readOnlyHint=True)) == []


def test_a_capability_that_is_gone_takes_its_list_along_without_another_word() -> None:
    old = surface(tools=[tool(), tool("sub")])
    new = surface(capabilities={"resources": {}, "prompts": {}})
    [change] = compare_snapshots(old, new)
    assert (change.kind, change.item, change.place) == (BREAKING, "capability", "/tools")


def test_two_tools_that_could_be_the_renamed_one_are_not_guessed_among() -> None:
    old = surface(tools=[tool("a", description="same")])
    new = surface(tools=[tool("b", description="same"), tool("c", description="same")])
    told = [(change.item, change.what) for change in compare_snapshots(old, new)]
    assert told == [("tool a", "it is gone"), ("tool b", "it is new"), ("tool c", "it is new")]


# -- reports


def run(server: str = "s", revision: str = "2025-11-25", **verdicts: Any) -> Any:
    """One run; requirement → its findings, or its verdict in a word."""
    rows = [
        {
            "requirement": name.replace("_", "/"),
            "verdict": value if isinstance(value, str) else "failed",
            "severity": None if isinstance(value, str) else "violation",
            "findings": [] if isinstance(value, str) else [{"message": message} for message in value],
        }
        for name, value in verdicts.items()
    ]
    return {"revision": revision, "transport": "stdio", "server": {"name": server}, "verdicts": rows}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ([run(a_b=["m"])], [run(a_b=["m"])], ["unchanged"]),
        ([run(a_b="passed")], [run(a_b=["m"])], ["new"]),
        ([run(a_b=["m"])], [run(a_b="passed")], ["mended"]),
        ([run(a_b=["m"])], [run(a_b="inconclusive")], ["untested"]),
        ([run(a_b=["m"])], [run()], ["untested"]),
        ([run(a_b=["m"])], [], ["untested"]),
        ([run(a_b=["m"])], [run(a_b=["n"])], ["new", "mended"]),
        ([run(a_b=["m"])], [run(server="renamed", a_b=["m"])], ["unchanged"]),
        ([run(a_b=["m"])], [run(revision="2025-06-18", a_b=["m"])], ["new", "untested"]),
        (
            [run(server="x", a_b=["m"]), run(server="y", a_b="passed")],
            [run(server="y", a_b=["m"]), run(server="x", a_b=["m"])],
            ["new", "unchanged"],
        ),
    ],
)
def test_a_finding_is_followed_by_run_requirement_and_message(old: Any, new: Any, expected: list[str]) -> None:
    differences = compare_reports({"runs": old}, {"runs": new})
    assert [difference.state for difference in differences] == expected


def test_only_a_new_violation_fails() -> None:
    warning = run(a_b=["m"])
    warning["verdicts"][0]["severity"] = "warning"
    assert [d.fails for d in compare_reports({"runs": [run()]}, {"runs": [warning]})] == [False]
    assert [d.fails for d in compare_reports({"runs": [run()]}, {"runs": [run(a_b=["m"])]})] == [True]


TESTED = run(a_b="passed")
BLOCKED = run(a_b="blocked")


@pytest.mark.parametrize(
    ("old", "new", "fails"),
    [
        ({"runs": [TESTED]}, {"runs": [TESTED]}, []),
        ({"runs": [TESTED]}, {"runs": [], "problem": "it does not start"}, [True, True]),
        ({"runs": [TESTED]}, {"runs": [BLOCKED], "problem": "no handshake"}, [True, True]),
        ({"runs": [TESTED]}, {"runs": []}, [True]),
        ({"runs": [TESTED]}, {"runs": [TESTED], "complete": False}, [True]),
        ({"runs": [TESTED], "complete": False}, {"runs": [TESTED], "complete": False}, [False, False]),
        ({"runs": [TESTED, run(revision="2025-06-18", a_b="passed")]}, {"runs": [TESTED]}, [True]),
        ({"runs": [TESTED]}, {"runs": [TESTED, run(revision="2025-06-18", a_b="passed")]}, [False]),
        ({"runs": [], "problem": "it does not start"}, {"runs": [TESTED]}, [False, False]),
        ({"runs": [], "problem": "x"}, {"runs": [], "problem": "x"}, [True]),
        ({"runs": [TESTED], "problem": "not 2026-07-28"}, {"runs": [TESTED], "problem": "not 2026-07-28"}, [False]),
        ({"runs": [TESTED]}, {"runs": [TESTED], "problems": {"other": "it does not start"}}, [True]),
        ({"runs": [{**TESTED, "name": "a"}]}, {"runs": [{**TESTED, "name": "b"}]}, [False, True]),
    ],
)
def test_what_the_new_report_could_not_test_fails_and_what_the_old_one_could_not_is_said(
    old: Any, new: Any, fails: list[bool]
) -> None:
    assert sorted(gap.fails for gap in gaps(old, new)) == fails
