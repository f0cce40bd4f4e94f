"""The matching language of the cases: what matches, what does not, and what is told about it."""

import json
from typing import Any

import pytest

from conformance.catalogue.patterns import ABSENT, LONGEST, check_pattern, match, render, saved_names, shorten


def matches(pattern: Any, value: Any, **saved: Any) -> bool:
    return match(pattern, value, saved) is None


@pytest.mark.parametrize("value", [None, True, False, 0, 7, -1.5, "", "7", "π", [], [1, [2]], {}, {"a": {"b": [None]}}])
def test_a_literal_equals_itself(value: Any) -> None:
    assert matches(value, value)


@pytest.mark.parametrize(
    ("pattern", "value"),
    [
        (1, True),
        (True, 1),
        (0, False),
        (False, 0),
        (1, "1"),
        ("1", 1),
        (None, False),
        (None, 0),
        ("", None),
        (2**53, 1),
    ],
)
def test_a_literal_does_not_equal_a_value_of_another_type(pattern: Any, value: Any) -> None:
    assert not matches(pattern, value)


def test_a_number_equals_the_same_number_written_otherwise() -> None:
    assert matches(1, 1.0)
    assert matches(300000.0, 300000)
    assert not matches(2**53 + 1, float(2**53))


def test_an_object_matches_at_least_the_named_members() -> None:
    assert matches({"a": 1}, {"a": 1, "b": 2})
    assert matches({}, {"b": 2})
    assert not matches({"a": 1}, {"b": 2})
    assert not matches({"a": 1}, [1])
    assert not matches({}, [])


def test_an_array_matches_element_by_element() -> None:
    assert matches([1, {"a": 2}], [1, {"a": 2, "b": 3}])
    assert not matches([1], [1, 2])
    assert not matches([1, 2], [1])
    assert not matches([1, 2], [2, 1])
    assert not matches([], {})


TYPED: dict[str, list[Any]] = {
    "null": [None],
    "boolean": [True, False],
    "integer": [0, -7, 300000.0],
    "number": [0, 1.5, -7],
    "string": ["", "x"],
    "array": [[], [1]],
    "object": [{}, {"a": 1}],
}


@pytest.mark.parametrize("name", TYPED)
def test_type_matches_the_values_of_that_json_type_and_no_others(name: str) -> None:
    own = TYPED[name]
    assert all(matches({"$type": name}, value) for value in own)
    others = [value for other, values in TYPED.items() for value in values if other != name]
    numeric = name in ("integer", "number")
    foreign = [v for v in others if not (numeric and isinstance(v, (int, float)) and not isinstance(v, bool))]
    assert not any(matches({"$type": name}, value) for value in [*foreign, ABSENT])


@pytest.mark.parametrize("value", [1.5, True, "1", float("inf"), float("nan")])
def test_what_is_no_integer_is_no_integer(value: Any) -> None:
    assert not matches({"$type": "integer"}, value)


def test_type_takes_a_list_of_names() -> None:
    assert matches({"$type": ["string", "null"]}, None)
    assert not matches({"$type": ["string", "null"]}, 1)


def test_any_matches_if_one_alternative_does() -> None:
    pattern = {"$any": [{"error": {"code": -32602}}, {"result": {"isError": True}}]}
    assert matches(pattern, {"error": {"code": -32602, "message": "no"}})
    assert matches(pattern, {"result": {"isError": True, "content": []}})
    assert not matches(pattern, {"result": {"content": []}})
    assert not matches(pattern, ABSENT)


def test_not_matches_a_value_that_is_there_and_does_not_match() -> None:
    assert matches({"$not": {"$type": "string"}}, 1)
    assert not matches({"$not": {"$type": "string"}}, "x")


@pytest.mark.parametrize("inner", [1, {"$type": "string"}, {"$absent": True}, {"$present": True}, {"a": 1}])
def test_not_never_matches_what_is_absent(inner: Any) -> None:
    assert not matches({"$not": inner}, ABSENT)


def test_absent_matches_a_missing_member_and_a_response_that_did_not_come() -> None:
    assert matches({"a": {"$absent": True}}, {"b": 1})
    assert not matches({"a": {"$absent": True}}, {"a": None})
    assert matches({"$absent": True}, ABSENT)
    assert not matches({"$absent": True}, {})


@pytest.mark.parametrize(
    "pattern",
    [1, {}, {"a": 1}, [], {"$type": "object"}, {"$present": True}, {"$matches": ""}, {"$each": 1}, {"$schema": True}],
)
def test_nothing_but_absent_matches_what_is_absent(pattern: Any) -> None:
    assert not matches(pattern, ABSENT)


def test_present_matches_any_value_even_null() -> None:
    assert matches({"a": {"$present": True}}, {"a": None})
    assert not matches({"a": {"$present": True}}, {})


def test_a_member_that_may_be_missing_is_an_alternative() -> None:
    pattern = {"a": {"$any": [{"$absent": True}, {"$type": "string"}]}}
    assert matches(pattern, {})
    assert matches(pattern, {"a": "x"})
    assert not matches(pattern, {"a": 1})


def test_matches_searches_in_a_string() -> None:
    assert matches({"$matches": "b+c"}, "abbcd")
    assert not matches({"$matches": "^b"}, "abbcd")
    assert not matches({"$matches": "1"}, 1)


@pytest.mark.parametrize(
    ("values", "unique"),
    [(["a", "b"], True), (["a", "a"], False), ([1, 1.0], False), ([1, "1", True, None], True), ([[1], [1]], False)],
)
def test_unique_compares_one_member_of_all_elements(values: list[Any], unique: bool) -> None:
    things = [{"name": value} for value in values]
    assert (match({"$unique": "name"}, things) is None) is unique


def test_each_is_about_every_element() -> None:
    pattern = {"$each": {"name": {"$type": "string"}}}
    assert matches(pattern, [])
    assert matches(pattern, [{"name": "a"}, {"name": "b"}])
    assert not matches(pattern, [{"name": "a"}, {}])
    assert not matches(pattern, {"name": "a"})


def test_schema_is_a_json_schema_of_2020_12() -> None:
    pattern = {"$schema": {"type": "object", "dependentRequired": {"a": ["b"]}}}
    assert matches(pattern, {"a": 1, "b": 2})
    assert not matches(pattern, {"a": 1})


def test_a_schema_may_name_another_dialect() -> None:
    draft_7 = {"$schema": "http://json-schema.org/draft-07/schema#", "dependentRequired": {"a": ["b"]}}
    assert matches({"$schema": draft_7}, {"a": 1}), "draft 7 does not know the word"


def test_a_value_that_is_no_unicode_does_not_stop_a_schema() -> None:
    assert matches({"$schema": {"type": "string"}}, "\ud800")


def test_saved_is_equal_to_the_whole_value_that_was_saved() -> None:
    assert matches({"a": {"$saved": "x"}}, {"a": [1, {"b": None}]}, x=[1.0, {"b": None}])
    assert not matches({"$saved": "x"}, {"a": 1, "b": 2}, x={"a": 1})
    assert not matches({"$saved": "x"}, [True], x=[1])
    assert not matches({"$saved": "x"}, ABSENT, x=None)


def test_all_words_of_one_object_hold_together() -> None:
    pattern = {"$type": "string", "$matches": "^a"}
    assert matches(pattern, "abc")
    assert not matches(pattern, "xbc")


def test_a_mismatch_tells_the_place_what_was_expected_and_what_is_there() -> None:
    pattern = {"result": {"tools": [{"name": {"$type": "string"}}]}}
    mismatch = match(pattern, {"result": {"tools": [{"name": 7}]}})
    assert mismatch is not None
    assert (mismatch.path, mismatch.expected, mismatch.actual) == ("result.tools[0].name", "string", "7")


def test_a_mismatch_of_the_whole_value_has_no_path() -> None:
    mismatch = match({"result": {}}, ABSENT)
    assert mismatch is not None
    assert (mismatch.path, mismatch.actual) == ("", "nothing")


def test_a_mismatch_of_a_schema_tells_the_place_inside() -> None:
    mismatch = match({"a": {"$schema": {"items": {"type": "string"}}}}, {"a": ["x", 1]})
    assert mismatch is not None
    assert (mismatch.path, mismatch.actual) == ("a[1]", "1")


def test_a_name_that_is_no_word_is_quoted_in_a_path() -> None:
    mismatch = match({"_meta": {"a.b c": 1}}, {"_meta": {"a.b c": 2}})
    assert mismatch is not None
    assert mismatch.path == '_meta["a.b c"]'


def test_a_long_value_is_shortened() -> None:
    mismatch = match({"a": 1}, {"a": {"text": "x" * 10_000, "more": list(range(1000))}})
    assert mismatch is not None
    assert len(mismatch.actual) == LONGEST
    assert mismatch.actual.startswith('{"text": "xxx')
    assert mismatch.actual.endswith("…")


def test_a_value_at_the_limit_is_not_shortened() -> None:
    assert shorten("x" * (LONGEST - 2)) == json.dumps("x" * (LONGEST - 2))


def test_a_surrogate_in_a_value_can_be_printed() -> None:
    shorten("a\ud800").encode("utf-8")


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ({"result": {"isError": True}}, "{result: {isError: true}}"),
        ({"error": {"code": {"$type": "integer"}}}, "{error: {code: integer}}"),
        ({"$any": [{"a": 1}, {"$type": ["string", "null"]}]}, "{a: 1} or string or null"),
        ({"$not": {"$any": [1, 2]}}, "not (1 or 2)"),
        ({"$not": {"$type": "string"}}, "not string"),
        ({"a": {"$absent": True}, "b": {"$present": True}}, "{a: nothing, b: anything}"),
        ({"$type": "string", "$matches": "^x"}, "string and text matching /^x/"),
        ({"$each": {"a": "b"}}, 'an array of {a: "b"}'),
        ({"$schema": {"type": "string"}}, 'valid under the schema {"type": "string"}'),
        ([{"$saved": "x"}, None], "[the saved x, null]"),
    ],
)
def test_a_pattern_is_rendered_compactly(pattern: Any, text: str) -> None:
    assert check_pattern(pattern) == []
    assert render(pattern) == text


@pytest.mark.parametrize(
    ("pattern", "place", "what"),
    [
        ({"a": [{"$typ": "string"}]}, ("a", 0, "$typ"), "$typ is not a word of the language"),
        ({"$all": [1]}, ("$all",), "$all is not a word of the language"),
        ({"$type": "text"}, ("$type",), '"text" is not a JSON type'),
        ({"$type": []}, ("$type",), "is not a JSON type"),
        ({"$type": ["string", 1]}, ("$type",), "1 is not a JSON type"),
        ({"$any": []}, ("$any",), "$any takes a list"),
        ({"$any": [1, {"$x": 1}]}, ("$any", 1, "$x"), "$x is not a word"),
        ({"$not": {"$x": 1}}, ("$not", "$x"), "$x is not a word"),
        ({"$each": {"$x": 1}}, ("$each", "$x"), "$x is not a word"),
        ({"$absent": False}, ("$absent",), "$absent can only be true"),
        ({"$present": 1}, ("$present",), "$present can only be true"),
        ({"$matches": "("}, ("$matches",), "is not a regular expression"),
        ({"$matches": 1}, ("$matches",), "$matches takes a regular expression"),
        ({"$schema": {"type": "text"}}, ("$schema",), "is not a JSON Schema"),
        ({"$schema": "string"}, ("$schema",), "$schema takes a JSON Schema"),
        ({"$schema": {"$ref": "https://example.com/s"}}, ("$schema",), "is not a JSON Schema that can be used"),
        ({"$saved": 1}, ("$saved",), "$saved takes a name"),
        ({"$type": "object", "code": 1}, ("code",), "'code' cannot stand beside $type"),
    ],
)
def test_a_flaw_in_a_pattern_is_found_with_its_place(pattern: Any, place: tuple[Any, ...], what: str) -> None:
    flaws = check_pattern(pattern)
    assert [flaw.place for flaw in flaws] == [place]
    assert what in flaws[0].what


def test_the_saved_names_of_a_pattern_are_found_but_not_those_inside_a_schema() -> None:
    pattern = {"a": [{"$any": [{"$saved": "x"}, 1]}], "b": {"$schema": {"properties": {"$saved": {"type": "string"}}}}}
    assert list(saved_names(pattern)) == [("x", ("a", 0, "$any", 0, "$saved"))]
